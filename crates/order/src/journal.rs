//! The append-only record of an order. The only truth; everything else is derived from it.

use chrono::{DateTime, Utc};

use super::effect_name::EffectScope;
use super::examination::IssueExamination;
pub use super::journal_entry::{
    EarlierPull, IssueText, JOURNAL_FORMAT, JournalEntry, JournalEvent, OrderInput,
};
use super::journal_index::{EntryKind, JournalIndex, JournalPrefix};
use super::moves::{AgentTask, EffectOutcome, Move, MoveKey, PreparedRepository};
use super::order_request::OrderRequest;
use super::pipeline::Pipeline;
use super::role::Role;
use super::settings::RepositorySettings;
use super::task::{TaskComments, TaskText};

/// All entries of one order, in order. It always has the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    opened: OrderInput,
    opened_at: DateTime<Utc>,
    entries: Vec<JournalEntry>,
    index: JournalIndex,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJournal {
    #[error("the journal is empty")]
    Empty,
    #[error("the journal does not begin with the order's opening")]
    NotOpened,
    #[error("entry {found} stands where {expected} belongs")]
    Gap { expected: u64, found: u64 },
    #[error("it has format {found}, and this Journeyman reads formats up to {JOURNAL_FORMAT}")]
    Newer { found: u32 },
}

impl Journal {
    pub fn new(entries: Vec<JournalEntry>) -> Result<Self, InvalidJournal> {
        for (expected, entry) in (1_u64..).zip(&entries) {
            if entry.seq != expected {
                return Err(InvalidJournal::Gap { expected, found: entry.seq });
            }
        }
        let first = entries.first().ok_or(InvalidJournal::Empty)?;
        let JournalEvent::Opened(opened) = &first.event else { return Err(InvalidJournal::NotOpened) };
        if opened.format > JOURNAL_FORMAT {
            return Err(InvalidJournal::Newer { found: opened.format });
        }
        let mut index = JournalIndex::default();
        for (place, entry) in entries.iter().enumerate() {
            index.push(place, &entry.event);
        }
        Ok(Self { opened: (**opened).clone(), opened_at: first.at, entries, index })
    }

    pub fn opened(&self) -> &OrderInput {
        &self.opened
    }

    pub fn opened_at(&self) -> DateTime<Utc> {
        self.opened_at
    }

    pub fn entries(&self) -> &[JournalEntry] {
        &self.entries
    }

