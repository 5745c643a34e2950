//! Journeyman as a separate process that kills itself at a given moment.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use journeyman::app::{Application, ApplicationHandle};
use journeyman::config::Settings;
use journeyman::order::{EffectOutcome, JournalEntry, JournalEvent, OrderId};
use journeyman::store::{JournalStore, Store, StoreError};
use serde::{Deserialize, Serialize};

use super::moment::{Counted, Moment, Point, name};
use super::world::REPOSITORY;

/// The variable with the task; without it there is nothing to do.
pub const TASK: &str = "JOURNEYMAN_KILL_TASK";
/// The text before the address that it listens on.
pub const LISTENS: &str = "child-listens-on ";

/// The child's task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    pub config: PathBuf,
    /// When to die; `None` ends like any program once the order has settled.
    pub kill: Option<Moment>,
}

#[test]
#[ignore = "the other tests of this folder run it, in a process that can be killed"]
fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let task: Task = serde_json::from_str(&task).expect("a task");
    let log = tracing_subscriber::fmt().with_env_filter("journeyman=info").with_ansi(false);
    let _ = log.with_writer(std::io::stderr).try_init();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(run(task));
}

async fn run(task: Task) {
    let settings = Settings::load(Some(&task.config), std::iter::empty()).expect("settings");
    let watched = |store| Arc::new(Killer::new(store, task.kill)) as Arc<dyn JournalStore>;
    let application = Application::build_with(settings, Box::new(watched)).await.expect("an application");
    let handle = application.handle();
    println!("\n{LISTENS}{}", application.address());
    tokio::spawn(stop_when_settled(handle));
    application.run().await.expect("it runs until it is stopped");
}

/// A settled order with a shown status must stay unchanged for a moment: any further effect would be one too many.
async fn stop_when_settled(handle: ApplicationHandle) {
    let repository = REPOSITORY.parse().expect("a name");
    let mut settled_at = None;
    loop {
        tokio::time::sleep(Duration::from_millis(60)).await;
        let orders = handle.orders_of(&repository, 10).await.expect("the store answers");
        let (mut settled, mut entries) = (!orders.is_empty(), 0);
        for (_, order) in orders {
            let (journal, projection) = handle.look(order).await.expect("the store answers");
            let next = projection.next;
            settled &= next.settled.is_some() && next.moves.is_empty() && next.wake_at.is_none();
            entries += journal.last_seq();
        }
        if settled && settled_at == Some(entries) {
            return handle.stop();
        }
        settled_at = settled.then_some(entries);
    }
}

/// The real store, which kills the process at its moment.
struct Killer {
    store: Store,
    kill: Option<Moment>,
    counted: Mutex<Counted>,
    written: AtomicU32,
}

impl Killer {
    fn new(store: Store, kill: Option<Moment>) -> Self {
        Self { store, kill, counted: Mutex::default(), written: AtomicU32::new(0) }
    }

    async fn die_at(&self, moments: &[Moment]) {
        if self.kill.as_ref().is_some_and(|kill| moments.contains(kill)) {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            std::future::pending::<()>().await;
        }
    }

    /// The moments before and after an entry.
    fn moments(&self, event: &JournalEvent) -> (Vec<Moment>, Vec<Moment>) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let nth = self.written.fetch_add(1, Ordering::SeqCst) + 1;
        let mut before = vec![Moment::Nth { nth, before: true }];
        let mut after = vec![Moment::Nth { nth, before: false }];
        match event {
            JournalEvent::Intended { key, .. } => after.push(counted.around(Point::Intended, key)),
            JournalEvent::Observed { key, .. } => {
                before.push(counted.around(Point::Unobserved, key));
                after.push(counted.around(Point::Observed, key));
            }
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
        (before, after)
    }
}

#[async_trait]
impl JournalStore for Killer {
    async fn append_after(
        &self,
        order: OrderId,
        last: u64,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<Option<JournalEntry>, StoreError> {
        let journal = self.store.journal(order).await?;
        if journal.last_seq() != last {
            return Ok(None);
        }
        let (mut before, after) = self.moments(&event);
        if let JournalEvent::Observed { key, outcome } = &event
            && !matches!(**outcome, EffectOutcome::Trouble(_))
        {
            let issue = journal.opened().issue.number.0;
            before.push(Moment::Poisoned { issue, effect: name(key) });
        }
        self.die_at(&before).await;
        let entry = self.store.append_after(order, last, event, at).await?;
        self.die_at(&after).await;
        Ok(entry)
    }

    async fn entries_after(&self, order: OrderId, seq: u64) -> Result<Vec<JournalEntry>, StoreError> {
        let entries = self.store.entries_after(order, seq).await?;
        let journal = self.store.journal(order).await?;
        // The opening and signals bypass `append_after`: they are written together with their deliveries.
        if journal.last_seq() == 1 {
            self.die_at(&[Moment::Opened]).await;
        }
        let is_signal = |entry: &&JournalEntry| matches!(entry.event, JournalEvent::Signaled { .. });
        let signals = journal.entries().iter().filter(is_signal).count();
        if let Ok(nth @ 1..) = u32::try_from(signals) {
            self.die_at(&[Moment::Signaled { nth }]).await;
        }
        Ok(entries)
    }
}
