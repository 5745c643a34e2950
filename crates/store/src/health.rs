//! Whether the store works, for monitoring that may ask at any rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::Mutex;

use super::pool::{read, written};
use super::{Store, StoreError, from_micros, to_micros};

/// How long an answer is reused: anyone may ask, and each check costs a disk flush.
const HOLDS: Duration = Duration::from_secs(2);

/// When a check last wrote successfully.
#[derive(Clone, Default)]
pub(super) struct WriteCheck(Arc<Mutex<Option<Instant>>>);

impl WriteCheck {
    /// A write failed: the next check must not reuse an earlier answer.
    pub(super) async fn doubt(&self) {
        *self.0.lock().await = None;
    }
}

impl Store {
    /// Tests that the store keeps data, with one small write. Success is cached for two seconds, failure is not.
    pub async fn check_writes(&self) -> Result<(), StoreError> {
        let mut worked = self.writes.0.lock().await;
        if worked.is_some_and(|worked| worked.elapsed() < HOLDS) {
            return Ok(());
        }
        *worked = None;
        written!(self, "a look", "UPDATE server SET seen_at = $1 WHERE one = 1"; to_micros(Utc::now()));
        *worked = Some(Instant::now());
        Ok(())
    }

    /// When the oldest pending delivery arrived.
    pub async fn oldest_pending_delivery(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let oldest: Option<(i64,)> = read!(
            self,
            fetch_optional,
            "SELECT received_at FROM deliveries WHERE conclusion IS NULL ORDER BY id LIMIT 1"
        )?;
        oldest.map(|(at,)| from_micros(at, "a delivery")).transpose()
    }
}
