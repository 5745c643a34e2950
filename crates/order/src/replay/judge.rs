//! What judges a round, and what it may answer.

use super::Suspension;
use crate::feedback::{Category, Feedback};
use crate::ids::TreeSha;
use crate::test_run::TestRun;
use crate::trace::{CandidateWork, StageChecksOutcome};

/// What judges a round. Each has a counter of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RoundCheck {
    Output,
    PushedCommit,
    Policy,
    Tests,
    /// Whoever bends the tests is told once; the second time a person is.
    Tampering,
    /// A statement of the examiner's does not hold.
    Statements,
    /// The tests pass, and do not show that the change does anything.
    Proof,
    /// The server does not take the commit.
    Push,
    Verifier,
    /// Somebody who was asked for their approval.
    Person,
}

/// Why a round does not pass.
pub(crate) enum RoundEnd {
    Failed(Box<FailedRound>),
    NotMade(UnmadeCheck, Option<Box<CandidateWork>>),
    /// It is not over.
    Suspended(Suspension),
}

/// A check that could not be made. No fault of the worker's, and never a pass. The first weighs more, where there are several.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UnmadeCheck {
    /// There is no money to ask who judges.
    NotPaid(String),
    /// What they answered is of no use.
    Nonsense(String),
}

/// A round that a check sends back.
pub(crate) struct FailedRound {
    pub(crate) by: RoundCheck,
    pub(crate) feedback: Feedback,
    pub(crate) tests: Option<TestRun>,
    pub(crate) tree: Option<TreeSha>,
    /// What it leaves that could be handed over.
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

    /// The work is sent back; `tests` is the run that says why.
    pub(crate) fn sent_back(
        by: RoundCheck,
        work: CandidateWork,
        feedback: Feedback,
        tests: Option<TestRun>,
    ) -> Self {
        // For these the files may stay as they are: a message may have to change, or a test to be added.
        let is_of_files = !matches!(by, RoundCheck::Person | RoundCheck::Proof | RoundCheck::Push);
        let tree = is_of_files.then(|| work.tree.clone());
        let candidate = Some(not_verified(work, &feedback.summary));
        Self::Failed(Box::new(FailedRound { by, feedback, tests, tree, candidate }))
    }

    pub(crate) fn invalid_output(feedback: Feedback) -> Self {
        Self::failed(RoundCheck::Output, feedback)
    }

    /// The answer is not what was asked for.
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::invalid_output(Feedback::failed(Category::InvalidOutput, what))
    }

    /// The same, with what would be.
    pub(crate) fn advised(what: impl Into<String>, how: impl Into<String>) -> Self {
        Self::invalid_output(Feedback::failed(Category::InvalidOutput, what).suggest(how))
    }

    pub(crate) fn is_by(&self, check: RoundCheck) -> bool {
        matches!(self, Self::Failed(failed) if failed.by == check)
    }
}

/// The work of a round that a check sent back.
pub(crate) fn not_verified(work: CandidateWork, because: &str) -> CandidateWork {
    CandidateWork { checks: StageChecksOutcome::Failed { because: because.to_owned() }, ..work }
}
