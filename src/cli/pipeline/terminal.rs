//! A pipeline in a terminal, at most 100 columns wide.

use super::card::{Card, Kind, Part, wrap};
use super::layout::{Layout, Size, dependencies, lay_out, layers};
use crate::order::Pipeline;

/// Whether there is somebody to see colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Colours,
}

const WIDEST: usize = 100;
const WIDEST_BOX: usize = 56;
const NARROWEST_BOX: usize = 22;
const GAP: usize = 2;
const MOST_SIDE_BY_SIDE: usize = 4;
const MOST_LINES: usize = 4;

const BOLD: &str = "1";
const DIM: &str = "2";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const CYAN: &str = "36";

/// The drawing, with a line's end after each line.
pub(super) fn draw(pipeline: &Pipeline, ink: Ink) -> String {
    let cards: Vec<Card> = pipeline.stages.iter().map(Card::of).collect();
    let lines = dependencies(pipeline);
    for most in (1..=MOST_SIDE_BY_SIDE).rev() {
        let layers = layers(cards.len(), &lines, most);
        let Some(width) = box_width(&layers, &lines) else { continue };
        let boxes: Vec<Vec<Row>> = cards.iter().map(|card| rows(card, width)).collect();
        let sizes: Vec<Size> = boxes.iter().map(|rows| size(rows)).collect();
        let layout = lay_out(&sizes, &lines, &layers, GAP as u32);
        return Canvas::draw(&layout, &boxes).text(ink);
    }
    list(pipeline)
}

/// How wide a box may be so that every layer fits, lines on their way through included; none when too narrow to read.
fn box_width(layers: &[usize], lines: &[(usize, usize)]) -> Option<usize> {
    let depth = layers.iter().max().map_or(0, |last| last + 1);
    let width = |layer: usize| {
        let boxes = layers.iter().filter(|own| **own == layer).count();
        let through = lines.iter().filter(|(from, to)| layers[*from] < layer && layer < layers[*to]).count();
        let taken = through + GAP * (boxes + through).saturating_sub(1);
        WIDEST.saturating_sub(taken) / boxes.max(1)
    };
    let width = (0..depth).map(width).min().unwrap_or(WIDEST_BOX).min(WIDEST_BOX);
    (width >= NARROWEST_BOX).then_some(width)
}

/// For graphs that fit no page.
fn list(pipeline: &Pipeline) -> String {
    let line = |stage: &crate::order::pipeline::Stage| match stage.depends_on.is_empty() {
        true => format!("{}\n", stage.name),
        false => format!("{} ← {}\n", stage.name, stage.depends_on.join(", ")),
    };
    pipeline.stages.iter().map(line).collect()
}

/// A row of text in a box.
struct Row {
    text: String,
    style: &'static str,
}

fn rows(card: &Card, width: usize) -> Vec<Row> {
    let inner = width - 4;
    let name = match card.kind {
        Kind::Agent => BOLD,
        Kind::BuiltIn => CYAN,
    };
    let mut rows = vec![Row { text: wrap(&card.name, inner, 1).concat(), style: name }];
    let mut add = |text: &str, style: &'static str| {
        rows.extend(wrap(text, inner, MOST_LINES).into_iter().map(|text| Row { text, style }));
    };
    for line in &card.lines {
        let style = match line.part {
            Part::Worker => "",
            Part::Gives | Part::When => DIM,
            Part::Checks => GREEN,
        };
        add(&line.text, style);
    }
    if let Some(asked) = card.asks.words() {
        add(&format!("⇢ asks {asked}"), YELLOW);
    }
    rows
}

fn size(rows: &[Row]) -> Size {
    let width = rows.iter().map(|row| row.text.chars().count()).max().unwrap_or(0) + 4;
    // Even, so that the middle of one is above the middle of the next.
    Size { width: width.next_multiple_of(2) as u32, height: rows.len() as u32 + 2 }
}

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;
/// What joins in which directions.
const STROKES: [char; 16] = [' ', '╵', '╷', '│', '╴', '┘', '┐', '┤', '╶', '└', '┌', '├', '─', '┴', '┬', '┼'];

#[derive(Clone, Copy, Default)]
struct Cell {
    text: Option<char>,
    strokes: u8,
    style: &'static str,
}

struct Canvas {
    cells: Vec<Vec<Cell>>,
}

/// Lines between two layers that have all their ends in common, on a row of their own.
struct Bundle {
    from: Vec<usize>,
    to: Vec<usize>,
}

impl Bundle {
    fn is_straight(&self) -> bool {
        self.ends().all(|end| self.from == [end])
    }

    fn ends_at(&self, x: usize) -> bool {
        self.ends().any(|end| end == x)
    }

    fn ends(&self) -> impl Iterator<Item = usize> {
        self.from.iter().chain(&self.to).copied()
    }
}

