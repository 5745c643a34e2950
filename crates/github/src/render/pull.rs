//! The pull request's text: what was done, how it was verified, what was not, and the receipt.

use super::pages::{RepositoryLinks, is_linkable};
use super::receipt::{ReceiptView, details, doubts, evidence, gaps};
use super::status::quoted_within;
use super::text::fit;
use super::{ROOM, closes};
use journeyman_order::IssueNumber;
use journeyman_order::Verdict;

/// The most of the agent's words, in characters.
const LONGEST_SUMMARY: usize = 30_000;

/// What the pull request says.
#[derive(Debug, Clone, PartialEq)]
pub struct PullBodyView {
    /// The issue that it closes.
    pub issue: IssueNumber,
    /// The issue's page, where the status comment is.
    pub issue_url: String,
    /// What the agent says of the change. Foreign.
    pub summary: String,
    /// How it was verified.
    pub receipt: ReceiptView,
    pub pages: RepositoryLinks,
}

/// The pull request's body.
pub fn pull(view: &PullBodyView) -> String {
    let receipt = &view.receipt;
    let mut parts = vec![format!("### {}\n\n{}", receipt.heading, evidence(receipt, &view.pages))];
    if let (Verdict::Pending { .. }, true) = (&receipt.verdict, is_linkable(&view.issue_url)) {
        parts.push(format!("How it stands by now: [the comment on the issue]({}).", view.issue_url));
    }
    parts.extend(doubts(receipt, &view.pages));
    parts.push(gaps(receipt));
    parts.push(details(receipt));
    parts.push(
        "<sub>Review it as you would a colleague's: every point of a review that asks for changes is answered. Or \
         comment `/retry`, `/approve`, `/cancel`, `/status`; `/help` tells what they do.</sub>"
            .to_owned(),
    );
    let rest = parts.join("\n\n");
    let heading = "### What changed, in the agent's words";
    // The agent's words get the room that is left: what we know ourselves is never cut for them.
    let room = ROOM.saturating_sub(rest.chars().count() + 200).min(LONGEST_SUMMARY);
    let body = match quoted_within(&view.summary, room) {
        Some(summary) => format!("{}\n\n{heading}\n\n{summary}\n\n{rest}", closes(view.issue)),
        None => format!("{}\n\n{rest}", closes(view.issue)),
    };
    fit(&body, ROOM)
}
