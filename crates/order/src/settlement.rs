//! How an order can end. The [`Verdict`](super::Verdict) describes its commit.

use super::ids::PullNumber;

/// How an order ended. `/retry` reopens an order that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Its pipeline ran to its end, or later requests of people were handled.
    Finished {
        /// The pull request; `None` if the pipeline opens none.
        pull: Option<PullNumber>,
    },
    /// A person has the best attempt to decide on.
    Escalated {
        pull: Option<PullNumber>,
        /// What is still wrong.
        because: String,
    },
    /// The worker produced nothing to hand over.
    Blocked { because: String },
    /// Something around the work failed: a credential, a service, the budget.
    Failed {
        /// What failed, and what to do.
        because: String,
    },
    /// The repository's environment cannot be prepared. Nothing was spent, and the order resumes once the default
    /// branch fixes it.
    Unprepared {
        /// What failed, and what to do.
        because: String,
    },
    /// A person stopped it.
    Cancelled { because: String },
    /// The pull request was merged.
    Merged { pull: PullNumber, by: String },
    /// The pull request was closed without a merge.
    Closed { pull: PullNumber, by: String },
    /// The requester lacks the right. Nothing is posted on GitHub.
    Refused { because: String },
}

impl Settlement {
    /// Why it ended before its pipeline did, if there is something to say.
    pub fn because(&self) -> Option<&str> {
        match self {
            Self::Finished { .. } | Self::Merged { .. } | Self::Closed { .. } => None,
            Self::Escalated { because, .. }
            | Self::Blocked { because }
            | Self::Failed { because }
            | Self::Unprepared { because }
            | Self::Cancelled { because }
            | Self::Refused { because } => Some(because),
        }
    }
}
