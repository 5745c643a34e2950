//! The in-memory journal of an order that is driven. The store holds the truth: this copy is appended to after it, and
//! reads what others wrote there.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::Clock;
use super::store_patience::StorePatience;
use journeyman_order::next::OrderProjection;
use journeyman_order::{Journal, JournalEntry, JournalEvent, OrderId, projection};
use journeyman_store::{JournalStore, StoreError};

/// A journal at one moment and its projection, both computed once and shared by all effects.
#[derive(Clone)]
pub(super) struct JournalSnapshot {
    pub(super) journal: Arc<Journal>,
    pub(super) projection: Arc<OrderProjection>,
}

impl JournalSnapshot {
    pub(super) fn of(journal: Arc<Journal>, now: DateTime<Utc>) -> Self {
        let projection = Arc::new(projection(journal.pipeline(), &journal, now));
        Self { journal, projection }
    }
}

pub(super) struct LiveJournal {
    store: Arc<dyn JournalStore>,
    clock: Clock,
    journal: Arc<Journal>,
}

impl LiveJournal {
    pub(super) async fn read(
        store: Arc<dyn JournalStore>,
        clock: Clock,
        order: OrderId,
    ) -> Result<Self, StoreError> {
        let journal = Arc::new(store.journal(order).await?);
        Ok(Self { store, clock, journal })
    }

    pub(super) fn snapshot(&self) -> JournalSnapshot {
        JournalSnapshot::of(Arc::clone(&self.journal), self.clock.now())
    }

    pub(super) async fn append(&mut self, event: JournalEvent) -> Result<JournalEntry, StoreError> {
        let order = self.journal.opened().order;
        let mut patience = StorePatience::default();
        let entry = loop {
            match self.store.append(order, event.clone(), self.clock.now()).await {
                Ok(entry) => break entry,
                Err(error) => patience.wait(order, error).await?,
            }
            // The write may have succeeded and only its answer been lost. Nothing else writes about this effect.
            let known = self.journal.entries().len();
            self.catch_up().await?;
            let newer = self.journal.entries().get(known..).unwrap_or_default();
            if let Some(written) = newer.iter().find(|entry| is_of_the_same(&entry.event, &event)) {
                return Ok(written.clone());
            }
        };
        // If this is not the next entry, intake wrote a signal in between.
        if Arc::make_mut(&mut self.journal).push(entry.clone()).is_err() {
            self.catch_up().await?;
        }
        Ok(entry)
    }

    /// Reads what others wrote since, once the store is available.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        let order = self.journal.opened().order;
        let mut patience = StorePatience::default();
        while let Err(error) = self.store.catch_up(Arc::make_mut(&mut self.journal)).await {
            patience.wait(order, error).await?;
        }
        Ok(())
    }
}

/// Whether both record the start, or both the outcome, of the same effect.
fn is_of_the_same(one: &JournalEvent, other: &JournalEvent) -> bool {
    match (one, other) {
        (JournalEvent::Intended { key: one, .. }, JournalEvent::Intended { key: other, .. })
        | (JournalEvent::Observed { key: one, .. }, JournalEvent::Observed { key: other, .. }) => {
            one == other
        }
        (_, _) => false,
    }
}
