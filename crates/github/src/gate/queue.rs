//! The queue of one installation.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::pace::WritePacer;
use super::{WriteLimits, WritePriority};

/// The longest wait: a limit of minutes is waited out here, one of an hour is left to the caller, who can wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct WriteQueue {
    state: Mutex<WriteQueueState>,
    /// Wakes all waiters when one may go earlier, or waits in vain.
    changed: Notify,
}

#[derive(Debug)]
struct WriteQueueState {
    pace: WritePacer,
    waiting: BTreeSet<QueueTicket>,
    tickets: u64,
}

type QueueTicket = (WritePriority, u64);

enum TurnDecision {
    Go,
    /// Nothing changes before this, unless something else happens.
    Wait(Instant),
    /// It would take longer than the patience of this queue.
    RetryLater(Duration),
}

impl WriteQueue {
    pub(super) fn new(limits: WriteLimits) -> Self {
        let state = WriteQueueState { pace: WritePacer::new(limits), waiting: BTreeSet::new(), tickets: 0 };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, WriteQueueState> {
        // A poisoned state is still consistent: nothing in here can stop halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn, or returns how long that would take.
    pub(super) async fn pass(self: Arc<Self>, priority: WritePriority) -> Result<WritePermit, Duration> {
        let patience = Instant::now() + PATIENCE;
        let place = QueuePosition::take(&self, priority);
        loop {
            // Registered before the check, so that it misses no later change.
            let changed = self.changed.notified();
            let look = self.state().decide(place.ticket, patience);
            let until = match look {
                TurnDecision::Go => break Ok(WritePermit { queue: Arc::clone(&self) }),
                TurnDecision::RetryLater(wait) => break Err(wait),
                TurnDecision::Wait(until) => until,
            };
            tokio::select! {
                () = changed => {}
                () = sleep_until(until) => {}
            }
        }
    }

    pub(super) fn held_for(&self) -> Option<Duration> {
        self.state().pace.held_for(Instant::now())
    }

    pub(super) fn hold(&self, wait: Duration) {
        self.state().pace.hold(Instant::now() + wait);
        self.changed.notify_waiters();
    }
}

impl WriteQueueState {
    fn decide(&mut self, ticket: QueueTicket, patience: Instant) -> TurnDecision {
        let now = Instant::now();
        let due = self.pace.earliest(ticket.0, now);
        // Only the first can go: those behind it are never allowed earlier.
        let is_first = self.waiting.first() == Some(&ticket);
        if is_first && due.is_some_and(|due| due <= now) {
            self.pace.begin(now);
            return TurnDecision::Go;
        }
        if now >= patience || due.is_some_and(|due| due > patience) {
            let wait = due.map_or(Duration::ZERO, |due| due - now);
            return TurnDecision::RetryLater(wait.max(Duration::from_secs(1)));
        }
        TurnDecision::Wait(due.filter(|_| is_first).map_or(patience, |due| due.min(patience)))
    }
}

/// A place in the queue, freed when dropped.
struct QueuePosition<'a> {
    queue: &'a WriteQueue,
    ticket: QueueTicket,
}

impl<'a> QueuePosition<'a> {
    fn take(queue: &'a WriteQueue, priority: WritePriority) -> Self {
        let mut state = queue.state();
        state.tickets += 1;
        let ticket = (priority, state.tickets);
        state.waiting.insert(ticket);
        Self { queue, ticket }
    }
}

impl Drop for QueuePosition<'_> {
    fn drop(&mut self) {
        self.queue.state().waiting.remove(&self.ticket);
        self.queue.changed.notify_waiters();
    }
}

/// Permission for one write. It counts until it is dropped, which is when the answer has arrived.
#[derive(Debug)]
pub(crate) struct WritePermit {
    queue: Arc<WriteQueue>,
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        self.queue.state().pace.answered(Instant::now());
        self.queue.changed.notify_waiters();
    }
}
