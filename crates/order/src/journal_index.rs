//! An index of a journal's entries, maintained as it grows, so that readers of long journals need not search.
//!
//! May know: entries. Must never know: what follows from them.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use foldhash::fast::RandomState;

use super::agent_run::AgentRun;
use super::effect_name::{EffectScope, MoveKey, ReservedWord};
use super::journal_entry::{JournalEntry, JournalEvent};
use super::moves::{EffectOutcome, Move};

/// Kinds of entries to look up. An entry has at most one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    Signal,
    Start,
    Run,
    /// The issue was read, with or without its repository.
    Text,
    /// The environment was prepared, or failed to be.
    Environment,
    /// The remote confirmed or rejected a commit of ours.
    Push,
    TakeIn,
    Status,
    Check,
}

impl EntryKind {
    #[expect(clippy::wildcard_enum_match_arm, reason = "nobody looks for the others")]
    fn of(event: &JournalEvent) -> Option<Self> {
        let key = match event {
            JournalEvent::Opened(_) => return None,
            JournalEvent::Signaled { .. } => return Some(Self::Signal),
            JournalEvent::Intended { key, .. } | JournalEvent::Observed { key, .. } => key,
        };
        match (key.scope(), event) {
            (EffectScope::Beside(ReservedWord::Status), _) => Some(Self::Status),
            (EffectScope::Beside(ReservedWord::Check), _) => Some(Self::Check),
            (_, JournalEvent::Intended { r#move, .. }) => {
                matches!(**r#move, Move::RunAgent(_)).then_some(Self::Start)
            }
            (_, JournalEvent::Observed { outcome, .. }) => match &**outcome {
                EffectOutcome::AgentRan(_) => Some(Self::Run),
                EffectOutcome::Prepared(_) | EffectOutcome::IssueRead { .. } => Some(Self::Text),
                EffectOutcome::EnvironmentPrepared(_) => Some(Self::Environment),
                EffectOutcome::Pushed | EffectOutcome::PushDeclined { .. } => Some(Self::Push),
                EffectOutcome::TakenIn { .. } => Some(Self::TakeIn),
                _ => None,
            },
            (_, JournalEvent::Opened(_) | JournalEvent::Signaled { .. }) => None,
        }
    }
}

/// Positions of entries, from 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct JournalIndex {
    effects: HashMap<MoveKey, Vec<usize>, RandomState>,
    kinds: BTreeMap<EntryKind, Vec<usize>>,
}

impl JournalIndex {
    pub(super) fn push(&mut self, place: usize, event: &JournalEvent) {
        if let Some(kind) = EntryKind::of(event) {
            self.kinds.entry(kind).or_default().push(place);
        }
        let (JournalEvent::Intended { key, .. } | JournalEvent::Observed { key, .. }) = event else { return };
        // Most keys are known already and need no copy.
        if let Some(places) = self.effects.get_mut(key) {
            places.push(place);
        } else {
            self.effects.insert(key.clone(), vec![place]);
        }
    }
}

/// The first entries of a journal, without later ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JournalPrefix<'a> {
    entries: &'a [JournalEntry],
    index: &'a JournalIndex,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation<'a> {
    pub(crate) seq: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) outcome: &'a EffectOutcome,
}

impl<'a> JournalPrefix<'a> {
    pub(super) fn new(entries: &'a [JournalEntry], index: &'a JournalIndex, length: usize) -> Self {
        Self { entries: entries.get(..length).unwrap_or(entries), index }
    }

    pub(crate) fn entries(self) -> &'a [JournalEntry] {
        self.entries
    }

    pub(crate) fn before(self, seq: u64) -> Self {
        let length = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        Self::new(self.entries, self.index, length)
    }

    pub(crate) fn of_kind(self, kind: EntryKind) -> impl DoubleEndedIterator<Item = &'a JournalEntry> {
        self.at(self.index.kinds.get(&kind))
    }

    fn of_effect(self, key: &MoveKey) -> impl DoubleEndedIterator<Item = &'a JournalEntry> + use<'a> {
        self.at(self.index.effects.get(key))
    }

    fn at(
        self,
        places: Option<&'a Vec<usize>>,
    ) -> impl DoubleEndedIterator<Item = &'a JournalEntry> + use<'a> {
        let places = places.map_or(&[][..], Vec::as_slice);
        let known = places.partition_point(|place| *place < self.entries.len());
        places.get(..known).unwrap_or_default().iter().filter_map(move |place| self.entries.get(*place))
    }

    /// Every observed agent run, with its entry.
    pub(crate) fn runs(self) -> impl DoubleEndedIterator<Item = (u64, &'a MoveKey, &'a AgentRun)> {
        self.of_kind(EntryKind::Run).filter_map(|entry| {
            let JournalEvent::Observed { key, outcome } = &entry.event else { return None };
            let EffectOutcome::AgentRan(run) = &**outcome else { return None };
            Some((entry.seq, key, &**run))
        })
    }

    pub(crate) fn observed(
        self,
        key: &MoveKey,
    ) -> impl DoubleEndedIterator<Item = Observation<'a>> + use<'a> {
        self.of_effect(key).filter_map(|entry| {
            let JournalEvent::Observed { outcome, .. } = &entry.event else { return None };
            Some(Observation { seq: entry.seq, at: entry.at, outcome })
        })
    }

    /// Every intent of an effect, with its entry, in order.
    pub(crate) fn intended(
        self,
        key: &MoveKey,
    ) -> impl DoubleEndedIterator<Item = (u64, &'a Move)> + use<'a> {
        self.of_effect(key).filter_map(|entry| {
            let JournalEvent::Intended { r#move, .. } = &entry.event else { return None };
            Some((entry.seq, &**r#move))
        })
    }

    pub(crate) fn begun_at(self, key: &MoveKey) -> Option<DateTime<Utc>> {
        let mut intended =
            self.of_effect(key).filter(|entry| matches!(entry.event, JournalEvent::Intended { .. }));
        intended.next().map(|entry| entry.at)
    }

    /// Whether an effect's last entry is its intent.
    pub(crate) fn is_under_way(self, key: &MoveKey) -> bool {
        self.open_start(key).is_some()
    }

    pub(crate) fn is_under_way_since(self, key: &MoveKey, seq: u64) -> bool {
        self.open_start(key).is_some_and(|start| start > seq)
    }

    pub(crate) fn open_start(self, key: &MoveKey) -> Option<u64> {
        let last = self.of_effect(key).next_back()?;
        matches!(last.event, JournalEvent::Intended { .. }).then_some(last.seq)
    }
}
