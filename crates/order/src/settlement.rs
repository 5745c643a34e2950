//! How an order can end. What may be said of its commit is the [`Verdict`](super::Verdict)'s to say.

use super::ids::PullNumber;

/// How an order ended. `/retry` opens those again that came to no good end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Its pipeline came to its end, or what people asked for afterwards did.
    Finished {
        /// The pull request; none where the pipeline opens none.
        pull: Option<PullNumber>,
    },
    /// The best attempt is with a person.
    Escalated {
        /// The pull request, a draft.
        pull: Option<PullNumber>,
        /// What is still wrong.
        because: String,
    },
    /// The worker produced nothing that could be handed over.
    Blocked { because: String },
    /// Something around the work failed: a credential, a service, the budget.
    Failed {
        /// What, and what to do.
        because: String,
    },
    /// The repository's environment cannot be prepared. Nothing was paid for, and it goes on once the default branch mends
    /// it.
    Unprepared {
        /// What, and what to do.
        because: String,
    },
    /// A person stopped it.
    Cancelled { because: String },
    /// The pull request was merged.
    Merged { pull: PullNumber, by: String },
    /// The pull request was turned down: closed, and not merged.
    Closed { pull: PullNumber, by: String },
    /// Whoever asked for it may not. Nothing is said on GitHub.
    Refused { because: String },
}

impl Settlement {
    /// Why it ended before its pipeline did, where there is something to say.
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
