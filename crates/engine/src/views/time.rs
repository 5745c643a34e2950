//! How long an order was at work, by the entries of its journal and not by the clock.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use journeyman_order::{EffectScope, Entry, Event, Journal, Move, MoveKey, Outcome, Reserved};

/// When there was news last. Showing the status is none.
pub(super) fn last_news(journal: &Journal) -> DateTime<Utc> {
    news(journal).last().map_or(journal.opened_at(), |entry| entry.at)
}

fn news(journal: &Journal) -> impl Iterator<Item = &Entry> {
    journal.entries().iter().filter(|entry| match &entry.event {
        Event::Intended { r#move, .. } => !matches!(**r#move, Move::ShowStatus { .. }),
        Event::Observed { key, outcome } => {
            !matches!(**outcome, Outcome::StatusShown { .. }) && !is_status(key)
        }
        Event::Opened(_) | Event::Signaled { .. } => true,
    })
}

fn is_status(key: &MoveKey) -> bool {
    key.scope() == EffectScope::Beside(Reserved::Status)
}

/// Seconds in which an effect was under way that this holds of; none when there never was one. What is waited for
/// between effects, a person above all, is not counted.
pub(super) fn seconds_at_work(journal: &Journal, counts: impl Fn(&MoveKey) -> bool) -> Option<u64> {
    let mut open: BTreeSet<&MoveKey> = BTreeSet::new();
    let mut worked = TimeDelta::zero();
    let mut before: Option<DateTime<Utc>> = None;
    let mut has_begun = false;
    for entry in news(journal) {
        if let (false, Some(before)) = (open.is_empty(), before) {
            worked += (entry.at - before).max(TimeDelta::zero());
        }
        before = Some(entry.at);
        match &entry.event {
            Event::Intended { key, .. } if counts(key) => {
                open.insert(key);
                has_begun = true;
            }
            Event::Observed { key, .. } => {
                open.remove(key);
            }
            Event::Intended { .. } | Event::Opened(_) | Event::Signaled { .. } => {}
        }
    }
    has_begun.then(|| u64::try_from(worked.num_seconds()).unwrap_or_default())
}

/// Effects that were begun and not observed since, in the order in which they were begun.
pub(super) fn under_way(journal: &Journal) -> Vec<(&MoveKey, &Move)> {
    let mut open: Vec<(&MoveKey, &Move)> = Vec::new();
    for entry in news(journal) {
        match &entry.event {
            Event::Intended { key, r#move } => {
                open.retain(|(known, _)| *known != key);
                open.push((key, r#move));
            }
            Event::Observed { key, .. } => open.retain(|(known, _)| *known != key),
            Event::Opened(_) | Event::Signaled { .. } => {}
        }
    }
    open
}
