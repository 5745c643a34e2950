//! A test that killed its process, or never ended, on the code before a change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command_run::Exit;

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
    /// In a sentence without its beginning and end.
    pub fn sentence(&self) -> String {
        let test = self.test.as_deref().unwrap_or("the change's tests");
        let how = match self.exit {
            Exit::TimedOut => {
                let (after, with) = (self.after_seconds, self.with_the_change_seconds);
                format!("not ended after {after:.0} s ({with:.1} s with the change)")
            }
            Exit::Signal(signal) => format!("ended by {}", signal_name(signal)),
            Exit::Code(code) => format!("its process ended with exit code {code}"),
        };
        format!("{how}, on the code before the change: {test}")
    }
}

/// A signal by its number and, where it says more, its name.
fn signal_name(signal: i32) -> String {
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
