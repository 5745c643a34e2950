//! The journal in memory and the one in the store, to which others append as well.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};

use super::{EffectsFixture, key};
use crate::Clock;
use crate::live_journal::LiveJournal;
use journeyman_order::{
    JournalEntry, JournalEvent, Move, OrderId, Requester, Signal, SignalKind, SlashCommand,
};
use journeyman_store::{JournalStore, Store, StoreError};

/// A store that records from which entry on it was read.
struct ReadLogStore {
    store: Store,
    after: Mutex<Vec<u64>>,
}

#[async_trait::async_trait]
impl JournalStore for ReadLogStore {
    async fn append(
        &self,
        order: OrderId,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<JournalEntry, StoreError> {
        self.store.append(order, event, at).await
    }

    async fn entries_after(&self, order: OrderId, seq: u64) -> Result<Vec<JournalEntry>, StoreError> {
        self.after.lock().unwrap().push(seq);
        self.store.entries_after(order, seq).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_is_read_and_nothing_twice() {
    let world = EffectsFixture::new().await;
    let store = Arc::new(ReadLogStore { store: world.parts.store.clone(), after: Mutex::default() });
    let mut live =
        LiveJournal::read(Arc::clone(&store) as Arc<dyn JournalStore>, Clock::system(), world.order)
            .await
            .unwrap();
    let command = || SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Status };
    let signal = || Signal { by: Requester::ApiToken, kind: command() };
    let intent = |name| JournalEvent::Intended { key: key(name), r#move: Box::new(Move::Prepare) };

    let begun = live.snapshot().journal.last_seq();
    live.append(intent("one")).await.unwrap();
    assert_eq!(*store.after.lock().unwrap(), [0], "what was written here is known");
    world.parts.store.signal(world.order, signal(), Utc::now()).await.unwrap();
    let written = live.append(intent("two")).await.unwrap();
    assert_eq!(written.seq, begun + 3);
    assert_eq!(*live.snapshot().journal, world.journal().await, "the signal stands between the two");
    world.parts.store.signal(world.order, signal(), Utc::now()).await.unwrap();
    live.catch_up().await.unwrap();
    assert_eq!(*live.snapshot().journal, world.journal().await);
    assert_eq!(*store.after.lock().unwrap(), [0, begun + 1, begun + 3]);
}

/// A store that fails at its first write: before the write, or after it but before the answer.
struct AwayStore {
    store: Store,
    is_written: bool,
    is_away: AtomicBool,
}

#[async_trait::async_trait]
impl JournalStore for AwayStore {
    async fn append(
        &self,
        order: OrderId,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<JournalEntry, StoreError> {
        let is_away = self.is_away.swap(false, Ordering::SeqCst);
        if is_away && self.is_written {
            self.store.append(order, event.clone(), at).await?;
        }
        match is_away {
            true => Err(StoreError::Unavailable { because: "the connection broke".to_owned() }),
            false => self.store.append(order, event, at).await,
        }
    }

    async fn entries_after(&self, order: OrderId, seq: u64) -> Result<Vec<JournalEntry>, StoreError> {
        self.store.entries_after(order, seq).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_written_is_written_once_when_the_store_is_back_whether_its_answer_was_lost_or_not()
{
    for is_written in [false, true] {
        let world = EffectsFixture::new().await;
        let store = AwayStore { store: world.parts.store.clone(), is_written, is_away: true.into() };
        let mut live = LiveJournal::read(Arc::new(store), Clock::system(), world.order).await.unwrap();
        let begun = live.snapshot().journal.last_seq();
        let signal = Signal {
            by: Requester::ApiToken,
            kind: SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Status },
        };
        world.parts.store.signal(world.order, signal, Utc::now()).await.unwrap();
        let intent = JournalEvent::Intended { key: key("one"), r#move: Box::new(Move::Prepare) };

        let written = live.append(intent.clone()).await.unwrap();

        assert_eq!((written.seq, written.event), (begun + 2, intent));
        assert_eq!(*live.snapshot().journal, world.journal().await);
        assert_eq!(world.journal().await.last_seq(), begun + 2, "once");
    }
}
