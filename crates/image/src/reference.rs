//! Names of images: registry, repository, tag and digest, with docker's defaults for missing parts.
//!
//! May know: names. Must never know: registries' answers, files.
//!
//! Names come from repositories' settings, so an invalid name is refused before any request is made.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;

/// The registry of names without one.
const DEFAULT_REGISTRY: &str = "docker.io";
/// Registries refuse longer names.
const LONGEST_REPOSITORY: usize = 255;

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ImageDigest(String);

/// The name of an image, complete and valid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImageReference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<ImageDigest>,
}

/// A text that is not an image's name. The message shows valid forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the name of an image. Write `python:3.12-slim`, `ghcr.io/owner/name:tag` or `NAME@sha256:…`"
)]
pub struct InvalidImageReference(String);

impl ImageDigest {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        use sha2::Digest as _;
        Self(hex::encode(sha2::Sha256::digest(bytes)))
    }

    /// As a file or folder name: `sha256-` and the digits.
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

impl ImageReference {
    /// Host and optional port: `docker.io`, `localhost:5000`.
    #[must_use]
    pub fn registry(&self) -> &str {
        &self.registry
    }

    #[must_use]
    pub fn digest(&self) -> Option<&ImageDigest> {
        self.digest.as_ref()
    }

    /// The same image by this digest, without its tag.
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
        parse(text).ok_or_else(|| InvalidImageReference(shown(text, 120)))
    }
}

/// Host and port, repository, tag, digest. A host contains a dot or a colon, except `localhost`. Capital letters alone
/// do not make a host: hosts are lowercased, and the name would then mean another image.
static NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let label = "[a-z0-9-]+";
    let address = r"\[[0-9a-f:]+\]";
    let port = ":[0-9]{1,5}";
    let host = format!(r"localhost|(?:{label}(?:\.{label})+|{address})(?:{port})?|{label}{port}");
    let part = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*";
    let rest = r"(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?";
    Regex::new(&format!("^(?:((?i-u:{host}))/)?({part}(?:/{part})*){rest}$")).ok()
});

fn parse(text: &str) -> Option<ImageReference> {
    let found = NAME.as_ref()?.captures(text)?;
    let part = |number: usize| found.get(number).map(|part| part.as_str());
    let registry = part(1).unwrap_or(DEFAULT_REGISTRY).to_ascii_lowercase();
    let is_default =
        [DEFAULT_REGISTRY, "index.docker.io", "registry-1.docker.io"].contains(&registry.as_str());
    let registry = if is_default { DEFAULT_REGISTRY.to_owned() } else { registry };
    let rest = part(2)?;
    let is_official = is_default && !rest.contains('/');
    let repository = if is_official { format!("library/{rest}") } else { rest.to_owned() };
    let digest = part(4).and_then(|digest| ImageDigest::parse(digest, "sha256:"));
    let tag = part(3).or(digest.is_none().then_some("latest")).map(str::to_owned);
    // docker would treat it as a host, although it is not a valid one.
    if part(1).is_none() && rest.split_once('/').is_some_and(|(first, _)| first.contains('.')) {
        return None;
    }
    // 64 digits alone are a digest without a name.
    let is_name = repository.len() <= LONGEST_REPOSITORY && ImageDigest::parse(rest, "").is_none();
    is_name.then_some(ImageReference { registry, repository, tag, digest })
}

/// Untrusted text, shortened to one line.
pub(crate) fn shown(text: &str, longest: usize) -> String {
    let letters = text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter });
    let line: String = letters.take(longest).collect();
    if text.chars().nth(longest).is_some() { line + "…" } else { line }
}
