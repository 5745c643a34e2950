//! The checks that judge a round, and their possible results.

use super::Suspension;
use crate::feedback::{Category, Feedback};
use crate::ids::TreeSha;
use crate::test_run::TestRun;
use crate::trace::{CandidateWork, StageChecksOutcome};

/// The check that judged a round. Each has its own counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RoundCheck {
    Output,
    PushedCommit,
    Policy,
    Tests,
    /// The worker weakened the tests. It is warned once; the second time a person must look.
    Tampering,
    /// A statement of the examiner does not hold.
    Statements,
    /// The tests pass, but do not show that the change does anything.
    Proof,
    /// The server declined the commit.
    Push,
    Verifier,
    /// A person wants another attempt.
    Person,
}

/// Why a round did not pass.
pub(crate) enum RoundEnd {
    Failed(Box<FailedRound>),
    NotMade(UnmadeCheck, Option<Box<CandidateWork>>),
    /// The round is not over.
    Suspended(Suspension),
}

/// A check that could not be made. It is never a pass, but not the worker's fault. Of several, the first variant wins.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnmadeCheck {
    /// There is no budget for the judge.
    NotPaid(String),
    /// The judge's answer is unusable.
    Nonsense(String),
}

/// A round that a check sent back.
pub(crate) struct FailedRound {
    pub(crate) by: RoundCheck,
    pub(crate) feedback: Feedback,
    pub(crate) tests: Option<TestRun>,
    pub(crate) tree: Option<TreeSha>,
    /// The work that could still be handed over.
    pub(crate) candidate: Option<CandidateWork>,
}

impl From<Suspension> for RoundEnd {
    fn from(suspension: Suspension) -> Self {
        Self::Suspended(suspension)
    }
}

impl RoundEnd {
    pub(crate) fn failed(by: RoundCheck, feedback: Feedback) -> Self {
        Self::Failed(Box::new(FailedRound { by, feedback, tests: None, tree: None, candidate: None }))
    }

    /// Sends the work back. `tests` is the run that shows why.
    pub(crate) fn sent_back(
        by: RoundCheck,
        work: CandidateWork,
        feedback: Feedback,
        tests: Option<TestRun>,
    ) -> Self {
        // Here the files may stay the same: only a message may have to change, or a test to be added.
        let is_of_files = !matches!(by, RoundCheck::Person | RoundCheck::Proof | RoundCheck::Push);
        let tree = is_of_files.then(|| work.tree.clone());
        let candidate = Some(not_verified(work, &feedback.summary));
        Self::Failed(Box::new(FailedRound { by, feedback, tests, tree, candidate }))
    }

    pub(crate) fn invalid_output(feedback: Feedback) -> Self {
        Self::failed(RoundCheck::Output, feedback)
    }

    /// The answer does not have the required form.
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::invalid_output(Feedback::failed(Category::InvalidOutput, what))
    }

    /// The same, with a suggestion.
    pub(crate) fn advised(what: impl Into<String>, how: impl Into<String>) -> Self {
        Self::invalid_output(Feedback::failed(Category::InvalidOutput, what).suggest(how))
    }

    pub(crate) fn is_by(&self, check: RoundCheck) -> bool {
        matches!(self, Self::Failed(failed) if failed.by == check)
    }
}

/// The work of a round that a check sent back, marked as failed.
pub(crate) fn not_verified(work: CandidateWork, because: &str) -> CandidateWork {
    CandidateWork { checks: StageChecksOutcome::Failed { because: because.to_owned() }, ..work }
}
