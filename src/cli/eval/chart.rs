//! Plots as SVG, to stand inside a page: their colours are the page's. Pure.

use std::fmt::Write as _;

use super::statistics::{HistogramBin, round_up};

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 264.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 42.0;

/// A bar, with an interval around its height and a mark for what was expected.
pub(super) struct ChartBar {
    pub(super) name: String,
    /// What stands above it.
    pub(super) said: String,
    pub(super) height: f64,
    pub(super) interval: (f64, f64),
    pub(super) expected: Option<f64>,
}

/// Shares from 0 to 1, one a bar.
pub(super) fn shares(title: &str, bars: &[ChartBar]) -> String {
    let mut plot = ChartSvg::begin(title, 1.0);
    plot.shares_axis();
    let room = plot.width() / bars.len().max(1) as f64;
    for (place, bar) in bars.iter().enumerate() {
        let middle = LEFT + room * (place as f64 + 0.5);
        let half = (room * 0.3).min(38.0);
        plot.bar(middle - half, 2.0 * half, bar.height);
        let (low, high) = bar.interval;
        plot.interval(middle, low, high);
        let mut top = bar.height.max(high);
        if let Some(expected) = bar.expected {
            plot.expected(middle - half - 7.0, middle + half + 7.0, expected);
            top = top.max(expected);
        }
        plot.label(middle, plot.y(top) - 6.0, "value", &bar.said);
        plot.label(middle, HEIGHT - BOTTOM + 17.0, "name", &bar.name);
    }
    plot.unit("attempt");
    plot.end()
}

/// Counts, one a bar.
pub(super) fn counts(title: &str, unit: &str, bars: &[(String, u64)]) -> String {
    let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let mut plot = ChartSvg::begin(title, most as f64);
    plot.counts_axis(most);
    let room = plot.width() / bars.len().max(1) as f64;
    for (place, (name, count)) in bars.iter().enumerate() {
        let middle = LEFT + room * (place as f64 + 0.5);
        let half = (room * 0.36).min(38.0);
        plot.bar(middle - half, 2.0 * half, *count as f64);
        plot.label(middle, plot.y(*count as f64) - 6.0, "value", &count.to_string());
        plot.label(middle, HEIGHT - BOTTOM + 17.0, "name", name);
    }
    plot.unit(unit);
    plot.end()
}

/// How numbers lie. `mark` is where the mean is.
pub(super) fn histogram(title: &str, unit: &str, bins: &[HistogramBin], mean: f64) -> String {
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(0);
    let mut plot = ChartSvg::begin(title, most as f64);
    plot.counts_axis(most);
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else {
        plot.label(WIDTH / 2.0, HEIGHT / 2.0, "name", "nothing to show");
        return plot.end();
    };
    let width = plot.width();
    let x = |value: f64| LEFT + width * (value - first.from) / (last.to - first.from);
    for bin in bins {
        let (from, to) = (x(bin.from), x(bin.to));
        plot.bar(from + 0.8, (to - from - 1.6).max(0.8), bin.count as f64);
    }
    let step = round_up((last.to - first.from) / 6.0, last.to);
    let digits = if step >= 1.0 {
        0
    } else {
        (-step.log10().floor()).clamp(0.0, 6.0) as usize + usize::from(is_quarter(step))
    };
    let mut value = (first.from / step).ceil() * step;
    while value <= last.to * (1.0 + 1e-9) {
        plot.label(x(value), HEIGHT - BOTTOM + 17.0, "name", &format!("{value:.digits$}"));
        value += step;
    }
    let at = x(mean).clamp(LEFT, WIDTH - RIGHT);
    plot.add(&format!(
        r#"<line class="expected" x1="{at:.1}" y1="{TOP}" x2="{at:.1}" y2="{:.1}"/>"#,
        HEIGHT - BOTTOM
    ));
    plot.unit(unit);
    plot.end()
}

