//! Computes when the next write may be sent, only from the times of earlier writes.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

use super::{WriteLimits, WritePriority};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// The writes of an installation. A write in progress counts as made now, because GitHub may count it at any time: it
/// is in every window from when it is sent until a window's length after its answer. So GitHub's limits hold, however
/// long a request takes.
#[derive(Debug)]
pub(super) struct WritePacer {
    limits: WriteLimits,
    sent: Option<Instant>,
    under_way: usize,
    /// The times of the latest answers, in order; no more than the limits need.
    answered: VecDeque<Instant>,
    held: Option<Instant>,
}

impl WritePacer {
    pub(super) fn new(limits: WriteLimits) -> Self {
        Self { limits, sent: None, under_way: 0, answered: VecDeque::new(), held: None }
    }

    fn windows(&self) -> impl Iterator<Item = (usize, Duration)> {
        let Self { limits: WriteLimits { per_minute, per_hour, .. }, .. } = *self;
        let size = |limit: NonZeroU32| usize::try_from(limit.get()).unwrap_or(usize::MAX);
        [(per_minute, MINUTE), (per_hour, HOUR)]
            .into_iter()
            .filter_map(move |(limit, window)| Some((size(limit?), window)))
    }

    /// The earliest time at which one more may be sent, if nothing else happens. `None`: not before a write in progress
    /// is answered.
    pub(super) fn earliest(&self, priority: WritePriority, now: Instant) -> Option<Instant> {
        let mut earliest = self.held.map_or(now, |held| now.max(held));
        if let Some(sent) = self.sent {
            earliest = earliest.max(sent + self.limits.interval);
        }
        for (limit, window) in self.windows() {
            // How many of the answered writes may still be in the window.
            let others = share(limit, priority).checked_sub(self.under_way + 1)?;
            if let Some(last_to_go) = self.answered.len().checked_sub(others + 1) {
                earliest = earliest.max(self.answered[last_to_go] + window);
            }
        }
        Some(earliest)
    }

    pub(super) fn begin(&mut self, at: Instant) {
        self.under_way += 1;
        self.sent = Some(at);
    }

    /// The answer has arrived, or its caller gave up.
    pub(super) fn answered(&mut self, at: Instant) {
        self.under_way = self.under_way.saturating_sub(1);
        let most = self.windows().map(|(limit, _)| limit).max().unwrap_or(0);
        self.answered.push_back(at);
        while self.answered.len() > most || self.answered.front().is_some_and(|first| *first + HOUR <= at) {
            self.answered.pop_front();
        }
    }

    pub(super) fn hold(&mut self, until: Instant) {
        self.held = Some(self.held.map_or(until, |held| held.max(until)));
    }

    /// The rest of the pause that GitHub asked for.
    pub(super) fn held_for(&self, now: Instant) -> Option<Duration> {
        self.held.and_then(|held| held.checked_duration_since(now)).filter(|left| !left.is_zero())
    }
}

/// How much of a limit may be used, including a write of this priority.
fn share(limit: usize, priority: WritePriority) -> usize {
    match priority {
        WritePriority::Important => limit,
        WritePriority::Ordinary | WritePriority::Status => limit - limit / 4,
    }
}
