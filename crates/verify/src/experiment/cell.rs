//! One run of the experiment, and what it shows.

use journeyman_languages::not_run::broken_run;
use journeyman_order::{Exit, TestCaseStatus, TestReport, TestVerdict};

/// One run: how certain tests on certain code ended, and the parsed report.
#[derive(Debug, Clone, Copy)]
pub struct ExperimentCell<'a> {
    /// How the command ended. `None` if the setup failed.
    pub exit: Option<Exit>,
    pub reading: &'a TestReport,
    /// The end of its output.
    pub output: &'a str,
}

impl ExperimentCell<'_> {
    /// The result of a test, or of a program whose tests are not named. `None` if the run does not say.
    pub fn status(&self, name: &str) -> Option<TestCaseStatus> {
        self.reading.status(name)
    }

    /// The verdict of this run alone. `None` if it could not run.
    pub fn verdict(&self) -> Option<TestVerdict> {
        Some(crate::verdict(&self.exit?, self.reading.counts.as_ref()))
    }

    /// Whether it exited with 0 and counted no failure: a runner may hide failures.
    pub fn is_green(&self) -> bool {
        self.exit == Some(Exit::Code(0)) && self.reading.counts.is_none_or(|counts| counts.failed == 0)
    }
}

/// Files and crates that the run reports as not loaded or compiled. Empty if there are none.
pub fn not_loaded(cell: &ExperimentCell<'_>) -> Vec<String> {
    if cell.exit == Some(Exit::Code(0)) {
        return Vec::new();
    }
    let mut unloaded = cell.reading.unloaded.clone();
    if unloaded.is_empty()
        && cell.reading.cases.is_none()
        && let Some(found) = broken_run(cell.output)
    {
        unloaded.push(found.chars().take(200).collect());
    }
    unloaded
}

/// Whether a run with a lie in it noticed the lie. `None` if nothing was loaded, so the run shows nothing.
pub fn lie_told(cell: &ExperimentCell<'_>, test: Option<&str>) -> Option<bool> {
    match (test, &cell.reading.cases) {
        (Some(test), Some(_)) => match cell.status(test) {
            Some(TestCaseStatus::Passed) => Some(false),
            Some(TestCaseStatus::Failed) => Some(true),
            Some(TestCaseStatus::Skipped) | None => None,
        },
        (Some(_), None) | (None, _) if !not_loaded(cell).is_empty() => None,
        (Some(_), None) | (None, _) => match cell.exit? {
            Exit::Code(0) => Some(false),
            Exit::Code(_) | Exit::Signal(_) => Some(true),
            Exit::TimedOut => None,
        },
    }
}
