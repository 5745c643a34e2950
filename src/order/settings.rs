//! What a repository and a server ask of an order: pinned in its journal, so that a change of settings
//! never changes an order that is under way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `.github/journeyman.yml`, from the default branch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepositorySettings {
    /// The label that starts an order here.
    pub label: Option<String>,
    /// A pipeline's name, or the path of its file below `.github/journeyman/pipelines/`.
    pub pipeline: Option<String>,
    /// The shell command that installs what the tests need.
    pub setup: Option<String>,
    /// The shell command that runs the tests.
    pub test: Option<String>,
    /// Where the test command writes a JUnit report, from the repository's root.
    pub report: Option<String>,
    /// Globs of paths that a change must not touch.
    pub protected: Option<Vec<String>>,
    /// Role to agent, such as `developer` to `claude`.
    pub agents: BTreeMap<String, String>,
    /// What an order may cost here; the lower of this and the server's counts.
    pub budget: Option<Budget>,
}

/// What an order may cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budget {
    /// Dollars.
    pub usd: Option<f64>,
    /// Minutes from its start.
    pub minutes: Option<u64>,
}

/// The limits that hold for one order.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OrderLimits {
    /// Minutes from the start, or from the last `/retry`.
    pub minutes: u64,
    /// Dollars.
    pub usd: f64,
}
