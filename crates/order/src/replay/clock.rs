//! How long it took from one entry to the next, although the clock that stamped them may have been set meanwhile.
//!
//! May know: stamps, and the time now, which is believed. Must never know: what the entries say.
//!
//! A clock that goes back was ahead until then, or is behind from then on. Either way it went ahead as far in one go,
//! before or after: that is taken off the shortest pause which is long enough.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::backoff::CLOCK_AHEAD;
use crate::journal::JournalEntry;

/// The stamps of a journal's first entries, and after them the time now.
pub(super) struct JournalClock<'a> {
    entries: &'a [JournalEntry],
    now: DateTime<Utc>,
    /// How much of the time before a stamp did not pass.
    skipped: BTreeMap<usize, TimeDelta>,
}

impl<'a> JournalClock<'a> {
    pub(super) fn read(entries: &'a [JournalEntry], now: DateTime<Utc>) -> Self {
        let mut clock = Self { entries, now, skipped: BTreeMap::new() };
        for place in 1..=entries.len() {
            let back = -clock.stamped(place);
            if back > CLOCK_AHEAD {
                let as_far = (1..=entries.len()).filter(|other| clock.passed(*other) + CLOCK_AHEAD >= back);
                if let Some(ahead) = as_far.min_by_key(|other| clock.passed(*other)) {
                    *clock.skipped.entry(ahead).or_default() += back;
                }
            }
        }
        clock
    }

    /// How long it took from the entry before to this one, or to now from the last.
    pub(super) fn before(&self, seq: u64) -> TimeDelta {
        usize::try_from(seq.saturating_sub(1)).map_or(TimeDelta::zero(), |place| self.passed(place))
    }

    /// How long it is since the last entry.
    pub(super) fn since_last(&self) -> TimeDelta {
        self.passed(self.entries.len())
    }

    fn passed(&self, place: usize) -> TimeDelta {
        let skipped = self.skipped.get(&place).copied().unwrap_or_default();
        (self.stamped(place) - skipped).max(TimeDelta::zero())
    }

    /// The same, as the stamps have it.
    fn stamped(&self, place: usize) -> TimeDelta {
        let earlier = place.checked_sub(1).and_then(|earlier| self.entries.get(earlier));
        let later = self.entries.get(place).map_or(self.now, |entry| entry.at);
        earlier.map_or(TimeDelta::zero(), |earlier| later - earlier.at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::journal::JournalEvent;
    use crate::signal::{Requester, Signal, SignalKind};

    /// The pauses in minutes that a journal is read to have, from these minutes of its stamps, the last of which is now.
    fn pauses(stamps: &[i64]) -> Vec<i64> {
        let at = |minutes: i64| DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(minutes);
        let (now, stamps) = stamps.split_last().unwrap();
        let entries: Vec<JournalEntry> = (1..)
            .zip(stamps)
            .map(|(seq, minutes)| {
                let signal = Signal { by: Requester::ApiToken, kind: SignalKind::IssueLocked };
                let event = JournalEvent::Signaled { delivery: None, signal };
                JournalEntry { seq, at: at(*minutes), event }
            })
            .collect();
        let clock = JournalClock::read(&entries, at(*now));
        let read = entries.iter().skip(1).map(|entry| clock.before(entry.seq));
        read.chain([clock.since_last()]).map(|pause| pause.num_minutes()).collect()
    }

    #[test]
    fn a_clock_that_is_set_takes_no_time() {
        assert_eq!(pauses(&[0, 1, 301, 302, 4]), [1, 2, 1, 0], "ahead");
        assert_eq!(pauses(&[0, 1, 301, 302, 4, 700]), [1, 2, 1, 0, 696], "and its time has come since");
        assert_eq!(pauses(&[300, 301, 3]), [1, 0], "ahead since before the order began");
        assert_eq!(pauses(&[900, 901, 2, 3, 904]), [1, 0, 1, 2], "behind");
        assert_eq!(pauses(&[900, 901, 2, 3]), [1, 0, 1], "behind, still");
        assert_eq!(pauses(&[0, 1, 601, 602, 3, 4, 604, 5]), [1, 1, 1, 0, 1, 1, 0], "ahead twice");
        assert_eq!(pauses(&[0, 400, 401, 402]), [400, 1, 1], "a night");
    }

    proptest! {
        #[test]
        fn what_passed_while_a_clock_was_wrong_is_known_but_for_where_it_was_set(
            gaps in prop::collection::vec(0_i64..60, 3..40),
            (from, length) in (0_usize..40, 1_usize..40),
            offset in prop_oneof![200_i64..30_000_000, -30_000_000_i64..-200],
        ) {
            let (from, wrong) = (from % gaps.len(), from % gaps.len()..from % gaps.len() + length);
            let times = gaps.iter().scan(40_000_000, |at, gap| { *at += gap; Some(*at) });
            let stamps: Vec<i64> = times
                .enumerate()
                .map(|(place, at)| if wrong.contains(&place) && place + 1 < gaps.len() { at + offset } else { at })
                .collect();
            let read = pauses(&stamps);
            let is_set = |place: usize| place == from || place == wrong.end.min(gaps.len() - 1);
            for (place, pause) in (1..).zip(&read) {
                prop_assert!(is_set(place) || *pause == gaps[place], "{place} of {gaps:?}: {read:?}");
            }
            // Where it began with a wrong clock nothing says how long the first pause was.
            if from > 0 {
                prop_assert_eq!(read.iter().sum::<i64>(), gaps.iter().skip(1).sum::<i64>());
            }
        }
    }
}
