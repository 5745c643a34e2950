//! The pull request's text: what was done, how it was verified, and the receipt.

use super::markdown::markdown;
use super::status::{dollars, quoted};
use super::text::{code_span, fit, plain, shorten};
use super::{LONGEST_BODY, closes};
use crate::order::{CommitSha, Counts, Exit, IssueNumber, TreeSha, Usage};

/// What the pull request says.
#[derive(Debug, Clone, PartialEq)]
pub struct PullView {
    /// The issue that it closes.
    pub issue: IssueNumber,
    /// What the agent says of the change. Foreign.
    pub summary: String,
    /// What the tests came to.
    pub verified: Verification,
    /// The commit that was tested, which is the head.
    pub commit: CommitSha,
    /// Its tree.
    pub tree: TreeSha,
    /// The commit of the base branch that the work started from.
    pub base: CommitSha,
    /// The command that ran the tests. Foreign, as the other commands are: they come from the repository.
    pub test_command: Option<String>,
    /// The command that installed what they need.
    pub setup_command: Option<String>,
    /// How the test command ended.
    pub exit: Option<Exit>,
    /// Tests counted.
    pub counts: Option<Counts>,
    /// Tests that fail, by name. Foreign.
    pub failing: Vec<String>,
    /// What the reviewing agent said of the commit last; none where none was asked. Foreign.
    pub review: Option<String>,
    /// Every round of the work, in order.
    pub rounds: Vec<RoundLine>,
    /// Tokens and dollars, as the agents told them.
    pub usage: Usage,
    /// In what sandbox the tests ran: `bubblewrap` or `none`.
    pub sandbox: String,
}

/// What the tests came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verification {
    /// They ran on this commit and passed.
    Verified,
    /// There was nothing to verify with.
    Unverified {
        /// Such as: the repository has no tests that we can find.
        why: String,
    },
    /// A person accepted it as it is.
    Approved {
        /// Who. Foreign.
        by: String,
        /// What was still wrong, or could not be verified. Foreign.
        why: String,
    },
    /// Some passed, and others are still to speak.
    Pending {
        /// The stages that judge it yet, by name.
        stages: Vec<String>,
    },
    /// They did not pass.
    NotVerified {
        /// What failed. Foreign.
        why: String,
    },
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundLine {
    /// Its stage.
    pub stage: String,
    /// Its number, from 1.
    pub round: u32,
    /// What it came to. Foreign.
    pub result: String,
    /// Tests counted in it.
    pub counts: Option<Counts>,
}

/// The pull request's body.
pub fn pull(view: &PullView) -> String {
    let mut parts = vec![closes(view.issue)];
    let summary = markdown(&view.summary, 30_000);
    if !summary.is_empty() {
        parts.push(format!("### What changed, in the agent's words\n\n{}", quoted(&summary)));
    }
    parts.push(format!("### {}\n\n{}", heading(&view.verified), verification(view)));
    parts.push(receipt(view));
    fit(&parts.join("\n\n"), LONGEST_BODY)
}

fn heading(verified: &Verification) -> &'static str {
    match verified {
        Verification::Verified => "✅ Verified",
        Verification::Pending { .. } => "⏳ Not verified yet",
        Verification::Unverified { .. } => "⚠️ Unverified",
        Verification::Approved { .. } => "⚠️ Approved by a person, not verified",
        Verification::NotVerified { .. } => "❌ Not verified",
    }
}

fn verification(view: &PullView) -> String {
    let mut lines = Vec::new();
    match &view.verified {
        Verification::Verified => {}
        Verification::Pending { stages } => {
            let stages: Vec<String> = stages.iter().map(|stage| plain(&shorten(stage, 60))).collect();
            lines.push(format!("What was checked so far is below. Still to come: {}.\n", stages.join(", ")));
        }
        Verification::Approved { by, why } => {
            let (by, why) = (plain(&shorten(by, 100)), plain(&shorten(why, 1_000)));
            lines.push(format!("{by} accepted it as it is. What stood against it: {why}\n"));
        }
        Verification::Unverified { why } | Verification::NotVerified { why } => {
            lines.push(format!("{}\n", plain(&shorten(why, 1_000))));
        }
    }
    if let Some(command) = &view.test_command {
        let exit = view.exit.map_or_else(|| "did not run".to_owned(), |exit| exit.to_string());
        let tested = match view.counts {
            Some(counts) => format!("{exit}, {}", counted(counts)),
            None => exit,
        };
        lines.push(format!("- {}: {tested}", command_span(command)));
        const MOST_FAILING: usize = 10;
        for name in view.failing.iter().take(MOST_FAILING) {
            lines.push(format!("  - fails: {}", command_span(name)));
        }
        let more = view.failing.len().saturating_sub(MOST_FAILING);
        if more > 0 {
            lines.push(format!("  - and {more} more"));
        }
    }
    lines.push(format!("- on commit `{}`, checked out afresh", view.commit.short()));
    if let Some(review) = &view.review {
        lines.push(format!("- reviewed by a second agent: {}", plain(&shorten(review, 300))));
    }
    let rounds = view.rounds.len();
    let plural = if rounds == 1 { "" } else { "s" };
    lines.push(format!("- after {rounds} round{plural}, for {}", dollars(view.usage.usd)));
    lines.join("\n")
}

fn receipt(view: &PullView) -> String {
    let mut lines = vec![
        format!("- Commit: `{}`", view.commit),
        format!("- Tree: `{}`", view.tree),
        format!("- Base: `{}`", view.base),
    ];
    if let Some(command) = &view.setup_command {
        lines.push(format!("- Setup: {}", command_span(command)));
    }
    if let Some(command) = &view.test_command {
        lines.push(format!("- Tests: {}", command_span(command)));
    }
    lines.push(format!("- Sandbox: {}", sandbox(&view.sandbox)));
    lines.push(format!(
        "- Tokens: {} read, {} written; cost {}",
        grouped(view.usage.input_tokens),
        grouped(view.usage.output_tokens),
        dollars(view.usage.usd)
    ));
    if !view.rounds.is_empty() {
        lines.push("- Rounds:".to_owned());
    }
    const MOST_ROUNDS: usize = 50;
    let left_out = view.rounds.len().saturating_sub(MOST_ROUNDS);
    if left_out > 0 {
        lines.push(format!("  - the first {left_out} are left out here"));
    }
    for line in view.rounds.iter().skip(left_out) {
        let counts = line.counts.map(|counts| format!(" ({})", counted(counts))).unwrap_or_default();
        lines.push(format!(
            "  - {}, round {}: {}{counts}",
            plain(&shorten(&line.stage, 60)),
            line.round,
            plain(&shorten(&line.result, 300))
        ));
    }
    format!("<details>\n<summary>Receipt</summary>\n\n{}\n\n</details>", lines.join("\n"))
}

fn sandbox(name: &str) -> String {
    if name == "none" {
        "**none**: agents and tests ran without walls".to_owned()
    } else {
        plain(&shorten(name, 100))
    }
}

fn command_span(command: &str) -> String {
    let span = code_span(&shorten(command, 500));
    if span.is_empty() { "an empty command".to_owned() } else { span }
}

fn counted(counts: Counts) -> String {
    format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped)
}

/// Thousands apart, by a space.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}
