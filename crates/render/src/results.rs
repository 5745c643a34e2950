//! The result of an order without a pull request: one comment on the issue, with the stages' answers and the change.

use super::ROOM;
use super::markdown::quoted_within;
use super::pages::RepositoryLinks;
use super::text::{code_block, code_span, passing};
use journeyman_order::json_values::indented;
use journeyman_order::length::{fit, shorten};
use journeyman_order::next::OrderProjection;
use journeyman_order::pipeline::StageKind;
use journeyman_order::trace::StageState;
use journeyman_order::{Journal, JournalEvent, Move};

/// The comment's body. Agents' answers are foreign text.
pub(super) fn results(journal: &Journal, projection: &OrderProjection) -> String {
    let mut head = vec![format!("### Results of {}", code_span(&journal.pipeline().name))];
    if let Some(work) = &projection.trace.work {
        let commit = RepositoryLinks::default().commit(&work.commit);
        let counts = work.tests.as_ref().and_then(|tests| tests.counts).map(passing);
        let tests = counts.map(|counts| format!(", {counts}")).unwrap_or_default();
        let heading = projection.surfaces().heading;
        head.push(format!(
            "{heading}: commit {commit}{tests}. It was not pushed: this pipeline publishes nothing."
        ));
    }
    let mut parts = answers(journal, projection);
    for (name, text) in archived(journal) {
        // A stage's answer is often archived unchanged.
        if !parts.iter().any(|(_, known)| *known == text) {
            parts.push((name, text));
        }
    }
    if let Some(work) = projection.trace.work.as_ref().filter(|work| !work.patch.trim().is_empty())
        && !parts.iter().any(|(_, known)| *known == work.patch)
    {
        parts.push(("the change".to_owned(), work.patch.clone()));
    }
    // Each part gets a share of the space, so that no fold is cut open.
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
    // A pipeline's names consist of letters, digits, `-` and `_`; backslash escapes do not work in HTML.
    Some(format!("<details>\n<summary>{name}</summary>\n\n{shown}\n\n</details>"))
}

/// The latest answer of each stage's worker. A stage whose result is a commit answers with the change.
fn answers(journal: &Journal, projection: &OrderProjection) -> Vec<(String, String)> {
    let answer = |stage: &journeyman_order::trace::StageTrace| {
        let is_answer = journal.pipeline().stage(&stage.name)?.uses == StageKind::Agent;
        let is_done = matches!(stage.state, StageState::Passed | StageState::Approved);
        let said = stage.rounds.iter().rev().find_map(|round| round.result.clone())?;
        (is_answer && is_done).then(|| (stage.name.clone(), said))
    };
    projection.trace.stages.iter().filter_map(answer).collect()
}

/// The latest texts of each archiving stage.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{intends, journal, projection, published, stage, tested};
    use journeyman_order::length::LONGEST_BODY;
    use journeyman_order::trace::{OrderTrace, RoundTrace};

    fn said(text: &str) -> Vec<RoundTrace> {
        vec![RoundTrace { round: 1, result: Some(text.to_owned()), ..RoundTrace::default() }]
    }

    #[test]
    fn what_analysts_answered_is_folded_and_pings_nobody() {
        let stages = vec![
            stage("plan", StageState::Passed, said(r#"{"stories": ["fixes #3 for @team"]}"#)),
            stage("implement", StageState::Passed, said("Ask @mona.\n<!-- x -->")),
            stage("review", StageState::Failed, said("unfinished")),
        ];
        let projection = projection(OrderTrace { stages, ..OrderTrace::default() }, None);
        let text = results(&journal(Vec::new()), &projection);
        assert!(
            text.starts_with("### Results of `small`\n\n<details>\n<summary>plan</summary>\n\n```text\n{"),
            "{text}"
        );
        assert!(text.contains("> Ask `@mona.`") && !text.contains("<!--"), "{text}");
        assert!(!text.contains("unfinished"), "{text}");
    }

    #[test]
    fn the_name_of_a_stage_is_shown_as_it_is() {
        let parts = vec![("test_cases".to_owned(), "None.".to_owned())];
        let archive = Move::Archive { stage: "quality_analyst".to_owned(), parts };
        let journal = journal(vec![(1, intends("archive/archive", archive))]);
        let text = results(&journal, &projection(OrderTrace::default(), None));
        assert!(text.contains("<summary>quality_analyst: test_cases</summary>"), "{text}");
    }

    #[test]
    fn a_commit_that_nothing_publishes_is_there_and_however_much_there_is_it_fits() {
        let diff = format!("diff --git a/x b/x\n{}", "+`x` fixes #3\n".repeat(20_000));
        let mut trace = published(StageState::Passed);
        let work = trace.work.as_mut().unwrap();
        (work.tests, work.patch) = (Some(tested()), diff.clone());
        let parts =
            vec![("final_code".to_owned(), diff), ("findings".to_owned(), "Round 1: fine".to_owned())];
        let archive = Move::Archive { stage: "archive".to_owned(), parts };
        let journal = journal(vec![(1, intends("archive/archive", archive))]);
        let text = results(&journal, &projection(trace, None));
        assert!(text.chars().count() <= LONGEST_BODY, "{}", text.len());
        assert!(text.contains("commit `aaaaaaaaaa`, 24 of 24 tests pass. It was not pushed"), "{text:.600}");
        assert!(text.contains("<summary>archive: findings</summary>\n\n> Round 1: fine"), "{text:.600}");
        assert_eq!(text.matches("diff --git").count(), 1, "what was archived is not there twice");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
    }
}
