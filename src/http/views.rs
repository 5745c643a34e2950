//! What the API shows of an order.

use serde::Serialize;

use crate::order::{BranchName, IssueNumber, OrderId, PullNumber, RepositoryName};
use crate::store::{ArtifactInfo, OrderRow};

/// A work order.
#[derive(Debug, Serialize)]
pub(super) struct OrderView {
    id: OrderId,
    repository: RepositoryName,
    issue: IssueNumber,
    state: String,
    active: bool,
    branch: Option<BranchName>,
    pull_request: Option<PullNumber>,
    opened_at: chrono::DateTime<chrono::Utc>,
    updated_at: chrono::DateTime<chrono::Utc>,
    /// Where the rest is.
    steps_url: String,
    journal_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<Vec<ArtifactView>>,
}

/// An artifact of an order.
#[derive(Debug, Serialize)]
pub(super) struct ArtifactView {
    url: String,
    name: String,
    media_type: String,
    size: u64,
    sha256: String,
}

pub(super) fn order_url(order: OrderId) -> String {
    format!("/api/v1/work-orders/{order}")
}

impl OrderView {
    pub(super) fn new(row: OrderRow) -> Self {
        let url = order_url(row.id);
        Self {
            steps_url: format!("{url}/steps"),
            journal_url: format!("{url}/journal"),
            id: row.id,
            repository: row.repository,
            issue: row.issue,
            state: row.state,
            active: row.active,
            branch: row.branch,
            pull_request: row.pull,
            opened_at: row.opened_at,
            updated_at: row.updated_at,
            artifacts: None,
        }
    }

    pub(super) fn with_artifacts(mut self, artifacts: Vec<ArtifactInfo>) -> Self {
        let url = order_url(self.id);
        let view = |info: ArtifactInfo| ArtifactView {
            url: format!("{url}/artifacts/{}", info.name),
            name: info.name,
            media_type: info.media_type,
            size: info.size,
            sha256: info.sha256,
        };
        self.artifacts = Some(artifacts.into_iter().map(view).collect());
        self
    }
}
