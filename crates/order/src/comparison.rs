//! The results of one test run by test name, and the comparison of two runs.
//!
//! All names come from the output of the code under test: they are bounded, and names that do not match the counts are
//! rejected.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command_run::{Exit, TestCounts};
use super::length::some_of;
use super::words::words;
use crate::bounds::MOST_LISTED;

/// What was read of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestReport {
    /// Tests counted; none when nothing of a known form was found.
    pub counts: Option<TestCounts>,
    /// Tests that failed, by name, in their order, each once, at most a hundred.
    pub failing: Vec<String>,
    /// Every test by name, except those of [`Self::programs`]; none where the run does not name them, or names others
    /// than it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<TestCases>,
    /// The test programs of the run that do not name all of their tests. Empty where there are no `cases`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<TestProgram>,
    /// What could not be compiled or loaded, so that none of its tests ran: crates, packages, files. At most a
    /// hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unloaded: Vec<String>,
}

impl TestReport {
    /// How a test ended, or a program that does not name its tests. `None` if the run does not say.
    pub fn status(&self, name: &str) -> Option<TestCaseStatus> {
        let named = self.cases.as_ref().and_then(|cases| cases.tests.get(name).copied());
        named.or_else(|| self.programs.iter().find_map(|program| program.status_of(name)))
    }

    pub fn program(&self, name: &str) -> Option<&TestProgram> {
        self.programs.iter().find(|program| program.name == name)
    }

    /// How a program ended. If its tests are named here, the worst of them counts.
    pub fn status_of_program(&self, name: &str) -> Option<TestCaseStatus> {
        if let Some(program) = self.program(name) {
            return Some(program.status());
        }
        let start = format!("{name}{OF_PROGRAM}");
        let own = self.cases.iter().flat_map(|cases| cases.tests.range(start.clone()..));
        let own = own.take_while(|(test, _)| test.starts_with(&start)).map(|(_, status)| *status);
        own.reduce(|one, other| match (one, other) {
            (TestCaseStatus::Failed, _) | (_, TestCaseStatus::Failed) => TestCaseStatus::Failed,
            (TestCaseStatus::Passed, _) | (_, TestCaseStatus::Passed) => TestCaseStatus::Passed,
            (TestCaseStatus::Skipped, TestCaseStatus::Skipped) => TestCaseStatus::Skipped,
        })
    }
}

/// What stands between a program and its test in the test's name.
const OF_PROGRAM: &str = " > ";

/// A test program that does not name all of its tests. They are held by their number, and by how the program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestProgram {
    pub name: String,
    /// None where it does not count them either.
    pub counts: Option<TestCounts>,
    /// Its tests that failed; none where it does not name each of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Whether it ended well.
    pub passed: bool,
}

impl TestProgram {
    /// How it ended, as if it were one test.
    pub fn status(&self) -> TestCaseStatus {
        match self.counts {
            _ if !self.passed => TestCaseStatus::Failed,
            Some(counts) if counts.ran() == 0 => TestCaseStatus::Skipped,
            Some(_) | None => TestCaseStatus::Passed,
        }
    }

    fn status_of(&self, name: &str) -> Option<TestCaseStatus> {
        if name == self.name {
            return Some(self.status());
        }
        let test = self.own_name(name)?;
        self.failing.iter().any(|failing| failing == test).then_some(TestCaseStatus::Failed)
    }

    /// What a run calls one of its tests.
    pub fn name_of(&self, test: &str) -> String {
        format!("{}{OF_PROGRAM}{test}", self.name)
    }

    /// Whether it is what a run calls one of its tests.
    pub fn has(&self, name: &str) -> bool {
        self.own_name(name).is_some()
    }

    fn own_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_prefix(&self.name)?.strip_prefix(OF_PROGRAM)
    }

    /// Its tests that failed. `None` if it does not name each of them.
    pub fn all_failing(&self) -> Option<&[String]> {
        let failed = self.failed();
        (failed > 0 && failed == self.failing.len() as u64).then_some(self.failing.as_slice())
    }

    /// How many of its tests failed, as far as it counts them.
    pub fn failed(&self) -> u64 {
        self.counts.map_or(0, |counts| counts.failed)
    }
}

/// Every test of a run. Tests of one name are told apart by a number after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCases {
    /// Who named them: names of different runners are not compared.
    pub named_by: RunnerName,
    pub tests: BTreeMap<String, TestCaseStatus>,
}

/// Whose names they are: a runner such as `pytest`, or `junit` for a report of whatever runner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RunnerName(Cow<'static, str>);

impl RunnerName {
    /// A report whose runner is not known.
    pub const JUNIT: Self = Self::new("junit");

