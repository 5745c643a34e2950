//! Who is told of each use of the database: in a server, what says in the log that something took long.
//!
//! May know: names of uses. Must never know: SQL, what is read or written.

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::StoreError;

/// A use that takes longer is worth a line in the log.
const LONG: Duration = Duration::from_secs(2);

/// Is told of each use of a database, and may hold it up or refuse it.
#[async_trait]
pub trait StoreWatcher: Send + Sync {
    /// Before a transaction or a read; `what` says what for. What is answered is kept until its end.
    async fn begins(&self, what: &'static str) -> Result<Box<dyn Send>, StoreError>;

    /// All is said, and nothing is kept yet.
    async fn commits(&self, _what: &'static str) -> Result<(), StoreError> {
        Ok(())
    }

    /// It is kept, and nobody knows yet. After an error whoever asked does not know either.
    async fn committed(&self, _what: &'static str) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Names in the log what took long.
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
