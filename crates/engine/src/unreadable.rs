//! An order whose journal cannot be read, because it is damaged or of another version: it ends with a word on its issue,
//! and the issue is free for another one.
//!
//! May know: what the order's row says. Must never know: what its journal said.

use chrono::TimeDelta;

use super::Engine;
use super::driver::DriveOutcome;
use super::whereabouts;
use journeyman_github::{GitHubError, InstalledRepository, OrderLabel};
use journeyman_order::moves::Retry;
use journeyman_order::{EffectError, OrderId};
use journeyman_render as render;
use journeyman_store::{OrderRow, StoreError};

/// When GitHub is told again, where it could not be.
const AGAIN: TimeDelta = TimeDelta::minutes(5);

impl Engine {
    /// Its place is free at once; its last word is owed until it stands on the issue.
    pub(super) async fn end_unreadable(
        &self,
        order: OrderId,
        because: &StoreError,
    ) -> Result<DriveOutcome, StoreError> {
        let store = &self.parts.store;
        if store.end_unreadable(order).await? {
            tracing::error!(%order, "ends, and its issue is free for another order: {because}");
        }
        let told = self.tell_of_unreadable(&store.order(order).await?).await;
        let Err(error) = told.map_err(EffectError::from) else {
            store.rest_unreadable(order).await?;
            return Ok(DriveOutcome::Ended);
        };
        tracing::warn!(%order, "its issue could not be told that it has ended: {}", error.message);
        let pause = match error.retry {
            Retry::Never => {
                store.rest_unreadable(order).await?;
                return Ok(DriveOutcome::Ended);
            }
            Retry::After { seconds } => i64::try_from(seconds).ok().and_then(TimeDelta::try_seconds),
            Retry::Soon | Retry::Outage => None,
        };
        Ok(DriveOutcome::Until(self.parts.clock.now() + pause.unwrap_or(AGAIN)))
    }

    async fn tell_of_unreadable(&self, row: &OrderRow) -> Result<(), GitHubError> {
        let github = &self.parts.github;
        let at = match whereabouts::last_seen(&self.parts.store, row.repository_id).await {
            Some(at) => at,
            None => InstalledRepository {
                repository: row.repository.clone(),
                installation: github.installation(&row.repository).await?,
            },
        };
        let text = || async { render::unreadable(row.pull) };
        github.set_status_comment(&at, row.issue, row.id, None, text).await?;
        // The labels are those of the order that is at work now.
        let is_last = self.parts.store.latest_order(row.repository_id, row.issue).await;
        if is_last.is_ok_and(|last| last.is_some_and(|last| last.id == row.id)) {
            github.set_order_label(&at, row.issue, OrderLabel::NeedsHuman).await?;
        }
        Ok(())
    }
}
