//! Who made a commit, by the reference that keeps it in our commits repository. Author lines prove nothing: anybody
//! can write ours.

use std::collections::HashSet;

use git2::{Oid, Repository, Signature, Time};

use super::GitError;
use journeyman_order::OrderId;

/// The author of all our commits.
const NAME: &str = "journeyman[bot]";
const EMAIL: &str = "journeyman[bot]@users.noreply.github.com";

/// Kinds of commits that an order keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitOrigin {
    /// Made by us for publishing.
    Bot,
    /// Made by us, with conflict markers. Never published.
    Conflicted,
    /// Fetched from the order's branch: made by a person.
    Human,
}

impl CommitOrigin {
    /// The reference of a commit. It contains name and id, so no commit replaces another.
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

    /// The commits kept under a name; several if their contents differ.
    pub(super) fn named(
        self,
        commits: &Repository,
        order: OrderId,
        name: &str,
    ) -> Result<HashSet<Oid>, GitError> {
        let mut all = HashSet::new();
        for reference in commits.references_glob(&format!("{}/{name}.*", self.folder(order)))? {
            all.extend(reference?.target());
        }
        Ok(all)
    }
}

/// Our author line, at a time in seconds since 1970.
pub(super) fn signature(seconds: i64) -> Result<Signature<'static>, GitError> {
    Signature::new(NAME, EMAIL, &Time::new(seconds, 0)).map_err(GitError::from)
}

/// Whether a commit claims to be ours. Anybody can claim that, so important decisions check more.
pub(super) fn is_by_us(commit: &git2::Commit<'_>) -> bool {
    commit.author().email_bytes() == EMAIL.as_bytes()
}

/// Checks that a name fits into a reference: `[A-Za-z0-9_-]`, not empty.
pub(super) fn plain(name: &str) -> Result<(), GitError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if !name.is_empty() && name.bytes().all(plain) {
        return Ok(());
    }
    Err(GitError::broken(format!("{name:?} is not a name for a commit")))
}
