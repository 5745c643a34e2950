//! The progress of each stage, the running effects, and the working time of an order: by its journal's entries, not by
//! the clock.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use super::text::{brief, duration, passing};
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::{RoundTrace, StageState as Stood};
use journeyman_order::{
    EffectPart, EffectScope, Journal, JournalEntry, JournalEvent, Move, MoveKey, ReservedWord,
};

/// The running effects in words. Partly foreign text: a repository chooses the names of roles.
pub(super) fn now(journal: &Journal) -> Vec<String> {
    under_way(journal).into_iter().filter_map(|(key, doing)| in_words(key, doing)).collect()
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the others are done in a moment, or said elsewhere")]
fn in_words(key: &MoveKey, doing: &Move) -> Option<String> {
    let words = match doing {
        Move::RunAgent(task) => {
            let who = if task.role.is_empty() { &task.agent } else { &task.role };
            match key.part() {
                EffectPart::Verifier => format!("{who} is reviewing ({})", task.stage),
                EffectPart::Diagnosis => format!("{who} is looking for the cause"),
                EffectPart::Worker | EffectPart::Other(_) => format!("{who} is working ({})", key.stage()),
            }
        }
        Move::Prepare => "fetching the repository".to_owned(),
        Move::ReadIssue => "reading the issue again".to_owned(),
        Move::Preflight => "running preflight checks".to_owned(),
        Move::PrepareEnvironment => "preparing the environment and running the tests in it".to_owned(),
        Move::RunTests { commit } => format!("testing {}", commit.short()),
        Move::WriteArtifact { .. } => "writing the files".to_owned(),
        Move::Push { .. } => "pushing".to_owned(),
        Move::OpenPull { .. } => "opening the pull request".to_owned(),
        Move::FinishPull { .. } => "finishing the pull request".to_owned(),
        Move::ReadPull { .. } => "reading the pull request".to_owned(),
        Move::FetchChange { .. } => "fetching the pull request".to_owned(),
        Move::TakeIn { .. } => "fetching what was pushed to the branch".to_owned(),
        Move::UpdateBranch { .. } => "updating the branch from the base branch".to_owned(),
        Move::RerunJobs { .. } => "rerunning failed jobs".to_owned(),
        _ => return None,
    };
    Some(words)
}

const PASSED: &str = "[x]";
const RUNNING: &str = "[ ] ⏳";
const FAILED: &str = "[ ] ❌";

/// The pipeline's stages, then additional ones such as rounds that people asked for. Folded once the order has ended.
pub(super) fn stages(journal: &Journal, projection: &OrderProjection) -> Option<String> {
    let mut names: Vec<&str> = journal.pipeline().stages.iter().map(|stage| stage.name.as_str()).collect();
    for stage in &projection.trace.stages {
        if !names.contains(&stage.name.as_str()) {
            names.push(&stage.name);
        }
    }
    if names.is_empty() {
        return None;
    }
    let lines: Vec<String> = names.iter().map(|name| stage_line(name, journal, projection)).collect();
    let lines = lines.join("\n");
    if projection.next.settled.is_none() {
        return Some(lines);
    }
    let passed = names.iter().filter(|name| mark(name, projection) == PASSED).count();
    let all = names.len();
    Some(format!("<details>\n<summary>{passed} of {all} stages passed</summary>\n\n{lines}\n\n</details>"))
}

/// A stage's progress: a box that is ticked when nothing is left to do, or a sign if that is not enough.
fn mark(name: &str, projection: &OrderProjection) -> &'static str {
    let trace = projection.trace.stages.iter().rfind(|stage| stage.name == name);
    match (trace.map(|stage| stage.state), &projection.next.settled) {
        (Some(Stood::Passed | Stood::Approved), _) => PASSED,
        (Some(Stood::Skipped | Stood::NotReached), _) | (None, Some(_)) => "[x] ➖",
        (Some(Stood::Failed | Stood::Escalated), _) | (Some(Stood::Running), Some(_)) => FAILED,
        (Some(Stood::Running), None) => RUNNING,
        (None, None) => "[ ]",
    }
}