impl Canvas {
    fn draw(layout: &Layout, boxes: &[Vec<Row>]) -> Self {
        let mut canvas = Self { cells: Vec::new() };
        let mut top = 0;
        for (layer, height) in layout.layers.iter().enumerate() {
            let bottom = top + *height as usize;
            canvas.grow(bottom, layout.width as usize);
            for (place, rows) in layout.places.iter().zip(boxes) {
                if place.layer == layer {
                    canvas.draw_box(place.x as usize, top, place.size.width as usize, rows);
                    let goes_on = layout.lines.iter().any(|line| layout.places[line.from] == *place);
                    if goes_on {
                        canvas.down(place.middle() as usize, top + rows.len() + 2, bottom);
                    }
                }
            }
            for line in &layout.lines {
                if let Some(x) = line.at(layer, layout) {
                    canvas.down(x as usize, top, bottom);
                }
            }
            top = canvas.draw_bundles(bundles(layout, layer), bottom, layout.width as usize);
            if layer + 1 < layout.layers.len() {
                let ends = layout.places.iter().enumerate().filter(|(_, place)| place.layer == layer + 1);
                for (number, place) in ends {
                    if layout.lines.iter().any(|line| line.to == number) {
                        canvas.put(place.middle() as usize, top - 1, '▼', DIM);
                    }
                }
            }
        }
        canvas
    }

    fn grow(&mut self, height: usize, width: usize) {
        self.cells.resize_with(height.max(self.cells.len()), || vec![Cell::default(); width]);
    }

    fn cell(&mut self, x: usize, y: usize) -> Option<&mut Cell> {
        self.cells.get_mut(y).and_then(|row| row.get_mut(x))
    }

    fn put(&mut self, x: usize, y: usize, text: char, style: &'static str) {
        if let Some(cell) = self.cell(x, y) {
            *cell = Cell { text: Some(text), strokes: 0, style };
        }
    }

    fn stroke(&mut self, x: usize, y: usize, strokes: u8) {
        if let Some(cell) = self.cell(x, y) {
            cell.strokes |= strokes;
            cell.style = DIM;
        }
    }

    /// From one row to before another.
    fn down(&mut self, x: usize, top: usize, bottom: usize) {
        for y in top..bottom {
            self.stroke(x, y, UP | DOWN);
        }
    }

    fn draw_box(&mut self, x: usize, y: usize, width: usize, rows: &[Row]) {
        let bottom = y + rows.len() + 1;
        for (y, left, right) in [(y, '╭', '╮'), (bottom, '╰', '╯')] {
            (x + 1..x + width - 1).for_each(|x| self.put(x, y, '─', ""));
            self.put(x, y, left, "");
            self.put(x + width - 1, y, right, "");
        }
        for (number, row) in rows.iter().enumerate() {
            let y = y + 1 + number;
            self.put(x, y, '│', "");
            self.put(x + width - 1, y, '│', "");
            for (place, c) in row.text.chars().enumerate() {
                self.put(x + 2 + place, y, c, row.style);
            }
        }
    }

    /// Draws what is between two layers, from this row on; where the next layer begins.
    fn draw_bundles(&mut self, bundles: Vec<Bundle>, top: usize, width: usize) -> usize {
        if bundles.is_empty() {
            return top;
        }
        let (straight, bent): (Vec<Bundle>, Vec<Bundle>) = bundles.into_iter().partition(Bundle::is_straight);
        let bent = in_order(bent);
        let bottom = top + bent.len() + 2;
        self.grow(bottom, width);
        for bundle in &straight {
            bundle.from.iter().for_each(|x| self.down(*x, top, bottom));
        }
        // Rows first, so that what only crosses one is seen to.
        let mut owner: Vec<Option<usize>> = vec![None; bottom];
        for (number, bundle) in bent.iter().enumerate() {
            let y = top + 1 + number;
            owner[y] = Some(number);
            let (left, right) = (bundle.ends().min().unwrap_or(0), bundle.ends().max().unwrap_or(0));
            self.stroke(left, y, RIGHT);
            self.stroke(right, y, LEFT);
            (left + 1..right).for_each(|x| self.stroke(x, y, LEFT | RIGHT));
            bundle.from.iter().for_each(|x| self.stroke(*x, y, UP));
            bundle.to.iter().for_each(|x| self.stroke(*x, y, DOWN));
        }
        for (number, bundle) in bent.iter().enumerate() {
            let own = top + 1 + number;
            let down = bundle.to.iter().map(|x| (*x, own + 1, bottom));
            let ways = down.chain(bundle.from.iter().map(|x| (*x, top, own)));
            for (x, from, to) in ways {
                for (y, owner) in owner.iter().enumerate().take(to).skip(from) {
                    let joins = owner.is_none_or(|other| bent[other].ends_at(x));
                    match self.cell(x, y) {
                        Some(cell) if !joins => cell.strokes = UP | DOWN,
                        Some(_) | None => self.stroke(x, y, UP | DOWN),
                    }
                }
            }
        }
        bottom
    }

