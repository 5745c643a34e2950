//! The queue of one installation.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::pace::{Begun, Pace};
use super::{Priority, WriteLimits};

/// Nobody waits longer: a limit of minutes is sat out here, one of the hour is for whoever called, who can rest.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Something became possible sooner, or will not for long: everybody looks again.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    pace: Pace,
    waiting: BTreeSet<Ticket>,
    tickets: u64,
}

type Ticket = (Priority, u64);

enum Look {
    Go(Begun),
    /// Nothing happens by itself before this.
    Wait(Instant),
    /// It would take longer than anybody waits here.
    ComeBack(Duration),
}

impl Queue {
    pub(super) fn new(limits: WriteLimits) -> Self {
        let state = State { pace: Pace::new(limits), waiting: BTreeSet::new(), tickets: 0 };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A poisoned state is whole all the same: nothing in here can end halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for its turn; else tells how long it would be to wait.
    pub(super) async fn pass(self: Arc<Self>, priority: Priority) -> Result<Permit, Duration> {
        let patience = Instant::now() + PATIENCE;
        let place = Place::take(&self, priority);
        let mut has_just_come = true;
        loop {
            // Before the look, so that no change after it is missed.
            let changed = self.changed.notified();
            let look = self.state().look(place.ticket, patience, has_just_come);
            let until = match look {
                Look::Go(begun) => break Ok(Permit { queue: Arc::clone(&self), begun, sent: true }),
                Look::ComeBack(wait) => break Err(wait),
                Look::Wait(until) => until,
            };
            has_just_come = false;
            tokio::select! {
                () = changed => {}
                () = sleep_until(until) => {}
            }
        }
    }

    pub(super) fn hold(&self, wait: Duration) {
        self.state().pace.hold(Instant::now() + wait);
        self.changed.notify_waiters();
    }
}

impl State {
    fn look(&mut self, ticket: Ticket, patience: Instant, has_just_come: bool) -> Look {
        let now = Instant::now();
        let (priority, _) = ticket;
        // Only whoever is first can go: those behind are allowed no more than they are.
        let due = match self.waiting.first() {
            Some(first) if *first == ticket => self.pace.earliest(priority, now),
            Some(_) | None => None,
        };
        if due.is_some_and(|due| due <= now) {
            return Look::Go(self.pace.begin(now));
        }
        // Later looks need no forecast: those who overtake are found out by the clock.
        if has_just_come || now >= patience || self.pace.is_held_beyond(patience) {
            let line = self.waiting.range(..=ticket).map(|(priority, _)| *priority);
            let forecast = self.pace.forecast(line, now);
            if now >= patience || forecast > patience {
                return Look::ComeBack((forecast - now).max(Duration::from_secs(1)));
            }
        }
        Look::Wait(due.map_or(patience, |due| due.min(patience)))
    }
}

/// A place in the queue, given free when it is dropped.
struct Place<'a> {
    queue: &'a Queue,
    ticket: Ticket,
}

impl<'a> Place<'a> {
    fn take(queue: &'a Queue, priority: Priority) -> Self {
        let mut state = queue.state();
        state.tickets += 1;
        let ticket = (priority, state.tickets);
        state.waiting.insert(ticket);
        Self { queue, ticket }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.queue.state().waiting.remove(&self.ticket);
        self.queue.changed.notify_waiters();
    }
}

/// Leave for one write. It counts from now until it is dropped, which is to be when the answer is there.
#[derive(Debug)]
pub(crate) struct Permit {
    queue: Arc<Queue>,
    begun: Begun,
    sent: bool,
}

impl Permit {
    /// Nothing was sent after all, and nothing counts.
    pub(crate) fn give_back(mut self) {
        self.sent = false;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        if self.sent {
            state.pace.answered(Instant::now());
        } else {
            state.pace.take_back(self.begun);
        }
        drop(state);
        self.queue.changed.notify_waiters();
    }
}
