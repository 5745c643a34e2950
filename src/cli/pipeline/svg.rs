//! A pipeline as a picture that needs nothing else: light or dark as its reader's screen.

use std::fmt::Write;

use super::card::{Asks, Card, Kind, Part, wrap};
use super::layout::{Layout, Place, Size, dependencies, lay_out, layers};
use crate::order::Pipeline;
use crate::order::pipeline::{Check, Stage};

const BODY: u32 = 292;
/// Beside a box: the loop of rounds, and whoever is asked when they run out.
const BESIDE: u32 = 148;
const GAP: u32 = 28;
const BETWEEN: u32 = 46;
const MARGIN: u32 = 28;
const HEAD: u32 = 64;
const ROW: u32 = 18;
const MOST_SIDE_BY_SIDE: usize = 3;
/// Characters in a row of a box, at the size that they are set in.
const CHARACTERS: usize = 41;

const STYLE: &str = "\
.p{--page:#fff;--ink:#1f2328;--soft:#59636e;--edge:#8c959f;--line:#d1d9e0;--agent:#f6f8fa;--built:#ddf4ff;\
--rim:#54aeff;--good:#1a7f37;--warn:#9a6700;--glow:#fff8c5}\
@media(prefers-color-scheme:dark){.p{--page:#0d1117;--ink:#e6edf3;--soft:#9198a1;--edge:#656c76;--line:#3d444d;\
--agent:#161b22;--built:#0c2d4d;--rim:#1f6feb;--good:#3fb950;--warn:#d29922;--glow:#2b2310}}\
.page{fill:var(--page);stroke:var(--line)}.agent{fill:var(--agent);stroke:var(--line)}\
.built{fill:var(--built);stroke:var(--rim)}.edge{fill:none;stroke:var(--edge);stroke-width:1.6}\
.tip{fill:var(--edge)}.loop{fill:none;stroke:var(--good);stroke-width:1.6}.looptip{fill:var(--good)}\
.asks{fill:none;stroke:var(--warn);stroke-width:1.5;stroke-dasharray:4 4}.who{fill:var(--glow);stroke:var(--warn);\
stroke-width:1.4}.eye{fill:var(--warn)}text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',\
'DejaVu Sans',sans-serif;fill:var(--ink);font-size:12.5px}.title{font-size:17px;font-weight:650}\
.soft{fill:var(--soft)}.name{font-size:14px;font-weight:650}.good{fill:var(--good)}.warn{fill:var(--warn)}\
.small{font-size:11.5px}";

/// The picture.
pub(super) fn draw(pipeline: &Pipeline) -> String {
    let cards: Vec<Card> = pipeline.stages.iter().map(Card::of).collect();
    let lines = dependencies(pipeline);
    let layers = layers(cards.len(), &lines, MOST_SIDE_BY_SIDE);
    let beside = |(stage, card): (&Stage, &Card)| {
        let speaks = rounds(stage).is_some() || card.asks != Asks::Nobody;
        if speaks { BESIDE } else { 0 }
    };
    let beside: Vec<u32> = pipeline.stages.iter().zip(&cards).map(beside).collect();
    let rows: Vec<Vec<Row>> = cards.iter().map(rows).collect();
    let size = |(rows, beside): (&Vec<Row>, &u32)| Size {
        width: BODY + beside,
        height: 40 + ROW * rows.len() as u32,
    };
    let sizes: Vec<Size> = rows.iter().zip(&beside).map(size).collect();
    let layout = lay_out(&sizes, &lines, &layers, GAP);
    let mut picture =
        Picture { shifts: shifts(&layout), layout: &layout, tops: tops(&layout), svg: String::new() };
    picture.begin(pipeline);
    picture.draw_lines();
    for (number, ((stage, card), rows)) in pipeline.stages.iter().zip(&cards).zip(&rows).enumerate() {
        picture.draw_box(layout.places[number], card, rows);
        picture.draw_beside(layout.places[number], stage, card);
    }
    picture.svg.push_str("</svg>\n");
    picture.svg
}

/// Where each layer begins, and after the last where the picture ends.
fn tops(layout: &Layout) -> Vec<u32> {
    let mut tops = vec![MARGIN + HEAD];
    for height in &layout.layers {
        let top = tops.last().copied().unwrap_or(0);
        tops.push(top + height + BETWEEN);
    }
    tops
}

