//! An order whose journal cannot be read. Where it is damaged, it ends with a word on its issue, and the issue is free for
//! another one. Where a newer version may have written it, it waits for that one: an older one that was started by
//! mistake does nothing that the newer one cannot go on from.
//!
//! May know: what the order's row says, and what people said last. Must never know: what its journal said.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::watch;

use super::Engine;
use super::driver::DriveOutcome;
use super::effects::Effect;
use super::live_journal::JournalSnapshot;
use super::whereabouts;
use journeyman_github::{GitHubError, InstalledRepository, OrderLabel};
use journeyman_order::effect_name::ReservedWord;
use journeyman_order::moves::Retry;
use journeyman_order::{
    EffectError, EffectOutcome, Journal, Move, MoveKey, OrderId, Requester, Signal, SignalKind, SlashCommand,
};
use journeyman_render as render;
use journeyman_store::{JournalStore as _, OrderRow, StoreError};

/// When GitHub is told again, where it could not be.
const AGAIN: TimeDelta = TimeDelta::minutes(5);
/// When the log says again that an order waits.
const REMINDED: TimeDelta = TimeDelta::hours(1);

impl Engine {
    /// The journal of an order; none where it cannot be read, or is not there.
    pub(super) async fn readable_journal(&self, order: OrderId) -> Result<Option<Journal>, StoreError> {
        match self.parts.store.journal(order).await {
            Ok(journal) => Ok(Some(journal)),
            Err(StoreError::UnreadableJournal { .. } | StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn rest_unread(
        &self,
        order: OrderId,
        because: &StoreError,
    ) -> Result<DriveOutcome, StoreError> {
        let store = &self.parts.store;
        let may_be_newer = matches!(because, StoreError::UnreadableJournal { may_be_newer: true, .. });
        let row = store.order(order).await?;
        if may_be_newer && !row.active && !row.is_unreadable() {
            // It had ended, and its last word stands: the newer version hears what it was told since.
            tracing::error!(
                %order,
                "was told something, and waits: start the newer Journeyman that wrote its journal: {because}"
            );
            return Ok(DriveOutcome::Until(self.parts.clock.now() + REMINDED));
        }
        match may_be_newer && row.active && is_wanted(&store.latest_signals(order).await?) {
            true => self.wait_for_a_newer_version(order, because).await,
            false => self.end_unreadable(order, because).await,
        }
    }

    /// It keeps its place.
    async fn wait_for_a_newer_version(
        &self,
        order: OrderId,
        because: &StoreError,
    ) -> Result<DriveOutcome, StoreError> {
        let store = &self.parts.store;
        store.keep_unreadable(order).await?;
        tracing::error!(
            %order,
            "waits: start the newer Journeyman that wrote its journal, or take the label off its issue: {because}"
        );
        let row = store.order(order).await?;
        let told = async {
            let at = self.place_of(&row).await?;
            let text = || async { render::waits_to_be_read() };
            self.parts.github.set_status_comment(&at, row.issue, row.id, None, text).await
        };
        let due = match told.await.map_err(EffectError::from) {
            Ok(_) => None,
            Err(error) => self.told_again_at(order, &error),
        };
        Ok(DriveOutcome::Until(due.unwrap_or(self.parts.clock.now() + REMINDED)))
    }

    /// Its place is free at once; its last word is owed until it stands on the issue.
    async fn end_unreadable(&self, order: OrderId, because: &StoreError) -> Result<DriveOutcome, StoreError> {
        let store = &self.parts.store;
        if store.end_unreadable(order, self.parts.clock.now()).await? {
            tracing::error!(%order, "ends, and its issue is free for another order: {because}");
        }
        let told = self.tell_of_unreadable(&store.order(order).await?).await;
        if let Err(error) = told.map_err(EffectError::from)
            && let Some(due) = self.told_again_at(order, &error)
        {
            return Ok(DriveOutcome::Until(due));
        }
        store.rest_unreadable(order).await?;
        Ok(DriveOutcome::Ended)
    }

    /// None where there is nobody to tell.
    fn told_again_at(&self, order: OrderId, error: &EffectError) -> Option<DateTime<Utc>> {
        tracing::warn!(%order, "its issue could not be told that it cannot be read: {}", error.message);
        let pause = match error.retry {
            Retry::Never => return None,
            Retry::After { seconds } => i64::try_from(seconds).ok().and_then(TimeDelta::try_seconds),
            Retry::Soon | Retry::Outage => None,
        };
        Some(self.parts.clock.now() + pause.unwrap_or(AGAIN))
    }

    async fn place_of(&self, row: &OrderRow) -> Result<InstalledRepository, GitHubError> {
        Ok(match whereabouts::last_seen(&self.parts.store, row.repository_id).await {
            Some(at) => at,
            None => InstalledRepository {
                repository: row.repository.clone(),
                installation: self.parts.github.installation(&row.repository).await?,
            },
        })
    }

    async fn tell_of_unreadable(&self, row: &OrderRow) -> Result<(), GitHubError> {
        let github = &self.parts.github;
        let at = self.place_of(row).await?;
        let text = || async { render::unreadable(row.pull) };
        github.set_status_comment(&at, row.issue, row.id, None, text).await?;
        // The labels are those of the order that is at work now.
        let is_last = self.parts.store.latest_order(row.repository_id, row.issue).await;
        if is_last.is_ok_and(|last| last.is_some_and(|last| last.id == row.id)) {
            github.set_order_label(&at, row.issue, OrderLabel::NeedsHuman).await?;
        }
        Ok(())
    }

    /// Where an older version said of an order that it cannot be read, what is true is said again. When to try once more,
    /// where GitHub cannot be told.
    pub(super) async fn take_back_unreadable(
        &self,
        order: OrderId,
        turns: &watch::Sender<JournalSnapshot>,
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        if !self.parts.store.order(order).await?.is_unreadable() {
            return Ok(None);
        }
        let key = MoveKey::beside(ReservedWord::Status, 0);
        let effect = Effect { key, attempt: 1, r#move: Move::ShowStatus { revision: 0 } };
        let shown = self.effects.perform(Arc::clone(&self.parts), order, effect, turns.subscribe()).await;
        let EffectOutcome::Trouble(error) = shown else { return Ok(None) };
        Ok(self.told_again_at(order, &error))
    }
}

/// Whether nobody who may has said that an order is to end.
fn is_wanted(said: &[Signal]) -> bool {
    said.iter().fold(true, |is_wanted, signal| match (&signal.kind, &signal.by) {
        (SignalKind::Labeled { .. }, _) => true,
        // GitHub asks for the right to triage.
        (SignalKind::Unlabeled { .. }, _)
        | (SignalKind::Commanded { command: SlashCommand::Cancel, .. }, Requester::ApiToken) => false,
        (_, _) => is_wanted,
    })
}
