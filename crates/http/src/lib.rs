//! The HTTP server: webhook, REST API, health.
//!
//! May know: HTTP, `webhook` for signatures, `store` for reading and writing, `attest` for the form of signed receipts.
//! Must never know: what a delivery means, or what an order does next. It reports deliveries, requested orders and
//! commands through [`WorkOrders`].

mod api;
mod auth;
mod body;
mod commands;
mod deliveries;
mod metrics;
mod pages;
mod problem;
mod server;
#[cfg(test)]
mod tests;
mod views;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;

use journeyman_attest::{Envelope, PublicKey, SigningError};
use journeyman_order::OrderRequest;
use journeyman_order::next::OrderProjection;
use journeyman_order::order_api::{OpenOrderResult, OrderRequestError};
use journeyman_order::{IssueNumber, Journal, OrderId, RepositoryName, Requester, SlashCommand};
use journeyman_store::Store;

pub use auth::is_same_secret;
pub use pages::nothing_there;
pub use server::start;

#[derive(Clone)]
pub struct HttpState {
    pub store: Store,
    /// The webhook's secret, and the previous one during a rotation.
    pub webhook_secrets: Vec<SecretString>,
    /// The API's token. Without it, the API is closed.
    pub api_token: Option<SecretString>,
    pub orders: Arc<dyn WorkOrders>,
    pub signer: Arc<dyn ReceiptAttester>,
    /// Whether the rest of the application works. `GET /ready` checks it together with the store.
    pub ready: Arc<dyn Fn() -> Readiness + Send + Sync>,
    /// Limits for request bodies.
    pub limits: BodyLimits,
    /// JSON Schemas of files and receipts, by name.
    pub schemas: Arc<[(&'static str, serde_json::Value)]>,
}

/// Limits for the size and duration of a webhook's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Bytes of one body. GitHub sends at most 25 MiB.
    pub bytes: usize,
    /// Bytes of all bodies in progress. It bounds what a flood can make the server hold before signatures are checked.
    pub bytes_together: usize,
    /// Time from the end of the headers to the end of the body. GitHub's own timeout is 10 seconds.
    pub deadline: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self { bytes: 25 * 1024 * 1024, bytes_together: 256 * 1024 * 1024, deadline: Duration::from_secs(10) }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready {
        /// Free bytes on the fullest disk. `None` if unknown.
        disk_free_bytes: Option<u64>,
        /// Why no order can continue although deliveries are accepted. `None` if orders can.
        orders_wait_because: Option<String>,
    },
    NotReady {
        because: String,
    },
}

/// Opens orders and passes commands to them. The composition root implements it.
#[async_trait]
pub trait WorkOrders: Send + Sync {
    /// A new delivery is in the store. Must return at once.
    fn delivery_arrived(&self);

    /// Opens an order for an issue, like its label would.
    async fn open(
        &self,
        repository: RepositoryName,
        issue: IssueNumber,
        request: OrderRequest,
    ) -> Result<OpenOrderResult, OrderRequestError>;

    /// Passes a command to an order and wakes it, even after its end. Returns the number of its journal entry.
    async fn command(
        &self,
        order: OrderId,
        by: Requester,
        command: SlashCommand,
    ) -> Result<u64, OrderRequestError>;
}

/// Signs receipts. The composition root implements it.
#[async_trait]
pub trait ReceiptAttester: Send + Sync {
    /// The key for verification. It is public.
    fn public_key(&self) -> PublicKey;

    /// The signed receipt for an order's commit, from its journal.
    async fn attest(&self, journal: &Journal, projection: &OrderProjection)
    -> Result<Envelope, SigningError>;
}
