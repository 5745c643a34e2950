//! What an order's survey looks like on GitHub: the inputs of the renderers.

use chrono::{DateTime, Utc};

use crate::github::OrderLabel;
use crate::github::render::{
    CheckView, PullView, RoundLine, StageLine, StageState, StatusView, TriedLine, Verification,
};
use crate::order::conversation::CheckState;
use crate::order::next::Survey;
use crate::order::pipeline::Uses;
use crate::order::trace::{RoundTrace, StageState as Stood, Standing};
use crate::order::{CommitSha, Counts, Event, Finding, Journal, Move, Outcome, Settlement};

/// The label that shows how the order stands.
pub(super) fn label(survey: &Survey) -> OrderLabel {
    match &survey.next.settled {
        None => OrderLabel::Working,
        Some(Settlement::Verified { .. } | Settlement::Approved { .. }) => OrderLabel::Done,
        Some(
            Settlement::Unverified { .. }
            | Settlement::Escalated { .. }
            | Settlement::Blocked { .. }
            | Settlement::Failed { .. },
        ) => OrderLabel::NeedsHuman,
        Some(
            Settlement::Cancelled { .. }
            | Settlement::Refused { .. }
            | Settlement::Merged { .. }
            | Settlement::Closed { .. },
        ) => OrderLabel::None,
    }
}

/// The status comment.
pub(super) fn status(journal: &Journal, survey: &Survey) -> StatusView {
    let trace = &survey.trace;
    let settled = survey.next.settled.as_ref();
    let mut explanation: Vec<String> =
        settled.and_then(Settlement::because).map(str::to_owned).into_iter().collect();
    if settled.is_none()
        && let Some(waiting) = &trace.waiting
    {
        explanation.push(format!(
            "Waiting until {}: {}",
            waiting.until.format("%H:%M:%S UTC"),
            waiting.message
        ));
    }
    explanation.extend(trace.notes.iter().cloned());
    StatusView {
        headline: headline(settled),
        stages: journal.pipeline().stages.iter().map(|stage| stage_line(&stage.name, survey)).collect(),
        explanation: (!explanation.is_empty()).then(|| explanation.join("\n\n")),
        tried: tried(survey),
        still_wrong: still_wrong(survey),
        cost_usd: trace.usage.usd,
        budget_usd: survey.usd_limit,
        pull: trace.pull.as_ref().map(|pull| (pull.number, pull.url.clone())),
        next_steps: next_steps(settled),
        updated_at: last_news(journal),
    }
}

