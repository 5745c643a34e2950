//! Whether the store can be used: asked by whoever watches the server, as often as they like.

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::sync::Mutex;

use super::pool::{read, written};
use super::{Store, StoreError, from_micros, to_micros};

/// Anybody may ask, and an answer costs a flush of the disk: it holds for so long.
const HOLDS: Duration = Duration::from_secs(2);

/// When a write last worked for whoever asked.
#[derive(Clone, Default)]
pub(super) struct WriteCheck(Arc<Mutex<Option<Instant>>>);

impl WriteCheck {
    /// A write has failed: whoever asks next is not told of an earlier one.
    pub(super) async fn doubt(&self) {
        *self.0.lock().await = None;
    }
}

impl Store {
    /// Whether what is written is kept: one small write. That it works is believed for two seconds; that it does not
    /// is looked at each time.
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

    /// When the oldest delivery came that nobody has concluded yet.
    pub async fn oldest_pending_delivery(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let oldest: Option<(i64,)> = read!(
            self,
            fetch_optional,
            "SELECT received_at FROM deliveries WHERE conclusion IS NULL ORDER BY id LIMIT 1"
        )?;
        oldest.map(|(at,)| from_micros(at, "a delivery")).transpose()
    }
}
