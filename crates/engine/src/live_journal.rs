//! The journal of an order that is driven, kept in memory. The store's is the only truth: this one is appended to after
//! it, and reads what others wrote there.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::clock::Clock;
use journeyman_order::next::OrderProjection;
use journeyman_order::{Journal, JournalEntry, JournalEvent, OrderId, projection};
use journeyman_store::{JournalStore, StoreError};

/// A journal as it was at one moment, and what can be told from it: both are had once, and handed to every effect.
#[derive(Clone)]
pub(super) struct JournalSnapshot {
    pub(super) journal: Arc<Journal>,
    pub(super) survey: Arc<OrderProjection>,
}

impl JournalSnapshot {
    pub(super) fn of(journal: Arc<Journal>, now: DateTime<Utc>) -> Self {
        let survey = Arc::new(projection(journal.pipeline(), &journal, now));
        Self { journal, survey }
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

    /// Writes the next entry. After an error nobody knows whether it was written: what is in memory is to be dropped.
    pub(super) async fn append(&mut self, event: JournalEvent) -> Result<JournalEntry, StoreError> {
        let entry = self.store.append(self.journal.opened().order, event, self.clock.now()).await?;
        // A signal was written in between by whoever takes in deliveries, unless this is the next one.
        if Arc::make_mut(&mut self.journal).push(entry.clone()).is_err() {
            self.catch_up().await?;
        }
        Ok(entry)
    }

    /// Reads what somebody else wrote since.
    pub(super) async fn catch_up(&mut self) -> Result<(), StoreError> {
        self.store.catch_up(Arc::make_mut(&mut self.journal)).await
    }
}
