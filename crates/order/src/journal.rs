//! The append-only record of an order. The only truth; everything else is derived from it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{
    BranchName, CommitSha, DeliveryGuid, InstallationId, IssueNumber, OrderId, PullNumber, RepositoryId,
    RepositoryName,
};
use super::moves::{EffectOutcome, Move, MoveKey};
use super::order_request::OrderRequest;
use super::pinned_value;
use super::pipeline::Pipeline;
use super::reproduction::Reproduction;
use super::role::Role;
use super::settings::{OrderLimits, RepositorySettings};
use super::signal::{Requester, Signal};
use super::task::{TaskComments, TaskText};

/// The form of journals that this program writes, from 1; it reads all before it. It rises when an older program would
/// take what is written for something else than it is. What an older program cannot read at all needs no other number.
pub const JOURNAL_FORMAT: u32 = 2;

/// Of journals from before their form was written down.
fn first_format() -> u32 {
    1
}

/// One line of the record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Its place, from 1, without gaps.
    pub seq: u64,
    /// When it was written, by the clock of whoever wrote it.
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    pub event: JournalEvent,
}

/// What can happen to an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum JournalEvent {
    /// The order began. Always the first entry and only there.
    Opened(Box<OrderInput>),
    /// Somebody said or did something.
    Signaled {
        signal: Signal,
        /// The delivery that brought it; none when it came through the API.
        delivery: Option<DeliveryGuid>,
    },
    /// An effect is about to be made.
    Intended {
        /// Its name; the same effect has the same name for ever.
        key: MoveKey,
        r#move: Box<Move>,
    },
    /// What was observed of an effect.
    Observed { key: MoveKey, outcome: Box<EffectOutcome> },
}

/// What an order starts from. The issue's text is pinned here: edits after the label change nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OrderInput {
    /// The form of its journal: [`JOURNAL_FORMAT`] of the program that opened it.
    #[serde(default = "first_format")]
    pub format: u32,
    pub order: OrderId,
    /// Where the issue is.
    pub repository: RepositoryName,
    pub repository_id: RepositoryId,
    /// The installation that may act there; none where it has to be asked for.
    pub installation: Option<InstallationId>,
    /// The branch that the pull request goes to.
    pub default_branch: String,
    pub issue: IssueText,
    /// Who asked for it.
    pub by: Requester,
    /// What they asked for besides. It counts only if they may.
    #[serde(default, skip_serializing_if = "OrderRequest::is_bare")]
    pub request: OrderRequest,
    /// When the label was put on, by GitHub's clock; none where it was not the label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labeled_at: Option<DateTime<Utc>>,
    /// The comment with which they asked; none where it was the label, or the API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<u64>,
    /// The pipeline unless the repository names another.
    #[serde(deserialize_with = "pinned_value::read")]
    pub pipeline: Pipeline,
    /// The agent that does what no role of the pipeline or the repository is given to.
    pub agent: String,
    /// What it may cost.
    pub limits: OrderLimits,
    /// The roles, by name, unless the repository has its own.
    #[serde(default, deserialize_with = "pinned_value::read")]
    pub roles: BTreeMap<String, Role>,
    /// The pull requests that earlier orders of the issue had, the latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierPull>,
}

/// The pull request of an earlier order, which is not gone on with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierPull {
    pub pull: PullNumber,
    pub branch: BranchName,
    /// Merged rather than turned down.
    pub merged: bool,
    /// Still open, of an order whose journal cannot be read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

impl OrderInput {
    /// What is worked on, as these entries pin it: as it was when the order began, or as it was read last.
    pub fn task_after(&self, entries: &[JournalEntry]) -> TaskText {
        let mut text = TaskText {
            title: self.issue.title.clone(),
            body: self.issue.body.clone(),
            comments: TaskComments::default(),
            attachments: Vec::new(),
        };
        for entry in entries {
            let JournalEvent::Observed { outcome, .. } = &entry.event else { continue };
            if let EffectOutcome::Prepared { comments, attachments, .. } = &**outcome {
                text.comments.clone_from(comments);
                text.attachments.clone_from(attachments);
            }
            if let EffectOutcome::IssueRead { title, body, comments, attachments } = &**outcome {
                text = TaskText {
                    title: title.clone(),
                    body: body.clone(),
                    comments: comments.clone(),
                    attachments: attachments.clone(),
                };
            }
        }
        text
    }
}

/// An issue, as it was when work started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueText {
    pub number: IssueNumber,
    pub title: String,
    /// Its body; empty when there is none.
    pub body: String,
    pub url: String,
    /// Its labels when work began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// All entries of one order, in order. There is always the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Journal {
    opened: OrderInput,
    opened_at: DateTime<Utc>,
    entries: Vec<JournalEntry>,
}

/// Why entries are not a journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJournal {
    #[error("the journal is empty")]
    Empty,
    /// It does not begin with `opened`.
    #[error("the journal does not begin with the order's opening")]
    NotOpened,
    /// One is missing or twice there.
    #[error("entry {found} stands where {expected} belongs")]
    Gap {
        /// The number that belongs there.
        expected: u64,
        /// The one that is there.
        found: u64,
    },
    /// A newer program opened it.
    #[error("it has format {found}, and this Journeyman reads formats up to {JOURNAL_FORMAT}")]
    Newer {
        /// Its format.
        found: u32,
    },
}

