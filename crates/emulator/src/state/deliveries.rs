//! Deliveries and their results.

use chrono::{DateTime, Utc};

/// One attempt to deliver an event. A redelivery is another attempt with the same GUID.
#[derive(Debug, Clone)]
pub struct DeliveryAttempt {
    /// The attempt's number, the API's `id`.
    pub id: u64,
    /// `X-GitHub-Delivery`; the same for every attempt.
    pub guid: String,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The payload's `action`, if the event has one.
    pub action: Option<String>,
    /// The body, byte for byte as signed and sent.
    pub payload: String,
    /// When the event happened or the redelivery was requested.
    pub at: DateTime<Utc>,
    /// Whether someone requested this attempt.
    pub redelivery: bool,
    pub outcome: DeliveryResult,
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryResult {
    Queued,
    /// No webhook address was set when it was due.
    NoAddress,
    /// The receiver answered with this status.
    Answered(u16),
    /// No answer: refused, cut or too slow.
    Failed(String),
}
