//! What went wrong around a move, as the order hears it: whether it is worth trying again is said where it is known.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;
use journeyman_workspace::{GitError, GitErrorKind};

pub(super) fn never(message: impl Into<String>) -> EffectError {
    EffectError { message: message.into(), retry: Retry::Never }
}

/// The disk is tried again, unless it forbids something or one of our repositories is damaged.
pub(super) fn disk(what: &str) -> impl Fn(std::io::Error) -> EffectError + '_ {
    move |error| {
        let said = format!("cannot {what}: {error}");
        // A path that is too long, and more files than are looked through, were made by whoever ran there.
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
