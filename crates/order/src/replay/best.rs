//! Which round is the best: the one that goes to a person, or that guidance starts from.

use std::cmp::Reverse;

use crate::feedback::{Feedback, Severity};
use crate::test_run::TestVerdict;
use crate::trace::CandidateWork;

/// How good a round is; more is better. Honest before bent, most tests passing, then fewest open findings of weight, then the earliest.
pub(crate) fn rank(work: &CandidateWork) -> (bool, u64, bool, Reverse<usize>, Reverse<u32>) {
    let passing = work.tests.as_ref().and_then(|tests| tests.counts).map_or(0, |counts| counts.passed);
    let is_green = work.tests.as_ref().is_some_and(|tests| tests.verdict.is_pass());
    // What passes because the tests were bent is worth less than anything honest.
    let is_honest = work.tests.as_ref().is_none_or(|tests| tests.verdict != TestVerdict::Weakened);
    (is_honest, passing, is_green, Reverse(work.open_findings), Reverse(work.round))
}

/// Keeps the better of two.
pub(crate) fn keep_better(best: &mut Option<CandidateWork>, candidate: Option<CandidateWork>) {
    if let Some(candidate) = candidate
        && best.as_ref().is_none_or(|known| rank(&candidate) > rank(known))
    {
        *best = Some(candidate);
    }
}

/// How many findings of weight are open.
pub(crate) fn blocking_findings(feedback: &Feedback) -> usize {
    feedback.issues.iter().filter(|finding| finding.severity <= Severity::Major).count()
}
