//! What is answered to whoever asks for an order, or tells it something, by the API and not by a webhook.

use super::ids::OrderId;

/// What came of asking for an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenOrderResult {
    Opened(OrderId),
    /// The issue has this active one.
    AlreadyActive(OrderId),
    /// This one has an open pull request for the issue, and was told to go on there.
    GoesOn {
        order: OrderId,
        /// The entry of its journal that tells it.
        signal: u64,
    },
}

/// Why an order could not be opened, or told something. The texts are shown to whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderRequestError {
    /// The App is not installed there, or there is no such issue or order.
    #[error("{0}")]
    NotFound(String),
    /// There is one, but the request makes no sense as it is, such as for a closed issue.
    #[error("{0}")]
    Refused(String),
    /// There is one, but a later order is at work on the issue.
    #[error("{0}")]
    Conflict(String),
    /// GitHub or the store cannot be used now.
    #[error("{0}")]
    Unavailable(String),
}
