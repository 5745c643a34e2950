//! How an order can end.

use serde::{Deserialize, Serialize};

use super::ids::PullNumber;

/// How an order ended. `/retry` opens those again that came to no good end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "settled", rename_all = "snake_case")]
pub enum Settlement {
    /// The pull request's head is the commit whose checks all passed.
    Verified {
        /// The pull request; none where the pipeline opens none.
        pull: Option<PullNumber>,
    },
    /// The work is published, but nothing could verify it.
    Unverified {
        /// The pull request, a draft.
        pull: Option<PullNumber>,
        /// What was missing.
        because: String,
    },
    /// The best attempt is with a person.
    Escalated {
        /// The pull request, a draft.
        pull: Option<PullNumber>,
        /// What is still wrong.
        because: String,
    },
    /// A person accepted the best attempt as it is: not verified.
    Approved {
        /// The pull request.
        pull: Option<PullNumber>,
        /// Who.
        by: String,
        /// What was still wrong, or what could not be verified.
        because: String,
    },
    /// The worker produced nothing that could be handed over.
    Blocked {
        /// What was tried.
        because: String,
    },
    /// Something around the work failed: a credential, a service, the budget.
    Failed {
        /// What, and what to do.
        because: String,
    },
    /// A person stopped it.
    Cancelled {
        /// How.
        because: String,
    },
    /// The pull request was merged.
    Merged {
        /// Which.
        pull: PullNumber,
        /// Who did it.
        by: String,
    },
    /// The pull request was turned down: closed, and not merged.
    Closed {
        /// Which.
        pull: PullNumber,
        /// Who did it.
        by: String,
    },
    /// Whoever asked for it may not. Nothing is said on GitHub.
    Refused {
        /// Why.
        because: String,
    },
}

impl Settlement {
    /// One word for lists and for the API.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Verified { .. } => "verified",
            Self::Unverified { .. } => "unverified",
            Self::Escalated { .. } => "escalated",
            Self::Approved { .. } => "approved",
            Self::Blocked { .. } => "blocked",
            Self::Failed { .. } => "failed",
            Self::Cancelled { .. } => "cancelled",
            Self::Merged { .. } => "merged",
            Self::Closed { .. } => "closed",
            Self::Refused { .. } => "refused",
        }
    }

    /// Why, where there is something to say.
    pub fn because(&self) -> Option<&str> {
        match self {
            Self::Verified { .. } | Self::Merged { .. } | Self::Closed { .. } => None,
            Self::Unverified { because, .. }
            | Self::Escalated { because, .. }
            | Self::Approved { because, .. }
            | Self::Blocked { because }
            | Self::Failed { because }
            | Self::Cancelled { because }
            | Self::Refused { because } => Some(because),
        }
    }

    /// The exit code of `journeyman run` and `journeyman demo`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Verified { .. } | Self::Merged { .. } => 0,
            Self::Closed { .. }
            | Self::Blocked { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. }
            | Self::Refused { .. } => 1,
            Self::Escalated { .. } => 3,
            Self::Unverified { .. } | Self::Approved { .. } => 4,
        }
    }

    /// Whether `/retry` can open it again.
    pub fn can_be_retried(&self) -> bool {
        match self {
            Self::Verified { .. }
            | Self::Approved { .. }
            | Self::Merged { .. }
            | Self::Closed { .. }
            | Self::Refused { .. } => false,
            Self::Unverified { .. }
            | Self::Escalated { .. }
            | Self::Blocked { .. }
            | Self::Failed { .. }
            | Self::Cancelled { .. } => true,
        }
    }
}
