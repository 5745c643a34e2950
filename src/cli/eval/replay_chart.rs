//! Real fixes as a picture: a row for each, with what Journeyman said of each form, and where the time went. Pure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::chart::escape;
use super::record::{CaseRecord, ReplayRecord, SpentSeconds};
use super::replay::ReplayVariant;

const WIDTH: f64 = 1060.0;
const TOP: f64 = 30.0;
const ROW: f64 = 24.0;
/// Where the forms begin, how wide each is, and where time begins.
const FORMS: f64 = 310.0;
const FORM: f64 = 74.0;
const TIME: f64 = 620.0;
const VARIANTS: [ReplayVariant; 4] =
    [ReplayVariant::Right, ReplayVariant::CodeAlone, ReplayVariant::WrongCode, ReplayVariant::Weakened];

type ReplayedCase<'a> = (&'a CaseRecord, &'a ReplayRecord);

/// What a verdict is beside the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayTruth {
    /// As it should be.
    Held,
    /// A right fix that was not verified.
    Missed,
    /// Verified, or called proven, and it must not be.
    FalseGreen,
}

impl ReplayTruth {
    fn of(record: &CaseRecord, replay: &ReplayRecord) -> Self {
        let is_right = match replay.variant {
            ReplayVariant::Right => true,
            ReplayVariant::CodeAlone | ReplayVariant::WrongCode | ReplayVariant::Weakened => false,
        };
        match (is_right, record.outcome == "verified") {
            (true, true) | (false, false) => Self::Held,
            (true, false) => Self::Missed,
            (false, true) => Self::FalseGreen,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Missed => "missed",
            Self::FalseGreen => "false",
        }
    }
}

/// The picture; none where no real fix was replayed.
pub(super) fn draw(cases: &[CaseRecord]) -> Option<String> {
    let mut rows: BTreeMap<[&str; 3], Vec<ReplayedCase<'_>>> = BTreeMap::new();
    for (record, replay) in cases.iter().filter_map(|record| Some((record, record.replay.as_ref()?))) {
        let key = [&replay.language, &replay.repository, &replay.fix].map(String::as_str);
        rows.entry(key).or_default().push((record, replay));
    }
    let longest = cases.iter().map(|record| record.seconds).fold(1.0, f64::max);
    if rows.is_empty() {
        return None;
    }
    let height = TOP + ROW * rows.len() as f64 + 8.0;
    let mut svg = format!(
        r#"<svg class="replays" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="Real fixes"><title>Real fixes</title>"#
    );
    for (place, variant) in VARIANTS.iter().enumerate() {
        let x = FORMS + FORM * (place as f64 + 0.5);
        let word = variant.word().replace('_', " ");
        let _ = write!(svg, r#"<text class="name" x="{x}" y="18">{word}</text>"#);
    }
    let _ = write!(svg, r#"<text class="name left" x="{TIME}" y="18">seconds</text>"#);
    for (place, ([language, repository, fix], forms)) in rows.iter().enumerate() {
        let y = TOP + ROW * place as f64;
        let name = format!("{repository} {}", fix.get(..7).unwrap_or(fix));
        let environment = forms.iter().find_map(|(_, replay)| replay.environment.as_deref());
        let about = format!("{language}; environment: {}", environment.unwrap_or("none found"));
        let _ = write!(
            svg,
            r#"<g><title>{}</title><text class="row left" x="6" y="{}">{}</text></g>"#,
            escape(&about),
            y + 15.0,
            escape(&name),
        );
        for (record, replay) in forms {
            let place = VARIANTS.iter().position(|variant| *variant == replay.variant).unwrap_or(0);
            cell(&mut svg, FORMS + FORM * place as f64 + 4.0, y, record, replay);
        }
        // Of several forms, the right one's time, or else the first's.
        let timed = forms.iter().find(|(_, replay)| replay.variant == ReplayVariant::Right).or(forms.first());
        if let Some((record, replay)) = timed {
            time(&mut svg, y, longest, record, &replay.spent);
        }
    }
    Some(svg + "</svg>")
}

/// One form: its colour says what it is beside the truth, the dot that a test was seen to fail without the change.
fn cell(svg: &mut String, x: f64, y: f64, record: &CaseRecord, replay: &ReplayRecord) {
    let because = record.because.as_deref().unwrap_or_default();
    let _ = write!(
        svg,
        r#"<g><title>{}</title><rect class="cell {}" x="{x}" y="{}" width="{}" height="18" rx="3"/><text class="in" x="{}" y="{}">{}</text>"#,
        escape(&format!("{}: {} {because}", replay.variant.word(), record.outcome)),
        ReplayTruth::of(record, replay).class(),
        y + 2.0,
        FORM - 8.0,
        x + (FORM - 8.0) / 2.0,
        y + 15.0,
        escape(&record.outcome),
    );
    if replay.proven {
        let _ = write!(svg, r#"<circle class="proof" cx="{}" cy="{}" r="3"/>"#, x + 6.0, y + 11.0);
    }
    svg.push_str("</g>");
}

fn time(svg: &mut String, y: f64, longest: f64, record: &CaseRecord, spent: &SpentSeconds) {
    let scale = (WIDTH - TIME - 60.0) / longest;
    let known = spent.environment + spent.agents + spent.tests;
    let rest = (record.seconds - known).max(0.0);
    let mut x = TIME;
    for (class, seconds) in
        [("environment", spent.environment), ("agents", spent.agents), ("tests", spent.tests), ("rest", rest)]
    {
        let width = seconds * scale;
        let _ = write!(
            svg,
            r#"<g><title>{class}: {seconds:.1} s</title><rect class="spent {class}" x="{x:.1}" y="{}" width="{width:.1}" height="14"/></g>"#,
            y + 4.0,
        );
        x += width;
    }
    let _ = write!(
        svg,
        r#"<text class="value left" x="{:.1}" y="{}">{:.0}</text>"#,
        x + 6.0,
        y + 15.0,
        record.seconds
    );
}
