//! Identities. Each has its own type, so that an issue's number cannot be passed as a pull request's.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// Why a text is not a valid identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} expected, found {found:?}")]
pub struct InvalidId {
    what: &'static str,
    found: String,
}

impl InvalidId {
    fn new(what: &'static str, found: &str) -> Self {
        Self { what, found: found.chars().take(80).collect() }
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(
                Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
            )]
            #[serde(transparent)]
            pub struct $name(pub u64);

            impl fmt::Display for $name {
                fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(out)
                }
            }
        )*
    };
}

numbers! {
    /// An issue's number in its repository, the `7` of `#7`.
    IssueNumber;
    /// A pull request's number in its repository.
    PullNumber;
    /// GitHub's numeric id of a repository; survives a rename.
    RepositoryId;
    /// GitHub's numeric id of an account; survives a renamed login.
    UserId;
    /// The installation of the App that may act on a repository.
    InstallationId;
}

macro_rules! text {
    ($name:ident, $what:literal, $fits:expr) => {
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let fits: fn(&str) -> bool = $fits;
                if fits(text) { Ok(Self(text.to_owned())) } else { Err(InvalidId::new($what, text)) }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// The identity of an order: a UUID of version 7, so that orders sort by when they were opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct OrderId(pub Uuid);

impl fmt::Display for OrderId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for OrderId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Uuid::parse_str(text).map(Self).map_err(|_| InvalidId::new("an order's id (a UUID)", text))
    }
}

/// `X-GitHub-Delivery`: a redelivery has the same value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct DeliveryGuid(String);
text!(DeliveryGuid, "a delivery's GUID", |text| {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic())
});

/// `owner/name` with GitHub's allowed characters; safe as two path components.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct RepositoryName(String);
text!(RepositoryName, "a repository as owner/name", |text| {
    let part_fits = |part: &str| {
        (1..=100).contains(&part.len())
            && part != "."
            && part != ".."
            && !part.ends_with(".git")
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    text.split_once('/').is_some_and(|(owner, name)| part_fits(owner) && part_fits(name))
});

impl RepositoryName {
    pub fn owner(&self) -> &str {
        self.0.split_once('/').map_or("", |(owner, _)| owner)
    }

    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or("", |(_, name)| name)
    }
}

fn is_sha(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The SHA-1 of a commit, 40 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CommitSha(String);
text!(CommitSha, "a commit's SHA", is_sha);

impl CommitSha {
    pub fn short(&self) -> &str {
        &self.0[..10]
    }
}

/// The SHA-1 of a tree: two commits with the same tree hold the same files.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct TreeSha(String);
text!(TreeSha, "a tree's SHA", is_sha);

/// A branch of ours: `journeyman/issue-N-slug`, of `[a-z0-9-]` only. There is no other way to make one,
/// so that nothing can be pushed outside our namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct BranchName(String);
text!(BranchName, "a branch journeyman/issue-N-slug", |text| {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let rest = text.strip_prefix(BranchName::PREFIX).filter(|_| text.len() <= 120);
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_plain))
});

impl BranchName {
    const PREFIX: &'static str = "journeyman/issue-";
    const SLUG_LENGTH: usize = 50;

    /// The branch for an issue. Only letters and digits of `wish` (an agent's proposal or a title) are kept; an empty
    /// slug becomes `work`. `again` > 1 is appended if the plain name is taken.
    pub fn for_issue(issue: IssueNumber, wish: &str, again: u32) -> Self {
        let mut slug = String::new();
        for character in wish.chars().take(1_000) {
            let lower = character.to_ascii_lowercase();
            if lower.is_ascii_lowercase() || lower.is_ascii_digit() {
                slug.push(lower);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
            if slug.len() >= Self::SLUG_LENGTH {
                break;
            }
        }
        // Agents often answer with the whole name; the prefix that we add is not repeated.
        let own = format!("journeyman-issue-{issue}-");
        let slug = slug
            .strip_prefix(&own)
            .or_else(|| slug.strip_prefix(&own["journeyman-".len()..]))
            .unwrap_or(&slug);
        let slug = slug.trim_matches('-');
        let slug = if slug.is_empty() { "work" } else { slug };
        let suffix = if again > 1 { format!("-{again}") } else { String::new() };
        Self(format!("{}{issue}-{slug}{suffix}", Self::PREFIX))
    }

    /// The full reference, `refs/heads/…`.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

/// A branch to push to on the server: one of ours, or that of somebody's pull request that an order goes on with. No
/// other branch outside our namespace is ever pushed to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct HeadBranch(String);
text!(HeadBranch, "a branch's name", |text| {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && !"~^:?*[\\".contains(c);
    (1..=200).contains(&text.len()) && !text.starts_with('-') && text.chars().all(is_plain)
});

impl HeadBranch {
    /// The full reference, `refs/heads/…`.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl From<&BranchName> for HeadBranch {
    fn from(own: &BranchName) -> Self {
        Self(own.0.clone())
    }
}

/// A person on GitHub. Rights are requested by login and compared by id, because logins can be renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// The login at the time.
    pub login: String,
    /// The account's numeric id.
    pub id: UserId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_is_made_safe_whatever_was_wished() {
        let issue = IssueNumber(7);
        for (wish, branch) in [
            ("fix-the-sum", "journeyman/issue-7-fix-the-sum"),
            ("journeyman/issue-7-fix-the-sum", "journeyman/issue-7-fix-the-sum"),
            ("issue-7-fix", "journeyman/issue-7-fix"),
            ("$(rm -rf /)", "journeyman/issue-7-rm-rf"),
            ("\u{3000}🎉🎉", "journeyman/issue-7-work"),
            ("../../etc/passwd", "journeyman/issue-7-etc-passwd"),
            ("", "journeyman/issue-7-work"),
        ] {
            let made = BranchName::for_issue(issue, wish, 1);
            assert_eq!(made.as_str(), branch, "{wish:?}");
            assert_eq!(made.as_str().parse::<BranchName>().as_ref(), Ok(&made));
        }
        assert_eq!(BranchName::for_issue(issue, "x", 2).as_str(), "journeyman/issue-7-x-2");
        assert!(BranchName::for_issue(issue, &"long ".repeat(200), 1).as_str().len() < 100);
    }

    #[test]
    fn names_that_are_paths_are_refused() {
        for bad in ["", "a", "/", "a/", "../b", "a/..", "a/b/c", "a/b c", "a/\u{fc}", "a/b.git"] {
            assert!(bad.parse::<RepositoryName>().is_err(), "{bad:?}");
        }
        assert!("octo-org/Hello.World".parse::<RepositoryName>().is_ok());
        for bad in ["main", "journeyman/issue-", "journeyman/issue-7-A", "refs/heads/journeyman/issue-7-a"] {
            assert!(bad.parse::<BranchName>().is_err(), "{bad:?}");
        }
        for bad in ["", "-f", "a b", "a:b", "+a:refs/heads/main", "a~1", "a\n", "a\\b"] {
            assert!(bad.parse::<HeadBranch>().is_err(), "{bad:?}");
        }
        assert!("carl/sch\u{f6}n#7".parse::<HeadBranch>().is_ok());
    }
}
