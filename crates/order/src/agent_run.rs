//! The record of one agent run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::feedback::{Category, Feedback};
use super::network::NetworkRecord;

/// One agent run, from its stream and exit status. Nothing here is evidence that work was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentRun {
    /// The clean text of the last result; `None` without a result.
    pub result: Option<String>,
    /// The session that a later round can resume.
    pub session_id: Option<String>,
    /// Why the run counts as failed; `None` if the agent ended normally.
    pub failure: Option<AgentFailure>,
    /// Its usage, as the agent reports it.
    pub usage: AgentUsage,
    pub duration_seconds: f64,
    /// Its network use, as the door saw it; `None` for a run without isolation, which has no door.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<NetworkRecord>>,
    /// Variables whose credentials the program itself had to hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    /// Harmless oddities, such as a placeholder without an argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Names of artifacts: the raw stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

impl AgentRun {
    /// The answer, unless the run was cut off: its last words might have changed the verdict.
    pub fn complete_answer(&self) -> &str {
        match self.failure {
            None => self.result.as_deref().unwrap_or_default(),
            Some(_) => "",
        }
    }

    /// The fault of an unusable answer. Where a failed run left none to read, it is the failure: "the answer is empty"
    /// would hide it.
    pub(crate) fn fault_of(&self, answer: &str, fault: Feedback) -> Feedback {
        match &self.failure {
            Some(failure) if answer.trim().is_empty() => Feedback::failed(
                Category::InvalidOutput,
                format!("the agent gave no answer: {}", failure.message),
            ),
            Some(_) | None => fault,
        }
    }

    /// Whether the agent really worked: nothing kept it from starting, or it has usage anyway.
    pub fn took_place(&self) -> bool {
        let was_at_work = self.failure.as_ref().is_none_or(|failure| {
            matches!(failure.kind, AgentFailureKind::LimitReached | AgentFailureKind::Ended)
        });
        was_at_work || self.usage.usd > 0.0
    }
}

/// Why an agent run counts as failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFailure {
    pub kind: AgentFailureKind,
    /// The message of the agent or the system.
    pub message: String,
    /// Seconds that the model's service asks us to wait; only with [`AgentFailureKind::Unavailable`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

impl AgentFailure {
    /// A failure without a requested pause.
    pub fn new(kind: AgentFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_seconds: None }
    }
}

/// Kinds of failure, by how to handle them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFailureKind {
    /// The model's service was overloaded or unreachable: retry later.
    Unavailable,
    /// The credential is missing or refused, or the program is missing: a person has to fix it.
    Misconfigured,
    /// The session to resume is unknown: retry without it.
    UnknownSession,
    /// A limit of turns, time, tokens or money was reached; there may still be usable work.
    LimitReached,
    /// It ended without a result, or with its own error.
    Ended,
}

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentUsage {
    /// Tokens read, those from a cache included.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Dollars; 0 when the agent does not say.
    pub usd: f64,
}

impl std::ops::Add for AgentUsage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            usd: self.usd + other.usd,
        }
    }
}
