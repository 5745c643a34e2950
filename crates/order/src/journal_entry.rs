//! One entry of an order's journal, and the pinned content of the first.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::given_change::GivenChange;
use super::ids::{
    BranchName, CommitSha, DeliveryGuid, HeadBranch, InstallationId, IssueNumber, OrderId, PullNumber,
    RepositoryId, RepositoryName,
};
use super::moves::{EffectOutcome, Move, MoveKey};
use super::order_request::OrderRequest;
use super::pipeline::Pipeline;
use super::role::Role;
use super::settings::OrderLimits;
use super::signal::{Requester, Signal};

/// The journal format that this program writes, from 1; it reads all earlier ones. It rises only if an older program
/// would misinterpret an entry. An entry that an older program cannot read at all needs no new number.
pub const JOURNAL_FORMAT: u32 = 4;

fn first_format() -> u32 {
    1
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Its position, from 1, without gaps.
    pub seq: u64,
    /// When it was written, by the writer's clock.
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    pub event: JournalEvent,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JournalEvent {
    /// The order began. Always the first entry and only there.
    Opened(Box<OrderInput>),
    Signaled {
        signal: Signal,
        /// The delivery that brought it; `None` if it came through the API.
        delivery: Option<DeliveryGuid>,
    },
    Intended {
        /// Its name; the same effect always has the same name.
        key: MoveKey,
        r#move: Box<Move>,
    },
    Observed {
        key: MoveKey,
        outcome: Box<EffectOutcome>,
    },
}

/// The input of an order. The issue's text is pinned here: edits after the label change nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderInput {
    /// The journal's format: [`JOURNAL_FORMAT`] of the program that opened it.
    #[serde(default = "first_format")]
    pub format: u32,
    pub order: OrderId,
    pub repository: RepositoryName,
    pub repository_id: RepositoryId,
    /// The App's installation for the repository; `None` if it must be looked up.
    pub installation: Option<InstallationId>,
    pub default_branch: String,
    pub issue: IssueText,
    pub by: Requester,
    /// Additional options. They count only if the requester has the right to set them.
    #[serde(default, skip_serializing_if = "OrderRequest::is_bare")]
    pub request: OrderRequest,
    /// GitHub's timestamp of the label; `None` without a label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labeled_at: Option<DateTime<Utc>>,
    /// GitHub's timestamp of the requesting comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commented_at: Option<DateTime<Utc>>,
    /// The id of the requesting comment; `None` for a label or the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<u64>,
    /// The pipeline, unless the repository names another.
    pub pipeline: Pipeline,
    /// The agent for roles without one in the pipeline or the repository.
    pub agent: String,
    pub limits: OrderLimits,
    /// The roles by name, unless the repository has its own.
    #[serde(default)]
    pub roles: BTreeMap<String, Role>,
    /// The pull request that is verified or mended; its number is also the issue's. `None` for work on an issue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<GivenChange>,
    /// Pull requests of the issue's earlier orders, latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierPull>,
}

impl OrderInput {
    /// The pull request that is only verified.
    pub fn judged(&self) -> Option<&GivenChange> {
        self.change.as_ref().filter(|change| change.continued.is_none())
    }

    /// The pull request that the work goes on with.
    pub fn continued(&self) -> Option<&GivenChange> {
        self.change.as_ref().filter(|change| change.continued.is_some())
    }

    /// Somebody's branch in the repository that gets the order's commits, in their pull request.
    pub fn adopted_branch(&self) -> Option<&HeadBranch> {
        self.change.as_ref()?.adopted_branch()
    }

    /// Whether the order's program still ranked rounds by their number of findings, and left the check runs of replaced
    /// commits as they were.
    pub(crate) fn is_of_form_3(&self) -> bool {
        self.format <= 3
    }

    /// The head of the merge group that is verified. `None` for an issue, and for a pull request's own commit.
    pub fn merge_group(&self) -> Option<&CommitSha> {
        self.change.as_ref().filter(|change| change.merge_group).map(|change| &change.head)
    }
}

/// The pull request of an earlier order; this order does not continue it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierPull {
    pub pull: PullNumber,
    pub branch: BranchName,
    pub merged: bool,
    /// Still open, and its order's journal cannot be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

/// An issue, as it was when work started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueText {
    pub number: IssueNumber,
    pub title: String,
    pub body: String,
    pub url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl IssueText {
    /// The issue as GitHub's API formats it, on one line, with the current title and body.
    pub fn json(&self, title: &str, body: &str) -> String {
        let labels: Vec<_> = self.labels.iter().map(|name| json!({ "name": name })).collect();
        let Self { number, url, .. } = self;
        json!({ "number": number, "title": title, "body": body, "html_url": url, "labels": labels })
            .to_string()
    }
}
