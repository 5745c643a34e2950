//! The pull request's text: what was done, how it was verified, what was not, and the receipt.

use super::ROOM;
use super::markdown::quoted_within;
use super::pages::is_linkable;
use super::receipt::ReceiptSource;
use journeyman_order::length::fit;
use journeyman_order::next::OrderProjection;
use journeyman_order::{Journal, Verdict};

/// The most of the agent's words, in characters.
const LONGEST_SUMMARY: usize = 30_000;

/// The pull request's body; none while there is no work to speak of. `summary` is what the agent says of the change,
/// and foreign.
pub fn pull(journal: &Journal, survey: &OrderProjection, summary: &str) -> Option<String> {
    let receipt = ReceiptSource::of(journal, survey)?;
    let issue = &journal.opened().issue;
    let mut parts = vec![receipt.evidence()];
    if let (Verdict::Pending { .. }, true) = (&survey.verdict, is_linkable(&issue.url)) {
        parts.push(format!("Current status: [the comment on the issue]({}).", issue.url));
    }
    parts.extend(receipt.doubts());
    parts.push(receipt.gaps());
    parts.push(receipt.details());
    parts.push(
        "<sub>Review it as you would a colleague's: Journeyman answers every point of a review that requests changes. Or \
         comment `/retry`, `/approve`, `/cancel`, `/status`; `/help` explains them.</sub>"
            .to_owned(),
    );
    let rest = parts.join("\n\n");
    // What makes GitHub close the issue when this is merged. Nothing else writes it.
    let closes = format!("Closes #{}", issue.number);
    // The agent's words get the room that is left: what we know ourselves is never cut for them.
    let room = ROOM.saturating_sub(rest.chars().count() + 200).min(LONGEST_SUMMARY);
    let body = match quoted_within(summary, room) {
        Some(summary) => {
            format!("{closes}\n\n### What changed, in the agent's words\n\n{summary}\n\n{rest}")
        }
        None => format!("{closes}\n\n{rest}"),
    };
    Some(fit(&body, ROOM))
}
