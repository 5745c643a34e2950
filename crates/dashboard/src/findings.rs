//! What the checks of a stage found, and what became of it: seen again in a later round, or not.

use journeyman_order::Finding;
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::{RoundTrace, StageTrace};

use super::text::line;

/// Findings that are shown.
const MOST: usize = 60;

pub(crate) struct FindingView {
    pub(crate) class: &'static str,
    pub(crate) fate: String,
    pub(crate) severity: &'static str,
    pub(crate) stage: String,
    pub(crate) place: Option<String>,
    pub(crate) text: String,
    pub(crate) suggestion: Option<String>,
}

/// A finding with the rounds in which it was seen first and last.
struct SeenFinding<'t> {
    finding: &'t Finding,
    first: u32,
    last: u32,
}

pub(crate) fn finding_views(survey: &OrderProjection) -> Vec<FindingView> {
    survey.trace.stages.iter().flat_map(of_stage).take(MOST).collect()
}

fn of_stage(stage: &StageTrace) -> Vec<FindingView> {
    let mut seen: Vec<SeenFinding<'_>> = Vec::new();
    for round in &stage.rounds {
        for finding in of_round(round) {
            let known = seen.iter_mut().find(|known| is_same(known.finding, finding));
            match known {
                Some(known) => known.last = round.round,
                None => seen.push(SeenFinding { finding, first: round.round, last: round.round }),
            }
        }
    }
    // A round that nobody judged yet says nothing of what was found before it.
    let judged = stage.rounds.iter().filter(|round| {
        round.feedback.is_some() || round.review.is_some() || round.tests.is_some() || round.commit.is_some()
    });
    let last = judged.map(|round| round.round).max().unwrap_or(0);
    seen.iter().map(|seen| view(stage, seen, last)).collect()
}

/// What the failing check said, and what reviewers said besides.
fn of_round(round: &RoundTrace) -> Vec<&Finding> {
    let said = [round.feedback.as_ref(), round.review.as_ref()];
    let mut found: Vec<&Finding> = Vec::new();
    for finding in said.into_iter().flatten().flat_map(|feedback| &feedback.issues) {
        if !found.iter().any(|known| is_same(known, finding)) {
            found.push(finding);
        }
    }
    found
}

fn is_same(one: &Finding, other: &Finding) -> bool {
    one.category == other.category && one.location == other.location && one.description == other.description
}

fn view(stage: &StageTrace, seen: &SeenFinding<'_>, last: u32) -> FindingView {
    let is_open = seen.last >= last;
    let fate = match (is_open, seen.first == seen.last) {
        (true, true) => format!("open since round {}", seen.first),
        (true, false) => format!("open since round {}, seen again in round {}", seen.first, seen.last),
        (false, _) => format!("found in round {}, not seen again after round {}", seen.first, seen.last),
    };
    let text = |text: &Option<String>, most| text.as_deref().map(|text| line(text, most));
    FindingView {
        class: if is_open { "person" } else { "good" },
        fate,
        severity: seen.finding.severity.as_str(),
        stage: line(&stage.name, 60),
        place: text(&seen.finding.location, 200),
        text: line(&seen.finding.description, 800),
        suggestion: text(&seen.finding.suggestion, 500),
    }
}
