//! Answers to requests for an order, or to one, through the API rather than a webhook.

use super::ids::OrderId;

/// The result of requesting an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenOrderResult {
    Opened(OrderId),
    /// The issue already has this active order.
    AlreadyActive(OrderId),
    /// This order has an open pull request for the issue, and continues there.
    GoesOn {
        order: OrderId,
        /// The entry of its journal with the request.
        signal: u64,
    },
}

/// Why a request for an order, or to one, failed. The requester sees these texts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderRequestError {
    /// The App is not installed there, or there is no such issue or order.
    #[error("{0}")]
    NotFound(String),
    /// It exists, but the request is invalid in its state, such as for a closed issue.
    #[error("{0}")]
    Refused(String),
    /// It exists, but a later order is at work on the issue.
    #[error("{0}")]
    Conflict(String),
    /// GitHub or the store is unavailable.
    #[error("{0}")]
    Unavailable(String),
}
