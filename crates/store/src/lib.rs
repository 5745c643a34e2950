//! Data that must survive a crash: deliveries, orders, their journals and artifacts, and the cost of agent runs.
//!
//! May know: `order` and SQL. SQLite by default (WAL, `synchronous = FULL`), PostgreSQL behind the same queries.
//! Must never know: HTTP, GitHub's wire formats, what an order does next.
//!
//! After `Ok`, a function's data is on disk. The `orders` table is an index derived from the journals; the journals are
//! the truth.

mod after_merge;
mod artifact_files;
mod artifacts;
mod backup;
mod connections;
mod day_spending;
mod deliveries;
mod delivery_list;
mod delivery_writer;
mod error;
mod fence;
mod file_lock;
mod health;
mod journal;
mod order_list;
mod orders;
mod pool;
mod repositories;
mod retention;
mod spending;
mod statistics;
mod tenure;
#[cfg(test)]
mod tests;
mod traces;
mod watcher;

use std::sync::Arc;

use chrono::{DateTime, Utc};

pub use after_merge::{AfterMergeFact, AfterMergeKind};
pub use artifacts::{Artifact, ArtifactEnd, ArtifactInfo};
pub use backup::DatabaseFiles;
pub use connections::{problem_of_postgres, problem_of_sqlite};
pub use day_spending::{DayGrouping, DayLine};
pub use deliveries::{
    DeliveryConclusion, DeliverySaveOutcome, HeardUntil, NewDelivery, PENDING_BYTES, PendingPage,
    StoredDelivery,
};
pub use delivery_list::DeliveryRow;
pub use error::StoreError;
pub use file_lock::FileLock;
pub use journal::JournalStore;
pub use order_list::{OrderFilter, OrderTally};
pub use orders::{OpenOutcome, OrderRow, OrderSummary};
pub use spending::{
    BudgetReservation, BudgetScope, DailyLimitExceeded, DailyLimitUsage, PlannedAgentRun, RunCost, RunEnd,
};

pub use statistics::{ModelLine, StatementLine, StatisticsGrouping, StatisticsLine};
pub use traces::UntracedOrder;
pub use watcher::StoreWatcher;

use pool::ConnectionPools;

/// The database. Cheap to clone; all clones share the same connections.
#[derive(Clone)]
pub struct Store {
    pools: ConnectionPools,
    saver: delivery_writer::DeliveryWriter,
    writes: health::WriteCheck,
    /// The folder of large artifacts.
    files: Option<artifact_files::ArtifactFiles>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Store").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the database of `store.url`, creates an SQLite file with its folder, and updates its tables. Call it
    /// inside a Tokio runtime that outlives the store.
    ///
    /// # Errors
    /// Names the key `store.url`, never the URL itself, which may contain a password.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_watched(url, Arc::new(watcher::SlowUses)).await
    }

    /// Like [`Store::open`], with another watcher of its uses.
    ///
    /// # Errors
    /// Like [`Store::open`].
    pub async fn open_watched(url: &str, watcher: Arc<dyn StoreWatcher>) -> Result<Self, StoreError> {
        let pools = ConnectionPools::open(url, watcher).await?;
        let saver = delivery_writer::DeliveryWriter::start(pools.clone());
        let files = pools.file().map(artifact_files::ArtifactFiles::beside);
        Ok(Self { pools, saver, writes: health::WriteCheck::default(), files })
    }

    /// `sqlite` or `postgres`.
    pub fn kind(&self) -> &'static str {
        self.pools.kind()
    }

    /// Finishes running operations and closes every connection.
    pub async fn close(&self) {
        self.pools.close().await;
    }
}

/// A time as stored: microseconds since 1970.
fn to_micros(at: DateTime<Utc>) -> i64 {
    at.timestamp_micros()
}

fn from_micros(micros: i64, what: &str) -> Result<DateTime<Utc>, StoreError> {
    DateTime::from_timestamp_micros(micros)
        .ok_or_else(|| StoreError::broken(what, format!("{micros} is not a moment")))
}

/// A number as both databases store it.
fn to_column(number: u64, what: &str) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::refused(what, format!("{number} is over 2^63")))
}

fn from_column(number: i64, what: &str) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| StoreError::broken(what, format!("{number} is negative")))
}
