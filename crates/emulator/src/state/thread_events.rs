//! What GitHub remembers of what was done to an issue or a pull request.

use chrono::{DateTime, Utc};

/// One thing that somebody did.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedIssueEvent {
    pub id: u64,
    pub event: String,
    pub actor: u64,
    pub at: DateTime<Utc>,
    pub label: Option<String>,
}
