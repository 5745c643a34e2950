//! A command that we ran: how it ended, and its test counts.

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

impl std::fmt::Display for TestCounts {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl TestCounts {
    pub fn ran(&self) -> u64 {
        self.passed.saturating_add(self.failed)
    }
}

/// A test whose process died on the code of the base, or that did not end there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiedTest {
    /// None where the runner could not be asked for one test: then all of the change's tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    pub exit: Exit,
    /// After so many seconds.
    pub after_seconds: f64,
    /// How many the same takes with the change.
    pub with_the_change_seconds: f64,
}

impl DiedTest {
    /// A sentence without its start and its full stop.
    pub fn sentence(&self) -> String {
        let test = self.test.as_deref().unwrap_or("the change's tests");
        let how = match self.exit {
            Exit::TimedOut => {
                let (after, with) = (self.after_seconds, self.with_the_change_seconds);
                format!("{test} did not end within {after:.0} s ({with:.1} s with the change)")
            }
            Exit::Signal(signal) => format!("{test} died of {}", signal_name(signal)),
            Exit::Code(code) => format!("the process of {test} ended with exit code {code}"),
        };
        format!("on the code before the change, {how}")
    }
}

/// A signal's number and, if helpful, its name.
pub(crate) fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL, an illegal instruction",
        6 => "SIGABRT, an abort",
        7 => "SIGBUS, a bus error",
        8 => "SIGFPE, an arithmetic error",
        9 => "SIGKILL",
        11 => "SIGSEGV, a segmentation fault",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}
