//! Watches each use of the database; the server's watcher logs slow ones.
//!
//! May know: names of uses. Must never know: SQL, what is read or written.

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::StoreError;

/// A slower use is logged.
const LONG: Duration = Duration::from_secs(2);

/// Sees each use of a database, and may delay or refuse it.
#[async_trait]
pub trait StoreWatcher: Send + Sync {
    /// Before a transaction or a read; `what` names its purpose. The result is held until the end.
    async fn begins(&self, what: &'static str) -> Result<Box<dyn Send>, StoreError>;

    /// Before the commit, with all statements executed.
    async fn commits(&self, _what: &'static str) -> Result<(), StoreError> {
        Ok(())
    }

    /// After the commit, before the caller knows. After an error the caller does not know the outcome.
    async fn committed(&self, _what: &'static str) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Logs slow uses.
pub(super) struct SlowUses;

#[async_trait]
impl StoreWatcher for SlowUses {
    async fn begins(&self, what: &'static str) -> Result<Box<dyn Send>, StoreError> {
        Ok(Box::new(TimedUse { what, since: Instant::now() }))
    }
}

struct TimedUse {
    what: &'static str,
    since: Instant,
}

impl Drop for TimedUse {
    fn drop(&mut self) {
        let took = self.since.elapsed();
        if took > LONG {
            tracing::warn!(what = self.what, seconds = took.as_secs_f32(), "the database took long");
        }
    }
}