    pub fn last_seq(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.seq)
    }

    /// Appends an entry that was just written; it must be the next one.
    pub fn push(&mut self, entry: JournalEntry) -> Result<(), InvalidJournal> {
        let expected = self.last_seq() + 1;
        if entry.seq != expected {
            return Err(InvalidJournal::Gap { expected, found: entry.seq });
        }
        self.index.push(self.entries.len(), &entry.event);
        self.entries.push(entry);
        Ok(())
    }

    /// Its first `length` entries, for lookups.
    pub(crate) fn first(&self, length: usize) -> JournalPrefix<'_> {
        JournalPrefix::new(&self.entries, &self.index, length)
    }

    pub(crate) fn whole(&self) -> JournalPrefix<'_> {
        self.first(self.entries.len())
    }

    /// Whether an effect's last entry is its intent.
    pub fn is_under_way(&self, key: &MoveKey) -> bool {
        self.open_start(key).is_some()
    }

    /// The number of an effect's last entry, if that is its intent: the start that it is under way with.
    pub fn open_start(&self, key: &MoveKey) -> Option<u64> {
        self.whole().open_start(key)
    }

    pub fn intended(&self, key: &MoveKey) -> impl DoubleEndedIterator<Item = &Move> {
        self.whole().intended(key).map(|(_, intended)| intended)
    }

    pub fn observed(&self, key: &MoveKey) -> impl DoubleEndedIterator<Item = &EffectOutcome> {
        self.whole().observed(key).map(|seen| seen.outcome)
    }

    /// When an effect was first intended; retries do not change it.
    pub fn begun_at(&self, key: &MoveKey) -> Option<DateTime<Utc>> {
        self.whole().begun_at(key)
    }

    /// How many times an effect was observed, which is the number of completed attempts.
    pub fn attempts(&self, key: &MoveKey) -> usize {
        self.observed(key).count()
    }

    /// The task: the issue as it was read last.
    pub fn task(&self) -> TaskText {
        task_after(&self.opened, self.whole())
    }

    /// The journal after its first `length` entries; `None` for 0.
    pub fn prefix(&self, length: usize) -> Option<Self> {
        let entries: Vec<JournalEntry> = self.entries.iter().take(length).cloned().collect();
        Self::new(entries).ok()
    }

    /// The order's inputs from its repository, once it was fetched.
    pub fn prepared(&self) -> Option<&PreparedRepository> {
        // A fix on the default branch causes another fetch.
        self.whole().of_kind(EntryKind::Text).rev().find_map(|entry| {
            let JournalEvent::Observed { outcome, .. } = &entry.event else { return None };
            let EffectOutcome::Prepared(prepared) = &**outcome else { return None };
            Some(&**prepared)
        })
    }

    /// The latest examination of the issue; `None` if there was none.
    pub fn examination(&self) -> Option<IssueExamination> {
        let (_, _, run) = self.whole().runs().rev().find(|(_, key, _)| self.is_of_examiner(key))?;
        IssueExamination::parse(run.complete_answer()).ok()
    }

    /// The examiner's latest task.
    pub fn examined_by(&self) -> Option<&AgentTask> {
        self.whole().of_kind(EntryKind::Start).rev().find_map(|entry| {
            let JournalEvent::Intended { key, r#move } = &entry.event else { return None };
            let Move::RunAgent(task) = &**r#move else { return None };
            self.is_of_examiner(key).then_some(task)
        })
    }

    fn is_of_examiner(&self, key: &MoveKey) -> bool {
        self.pipeline().examiner().is_some_and(|stage| key.scope() == EffectScope::Stage(&stage.name))
    }

    /// The role with this name: the repository's own, or the server's.
    pub fn role(&self, name: &str) -> Option<&Role> {
        let own = self.prepared().and_then(|prepared| prepared.roles.get(name));
        own.or_else(|| self.opened.roles.get(name))
    }

    /// The agent's name in the settings for a role of the pipeline. The request decides first, then the repository, the
    /// role and the server.
    pub fn agent_for(&self, role: &str, request: &OrderRequest, settings: &RepositorySettings) -> String {
        let chosen = request.agent().or_else(|| settings.agents.get(role).map(String::as_str));
        let by_role = || self.role(role).and_then(|role| role.runtime.as_deref());
        chosen.or_else(by_role).unwrap_or(&self.opened.agent).to_owned()
    }

    /// The pinned pipeline: the repository's, once it is known.
    pub fn pipeline(&self) -> &Pipeline {
        self.prepared().and_then(|prepared| prepared.pipeline.as_ref()).unwrap_or(&self.opened.pipeline)
    }
}

/// The task as these entries pin it: the issue's text at the start of the order, or as it was read last.
pub(crate) fn task_after(opened: &OrderInput, prefix: JournalPrefix<'_>) -> TaskText {
    let mut text = TaskText {
        title: opened.issue.title.clone(),
        body: opened.issue.body.clone(),
        comments: TaskComments::default(),
        attachments: Vec::new(),
    };
    for entry in prefix.of_kind(EntryKind::Text) {
        let JournalEvent::Observed { outcome, .. } = &entry.event else { continue };
        if let EffectOutcome::Prepared(prepared) = &**outcome {
            text.comments.clone_from(&prepared.comments);
            text.attachments.clone_from(&prepared.attachments);
        }
        if let EffectOutcome::IssueRead { title, body, comments, attachments } = &**outcome {
            let (title, body, comments) = (title.clone(), body.clone(), comments.clone());
            text = TaskText { title, body, comments, attachments: attachments.clone() };
        }
    }
    text
}
