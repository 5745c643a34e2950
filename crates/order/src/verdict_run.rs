//! The runs behind a verdict: how long each took, and which of them say nothing for lack of time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command_run::{CommandRun, Exit};

/// A run of tests or programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictRun {
    /// What its output is called: `tests` for the commit's own run, `tests-old-code` and the like for others.
    pub name: String,
    pub command: String,
    pub exit: Exit,
    /// How long it took, with the start of the sandbox and of the runner.
    pub duration_seconds: f64,
}

impl VerdictRun {
    pub fn of(name: &str, run: &CommandRun) -> Self {
        Self {
            name: name.to_owned(),
            command: run.command.clone(),
            exit: run.exit,
            duration_seconds: run.duration_seconds,
        }
    }
}

/// A run that says nothing, for lack of time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunWithoutResult {
    pub name: String,
    /// What it was to show, as a clause.
    pub shows: String,
    pub because: WithoutResult,
}

/// Why a run says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WithoutResult {
    /// It was not made: edits and repetitions of the tests had taken their time by then.
    LeftOut,
    /// It was made and did not end in the time that the same tests need without the edit, three times over.
    NotEnded,
}
