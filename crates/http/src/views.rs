//! An order as the API shows it.

use serde::Serialize;

use journeyman_order::next::OrderProjection;
use journeyman_order::{
    BranchName, IssueNumber, Journal, OrderBudget, OrderId, OrderWait, PullNumber, RepositoryName,
    SignalAnswer,
};
use journeyman_store::{ArtifactInfo, OrderRow};

#[derive(Debug, Serialize)]
pub(super) struct OrderView {
    id: OrderId,
    repository: RepositoryName,
    issue: IssueNumber,
    state: String,
    active: bool,
    branch: Option<BranchName>,
    pull_request: Option<PullNumber>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request_url: Option<String>,
    /// Whether it cannot continue without a person.
    needs_person: bool,
    /// Why it stopped, or what it needs from a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    /// Commands that a person can give now, in a comment or over the API.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_commands: Option<Vec<String>>,
    opened_at: chrono::DateTime<chrono::Utc>,
    updated_at: chrono::DateTime<chrono::Utc>,
    steps_url: String,
    journal_url: String,
    receipt_url: String,
    attestation_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for: Option<Vec<OrderWait>>,
    /// Its limits and costs so far. Only in the view of one order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) budget: Option<OrderBudget>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifacts: Option<Vec<ArtifactView>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<SignalView>,
}

/// What happened to a command.
#[derive(Debug, Serialize)]
pub(super) struct SignalView {
    /// The journal entry that contains it.
    entry: u64,
    /// `taken`, `noted` until the pull request was read, `ignored`, or `asking` until it is known whether it counts.
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

impl SignalView {
    pub(super) fn new(entry: u64, answer: Option<&SignalAnswer>) -> Self {
        match answer {
            Some(SignalAnswer::Taken) => Self { entry, answer: "taken", because: None },
            Some(SignalAnswer::Asking) | None => Self { entry, answer: "asking", because: None },
            Some(SignalAnswer::Noted) => Self { entry, answer: "noted", because: None },
            Some(SignalAnswer::Ignored(because) | SignalAnswer::NoRight(because)) => {
                Self { entry, answer: "ignored", because: Some(because.clone()) }
            }
        }
    }
}

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
            receipt_url: format!("{url}/receipt"),
            attestation_url: format!("{url}/attestation"),
            id: row.id,
            repository: row.repository,
            issue: row.issue,
            state: row.state,
            active: row.active,
            branch: row.branch,
            pull_request: row.pull,
            pull_request_url: None,
            needs_person: row.needs_person,
            because: None,
            next_commands: None,
            opened_at: row.opened_at,
            updated_at: row.updated_at,
            waits_for: None,
            budget: None,
            artifacts: None,
            signal: None,
        }
    }

    /// Adds what its journal says: what it waits for, why, and what a person can do.
    pub(super) fn with_projection(mut self, journal: &Journal, projection: &OrderProjection) -> Self {
        let waits = OrderWait::of(journal, projection);
        let asked = waits.iter().find_map(|wait| match wait {
            OrderWait::Person { to } => Some(format!("it waits for a person, to {to}")),
            OrderWait::Effect { .. } | OrderWait::Attempt { .. } => None,
        });
        self.because = projection.surfaces().because.or(asked);
        self.next_commands =
            Some(projection.next_commands().into_iter().map(|command| format!("/{command}")).collect());
        self.pull_request_url = projection.trace.pull.as_ref().map(|pull| pull.url.clone());
        self.waits_for = Some(waits);
        self
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
