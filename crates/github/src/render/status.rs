//! The status comment: one look tells where an order stands and what one can do.

use chrono::{DateTime, Utc};

use super::ROOM;
use super::markdown::markdown;
use super::pages::is_linkable;
use super::text::{code_span, fit, plain, shorten};
use journeyman_order::PullNumber;

/// What the status comment says.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusView {
    /// Where the order stands, in a few words. Can hold a login.
    pub headline: String,
    /// What is being done at this moment. Foreign in part: roles have names of a repository's choice.
    pub now: Vec<String>,
    /// The stages of the pipeline, in order.
    pub stages: Vec<StageLine>,
    /// Whether it has ended: then the stages are folded.
    pub is_over: bool,
    /// What stands in the way of the work, each with what to do about it. Foreign in part.
    pub problems: Vec<String>,
    /// What went wrong, or what is asked of a person. Foreign.
    pub explanation: Option<String>,
    /// What was tried, where that is what a person has to know; empty otherwise.
    pub attempts: Vec<StatusAttemptLine>,
    /// What is still wrong with what is handed over, one finding each. Foreign.
    pub still_wrong: Vec<String>,
    /// What people said last, and what became of it.
    pub commands: Vec<SlashCommandLine>,
    /// What should be known besides. Foreign in part.
    pub notes: Vec<String>,
    /// Dollars spent so far.
    pub cost_usd: f64,
    /// Dollars that may be spent.
    pub budget_usd: f64,
    /// Seconds that something was being done.
    pub seconds: u64,
    /// The pull request and its page, once there is one.
    pub pull: Option<(PullNumber, String)>,
    /// Where people find more, if the server has a public address.
    pub dashboard: Option<String>,
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
    pub state: StageLineState,
    /// A few words more, such as the round and the test counts; may be empty. Foreign.
    pub detail: String,
    /// Seconds that something was done for it; none before.
    pub seconds: Option<u64>,
}

/// One round that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusAttemptLine {
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

/// What somebody said to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommandLine {
    /// The command's word, with its slash.
    pub command: String,
    pub by: String,
    /// Why it changed nothing; none: it was done. Foreign in part.
    pub ignored: Option<String>,
}

/// Rounds, findings, notes that are shown.
const MOST_TRIED: usize = 15;
const MOST_WRONG: usize = 8;
const MOST_NOTES: usize = 10;
const MOST_PROBLEMS: usize = 20;

/// How far a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageLineState {
    Waiting,
    Running,
    /// Done, and its checks passed.
    Passed,
    Failed,
    Skipped,
}

impl StageLineState {
    /// A box that is ticked when nothing is left to do there, and a sign where that does not tell enough.
    fn mark(self) -> &'static str {
        match self {
            Self::Waiting => "[ ]",
            Self::Running => "[ ] ⏳",
            Self::Passed => "[x]",
            Self::Failed => "[ ] ❌",
            Self::Skipped => "[x] ➖",
        }
    }
}

/// The comment's body.
pub fn status(view: &StatusView) -> String {
    let mut parts = vec![format!("### {}", plain(&shorten(&view.headline, 200)))];
    parts.extend(links(view));
    if !view.now.is_empty() {
        let now: Vec<String> = view.now.iter().take(4).map(|what| plain(&shorten(what, 120))).collect();
        parts.push(format!("**Now:** {}", now.join(" · ")));
    }
    parts.extend(section("What stands in the way", bullets(&view.problems, MOST_PROBLEMS, 500)));
    parts.extend(stages(view));
    let most = if view.attempts.is_empty() { 16_000 } else { 8_000 };
    parts.extend(view.explanation.as_deref().and_then(|text| quoted_within(text, most)));
    parts.extend(section("What was tried", tried(&view.attempts)));
    parts.extend(section("What is still wrong", bullets(&view.still_wrong, MOST_WRONG, 300)));
    parts.extend(section("What was said last", view.commands.iter().map(said_line).collect()));
    parts.extend(section("Good to know", bullets(&view.notes, MOST_NOTES, 300)));
    let steps = view.next_steps.iter().map(|step| format!("- {step}")).collect();
    let mut end: Vec<String> = section("What you can do", steps).into_iter().collect();
    end.push(format!(
        "<sub>{} of {} spent · {} at work · updated {}</sub>",
        dollars(view.cost_usd),
        dollars(view.budget_usd),
        duration(view.seconds),
        view.updated_at.format("%Y-%m-%d %H:%M:%S UTC")
    ));
    let end = end.join("\n\n");
    // However much there is to tell, what to do about it stands there.
    let room = ROOM.saturating_sub(end.chars().count() + 2);
    format!("{}\n\n{end}", fit(&parts.join("\n\n"), room))
}

