//! Waits for a store that is away, so that a restarted database costs no order what was running.
//!
//! Must never know: what is written.

use journeyman_order::{Backoff, OrderId};
use journeyman_store::StoreError;

/// How often one thing could not be written in a row.
#[derive(Debug, Default)]
pub(super) struct StorePatience {
    failures: u32,
}

impl StorePatience {
    /// Retries until the store can be used.
    pub(super) async fn outlast<T, F: Future<Output = Result<T, StoreError>>>(
        order: OrderId,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, StoreError> {
        let mut patience = Self::default();
        loop {
            match attempt().await {
                Ok(done) => return Ok(done),
                Err(error) => patience.wait(order, error).await?,
            }
        }
    }

    /// Waits before the next try. Errors that do not pass are returned.
    pub(super) async fn wait(&mut self, order: OrderId, error: StoreError) -> Result<(), StoreError> {
        if !matches!(error, StoreError::Unavailable { .. }) {
            return Err(error);
        }
        self.failures = self.failures.saturating_add(1);
        tracing::warn!(%order, %error, "what is running goes on; what came of it is written down later");
        let schedule = Backoff::UNTIL_IT_WORKS;
        tokio::time::sleep(schedule.pause(self.failures, None).unwrap_or(schedule.longest)).await;
        Ok(())
    }
}
