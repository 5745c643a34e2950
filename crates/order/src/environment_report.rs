//! What came of preparing a repository's environment, before an agent is paid: what it is made of, and whether the tests can
//! run in it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::command_run::{CommandRun, TestCounts};

/// What names of images mean for one order: each as it was written, with the name that means the same image for ever. A tag is
/// looked up once, and written down by digest.
pub type PinnedImages = BTreeMap<String, String>;

/// Of [`Move::PrepareEnvironment`](super::Move::PrepareEnvironment).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EnvironmentReport {
    /// Which of the places that may describe an environment was taken, and why.
    pub source: String,
    /// The image, by its digest; none: the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What the names of all its images mean for this order, those of services included.
    #[serde(default, skip_serializing_if = "PinnedImages::is_empty")]
    pub images: PinnedImages,
    /// What installed it; none where there was nothing to install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<CommandRun>,
    /// Whether it was there before, so that nothing was installed now.
    pub kept: bool,
    /// What was left out, and tools that are missing or of another version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The tests on the commit that the work starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRun>,
    /// Why no agent can work in it; none: it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<EnvironmentProblem>,
}

/// A run of the tests before anything was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineRun {
    pub run: CommandRun,
    /// None where the output does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TestCounts>,
}

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentProblem {
    /// A sentence without its full stop, such as "The setup `npm ci` ended with exit code 1".
    pub what: String,
    /// The line of its output that says why, as far as one can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// What to do, naming the file and the setting.
    pub remedy: String,
}

impl EnvironmentProblem {
    pub fn told(&self) -> String {
        let line = self.line.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
        format!("{}{line}. {}", self.what, self.remedy)
    }
}
