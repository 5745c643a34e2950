//! What is said of an order on GitHub, as text: its journal, and what a replay of it found, in; Markdown out.
//!
//! May know: the journal, its projection, the words and shapes of comments and pull requests.
//! Must never know: the network, tokens, the clock. The same journal gives the same text, so that nothing is written
//! twice.
//!
//! Text of agents, repositories and people is foreign: whoever writes it may want to ping a team, close an issue,
//! show a tracking image, forge our status or our markers. [`markdown()`] lets through a small set of shapes
//! (paragraphs, lists, quotes, bold, code) and nothing else. What would make GitHub act, a mention, a reference,
//! a link, is put into a code span: GitHub searches the rendered text for mentions and references and leaves out
//! what is code. A backslash would not do, because it is gone by then; an invisible character would, but then
//! nobody could copy the text or see why it is odd.

mod answer;
mod check;
mod markdown;
mod notice;
mod pages;
mod pull;
mod receipt;
mod results;
mod review;
mod scrutiny;
mod stages;
mod status;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use answer::{answer, reply};
pub use check::check;
pub use markdown::markdown;
pub use notice::{no_order, notice, unreadable};
pub use pages::order_page;
pub use pull::{evidence, pull};
pub use review::review;
pub use status::status;
pub use text::{code_block, code_span, plain, title};

use journeyman_order::length::LONGEST_BODY;
use journeyman_order::next::OrderProjection;
use journeyman_order::surfaces::OrderLabel;
use journeyman_order::trace::PendingApproval;

/// What our bodies are made to fit: before a comment stands a marker of ours, which has to have room as well.
const ROOM: usize = LONGEST_BODY - 536;

/// The label that shows how the order stands.
pub fn label(projection: &OrderProjection) -> OrderLabel {
    match waits_for(projection) {
        Some(PendingApproval::Plan) => OrderLabel::NeedsHuman,
        Some(PendingApproval::Answers) => OrderLabel::NeedsInfo,
        None => projection.surfaces().label,
    }
}

/// Where the order stands, in a few words. Foreign in part: it can hold a login.
fn headline(projection: &OrderProjection) -> String {
    match waits_for(projection) {
        Some(PendingApproval::Plan) => "The plan is waiting for approval".to_owned(),
        Some(PendingApproval::Answers) => "Waiting for answers before code is written".to_owned(),
        None => projection.surfaces().headline,
    }
}

/// The person's word before which nothing goes on.
fn waits_for(projection: &OrderProjection) -> Option<PendingApproval> {
    projection.trace.asks.filter(|_| projection.next.settled.is_none())
}
