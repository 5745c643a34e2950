//! Errors around a move, as the order sees them. Whether to retry is decided where the cause is known.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;
use journeyman_workspace::{GitError, GitErrorKind};

pub(super) fn never(message: impl Into<String>) -> EffectError {
    EffectError { message: message.into(), retry: Retry::Never }
}

/// Disk errors are retried, unless access is forbidden or one of our repositories is damaged.
pub(super) fn disk(what: &str) -> impl Fn(std::io::Error) -> EffectError + '_ {
    move |error| {
        let said = format!("cannot {what}: {error}");
        // Whatever ran there made the path that is too long, or more files than are read.
        let is_forbidden = matches!(
            error.kind(),
            std::io::ErrorKind::PermissionDenied
                | std::io::ErrorKind::InvalidFilename
                | std::io::ErrorKind::FileTooLarge
        );
        let git = error.get_ref().and_then(|inner| inner.downcast_ref::<GitError>());
        let is_ours = git.is_some_and(|git| git.is_ours && git.kind != GitErrorKind::Unavailable);
        if is_forbidden || is_ours { never(said) } else { soon(said) }
    }
}

pub(super) fn soon(message: impl Into<String>) -> EffectError {
    EffectError { message: message.into(), retry: Retry::Soon }
}
