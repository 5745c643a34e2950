//! One test run that we made on a commit of ours.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::command_run::{CommandRun, Exit, TestCounts};
use super::comparison::ComparisonVerdict;
use super::ids::{CommitSha, TreeSha};
use super::network::NetworkRecord;
use super::proof::Proof;
use super::scrutiny::Scrutiny;
use super::words::words;

/// One run of the repository's tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestRun {
    /// The commit that was checked out fresh.
    pub commit: CommitSha,
    pub tree: TreeSha,
    pub verdict: TestVerdict,
    /// Why a pass verifies nothing, such as a change to the test command's definition. For a setup that was refused
    /// network access: what only the server's operator can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Folders of `tests:` that were skipped, because the change does not affect them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Projects that the change edits without any test known to have run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrun: Vec<UnrunProject>,
    /// The command that installed the tests' dependencies, if any.
    pub setup: Option<CommandRun>,
    /// The test command's own run; `None` if there is no test command or the setup failed.
    pub test: Option<CommandRun>,
    /// The signal that a test program died of, such as 11. The command itself may have exited with a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Test counts; `None` if the output's form is unknown.
    pub counts: Option<TestCounts>,
    /// Names of failing tests, at most a hundred.
    pub failing: Vec<String>,
    /// The last 3,000 characters of the failing command's output.
    pub tail: String,
    /// The sandbox: `bubblewrap` or `none`; old journals also say `podman`.
    pub sandbox: String,
    /// The image by digest; `None`: the machine's own system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Network use of setup and tests, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub network: BTreeMap<String, NetworkRecord>,
    /// The evidence on whether a pass can be trusted; `None` if the tests failed or did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scrutiny: Option<Box<Scrutiny>>,
    /// Names of artifacts: the whole output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
}

impl TestRun {
    /// Whether the run passes despite failing tests, because they fail on the base as well and that is accepted.
    pub fn is_accepted_red(&self) -> bool {
        self.verdict == TestVerdict::Passed && self.beside_red().is_some()
    }

    /// Whether only tests fail that fail on the base as well, without that being accepted, and the change's own tests
    /// prove it: no worker can do more. If the change fixed some of them, the rest may be its job, too.
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

    /// What the server's operator must do, if the setup failed because of refused network access: no worker on the
    /// change can fix that.
    pub fn kept_out(&self) -> Option<&str> {
        let setup = self.network.get("setup").filter(|setup| !setup.refused.is_empty());
        setup.filter(|_| self.verdict == TestVerdict::SetupFailed).and(self.doubt.as_deref())
    }

    fn beside_red(&self) -> Option<&Scrutiny> {
        self.scrutiny.as_deref().filter(|scrutiny| scrutiny.judged == ComparisonVerdict::PassedBesideRed)
    }
}

/// Evidence of a run of the tests. Signed receipts of older versions are read as this: what is added has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TestEvidence {
    /// What it comes to.
    pub verdict: TestVerdict,
    /// Why a pass verifies nothing.
    #[serde(default)]
    pub doubt: Option<String>,
    /// Folders of `tests:` whose tests were not run, as the change concerns nothing there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Projects that the change edits without any test known to have run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unrun: Vec<UnrunProject>,
    /// What installed what the tests need.
    pub setup: Option<CommandRun>,
    pub test: Option<CommandRun>,
    /// The signal that a test program died of, such as 11. The command itself may have exited with a code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    pub counts: Option<TestCounts>,
    pub failing: Vec<String>,
    /// The sandbox it ran in.
    pub sandbox: String,
    /// The image that it ran in, by its digest; none: the machine's own system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What was done to find out whether a pass can be believed.
    #[serde(default)]
    pub scrutiny: Option<Box<Scrutiny>>,
}

impl TestEvidence {
    /// A test run's evidence.
    pub fn of(tests: &TestRun) -> Self {
        Self {
            verdict: tests.verdict,
            doubt: tests.doubt.clone(),
            left_out: tests.left_out.clone(),
            unrun: tests.unrun.clone(),
            setup: tests.setup.clone(),
            test: tests.test.clone(),
            signal: tests.signal,
            counts: tests.counts,
            failing: tests.failing.clone(),
            sandbox: tests.sandbox.clone(),
            image: tests.image.clone(),
            scrutiny: tests.scrutiny.clone(),
        }
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

words!(TestVerdict::as_str {
    Passed: "passed",
    Weakened: "weakened",
    Unmended: "unmended",
    Failed: "failed",
    SetupFailed: "setup_failed",
    NoTests: "no_tests"
});

impl TestVerdict {
    /// Whether the work can continue after the run.
    pub fn is_pass(self) -> bool {
        self == Self::Passed
    }
}

/// A project that a change edits without any test known to have run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnrunProject {
    /// Folder from the root; empty for the root itself.
    pub folder: String,
    /// The file that makes it a project, from the root.
    pub manifest: String,
    /// A file of the project that the change edits.
    pub edited: String,
    pub because: UnrunReason,
}

/// Why no test of a project is known to have run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnrunReason {
    /// The test command does not cover it.
    NotAsked,
    /// Its own command cannot run on the base commit.
    CannotRun { command: String },
    /// It is unknown whether the test command covers it.
    Unknown,
    /// It demonstrates or serves the others, and has no tests.
    HasNone,
}

impl UnrunProject {
    /// Whether a pass says nothing about the change to the project.
    pub fn is_grave(&self) -> bool {
        matches!(self.because, UnrunReason::NotAsked | UnrunReason::CannotRun { .. })
    }

    pub(crate) fn name(&self) -> &str {
        if self.folder.is_empty() { &self.manifest } else { &self.folder }
    }

    pub fn sentence(&self) -> String {
        let Self { edited, .. } = self;
        let name = self.name();
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
