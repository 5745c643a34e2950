//! How a commit was verified, in Markdown: what was run on it, what was said of it, and what nobody looked at.

use super::pages::RepositoryLinks;
use super::review::severity;
use super::scrutiny;
use super::status::dollars;
use super::text::{code_span, plain, shorten};
use journeyman_order::trace::CiTrace;
use journeyman_order::{
    AgentUsage, CommitSha, Exit, Finding, Inconclusive, Scrutiny, TestCounts, TreeSha, Verdict,
};

const MOST_FAILING: usize = 10;
const MOST_DOUBTS: usize = 10;
const MOST_NAMES: usize = 6;
const MOST_ROUNDS: usize = 30;

/// What is known of the commit that is published, or about to be.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceiptView {
    /// The verdict in a few words, with a sign that is seen before it is read.
    pub heading: &'static str,
    /// What may be said of it. Foreign where it says why.
    pub verdict: Verdict,
    /// The commit that was tested, which is the head.
    pub commit: CommitSha,
    pub tree: TreeSha,
    /// The commit of the base branch that the work started from.
    pub base: CommitSha,
    /// What installed what the tests need. Foreign, as the other commands are: they come from the repository.
    pub setup: Option<ReceiptCommandRun>,
    /// What ran the tests.
    pub test: Option<ReceiptCommandRun>,
    pub counts: Option<TestCounts>,
    /// Tests that fail, by name. Foreign.
    pub failing: Vec<String>,
    /// What was looked at beside that run; none where nothing was.
    pub scrutiny: Option<Scrutiny>,
    /// What the reviewing agent said of the commit last; none where none was asked.
    pub review: Option<ReceiptReview>,
    /// The checks of others on the commit, as they stood when they were read last; none where nobody has looked.
    pub others: Option<CiTrace>,
    /// Every round of the work, in order.
    pub rounds: Vec<RoundLine>,
    /// Tokens and dollars, as the agents told them.
    pub usage: AgentUsage,
    /// Dollars that may be spent.
    pub budget_usd: f64,
    /// What agents were kept from on the network, and why. Foreign.
    pub refused: Vec<(String, String)>,
    /// Credentials that an agent's program had to hold itself.
    pub held: Vec<String>,
    /// In what sandbox the tests ran: `bubblewrap` or `none`; none where none ran.
    pub sandbox: Option<String>,
}

#[cfg(test)]
impl ReceiptView {
    /// The same with another verdict.
    pub(super) fn says(&mut self, verdict: Verdict) {
        self.heading = journeyman_order::Surfaces::of(None, &verdict).heading;
        self.verdict = verdict;
    }
}

/// A command that was run, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptCommandRun {
    pub command: String,
    pub exit: Exit,
}

/// What the reviewing agent said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptReview {
    /// In a sentence or two. Foreign.
    pub summary: String,
    /// What it still doubts, the weightiest first. Foreign.
    pub open: Vec<Finding>,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundLine {
    pub stage: String,
    /// Its number, from 1.
    pub round: u32,
    /// What it came to. Foreign.
    pub result: String,
    /// Tests counted in it.
    pub counts: Option<TestCounts>,
}

/// What stands behind the verdict: why, and what was run.
pub(super) fn evidence(view: &ReceiptView, pages: &RepositoryLinks) -> String {
    let mut lines = Vec::new();
    if let Some(why) = why(&view.verdict) {
        lines.push(format!("{why}\n"));
    }
    lines.extend(scrutiny::changed_tests(view.scrutiny.as_ref()).map(|changed| format!("{changed}\n")));
    if let Some(ReceiptCommandRun { command, exit }) = &view.test {
        let counts = view.counts.map(|counts| format!(", {}", counted(counts))).unwrap_or_default();
        lines.push(format!("- {}: {exit}{counts}", command_span(command)));
        for name in view.failing.iter().take(MOST_FAILING) {
            lines.push(format!("  - fails: {}", command_span(name)));
        }
        let more = view.failing.len().saturating_sub(MOST_FAILING);
        if more > 0 {
            lines.push(format!("  - and {more} more"));
        }
    }
    lines.push(format!("- on commit {}, checked out afresh", pages.commit(&view.commit)));
    if let Some(scrutiny) = &view.scrutiny {
        lines.extend(scrutiny::lines(scrutiny, &view.commit, pages));
    }
    if let Some(review) = &view.review {
        lines.push(format!("- reviewed by a second agent: {}", plain(&shorten(&review.summary, 300))));
    }
    lines.extend(view.others.as_ref().and_then(others));
    let rounds = view.rounds.len();
    let plural = if rounds == 1 { "" } else { "s" };
    let (spent, budget) = (dollars(view.usage.usd), dollars(view.budget_usd));
    lines.push(format!("- after {rounds} round{plural}, for {spent} of {budget}"));
    lines.join("\n")
}

fn why(verdict: &Verdict) -> Option<String> {
    let sentence = |text: &str| plain(&shorten(text, 1_000));
    match verdict {
        Verdict::Verified | Verdict::None => None,
        Verdict::Pending { stages } => {
            Some(format!("What was checked so far is below. Still to come: {}.", listed(stages, plain)))
        }
        Verdict::Inconclusive { why: Inconclusive::NotJudged { ended: Some(ended), stages } } => {
            Some(match stages.is_empty() {
                true => sentence(ended),
                false => format!(
                    "{}\n\nWhat was checked before is below. Never came: {}.",
                    sentence(ended),
                    listed(stages, plain)
                ),
            })
        }
        Verdict::Approved { by, why, .. } => Some(format!(
            "{} accepted it as it is. What stood against it: {}",
            plain(&shorten(by, 100)),
            sentence(why)
        )),
        Verdict::Inconclusive { why } => Some(sentence(&why.sentence())),
        Verdict::Rejected { why } => Some(sentence(why)),
    }
}