/// How far each layer moves so that the middles of what people see as boxes are above one another; with the
/// leftmost of all at nothing.
fn shifts(layout: &Layout) -> Vec<i64> {
    let boxes = |layer: usize| {
        layout.places.iter().filter(move |place| place.layer == layer).map(|place| i64::from(place.x))
    };
    let least = |layer: usize| {
        let through = layout.lines.iter().filter_map(move |line| line.at(layer, layout)).map(i64::from);
        boxes(layer).chain(through).min().unwrap_or(0)
    };
    let middle = |layer: usize| (boxes(layer).min().unwrap_or(0) + boxes(layer).max().unwrap_or(0)) / 2;
    let layers = 0..layout.layers.len();
    let left = layers.clone().map(|layer| least(layer) - middle(layer)).min().unwrap_or(0);
    layers.map(|layer| -middle(layer) - left).collect()
}

struct Row {
    class: &'static str,
    text: String,
}

fn rows(card: &Card) -> Vec<Row> {
    let row = |line: &super::card::Line| {
        let class = match line.part {
            Part::Worker => "soft",
            Part::When | Part::Gives => "soft small",
            Part::Checks => "good small",
        };
        wrap(&line.text, CHARACTERS, 3).into_iter().map(move |text| Row { class, text })
    };
    card.lines.iter().flat_map(row).collect()
}

/// How often the check that is asked most may send the worker back.
fn rounds(stage: &Stage) -> Option<u32> {
    let all = [Check::PushedCommit, Check::Policy, Check::Tests, Check::Verifier];
    all.into_iter().filter_map(|check| stage.limit(check)).max()
}

struct Picture<'a> {
    layout: &'a Layout,
    shifts: Vec<i64>,
    tops: Vec<u32>,
    svg: String,
}

