//! When the next write may be sent: told from when the ones before were, and from nothing else.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

use super::{WriteLimits, WritePriority};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

/// What was written for an installation. A write that is under way counts as made now, because nobody knows when
/// GitHub counts it: it is within every window from when it is sent until a window's length after its answer. So the
/// limits hold at GitHub's end, however long a request is on its way.
#[derive(Debug)]
pub(super) struct WritePacer {
    limits: WriteLimits,
    sent: Option<Instant>,
    under_way: usize,
    /// When the latest were answered, in order; no more of them than any limit looks at.
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

    /// The earliest moment, from now on, at which one more may be sent, should nothing else be. None: not before one
    /// that is under way is answered.
    pub(super) fn earliest(&self, priority: WritePriority, now: Instant) -> Option<Instant> {
        let mut earliest = self.held.map_or(now, |held| now.max(held));
        if let Some(sent) = self.sent {
            earliest = earliest.max(sent + self.limits.interval);
        }
        for (limit, window) in self.windows() {
            // How many of those that are answered may still be within the window.
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

    /// The answer is there, or nobody waits for it any more.
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

    /// How long the pause still is that was asked for.
    pub(super) fn held_for(&self, now: Instant) -> Option<Duration> {
        self.held.and_then(|held| held.checked_duration_since(now)).filter(|left| !left.is_zero())
    }
}

/// How much of a limit a write of this priority may see used up, itself included.
fn share(limit: usize, priority: WritePriority) -> usize {
    match priority {
        WritePriority::Important => limit,
        WritePriority::Ordinary | WritePriority::Status => limit - limit / 4,
    }
}
