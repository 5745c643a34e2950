//! How a change weakens existing tests, found by reading the change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::words::words;

/// One place where a change weakens the tests of the base commit, or bends the run that should judge it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Weakening {
    /// What kind it is.
    pub kind: WeakeningKind,
    /// The file, from the root: as it is called after the change, or before it where it is gone.
    pub path: String,
    /// The line in that file, from 1; none where the thing is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The test, as its runner names it where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// One sentence for people and for the agent.
    pub what: String,
    /// Whether it stands against the change. What a code change may well explain is mentioned only.
    pub severe: bool,
}

impl Weakening {
    pub(crate) fn place(&self) -> String {
        self.line.map_or_else(|| self.path.clone(), |line| format!("{}:{line}", self.path))
    }
}

/// The kinds of weakening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WeakeningKind {
    /// A test is gone, or is no longer one that the runner collects.
    TestRemoved,
    /// A test is there and does not run.
    TestSkipped,
    /// A test passes by failing.
    ExpectedToFail,
    /// A test asserts less than before, or nothing.
    AssertionsRemoved,
    /// An assertion lets more through than before.
    AssertionLoosened,
    /// The same assertion expects another value.
    ExpectedValueChanged,
    /// A limit of coverage, precision or time is easier to keep.
    ThresholdLowered,
    /// Recorded outputs were replaced, by more than the code explains.
    SnapshotsRewritten,
    /// A workflow no longer runs, or no longer fails.
    CiSwitchedOff,
    /// The command that runs the tests, or its settings, runs less than before.
    TestCommandChanged,
    /// Something takes the place of the test runner or changes its outcomes.
    RunnerShadowed,
    /// The process ends before the runner can say that a test failed.
    EarlyExit,
    /// Something prints or writes what only a test runner should.
    ForgedOutput,
    /// The code behaves differently where it is being tested.
    TestEnvironmentSpecialCased,
    /// The code answers the inputs of a test with what the test expects.
    ExpectedValueHardCoded,
    /// New code asks about where it runs, for which there may be a good reason.
    LooksAround,
    /// A file of tests is too large or too tangled to be read.
    NotRead,
}

words!(WeakeningKind::as_str {
    TestRemoved: "test removed",
    TestSkipped: "test skipped",
    ExpectedToFail: "test expected to fail",
    AssertionsRemoved: "assertions removed",
    AssertionLoosened: "assertion loosened",
    ExpectedValueChanged: "expected value changed",
    ThresholdLowered: "threshold lowered",
    SnapshotsRewritten: "snapshots rewritten",
    CiSwitchedOff: "CI switched off",
    TestCommandChanged: "test command changed",
    RunnerShadowed: "test runner shadowed",
    EarlyExit: "early exit",
    ForgedOutput: "forged output",
    TestEnvironmentSpecialCased: "test environment special-cased",
    ExpectedValueHardCoded: "expected value hard-coded",
    LooksAround: "looks at where it runs",
    NotRead: "not read"
});
