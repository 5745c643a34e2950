//! What the tests of both sides on the code of both sides come to, as far as those runs are finished.

use std::collections::BTreeMap;

use super::cell::ExperimentCell;
use super::died::DeathOnOldCode;
use super::four_runs::judge;
use super::known::{ExperimentName, KnownSoFar};
use super::matrix::{ExperimentMatrix, ExperimentResult, evidence_of};
use super::old_code::death;
use journeyman_order::{ComparisonVerdict, Proof, TestCaseStatus, TestCases, TestReport};

/// Whether the tests pass on the change, so that its effect matters: at last, or beside what fails on the base as well.
pub fn passes(known: &KnownSoFar<'_>) -> bool {
    known.alone().is_pass()
        || known.all(ExperimentName::Again).any(|run| run.cell.is_green())
        || judge(&ExperimentMatrix { old_tests: None, old_code: None, ..matrix(known) }).judged
            == ComparisonVerdict::PassedBesideRed
}

/// What the tests of both sides on the code of both sides come to, and what ended the run on the base's code too early.
pub fn compared<'k>(known: &'k KnownSoFar<'_>) -> &'k (ExperimentResult, DeathOnOldCode) {
    known.compared(|| {
        let matrix = matrix(known);
        let old_code = known.last(ExperimentName::OldCode);
        let old_code_is_selected = old_code.is_some_and(|run| run.is_selected);
        let old_code = old_code.map(|run| run.cell);
        let judgement = judge(&ExperimentMatrix { old_code, old_code_is_selected, ..matrix.clone() });
        let (fixed, red) = evidence_of(&judgement);
        let is_silent = judgement.judged.is_pass() && fixed.is_empty() && red.is_empty();
        let death = if is_silent { death(known) } else { DeathOnOldCode::Alive };
        let judgement = match (&death, old_code) {
            _ if known.is_made(ExperimentName::OldCodeWhole) => judge(&matrix),
            (DeathOnOldCode::Found(test, _), Some(cell)) => {
                let reading = with_failed(known, &cell, test);
                let old_code = Some(ExperimentCell { reading: &reading, ..cell });
                judge(&ExperimentMatrix { old_code, ..matrix })
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

/// The four runs, as far as they are finished.
pub fn matrix<'k>(known: &'k KnownSoFar<'_>) -> ExperimentMatrix<'k> {
    let sides = known.of_change.sides;
    let old_tests = known.last(ExperimentName::OldTests);
    let old_code = known.last(ExperimentName::OldCodeWhole).or_else(|| known.last(ExperimentName::OldCode));
    let cells = |name| known.all(name).map(|run| run.cell).collect();
    ExperimentMatrix {
        baseline: known.baseline(),
        change: known.change.cell,
        again: cells(ExperimentName::Again),
        old_tests: old_tests.map(|run| run.cell),
        old_tests_again: cells(ExperimentName::OldTestsAgain),
        old_code: old_code.map(|run| run.cell),
        old_code_is_selected: old_code.is_some_and(|run| run.is_selected),
        laid: &sides.test_paths,
        added: &sides.added,
        configuration: &sides.configuration,
        unloaded: old_tests.map_or(&[], |run| run.unloaded),
        old_code_unloaded: old_code.map_or(&[], |run| run.unloaded),
        code_differs: sides.code_differs,
        edited: known.of_change.edited,
        new_words: known.of_change.new_words,
    }
}
