//! Somebody else's pull request: what an order verifies and never writes to.

use serde::{Deserialize, Serialize};

use super::ids::{CommitSha, IssueNumber, PullNumber, UserId};

/// The label that has somebody's pull request verified.
pub const VERIFY_LABEL: &str = "journeyman:verify";

/// The name of the pipeline that verifies pull requests.
pub const VERIFY_PIPELINE: &str = "verify";

/// A pull request, as it was when its verification began. Another commit needs another order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenChange {
    pub pull: PullNumber,
    pub url: String,
    /// The commit that is verified.
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
}
