//! Errors of GitHub, classified by what to do about them.

use std::time::Duration;

use journeyman_order::Backoff;
use journeyman_order::moves::{EffectError, Retry};
use journeyman_order::order_api::OrderRequestError;

pub type Result<T> = std::result::Result<T, GitHubError>;

/// Turns [`ErrorKind::NotFound`] into `None`.
pub(super) fn found<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A failed call. The message is for people and contains no secret. It may quote GitHub: render it like any other
/// untrusted text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GitHubError {
    pub kind: ErrorKind,
    /// What happened and how to fix it.
    pub message: String,
    /// Whether one of GitHub's limits caused it. Limits are checked first: nothing was carried out.
    limited: bool,
    /// Whether GitHub redirects to another place, where it may work.
    led_elsewhere: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// GitHub is unreachable, overloaded or limits us: retry later. A write may have been made anyway.
    Unavailable {
        /// How long GitHub asked us to wait, if it did.
        retry_after: Option<Duration>,
    },
    /// The App's id or key is wrong, or a new token is refused: a person has to check the settings.
    Unauthorized,
    /// A permission is missing or the installation is suspended: a person has to grant it.
    Forbidden,
    /// It does not exist, or the App may not see it.
    NotFound,
    /// Something changed at the same time: look again, then decide.
    Conflict,
    /// GitHub refuses, with reasons in the message. A retry would be refused too.
    Invalid,
    /// An answer we do not understand.
    Unexpected,
}

impl GitHubError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), limited: false, led_elsewhere: false }
    }

    /// For one of GitHub's limits, which applies to the whole installation.
    pub(super) fn limited(wait: Duration, message: impl Into<String>) -> Self {
        let kind = ErrorKind::Unavailable { retry_after: Some(wait) };
        Self { limited: true, ..Self::new(kind, message) }
    }

    /// For a renamed or moved repository. Never `NotFound`: it still exists.
    pub(super) fn moved(message: impl Into<String>) -> Self {
        Self { led_elsewhere: true, ..Self::new(ErrorKind::Forbidden, message) }
    }

    /// Whether it was refused at its own address, not just redirected.
    pub(super) fn is_forbidden(&self) -> bool {
        self.kind == ErrorKind::Forbidden && !self.led_elsewhere
    }

    /// How long one of GitHub's limits blocks the installation, if it is such an error.
    pub(super) fn limit(&self) -> Option<Duration> {
        let ErrorKind::Unavailable { retry_after } = self.kind else { return None };
        retry_after.filter(|_| self.limited)
    }

    pub(super) fn unexpected(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unexpected, message)
    }

    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable { retry_after: None }, message)
    }
}

impl From<GitHubError> for EffectError {
    fn from(error: GitHubError) -> Self {
        let retry = match error.kind {
            // A limit says when it ends. An outage does not, whatever a proxy claims.
            ErrorKind::Unavailable { retry_after: Some(wait) }
                if error.limited || wait > Backoff::OUTAGE.longest =>
            {
                Retry::After { seconds: wait.as_secs().max(1) }
            }
            // Without valid credentials, a failed order could not even be reported.
            ErrorKind::Unavailable { .. } | ErrorKind::Unauthorized => Retry::Outage,
            ErrorKind::Conflict | ErrorKind::Unexpected => Retry::Soon,
            ErrorKind::Forbidden | ErrorKind::NotFound | ErrorKind::Invalid => Retry::Never,
        };
        Self { message: error.message, retry }
    }
}

impl From<GitHubError> for OrderRequestError {
    fn from(error: GitHubError) -> Self {
        match error.kind {
            ErrorKind::NotFound | ErrorKind::Forbidden => Self::NotFound(error.message),
            ErrorKind::Invalid => Self::Refused(error.message),
            ErrorKind::Unavailable { .. }
            | ErrorKind::Unauthorized
            | ErrorKind::Conflict
            | ErrorKind::Unexpected => Self::Unavailable(error.message),
        }
    }
}
