//! What judges a round, and what it may answer.

use crate::feedback::Feedback;
use crate::ids::TreeSha;
use crate::test_run::TestRun;
use crate::trace::CandidateWork;

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

/// What a round comes to.
pub(crate) enum RoundOutcome<T> {
    Passed(T),
    Failed(Box<FailedRound>),
    /// A check could not be made. No fault of the worker's, and never a pass.
    NotMade {
        because: String,
        candidate: Option<CandidateWork>,
    },
    /// A check could not be paid for.
    NotPaid {
        because: String,
        candidate: Option<CandidateWork>,
    },
}

/// A round that a check sends back.
pub(crate) struct FailedRound {
    pub(crate) by: RoundCheck,
    pub(crate) feedback: Feedback,
    pub(crate) tests: Option<Box<TestRun>>,
    pub(crate) tree: Option<TreeSha>,
    /// What it leaves that could be handed over.
    pub(crate) candidate: Option<CandidateWork>,
}

impl<T> RoundOutcome<T> {
    pub(crate) fn failed(by: RoundCheck, feedback: Feedback) -> Self {
        Self::Failed(Box::new(FailedRound { by, feedback, tests: None, tree: None, candidate: None }))
    }

    pub(crate) fn invalid_output(feedback: Feedback) -> Self {
        Self::failed(RoundCheck::Output, feedback)
    }

    /// The value, for the next judge; or the same end, of a round with a result of another kind.
    #[expect(clippy::result_large_err, reason = "an end is as likely as a value, and neither is kept")]
    pub(crate) fn into_result<U>(self) -> Result<T, RoundOutcome<U>> {
        match self {
            Self::Passed(value) => Ok(value),
            Self::Failed(failed) => Err(RoundOutcome::Failed(failed)),
            Self::NotMade { because, candidate } => Err(RoundOutcome::NotMade { because, candidate }),
            Self::NotPaid { because, candidate } => Err(RoundOutcome::NotPaid { because, candidate }),
        }
    }
}
