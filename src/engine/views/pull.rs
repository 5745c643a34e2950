//! The view of the pull request's text, and of the receipt that it shares with the check run.

use super::pages;
use super::time::stage_of;
use crate::github::render::{PullView, Ran, ReceiptView, Reviewed, RoundLine, Verification};
use crate::order::next::Survey;
use crate::order::pipeline::Uses;
use crate::order::receipt;
use crate::order::test_run::CommandRun;
use crate::order::trace::{StageState as Stood, Standing};
use crate::order::{Feedback, Finding, Journal, Settlement};

/// The pull request's text; none while there is no work to speak of.
pub(in crate::engine) fn pull(journal: &Journal, survey: &Survey, summary: &str) -> Option<PullView> {
    let issue = &journal.opened().issue;
    Some(PullView {
        issue: issue.number,
        issue_url: issue.url.clone(),
        summary: summary.to_owned(),
        receipt: receipt(journal, survey)?,
        pages: pages(journal),
    })
}

/// How the work was verified that is published or about to be; none while there is none.
pub(super) fn receipt(journal: &Journal, survey: &Survey) -> Option<ReceiptView> {
    let trace = &survey.trace;
    let work = trace.work.as_ref()?;
    let tests = work.tests.as_ref();
    let ran = |run: Option<&CommandRun>| run.map(|run| Ran { command: run.command.clone(), exit: run.exit });
    // A round in which only judges spoke is told as the review.
    let rounds = trace.stages.iter().flat_map(|stage| stage.rounds.iter().map(move |round| (stage, round)));
    let rounds = rounds.filter(|(_, round)| round.commit.is_some() && round.agent.is_some());
    Some(ReceiptView {
        verified: verification(journal, survey, &work.standing),
        commit: work.commit.clone(),
        tree: work.tree.clone(),
        base: trace.base.clone()?,
        setup: ran(tests.and_then(|tests| tests.setup.as_ref())),
        test: ran(tests.and_then(|tests| tests.test.as_ref())),
        counts: tests.and_then(|tests| tests.counts),
        failing: tests.map(|tests| tests.failing.clone()).unwrap_or_default(),
        review: work
            .review
            .as_ref()
            .map(|review| Reviewed { summary: review.summary.clone(), open: open_findings(review) }),
        others: trace.ci.clone().filter(|checks| checks.commit == work.commit),
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
        budget_usd: survey.usd_limit,
        refused: receipt::refused(journal)
            .into_iter()
            .map(|kept_from| (kept_from.refused.what, kept_from.refused.why))
            .collect(),
        held: receipt::held(journal).into_iter().collect(),
        sandbox: tests.map(|tests| tests.sandbox.clone()),
        scrutiny: tests.and_then(|tests| tests.scrutiny.as_deref().cloned()),
    })
}

/// What may be said of the work. While judges are to come it is not verified, and when the order has ended without
/// them it never was.
fn verification(journal: &Journal, survey: &Survey, standing: &Standing) -> Verification {
    match standing {
        Standing::Unverified { because } => Verification::Unverified { why: because.clone() },
        Standing::NotVerified { because } => Verification::NotVerified { why: because.clone() },
        Standing::Approved { by, because } => Verification::Approved { by: by.clone(), why: because.clone() },
        Standing::Verified => {
            let stages = if is_an_answer(survey) { Vec::new() } else { open_judges(journal, survey) };
            match survey.next.settled.as_ref().and_then(ended) {
                _ if stages.is_empty() => Verification::Verified,
                None => Verification::Pending { stages },
                Some(why) => Verification::Stopped { why, stages },
            }
        }
    }
}

/// Whether the work is an answer to people: it went through every check that the pipeline has, whatever became of
/// the pipeline's own stages.
fn is_an_answer(survey: &Survey) -> bool {
    survey.trace.work.as_ref().is_some_and(|work| stage_of(&work.answer) == "answer")
}

/// How an order ended that will not go on by itself, in words.
fn ended(settled: &Settlement) -> Option<String> {
    match settled {
        // Its last effects are still to be made: what is written then is written once more.
        Settlement::Verified { .. } | Settlement::Approved { .. } => None,
        Settlement::Merged { by, .. } => Some(format!("The pull request was merged by {by} before that.")),
        Settlement::Closed { by, .. } => Some(format!("The pull request was closed by {by} before that.")),
        Settlement::Cancelled { because } => Some(format!("Cancelled: {because}")),
        Settlement::Failed { because } => Some(format!("Failed: {because}")),
        Settlement::Unverified { because, .. }
        | Settlement::Escalated { because, .. }
        | Settlement::Blocked { because }
        | Settlement::Refused { because } => Some(because.clone()),
    }
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

/// What a review still has to object, or lets pass, the weightiest first.
pub(super) fn open_findings(review: &Feedback) -> Vec<Finding> {
    let mut open = review.issues.clone();
    open.sort_by_key(|finding| finding.severity);
    open
}