    pub const fn new(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestCaseStatus {
    /// It ran and passed.
    Passed,
    /// It ran and failed, or ended in an error.
    Failed,
    /// Skipped, ignored, to do, or failed as expected: it verifies nothing.
    Skipped,
}

/// A list of tests: how many, and the first of them by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestList {
    /// How many there are.
    pub total: u64,
    /// The first 200 of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl TestList {
    pub fn add(&mut self, name: &str) {
        self.total = self.total.saturating_add(1);
        if self.names.len() < MOST_LISTED {
            self.names.push(name.to_owned());
        }
    }

    /// Removes a name from the list and its total.
    pub fn remove(&mut self, name: &str) {
        if let Some(place) = self.names.iter().position(|known| known == name) {
            self.names.remove(place);
            self.total = self.total.saturating_sub(1);
        }
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

/// By what two runs were compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparedBy {
    Test,
    /// By how many there are: at least one of the runs does not name its tests.
    Counts,
    /// By how the command ended alone.
    #[default]
    ExitCode,
}

words!(ComparedBy::Display {
    Test: "test by test",
    Counts: "by the number of tests alone",
    ExitCode: "by exit code alone"
});

/// The tests of a change beside those of its base commit. Each test is in exactly one of the lists; all lists are
/// empty when it is not by test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    pub by: ComparedBy,
    /// Counted on the base.
    pub base: Option<TestCounts>,
    /// Counted on the change.
    pub after: Option<TestCounts>,
    /// Passed before, pass now.
    pub still_green: u64,
    /// Skipped before, skipped now.
    pub still_skipped: u64,
    /// Failed before, pass now.
    pub fixed: TestList,
    /// Failed before, and pass now only with data that the change touches: data may be what they expect.
    #[serde(default, skip_serializing_if = "TestList::is_empty")]
    pub by_data: TestList,
    /// Passed before, fail now, every time.
    pub newly_broken: TestList,
    /// Failed before, fail now.
    pub already_red: TestList,
    /// Programs that failed before and fail now, and do not say which of their tests fail.
    #[serde(default, skip_serializing_if = "TestList::is_empty")]
    pub untold: TestList,
    /// Failed once and passed once on the same tree.
    pub flaky: TestList,
    /// Were there before, and nobody says where they went.
    pub gone: TestList,
    /// Are there or run for the first time, and passed or were skipped.
    pub new: TestList,
    /// Are there now or run for the first time, and fail.
    pub new_failing: TestList,
    /// Ran before, skipped now.
    pub skipped: TestList,
    /// The run on the base names or counts its tests, and the one on the change does not, or a runner of another kind
    /// does: what went cannot be seen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unnamed: bool,
    /// What could not be compiled or loaded now, though it could on the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unloaded: Vec<String>,
    /// Test programs that do not name all of their tests, before or now. They were compared by the number of these, and
    /// by how they ended; in the lists each is like one test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
}

impl Comparison {
    /// Groups to report besides the tests that are still green, in the order that readers want: what happened to the
    /// tests, such as `newly broken`; whether it counts against the change; and the tests, at least one.
    pub fn groups(&self) -> impl Iterator<Item = (&'static str, bool, &TestList)> {
        [
            ("fixed", false, &self.fixed),
            ("passing only with data that the change touches", true, &self.by_data),
            ("new", false, &self.new),
            ("newly broken", true, &self.newly_broken),
            ("new and failing", true, &self.new_failing),
            ("failing on the base as well", true, &self.already_red),
            ("failing on the base as well, perhaps in other tests", true, &self.untold),
            ("flaky", true, &self.flaky),
            ("gone", true, &self.gone),
            ("skipped now", true, &self.skipped),
        ]
        .into_iter()
        .filter(|(_, _, tests)| !tests.is_empty())
    }

    /// The tests of the base that no longer run.
    pub(crate) fn missing(&self) -> String {
        let named = |tests: &TestList| some_of(&tests.names, tests.total);
        let mut said = Vec::new();
        if !self.gone.is_empty() {
            said.push(format!("tests of the base commit do not run any more: {}", named(&self.gone)));
        }
        if !self.skipped.is_empty() {
            said.push(format!("tests of the base commit are skipped now: {}", named(&self.skipped)));
        }
        if !self.unloaded.is_empty() {
            said.push(format!("what loaded on the base commit does not now: {}", self.unloaded.join(", ")));
        }
        let fewer = match self.unnamed {
            true => "tests of the base commit cannot be named any more",
            false => "fewer tests run than on the base commit",
        };
        if said.is_empty() { fewer.to_owned() } else { said.join("; ") }
    }
}

/// What a run comes to beside the run on its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonVerdict {
    /// The command passed, and nothing that passed before is missing.
    Passed,
    /// The command failed as it does on the base: by tests that are red there as well, or by flaky ones.
    PassedBesideRed,
    /// It failed, or a test that passed before fails.
    Failed,
    /// Tests of the base are gone or skipped, or cannot be seen any more: a pass says less than it did.
    TestsMissing,
    NoTests,
}

impl ComparisonVerdict {
    /// Whether nothing in it counts against the change.
    pub fn is_pass(self) -> bool {
        matches!(self, Self::Passed | Self::PassedBesideRed)
    }
}

/// How the commands of two compared runs ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedExits {
    /// On the base commit; `None` if nothing ran there.
    pub base: Option<Exit>,
    pub after: Exit,
    /// Reruns on the same tree, which detect flaky tests.
    pub reruns: Vec<Exit>,
}
