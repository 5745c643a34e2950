//! When is a commit verified? [`verdict`] reads the finished runs, and [`commit_verdict`] all that was found. Whether
//! an order asks for proof, for mutants that are caught and for a reviewer is decided on top, in `order`'s `verdict.rs`.
//!
//! 1. The tests of the change pass on the change, or fail by flaky tests alone, or where they fail on the base as well.
//! 2. No test of the base is missing, and none that passed on the base fails on the change's code as the base has it.
//! 3. What was fixed is fixed by code: with the base's data and test configuration it passes as well.
//! 4. Nothing of this is chance: it is so on every run, elsewhere too, and on the base it never is.
//! 5. What the pass rests on fails without the change; a wrong expectation in it is noticed, and so are mutants.
//! 6. The issue's examples and the examiner's statements hold.
//!
//! May know: the rules beside this file. Must never know: how a run is made, what an order does next.

use super::compared::compared;
use super::known::KnownSoFar;
use super::result::ExperimentResult;
use super::{detector, put_back, reruns};
use journeyman_order::settings::AcceptedRun;
use journeyman_order::{ComparisonVerdict, Scrutiny, TestVerdict};

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
