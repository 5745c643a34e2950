//! How long the order waited for a GitHub that was away.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::journal::JournalEvent;
use crate::journal_index::{EffectNumber, EntryKind, JournalPrefix};
use crate::moves::{EffectError, EffectOutcome, Retry};

/// Shorter outages are not told.
const TOLD: TimeDelta = TimeDelta::minutes(5);

/// How long it took from one moment to the next. A clock that was set back counts as no time.
pub(super) fn passed(from: DateTime<Utc>, until: DateTime<Utc>) -> TimeDelta {
    (until - from).max(TimeDelta::zero())
}

/// The effects that found nobody when they were tried last.
#[derive(Debug, Default)]
pub(crate) struct AwayEffects(BTreeSet<EffectNumber>);

impl AwayEffects {
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome was an answer")]
    pub(crate) fn observe(&mut self, effect: EffectNumber, outcome: &EffectOutcome) {
        match outcome {
            EffectOutcome::Trouble(EffectError { retry: Retry::Outage, .. }) => self.0.insert(effect),
            _ => self.0.remove(&effect),
        };
    }

    /// Whether nothing is under way but tries to reach somebody who is away.
    pub(crate) fn are_all_of(&self, under_way: &[EffectNumber]) -> bool {
        !self.0.is_empty() && under_way.iter().all(|effect| self.0.contains(effect))
    }
}

/// What people are told once it is over, if it was long enough to be noticed.
pub(super) fn note(prefix: JournalPrefix<'_>) -> Option<String> {
    prefix.of_kind(EntryKind::Outage).next()?;
    let mut away = AwayEffects::default();
    // An outage that still goes on is not told yet.
    let (mut waited, mut waiting) = (TimeDelta::zero(), TimeDelta::zero());
    let mut last = prefix.entries().first()?.at;
    for (entry, effect) in prefix.numbered() {
        if !away.0.is_empty() {
            waiting += passed(last, entry.at);
        }
        last = entry.at;
        let (JournalEvent::Observed { key, outcome }, Some(effect)) = (&entry.event, effect) else {
            continue;
        };
        // The order waits for none of these, and a status cannot say how long itself was not shown.
        if matches!(key.0.split('/').next(), Some("status" | "check" | "tidy")) {
            continue;
        }
        away.observe(effect, outcome);
        if away.0.is_empty() {
            waited += std::mem::take(&mut waiting);
        }
    }
    if waited < TOLD {
        return None;
    }
    let (hours, minutes) = (waited.num_hours(), waited.num_minutes() % 60);
    let took = if hours > 0 { format!("{hours} h {minutes} min") } else { format!("{minutes} min") };
    // A disk without room and a signer that is away are waited for in the same way.
    Some(format!(
        "For {took}, GitHub or what git needs on this machine could not be used: the order waited for it."
    ))
}
