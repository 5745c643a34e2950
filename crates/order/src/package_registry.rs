//! Registries of packages that a server's setups may use, and what these want to see of whoever asks.
//!
//! They come from the server's settings, or from what the host's own pip, npm and cargo use. A repository never names one.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use url::Url;

/// Which package managers speak to a registry, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RegistryKind {
    /// The simple index of Python's: pip, uv and others.
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

impl RegistryKind {
    /// All there are.
    pub const ALL: [Self; 5] = [Self::Pip, Self::Npm, Self::Cargo, Self::Go, Self::Maven];

    pub fn word(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Npm => "npm",
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Maven => "maven",
        }
    }
}

impl fmt::Display for RegistryKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A registry's name: it stands in addresses, variables and files of package managers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegistryName(String);

/// Why a text names no registry.
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

/// What a registry wants to see of whoever asks. Printing it shows nothing of it.
#[derive(Debug, Clone)]
pub enum RegistryCredential {
    /// Nothing.
    None,
    /// A name and a password.
    Password { user: String, password: SecretString },
    /// A token.
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

/// A registry of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageRegistry {
    pub name: RegistryName,
    pub kind: RegistryKind,
    /// Where it is, as its package manager has it: `https://host/simple/`, without user and password.
    pub url: Url,
    pub credential: RegistryCredential,
    /// Whether it stands in for the public registry; else it is asked beside it.
    pub mirror: bool,
    /// What comes from here: for npm `@scope`, for Go patterns of modules, for Maven what it mirrors. None: all.
    pub scopes: Vec<String>,
    /// The network that its private addresses have to lie in, such as `10.0.0.0/8`; none: any private one.
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