/// By the journal and not by the clock, so that the same state is the same text and is not written again.
fn last_news(journal: &Journal) -> DateTime<Utc> {
    let status = |event: &Event| match event {
        Event::Intended { r#move, .. } => matches!(**r#move, Move::ShowStatus { .. }),
        Event::Observed { outcome, .. } => matches!(**outcome, Outcome::StatusShown),
        Event::Opened(_) | Event::Signaled { .. } => false,
    };
    let last = journal.entries().iter().rev().find(|entry| !status(&entry.event));
    last.map_or(journal.opened_at(), |entry| entry.at)
}

fn headline(settled: Option<&Settlement>) -> String {
    match settled {
        None => "Journeyman is at work on this".to_owned(),
        Some(Settlement::Verified { .. }) => "Verified: the pull request is ready for review".to_owned(),
        Some(Settlement::Unverified { .. }) => "Done, but unverified".to_owned(),
        Some(Settlement::Approved { by, .. }) => format!("Approved by {by}, not verified"),
        Some(Settlement::Escalated { .. }) => "Handed over: the best attempt is not verified".to_owned(),
        Some(Settlement::Blocked { .. }) => "Blocked: there is nothing to hand over".to_owned(),
        Some(Settlement::Failed { .. }) => "Failed: something around the work has to be mended".to_owned(),
        Some(Settlement::Cancelled { .. }) => "Cancelled".to_owned(),
        Some(Settlement::Merged { by, .. }) => format!("Merged by {by}"),
        Some(Settlement::Closed { by, .. }) => format!("The pull request was closed by {by}"),
        Some(Settlement::Refused { .. }) => "Refused".to_owned(),
    }
}

fn next_steps(settled: Option<&Settlement>) -> Vec<String> {
    let retry = "Comment `/retry` (with guidance, if you like) for another set of attempts.".to_owned();
    match settled {
        None => vec!["Comment `/cancel` to stop.".to_owned()],
        Some(Settlement::Verified { .. } | Settlement::Approved { .. }) => {
            vec!["Review the pull request as you would a colleague's.".to_owned()]
        }
        Some(Settlement::Unverified { .. } | Settlement::Escalated { .. }) => {
            vec![
                "Look at the draft; take it over or close it.".to_owned(),
                retry,
                "Comment `/approve` to accept it as it is, though it is not verified.".to_owned(),
            ]
        }
        Some(Settlement::Blocked { .. } | Settlement::Failed { .. } | Settlement::Cancelled { .. }) => {
            vec![retry]
        }
        Some(Settlement::Closed { .. }) => {
            vec![
                "Open the pull request again to go on with it, or put the label on again to start anew."
                    .to_owned(),
            ]
        }
        Some(Settlement::Refused { .. } | Settlement::Merged { .. }) => Vec::new(),
    }
}

fn stage_line(name: &str, survey: &Survey) -> StageLine {
    let trace = survey.trace.stages.iter().rfind(|stage| stage.name == name);
    let state = match (trace.map(|stage| stage.state), &survey.next.settled) {
        (Some(Stood::Passed | Stood::Approved), _) => StageState::Passed,
        (Some(Stood::Skipped | Stood::NotReached), _) => StageState::Skipped,
        (Some(Stood::Failed | Stood::Escalated), _) | (Some(Stood::Running), Some(_)) => StageState::Failed,
        (Some(Stood::Running), None) => StageState::Running,
        (None, Some(_)) => StageState::Skipped,
        (None, None) => StageState::Waiting,
    };
    let detail = trace.and_then(|stage| stage.rounds.last()).map(round_detail).unwrap_or_default();
    StageLine { name: name.to_owned(), state, detail }
}

fn round_detail(round: &RoundTrace) -> String {
    let mut words = Vec::new();
    if round.round > 1 {
        words.push(format!("round {}", round.round));
    }
    if let Some(counts) = round.tests.as_ref().and_then(|tests| tests.counts) {
        words.push(counted(counts));
    } else if let Some(feedback) = &round.feedback {
        words.push(feedback.summary.clone());
    }
    words.join(", ")
}

/// Whether a person is asked to go on with it, and has to know how it came to this.
fn is_with_a_person(survey: &Survey) -> bool {
    match &survey.next.settled {
        Some(Settlement::Escalated { .. } | Settlement::Blocked { .. }) => true,
        Some(
            Settlement::Verified { .. }
            | Settlement::Unverified { .. }
            | Settlement::Approved { .. }
            | Settlement::Failed { .. }
            | Settlement::Cancelled { .. }
            | Settlement::Merged { .. }
            | Settlement::Closed { .. }
            | Settlement::Refused { .. },
        )
        | None => false,
    }
}

/// Every round that a check failed, and the one that is handed over.
fn tried(survey: &Survey) -> Vec<TriedLine> {
    if !is_with_a_person(survey) {
        return Vec::new();
    }
    let kept = survey.trace.work.as_ref().map(|work| &work.commit);
    let rounds =
        survey.trace.stages.iter().flat_map(|stage| stage.rounds.iter().map(move |round| (stage, round)));
    rounds
        .filter(|(_, round)| round.feedback.is_some())
        .map(|(stage, round)| {
            let counts = round.tests.as_ref().and_then(|tests| tests.counts).map(counted);
            let said = round.feedback.as_ref().map(|feedback| feedback.summary.clone());
            TriedLine {
                stage: stage.name.clone(),
                round: round.round,
                result: counts.into_iter().chain(said).collect::<Vec<_>>().join(": "),
                diagnosis: round.diagnosis.as_ref().map(|diagnosis| diagnosis.diagnosis.clone()),
                is_kept: kept.is_some() && round.commit.as_ref() == kept,
            }
        })
        .collect()
}

/// What the check said that failed the round which is handed over; of the last round where there is none.
fn still_wrong(survey: &Survey) -> Vec<String> {
    if !is_with_a_person(survey) {
        return Vec::new();
    }
    let rounds = || survey.trace.stages.iter().flat_map(|stage| &stage.rounds);
    let work = survey.trace.work.as_ref();
    let kept = work.and_then(|work| rounds().rfind(|round| round.commit.as_ref() == Some(&work.commit)));
    let round = kept.or_else(|| rounds().rfind(|round| round.feedback.is_some()));
    let findings = round.and_then(|round| round.feedback.as_ref()).map(|feedback| feedback.issues.iter());
    let told = |finding: &Finding| match &finding.location {
        Some(place) => format!("{place}: {}", finding.description),
        None => finding.description.clone(),
    };
    findings.into_iter().flatten().map(told).collect()
}

fn counted(counts: Counts) -> String {
    format!("{} of {} tests pass", counts.passed, counts.ran())
}

/// The stages that have yet to judge the work: whatever they say, it is not verified before.
fn open_judges(journal: &Journal, survey: &Survey) -> Vec<String> {
    let has_judged = |name: &str| {
        let stood = survey.trace.stages.iter().rfind(|stage| stage.name == name).map(|stage| stage.state);
        matches!(stood, Some(Stood::Passed | Stood::Approved | Stood::Skipped))
    };
    let judges = journal.pipeline().stages.iter();
    let judges = judges.filter(|stage| stage.uses == Uses::Tests || !stage.checks.is_empty());
    judges.filter(|stage| !has_judged(&stage.name)).map(|stage| stage.name.clone()).collect()
}

/// The pull request's text; none while there is no work to speak of.
pub(super) fn pull(journal: &Journal, survey: &Survey, summary: &str) -> Option<PullView> {
    let trace = &survey.trace;
    let work = trace.work.as_ref()?;
    let tests = work.tests.as_ref();
    let ran = tests.and_then(|tests| tests.test.as_ref());
    // A round in which only judges spoke is told as the review.
    let rounds = trace.stages.iter().flat_map(|stage| stage.rounds.iter().map(move |round| (stage, round)));
    let rounds = rounds.filter(|(_, round)| round.commit.is_some() && round.agent.is_some());
    Some(PullView {
        issue: journal.opened().issue.number,
        summary: summary.to_owned(),
        verified: match &work.standing {
            Standing::Verified => match open_judges(journal, survey) {
                stages if stages.is_empty() => Verification::Verified,
                stages => Verification::Pending { stages },
            },
            Standing::Unverified { because } => Verification::Unverified { why: because.clone() },
            Standing::NotVerified { because } => Verification::NotVerified { why: because.clone() },
            Standing::Approved { by, because } => {
                Verification::Approved { by: by.clone(), why: because.clone() }
            }
        },
        commit: work.commit.clone(),
        tree: work.tree.clone(),
        base: trace.base.clone()?,
        test_command: ran.map(|run| run.command.clone()),
        setup_command: tests.and_then(|tests| tests.setup.as_ref()).map(|run| run.command.clone()),
        exit: ran.map(|run| run.exit),
        counts: tests.and_then(|tests| tests.counts),
        review: work.review.as_ref().map(|review| review.summary.clone()),
        failing: tests.map(|tests| tests.failing.clone()).unwrap_or_default(),
        rounds: rounds
            .map(|(stage, round)| RoundLine {
                stage: stage.name.clone(),
                round: round.round,
                result: round
                    .feedback
                    .as_ref()
                    .map_or_else(|| "passed".to_owned(), |feedback| feedback.summary.clone()),
                counts: round.tests.as_ref().and_then(|tests| tests.counts),
            })
            .collect(),
        usage: trace.usage,
        sandbox: tests.map(|tests| tests.sandbox.clone()).unwrap_or_default(),
    })
}

/// What the check run on a commit says. Of a commit that is not the one that is published, or about to be, nothing
/// is known that could stand there.
pub(super) fn check(_: &Journal, survey: &Survey, head: &CommitSha, state: CheckState) -> CheckView {
    let settled = survey.next.settled.as_ref();
    let work = survey.trace.work.as_ref().filter(|work| work.commit == *head);
    let review = work.and_then(|work| work.review.as_ref());
    CheckView {
        head: head.clone(),
        state,
        headline: headline(settled),
        explanation: settled.and_then(Settlement::because).map(str::to_owned),
        findings: review.map(|review| review.issues.clone()).unwrap_or_default(),
        changed: work.map(|work| work.changed.clone()).unwrap_or_default(),
    }
}
