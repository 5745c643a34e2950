//! Ends an order whose journal cannot be read, with a notice on its issue, and frees the issue for another order.
//!
//! May know: what the order's row says. Must never know: what its journal said.

use chrono::TimeDelta;

use super::Engine;
use super::driver::DriveOutcome;
use super::whereabouts;
use journeyman_github::{GitHubError, InstalledRepository, OrderLabel};
use journeyman_order::moves::Retry;
use journeyman_order::{EffectError, Journal, OrderId};
use journeyman_render as render;
use journeyman_store::{JournalStore as _, OrderRow, StoreError};

/// The pause after GitHub did not accept the notice.
const AGAIN: TimeDelta = TimeDelta::minutes(5);

impl Engine {
    /// The journal of an order. `None` if it is missing or cannot be read.
    pub(super) async fn readable_journal(&self, order: OrderId) -> Result<Option<Journal>, StoreError> {
        match self.parts.store.journal(order).await {
            Ok(journal) => Ok(Some(journal)),
            Err(StoreError::UnreadableJournal { .. } | StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Frees the issue at once. Retries the notice until GitHub accepts it or refuses for good.
    pub(super) async fn end_unreadable(
        &self,
        order: OrderId,
        error: &StoreError,
    ) -> Result<DriveOutcome, StoreError> {
        let store = &self.parts.store;
        if store.end_unreadable(order, self.parts.clock.now()).await? {
            tracing::error!(%order, "ends, and its issue is free for another order: {error}");
        }
        let because = if let StoreError::UnreadableJournal { because, .. } = error {
            because.clone()
        } else {
            error.to_string()
        };
        let said = self.say_unreadable(&store.order(order).await?, &because).await;
        if let Err(error) = said.map_err(EffectError::from) {
            tracing::warn!(%order, "its issue could not be told that it cannot be read: {}", error.message);
            if error.retry != Retry::Never {
                return Ok(DriveOutcome::Until(self.parts.clock.now() + AGAIN));
            }
        }
        store.rest_unreadable(order).await?;
        Ok(DriveOutcome::Ended)
    }

    async fn say_unreadable(&self, row: &OrderRow, because: &str) -> Result<(), GitHubError> {
        if row.merge_group.is_some() {
            return Ok(());
        }
        let github = &self.parts.github;
        let at = match whereabouts::last_seen(&self.parts.store, row.repository_id).await {
            Some(at) => at,
            None => InstalledRepository {
                repository: row.repository.clone(),
                installation: github.installation(&row.repository).await?,
            },
        };
        let text = || async { render::unreadable(because) };
        github.set_status_comment(&at, row.issue, row.id, None, text).await?;
        // The labels belong to the issue's latest order.
        let is_last = self.parts.store.latest_order(row.repository_id, row.issue, None).await;
        if is_last.is_ok_and(|last| last.is_some_and(|last| last.id == row.id)) {
            github.set_order_label(&at, row.issue, OrderLabel::NeedsHuman).await?;
        }
        Ok(())
    }
}
