//! What went wrong around a move, as the order hears it: whether it is worth trying again is said where it is known.

use crate::order::Trouble;
use crate::order::moves::Retry;
use crate::sandbox::SandboxError;
use crate::store::StoreError;
use crate::workspace::{GitError, GitErrorKind};

/// Trouble that does not pass by itself.
pub(super) fn never(message: impl Into<String>) -> Trouble {
    Trouble { message: message.into(), retry: Retry::Never }
}

/// Trouble that may be gone in a moment.
pub(super) fn soon(message: impl Into<String>) -> Trouble {
    Trouble { message: message.into(), retry: Retry::Soon }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        soon(error.to_string())
    }
}

impl From<SandboxError> for Trouble {
    fn from(error: SandboxError) -> Self {
        never(error.to_string())
    }
}

impl From<GitError> for Trouble {
    fn from(error: GitError) -> Self {
        let retry = match error.kind {
            // A fresh token may be refused for seconds, so a refused credential is tried again too.
            // So is a 403: GitHub answers its limits with it, and git hands on neither header nor text that would
            // tell them from a missing permission.
            GitErrorKind::Unavailable | GitErrorKind::Unauthorized | GitErrorKind::Forbidden => Retry::Soon,
            GitErrorKind::NotFound
            | GitErrorKind::Refused
            | GitErrorKind::NotForUs
            | GitErrorKind::Broken => Retry::Never,
        };
        Self { message: error.to_string(), retry }
    }
}
