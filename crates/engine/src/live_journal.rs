//! The in-memory journal of an order that is driven. The store holds the truth: this copy is appended to after it, and
//! reads what others wrote there.

use std::mem::discriminant;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::Clock;
use super::store_patience::StorePatience;
use journeyman_order::next::OrderProjection;
use journeyman_order::{
    EffectOutcome, Journal, JournalEntry, JournalEvent, Move, MoveKey, OrderId, projection,
};
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

/// The right to conclude an effect, until it is started again.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) order: OrderId,
    pub(super) key: MoveKey,
    /// The number of the entry that records the start.
    pub(super) start: u64,
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

    /// Records that an effect starts. `None` if others wrote first: they started it, or it is not wanted any more.
    pub(super) async fn start(
        &mut self,
        key: &MoveKey,
        r#move: &Move,
    ) -> Result<Option<(Claim, JournalEntry)>, StoreError> {
        let (known, open) = (self.journal.last_seq(), self.journal.open_start(key));
        let is_wanted = |live: &Self| {
            let names = |(named, _): &(MoveKey, Move)| named == key;
            live.journal.last_seq() == known
                || (live.journal.open_start(key) == open
                    && live.snapshot().projection.next.moves.iter().any(names))
        };
        let event = JournalEvent::Intended { key: key.clone(), r#move: Box::new(r#move.clone()) };
        let entry = self.append_while(is_wanted, event).await?;
        Ok(entry.map(|entry| {
            let claim = Claim { order: self.journal.opened().order, key: key.clone(), start: entry.seq };
            (claim, entry)
        }))
    }

    /// Records an effect's outcome. `None` if the effect was started again meanwhile, or its outcome is there.
    pub(super) async fn conclude(
        &mut self,
        claim: &Claim,
        outcome: EffectOutcome,
    ) -> Result<Option<JournalEntry>, StoreError> {
        let is_open = |live: &Self| live.journal.open_start(&claim.key) == Some(claim.start);
        let event = JournalEvent::Observed { key: claim.key.clone(), outcome: Box::new(outcome) };
        self.append_while(is_open, event).await
    }

    /// Appends an effect's entry unless `may` forbids it, which is asked again of every entry that others write first.
    async fn append_while(
        &mut self,
        may: impl Fn(&Self) -> bool,
        event: JournalEvent,
    ) -> Result<Option<JournalEntry>, StoreError> {
        let order = self.journal.opened().order;
        let mut patience = StorePatience::default();
        let mut is_unsure = false;
        while may(self) {
            let last = self.journal.last_seq();
            match self.store.append_after(order, last, event.clone(), self.clock.now()).await {
                Ok(Some(entry)) => {
                    let pushed = Arc::make_mut(&mut self.journal).push(entry.clone());
                    pushed.map_err(|error| StoreError::UnreadableJournal {
                        order,
                        because: error.to_string(),
                    })?;
                    return Ok(Some(entry));
                }
                Ok(None) => {}
                Err(error) => {
                    patience.wait(order, error).await?;
                    is_unsure = true;
                }
            }
            let known = self.journal.entries().len();
            self.catch_up().await?;
            // The write may have succeeded and only its answer been lost. Then it is the effect's next entry.
            let newer = self.journal.entries().get(known..).unwrap_or_default();
            let next = newer.iter().find(|entry| key_of(&entry.event) == key_of(&event));
            let is_ours = |next: &&JournalEntry| discriminant(&next.event) == discriminant(&event);
            if is_unsure && let Some(written) = next.filter(is_ours) {
                return Ok(Some(written.clone()));
            }
        }
        Ok(None)
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

fn key_of(event: &JournalEvent) -> Option<&MoveKey> {
    match event {
        JournalEvent::Intended { key, .. } | JournalEvent::Observed { key, .. } => Some(key),
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => None,
    }
}
