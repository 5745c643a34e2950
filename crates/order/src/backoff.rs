//! When to retry after a failure: one rule, and every schedule.
//!
//! May know: numbers. Must never know: a clock, or what is retried.

use std::time::Duration;

/// A schedule: a pause after the first failure, longer ones after further failures, and a limit on retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    /// The growth factor of each further pause.
    pub factor: u32,
    /// The longest pause of the schedule.
    pub longest: Duration,
    /// The longest pause that the other side may request, and what to do about a longer one.
    pub longest_asked: AskedPause,
    /// The number of retries; `None`: unlimited.
    pub retries: Option<u32>,
}

/// What to do about a requested pause that is longer than this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskedPause {
    /// Shorten the pause to this.
    CutTo(Duration),
    /// Do not wait: the caller decides.
    UpTo(Duration),
}

impl Backoff {
    /// An order's effect, or a notification: retries after 1, 4, 16, 64 and 256 seconds, then gives up.
    pub const EFFECT: Self = Self::of_seconds(1, 4, 256, Some(5));
    /// An effect while GitHub is down: retries after 1, 4, 16, 64 and 256 seconds, then every five minutes, for a day.
    pub const OUTAGE: Self = Self::of_seconds(1, 4, 300, Some(290));
    /// A final status that GitHub could not take until then: retries every hour, until it succeeds.
    pub const OWED: Self = Self::of_seconds(3_600, 1, 3_600, None);
    /// A request to GitHub that only reads: retries after 1 and 2 seconds. A longer outage is left to the effect.
    pub const REQUEST: Self = Self {
        longest_asked: AskedPause::UpTo(Duration::from_secs(2)),
        ..Self::of_seconds(1, 2, 2, Some(2))
    };
    /// Work that must continue eventually: a delivery whose facts GitHub cannot confirm yet, or an order whose store is
    /// unavailable.
    pub const UNTIL_IT_WORKS: Self =
        Self { longest_asked: AskedPause::CutTo(Duration::from_secs(8)), ..Self::of_seconds(1, 2, 8, None) };

    /// A schedule that waits up to an hour if the other side requests it.
    const fn of_seconds(first: u64, factor: u32, longest: u64, retries: Option<u32>) -> Self {
        Self {
            first: Duration::from_secs(first),
            factor,
            longest: Duration::from_secs(longest),
            longest_asked: AskedPause::CutTo(Duration::from_secs(3_600)),
            retries,
        }
    }

    /// The pause after this many failures in a row, from 1; `None` if there is no retry. A pause that the other side
    /// `asked` for replaces the schedule's.
    #[must_use]
    pub fn pause(&self, failures: u32, asked: Option<Duration>) -> Option<Duration> {
        if self.retries.is_some_and(|retries| failures > retries) {
            return None;
        }
        match (asked, self.longest_asked) {
            (None, _) => {
                let growth = self.factor.saturating_pow(failures.saturating_sub(1));
                Some(self.first.saturating_mul(growth).min(self.longest))
            }
            (Some(asked), AskedPause::CutTo(longest)) => Some(asked.min(longest)),
            (Some(asked), AskedPause::UpTo(longest)) => (asked <= longest).then_some(asked),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(schedule: Backoff, failures: u32, asked: Option<u64>) -> Option<u64> {
        schedule.pause(failures, asked.map(Duration::from_secs)).map(|pause| pause.as_secs())
    }

    #[test]
    fn pauses_grow_until_the_tries_are_used_up() {
        let pauses = |schedule| (1..=7).map(|failures| seconds(schedule, failures, None)).collect::<Vec<_>>();
        let all = |list: &[u64]| {
            let mut list: Vec<Option<u64>> = list.iter().copied().map(Some).collect();
            list.resize(7, None);
            list
        };
        assert_eq!(pauses(Backoff::EFFECT), all(&[1, 4, 16, 64, 256]));
        assert_eq!(pauses(Backoff::OUTAGE), all(&[1, 4, 16, 64, 256, 300, 300]));
        let all_day: u64 = (1..).map_while(|failures| seconds(Backoff::OUTAGE, failures, None)).sum();
        assert!((23 * 3_600..25 * 3_600).contains(&all_day), "{all_day} s");
        assert_eq!(pauses(Backoff::REQUEST), all(&[1, 2]));
        assert_eq!(pauses(Backoff::UNTIL_IT_WORKS), all(&[1, 2, 4, 8, 8, 8, 8]));
        assert_eq!(seconds(Backoff::UNTIL_IT_WORKS, u32::MAX, None), Some(8));
    }

    #[test]
    fn a_pause_that_is_asked_for_is_kept_within_bounds() {
        assert_eq!(seconds(Backoff::EFFECT, 1, Some(600)), Some(600));
        assert_eq!(seconds(Backoff::EFFECT, 1, Some(86_400)), Some(3_600));
        assert_eq!(seconds(Backoff::REQUEST, 1, Some(2)), Some(2));
        assert_eq!(seconds(Backoff::REQUEST, 1, Some(3)), None, "whoever called decides");
        assert_eq!(seconds(Backoff::REQUEST, 3, Some(0)), None, "it was tried often enough");
    }
}