fn is_quarter(step: f64) -> bool {
    let lead = step / 10_f64.powf(step.log10().floor());
    (lead - 2.5).abs() < 1e-6
}

/// Names with counts, one under the other.
pub(super) fn kinds(title: &str, class: &str, rows: &[(String, u64)]) -> String {
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1) as f64;
    let height = TOP + 34.0 * rows.len().max(1) as f64 + 8.0;
    let mut svg = begin(title, height);
    if rows.is_empty() {
        let _ = write!(svg, r#"<text class="name" x="{}" y="{}">none</text>"#, WIDTH / 2.0, TOP + 20.0);
    }
    let (from, room) = (150.0, WIDTH - 150.0 - 60.0);
    for (place, (name, count)) in rows.iter().enumerate() {
        let y = TOP + 34.0 * place as f64;
        let width = room * *count as f64 / most;
        let _ = write!(
            svg,
            r#"<text class="name right" x="{}" y="{}">{}</text><rect class="bar {class}" x="{from}" y="{y}" width="{width:.1}" height="22" rx="3"/><text class="value left" x="{:.1}" y="{}">{count}</text>"#,
            from - 10.0,
            y + 15.5,
            escape(name),
            from + width + 8.0,
            y + 15.5,
        );
    }
    svg + "</svg>"
}

struct ChartSvg {
    svg: String,
    most: f64,
}

impl ChartSvg {
    fn begin(title: &str, most: f64) -> Self {
        Self { svg: begin(title, HEIGHT), most: if most > 0.0 { most } else { 1.0 } }
    }

    fn width(&self) -> f64 {
        WIDTH - LEFT - RIGHT
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (value / self.most).clamp(0.0, 1.0)
    }

    fn add(&mut self, svg: &str) {
        self.svg.push_str(svg);
    }

    fn label(&mut self, x: f64, y: f64, class: &str, text: &str) {
        let text = escape(text);
        self.add(&format!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
    }

    fn grid(&mut self, value: f64, said: &str) {
        let y = self.y(value);
        self.add(&format!(
            r#"<line class="grid" x1="{LEFT}" y1="{y:.1}" x2="{}" y2="{y:.1}"/><text class="scale" x="{}" y="{:.1}">{said}</text>"#,
            WIDTH - RIGHT,
            LEFT - 8.0,
            y + 4.0,
        ));
    }

    fn shares_axis(&mut self) {
        for share in [0, 25, 50, 75, 100] {
            self.grid(f64::from(share) / 100.0, &format!("{share} %"));
        }
    }

    fn counts_axis(&mut self, most: u64) {
        let step = round_up(most as f64 / 4.0, most as f64).max(1.0).round();
        let mut value = 0.0;
        while value <= most as f64 {
            self.grid(value, &format!("{value:.0}"));
            value += step;
        }
    }

    fn bar(&mut self, x: f64, width: f64, value: f64) {
        let y = self.y(value);
        let height = HEIGHT - BOTTOM - y;
        self.add(&format!(
            r#"<rect class="bar" x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="2"/>"#
        ));
    }

    fn interval(&mut self, x: f64, low: f64, high: f64) {
        let (low, high) = (self.y(low), self.y(high));
        let (left, right) = (x - 6.0, x + 6.0);
        self.add(&format!(
            r#"<path class="interval" d="M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}M{left:.1} {high:.1}H{right:.1}"/>"#
        ));
    }

    fn expected(&mut self, from: f64, to: f64, value: f64) {
        let y = self.y(value);
        self.add(&format!(r#"<line class="expected" x1="{from:.1}" y1="{y:.1}" x2="{to:.1}" y2="{y:.1}"/>"#));
    }

    fn unit(&mut self, unit: &str) {
        self.label(LEFT + self.width() / 2.0, HEIGHT - 6.0, "unit", unit);
    }

    fn end(self) -> String {
        self.svg + "</svg>"
    }
}

fn begin(title: &str, height: f64) -> String {
    let title = escape(title);
    format!(r#"<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{title}"><title>{title}</title>"#)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
