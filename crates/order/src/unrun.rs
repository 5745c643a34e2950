//! Projects that a change edits and of whose tests none is known to have run.

use serde::{Deserialize, Serialize};

/// A project that a change edits, without a test of it that is known to have run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnrunProject {
    /// From the root; empty for the root itself.
    pub folder: String,
    /// The file that makes it a project, from the root.
    pub manifest: String,
    /// A file of it that the change edits.
    pub edited: String,
    pub because: UnrunReason,
}

/// Why no test of a project is known to have run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnrunReason {
    /// The test command is not about it.
    NotAsked,
    /// Its own command cannot run on the base commit.
    CannotRun { command: String },
    /// The test command does not tell whether it is about it.
    Unknown,
    /// It shows or serves the others, and has no tests.
    HasNone,
}

impl UnrunProject {
    /// Whether a pass says nothing of what the change does there.
    pub fn is_grave(&self) -> bool {
        matches!(self.because, UnrunReason::NotAsked | UnrunReason::CannotRun { .. })
    }

    pub fn sentence(&self) -> String {
        let Self { edited, .. } = self;
        let name = if self.folder.is_empty() { &self.manifest } else { &self.folder };
        match &self.because {
            UnrunReason::NotAsked => format!(
                "the change edits {edited}, and no test of {name} ran: name the tests of each folder as `tests` in \
                 .github/journeyman.yml"
            ),
            UnrunReason::CannotRun { command } => format!(
                "the change edits {edited}, and no test of {name} ran: `{command}` cannot run there on the base commit; say in \
                 `tests` of .github/journeyman.yml how {name} is set up and tested"
            ),
            UnrunReason::Unknown => {
                format!("{edited}: the test command does not tell whether it runs tests of {name}")
            }
            UnrunReason::HasNone => format!("{edited}: no tests were found for {name}"),
        }
    }
}
