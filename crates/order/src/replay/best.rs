//! Which round is the best: a person gets it, or guidance starts from it.

use std::cmp::Reverse;

use super::Replay;
use crate::feedback::{Feedback, Severity};
use crate::test_run::TestVerdict;
use crate::trace::{CandidateWork, OpenFindings};

/// How good a round is; more is better. Honest before weakened tests. Then all tests passing, or as many as possible.
/// Then the fewest critical findings, the fewest major ones, and the highest score.
pub(crate) type RoundRank = (bool, u64, bool, Reverse<usize>, Reverse<usize>, f64);

pub(crate) fn rank(work: &CandidateWork) -> RoundRank {
    let tests = work.tests.as_ref();
    let passing = match tests {
        // A later round may have fewer tests, if all of them pass.
        Some(tests) if tests.verdict.is_pass() => u64::MAX,
        Some(tests) => tests.counts.map_or(0, |counts| counts.passed),
        None => 0,
    };
    // A pass with weakened tests is worth less than any honest result.
    let is_honest = tests.is_none_or(|tests| tests.verdict != TestVerdict::Weakened);
    // A run without tests is no failure.
    let is_red = tests.is_some_and(|tests| {
        matches!(tests.verdict, TestVerdict::Failed | TestVerdict::SetupFailed | TestVerdict::Unmended)
    });
    let OpenFindings { critical, major, score } = work.open;
    (is_honest, passing, !is_red, Reverse(critical), Reverse(major), score)
}

/// The rank in journals up to form 3.
fn rank_of_form_3(work: &CandidateWork) -> (bool, u64, bool, Reverse<usize>) {
    let passed = work.tests.as_ref().and_then(|tests| tests.counts).map_or(0, |counts| counts.passed);
    let is_green = work.tests.as_ref().is_some_and(|tests| tests.verdict.is_pass());
    (rank(work).0, passed, is_green, Reverse(work.open.critical + work.open.major))
}

impl Replay<'_> {
    /// Keeps the better of two rounds. Of equal ones it keeps the later, or the earlier up to form 3.
    pub(crate) fn keep_better(
        &self,
        best: &mut Option<CandidateWork>,
        candidate: Option<CandidateWork>,
        open: OpenFindings,
    ) {
        let Some(candidate) = candidate.map(|work| CandidateWork { open, ..work }) else { return };
        let is_better = |known: &CandidateWork| match self.is_of_form_3() {
            true => rank_of_form_3(&candidate) > rank_of_form_3(known),
            false => rank(&candidate) >= rank(known),
        };
        if best.as_ref().is_none_or(is_better) {
            *best = Some(candidate);
        }
    }
}

impl OpenFindings {
    pub(crate) fn of(feedback: &Feedback) -> Self {
        let count = |severity| feedback.issues.iter().filter(|finding| finding.severity == severity).count();
        Self { critical: count(Severity::Critical), major: count(Severity::Major), score: feedback.score }
    }
}
