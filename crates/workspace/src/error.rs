//! Errors of git work, by the response that they need.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;
use std::path::Path;

use git2::ErrorClass;

/// What went wrong, and how to respond. The message contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GitError {
    pub kind: GitErrorKind,
    /// What was tried, what the error was, and what a person can do.
    pub message: String,
    /// Whether our own repository caused it. It may be damaged; [`super::Workspaces::discard_damaged`] checks.
    pub is_ours: bool,
}

/// Kinds of errors, by the response that they need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitErrorKind {
    /// The server is unreachable, overloaded or dropped the connection: retry later.
    Unavailable,
    /// The server refused the token (401): get a fresh one.
    Unauthorized,
    /// The token lacks permission (403): a person must grant it to the App.
    Forbidden,
    /// The repository (404), the branch or the commit is missing.
    NotFound,
    /// The server declined, usually because it no longer has the commit.
    Refused,
    /// We cannot handle or decide about what people pushed: a person must.
    NotForUs,
    /// Something on this machine is wrong.
    Broken,
}

impl GitErrorKind {
    /// The kind for an unexpected HTTP status.
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

    pub(super) fn of_ours(self) -> Self {
        Self { is_ours: true, ..self }
    }

    pub(super) fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::broken(format!("could not {what} {path:?}: {error}"))
    }
}

impl From<git2::Error> for GitError {
    /// A full disk or too many open files say nothing about the repository.
    fn from(error: git2::Error) -> Self {
        let missing = error.code() == git2::ErrorCode::NotFound;
        let kind = if missing { GitErrorKind::NotFound } else { GitErrorKind::Broken };
        let said = Self::new(kind, format!("could not work with git's objects: {}", error.message()));
        let is_of_the_system = matches!(error.class(), ErrorClass::Os | ErrorClass::NoMemory);
        if is_of_the_system && !missing { said } else { said.of_ours() }
    }
}

impl From<GitError> for EffectError {
    fn from(error: GitError) -> Self {
        let retry = match error.kind {
            // GitHub may refuse a fresh token for seconds, so a refused credential is retried. It also answers rate
            // limits with 403, so that is retried too.
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
