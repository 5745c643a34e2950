//! Deletes old data at the start and every hour. What a crash leaves, the next round deletes.
//!
//! May know: which orders are at rest, and where their things are. Must never know: what an order does next.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::Engine;
use super::job::blocking;
use journeyman_order::{EffectError, OrderId};

const EVERY: Duration = Duration::from_secs(60 * 60);
const AGAIN: Duration = Duration::from_secs(5 * 60);
/// How much longer than its body a delivery's id is kept.
const KNOWN_LONGER: TimeDelta = TimeDelta::days(90);

/// What was deleted, and why something could not be.
#[derive(Default)]
struct HousekeepingReport {
    deleted: Vec<String>,
    failed: Vec<String>,
}

impl HousekeepingReport {
    /// No failure stops the rest: a full disk refuses writes, not deletions.
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
        // First what frees space without a write.
        report.note("order folders", self.remove_order_folders(now - keep.orders).await);
        if let Some(artifacts) = keep.artifacts {
            report.note("artifacts", store.remove_artifacts(now - artifacts).await);
        }
        // An order is remembered as long as any of its data is kept.
        if let (Some(artifacts), Some(journals)) = (keep.artifacts, keep.journals) {
            let before = now - journals.max(artifacts).max(keep.orders);
            report.note("orders", self.forget_orders(before).await);
        }
        report.note("artifact files", store.sweep_artifact_files().await);
        let before = now - keep.deliveries;
        report.note("delivery bodies", store.remove_delivery_bodies(before).await);
        report.note("deliveries", store.remove_deliveries(before - KNOWN_LONGER).await);
        report.note("", store.compact().await.map(|()| 0));
        // Stops with the server.
        let (workspaces, _until_dropped) = self.parts.workspaces.until_dropped();
        let maintained = async { blocking(move || workspaces.maintain()).await?.map_err(EffectError::from) };
        report.note("", maintained.await.map(|()| 0));
        report
    }

    /// Deletes all data of orders that have been at rest since before this and have no folder left.
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

    /// Deletes the folders of orders that have been at rest since before this.
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
