//! One line of an order's record, and what is pinned in the first.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ids::{
    BranchName, DeliveryGuid, InstallationId, IssueNumber, OrderId, PullNumber, RepositoryId, RepositoryName,
};
use super::moves::{EffectOutcome, Move, MoveKey};
use super::order_request::OrderRequest;
use super::pipeline::Pipeline;
use super::role::Role;
use super::settings::OrderLimits;
use super::signal::{Requester, Signal};

/// The form of journals that this program writes, from 1; it reads all before it. It rises when an older program would
/// take what is written for something else than it is. What an older program cannot read at all needs no other number.
pub const JOURNAL_FORMAT: u32 = 4;

fn first_format() -> u32 {
    1
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Its place, from 1, without gaps.
    pub seq: u64,
    /// When it was written, by the clock of whoever wrote it.
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
        /// The delivery that brought it; none when it came through the API.
        delivery: Option<DeliveryGuid>,
    },
    Intended {
        /// Its name; the same effect has the same name for ever.
        key: MoveKey,
        r#move: Box<Move>,
    },
    Observed {
        key: MoveKey,
        outcome: Box<EffectOutcome>,
    },
}

/// What an order starts from. The issue's text is pinned here: edits after the label change nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderInput {
    /// The form of its journal: [`JOURNAL_FORMAT`] of the program that opened it.
    #[serde(default = "first_format")]
    pub format: u32,
    pub order: OrderId,
    pub repository: RepositoryName,
    pub repository_id: RepositoryId,
    /// The installation that may act there; none where it has to be asked for.
    pub installation: Option<InstallationId>,
    pub default_branch: String,
    pub issue: IssueText,
    pub by: Requester,
    /// What they asked for besides. It counts only if they may.
    #[serde(default, skip_serializing_if = "OrderRequest::is_bare")]
    pub request: OrderRequest,
    /// When the label was put on, by GitHub's clock; none where it was not the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labeled_at: Option<DateTime<Utc>>,
    /// When the comment was written with which they asked, by GitHub's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commented_at: Option<DateTime<Utc>>,
    /// The comment with which they asked; none where it was the label, or the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<u64>,
    /// The pipeline unless the repository names another.
    pub pipeline: Pipeline,
    /// The agent that does what no role of the pipeline or the repository is given to.
    pub agent: String,
    pub limits: OrderLimits,
    /// The roles, by name, unless the repository has its own.
    #[serde(default)]
    pub roles: BTreeMap<String, Role>,
    /// The pull requests that earlier orders of the issue had, the latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierPull>,
}

impl OrderInput {
    /// Whether the order was opened by a program that ranked rounds by the number of their findings, posted no results of a
    /// pipeline without a pull request, and kept no work of a stage that asks nobody.
    pub(crate) fn is_of_form_3(&self) -> bool {
        self.format <= 3
    }
}

/// The pull request of an earlier order, which is not gone on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierPull {
    pub pull: PullNumber,
    pub branch: BranchName,
    pub merged: bool,
    /// Still open, of an order whose journal cannot be read.
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
    /// The issue as GitHub's API writes it, on one line, with the title and the body that hold now.
    pub fn json(&self, title: &str, body: &str) -> String {
        let labels: Vec<_> = self.labels.iter().map(|name| json!({ "name": name })).collect();
        let Self { number, url, .. } = self;
        json!({ "number": number, "title": title, "body": body, "html_url": url, "labels": labels })
            .to_string()
    }
}
