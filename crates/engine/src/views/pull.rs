//! The view of the pull request's text, and of the receipt that it shares with the check run.

use super::pages;
use journeyman_github::render::{PullBodyView, ReceiptCommandRun, ReceiptReview, ReceiptView, RoundLine};
use journeyman_order::next::OrderProjection;
use journeyman_order::receipt;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{Feedback, Finding, Journal};

/// The pull request's text; none while there is no work to speak of.
pub(crate) fn pull(journal: &Journal, survey: &OrderProjection, summary: &str) -> Option<PullBodyView> {
    let issue = &journal.opened().issue;
    Some(PullBodyView {
        issue: issue.number,
        issue_url: issue.url.clone(),
        summary: summary.to_owned(),
        receipt: receipt(journal, survey)?,
        pages: pages(journal),
    })
}

/// How the work was verified that is published or about to be; none while there is none.
pub(super) fn receipt(journal: &Journal, survey: &OrderProjection) -> Option<ReceiptView> {
    let trace = &survey.trace;
    let work = trace.work.as_ref()?;
    let tests = work.tests.as_ref();
    let ran = |run: Option<&CommandRun>| {
        run.map(|run| ReceiptCommandRun { command: run.command.clone(), exit: run.exit })
    };
    // A round in which only judges spoke is told as the review.
    let rounds = trace.stages.iter().flat_map(|stage| stage.rounds.iter().map(move |round| (stage, round)));
    let rounds = rounds.filter(|(_, round)| round.commit.is_some() && round.agent.is_some());
    Some(ReceiptView {
        heading: survey.surfaces().heading,
        verdict: survey.verdict.clone(),
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
            .map(|review| ReceiptReview { summary: review.summary.clone(), open: open_findings(review) }),
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

/// What a review still has to object, or lets pass, the weightiest first.
pub(super) fn open_findings(review: &Feedback) -> Vec<Finding> {
    let mut open = review.issues.clone();
    open.sort_by_key(|finding| finding.severity);
    open
}
