//! What an order's survey looks like on GitHub: the inputs of the renderers.
//!
//! May know: the journal, what a walk over it found, and the renderers' views.
//! Must never know: the clock, the network. The same journal gives the same text, so that nothing is written twice.

mod answer;
mod check;
mod pull;
mod stages;
mod status;
mod time;

#[cfg(test)]
mod tests;

use journeyman_github::OrderLabel;
use journeyman_github::render::RepositoryLinks;
use journeyman_order::Journal;
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::PendingApproval;

pub(super) use answer::{earlier_reviews, notice, review};
pub(super) use check::check;
pub(super) use pull::pull;
pub(super) use status::status;

/// The label that shows how the order stands.
pub(super) fn label(survey: &OrderProjection) -> OrderLabel {
    if waits_for_the_plan(survey) { OrderLabel::NeedsHuman } else { survey.surfaces().label }
}

/// Whether nothing goes on before a person has approved the plan.
fn waits_for_the_plan(survey: &OrderProjection) -> bool {
    survey.next.settled.is_none() && survey.trace.asks == Some(PendingApproval::Plan)
}

/// Where links to the repository lead.
pub(super) fn pages(journal: &Journal) -> RepositoryLinks {
    let issue = &journal.opened().issue;
    RepositoryLinks::by_issue(&issue.url, issue.number)
}

/// Where the order stands, in a few words.
fn headline(survey: &OrderProjection) -> String {
    if waits_for_the_plan(survey) {
        return "The plan waits for a person to approve it".to_owned();
    }
    survey.surfaces().headline
}
