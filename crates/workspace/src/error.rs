//! What goes wrong with repositories, by what it asks for.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;
use std::path::Path;

use git2::ErrorClass;

/// What went wrong, and what it asks for. The message holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GitError {
    pub kind: GitErrorKind,
    /// What was tried, what was said, and what a person can do about it.
    pub message: String,
    /// Whether a repository of ours said it: it may be damaged, which [`super::Workspaces::discard_damaged`] finds out.
    pub is_ours: bool,
}

/// Kinds of trouble, by what they ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitErrorKind {
    /// The server cannot be reached, is overloaded or broke off: the same again, later.
    Unavailable,
    /// The token was refused (401): a fresh one.
    Unauthorized,
    /// The token does not allow it (403): a person gives the App the permission.
    Forbidden,
    /// The repository (404), the branch or the commit is not there.
    NotFound,
    /// The server declined, above all a commit that it does not have any more.
    Refused,
    /// What people pushed cannot be worked with, or decided about, by us: a person has to.
    NotForUs,
    /// Something here is not as it must be.
    Broken,
}

impl GitErrorKind {
    /// What a server's answer asks for that is none of those that are hoped for.
    pub(super) fn of_status(status: u16) -> Self {
        match status {
            401 => Self::Unauthorized,
            403 => Self::Forbidden,
            404 | 410 => Self::NotFound,
            408 | 425 | 429 | 500.. => Self::Unavailable,
            _ => Self::Refused,
        }
    }
}

impl GitError {
    pub(super) fn new(kind: GitErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), is_ours: false }
    }

    pub(super) fn broken(message: impl Into<String>) -> Self {
        Self::new(GitErrorKind::Broken, message)
    }

    pub(super) fn local(what: &str, error: &git2::Error) -> Self {
        let missing = error.code() == git2::ErrorCode::NotFound;
        let kind = if missing { GitErrorKind::NotFound } else { GitErrorKind::Broken };
        let said = Self::new(kind, format!("could not {what}: {}", error.message()));
        // A disk that is full, or too many open files, say nothing of what is in the repository.
        let is_of_the_system = matches!(error.class(), ErrorClass::Os | ErrorClass::NoMemory);
        if is_of_the_system && !missing { said } else { said.of_ours() }
    }

    pub(super) fn opening(error: &git2::Error) -> Self {
        Self::local("open a repository of ours", error)
    }

    pub(super) fn of_ours(self) -> Self {
        Self { is_ours: true, ..self }
    }

    pub(super) fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::broken(format!("could not {what} {path:?}: {error}"))
    }
}

impl From<GitError> for EffectError {
    fn from(error: GitError) -> Self {
        let retry = match error.kind {
            // A fresh token may be refused for seconds, so a refused credential is tried again too.
            // So is a 403: GitHub answers its limits with it, too.
            GitErrorKind::Forbidden => Retry::Soon,
            GitErrorKind::Unavailable | GitErrorKind::Unauthorized => Retry::Outage,
            GitErrorKind::NotFound
            | GitErrorKind::Refused
            | GitErrorKind::NotForUs
            | GitErrorKind::Broken => Retry::Never,
        };
        Self { message: error.to_string(), retry }
    }
}
