//! When is a commit verified? [`verdict`] reads the finished runs, and [`commit_verdict`] all that was found.
//!
//! 1. The tests of the change pass on the change, or fail by flaky tests alone, or where they fail on the base as well.
//! 2. No test of the base is missing, and none that passed on the base fails on the change's code as the base has it.
//! 3. What was fixed is fixed by code: with the base's data and test configuration it passes as well.
//! 4. Nothing of this is chance: it is so on every run, elsewhere too, and on the base it never is.
//! 5. What the pass rests on fails without the change; a wrong expectation in it is noticed, and so are mutants.
//! 6. The issue's examples and the examiner's statements hold.
//!
//! May know: the rules beside this file. Must never know: how a run is made, what an order does next.

use std::collections::BTreeMap;

use super::cell::ExperimentCell;
use super::died::DeathOnOldCode;
use super::four_runs::judge;
use super::known::{ExperimentName, KnownSoFar};
use super::matrix::{ExperimentMatrix, ExperimentResult, evidence_of};
use super::old_code::death;
use super::{detector, put_back, reruns};
use journeyman_order::settings::AcceptedRun;
use journeyman_order::{
    ComparisonVerdict, Proof, Scrutiny, TestCaseStatus, TestCases, TestReport, TestVerdict,
};

/// What the finished runs come to.
pub fn verdict(known: &KnownSoFar<'_>) -> ExperimentResult {
    let mut judgement = before_lies(known);
    if judgement.is_good() {
        detector::hold_against_lies(known, &mut judgement);
    }
    judgement
}

/// What they come to before expectations are made false.
pub(super) fn before_lies(known: &KnownSoFar<'_>) -> ExperimentResult {
    let mut judgement = before_reruns(known);
    if judgement.is_good() {
        reruns::hold_flaky_against_base(known, &mut judgement);
        reruns::hold_fixed_against_base(known, &mut judgement);
    }
    if judgement.is_good() {
        reruns::repeat_evidence(known, &mut judgement);
    }
    judgement
}

/// What the runs of each side's tests, data and configuration on each side's code come to, before any is made again.
pub(super) fn before_reruns(known: &KnownSoFar<'_>) -> ExperimentResult {
    let mut judgement = compared(known).0.clone();
    put_back::without_new_data(known, &mut judgement);
    put_back::with_old_configuration(known, &mut judgement);
    put_back::not_put_back(known, &mut judgement);
    judgement
}

/// The verdict on the commit. Whatever was found can revoke a pass. A failure is excused only if it is flaky, or was
/// there before and that is accepted or examined.
pub fn commit_verdict(
    alone: TestVerdict,
    found: &Scrutiny,
    accepted: AcceptedRun,
    issue: &str,
) -> TestVerdict {
    let (of_tests, of_examples) = found.objections();
    let is_bent = !(of_tests.is_empty() && of_examples.is_empty());
    let bent = if of_tests.is_empty() { TestVerdict::Unmended } else { TestVerdict::Weakened };
    let is_accepted = || accepted == AcceptedRun::NoNewFailures || found.is_examined_beside_red(issue);
    match (alone, found.judged) {
        (TestVerdict::Passed | TestVerdict::NoTests, _) if is_bent => bent,
        (TestVerdict::Passed, ComparisonVerdict::Failed) => TestVerdict::Failed,
        // It failed once and passed on the same commit, so it is reported as flaky.
        (TestVerdict::Failed, ComparisonVerdict::Passed) if !is_bent => TestVerdict::Passed,
        (TestVerdict::Failed, ComparisonVerdict::PassedBesideRed) if is_accepted() && is_bent => bent,
        (TestVerdict::Failed, ComparisonVerdict::PassedBesideRed) if is_accepted() => TestVerdict::Passed,
        (alone, _) => alone,
    }
}

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
        let old_code = known.last(ExperimentName::OldCode).map(|run| run.cell);
        let judgement = judge(&ExperimentMatrix { old_code, ..matrix.clone() });
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
