//! The result of preparing a repository's environment, before any agent runs: its parts, and whether the tests can run
//! in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command_run::{CommandRun, TestCounts};

/// Image names pinned for one order: each name as written, with its name by digest. A tag is looked up only once.
pub type PinnedImages = BTreeMap<String, String>;

/// The outcome of [`Move::PrepareEnvironment`](super::Move::PrepareEnvironment).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentReport {
    /// Which description of the environment was used, and why.
    pub source: String,
    /// The image by digest; `None`: the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The pinned names of all images, including services.
    #[serde(default, skip_serializing_if = "PinnedImages::is_empty")]
    pub images: PinnedImages,
    /// The command that installed it; `None` if there was nothing to install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<CommandRun>,
    /// The end of what a setup printed that failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// Whether it existed already, so that nothing was installed now.
    pub kept: bool,
    /// What was left out, and tools that are missing or have another version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The tests on the commit that the work starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRun>,
    /// Why agents cannot work in it; `None` if it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<EnvironmentProblem>,
}

/// A test run before any change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineRun {
    pub run: CommandRun,
    /// `None` if the output does not show them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentProblem {
    /// A sentence without its full stop, such as "The setup `npm ci` ended with exit code 1".
    pub what: String,
    /// The line of output that most likely gives the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// What to do, naming the file and the setting.
    pub remedy: String,
}

impl EnvironmentProblem {
    pub fn told(&self) -> String {
        let line =
            self.line.as_ref().map(|line| format!(": {}", line.trim_end_matches('.'))).unwrap_or_default();
        format!("{}{line}. {}", self.what, self.remedy)
    }
}
