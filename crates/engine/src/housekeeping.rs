//! Deletes what is old: at the start, and every hour. A crash at any moment leaves the rest to the next round.
//!
//! May know: which orders are at rest, and where their things are. Must never know: what an order does next.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::Engine;
use super::job::blocking;
use journeyman_order::{EffectError, OrderId};

const EVERY: Duration = Duration::from_secs(60 * 60);
const AGAIN: Duration = Duration::from_secs(5 * 60);
/// How much longer than its body it is kept that a delivery came.
const KNOWN_LONGER: TimeDelta = TimeDelta::days(90);

/// What was deleted, and why something could not be.
#[derive(Default)]
struct HousekeepingReport {
    deleted: Vec<String>,
    failed: Vec<String>,
}

impl HousekeepingReport {
    /// Whatever fails keeps nothing else: a disk that is full refuses what is written, and not what is removed.
    fn note<E: Into<EffectError>>(&mut self, what: &str, tried: Result<usize, E>) {
        match tried {
            Ok(0) => {}
            Ok(count) => self.deleted.push(format!("{count} {what}")),
            Err(error) => self.failed.push(error.into().message),
        }
    }
}

impl Engine {
    pub async fn housekeep_forever(&self) {
        loop {
            let HousekeepingReport { deleted, failed } = self.housekeep(self.parts.clock.now()).await;
            if !deleted.is_empty() {
                tracing::info!("deleted: {}", deleted.join(", "));
            }
            for because in &failed {
                tracing::warn!(
                    "what is old could not be taken away: {because}; it is tried again in a few minutes"
                );
            }
            tokio::time::sleep(if failed.is_empty() { EVERY } else { AGAIN }).await;
        }
    }

    async fn housekeep(&self, now: DateTime<Utc>) -> HousekeepingReport {
        let store = &self.parts.store;
        let keep = self.parts.settings.retention;
        let mut report = HousekeepingReport::default();
        // First what makes room without a write.
        report.note("order folders", self.remove_order_folders(now - keep.orders).await);
        if let Some(artifacts) = keep.artifacts {
            report.note("artifacts", store.remove_artifacts(now - artifacts).await);
        }
        // As long as anything of them is kept, what is known of them is.
        if let (Some(artifacts), Some(journals)) = (keep.artifacts, keep.journals) {
            let before = now - journals.max(artifacts).max(keep.orders);
            report.note("orders", self.forget_orders(before).await);
        }
        report.note("artifact files", store.sweep_artifact_files().await);
        let before = now - keep.deliveries;
        report.note("delivery bodies", store.remove_delivery_bodies(before).await);
        report.note("deliveries", store.remove_deliveries(before - KNOWN_LONGER).await);
        report.note("", store.compact().await.map(|()| 0));
        // Ended with the server.
        let (workspaces, _until_dropped) = self.parts.workspaces.until_dropped();
        let maintained = async { blocking(move || workspaces.maintain()).await?.map_err(EffectError::from) };
        report.note("", maintained.await.map(|()| 0));
        report
    }

    /// Takes away all that is known of orders that have been at rest since before this and have no folder any more.
    async fn forget_orders(&self, before: DateTime<Utc>) -> Result<usize, EffectError> {
        let (store, workspaces) = (&self.parts.store, self.parts.workspaces.clone());
        let with_folders: Vec<OrderId> = blocking(move || workspaces.orders_with_folders()).await??;
        let (mut forgotten, mut after) = (0, None);
        loop {
            let page = store.forgettable_orders(before, after).await?;
            let Some(last) = page.last().copied() else { return Ok(forgotten) };
            for order in page.into_iter().filter(|order| !with_folders.contains(order)) {
                forgotten += usize::from(store.forget_order(order, before).await?);
                tokio::task::yield_now().await;
            }
            after = Some(last);
        }
    }

    /// Takes away the folders of orders that have been at rest since before this.
    async fn remove_order_folders(&self, before: DateTime<Utc>) -> Result<usize, EffectError> {
        let (store, workspaces) = (&self.parts.store, self.parts.workspaces.clone());
        let there: Vec<OrderId> = blocking(move || workspaces.orders_with_folders()).await??;
        let mut removed = 0;
        for order in there {
            if !store.has_rested_since(order, before).await? {
                continue;
            }
            let repository = store.order(order).await?.repository;
            let workspaces = self.parts.workspaces.clone();
            tracing::info!(%order, "deleting the order's folder: the order came to rest long ago");
            match blocking(move || workspaces.forget(order, &repository)).await? {
                Ok(()) => removed += 1,
                Err(error) => tracing::warn!(%order, "its folder cannot be taken away: {error}"),
            }
        }
        Ok(removed)
    }
}
