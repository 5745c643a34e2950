//! A command that we ran: how it ended, and what it counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One command that we ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    pub command: String,
    pub exit: Exit,
    /// How long it took.
    pub duration_seconds: f64,
    /// SHA-256 of all it printed, in hexadecimal; of folders that are tested each by itself, that of their sums.
    pub output_sha256: String,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    Signal(i32),
    /// By us, because the time was up.
    TimedOut,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(out, "exit code {code}"),
            Self::Signal(signal) => write!(out, "signal {signal}"),
            Self::TimedOut => out.write_str("timed out"),
        }
    }
}

/// Tests counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl TestCounts {
    pub fn ran(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}
