//! The whole prompt for a run: the task, and in later rounds what was wrong.

use super::expand::expand;
use super::rework::feedback;
use super::templates::body;
use super::text::{as_data, beginning_of};
use crate::order::moves::AgentTask;

/// What goes to the agent's standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The text.
    pub text: String,
    /// What was odd but did no harm, for the step's record.
    pub warnings: Vec<String>,
}

/// The prompt for a task. `template` is the repository's or ours, with or without front matter.
///
/// A first round is the template alone. A later one adds the feedback; where a session goes on, which remembers
/// the task, the feedback comes with a reminder only.
pub fn prompt(task: &AgentTask, template: &str) -> Prompt {
    let arguments: Vec<String> = task.arguments.iter().map(|argument| as_data(argument)).collect();
    let expanded = expand(body(template), &arguments);
    let text = match (&task.rework, &task.session) {
        (None, _) => expanded.text,
        (Some(rework), None) => format!("{}\n\n---\n\n{}", expanded.text.trim_end(), feedback(rework)),
        (Some(rework), Some(_)) => format!(
            "Your task is still the one this conversation began with, in full (stage `{}`). It began:\n\n{}\n\n{}",
            task.stage,
            quoted(&beginning_of(first_paragraph(&expanded.text), 400)),
            feedback(rework)
        ),
    };
    Prompt { text, warnings: expanded.warnings }
}

fn first_paragraph(text: &str) -> &str {
    text.trim().split("\n\n").find(|part| !part.trim_start().starts_with('#')).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}
