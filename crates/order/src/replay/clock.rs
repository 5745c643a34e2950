//! How long it took from one entry to the next, although the clock that stamped them may have been set meanwhile.
//!
//! May know: stamps, the time now, which is believed, and which pauses matter to whoever asks. Must never know: what the entries say.
//!
//! A clock that goes back was ahead until then, or is behind from then on: it went ahead as far before, or does so after. That
//! is taken off the pause in which it went ahead, as far as anybody can tell which it was, so that all pauses together stay what
//! the first stamp is before the time now. In doubt it was one that matters: nobody is charged for a clock.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use crate::backoff::CLOCK_AHEAD;
use crate::journal::JournalEntry;

/// A clock that goes back more often is not followed.
const MOST_STEPS: usize = 100;

/// The stamps of a journal's first entries, and after them the time now.
pub(super) struct JournalClock<'a> {
    entries: &'a [JournalEntry],
    now: DateTime<Utc>,
    /// What the pause before a stamp was longer than it looks, or shorter.
    corrected: BTreeMap<usize, TimeDelta>,
}

impl<'a> JournalClock<'a> {
    /// `matters` says of an entry whether the pause before it does.
    pub(super) fn read(
        entries: &'a [JournalEntry],
        now: DateTime<Utc>,
        matters: impl Fn(u64) -> bool,
    ) -> Self {
        let mut clock = Self { entries, now, corrected: BTreeMap::new() };
        let steps = (1..=entries.len()).filter(|place| clock.stamped(*place) < -CLOCK_AHEAD);
        for place in steps.take(MOST_STEPS).collect::<Vec<_>>() {
            let back = -clock.stamped(place);
            let (ours, all) = clock.others(place, &matters);
            let taken = clock.gone_ahead(&ours, back).or_else(|| clock.gone_ahead(&all, back));
            for (ahead, by) in taken.unwrap_or_default() {
                *clock.corrected.entry(ahead).or_default() -= by;
            }
            *clock.corrected.entry(place).or_default() += back;
        }
        clock
    }

    /// The other pauses that matter, and all others; the longest first.
    fn others(&self, place: usize, matters: impl Fn(u64) -> bool) -> (Vec<usize>, Vec<usize>) {
        let mut all: Vec<usize> = (1..=self.entries.len()).filter(|other| *other != place).collect();
        all.sort_by_key(|other| std::cmp::Reverse(self.passed(*other)));
        let is_ours = |other: &usize| self.entries.get(*other).is_some_and(|entry| matters(entry.seq));
        (all.iter().copied().filter(is_ours).collect(), all)
    }

    /// In which of these pauses, the longest of which come first, and by how much, a clock went ahead that went back so far: in
    /// the shortest that is long enough. Where none is, it was set in steps, in the longest ones. None where all are too short.
    fn gone_ahead(&self, pauses: &[usize], back: TimeDelta) -> Option<Vec<(usize, TimeDelta)>> {
        let is_as_far = |other: &&usize| self.passed(**other) + CLOCK_AHEAD >= back;
        if let Some(ahead) = pauses.iter().rfind(is_as_far) {
            return Some(vec![(*ahead, back)]);
        }
        let (mut left, mut taken) = (back, Vec::new());
        for other in pauses {
            let by = self.passed(*other).min(left);
            if by <= TimeDelta::zero() {
                break;
            }
            taken.push((*other, by));
            left -= by;
        }
        (left <= CLOCK_AHEAD).then_some(taken)
    }

    /// How long it took from the entry before to this one.
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
        pauses_with(stamps, &[])
    }

    /// The same, where the pauses before these places do not matter.
    fn pauses_with(stamps: &[i64], waited: &[u64]) -> Vec<i64> {
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
        let clock = JournalClock::read(&entries, at(*now), |seq| !waited.contains(&(seq - 1)));
        let read = entries.iter().skip(1).map(|entry| clock.before(entry.seq));
        read.chain([clock.since_last()]).map(|pause| pause.num_minutes()).collect()
    }

    #[test]
    fn a_clock_that_was_ahead_went_ahead_in_the_pause_that_fits() {
        assert_eq!(pauses(&[0, 1, 301, 302, 4]), [1, 2, 1, 0]);
        assert_eq!(pauses(&[0, 1, 301, 302, 4, 700]), [1, 2, 1, 0, 696], "and its time has come since");
        assert_eq!(pauses(&[0, 1, 601, 602, 3, 4, 604, 5]), [1, 1, 1, 0, 1, 1, 0], "twice");
        assert_eq!(
            pauses_with(&[0, 310, 311, 631, 632, 333, 334], &[1]),
            [310, 1, 21, 1, 0, 1],
            "after a night"
        );
        assert_eq!(pauses(&[0, 400, 401, 402]), [400, 1, 1], "never");
    }

    #[test]
    fn a_clock_that_is_behind_goes_ahead_in_the_pause_that_fits() {
        assert_eq!(pauses(&[900, 901, 2, 3, 904]), [1, 0, 1, 2]);
        assert_eq!(pauses(&[0, 180, 181, 62, 63, 184, 185]), [180, 1, 0, 1, 2, 1], "after some hours");
        assert_eq!(pauses(&[720, 721, 602, 603, 740]), [1, 0, 1, 18], "before anybody was at work");
        let night = pauses_with(&[1000, 1030, 740, 1340, 1350, 1670, 1671], &[3]);
        assert_eq!(night, [30, 0, 600, 10, 30, 1], "and a night is between");
        assert_eq!(pauses(&[900, 901, 2, 3]), [1, 0, 1], "still");
    }

    #[test]
    fn a_clock_that_is_set_in_steps_takes_no_time_either() {
        assert_eq!(pauses(&[0, 1, 62, 183, 4, 5]), [1, 3, 0, 0, 1], "ahead");
        assert_eq!(pauses(&[900, 901, 602, 783, 905]), [1, 0, 0, 4], "behind");
        assert_eq!(pauses(&[300, 310, 20, 30, 100]), [10, 0, 10, 70], "ahead since before the order began");
        assert_eq!(
            pauses(&[0, 1, 62, 183, 4, 5, 400]),
            [1, 3, 0, 0, 1, 395],
            "and somebody is waited for since"
        );
        let before = pauses_with(&[0, 40, 41, 51, 22, 102, 103], &[1]);
        assert_eq!(before, [40, 1, 10, 0, 51, 1], "and what came before does not matter");
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
            let (read, all) = (pauses(&stamps), stamps.last().unwrap() - stamps[0]);
            prop_assert!(read.iter().all(|pause| *pause >= -1), "{:?}", read);
            if from > 0 {
                prop_assert!((read.iter().sum::<i64>() - all).abs() <= 1, "{:?}", read);
            }
        }
    }
}
