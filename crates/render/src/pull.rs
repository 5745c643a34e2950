//! The pull request's text: what was done, how it was verified, what was not, and the receipt. Only where the work is verified
//! does the agent speak first.

use super::ROOM;
use super::markdown::quoted_within;
use super::pages::is_linkable;
use super::receipt::ReceiptSource;
use super::text::plain;
use journeyman_order::length::fit;
use journeyman_order::next::OrderProjection;
use journeyman_order::pull_template::{FilledTemplate, filled};
use journeyman_order::{Journal, Verdict};

/// The most of the agent's words, in characters.
const LONGEST_SUMMARY: usize = 30_000;

/// The pull request's body; none while there is no work to speak of. `summary` is what the agent says of the change,
/// and foreign.
pub fn pull(journal: &Journal, projection: &OrderProjection, summary: &str) -> Option<String> {
    let receipt = ReceiptSource::of(journal, projection)?;
    let issue = &journal.opened().issue;
    // A run on a person's own machine claims nothing of GitHub.
    let is_on_github = is_linkable(&issue.url);
    let verdict = receipt.evidence();
    let mut parts = Vec::new();
    if let (Verdict::Pending { .. }, true) = (&projection.verdict, is_on_github) {
        parts.push(format!("Current status: [the comment on the issue]({}).", issue.url));
    }
    parts.extend(receipt.doubts());
    parts.extend(receipt.gaps());
    let is_rejected = matches!(projection.verdict, Verdict::Rejected { .. });
    parts.extend(receipt.failing_programs().filter(|_| is_rejected));
    parts.push(receipt.details());
    parts.extend(is_on_github.then(|| {
        "<sub>Review it as you would a colleague's: Journeyman answers every point of a review that requests changes. Or \
         comment `/retry`, `/approve`, `/cancel`, `/status`; `/help` explains them.</sub>"
            .to_owned()
    }));
    let rest = parts.join("\n\n");
    // The agent's words get the room that is left: what we know ourselves is never cut for them.
    let room = ROOM.saturating_sub(verdict.chars().count() + rest.chars().count() + 200).min(LONGEST_SUMMARY);
    let template = journal.prepared().and_then(|prepared| prepared.template.as_deref());
    let words = match template.and_then(|template| filled(template, summary)) {
        Some(filled) => Some(format!("{}\n\n---", in_the_template(&filled, room))),
        None => quoted_within(summary, room)
            .map(|summary| format!("### What changed, in the agent's words\n\n{summary}")),
    };
    // What makes GitHub close the issue when this is merged. Nothing else writes it.
    let closes = is_on_github.then(|| format!("Closes #{}", issue.number));
    let is_verified = matches!(projection.verdict, Verdict::Verified(_));
    let [first, second] = if is_verified { [words, Some(verdict)] } else { [Some(verdict), words] };
    let all: Vec<String> = [closes, first, second, Some(rest)].into_iter().flatten().collect();
    Some(fit(&all.join("\n\n"), ROOM))
}

/// How the work was verified, and what was not, as it stands in the pull request; none while there is no work.
pub fn evidence(journal: &Journal, projection: &OrderProjection) -> Option<String> {
    let receipt = ReceiptSource::of(journal, projection)?;
    let parts = [Some(receipt.evidence()), receipt.doubts(), receipt.gaps()];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n"))
}

/// The repository's template as the agent filled it in: the headings are the repository's, everything else is foreign.
fn in_the_template(filled: &FilledTemplate, room: usize) -> String {
    let mut parts = vec!["The repository's template, in the agent's words:".to_owned()];
    let mut room = room.saturating_sub(200);
    let mut say = |text: &str, parts: &mut Vec<String>| {
        if let Some(text) = quoted_within(text, room) {
            room = room.saturating_sub(text.chars().count());
            parts.push(text);
        }
    };
    say(&filled.before, &mut parts);
    for section in &filled.sections {
        parts.push(format!("{} {}", "#".repeat(section.level), plain(&section.heading)));
        say(&section.text, &mut parts);
    }
    parts.join("\n\n")
}