/// What the repository's own checks say, in a line; none while there are none.
fn others(checks: &CiTrace) -> Option<String> {
    let mut said = Vec::new();
    if checks.passed > 0 {
        said.push(format!("{} passed", checks.passed));
    }
    for (what, names) in [
        ("failed", &checks.failing),
        ("failed here and without the change", &checks.failing_on_base),
        ("not done", &checks.pending),
    ] {
        if !names.is_empty() {
            said.push(format!("{what}: {}", listed(names, command_span)));
        }
    }
    (!said.is_empty()).then(|| format!("- the repository's own checks on GitHub: {}", said.join("; ")))
}

/// What the reviewing agent let pass, or has to object still; none where there is nothing.
pub(super) fn doubts(view: &ReceiptView, pages: &RepositoryLinks) -> Option<String> {
    let open = view.review.as_ref().map(|review| review.open.as_slice()).filter(|open| !open.is_empty())?;
    let told = |finding: &Finding| {
        let place = finding.location.as_deref().map(|place| pages.location(&view.commit, place));
        let place = place.filter(|place| !place.is_empty()).map(|place| format!(", {place}"));
        let what = plain(&shorten(&finding.description, 300));
        format!("- {}{}: {what}", severity(finding.severity), place.unwrap_or_default())
    };
    let mut lines: Vec<String> = open.iter().take(MOST_DOUBTS).map(told).collect();
    let more = open.len().saturating_sub(MOST_DOUBTS);
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    Some(format!("**What the reviewing agent still doubts**\n\n{}", lines.join("\n")))
}

/// What nobody has looked at, said as plainly as what was.
pub(super) fn gaps(view: &ReceiptView) -> String {
    let mut lines = Vec::new();
    if view.test.is_some() {
        lines.extend(scrutiny::gap(view.scrutiny.as_ref()).map(|gap| format!("- {gap}")));
    } else {
        lines.push("- Tests: none were run on this commit.".to_owned());
    }
    match view.counts.map_or(0, |counts| counts.skipped) {
        0 => {}
        1 => lines.push("- 1 test, which was skipped.".to_owned()),
        skipped => lines.push(format!("- {skipped} tests, which were skipped.")),
    }
    if view.review.is_none() {
        lines.push("- The change itself: no second agent has reviewed this commit.".to_owned());
    }
    if view.others.as_ref().and_then(others).is_none() {
        lines.push(
            "- The repository's own checks on GitHub: none had spoken when this was written.".to_owned(),
        );
    }
    format!("**What was not verified**\n\n{}", lines.join("\n"))
}

/// The receipt, folded.
pub(super) fn details(view: &ReceiptView) -> String {
    let mut lines = vec![
        format!("- Commit: `{}`", view.commit),
        format!("- Tree: `{}`", view.tree),
        format!("- Base: `{}`", view.base),
    ];
    for (what, ran) in [("Setup", &view.setup), ("Tests", &view.test)] {
        if let Some(ReceiptCommandRun { command, exit }) = ran {
            lines.push(format!("- {what}: {}, {exit}", command_span(command)));
        }
    }
    if let Some(name) = &view.sandbox {
        lines.push(format!("- Sandbox: {}", sandbox(name)));
    }
    for name in view.held.iter().take(MOST_NAMES) {
        lines.push(format!("- Credential inside the agent's sandbox: {}", command_span(name)));
    }
    for (what, why) in view.refused.iter().take(MOST_NAMES) {
        lines.push(format!("- An agent was kept from {}: {}", command_span(what), plain(&shorten(why, 200))));
    }
    let more = view.refused.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        lines.push(format!("- and from {more} more"));
    }
    lines.push(format!(
        "- Tokens: {} read, {} written; cost {}",
        grouped(view.usage.input_tokens),
        grouped(view.usage.output_tokens),
        dollars(view.usage.usd)
    ));
    if !view.rounds.is_empty() {
        lines.push("- Rounds:".to_owned());
    }
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
            plain(&shorten(&line.result, 200))
        ));
    }
    format!("<details>\n<summary>Receipt</summary>\n\n{}\n\n</details>", lines.join("\n"))
}

fn listed(names: &[String], shown: impl Fn(&str) -> String) -> String {
    let mut list: Vec<String> =
        names.iter().take(MOST_NAMES).map(|name| shown(&shorten(name, 100))).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 {
        list.push(format!("{more} more"));
    }
    list.join(", ")
}

fn sandbox(name: &str) -> String {
    if name == "none" {
        "**none**: agents and tests ran without walls".to_owned()
    } else {
        plain(&shorten(name, 100))
    }
}

pub(super) fn command_span(command: &str) -> String {
    let span = code_span(&shorten(command, 300));
    if span.is_empty() { "an empty command".to_owned() } else { span }
}

/// Tests by what became of them.
pub(super) fn counted(counts: TestCounts) -> String {
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
