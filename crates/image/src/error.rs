//! Why an image is unavailable, worded for the person who can fix it.
//!
//! May know: the request and a program's message. Must never know: orders. The caller decides how to handle an
//! [`ImageFault`].

use std::io;
use std::path::Path;

use crate::reference::ImageReference;

/// Where the fault is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFault {
    /// The network or the registry is temporarily down. The same call can succeed later.
    Temporary,
    /// The name, its credentials, a setting or an installed program has to change.
    Settings,
    /// The image itself is unusable: broken, hostile, for other machines or too large.
    Image,
    /// This machine: disk, permissions, kernel.
    Machine,
}

/// Why an image is unavailable.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct ImageError {
    fault: ImageFault,
    text: String,
}

/// Messages about this machine's disk.
const OF_THE_MACHINE: &str = "no space left|quota exceeded|permission denied|read-only file system";
const MISSING: &str = "manifest unknown:|name unknown:|StatusCode: 404|404 (Not Found)";
const DENIED: &str = "unauthorized:|denied:|invalid username/password|StatusCode: 403|401 (Unauthorized)|403 (Forbidden)|\
                      reading JSON file";
const WRONG: &str = "did not match|does not match";
/// What skopeo says of the registry itself, before its reason. A layer or a token may be on another host.
const FIRST_CONTACT: &str = "pinging container registry ";
const UNREACHED: &str = "dial tcp|i/o timeout|handshake timeout|Client.Timeout exceeded";

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

    /// Classifies a failed program's message. The exit codes carry no information.
    pub(crate) fn said(image: &ImageReference, said: &str) -> Self {
        let has = |words: &str| words.split('|').any(|word| said.contains(word));
        let login =
            format!("log in with `skopeo login {}` as the user that runs Journeyman", image.registry());
        let (fault, advice) = if said.starts_with("bwrap:") || has(OF_THE_MACHINE) {
            (ImageFault::Machine, "Check this machine's disk and sandbox".to_owned())
        } else if has("x509:") {
            let advice = "Its certificate is not trusted. If it is your company's, name the file with its authority as";
            (ImageFault::Settings, format!("{advice} network.ca_file"))
        } else if has(MISSING) {
            let advice = "It is not in its registry. Check the name and the tag; if it is private,";
            (ImageFault::Settings, format!("{advice} {login}"))
        } else if has(DENIED) {
            (ImageFault::Settings, format!("The registry does not give it to us: {login}"))
        } else if has(WRONG) || said.starts_with("create rootfs:") {
            (ImageFault::Image, "It is broken or hostile".to_owned())
        } else {
            (ImageFault::Temporary, "It is tried again later".to_owned())
        };
        let is_unreached = fault == ImageFault::Temporary && said.contains(FIRST_CONTACT) && has(UNREACHED);
        let unreached = match is_unreached {
            true => format!("the registry {} cannot be reached: ", image.registry()),
            false => String::new(),
        };
        Self::new(fault, format!("{image}: {unreached}{said}. {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registry_that_cannot_be_reached_is_named_before_the_programs_words() {
        let image: ImageReference = "ghcr.io/acme/app:1".parse().unwrap();
        let ping = r#"pinging container registry ghcr.io: Get "https://ghcr.io/v2/": "#;
        for reason in
            ["dial tcp: lookup ghcr.io: no such host", "proxyconnect tcp: dial tcp 10.0.0.1:1: i/o timeout"]
        {
            let error = ImageError::said(&image, &format!("{ping}{reason}"));
            assert_eq!(error.fault(), ImageFault::Temporary);
            let text = format!(
                "ghcr.io/acme/app:1: the registry ghcr.io cannot be reached: {ping}{reason}. It is tried again later"
            );
            assert_eq!(error.to_string(), text);
        }
        for other in [
            "pinging container registry ghcr.io: received unexpected HTTP status: 503 Service Unavailable",
            r#"reading blob: Get "https://cdn.example/b": dial tcp 10.0.0.1:443: i/o timeout"#,
            r#"pinging container registry ghcr.io: Get "https://ghcr.io/v2/": x509: certificate signed by unknown authority"#,
        ] {
            let said = ImageError::said(&image, other).to_string();
            assert!(said.starts_with(&format!("ghcr.io/acme/app:1: {other}. ")), "{said}");
        }
    }
}
