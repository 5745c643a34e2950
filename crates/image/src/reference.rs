//! What an image is called: registry, repository, tag, digest, by docker's rules for what may be left out.
//!
//! May know: names. Must never know: registries' answers, files.
//!
//! Names come from repositories' settings: whatever is not a name is refused before anything is asked for it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The registry of names that do not say one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// Longer ones are refused by registries too.
const LONGEST_REPOSITORY: usize = 255;
const LONGEST_TAG: usize = 128;

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageDigest(String);

/// The name of an image, complete and valid.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<ImageDigest>,
}

/// A text that names no image. Says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not the name of an image: {reason}")]
pub struct InvalidImageReference {
    text: String,
    reason: String,
}

/// A text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a digest is `sha256:` and 64 hexadecimal digits in small letters, as `docker images --digests` shows it"
)]
pub struct InvalidImageDigest;

impl ImageDigest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self::from_hash(&sha2::Sha256::digest(bytes))
    }

    pub(crate) fn from_hash(hash: &[u8]) -> Self {
        Self(hex::encode(hash))
    }

    /// As the name of a file or folder: `sha256-` and the digits.
    pub(crate) fn file_name(&self) -> String {
        format!("sha256-{}", self.0)
    }

    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        Self::from_hex(name.strip_prefix("sha256-")?)
    }

    fn from_hex(digits: &str) -> Option<Self> {
        let valid =
            digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        valid.then(|| Self(digits.to_owned()))
    }
}

impl fmt::Display for ImageDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sha256:{}", self.0)
    }
}

impl fmt::Debug for ImageDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for ImageDigest {
    type Err = InvalidImageDigest;

    fn from_str(text: &str) -> Result<Self, InvalidImageDigest> {
        text.strip_prefix("sha256:").and_then(Self::from_hex).ok_or(InvalidImageDigest)
    }
}

impl TryFrom<String> for ImageDigest {
    type Error = InvalidImageDigest;

    fn try_from(text: String) -> Result<Self, InvalidImageDigest> {
        text.parse()
    }
}

impl From<ImageDigest> for String {
    fn from(digest: ImageDigest) -> Self {
        digest.to_string()
    }
}

impl ImageReference {
    /// Host, and port where one is given: `docker.io`, `localhost:5000`.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Without registry: `library/python`.
    #[must_use]
    pub fn repository(&self) -> &str {
        &self.repository
    }

    #[must_use]
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    #[must_use]
    pub fn digest(&self) -> Option<&ImageDigest> {
        self.digest.as_ref()
    }

    /// The same image by this digest alone.
    #[must_use]
    pub fn pinned(&self, digest: ImageDigest) -> Self {
        Self { tag: None, digest: Some(digest), ..self.clone() }
    }
}

