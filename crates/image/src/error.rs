//! Why there is no image, for the person who can mend it.
//!
//! May know: what was asked for and what came. Must never know: orders. Whoever asks maps [`ImageFault`] to what it
//! does about it. No message holds a credential, nor an address with a query, which can hold one.

use std::io;
use std::path::{Path, PathBuf};

use crate::reference::ImageReference;

/// Whom a failure concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFault {
    /// The network or the registry is away for now: the same call can succeed later.
    Temporary,
    /// The name, its credentials, or a setting has to be changed.
    Settings,
    /// The image itself cannot be used: it is broken, hostile, for other machines or too large.
    Image,
    /// This machine: disk, permissions, kernel.
    Machine,
}

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("the registry {registry} cannot be reached: {cause}")]
    Unreachable { registry: String, cause: String },
    #[error("the registry {registry} does not answer as it should: {cause}")]
    Unavailable { registry: String, cause: String },
    #[error("{image} is not in its registry. Check the name and the tag; {hint}")]
    NotFound { image: String, hint: String },
    #[error("the registry does not give {image} to us: {hint}")]
    Denied { image: String, hint: String },
    #[error("{0}")]
    Settings(String),
    #[error("{image} is refused: {reason}")]
    Refused { image: String, reason: String },
    #[error("{image} is too large: {what}")]
    TooLarge { image: String, what: String },
    #[error("{path}: {cause}. {advice}", path = path.display())]
    Machine { path: PathBuf, cause: io::Error, advice: &'static str },
}

impl ImageError {
    #[must_use]
    pub fn fault(&self) -> ImageFault {
        match self {
            Self::Unreachable { .. } | Self::Unavailable { .. } => ImageFault::Temporary,
            Self::NotFound { .. } | Self::Denied { .. } | Self::Settings(_) => ImageFault::Settings,
            Self::Refused { .. } | Self::TooLarge { .. } => ImageFault::Image,
            Self::Machine { .. } => ImageFault::Machine,
        }
    }

    pub(crate) fn refused(image: &ImageReference, reason: impl Into<String>) -> Self {
        Self::Refused { image: image.to_string(), reason: reason.into() }
    }

    pub(crate) fn machine(path: &Path, cause: impl Into<io::Error>) -> Self {
        let cause = cause.into();
        let is_any_of = |kinds: &[io::ErrorKind]| kinds.contains(&cause.kind());
        let advice = if is_any_of(&[io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded]) {
            "Make room there, then try again"
        } else if is_any_of(&[io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem]) {
            "Make this folder writable for the user that Journeyman runs as"
        } else if is_any_of(&[io::ErrorKind::Unsupported]) {
            "Images need Linux 5.6 or later"
        } else {
            "Check the disk and this folder's permissions"
        };
        Self::Machine { path: path.to_owned(), cause, advice }
    }
}