/// Why an entry cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnreadableEntry {
    /// A newer program opened the journal.
    #[error("{}", InvalidJournal::Newer { found: *.0 })]
    Newer(u32),
    /// It is damaged, or has what this program does not know.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl JournalEvent {
    /// Reads one as it was written, by this program or an older one.
    ///
    /// # Errors
    /// Why it cannot be read. The text of it may be in the message.
    pub fn read(text: &str) -> Result<Self, UnreadableEntry> {
        #[derive(Deserialize)]
        struct Format {
            format: u32,
        }
        serde_json::from_str(text).map_err(|error| match serde_json::from_str::<Format>(text) {
            Ok(Format { format }) if format > JOURNAL_FORMAT => UnreadableEntry::Newer(format),
            Ok(_) | Err(_) => error.into(),
        })
    }
}

impl Journal {
    /// Reads entries as a journal.
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
        Ok(Self { opened: (**opened).clone(), opened_at: first.at, entries })
    }

    /// What the order starts from.
    pub fn opened(&self) -> &OrderInput {
        &self.opened
    }

    /// When it began.
    pub fn opened_at(&self) -> DateTime<Utc> {
        self.opened_at
    }

    /// Every entry.
    pub fn entries(&self) -> &[JournalEntry] {
        &self.entries
    }

    /// The number of the last entry.
    pub fn last_seq(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.seq)
    }

    /// Adds what was just written; it must be the next entry.
    pub fn push(&mut self, entry: JournalEntry) -> Result<(), InvalidJournal> {
        let expected = self.last_seq() + 1;
        if entry.seq != expected {
            return Err(InvalidJournal::Gap { expected, found: entry.seq });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// The journal as it was after its first `length` entries; none for 0.
    pub fn prefix(&self, length: usize) -> Option<Self> {
        let entries: Vec<JournalEntry> = self.entries.iter().take(length).cloned().collect();
        Self::new(entries).ok()
    }

    /// What the order works with, once its repository was fetched.
    pub fn prepared(&self) -> Option<PreparedRepository<'_>> {
        // Fetched again after a default branch was mended.
        self.entries.iter().rev().find_map(|entry| {
            if let JournalEvent::Observed { outcome, .. } = &entry.event
                && let EffectOutcome::Prepared {
                    base,
                    default,
                    settings,
                    pipeline,
                    roles,
                    subjects,
                    template,
                    ..
                } = &**outcome
            {
                Some(PreparedRepository {
                    base,
                    default: default.as_ref(),
                    settings,
                    pipeline: pipeline.as_deref(),
                    roles,
                    subjects,
                    template: template.as_deref(),
                })
            } else {
                None
            }
        })
    }

    /// The reproduction of the plan that was read last.
    pub fn reproduction(&self) -> Option<Reproduction> {
        let plan = self.entries.iter().rev().find_map(|entry| {
            if let JournalEvent::Observed { outcome, .. } = &entry.event
                && let EffectOutcome::FilesFound { content, .. } = &**outcome
            {
                Some(content.as_deref())
            } else {
                None
            }
        })?;
        Reproduction::of_plan(plan?)
    }

    /// The role of that name: the repository's own, or the server's.
    pub fn role(&self, name: &str) -> Option<&Role> {
        let own = self.prepared().and_then(|prepared| prepared.roles.get(name));
        own.or_else(|| self.opened.roles.get(name))
    }

    /// The agent's name in the settings for a role of the pipeline: as was asked for, or as the repository says, or the
    /// role, or the server.
    pub fn agent_for(&self, role: &str, request: &OrderRequest, settings: &RepositorySettings) -> String {
        let chosen = request.agent().or_else(|| settings.agents.get(role).map(String::as_str));
        let by_role = || self.role(role).and_then(|role| role.runtime.as_deref());
        chosen.or_else(by_role).unwrap_or(&self.opened.agent).to_owned()
    }

    /// The pipeline that is pinned: the repository's, once it is known.
    pub fn pipeline(&self) -> &Pipeline {
        self.prepared().and_then(|prepared| prepared.pipeline).unwrap_or(&self.opened.pipeline)
    }
}

/// What an order works with.
#[derive(Debug, Clone, Copy)]
pub struct PreparedRepository<'a> {
    /// The commit that the work starts from.
    pub base: &'a CommitSha,
    /// That of the default branch, where it is another.
    pub default: Option<&'a CommitSha>,
    /// The repository's settings on the default branch.
    pub settings: &'a RepositorySettings,
    /// The pipeline that the repository names, if it names one.
    pub pipeline: Option<&'a Pipeline>,
    /// Roles that the repository has in place of ours.
    pub roles: &'a BTreeMap<String, Role>,
    /// How titles of commits are written here.
    pub subjects: &'a [String],
    /// Its template of a pull request's text.
    pub template: Option<&'a str>,
}
