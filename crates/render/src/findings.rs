//! The findings in Markdown: five lines, and the details. Names of tests, paths and agents' words are foreign text.

use super::pages::RepositoryLinks;
use super::text::{MOST_SHOWN, and_more, brief, command_span};
use journeyman_order::bounds::LONGEST_LINE;
use journeyman_order::findings::{FindingBearing, SentencePart, groups};
use journeyman_order::length::shorten;
use journeyman_order::{CommitSha, TestList, VerdictFinding};

/// Most details below a line. The receipt has all of them.
const MOST_DETAILS: usize = 20;

/// The findings about a commit, in Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingsText {
    pub lines: String,
    pub details: String,
}

impl FindingsText {
    pub(super) fn of(all: &[VerdictFinding], commit: &CommitSha, pages: &RepositoryLinks) -> Self {
        let (mut lines, mut details) = (Vec::new(), Vec::new());
        let said = |finding: &VerdictFinding| sentence(finding, commit, pages);
        for group in groups(all) {
            let label = group.line.line.label();
            lines.push(format!("- **{label}:** {}", said(group.line)));
            let shown = group.details.iter().take(MOST_DETAILS).map(|detail| format!("- {}", said(detail)));
            let more = and_more("-", group.details.len(), MOST_DETAILS);
            let shown: Vec<String> = shown.chain(more).collect();
            if !shown.is_empty() {
                details.push(format!("**{label}**\n\n{}", shown.join("\n")));
            }
        }
        Self { lines: lines.join("\n"), details: details.join("\n\n") }
    }
}

fn sentence(finding: &VerdictFinding, commit: &CommitSha, pages: &RepositoryLinks) -> String {
    let sign = match finding.bearing {
        FindingBearing::Against => "❌ ",
        FindingBearing::Open => "⚠️ ",
        FindingBearing::Noted => "",
    };
    let parts = finding.sentence.0.iter().map(|part| match part {
        SentencePart::Ours(text) => text.clone(),
        SentencePart::Foreign(text) => brief(text, LONGEST_LINE),
        SentencePart::Code(text) => command_span(text),
        SentencePart::Names(tests) => names(tests),
        SentencePart::Place(place) => pages.location(commit, place),
        SentencePart::Commit(commit) => pages.commit(commit),
    });
    format!("{sign}{}", parts.collect::<String>())
}

fn names(tests: &TestList) -> String {
    let shown: Vec<String> =
        tests.names.iter().take(MOST_SHOWN).map(|name| command_span(&shorten(name, 100))).collect();
    let more = tests.total.saturating_sub(shown.len() as u64);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}
