//! Somebody else's pull request: an order verifies it and never writes to it, or goes on with it.

use serde::{Deserialize, Serialize};

use super::feedback::Feedback;
use super::ids::{CommitSha, HeadBranch, IssueNumber, PullNumber, UserId};

/// The label that has somebody's pull request verified.
pub const VERIFY_LABEL: &str = "journeyman:verify";

/// The name of the pipeline that verifies pull requests.
pub const VERIFY_PIPELINE: &str = "verify";

/// A pull request, as it was when its verification or the work on it began. Another commit needs another order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GivenChange {
    pub pull: PullNumber,
    pub url: String,
    /// The commit that is verified, or that the work starts from.
    pub head: CommitSha,
    /// The branch that it is to be merged into.
    pub base: String,
    /// The login of who opened it.
    pub author: String,
    /// Whose share of the day's limits it counts against. `None`: theirs who asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author_id: Option<UserId>,
    /// The repository that its head is in, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
    /// The issue that it closes, whose text is the task. `None`: the task is its own title and text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<IssueNumber>,
    /// Whether the head is a merge group of GitHub's queue: the base with this pull request and those queued before it,
    /// of which some may be from forks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merge_group: bool,
    /// Somebody asked to have it mended. `None`: it is only verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continued: Option<PullContinuation>,
}

/// How an order goes on with somebody's pull request: with commits on top of its head.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullContinuation {
    /// Its branch, which gets the commits. `None` for a fork: a branch of ours and a pull request of our own get them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<HeadBranch>,
    /// What the latest verification found wrong with its head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<Feedback>,
}

impl GivenChange {
    /// Its own branch, if the work goes on there.
    pub fn adopted_branch(&self) -> Option<&HeadBranch> {
        self.continued.as_ref()?.branch.as_ref()
    }

    /// Whether somebody without write access may have written some of it.
    pub fn may_be_of_a_fork(&self) -> bool {
        self.fork.is_some() || self.merge_group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_group_may_contain_what_is_from_a_fork() {
        let mut change = GivenChange {
            pull: PullNumber(8),
            url: "u".to_owned(),
            head: "6113728f27ae82c7b1a177c8d03f9e96e0adf246".parse().unwrap(),
            base: "main".to_owned(),
            author: "carl".to_owned(),
            author_id: None,
            fork: None,
            closes: None,
            merge_group: false,
            continued: None,
        };
        let before = serde_json::to_value(&change).unwrap();
        assert!(!change.may_be_of_a_fork() && before.get("merge_group").is_none());
        change.merge_group = true;
        assert!(change.may_be_of_a_fork());
        assert!(!serde_json::from_value::<GivenChange>(before).unwrap().merge_group, "of an older journal");
    }
}
