//! What the change may not rest on: the data and the test configuration that it brings, and files that cannot be put back.

use super::cell::{lie_told, not_loaded};
use super::known::{ExperimentName, KnownSoFar};
use super::result::ExperimentResult;
use journeyman_order::{Exit, TestCaseStatus};

/// Code has to fix a test: one that fails again with the base's data is not fixed.
pub(super) fn without_new_data(known: &KnownSoFar<'_>, judgement: &mut ExperimentResult) {
    let Some(run) = known.last(ExperimentName::OldData) else { return };
    let fixed = std::mem::take(&mut judgement.comparison.fixed);
    for name in &fixed.names {
        match lie_told(&run.cell, Some(name)) {
            Some(true) => judgement.comparison.by_data.add(name),
            Some(false) | None => judgement.comparison.fixed.add(name),
        }
    }
}

/// The tests of the change have to pass with the base's test configuration as well, if they build with it.
pub(super) fn with_old_configuration(known: &KnownSoFar<'_>, judgement: &mut ExperimentResult) {
    let Some(run) = known.last(ExperimentName::OldConfiguration) else { return };
    let baseline = known.baseline();
    let failing = run.cell.reading.cases.as_ref().map(|cases| {
        // New tests may need the new configuration. Tests that the base has may not.
        let mut tests = cases.tests.iter();
        let mut programs = run.cell.reading.programs.iter().filter(|program| !program.passed);
        tests.any(|(name, status)| *status == TestCaseStatus::Failed && baseline.status(name).is_some())
            || programs.any(|program| {
                baseline.reading.status_of_program(&program.name) == Some(TestCaseStatus::Passed)
            })
    });
    let is_red = failing.unwrap_or(matches!(run.cell.exit, Some(Exit::Code(code)) if code != 0));
    if is_red && not_loaded(&run.cell).is_empty() {
        judgement.against.push(format!(
            "with the configuration of the base commit the tests of the change do not pass; the change touches {}",
            known.of_change.sides.configuration.join(", ")
        ));
    }
}

pub(super) fn not_put_back(known: &KnownSoFar<'_>, judgement: &mut ExperimentResult) {
    judgement.against.extend(known.of_change.unread.iter().map(|path| {
        format!("{path} holds tests of the base that cannot be put back, since the file cannot be read")
    }));
}
