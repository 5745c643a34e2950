//! How long it took from one entry to the next, although the clock that stamped them may have been set meanwhile.
//!
//! May know: stamps, and the time now, which is believed. Must never know: what the entries say.
//!
//! A clock that goes back was ahead until then, or is behind from then on: it went ahead as far before, or does so after. Where it
//! was ahead, that is taken off the pause in which it went ahead. Nothing is added and nothing lost: all pauses together are what the
//! first stamp is before the time now.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::backoff::CLOCK_AHEAD;
use crate::journal::JournalEntry;

/// So many entries are looked at for the pause in which a clock went ahead.
const MOST_LOOKED_AT: usize = 1_000;

/// The stamps of a journal's first entries, and after them the time now.
pub(super) struct JournalClock<'a> {
    entries: &'a [JournalEntry],
    now: DateTime<Utc>,
    /// What the pause before a stamp was longer than it looks, or shorter.
    corrected: BTreeMap<usize, TimeDelta>,
}

impl<'a> JournalClock<'a> {
    pub(super) fn read(entries: &'a [JournalEntry], now: DateTime<Utc>) -> Self {
        let mut clock = Self { entries, now, corrected: BTreeMap::new() };
        for place in 1..=entries.len() {
            let back = -clock.stamped(place);
            if back <= CLOCK_AHEAD {
                continue;
            }
            let is_as_far = |other: &usize| clock.passed(*other) + CLOCK_AHEAD >= back;
            let before = (1..place).rev().take(MOST_LOOKED_AT).find(is_as_far);
            let after = (place + 1..=entries.len()).take(MOST_LOOKED_AT).find(is_as_far);
            // What is much longer has another reason: a night.
            let is_nearer =
                |before: usize| after.is_none_or(|after| clock.passed(before) <= clock.passed(after));
            if let Some(before) = before.filter(|before| is_nearer(*before)) {
                *clock.corrected.entry(before).or_default() -= back;
                *clock.corrected.entry(place).or_default() += back;
            }
        }
        clock
    }

    /// How long it took from the entry before to this one. Less than nothing where a clock went back, and did not go ahead
    /// before in one go.
    pub(super) fn before(&self, seq: u64) -> TimeDelta {
        usize::try_from(seq.saturating_sub(1)).map_or(TimeDelta::zero(), |place| self.passed(place))
    }

    /// How long it is since the last entry.
    pub(super) fn since_last(&self) -> TimeDelta {
        self.passed(self.entries.len())
    }

    fn passed(&self, place: usize) -> TimeDelta {
        self.stamped(place) + self.corrected.get(&place).copied().unwrap_or_default()
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
    fn a_clock_that_was_ahead_went_ahead_in_the_pause_that_fits() {
        assert_eq!(pauses(&[0, 1, 301, 302, 4]), [1, 2, 1, 0]);
        assert_eq!(pauses(&[0, 1, 301, 302, 4, 700]), [1, 2, 1, 0, 696], "and its time has come since");
        assert_eq!(pauses(&[0, 1, 601, 602, 3, 4, 604, 5]), [1, 1, 1, 0, 1, 1, 0], "twice");
        assert_eq!(pauses(&[0, 310, 311, 631, 632, 333, 334]), [310, 1, 21, 1, 0, 1], "after a night");
        assert_eq!(pauses(&[0, 400, 401, 402]), [400, 1, 1], "never");
    }

    #[test]
    fn a_clock_that_goes_back_otherwise_is_told_as_it_is() {
        assert_eq!(pauses(&[900, 901, 2, 3, 904]), [1, -899, 1, 901], "behind");
        assert_eq!(pauses(&[0, 180, 181, 62, 63, 184]), [180, 1, -119, 1, 121], "behind, after some hours");
        assert_eq!(pauses(&[900, 901, 2, 3]), [1, -899, 1], "behind, still");
        assert_eq!(pauses(&[300, 301, 3]), [1, -298], "ahead since before the order began");
        assert_eq!(pauses(&[0, 1, 62, 183, 4, 5]), [1, 61, 121, -179, 1], "ahead in two steps");
    }

    proptest! {
        #[test]
        fn what_passed_while_a_clock_was_wrong_is_known_but_for_where_it_was_set(
            gaps in prop::collection::vec(0_i64..60, 3..40),
            (from, length) in (0_usize..40, 1_usize..40),
            offset in prop_oneof![200_i64..30_000_000, -30_000_000_i64..-200],
            inexact in 0_i64..200,
        ) {
            let (from, wrong) = (from % gaps.len(), from % gaps.len()..from % gaps.len() + length);
            let times = gaps.iter().scan(40_000_000, |at, gap| { *at += gap; Some(*at) });
            let is_wrong = |place: usize| wrong.contains(&place) && place + 1 < gaps.len();
            let stamps: Vec<i64> = times
                .enumerate()
                .map(|(place, at)| if is_wrong(place) { at + offset } else { at })
                .collect();
            let read = pauses(&stamps);
            let is_set = |place: usize| place == from || place == wrong.end.min(gaps.len() - 1);
            for (place, pause) in (1..).zip(&read) {
                prop_assert!(is_set(place) || *pause == gaps[place], "{place} of {gaps:?}: {read:?}");
            }
            // However it was set.
            let stamps: Vec<i64> = stamps
                .iter()
                .enumerate()
                .map(|(place, at)| if is_wrong(place) && !is_wrong(place + 1) { at - inexact } else { *at })
                .collect();
            let all = stamps.last().unwrap() - stamps[0];
            prop_assert_eq!(pauses(&stamps).iter().sum::<i64>(), all);
        }
    }
}
