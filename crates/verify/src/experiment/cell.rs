//! One run of the experiment, and what it says of what it ran.

use journeyman_order::{Exit, TestCaseStatus, TestReport};

/// One run: which tests on which code, how it ended and what was read of it.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentCell<'a> {
    /// How the command ended; none where the setup failed.
    pub exit: Option<Exit>,
    pub reading: &'a TestReport,
    /// The end of what it printed.
    pub output: &'a str,
}

impl ExperimentCell<'_> {
    /// What became of a test, where it is named.
    pub fn status(&self, name: &str) -> Option<TestCaseStatus> {
        self.reading.cases.as_ref()?.tests.get(name).copied()
    }

    /// Whether it ended with 0 and counted no failure: a runner may hide what fails.
    pub fn is_green(&self) -> bool {
        self.exit == Some(Exit::Code(0)) && self.reading.counts.is_none_or(|counts| counts.failed == 0)
    }
}

/// Files and crates that were not loaded or compiled in a run, as it says itself; none where all was.
pub fn not_loaded(cell: &ExperimentCell<'_>) -> Vec<String> {
    if cell.exit == Some(Exit::Code(0)) {
        return Vec::new();
    }
    let mut unloaded = cell.reading.unloaded.clone();
    let compilers = pattern!(
        r"(?m)^\s*(?:\S+:\d+(?::\d+)?:\s+(?:fatal )?error:|error(?:\[E\d+\])?: |.*undefined reference to|.*cannot find symbol|SyntaxError: |.*\bImportError: |.*\bModuleNotFoundError: |.*: (?:command )?not found$|make: \*\*\* No rule to make target)"
    );
    // Cargo says so of tests that ran and failed.
    let failed = pattern!(r"^\s*error: (?:(?:doc)?test failed, to rerun pass |\d+ targets? failed:)");
    let is_of_a_test = |at: usize| {
        let rest = cell.output.get(at..).unwrap_or_default();
        failed.is_match(rest)
    };
    if unloaded.is_empty()
        && cell.reading.cases.is_none()
        && let Some(found) = compilers.find_iter(cell.output).find(|found| !is_of_a_test(found.start()))
    {
        unloaded.push(found.as_str().trim().chars().take(200).collect());
    }
    unloaded
}
