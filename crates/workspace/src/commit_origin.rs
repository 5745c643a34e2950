//! Whose a commit is, by the reference under which it is kept in the repository of our commits. Author lines say
//! nothing: anybody can write ours.

use std::collections::HashSet;

use git2::{Oid, Repository, Signature, Time};

use super::GitError;
use journeyman_order::OrderId;

/// Who all our commits are by.
const NAME: &str = "journeyman[bot]";
const EMAIL: &str = "journeyman[bot]@users.noreply.github.com";

/// Kinds of commits that are kept for an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitOrigin {
    /// Made by us, to be published.
    Bot,
    /// Made by us, with conflicts between markers. Never to be published.
    Conflicted,
    /// Fetched from the order's branch: a person's.
    Human,
}

impl CommitOrigin {
    /// Where one is kept: by its name and itself, so that none takes another's place.
    pub(super) fn reference(self, order: OrderId, name: &str, commit: Oid) -> String {
        format!("{}/{name}.{commit}", self.folder(order))
    }

    fn folder(self, order: OrderId) -> String {
        let kind = match self {
            Self::Bot => "journeyman",
            Self::Conflicted => "marked",
            Self::Human => "taken",
        };
        format!("refs/{kind}/{order}")
    }

    pub(super) fn all(self, commits: &Repository, order: OrderId) -> Result<HashSet<Oid>, GitError> {
        self.named(commits, order, "*")
    }

    /// Those that are kept under a name; there are several where their contents differ.
    pub(super) fn named(
        self,
        commits: &Repository,
        order: OrderId,
        name: &str,
    ) -> Result<HashSet<Oid>, GitError> {
        let said = |error: git2::Error| GitError::local("look for an order's commits", &error);
        let mut all = HashSet::new();
        for reference in commits.references_glob(&format!("{}/{name}.*", self.folder(order))).map_err(said)? {
            all.extend(reference.map_err(said)?.target());
        }
        Ok(all)
    }
}

/// Our author line, at a moment in seconds since 1970.
pub(super) fn signature(seconds: i64) -> Result<Signature<'static>, GitError> {
    Signature::new(NAME, EMAIL, &Time::new(seconds, 0))
        .map_err(|error| GitError::local("sign a commit", &error))
}

/// Whether a commit says that it is by us. Anybody can say so: where it matters, that is not all that is looked at.
pub(super) fn is_by_us(commit: &git2::Commit<'_>) -> bool {
    commit.author().email_bytes() == EMAIL.as_bytes()
}

/// Whether a name can stand in a reference's: of `[A-Za-z0-9_-]`, and something.
pub(super) fn plain(name: &str) -> Result<(), GitError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(plain) {
        return Ok(());
    }
    Err(GitError::broken(format!("{name:?} is not a name for a commit")))
}