impl Picture<'_> {
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.svg.write_fmt(text);
    }

    fn begin(&mut self, pipeline: &Pipeline) {
        let right = |place: &Place| self.left(*place) + place.size.width + MARGIN;
        let width = self.layout.places.iter().map(right).max().unwrap_or(0).max(420);
        let height = self.tops.last().copied().unwrap_or(0) - BETWEEN + MARGIN;
        let title = escaped(&format!("{} {}", pipeline.name, pipeline.version));
        self.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" class=\"p\" role=\"img\" aria-label=\"The pipeline {title}\"><style>{STYLE}</style>\
             <defs>{}{}</defs>\
             <rect class=\"page\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"14\"/>\
             <text class=\"title\" x=\"{MARGIN}\" y=\"{}\">{}<tspan class=\"soft small\" dx=\"8\">version {}</tspan></text>\n",
            tip("tip"),
            tip("looptip"),
            width - 1,
            height - 1,
            MARGIN + 14,
            escaped(&pipeline.name),
            pipeline.version,
        ));
        let most = (width - 2 * MARGIN) as usize / 7;
        for (number, line) in wrap(&one_line(&pipeline.description), most, 2).iter().enumerate() {
            let y = MARGIN + 34 + 15 * number as u32;
            self.add(format_args!(
                "<text class=\"soft small\" x=\"{MARGIN}\" y=\"{y}\">{}</text>\n",
                escaped(line)
            ));
        }
    }

    /// The left side of a box in the picture.
    fn left(&self, place: Place) -> u32 {
        self.shifted(place.x, place.layer)
    }

    fn shifted(&self, x: u32, layer: usize) -> u32 {
        MARGIN + u32::try_from(i64::from(x) + self.shifts[layer]).unwrap_or(0)
    }

    /// Lines come to the middle of what people see as the box.
    fn middle(&self, place: Place) -> u32 {
        self.left(place) + BODY / 2
    }

    fn draw_lines(&mut self) {
        for line in &self.layout.lines {
            let (from, to) = (self.layout.places[line.from], self.layout.places[line.to]);
            let mut at = (self.middle(from), self.tops[from.layer] + from.size.height);
            let mut path = format!("M{} {}", at.0, at.1);
            let mut curve = |path: &mut String, end: (u32, u32)| {
                let bend = (end.1 - at.1) / 2;
                let _ =
                    write!(path, "C{} {} {} {} {} {}", at.0, at.1 + bend, end.0, end.1 - bend, end.0, end.1);
                at = end;
            };
            for (layer, x) in (from.layer + 1..).zip(&line.through) {
                let (x, top) = (self.shifted(*x, layer), self.tops[layer]);
                curve(&mut path, (x, top));
                curve(&mut path, (x, top + self.layout.layers[layer]));
            }
            // The tip is drawn beyond the line's end.
            curve(&mut path, (self.middle(to), self.tops[to.layer] - 7));
            self.add(format_args!("<path class=\"edge\" d=\"{path}\" marker-end=\"url(#tip)\"/>\n"));
        }
    }

    fn draw_box(&mut self, place: Place, card: &Card, rows: &[Row]) {
        let (x, y) = (self.left(place), self.tops[place.layer]);
        let class = match card.kind {
            Kind::Agent => "agent",
            Kind::BuiltIn => "built",
        };
        let height = place.size.height;
        self.add(format_args!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{BODY}\" height=\"{height}\" rx=\"10\"/>\
             <text class=\"name\" x=\"{}\" y=\"{}\">{}</text>\n",
            x + 14,
            y + 23,
            escaped(&card.name)
        ));
        for (number, Row { class, text }) in rows.iter().enumerate() {
            let y = y + 42 + ROW * number as u32;
            self.add(format_args!(
                "<text class=\"{class}\" x=\"{}\" y=\"{y}\">{}</text>\n",
                x + 14,
                escaped(text)
            ));
        }
    }

    fn draw_beside(&mut self, place: Place, stage: &Stage, card: &Card) {
        let (right, y) = (self.left(place) + BODY, self.tops[place.layer]);
        if let Some(rounds) = rounds(stage) {
            let top = y + 14;
            let bottom = y + 32;
            self.add(format_args!(
                "<path class=\"loop\" d=\"M{right} {bottom}h8a9 9 0 0 0 0-18h-2\" marker-end=\"url(#looptip)\"/>\
                 <text class=\"good small\" x=\"{}\" y=\"{}\">{rounds} {} a check</text>\n",
                right + 24,
                top + 13,
                if rounds == 1 { "round" } else { "rounds" }
            ));
        }
        let (word, then) = match &card.asks {
            Asks::Nobody => return,
            Asks::Person => ("a person", ""),
            Asks::Role(role) => (role.as_str(), "then a person"),
        };
        let y = y + place.size.height.saturating_sub(22).max(52);
        let x = right + 38;
        self.add(format_args!("<path class=\"asks\" d=\"M{right} {y}h26\"/>"));
        match &card.asks {
            Asks::Nobody | Asks::Person => self.add(format_args!(
                "<circle class=\"who\" cx=\"{x}\" cy=\"{}\" r=\"4.6\"/><path class=\"who\" d=\"M{} {}a9 8.4 0 0 1 18 0z\"/>",
                y - 7,
                x - 9,
                y + 9
            )),
            Asks::Role(_) => self.add(format_args!(
                "<rect class=\"who\" x=\"{}\" y=\"{}\" width=\"20\" height=\"16\" rx=\"5\"/>\
                 <path class=\"who\" d=\"M{x} {}v-4\"/><circle class=\"eye\" cx=\"{}\" cy=\"{y}\" r=\"1.8\"/>\
                 <circle class=\"eye\" cx=\"{}\" cy=\"{y}\" r=\"1.8\"/>",
                x - 10,
                y - 8,
                y - 8,
                x - 4,
                x + 4
            )),
        }
        let (x, word) = (x + 16, escaped(&wrap(word, 14, 1).concat()));
        let up = if then.is_empty() { 4 } else { 0 };
        self.add(format_args!(
            "<text class=\"warn small\" x=\"{x}\" y=\"{}\">{word}</text>\n",
            y + up - 2 * u32::from(up == 0)
        ));
        if !then.is_empty() {
            self.add(format_args!("<text class=\"soft small\" x=\"{x}\" y=\"{}\">{then}</text>\n", y + 11));
        }
    }
}

fn tip(name: &str) -> String {
    format!(
        "<marker id=\"{name}\" viewBox=\"0 0 8 8\" refX=\"1\" refY=\"4\" markerWidth=\"5.5\" markerHeight=\"5.5\" \
         orient=\"auto\"><path class=\"{name}\" d=\"M0 0L8 4L0 8z\"/></marker>"
    )
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text of a file as text of the picture.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('·'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_file_stay_texts_in_the_picture() {
        let yaml = "{name: p, version: 1, description: '</text><script>alert(1)</script>', stages: [\
                    {name: a, agent: x, output: {one_of: ['<b>', \"\\e\", '\"&']}}]}";
        let svg = draw(&Pipeline::parse(yaml).unwrap());
        assert!(!svg.contains("<script") && !svg.contains("<b>") && !svg.contains('\u{1b}'), "{svg}");
        assert!(svg.contains("&lt;script&gt;") && svg.contains("&lt;b&gt;, ·, &quot;&amp;"), "{svg}");
    }
}
