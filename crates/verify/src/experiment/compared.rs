//! What the tests of both sides on the code of both sides come to, as far as those runs are finished.

use std::collections::BTreeMap;

use super::cell::ExperimentCell;
use super::died::DeathOnOldCode;
use super::four_runs::judge;
use super::known::{ExperimentName, FinishedRun, KnownSoFar};
use super::old_code::death;
use super::result::{ExperimentResult, evidence_of};
use journeyman_order::{ComparisonVerdict, Proof, TestCaseStatus, TestCases, TestReport};

/// Whether the tests pass on the change, so that its effect matters: at last, or beside what fails on the base as well.
pub fn passes(known: &KnownSoFar<'_>) -> bool {
    known.alone().is_pass()
        || known.all(ExperimentName::Again).any(|run| run.cell.is_green())
        || judge(known, None, None).judged == ComparisonVerdict::PassedBesideRed
}

/// What the tests of both sides on the code of both sides come to, and what ended the run on the base's code too early.
pub fn compared<'k>(known: &'k KnownSoFar<'_>) -> &'k (ExperimentResult, DeathOnOldCode) {
    known.compared(|| {
        let old_tests = known.last(ExperimentName::OldTests);
        let old_code = known.last(ExperimentName::OldCode);
        let judgement = judge(known, old_tests, old_code);
        let (fixed, red) = evidence_of(&judgement);
        let is_silent = judgement.judged.is_pass() && fixed.is_empty() && red.is_empty();
        let death = if is_silent { death(known) } else { DeathOnOldCode::Alive };
        let whole = known.last(ExperimentName::OldCodeWhole);
        let judgement = match (&death, old_code) {
            _ if whole.is_some() => judge(known, old_tests, whole),
            (DeathOnOldCode::Found(test, _), Some(run)) => {
                let reading = with_failed(known, &run.cell, test);
                let cell = ExperimentCell { reading: &reading, ..run.cell };
                judge(known, old_tests, Some(&FinishedRun { cell, ..*run }))
            }
            (DeathOnOldCode::NotFound, _) => {
                let because =
                    "the run of the change's tests on the old code died, and none of them does so by itself";
                let proof = Some(Proof::CannotTell { because: because.to_owned() });
                ExperimentResult { proof, ..judgement }
            }
            _ => judgement,
        };
        (judgement, death)
    })
}

/// The report of a run with the test that ended it as a failed one.
fn with_failed(known: &KnownSoFar<'_>, cell: &ExperimentCell<'_>, test: &str) -> TestReport {
    let mut reading = cell.reading.clone();
    if let Some(TestCases { named_by, .. }) = &known.change.cell.reading.cases {
        let none = || TestCases { named_by: named_by.clone(), tests: BTreeMap::new() };
        reading.cases.get_or_insert_with(none).tests.insert(test.to_owned(), TestCaseStatus::Failed);
    }
    reading
}
