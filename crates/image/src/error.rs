//! Why there is no image, for the person who can fix it.
//!
//! May know: what was asked for and what a program said. Must never know: orders. Whoever asks maps [`ImageFault`] to
//! what it does about it.

use std::io;
use std::path::Path;

use crate::reference::ImageReference;

/// Whom a failure concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFault {
    /// The network or the registry is away for now: the same call can succeed later.
    Temporary,
    /// The name, its credentials, a setting or an installed program has to be changed.
    Settings,
    /// The image itself cannot be used: it is broken, hostile, for other machines or too large.
    Image,
    /// This machine: disk, permissions, kernel.
    Machine,
}

/// Why there is no image.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct ImageError {
    fault: ImageFault,
    text: String,
}

/// What programs say about this machine's disk.
const OF_THE_MACHINE: &[&str] =
    &["no space left", "quota exceeded", "permission denied", "read-only file system"];
const CERTIFICATE: &[&str] = &["x509:"];
const MISSING: &[&str] = &["manifest unknown:", "name unknown:", "StatusCode: 404", "404 (Not Found)"];
const DENIED: &[&str] = &[
    "unauthorized:",
    "denied:",
    "invalid username/password",
    "StatusCode: 403",
    "401 (Unauthorized)",
    "403 (Forbidden)",
    "reading JSON file",
];
const WRONG: &[&str] = &["did not match", "does not match"];

impl ImageError {
    #[must_use]
    pub fn fault(&self) -> ImageFault {
        self.fault
    }

    pub(crate) fn new(fault: ImageFault, text: impl Into<String>) -> Self {
        Self { fault, text: text.into() }
    }

    pub(crate) fn refused(image: &ImageReference, reason: impl std::fmt::Display) -> Self {
        Self::new(ImageFault::Image, format!("{image} is refused: {reason}"))
    }

    pub(crate) fn machine(path: &Path, cause: impl Into<io::Error>) -> Self {
        let (path, cause) = (path.display(), cause.into());
        let text = format!("{path}: {cause}. Check the disk and this folder's permissions");
        Self::new(ImageFault::Machine, text)
    }

    /// What skopeo said when it failed. Its exit code is always 1.
    pub(crate) fn of_skopeo(image: &ImageReference, said: &str) -> Self {
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let registry = image.registry();
        let login = format!("log in with `skopeo login {registry}` as the user that runs Journeyman");
        let (fault, text) = if has(OF_THE_MACHINE) {
            (ImageFault::Machine, format!("{image} cannot be downloaded: {said}"))
        } else if has(CERTIFICATE) {
            let advice = "If it is your company's, name the file with its authority as network.ca_file";
            let text = format!("{registry} shows a certificate that is not trusted ({said}). {advice}");
            (ImageFault::Settings, text)
        } else if has(MISSING) {
            let text = format!(
                "{image} is not in its registry. Check the name and the tag; if it is private, {login}"
            );
            (ImageFault::Settings, text)
        } else if has(DENIED) {
            (ImageFault::Settings, format!("the registry does not give {image} to us ({said}): {login}"))
        } else if has(WRONG) {
            return Self::refused(image, said);
        } else {
            (ImageFault::Temporary, format!("{image} cannot be fetched: {said}"))
        };
        Self::new(fault, text)
    }

    /// What umoci or its wall said when it failed.
    pub(crate) fn of_umoci(image: &ImageReference, said: &str) -> Self {
        if said.starts_with("bwrap:") || OF_THE_MACHINE.iter().any(|word| said.contains(word)) {
            return Self::new(ImageFault::Machine, format!("{image} cannot be unpacked: {said}"));
        }
        Self::refused(image, said)
    }
}
