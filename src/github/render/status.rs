//! The status comment: one look tells where an order stands and what one can do.

use chrono::{DateTime, Utc};
use url::Url;

use super::LONGEST_BODY;
use super::markdown::markdown;
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
        parts.push(quoted(&markdown(explanation, 20_000)));
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

fn stage_line(stage: &StageLine) -> String {
    let name = plain(&shorten(&stage.name, 60));
    let detail = plain(&shorten(&stage.detail, 400));
    let mark = stage.state.mark();
    if detail.is_empty() { format!("- {mark} {name}") } else { format!("- {mark} **{name}** · {detail}") }
}

/// The number, linked to the page when that is an address that Markdown can hold.
fn pull_link(number: PullNumber, url: &str) -> String {
    let usable = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        && url.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~:/".contains(&b));
    if usable { format!("[#{number}]({url})") } else { format!("#{number}") }
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
