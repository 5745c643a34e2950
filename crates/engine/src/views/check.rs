//! The check run's view.

use super::pull::{open_findings, receipt};
use super::{headline, pages};
use journeyman_github::render::CheckView;
use journeyman_order::conversation::CheckRunState;
use journeyman_order::next::OrderProjection;
use journeyman_order::{CommitSha, Journal};

/// What the check run on a commit says. Of a commit that is not the one that is published, or about to be, nothing
/// is known that could stand there.
pub(crate) fn check(
    journal: &Journal,
    survey: &OrderProjection,
    head: &CommitSha,
    state: CheckRunState,
) -> CheckView {
    let work = survey.trace.work.as_ref().filter(|work| work.commit == *head);
    CheckView {
        head: head.clone(),
        state,
        headline: headline(survey),
        explanation: survey.surfaces().because,
        receipt: work.and_then(|_| receipt(journal, survey)),
        findings: work.and_then(|work| work.review.as_ref()).map(open_findings).unwrap_or_default(),
        changed: work.map(|work| work.changed.clone()).unwrap_or_default(),
        pages: pages(journal),
    }
}
