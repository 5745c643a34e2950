//! What judges a round, and what it may answer.

use crate::feedback::Feedback;
use crate::ids::TreeSha;
use crate::test_run::TestRun;
use crate::trace::Work;

/// What judges a round. Each has a counter of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Judge {
    Output,
    PushedCommit,
    Policy,
    Tests,
    /// Whoever bends the tests is told once; the second time a person is.
    Tampering,
    /// The tests pass, and do not show that the change does anything.
    Proof,
    Verifier,
    /// Somebody who was asked for their approval.
    Person,
}

/// What a round comes to.
pub(crate) enum Judged<T> {
    Passed(T),
    Failed(Box<Failed>),
    /// A check could not be made. No fault of the worker's, and never a pass.
    NotMade {
        because: String,
        candidate: Option<Work>,
    },
    /// A check could not be paid for.
    NotPaid {
        because: String,
        candidate: Option<Work>,
    },
}

/// A round that a check sends back.
pub(crate) struct Failed {
    pub(crate) by: Judge,
    pub(crate) feedback: Feedback,
    pub(crate) tests: Option<Box<TestRun>>,
    pub(crate) tree: Option<TreeSha>,
    /// What it leaves that could be handed over.
    pub(crate) candidate: Option<Work>,
}

impl<T> Judged<T> {
    pub(crate) fn failed(by: Judge, feedback: Feedback) -> Self {
        Self::Failed(Box::new(Failed { by, feedback, tests: None, tree: None, candidate: None }))
    }

    pub(crate) fn invalid_output(feedback: Feedback) -> Self {
        Self::failed(Judge::Output, feedback)
    }

    /// The value, for the next judge; or the same end, of a round with a result of another kind.
    #[expect(clippy::result_large_err, reason = "an end is as likely as a value, and neither is kept")]
    pub(crate) fn or_the_end<U>(self) -> Result<T, Judged<U>> {
        match self {
            Self::Passed(value) => Ok(value),
            Self::Failed(failed) => Err(Judged::Failed(failed)),
            Self::NotMade { because, candidate } => Err(Judged::NotMade { because, candidate }),
            Self::NotPaid { because, candidate } => Err(Judged::NotPaid { because, candidate }),
        }
    }
}
