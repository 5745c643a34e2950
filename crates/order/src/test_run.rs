//! What is known of one run of the tests, made by us on a commit of ours.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::command_run::{CommandRun, Exit, TestCounts};
use super::comparison::ComparisonVerdict;
use super::ids::{CommitSha, TreeSha};
use super::network::NetworkRecord;
use super::proof::Proof;
use super::scrutiny::Scrutiny;

/// One run of the repository's tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestRun {
    /// The commit that was checked out afresh.
    pub commit: CommitSha,
    pub tree: TreeSha,
    /// What it comes to.
    pub verdict: TestVerdict,
    /// Why a pass verifies nothing, such as a change to what defines the test command; and of a setup that was kept from the
    /// network, what only who runs the server can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Folders of `tests:` whose tests were not run, as the change concerns nothing there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Projects that the change edits, and of whose tests none is known to have run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrun: Vec<UnrunProject>,
    /// What was run to install what the tests need, if anything.
    pub setup: Option<CommandRun>,
    /// The test command's own run; none when there is no test command or the setup failed.
    pub test: Option<CommandRun>,
    /// Tests counted; none when the output is of no known form.
    pub counts: Option<TestCounts>,
    /// Tests that failed, by name, at most a hundred.
    pub failing: Vec<String>,
    /// The last 3,000 characters of what the failing command printed.
    pub tail: String,
    /// In what sandbox it ran: `bubblewrap` or `none`; old journals also say `podman`.
    pub sandbox: String,
    /// The image that it ran in, by its digest; none: the machine's own system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What setup and tests did with the network that they were given, by what they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub network: BTreeMap<String, NetworkRecord>,
    /// What was done to find out whether a pass can be believed; none where the tests were not run, or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrutiny: Option<Box<Scrutiny>>,
    /// Names of artifacts: the whole output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

impl TestRun {
    /// Whether tests fail, and the run passes all the same, since they fail on the base as well and that is accepted.
    pub fn is_accepted_red(&self) -> bool {
        self.verdict == TestVerdict::Passed && self.beside_red().is_some()
    }

    /// Whether only tests fail that fail on the base as well, which is not accepted, and the change's own show that it does what it
    /// should: nobody who works on it can do more. Where it turned some of the base's green, the rest may be its own affair.
    pub fn is_right_beside_red(&self) -> bool {
        let is_right = |scrutiny: &Scrutiny| {
            let (of_tests, of_examples) = scrutiny.objections();
            matches!(scrutiny.proof, Some(Proof::Proven { .. }))
                && scrutiny.comparison.fixed.is_empty()
                && of_tests.is_empty()
                && of_examples.is_empty()
        };
        self.verdict == TestVerdict::Failed && self.beside_red().is_some_and(is_right)
    }

    /// What only who runs the server can do, where the setup failed and was kept from what it asked for: nobody who works on
    /// the change can.
    pub fn kept_out(&self) -> Option<&str> {
        let setup = self.network.get("setup").filter(|setup| !setup.refused.is_empty());
        setup.filter(|_| self.verdict == TestVerdict::SetupFailed).and(self.doubt.as_deref())
    }

    fn beside_red(&self) -> Option<&Scrutiny> {
        self.scrutiny.as_deref().filter(|scrutiny| scrutiny.judged == ComparisonVerdict::PassedBesideRed)
    }
}

/// What a run of the tests comes to. The exit code decides; the counts can only take away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestVerdict {
    /// Exit code 0, and not known to have run no test.
    Passed,
    /// Exit code 0, and yet the change weakens the tests that were there before it: the pass says nothing.
    Weakened,
    /// Exit code 0, and yet what the issue itself shows is not mended.
    Unmended,
    /// Any other exit, or the time was up.
    Failed,
    /// What the tests need could not be installed.
    SetupFailed,
    /// The repository has no tests that we can find, or the command ran none: nothing is verified.
    NoTests,
}

impl TestVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Weakened => "weakened",
            Self::Unmended => "unmended",
            Self::Failed => "failed",
            Self::SetupFailed => "setup_failed",
            Self::NoTests => "no_tests",
        }
    }

    /// Whether the run lets the work go on.
    pub fn is_pass(self) -> bool {
        self == Self::Passed
    }
}

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
