//! What commits are signed with, as the settings name it.

use secrecy::SecretString;

/// The key of the settings, and whose it is.
#[derive(Debug, Clone)]
pub struct CommitSigning {
    pub format: SignatureFormat,
    /// What is in the key's file.
    pub key: SecretString,
    /// GitHub verifies a signature by the keys of the account with the committer's address.
    pub committer: CommitterIdentity,
}

/// Programs whose signatures git understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureFormat {
    /// `ssh-keygen`
    Ssh,
    /// `gpg`
    Gpg,
}

impl SignatureFormat {
    /// As git's `gpg.format` names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ssh => "ssh",
            Self::Gpg => "gpg",
        }
    }
}

/// Who commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitterIdentity {
    pub name: String,
    pub email: String,
}

impl CommitterIdentity {
    /// Reads `NAME <ADDRESS>`; none where it is no such text.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once(" <")?;
        let email = rest.strip_suffix('>')?;
        let is_plain =
            |text: &str| !text.is_empty() && !text.contains(|c: char| c.is_control() || "<>".contains(c));
        let is_address = email.contains('@') && !email.contains(char::is_whitespace);
        (is_plain(name) && name.trim() == name && is_plain(email) && is_address)
            .then(|| Self { name: name.to_owned(), email: email.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_committer_is_a_name_and_an_address() {
        let read = CommitterIdentity::parse("Sums Bot <bot@example.org>").unwrap();
        assert_eq!((read.name.as_str(), read.email.as_str()), ("Sums Bot", "bot@example.org"));
        for text in [
            "",
            "bot@example.org",
            "<bot@example.org>",
            "A <b>",
            "A <b@c",
            "A <b@c> d",
            "A\n <b@c>",
            "A <b @c>",
            "A < <b@c>",
        ] {
            assert_eq!(CommitterIdentity::parse(text), None, "{text:?}");
        }
    }
}
