//! What is old is taken away, and what is in many pieces is put together: at the start, and every hour.
//!
//! May know: which orders are at rest, and since when; where what is kept of them lies. Must never know: what an order does
//! next. Nothing of an order is touched that is at work, or that has something to do. Killed at any moment, the next round
//! does the rest.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::Engine;
use super::job::blocking;
use journeyman_order::{EffectError, OrderId};

/// Between two rounds.
const EVERY: Duration = Duration::from_secs(60 * 60);
/// How much longer than its body it is kept that a delivery came.
const KNOWN_LONGER: TimeDelta = TimeDelta::days(90);

/// What a round took away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HousekeepingReport {
    delivery_bodies: usize,
    deliveries: usize,
    artifacts: usize,
    artifact_files: usize,
    order_folders: usize,
}

impl Engine {
    /// Takes away what the settings of `[retention]` keep no longer, again and again.
    pub async fn housekeep_forever(&self) {
        loop {
            match self.housekeep(self.parts.clock.now()).await {
                Ok(report) if report == HousekeepingReport::default() => {}
                Ok(HousekeepingReport {
                    delivery_bodies,
                    deliveries,
                    artifacts,
                    artifact_files,
                    order_folders,
                }) => tracing::info!(
                    delivery_bodies,
                    deliveries,
                    artifacts,
                    artifact_files,
                    order_folders,
                    "taken away, as [retention] says"
                ),
                Err(error) => {
                    tracing::warn!(
                        "what is old could not be taken away: {}; it is tried again",
                        error.message
                    );
                }
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    pub(crate) async fn housekeep(&self, now: DateTime<Utc>) -> Result<HousekeepingReport, EffectError> {
        let store = &self.parts.store;
        let keep = self.parts.settings.retention;
        let since = |kept: Option<Duration>| now.checked_sub_signed(TimeDelta::from_std(kept?).ok()?);
        let mut report = HousekeepingReport::default();
        if let Some(before) = since(keep.deliveries) {
            report.delivery_bodies = store.remove_delivery_bodies(before).await?;
            report.deliveries = store.remove_deliveries(before - KNOWN_LONGER).await?;
        }
        if let Some(before) = since(keep.orders) {
            report.order_folders = self.remove_order_folders(before).await?;
        }
        if let Some(before) = since(keep.artifacts) {
            report.artifacts = store.remove_artifacts(before).await?;
        }
        report.artifact_files = store.sweep_artifact_files().await?;
        store.compact().await?;
        // Ended with the server.
        let (workspaces, _until_dropped) = self.parts.workspaces.until_dropped();
        blocking(move || workspaces.maintain()).await??;
        Ok(report)
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
            tracing::info!(%order, "its folder is taken away, as retention.order_days says");
            match blocking(move || workspaces.forget(order, &repository)).await? {
                Ok(()) => removed += 1,
                Err(error) => tracing::warn!(%order, "its folder cannot be taken away: {error}"),
            }
        }
        Ok(removed)
    }
}
