//! What can go wrong with GitHub, by what it asks of us.

use std::time::Duration;

use journeyman_order::Backoff;
use journeyman_order::moves::{EffectError, Retry};
use journeyman_order::order_api::OrderRequestError;

/// What a call to GitHub comes to.
pub type Result<T> = std::result::Result<T, GitHubError>;

/// What is there; none where GitHub says that it is not.
pub(super) fn found<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(there) => Ok(Some(there)),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A call that failed. The message is for people and holds no secret; where GitHub's own words are in it, they
/// have to be rendered like any other foreign text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct GitHubError {
    pub kind: ErrorKind,
    /// What happened, and what would mend it.
    pub message: String,
    /// Whether it is for a limit of GitHub's. Limits come first: nothing was carried out.
    limited: bool,
    /// Whether GitHub leads to another place, where it may be done.
    led_elsewhere: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// GitHub could not be reached, was overloaded, or limits us: the same again later. For a write it may not be
    /// known whether it was made.
    Unavailable {
        /// How long GitHub told us to wait, if it did.
        retry_after: Option<Duration>,
    },
    /// The App's id or key is wrong, or a fresh token is refused: a person has to look at the settings.
    Unauthorized,
    /// A permission is missing, or the installation is suspended: a person has to grant it.
    Forbidden,
    /// It is not there, or the App may not know that it is.
    NotFound,
    /// Somebody else changed it at the same moment: look again, then decide.
    Conflict,
    /// GitHub understood and refuses; its reasons are in the message. The same again is refused again.
    Invalid,
    /// An answer that makes no sense to us.
    Unexpected,
}

impl GitHubError {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), limited: false, led_elsewhere: false }
    }

    /// For a limit of GitHub's, which holds for all that the installation does.
    pub(super) fn limited(wait: Duration, message: impl Into<String>) -> Self {
        let kind = ErrorKind::Unavailable { retry_after: Some(wait) };
        Self { limited: true, ..Self::new(kind, message) }
    }

    /// For what was renamed or moved. Never `NotFound`: it is not gone.
    pub(super) fn moved(message: impl Into<String>) -> Self {
        Self { led_elsewhere: true, ..Self::new(ErrorKind::Forbidden, message) }
    }

    /// Whether it is refused where it was asked for, and not only led elsewhere.
    pub(super) fn is_forbidden(&self) -> bool {
        self.kind == ErrorKind::Forbidden && !self.led_elsewhere
    }

    /// How long a limit of GitHub's keeps the installation waiting, if it is for one.
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
            // A limit tells when it ends. Of an outage nobody knows that, whatever a server on the way says.
            ErrorKind::Unavailable { retry_after: Some(wait) }
                if error.limited || wait > Backoff::OUTAGE.longest =>
            {
                Retry::After { seconds: wait.as_secs().max(1) }
            }
            // While we are not let in, nothing could be said of an order that failed for it either.
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
