//! What was to be delivered, and what became of it.

use chrono::{DateTime, Utc};

/// One attempt to deliver an event. A redelivery is another attempt with the same GUID.
#[derive(Debug, Clone)]
pub struct DeliveryAttempt {
    /// The attempt's number, the `id` of the API.
    pub id: u64,
    /// `X-GitHub-Delivery`; the same for every attempt.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The payload's `action`, where the event has one.
    pub action: Option<String>,
    /// The body, byte for byte as it is signed and sent.
    pub payload: String,
    /// When the event happened, or the redelivery was asked for.
    pub at: DateTime<Utc>,
    /// Whether somebody asked for this attempt.
    pub redelivery: bool,
    /// What became of it.
    pub outcome: DeliveryResult,
}

/// What became of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryResult {
    Queued,
    /// No webhook address was set when its turn came.
    NoAddress,
    /// The receiver answered with this status.
    Answered(u16),
    /// No answer: refused, cut or too slow.
    Failed(String),
}
