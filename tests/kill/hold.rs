//! What must hold of an order, however often Journeyman crashed.

use std::collections::BTreeSet;

use journeyman::order::{AgentRun, EffectOutcome, Journal, JournalEvent, Move, Receipt, Settlement, Verdict};

use super::moment::name;
use super::world::{REPOSITORY, Runs, World};
use crate::conformance;

/// The expected result of every order in this test, with or without crashes.
#[derive(Debug, Clone, PartialEq)]
pub struct Result {
    /// The receipt without what differs between orders: names, commits, times.
    pub receipt: String,
    /// The observed effects in order, without status updates and check runs.
    pub effects: Vec<String>,
    /// What was paid for, run by run.
    pub paid: Vec<(String, String)>,
}

/// The state when a process died.
#[derive(Debug)]
pub struct Death {
    /// The agent's diary.
    pub runs: Runs,
    /// Runs whose result was on disk.
    pub remembered: std::collections::BTreeSet<String>,
}

impl Death {
    pub fn of(world: &World) -> Self {
        Self { runs: world.runs(), remembered: world.remembered() }
    }
}

/// Checks a settled order from all sides.
///
/// # Errors
/// Everything that does not hold.
pub async fn result(world: &World) -> std::result::Result<Result, String> {
    let journals = world.journals().await;
    let [(journal, projection)] = &journals[..] else { return Err(format!("{} orders", journals.len())) };
    let receipt = Receipt::of(journal, projection);
    let (Some(Settlement::Finished { pull: Some(pull) }), Verdict::Verified(_)) =
        (&projection.next.settled, &projection.verdict)
    else {
        return Err(format!(
            "settled as {:?}, {:?}: {:?}",
            projection.next.settled, projection.verdict, receipt.rounds
        ));
    };
    let tested = receipt.commit.as_ref().map(ToString::to_string).unwrap_or_default();
    let reviews = reviews(journal);
    let emulator = &world.emulator;
    let mut wrong = Vec::new();
    let mut check = |holds: bool, what: String| {
        if !holds {
            wrong.push(what);
        }
    };
    let branches: Vec<(String, String)> =
        emulator.branches(REPOSITORY).into_iter().filter(|(branch, _)| branch != "main").collect();
    check(branches.len() == 1, format!("one branch, and not {branches:?}"));
    check(branches.iter().all(|(_, at)| *at == tested), format!("{tested} was tested, not {branches:?}"));
    let pulls = emulator.pulls(REPOSITORY);
    check(pulls.len() == 1, format!("one pull request, and not {}", pulls.len()));
    for seen in &pulls {
        check(seen.issue.number == pull.0, format!("#{} is not #{}", seen.issue.number, pull.0));
        check(!seen.draft, "it is no draft".to_owned());
        check(seen.head_sha == tested, format!("its head {} is the tested commit {tested}", seen.head_sha));
        let comments = &seen.issue.comments;
        check(comments.len() == reviews, format!("a comment a round of review: {comments:?}"));
    }
    let issue = emulator.issue(REPOSITORY, world.issue).expect("the issue is there");
    let by_us = issue.comments.iter().filter(|comment| comment.author == "journeyman[bot]").count();
    check(by_us == 1 && issue.comments.len() == 1, format!("one status comment: {:?}", issue.comments));
    let labels: Vec<&str> =
        issue.labels.iter().map(String::as_str).filter(|label| label.starts_with("journeyman:")).collect();
    check(labels == ["journeyman:done"], format!("labels: {labels:?}"));
    // Counts calls too: a duplicate that was deleted again would otherwise go unnoticed.
    let calls = emulator.calls();
    for (made, path, wanted) in [
        ("comment", format!("/issues/{}/comments", world.issue), 1),
        ("pull request", "/pulls".to_owned(), 1),
        ("comment of a review", format!("/issues/{}/comments", pull.0), reviews),
    ] {
        let posts = calls.iter().filter(|call| call.method == "POST" && call.path.ends_with(&path));
        let times = posts.filter(|call| call.status == Some(201)).count();
        check(times == wanted, format!("a {made} was made {times} times"));
    }
    let breaches = conformance::breaches(emulator);
    check(breaches.is_empty(), format!("GitHub does not describe what was sent to it: {breaches:?}"));
    let missing = world.missing_artifacts(journal).await;
    check(missing.is_empty(), format!("artifacts that are not there: {missing:?}"));
    if !wrong.is_empty() {
        return Err(wrong.join("; "));
    }

    let mut effects = Vec::new();
    let mut paid = Vec::new();
    for entry in journal.entries() {
        let JournalEvent::Observed { key, outcome } = &entry.event else { continue };
        if let EffectOutcome::AgentRan(run) = &**outcome {
            paid.push((name(key), said(run)));
        }
        if let EffectOutcome::Trouble(trouble) = &**outcome {
            return Err(format!("trouble with {key}: {}", trouble.message));
        }
        // Status updates and check runs have no fixed order.
        if name(key) != "status" && !key.0.starts_with("check/") {
            effects.push(name(key));
        }
    }
    let tests = receipt.tests.as_ref().map(|tests| (tests.verdict, tests.counts, &tests.failing));
    let rounds: Vec<_> = receipt
        .rounds
        .iter()
        // Rounds that only warn, about a result read after a restart, are left out.
        .filter(|round| !round.passed || round.commit.is_some() || round.counts.is_some())
        .map(|round| (&round.stage, round.round, round.counts, round.passed, round.because.as_ref()))
        .collect();
    let receipt = format!(
        "{} verified: {} on {:?}, on the remote: {}, {rounds:?}, {tests:?}, {:?}, {:?}",
        receipt.outcome, receipt.verified, receipt.branch, receipt.on_remote, receipt.usage, receipt.notes
    );
    Ok(Result { receipt, effects, paid })
}