fn links(view: &StatusView) -> Option<String> {
    let pull =
        view.pull.as_ref().map(|(number, url)| format!("**Pull request:** {}", pull_link(*number, url)));
    let dashboard = view.dashboard.as_ref().filter(|url| is_linkable(url));
    let dashboard = dashboard.map(|url| format!("[dashboard]({url})"));
    let links: Vec<String> = pull.into_iter().chain(dashboard).collect();
    (!links.is_empty()).then(|| links.join(" · "))
}

/// A heading and its lines; nothing where there are none.
fn section(heading: &str, lines: Vec<String>) -> Option<String> {
    (!lines.is_empty()).then(|| format!("**{heading}**\n\n{}", lines.join("\n")))
}

fn bullets(texts: &[String], most: usize, longest: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        texts.iter().take(most).map(|text| format!("- {}", plain(&shorten(text, longest)))).collect();
    let more = texts.len().saturating_sub(most);
    if more > 0 {
        lines.push(format!("- and {more} more"));
    }
    lines
}

fn stages(view: &StatusView) -> Option<String> {
    if view.stages.is_empty() {
        return None;
    }
    let lines: Vec<String> = view.stages.iter().take(50).map(stage_line).collect();
    let lines = lines.join("\n");
    Some(if view.is_over {
        let passed = view.stages.iter().filter(|stage| stage.state == StageLineState::Passed).count();
        let all = view.stages.len();
        format!("<details>\n<summary>{passed} of {all} stages passed</summary>\n\n{lines}\n\n</details>")
    } else {
        lines
    })
}

fn stage_line(stage: &StageLine) -> String {
    let name = plain(&shorten(&stage.name, 60));
    let detail = plain(&shorten(&stage.detail, 300));
    let mut line = format!("- {} ", stage.state.mark());
    // What is of interest stands out: where it is at work, and where it went wrong.
    match stage.state {
        StageLineState::Running | StageLineState::Failed => line.push_str(&format!("**{name}**")),
        StageLineState::Waiting | StageLineState::Passed | StageLineState::Skipped => line.push_str(&name),
    }
    if !detail.is_empty() {
        line.push_str(&format!(" · {detail}"));
    }
    if let Some(seconds) = stage.seconds {
        line.push_str(&format!(" · {}", duration(seconds)));
    }
    line
}

fn tried(rounds: &[StatusAttemptLine]) -> Vec<String> {
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
    lines
}

fn said_line(said: &SlashCommandLine) -> String {
    let (command, by) = (code_span(&shorten(&said.command, 40)), plain(&shorten(&said.by, 100)));
    match &said.ignored {
        None => format!("- {command} by {by}: done"),
        Some(because) => format!("- {command} by {by} changed nothing: {}", plain(&shorten(because, 300))),
    }
}

/// The number, linked to the page when that is an address that Markdown can hold.
fn pull_link(number: PullNumber, url: &str) -> String {
    if is_linkable(url) { format!("[#{number}]({url})") } else { format!("#{number}") }
}

/// `4s`, `3m 20s`, `2h 5m`, `3d 4h`.
fn duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, _) => format!("{minutes}m {}s", seconds % 60),
        (0, _, _) => format!("{hours}h {}m", minutes % 60),
        (_, _, _) => format!("{days}d {}h", hours % 24),
    }
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

/// Foreign Markdown made harmless and set apart, in at most so many characters; none when there is nothing to see.
pub(super) fn quoted_within(text: &str, most: usize) -> Option<String> {
    let mut room = most;
    // Each of many short lines gets a sign of its own: rather less text than more than fits.
    while room >= 100 {
        let text = markdown(text, room);
        if text.is_empty() {
            return None;
        }
        let quoted = quoted(&text);
        if quoted.chars().count() <= most {
            return Some(quoted);
        }
        room = room * 2 / 3;
    }
    None
}
