//! How long an order was at work, by the entries of its journal and not by the clock.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use journeyman_order::{
    EffectOutcome, EffectScope, Journal, JournalEntry, JournalEvent, Move, MoveKey, ReservedWord,
};

/// When there was news last. Showing the status is none.
pub(super) fn last_news(journal: &Journal) -> DateTime<Utc> {
    news(journal).last().map_or(journal.opened_at(), |entry| entry.at)
}

fn news(journal: &Journal) -> impl Iterator<Item = &JournalEntry> {
    journal.entries().iter().filter(|entry| match &entry.event {
        JournalEvent::Intended { r#move, .. } => !matches!(**r#move, Move::ShowStatus { .. }),
        JournalEvent::Observed { key, outcome } => {
            !matches!(**outcome, EffectOutcome::StatusShown { .. }) && !is_status(key)
        }
        JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => true,
    })
}

fn is_status(key: &MoveKey) -> bool {
    key.scope() == EffectScope::Beside(ReservedWord::Status)
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
            JournalEvent::Intended { key, .. } if counts(key) => {
                open.insert(key);
                has_begun = true;
            }
            JournalEvent::Observed { key, .. } => {
                open.remove(key);
            }
            JournalEvent::Intended { .. } | JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    has_begun.then(|| u64::try_from(worked.num_seconds()).unwrap_or_default())
}

/// Effects that were begun and not observed since, in the order in which they were begun.
pub(super) fn under_way(journal: &Journal) -> Vec<(&MoveKey, &Move)> {
    let mut open: Vec<(&MoveKey, &Move)> = Vec::new();
    for entry in news(journal) {
        match &entry.event {
            JournalEvent::Intended { key, r#move } => {
                open.retain(|(known, _)| *known != key);
                open.push((key, r#move));
            }
            JournalEvent::Observed { key, .. } => open.retain(|(known, _)| *known != key),
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
        }
    }
    open
}
