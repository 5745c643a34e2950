//! What is known of one run of an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::NetworkRecord;

/// One run of an agent, as its stream and its exit told it. Nothing here is evidence that work was done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentRun {
    /// The clean text of the last result; none when there was none.
    pub result: Option<String>,
    /// The session that a later round can resume.
    pub session_id: Option<String>,
    /// Why the run counts as failed; none when the agent ended normally.
    pub failure: Option<AgentFailure>,
    /// What it cost, as the agent says.
    pub usage: AgentUsage,
    /// How long it took.
    pub duration_seconds: f64,
    /// What it did with the network, as the door saw it; none for a run that has no walls to have a door in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Box<NetworkRecord>>,
    /// Credentials that the program itself had to hold, by their variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<String>,
    /// What was odd but did no harm, such as a placeholder without an argument.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Names of artifacts: the raw stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

impl AgentRun {
    /// What it answered, if it was not cut off: a verdict may be taken back in its last words.
    pub fn complete_answer(&self) -> &str {
        match self.failure {
            None => self.result.as_deref().unwrap_or_default(),
            Some(_) => "",
        }
    }

    /// Whether the agent was at work: nothing kept it off, or it cost something all the same.
    pub fn took_place(&self) -> bool {
        let was_at_work = self.failure.as_ref().is_none_or(|failure| {
            matches!(failure.kind, AgentFailureKind::LimitReached | AgentFailureKind::Ended)
        });
        was_at_work || self.usage.usd > 0.0
    }
}

/// Why a run of an agent counts as failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentFailure {
    pub kind: AgentFailureKind,
    /// What the agent or the system said.
    pub message: String,
    /// Seconds that the model's service asks us to wait; only with [`AgentFailureKind::Unavailable`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

impl AgentFailure {
    /// A failure after which nothing was said of when to come back.
    pub fn new(kind: AgentFailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after_seconds: None }
    }
}

/// Kinds of failure, by what they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFailureKind {
    /// The model's service was overloaded or could not be reached: the same again, later.
    Unavailable,
    /// The credential is missing or refused, or the program is not there: a person has to mend it.
    Misconfigured,
    /// The session to resume is not known: the same again without it.
    UnknownSession,
    /// A limit of turns, time, tokens or money was reached; work may be there all the same.
    LimitReached,
    /// It ended without a result, or with an error of its own.
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