impl fmt::Display for ImageReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(out, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(out, "@{digest}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ImageReference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for ImageReference {
    type Err = InvalidImageReference;

    fn from_str(text: &str) -> Result<Self, InvalidImageReference> {
        parse(text).map_err(|reason| InvalidImageReference { text: shown(text), reason })
    }
}

impl TryFrom<String> for ImageReference {
    type Error = InvalidImageReference;

    fn try_from(text: String) -> Result<Self, InvalidImageReference> {
        text.parse()
    }
}

impl From<ImageReference> for String {
    fn from(reference: ImageReference) -> Self {
        reference.to_string()
    }
}

fn parse(text: &str) -> Result<ImageReference, String> {
    const EXAMPLES: &str = "Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`";
    if text.is_empty() {
        return Err(format!("it is empty. {EXAMPLES}"));
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        let rest = shown(rest);
        return Err(format!("it has no scheme. Write `{rest}` without `{}://`", shown(scheme)));
    }
    let (name, digest) = match text.split_once('@') {
        None => (text, None),
        Some((_, digest)) if digest.starts_with("sha512:") => {
            return Err("sha512 digests are not supported. Write the sha256 digest".to_owned());
        }
        Some((name, digest)) => {
            let digest: ImageDigest = digest.parse().map_err(|error| format!("after `@`: {error}"))?;
            (name, Some(digest))
        }
    };
    // A colon after the last slash begins a tag; before it, a port.
    let (name, tag) = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        Some(_) | None => (name, None),
    };
    let (registry, rest) = match name.split_once('/') {
        Some((first, rest)) if is_registry(first) => (first, rest),
        Some(_) | None => (DEFAULT_REGISTRY, name),
    };
    let registry = checked_registry(registry)?;
    let repository = if registry == DEFAULT_REGISTRY && !rest.contains('/') {
        format!("library/{rest}")
    } else {
        rest.to_owned()
    };
    if rest.is_empty() {
        return Err(format!("the repository is missing. {EXAMPLES}"));
    }
    if ImageDigest::from_hex(rest).is_some() {
        return Err(format!(
            "it looks like the digest of an image whose name is missing. Write `NAME@sha256:{rest}`"
        ));
    }
    if repository.len() > LONGEST_REPOSITORY {
        return Err(format!("its repository has more than {LONGEST_REPOSITORY} characters"));
    }
    if let Some(part) = repository.split('/').find(|part| !is_part_of_a_repository(part)) {
        let small = part.to_ascii_lowercase();
        let instead = if small != part && is_part_of_a_repository(&small) {
            format!(". Write `{small}`")
        } else {
            format!(
                ": each part between slashes is small letters and digits, joined by `.`, `_`, `__` or `-`. {EXAMPLES}"
            )
        };
        return Err(format!("`{}` is no part of a repository's name{instead}", shown(part)));
    }
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!(
            "`{}` is no tag: a tag is letters, digits, `_`, `.` and `-`, at most {LONGEST_TAG}, and begins with a \
             letter, a digit or `_`",
            shown(tag)
        ));
    }
    let tag = match (tag, &digest) {
        (Some(tag), _) => Some(tag.to_owned()),
        (None, Some(_)) => None,
        (None, None) => Some("latest".to_owned()),
    };
    Ok(ImageReference { registry, repository, tag, digest })
}

/// Whether what stands before the first slash is a registry and not a part of the repository, as docker tells them
/// apart; but that a capital letter makes no registry: written small, as hosts are, the name would mean another image.
fn is_registry(first: &str) -> bool {
    first.eq_ignore_ascii_case("localhost") || first.contains(['.', ':'])
}

fn checked_registry(text: &str) -> Result<String, String> {
    let text = text.to_ascii_lowercase();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        Some(_) | None => (text.as_str(), None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .is_some_and(|host| host.parse::<std::net::Ipv6Addr>().is_ok());
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_name = host.len() <= 253 && host.split('.').all(is_label);
    if !is_address && !is_name {
        return Err(format!(
            "`{}` is no registry. Write a host name, as `ghcr.io` or `localhost:5000`",
            shown(host)
        ));
    }
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    if let Some(port) = port.filter(|port| !is_port(port)) {
        return Err(format!(
            "`{}` is no port. Write a number from 1 to 65535, as `localhost:5000`",
            shown(port)
        ));
    }
    Ok(if text == "index.docker.io" || text == "registry-1.docker.io" {
        DEFAULT_REGISTRY.to_owned()
    } else {
        text
    })
}

fn is_part_of_a_repository(part: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut rest = part.as_bytes();
    loop {
        let letters = rest.iter().take_while(|byte| is_inner(**byte)).count();
        if letters == 0 {
            return false;
        }
        rest = rest.get(letters..).unwrap_or_default();
        rest = match rest {
            [] => return true,
            [b'_', b'_', more @ ..] | [b'.' | b'_', more @ ..] => more,
            [b'-', ..] => {
                let dashes = rest.iter().take_while(|byte| **byte == b'-').count();
                rest.get(dashes..).unwrap_or_default()
            }
            [_, ..] => return false,
        };
    }
}

fn is_tag(tag: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let mut bytes = tag.bytes();
    tag.len() <= LONGEST_TAG
        && bytes.next().is_some_and(is_word)
        && bytes.all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

/// What somebody else wrote, short and in one line.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line: String = text
        .chars()
        .take(LONGEST)
        .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
        .collect();
    if text.chars().count() > LONGEST {
        line.push('…');
    }
    line
}
