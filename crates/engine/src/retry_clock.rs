//! Failures to retry, each by its key, with the time when the retry is due.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use journeyman_order::Backoff;

const MOMENT: Duration = Duration::from_millis(100);

/// One schedule for many keys: repeated failures wait longer and delay no other key.
#[derive(Debug)]
pub(super) struct RetryClock<K>(BTreeMap<K, FailureStreak>);

impl<K> Default for RetryClock<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

#[derive(Debug, Clone, Copy)]
struct FailureStreak {
    failures: u32,
    due: Instant,
}

impl<K: Ord> RetryClock<K> {
    pub(super) fn failed(&mut self, key: K) {
        let now = Instant::now();
        let streak = self.0.entry(key).or_insert(FailureStreak { failures: 0, due: now });
        streak.failures = streak.failures.saturating_add(1);
        let schedule = Backoff::UNTIL_IT_WORKS;
        streak.due = now + schedule.pause(streak.failures, None).unwrap_or(schedule.longest);
    }

    pub(super) fn worked(&mut self, key: &K) {
        self.0.remove(key);
    }

    pub(super) fn is_waiting(&self, key: &K) -> bool {
        self.0.get(key).is_some_and(|streak| streak.due > Instant::now())
    }

    pub(super) fn is_any_due(&self) -> bool {
        let now = Instant::now();
        self.0.values().any(|streak| streak.due <= now)
    }

    pub(super) fn retain(&mut self, may: impl Fn(&K) -> bool) {
        self.0.retain(|key, _| may(key));
    }

    /// The time until the first retry is due; at least a moment, since an overdue one may have to wait for others.
    pub(super) fn next_due(&self) -> Option<Duration> {
        let now = Instant::now();
        let first = self.0.values().map(|streak| streak.due.saturating_duration_since(now)).min();
        first.map(|pause| pause.max(MOMENT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_fails_often_waits_longer_and_nobody_else_waits_with_it() {
        let mut clock = RetryClock::default();
        for pause in [1, 2, 4, 8, 8] {
            clock.failed("acme/answers");
            assert!(clock.is_waiting(&"acme/answers") && !clock.is_waiting(&"acme/questions"));
            assert_eq!(clock.next_due(), Some(Duration::from_secs(pause)));
            assert!(!clock.is_any_due());
            tokio::time::advance(Duration::from_secs(pause)).await;
            assert!(!clock.is_waiting(&"acme/answers") && clock.is_any_due());
            assert_eq!(clock.next_due(), Some(MOMENT));
        }
        clock.worked(&"acme/answers");
        assert_eq!(clock.next_due(), None);
        clock.failed("acme/answers");
        assert_eq!(clock.next_due(), Some(Duration::from_secs(1)), "a new streak begins at the beginning");
    }
}
