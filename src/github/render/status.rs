//! The status comment: one look tells where an order stands and what one can do.

use chrono::{DateTime, Utc};

use super::LONGEST_BODY;
use super::markdown::markdown;
use super::pages::is_linkable;
use super::text::{fit, plain, shorten};
use crate::order::PullNumber;

/// What the status comment says.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusView {
    /// Where the order stands, in a few words.
    pub headline: String,
    /// The stages of the pipeline, in order.
    pub stages: Vec<StageLine>,
    /// What went wrong, or what is asked of a person. Foreign.
    pub explanation: Option<String>,
    /// What was tried, where that is what a person has to know; empty otherwise.
    pub tried: Vec<TriedLine>,
    /// What is still wrong with what is handed over, one finding each. Foreign.
    pub still_wrong: Vec<String>,
    /// Dollars spent so far.
    pub cost_usd: f64,
    /// Dollars that may be spent.
    pub budget_usd: f64,
    /// The pull request and its page, once there is one.
    pub pull: Option<(PullNumber, String)>,
    /// What people can say to the bot now, each as a line of our own Markdown. Trusted.
    pub next_steps: Vec<String>,
    /// When this was true.
    pub updated_at: DateTime<Utc>,
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageLine {
    /// Its name in the pipeline.
    pub name: String,
    /// How far it is.
    pub state: StageState,
    /// A few words more, such as the round and the test counts; may be empty. Foreign.
    pub detail: String,
}

/// One round that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedLine {
    /// The stage.
    pub stage: String,
    /// The round, from 1.
    pub round: u32,
    /// What it came to. Foreign.
    pub result: String,
    /// What the escalation's agent said of it. Foreign.
    pub diagnosis: Option<String>,
    /// Whether it is the one that is handed over.
    pub is_kept: bool,
}

/// Rounds and findings that are shown.
const MOST_TRIED: usize = 15;
const MOST_WRONG: usize = 8;

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageState {
    /// Not begun.
    Waiting,
    /// Under way.
    Running,
    /// Done, and its checks passed.
    Passed,
    /// Given up.
    Failed,
    /// Not needed.
    Skipped,
}

impl StageState {
    fn mark(self) -> &'static str {
        match self {
            Self::Waiting => "⬜",
            Self::Running => "⏳",
            Self::Passed => "✅",
            Self::Failed => "❌",
            Self::Skipped => "➖",
        }
    }
}

/// The comment's body.
pub fn status(view: &StatusView) -> String {
    let mut parts = vec![format!("### {}", plain(&shorten(&view.headline, 200)))];
    if let Some((number, url)) = &view.pull {
        parts.push(format!("**Pull request:** {}", pull_link(*number, url)));
    }
    if !view.stages.is_empty() {
        let lines: Vec<String> = view.stages.iter().take(50).map(stage_line).collect();
        parts.push(lines.join("\n"));
    }
    if let Some(explanation) = view.explanation.as_deref().filter(|text| !text.trim().is_empty()) {
        let most = if view.tried.is_empty() { 20_000 } else { 8_000 };
        parts.push(quoted(&markdown(explanation, most)));
    }
    if !view.tried.is_empty() {
        parts.push(format!("**What was tried**\n\n{}", tried(&view.tried)));
    }
    if !view.still_wrong.is_empty() {
        let mut lines: Vec<String> = view.still_wrong.iter().take(MOST_WRONG).map(|text| one(text)).collect();
        let more = view.still_wrong.len().saturating_sub(MOST_WRONG);
        if more > 0 {
            lines.push(format!("- and {more} more"));
        }
        parts.push(format!("**What is still wrong**\n\n{}", lines.join("\n")));
    }
    if !view.next_steps.is_empty() {
        let lines: Vec<String> = view.next_steps.iter().map(|step| format!("- {step}")).collect();
        parts.push(format!("**What you can do**\n\n{}", lines.join("\n")));
    }
    parts.push(format!(
        "<sub>{} of {} spent · updated {}</sub>",
        dollars(view.cost_usd),
        dollars(view.budget_usd),
        view.updated_at.format("%Y-%m-%d %H:%M:%S UTC")
    ));
    fit(&parts.join("\n\n"), LONGEST_BODY)
}

fn one(text: &str) -> String {
    format!("- {}", plain(&shorten(text, 300)))
}

fn tried(rounds: &[TriedLine]) -> String {
    let left_out = rounds.len().saturating_sub(MOST_TRIED);
    let mut lines = Vec::new();
    if left_out > 0 {
        lines.push(format!("- the first {left_out} rounds are left out here"));
    }
    for line in rounds.iter().skip(left_out) {
        let kept = if line.is_kept { " · **this one is handed over**" } else { "" };
        let (stage, result) = (plain(&shorten(&line.stage, 60)), plain(&shorten(&line.result, 250)));
        lines.push(format!("- {stage}, round {}: {result}{kept}", line.round));
        if let Some(diagnosis) = &line.diagnosis {
            lines.push(format!("  - looked at: {}", plain(&shorten(diagnosis, 200))));
        }
    }
    lines.join("\n")
}

fn stage_line(stage: &StageLine) -> String {
    let name = plain(&shorten(&stage.name, 60));
    let detail = plain(&shorten(&stage.detail, 400));
    let mark = stage.state.mark();
    if detail.is_empty() { format!("- {mark} {name}") } else { format!("- {mark} **{name}** · {detail}") }
}

/// The number, linked to the page when that is an address that Markdown can hold.
fn pull_link(number: PullNumber, url: &str) -> String {
    if is_linkable(url) { format!("[#{number}]({url})") } else { format!("#{number}") }
}

/// Dollars and cents; a formula's sign to GitHub when there are two on a line, hence the backslash.
pub(super) fn dollars(usd: f64) -> String {
    let usd = if usd.is_finite() { usd.max(0.0) } else { 0.0 };
    format!("\\${usd:.2}")
}

/// Foreign text that is already harmless, set apart from what we say ourselves.
pub(super) fn quoted(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| if line.is_empty() { ">".to_owned() } else { format!("> {line}") }).collect();
    lines.join("\n")
}
