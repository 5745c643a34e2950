//! What an image is called: registry, repository, tag, digest, by docker's rules for what may be left out.
//!
//! May know: names. Must never know: registries' answers, files.
//!
//! Names come from repositories' settings: whatever is not a name is refused before anything is asked for it.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

/// The registry of names that do not say one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// Registries refuse longer ones.
const LONGEST_REPOSITORY: usize = 255;
const LONGEST_TAG: usize = 128;
const EXAMPLES: &str = "Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`";

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct ImageDigest(String);

/// The name of an image, complete and valid.
#[derive(Clone, PartialEq, Eq, Debug)]
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

impl ImageDigest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(hex::encode(sha2::Sha256::digest(bytes)))
    }

    /// As the name of a file or folder: `sha256-` and the digits.
    pub(crate) fn file_name(&self) -> String {
        format!("sha256-{}", self.0)
    }

    pub(crate) fn parse(text: &str, prefix: &str) -> Option<Self> {
        let digits = text.strip_prefix(prefix)?;
        let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (digits.len() == 64 && is_hex).then(|| Self(digits.to_owned()))
    }
}

impl fmt::Display for ImageDigest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "sha256:{}", self.0)
    }
}

impl TryFrom<String> for ImageDigest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text, "sha256:").ok_or_else(|| format!("`{}` is no sha256 digest", shown(&text, 120)))
    }
}

impl ImageReference {
    /// Host, and port where one is given: `docker.io`, `localhost:5000`.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
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

impl FromStr for ImageReference {
    type Err = InvalidImageReference;

    fn from_str(text: &str) -> Result<Self, InvalidImageReference> {
        parse(text).map_err(|reason| InvalidImageReference { text: shown(text, 120), reason })
    }
}

fn parse(text: &str) -> Result<ImageReference, String> {
    let (name, digest) = match text.split_once('@') {
        None => (text, None),
        Some((name, digest)) => (name, Some(ImageDigest::try_from(digest.to_owned())?)),
    };
    // A colon after the last slash begins a tag; before it, a port.
    let (name, tag) = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        Some(_) | None => (name, None),
    };
    let (registry, rest) = match name.split_once('/') {
        Some((first, rest)) if is_registry(first) => (first.to_ascii_lowercase(), rest),
        Some(_) | None => (DEFAULT_REGISTRY.to_owned(), name),
    };
    let is_default =
        [DEFAULT_REGISTRY, "index.docker.io", "registry-1.docker.io"].contains(&registry.as_str());
    let registry = if is_default { DEFAULT_REGISTRY.to_owned() } else { checked_registry(registry)? };
    let is_official = is_default && !rest.contains('/');
    let repository = if is_official { format!("library/{rest}") } else { rest.to_owned() };
    // 64 digits alone are a digest whose name is missing.
    let is_digest = ImageDigest::parse(rest, "").is_some();
    if is_digest
        || repository.len() > LONGEST_REPOSITORY
        || !repository.split('/').all(is_part_of_a_repository)
    {
        let rest = shown(rest, 120);
        return Err(format!("`{rest}` is no repository: write small letters and digits. {EXAMPLES}"));
    }
    if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
        return Err(format!("`{}` is no tag. {EXAMPLES}", shown(tag, 120)));
    }
    let latest = digest.is_none().then_some("latest");
    Ok(ImageReference { registry, repository, tag: tag.or(latest).map(str::to_owned), digest })
}

/// Whether what stands before the first slash is a registry and not a part of the repository, as docker tells them
/// apart; but that a capital letter makes no registry: written small, as hosts are, the name would mean another image.
fn is_registry(first: &str) -> bool {
    first.eq_ignore_ascii_case("localhost") || first.contains(['.', ':'])
}

fn checked_registry(text: String) -> Result<String, String> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let is_address = url::Url::parse(&format!("https://{text}/")).is_ok_and(|url| {
        let (host, port) =
            (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
        text == host || text == format!("{host}:{port}")
    });
    match is_address && text.bytes().all(is_usual) && !text.contains("..") {
        true => Ok(text),
        false => Err(format!("`{}` is no registry. {EXAMPLES}", shown(&text, 120))),
    }
}

/// Small letters and digits, joined by `.`, `_`, `__` or any number of `-`.
fn is_part_of_a_repository(part: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_joint =
        |joint: &str| matches!(joint, "" | "." | "_" | "__") || joint.bytes().all(|byte| byte == b'-');
    part.starts_with(is_letter) && part.ends_with(is_letter) && part.split(is_letter).all(is_joint)
}

fn is_tag(tag: &str) -> bool {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    tag.len() <= LONGEST_TAG
        && tag.starts_with(is_word)
        && tag.chars().all(|letter| is_word(letter) || matches!(letter, '.' | '-'))
}

/// What somebody else wrote, short and in one line.
pub(crate) fn shown(text: &str, longest: usize) -> String {
    let letters = text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
    let line: String = letters.take(longest).collect();
    if text.chars().nth(longest).is_some() { line + "…" } else { line }
}
