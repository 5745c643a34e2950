//! Package registries that a server's setups may use, and the credentials that they require.
//!
//! They come from the server's settings or the host's pip, npm and cargo settings, never from a repository.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::words::words;

/// The package managers and protocol of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RegistryKind {
    /// Python's simple index: pip, uv and others.
    Pip,
    /// npm, pnpm, yarn, bun.
    Npm,
    /// A sparse index.
    Cargo,
    /// A module proxy.
    Go,
    /// A repository in Maven's layout.
    Maven,
}

words!(RegistryKind::word { Pip: "pip", Npm: "npm", Cargo: "cargo", Go: "go", Maven: "maven" });

impl RegistryKind {
    pub const ALL: [Self; 5] = [Self::Pip, Self::Npm, Self::Cargo, Self::Go, Self::Maven];
}

impl fmt::Display for RegistryKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A registry's name, used in addresses, variables and package managers' files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegistryName(String);

/// Why a text is not a registry's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a registry's name has 1 to 40 small letters, digits, `-` and `_`, and begins with a letter or digit"
)]
pub struct InvalidRegistryName;

impl RegistryName {
    pub fn parse(text: &str) -> Result<Self, InvalidRegistryName> {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let fits = (1..=40).contains(&text.len())
            && text.bytes().all(|b| is_plain(b) || matches!(b, b'-' | b'_'))
            && text.bytes().next().is_some_and(is_plain);
        if fits { Ok(Self(text.to_owned())) } else { Err(InvalidRegistryName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RegistryName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// A registry's credential. Debug output shows nothing of it.
#[derive(Debug, Clone)]
pub enum RegistryCredential {
    None,
    Password { user: String, password: SecretString },
    Token(SecretString),
}

impl RegistryCredential {
    pub fn secret(&self) -> Option<&SecretString> {
        match self {
            Self::None => None,
            Self::Password { password, .. } => Some(password),
            Self::Token(token) => Some(token),
        }
    }
}

impl PartialEq for RegistryCredential {
    fn eq(&self, other: &Self) -> bool {
        let user = |credential: &Self| match credential {
            Self::Password { user, .. } => Some(user.clone()),
            Self::None | Self::Token(_) => None,
        };
        let secret = |credential: &Self| credential.secret().map(|secret| secret.expose_secret().to_owned());
        user(self) == user(other) && secret(self) == secret(other)
    }
}

impl Eq for RegistryCredential {}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRegistry {
    pub name: RegistryName,
    pub kind: RegistryKind,
    /// The URL as its package manager writes it: `https://host/simple/`, without user and password.
    pub url: Url,
    pub credential: RegistryCredential,
    /// Whether it replaces the public registry, rather than being used beside it.
    pub mirror: bool,
    /// What comes from here: for npm `@scope`, for Go module patterns, for Maven what it mirrors. Empty: everything.
    pub scopes: Vec<String>,
    /// The network that its private addresses must be in, such as `10.0.0.0/8`; `None`: any private one.
    pub within: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registrys_name_is_safe_in_addresses_variables_and_files() {
        for name in ["corp", "host-npm-2", "a_b", "0"] {
            assert_eq!(RegistryName::parse(name).unwrap().as_str(), name);
        }
        for name in ["", "-a", "_a", "A", "a/b", "a.b", "..", "a b", "ä", "a\n", &"x".repeat(41)] {
            assert_eq!(RegistryName::parse(name), Err(InvalidRegistryName), "{name:?}");
        }
    }

    #[test]
    fn a_credential_is_compared_and_never_shown() {
        let password = |user: &str, password: &str| RegistryCredential::Password {
            user: user.to_owned(),
            password: password.to_owned().into(),
        };
        let one = password("ada", "hunter2-hunter2");
        assert_eq!(one, password("ada", "hunter2-hunter2"));
        for other in [
            password("bob", "hunter2-hunter2"),
            password("ada", "another"),
            RegistryCredential::Token("hunter2-hunter2".to_owned().into()),
            RegistryCredential::None,
        ] {
            assert_ne!(one, other);
        }
        assert!(!format!("{one:?}").contains("hunter2"));
    }
}
