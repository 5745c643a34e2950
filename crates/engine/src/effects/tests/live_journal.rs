//! The journal in memory and the one in the store, to which others append as well.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::{EffectsFixture, key};
use crate::effect_error::soon;
use crate::effects::{Effect, EffectPerformer};
use crate::live_journal::{JournalSnapshot, LiveJournal};
use crate::{Clock, Engine, EngineParts};
use journeyman_order::{
    EffectOutcome, Journal, JournalEntry, JournalEvent, Move, MoveKey, OrderId, Requester, Signal,
    SignalKind, SlashCommand,
};
use journeyman_store::{JournalStore, Store, StoreError};

const PATIENCE: Duration = Duration::from_secs(60);

/// A store that records from which entry on it was read.
struct ReadLogStore {
    store: Store,
    after: Mutex<Vec<u64>>,
}

#[async_trait::async_trait]
impl JournalStore for ReadLogStore {
    async fn append_after(
        &self,
        order: OrderId,
        last: u64,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<Option<JournalEntry>, StoreError> {
        self.store.append_after(order, last, event, at).await
    }

    async fn entries_after(&self, order: OrderId, seq: u64) -> Result<Vec<JournalEntry>, StoreError> {
        self.after.lock().unwrap().push(seq);
        self.store.entries_after(order, seq).await
    }
}

/// A word of a person that changes nothing of what the order does.
fn word() -> Signal {
    let command = SlashCommand::Status;
    Signal { by: Requester::ApiToken, kind: SignalKind::Commanded { comment: None, pull: None, command } }
}

fn trouble() -> EffectOutcome {
    EffectOutcome::Trouble(soon("it rains"))
}

fn outcomes(journal: &Journal, key: &MoveKey) -> usize {
    journal.observed(key).count()
}

impl EffectsFixture {
    async fn live(&self) -> LiveJournal {
        let journals = Arc::clone(&self.parts.journals);
        LiveJournal::read(journals, Clock::system(), self.order).await.unwrap()
    }
}

/// What the order does next.
fn planned(live: &LiveJournal) -> (MoveKey, Move) {
    live.snapshot().projection.next.moves.first().cloned().expect("something")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_is_read_and_nothing_twice() {
    let world = EffectsFixture::new().await;
    let store = Arc::new(ReadLogStore { store: world.parts.store.clone(), after: Mutex::default() });
    let mut live =
        LiveJournal::read(Arc::clone(&store) as Arc<dyn JournalStore>, Clock::system(), world.order)
            .await
            .unwrap();

    let begun = live.snapshot().journal.last_seq();
    let (claim, _) = live.start(&key("one"), &Move::Prepare).await.unwrap().expect("it is free");
    assert_eq!(*store.after.lock().unwrap(), [0], "what was written here is known");
    world.parts.store.signal(world.order, word(), Utc::now()).await.unwrap();
    let written = live.conclude(&claim, trouble()).await.unwrap().expect("a word is no other start");
    assert_eq!(written.seq, begun + 3);
    assert_eq!(*live.snapshot().journal, world.journal().await, "the signal stands between the two");
    world.parts.store.signal(world.order, word(), Utc::now()).await.unwrap();
    live.catch_up().await.unwrap();
    assert_eq!(*live.snapshot().journal, world.journal().await);
    assert_eq!(*store.after.lock().unwrap(), [0, begun + 1, begun + 3]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_claims_of_one_effect_only_the_newer_concludes_and_only_once() {
    let world = EffectsFixture::new().await;
    let (mut first, mut second) = (world.live().await, world.live().await);
    let (one, begun) = (key("one"), world.journal().await.last_seq());
    let (older, _) = first.start(&one, &Move::Prepare).await.unwrap().expect("it is free");

    let refused = second.start(&one, &Move::Prepare).await.unwrap();
    assert!(refused.is_none(), "the other was first, and this one did not know: {refused:?}");
    let (newer, _) = second.start(&one, &Move::Prepare).await.unwrap().expect("now it knows");
    assert_eq!((older.start, newer.start), (begun + 1, begun + 2));

    assert!(first.conclude(&older, trouble()).await.unwrap().is_none());
    assert_eq!(outcomes(&world.journal().await, &one), 0, "the late one is not there");
    assert_eq!(second.conclude(&newer, trouble()).await.unwrap().expect("its own").seq, begun + 3);
    for claim in [&older, &newer] {
        assert!(first.conclude(claim, trouble()).await.unwrap().is_none());
        assert!(second.conclude(claim, trouble()).await.unwrap().is_none());
    }
    assert_eq!(world.journal().await.last_seq(), begun + 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_still_wanted_after_a_word_of_a_person_starts_and_what_they_cancelled_does_not() {
    for command in [SlashCommand::Status, SlashCommand::Cancel] {
        let world = EffectsFixture::new().await;
        let mut live = world.live().await;
        let (planned, r#move) = planned(&live);
        let is_cancelled = matches!(command, SlashCommand::Cancel);
        let kind = SignalKind::Commanded { comment: None, pull: None, command };
        let signal = Signal { by: Requester::ApiToken, kind };
        let heard = world.parts.store.signal(world.order, signal, Utc::now()).await.unwrap();

        let started = live.start(&planned, &r#move).await.unwrap();

        assert_eq!(started.is_none(), is_cancelled, "{planned} {started:?}");
        assert_eq!(world.journal().await.last_seq(), heard.seq + u64::from(!is_cancelled));
        assert_eq!(*live.snapshot().journal, world.journal().await);
    }
}

/// A store that fails at one write: before the write, or after it but before the answer. Then a person says something.
struct AwayStore {
    store: Store,
    is_written: bool,
    is_away: AtomicBool,
}

#[async_trait::async_trait]
impl JournalStore for AwayStore {
    async fn append_after(
        &self,
        order: OrderId,
        last: u64,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<Option<JournalEntry>, StoreError> {
        if !self.is_away.swap(false, Ordering::SeqCst) {
            return self.store.append_after(order, last, event, at).await;
        }
        if self.is_written {
            self.store.append_after(order, last, event, at).await?;
        }
        self.store.signal(order, word(), at).await?;
        Err(StoreError::Unavailable { because: "the connection broke".to_owned() })
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
        let store =
            Arc::new(AwayStore { store: world.parts.store.clone(), is_written, is_away: true.into() });
        let journals = Arc::clone(&store) as Arc<dyn JournalStore>;
        let mut live = LiveJournal::read(journals, Clock::system(), world.order).await.unwrap();
        let (planned, r#move) = planned(&live);
        let begun = live.snapshot().journal.last_seq();
        // The words come after what was written, and before what was not.
        let place = u64::from(!is_written);

        let (claim, _) = live.start(&planned, &r#move).await.unwrap().expect("nobody else started it");
        store.is_away.store(true, Ordering::SeqCst);
        let ended = live.conclude(&claim, trouble()).await.unwrap().expect("nobody else ended it");

        assert_eq!((claim.start, ended.seq), (begun + 1 + place, begun + 3 + place));
        assert_eq!(*live.snapshot().journal, world.journal().await);
        assert_eq!(world.journal().await.last_seq(), begun + 4, "once");
    }
}

/// Performs one effect once, when the test says so, and nothing else ever.
struct SlowPerformer {
    key: MoveKey,
    calls: AtomicUsize,
    begun: Notify,
    goes_on: Notify,
}

#[async_trait::async_trait]
impl EffectPerformer for SlowPerformer {
    async fn perform(
        &self,
        _parts: Arc<EngineParts>,
        _order: OrderId,
        effect: Effect,
        _turns: watch::Receiver<JournalSnapshot>,
    ) -> EffectOutcome {
        if effect.key != self.key || self.calls.fetch_add(1, Ordering::SeqCst) > 0 {
            return std::future::pending().await;
        }
        self.begun.notify_one();
        self.goes_on.notified().await;
        trouble()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_that_comes_after_another_start_of_its_effect_is_kept_and_moves_nothing() {
    let world = EffectsFixture::new().await;
    let (planned, r#move) = planned(&world.live().await);
    let performer = Arc::new(SlowPerformer {
        key: planned.clone(),
        calls: AtomicUsize::new(0),
        begun: Notify::new(),
        goes_on: Notify::new(),
    });
    let engine = Engine::new(EngineParts::clone(&world.parts))
        .performing(Arc::clone(&performer) as Arc<dyn EffectPerformer>);
    let mut written = engine.watch();
    let order = world.order;
    let drive = tokio::spawn(async move { engine.drive(order, Arc::new(Notify::new())).await });
    timeout(PATIENCE, performer.begun.notified()).await.unwrap();
    let late = world.journal().await.open_start(&planned).expect("it is under way");

    let (newer, _) = world.live().await.start(&planned, &r#move).await.unwrap().expect("it is started again");
    performer.goes_on.notify_one();
    // The drive goes on with a start of its own, as after any that was cut off.
    let third = async {
        loop {
            let (_, entry) = written.recv().await.unwrap();
            let is_start = matches!(&entry.event, JournalEvent::Intended { key, .. } if *key == planned);
            if is_start && entry.seq > newer.start {
                return entry.seq;
            }
        }
    };
    let third = timeout(PATIENCE, third).await.unwrap();
    drive.abort();

    let journal = world.journal().await;
    assert_eq!((outcomes(&journal, &planned), journal.open_start(&planned)), (0, Some(third)));
    let name = format!("late-{}-{late}.json", planned.file_name());
    let kept = world.parts.store.artifact(order, &name).await.unwrap();
    assert_eq!(kept.content, serde_json::to_vec(&trouble()).unwrap());
}
