//! What went wrong around a move, as the order hears it: whether it is worth trying again is said where it is known.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;

/// Trouble that does not pass by itself.
pub(super) fn never(message: impl Into<String>) -> EffectError {
    EffectError { message: message.into(), retry: Retry::Never }
}

/// Trouble that may be gone in a moment.
pub(super) fn soon(message: impl Into<String>) -> EffectError {
    EffectError { message: message.into(), retry: Retry::Soon }
}
