//! Waits while the store is unavailable, so that a database restart costs no order its running work.
//!
//! Must never know: what is written.

use journeyman_order::{Backoff, OrderId};
use journeyman_store::StoreError;

/// How many times in a row one use of the store has failed.
#[derive(Debug, Default)]
pub(super) struct StorePatience {
    failures: u32,
}

impl StorePatience {
    /// Retries until the store is available.
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

    /// Waits before the next try. Returns errors that do not pass.
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