/// How many review rounds were to be shown on the pull request.
fn reviews(journal: &Journal) -> usize {
    let shown = journal.entries().iter().filter_map(|entry| match &entry.event {
        JournalEvent::Intended { key, r#move } => matches!(**r#move, Move::ShowReview(_)).then_some(key),
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Observed { .. } => None,
    });
    shown.collect::<BTreeSet<_>>().len()
}

fn said(run: &AgentRun) -> String {
    format!("{:?} {:?} {:?}", run.result, run.usage, run.failure)
}

/// Whether anything was paid for twice. A finished run that was on disk before a crash must not start again. Only runs
/// that a crash cut off may.
///
/// # Errors
/// Each run that was paid for twice.
pub fn paid_once(deaths: &[Death], end: &Death) -> std::result::Result<(), String> {
    let mut wrong = Vec::new();
    for death in deaths {
        for (run, begun) in &death.runs.begun {
            let file = kept_as(run);
            let was_kept = death.remembered.iter().any(|kept| kept.ends_with(&file) || is_text(kept, run));
            let begun_in_all = end.runs.begun.get(run).copied().unwrap_or_default();
            if was_kept && begun_in_all != *begun {
                wrong.push(format!("{run} was on disk and began again: {begun} and then {begun_in_all}"));
            }
        }
    }
    for (run, begun) in &end.runs.begun {
        // Once, and once more for each crash that cut it off.
        let cut_off = deaths.iter().filter(|death| death.runs.begun.contains_key(run)).count();
        if *begun as usize > 1 + cut_off {
            wrong.push(format!("{run} began {begun} times, and was cut off {cut_off} times"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}

/// The end of the name of the folder with a run's result.
fn kept_as(run: &str) -> String {
    let parts: Vec<&str> = run.split('/').collect();
    match parts[..] {
        [stage @ "tech_lead", round, "tech_lead"] | [stage, round, "code_reviewer"] => {
            format!("{stage}-{round}-verify-1.1")
        }
        // If asked about a stage, the tech lead counts its questions.
        [_, question, "tech_lead"] => format!("-diagnosis-{question}.1"),
        _ => format!("{}-agent.1", parts.join("-")),
    }
}

/// The pull request's text is a run within the stage `publish`, named after its commit.
fn is_text(kept: &str, run: &str) -> bool {
    run.split('/').next() == Some("publish") && kept.starts_with("publish-") && kept.contains("-text-")
}

/// One line per failure, then the first two with their processes' logs.
pub fn report(wrong: &[String]) -> String {
    let line = |wrong: &String| wrong.lines().next().unwrap_or_default().chars().take(400).collect();
    let mut lines: Vec<String> = wrong.iter().map(line).collect();
    lines.extend(wrong.iter().take(2).cloned());
    lines.join("\n")
}
