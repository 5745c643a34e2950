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

use crate::github::OrderLabel;
use crate::github::render::Pages;
use crate::order::next::Survey;
use crate::order::trace::Ask;
use crate::order::{Journal, Settlement};

pub(super) use answer::{earlier_reviews, review, saying};
pub(super) use check::check;
pub(super) use pull::pull;
pub(super) use status::status;

/// The label that shows how the order stands.
pub(super) fn label(survey: &Survey) -> OrderLabel {
    match &survey.next.settled {
        None if survey.trace.asks == Some(Ask::Plan) => OrderLabel::NeedsHuman,
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

/// Where links to the repository lead.
pub(super) fn pages(journal: &Journal) -> Pages {
    let issue = &journal.opened().issue;
    Pages::by_issue(&issue.url, issue.number)
}

/// Where the order stands, in a few words.
fn headline(survey: &Survey) -> String {
    match &survey.next.settled {
        None if survey.trace.asks == Some(Ask::Plan) => {
            "The plan waits for a person to approve it".to_owned()
        }
        None => "Journeyman is at work on this".to_owned(),
        Some(Settlement::Verified { pull: Some(_) }) => {
            "Verified: the pull request is ready for review".to_owned()
        }
        Some(Settlement::Verified { pull: None }) => "Verified".to_owned(),
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
