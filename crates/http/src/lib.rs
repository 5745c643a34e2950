//! The door: webhook, REST API, health.
//!
//! May know: HTTP, `webhook` to check a signature, `store` to keep and to read, `attest` for the form of what is signed.
//! Must never know: what a delivery means or what an order does next. It says that a delivery has come, that an
//! order is wished for and what it is told, through [`WorkOrders`].

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
    /// The webhook's secret, and the one before it during a rotation.
    pub webhook_secrets: Vec<SecretString>,
    /// What opens the API; without it the API is closed.
    pub api_token: Option<SecretString>,
    pub orders: Arc<dyn WorkOrders>,
    pub signer: Arc<dyn ReceiptAttester>,
    /// Whether the rest of the application can work; asked by `GET /ready` beside the store.
    pub ready: Arc<dyn Fn() -> Readiness + Send + Sync>,
    /// How much and how long a body may be.
    pub limits: BodyLimits,
    /// JSON Schemas of files and receipts, by name.
    pub schemas: Arc<[(&'static str, serde_json::Value)]>,
}

/// How much and how long a webhook's body may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyLimits {
    /// Bytes of one body. GitHub sends at most 25 MiB.
    pub bytes: usize,
    /// Bytes of all bodies that are being read: what a flood can make us hold before a signature is known.
    pub bytes_together: usize,
    /// Time from the end of the headers to the end of the body. GitHub itself gives up after 10 seconds.
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
        /// Of the disk that has the least room; none where that cannot be told.
        disk_free_bytes: Option<u64>,
        /// Why no order can go on, although what GitHub sends is taken; none where they can.
        orders_wait_because: Option<String>,
    },
    NotReady {
        because: String,
    },
}

/// Whoever opens orders; the composition root has one.
#[async_trait]
pub trait WorkOrders: Send + Sync {
    /// A new delivery is in the store. Has to return at once.
    fn delivery_arrived(&self);

    /// Opens an order for an issue, as its label would.
    async fn open(
        &self,
        repository: RepositoryName,
        issue: IssueNumber,
        request: OrderRequest,
    ) -> Result<OpenOrderResult, OrderRequestError>;

    /// Tells an order what somebody says, and wakes it; also one that has ended. The number of the journal's entry that
    /// holds it.
    async fn command(
        &self,
        order: OrderId,
        by: Requester,
        command: SlashCommand,
    ) -> Result<u64, OrderRequestError>;
}

/// Whoever signs receipts; the composition root has one.
#[async_trait]
pub trait ReceiptAttester: Send + Sync {
    /// What they are verified with. Shown to anybody.
    fn public_key(&self) -> PublicKey;

    /// What an order's journal says of its commit, signed.
    async fn attest(&self, journal: &Journal, projection: &OrderProjection)
    -> Result<Envelope, SigningError>;
}