    fn text(&self, ink: Ink) -> String {
        let mut text = String::new();
        for row in &self.cells {
            let mut line = String::new();
            let mut style = "";
            let end =
                row.iter().rposition(|cell| cell.text.is_some() || cell.strokes != 0).map_or(0, |x| x + 1);
            for cell in &row[..end] {
                if ink == Ink::Colours && cell.style != style {
                    line.push_str(if style.is_empty() { "" } else { "\x1b[0m" });
                    style = cell.style;
                    if !style.is_empty() {
                        line.push_str(&format!("\x1b[{style}m"));
                    }
                }
                line.push(cell.text.unwrap_or(STROKES[usize::from(cell.strokes & 15)]));
            }
            if !style.is_empty() {
                line.push_str("\x1b[0m");
            }
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

/// The lines from one layer to the next, those together that begin at one place, or end at the same.
fn bundles(layout: &Layout, layer: usize) -> Vec<Bundle> {
    let mut bundles: Vec<Bundle> = Vec::new();
    for line in &layout.lines {
        let (from, to) = (layout.places[line.from], layout.places[line.to]);
        if !(from.layer..to.layer).contains(&layer) {
            continue;
        }
        let at = |layer: usize| match layer.checked_sub(from.layer + 1) {
            None => from.middle() as usize,
            Some(step) => line.through.get(step).map_or(to.middle(), |x| *x) as usize,
        };
        let (begin, end) = (at(layer), at(layer + 1));
        match bundles.iter_mut().find(|bundle| bundle.from == [begin]) {
            Some(bundle) => bundle.to.push(end),
            None => bundles.push(Bundle { from: vec![begin], to: vec![end] }),
        }
    }
    let mut together: Vec<Bundle> = Vec::new();
    for mut bundle in bundles {
        bundle.to.sort_unstable();
        match together.iter_mut().find(|other| other.to == bundle.to) {
            Some(other) => other.from.append(&mut bundle.from),
            None => together.push(bundle),
        }
    }
    together
}

/// One that begins where another ends comes before that one, so that they do not lie on each other.
fn in_order(mut bundles: Vec<Bundle>) -> Vec<Bundle> {
    let mut ordered = Vec::new();
    while !bundles.is_empty() {
        let is_free = |number: &usize| {
            let own = &bundles[*number];
            bundles
                .iter()
                .enumerate()
                .all(|(other, bundle)| other == *number || !bundle.from.iter().any(|x| own.to.contains(x)))
        };
        let next = (0..bundles.len()).find(is_free).unwrap_or(0);
        ordered.push(bundles.remove(next));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipeline(stages: &str) -> Pipeline {
        Pipeline::parse(&format!("{{name: p, version: 1, stages: [{stages}]}}")).unwrap()
    }

    #[test]
    fn a_diamond_with_a_long_side_is_drawn_as_one() {
        let pipeline = pipeline(
            "{name: a, agent: x}, {name: b, agent: x, depends_on: [a]}, {name: c, agent: x, depends_on: [a]}, \
             {name: d, agent: x, depends_on: [c]}, {name: e, agent: x, depends_on: [b, d]}",
        );
        let expected = "
       ╭──────────╮
       │ a        │
       │ x · work │
       ╰──────────╯
             │
      ┌──────┴──────┐
      ▼             ▼
╭──────────╮  ╭──────────╮
│ b        │  │ c        │
│ x · work │  │ x · work │
╰──────────╯  ╰──────────╯
      │             │
      │       ┌─────┘
     ┌┘       │
     │        ▼
     │  ╭──────────╮
     │  │ d        │
     │  │ x · work │
     │  ╰──────────╯
     │        │
     └───────┬┘
             ▼
       ╭──────────╮
       │ e        │
       │ x · work │
       ╰──────────╯
";
        assert_eq!(
            format!(
                "
{}",
                draw(&pipeline, Ink::Plain)
            ),
            expected
        );
    }

    #[test]
    fn it_fits_the_page_and_steers_no_terminal() {
        let wide: Vec<String> = (0..30).map(|n| format!("{{name: s{n}, agent: x}}")).collect();
        let many = format!("{}, {{name: z, agent: x, depends_on: [s0, s1, s2, s29]}}", wide.join(", "));
        let odd = "{name: a, agent: x, output: {one_of: [\"\\e[2J\", \"\\u202Eabc\"]}}".to_owned();
        for stages in [many, odd] {
            let drawn = draw(&pipeline(&stages), Ink::Plain);
            assert!(drawn.lines().all(|line| line.chars().count() <= WIDEST), "{drawn}");
            assert!(!drawn.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{drawn:?}");
        }
    }
}
