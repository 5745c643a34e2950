//! GitHub texts about an order: the journal and its replay in, Markdown out.
//!
//! May know: the journal, its projection, the words and shapes of comments and pull requests.
//! Must never know: the network, tokens, the clock. The same journal gives the same text, so nothing is posted twice.
//!
//! Text of agents, repositories and people is foreign: its author may want to ping a team, close an issue, show a
//! tracking image, or forge our status or markers. [`markdown()`] lets a few shapes through (paragraphs, lists, quotes,
//! bold, code) and nothing else. Anything that would make GitHub act (a mention, a reference, a link) becomes a code
//! span: GitHub searches the rendered text for mentions and references and skips code. A backslash would not help,
//! because it is gone by then. An invisible character would, but people could not copy the text or see why it is odd.

mod answer;
mod check;
mod findings;
mod markdown;
mod notice;
mod pages;
mod pull;
mod receipt;
mod results;
mod review;
mod stages;
mod status;
mod table;
mod text;
mod verification;

#[cfg(test)]
mod tests;

pub use answer::{answer, reply};
pub use check::check;
pub use findings::FindingsText;
pub use markdown::markdown;
pub use notice::{never_verified, no_order, not_mended, notice, unread, unreadable};
pub use pages::order_page;
pub use pull::{evidence, of_tests, pull};
pub use review::review;
pub use status::status;
pub use text::{code_block, code_span, plain, title};

use journeyman_order::length::LONGEST_BODY;
use journeyman_order::next::OrderProjection;
use journeyman_order::surfaces::OrderLabel;
use journeyman_order::trace::PendingApproval;

/// The target size of our bodies: our marker before a comment needs space as well.
const ROOM: usize = LONGEST_BODY - 536;

/// The label for the order's state.
pub fn label(projection: &OrderProjection) -> OrderLabel {
    match waits_for(projection) {
        Some(PendingApproval::Plan) => OrderLabel::NeedsHuman,
        Some(PendingApproval::Answers) => OrderLabel::NeedsInfo,
        None => projection.surfaces().label,
    }
}

/// The order's state in a few words. Partly foreign text: it can contain a login.
fn headline(projection: &OrderProjection) -> String {
    match waits_for(projection) {
        Some(PendingApproval::Plan) => "The plan is waiting for approval".to_owned(),
        Some(PendingApproval::Answers) => "Waiting for answers before code is written".to_owned(),
        None => projection.surfaces().headline,
    }
}

/// The person's decision that blocks the order.
fn waits_for(projection: &OrderProjection) -> Option<PendingApproval> {
    projection.trace.asks.filter(|_| projection.next.settled.is_none())
}
