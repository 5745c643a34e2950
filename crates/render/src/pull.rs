//! The pull request's text: what was done, the verdict with five lines, and the details. The agent's words come first only
//! if the work is verified.

use super::ROOM;
use super::findings::FindingsText;
use super::markdown::quoted_within;
use super::pages::{RepositoryLinks, is_linkable};
use super::receipt::ReceiptSource;
use super::text::{brief, plain};
use journeyman_order::findings::findings;
use journeyman_order::length::fit;
use journeyman_order::next::OrderProjection;
use journeyman_order::pull_template::{FilledTemplate, filled};
use journeyman_order::test_run::TestEvidence;
use journeyman_order::{Journal, TestRun, Verdict};

/// Longest agent text, in characters.
const LONGEST_SUMMARY: usize = 30_000;

/// The pull request's body; `None` while there is no work. `summary` is the agent's description of the change, and
/// foreign text.
pub fn pull(journal: &Journal, projection: &OrderProjection, summary: &str) -> Option<String> {
    let receipt = ReceiptSource::of(journal, projection)?;
    let opened = journal.opened();
    let issue = &opened.issue;
    // A run on a person's own machine does not refer to GitHub.
    let is_on_github = is_linkable(&issue.url);
    let verdict = receipt.evidence();
    let mut parts = Vec::new();
    if let (Verdict::Pending { .. }, true) = (&projection.verdict, is_on_github) {
        let place = if opened.change.is_some() { "that pull request" } else { "the issue" };
        parts.push(format!("Current status: [the comment on {place}]({}).", issue.url));
    }
    let is_rejected = matches!(projection.verdict, Verdict::Rejected { .. });
    let (drop, programs) = receipt
        .failing_programs()
        .filter(|_| is_rejected)
        .map_or((None, None), |[drop, programs]| (Some(drop), Some(programs)));
    parts.extend(drop);
    parts.push(receipt.details(programs));
    parts.extend(is_on_github.then(|| {
        "<sub>Review it as you would a colleague's: Journeyman answers every point of a review that requests changes. Or \
         comment `/retry`, `/approve`, `/cancel`, `/status`; `/help` explains them.</sub>"
            .to_owned()
    }));
    let rest = parts.join("\n\n");
    // The agent's words get the remaining room: our own facts are never cut for them.
    let room = ROOM.saturating_sub(verdict.chars().count() + rest.chars().count() + 200).min(LONGEST_SUMMARY);
    let template = journal.prepared().and_then(|prepared| prepared.template.as_deref());
    let words = match template.and_then(|template| filled(template, summary)) {
        Some(filled) => Some(format!("{}\n\n---", in_the_template(&filled, room))),
        None => quoted_within(summary, room)
            .map(|summary| format!("### What changed, in the agent's words\n\n{summary}")),
    };
    // GitHub closes the issue when this is merged. Nothing else writes it.
    let closes = is_on_github.then(|| match &opened.change {
        None => format!("Closes #{}", issue.number),
        Some(change) => {
            let issue = change.closes.map(|issue| format!("\n\nCloses #{issue}")).unwrap_or_default();
            format!(
                "This continues #{} by {}, with its commits below Journeyman's.{issue}",
                change.pull,
                brief(&change.author, 100)
            )
        }
    });
    let is_verified = matches!(projection.verdict, Verdict::Verified(_));
    let [first, second] = if is_verified { [words, Some(verdict)] } else { [Some(verdict), words] };
    let all: Vec<String> = [closes, first, second, Some(rest)].into_iter().flatten().collect();
    Some(fit(&all.join("\n\n"), ROOM))
}

/// The verdict and the findings, as the pull request shows them; `None` while there is no work.
pub fn evidence(journal: &Journal, projection: &OrderProjection) -> Option<FindingsText> {
    let receipt = ReceiptSource::of(journal, projection)?;
    Some(FindingsText { lines: receipt.evidence(), details: receipt.findings().details })
}

/// The findings about a single test run.
pub fn of_tests(run: &TestRun) -> FindingsText {
    let all = findings(Some(&TestEvidence::of(run)), Vec::new());
    FindingsText::of(&all, &run.commit, &RepositoryLinks::default())
}

/// The repository's template, filled in by the agent: its headings are the repository's, the rest is foreign text.
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