/// One stage: its name, details such as the round and the test counts, and its working time.
fn stage_line(name: &str, journal: &Journal, projection: &OrderProjection) -> String {
    let (mark, shown) = (mark(name, projection), brief(name, 60));
    // Running and failed stages stand out.
    let shown = if matches!(mark, RUNNING | FAILED) { format!("**{shown}**") } else { shown };
    let mut line = format!("- {mark} {shown}");
    let Some(trace) = projection.trace.stages.iter().rfind(|stage| stage.name == name) else { return line };
    let detail = trace.rounds.last().map(|round| round_detail(round, attempt(journal, name)));
    let detail = detail.map(|detail| brief(&detail, 300)).filter(|detail| !detail.is_empty());
    let seconds = seconds_at_work(journal, |key| key.stage() == name).map(duration);
    for more in [detail, seconds].into_iter().flatten() {
        line.push_str(&format!(" · {more}"));
    }
    line
}

/// The last round that a check sent the stage's worker into, with its attempt and the limit; `None` before that.
fn attempt(journal: &Journal, stage: &str) -> Option<(u32, u32, u32)> {
    journal.entries().iter().rev().find_map(|entry| {
        let JournalEvent::Intended { key, r#move } = &entry.event else { return None };
        let Move::RunAgent(task) = &**r#move else { return None };
        let rework = task.rework.as_ref().filter(|_| key.is_work_of(stage))?;
        Some((task.round, rework.attempt, rework.of.max(rework.attempt)))
    })
}

fn round_detail(round: &RoundTrace, attempt: Option<(u32, u32, u32)>) -> String {
    let mut words = Vec::new();
    match attempt {
        Some((number, attempt, of)) if number == round.round && attempt == number => {
            words.push(format!("round {number} of {of}"));
        }
        Some((number, attempt, of)) if number == round.round => {
            words.push(format!("round {number}, attempt {attempt} of {of}"));
        }
        Some(_) | None if round.round > 1 => words.push(format!("round {}", round.round)),
        Some(_) | None => {}
    }
    if let Some(counts) = round.tests.as_ref().and_then(|tests| tests.counts) {
        words.push(passing(counts));
    } else if let Some(feedback) = &round.feedback {
        words.push(feedback.summary.clone());
    }
    words.join(", ")
}

/// The time of the latest news. Showing the status does not count.
pub(super) fn last_news(journal: &Journal) -> DateTime<Utc> {
    news(journal).last().map_or(journal.opened_at(), |entry| entry.at)
}

fn news(journal: &Journal) -> impl Iterator<Item = &JournalEntry> {
    journal.entries().iter().filter(|entry| match &entry.event {
        JournalEvent::Intended { key, .. } | JournalEvent::Observed { key, .. } => {
            key.scope() != EffectScope::Beside(ReservedWord::Status)
        }
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => true,
    })
}

/// Seconds during which a matching effect ran; `None` if there never was one. Waiting between effects, mostly for a
/// person, does not count.
pub(super) fn seconds_at_work(journal: &Journal, counts: impl Fn(&MoveKey) -> bool) -> Option<u64> {
    let mut open: BTreeSet<&MoveKey> = BTreeSet::new();
    let mut worked = TimeDelta::zero();
    let mut before: Option<DateTime<Utc>> = None;
    let mut has_begun = false;
    for entry in news(journal) {
        if let (false, Some(before)) = (open.is_empty(), before) {
            worked += (entry.at - before).max(TimeDelta::zero());
        }
        before = Some(entry.at);
        match &entry.event {
            JournalEvent::Intended { key, .. } if counts(key) => {
                open.insert(key);
                has_begun = true;
            }
            JournalEvent::Observed { key, .. } => {
                open.remove(key);
            }
            JournalEvent::Intended { .. } | JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    has_begun.then(|| u64::try_from(worked.num_seconds()).unwrap_or_default())
}

/// Effects that were begun and not yet observed, in order of their start.
pub(super) fn under_way(journal: &Journal) -> Vec<(&MoveKey, &Move)> {
    let mut open: Vec<(&MoveKey, &Move)> = Vec::new();
    for entry in news(journal) {
        match &entry.event {
            JournalEvent::Intended { key, r#move } => {
                open.retain(|(known, _)| *known != key);
                open.push((key, r#move));
            }
            JournalEvent::Observed { key, .. } => open.retain(|(known, _)| *known != key),
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    open
}
