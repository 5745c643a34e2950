//! What an order that ends without a pull request came to: one comment on the issue, with what its stages answered and the change.

use super::ROOM;
use super::markdown::quoted_within;
use super::pages::RepositoryLinks;
use super::text::{code_block, code_span, passing, plain};
use journeyman_order::json_values::indented;
use journeyman_order::length::{fit, shorten};
use journeyman_order::next::OrderProjection;
use journeyman_order::pipeline::StageKind;
use journeyman_order::trace::StageState;
use journeyman_order::{EffectOutcome, Journal, JournalEvent, Move};

/// Artifacts that are named.
const MOST_NAMES: usize = 30;

/// The comment's body. What agents answered is foreign.
pub(super) fn results(journal: &Journal, survey: &OrderProjection) -> String {
    let mut head = vec![format!("### Results of {}", code_span(&journal.pipeline().name))];
    if let Some(work) = &survey.trace.work {
        let commit = RepositoryLinks::default().commit(&work.commit);
        let counts = work.tests.as_ref().and_then(|tests| tests.counts).map(passing);
        let tests = counts.map(|counts| format!(", {counts}")).unwrap_or_default();
        let heading = survey.surfaces().heading;
        head.push(format!(
            "{heading}: commit {commit}{tests}. It was not pushed: this pipeline publishes nothing."
        ));
    }
    let mut parts = answers(journal, survey);
    for (name, text) in archived(journal) {
        // What a stage answered is often archived as it is.
        if !parts.iter().any(|(_, known)| *known == text) {
            parts.push((name, text));
        }
    }
    if let Some(work) = survey.trace.work.as_ref().filter(|work| !work.patch.trim().is_empty())
        && !parts.iter().any(|(_, known)| *known == work.patch)
    {
        parts.push(("the change".to_owned(), work.patch.clone()));
    }
    let names = artifacts(journal);
    if !names.is_empty() {
        let shown = names.iter().take(MOST_NAMES).map(|name| code_span(name)).collect::<Vec<_>>().join(", ");
        head.push(format!("Artifacts of the order: {shown}."));
    }
    // Each part gets its share of the room, so that no fold is cut open.
    let room = (ROOM - 6_000) / parts.len().max(1);
    let folds = parts.iter().filter_map(|(name, text)| fold(name, text, room.saturating_sub(200)));
    let body = head.into_iter().chain(folds).collect::<Vec<_>>().join("\n\n");
    fit(&body, ROOM)
}

fn fold(name: &str, text: &str, room: usize) -> Option<String> {
    let shown = match indented(text) {
        Some(json) => code_block(&shorten(&json, room)),
        None if text.starts_with("diff --git ") => code_block(&shorten(text, room)),
        None => quoted_within(text, room)?,
    };
    Some(format!("<details>\n<summary>{}</summary>\n\n{shown}\n\n</details>", plain(&shorten(name, 100))))
}

/// What each stage's worker answered last. A stage whose result is a commit answers with the change.
fn answers(journal: &Journal, survey: &OrderProjection) -> Vec<(String, String)> {
    let answer = |stage: &journeyman_order::trace::StageTrace| {
        let is_answer = journal.pipeline().stage(&stage.name)?.uses == StageKind::Agent;
        let is_done = matches!(stage.state, StageState::Passed | StageState::Approved);
        let said = stage.rounds.iter().rev().find_map(|round| round.result.clone())?;
        (is_answer && is_done).then(|| (stage.name.clone(), said))
    };
    survey.trace.stages.iter().filter_map(answer).collect()
}

/// What the stages that archive were given, the last of each.
fn archived(journal: &Journal) -> Vec<(String, String)> {
    let mut all: Vec<(&str, &Vec<(String, String)>)> = Vec::new();
    for entry in journal.entries() {
        if let JournalEvent::Intended { r#move, .. } = &entry.event
            && let Move::Archive { stage, parts } = &**r#move
        {
            all.retain(|(known, _)| known != stage);
            all.push((stage, parts));
        }
    }
    let parts = all.into_iter().flat_map(|(stage, parts)| parts.iter().map(move |part| (stage, part)));
    parts.map(|(stage, (name, text))| (format!("{stage}: {name}"), text.clone())).collect()
}

/// The names of all artifacts that stages archived.
fn artifacts(journal: &Journal) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in journal.entries() {
        if let JournalEvent::Observed { outcome, .. } = &entry.event
            && let EffectOutcome::Archived { artifacts } = &**outcome
        {
            names.extend(artifacts.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
        }
    }
    names
}
