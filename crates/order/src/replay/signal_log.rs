//! What was heard so far, as the replay asks for it.

use std::ops::Range;

use chrono::{DateTime, Utc};

use crate::ids::{CommitSha, Person, PullNumber};
use crate::journal::{Journal, JournalEvent};
use crate::journal_index::EntryKind;
use crate::moves::{Move, MoveKey};
use crate::pipeline::{Check, Pipeline, Stage, StageOutput};
use crate::settlement::Settlement;
use crate::signal::Requester;
use crate::signal::ReviewVerdict;

#[derive(Debug, Default)]
pub(crate) struct SignalLog {
    /// Words that open an order again, in order.
    pub(crate) commands: Vec<AppliedCommand>,
    /// Why the order was cancelled, each time, and in which entry.
    pub(crate) cancels: Vec<(u64, String)>,
    /// What was said and done about the pull request, in the order in which it counts.
    pub(crate) pull_events: Vec<PullEvent>,
    pub(crate) closures: Vec<PullClosure>,
    pub(crate) plan_decisions: Vec<(u64, PlanDecision)>,
    /// Whether a review or a remark waits for GitHub to tell its author's rights.
    pub(crate) asks_for_reviewers: bool,
    /// Changes of the issue that are taken in.
    pub(crate) text_updates: Vec<TextUpdate>,
    /// Changes of the issue that the order goes on without until somebody says `/retry`.
    pub(crate) text_waits: TextNews,
    /// Of which kinds of change people were told that.
    pub(crate) text_kept: TextNews,
    /// Questions about rights that are not answered yet.
    pub(crate) pending: Vec<(MoveKey, Move)>,
    /// When the next of them is to be asked again.
    pub(crate) ask_again: Option<DateTime<Utc>>,
    pub(crate) answers: Vec<AnsweredSignal>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextNews {
    pub(crate) edit: bool,
    /// Somebody commented whose comments belong to the task.
    pub(crate) comment: bool,
}

impl TextNews {
    pub(crate) fn is_any(self) -> bool {
        self.edit || self.comment
    }
}

/// A change of the issue that is taken in: before the next run of an agent it is read.
#[derive(Debug)]
pub(crate) struct TextUpdate {
    pub(crate) seq: u64,
    /// The stages whose last run was told the old text, and is to be made anew.
    pub(crate) sends_back: Vec<String>,
}

/// A word that counts, and where it was taken.
#[derive(Debug)]
pub(crate) struct AppliedCommand {
    pub(crate) seq: u64,
    /// What it is about: 0 the pipeline, else the which-th answer to people.
    pub(crate) segment: u32,
    pub(crate) command: ResumeCommand,
}

/// What opens an order again.
#[derive(Debug)]
pub(crate) enum ResumeCommand {
    Retried { guidance: Option<String> },
    Approved { by: String },
    StatementDropped { number: u32, by: String },
}

/// Something about the pull request that may be answered.
#[derive(Debug)]
pub(crate) struct PullEvent {
    pub(crate) seq: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) kind: PullEventKind,
}

#[derive(Debug)]
pub(crate) enum PullEventKind {
    /// A person who may asked for changes, or said something.
    Reviewed {
        by: Person,
        review: u64,
        verdict: ReviewVerdict,
    },
    /// A person who may wrote a comment.
    Remarked {
        by: Person,
        comment: u64,
    },
    /// `/retry`, with or without advice, when nothing was left to do.
    Asked {
        by: Requester,
        guidance: Option<String>,
    },
    /// Checks of others finished.
    Checked {
        head: CommitSha,
    },
    /// The branch is at this commit.
    Pushed {
        head: CommitSha,
    },
    BaseMoved,
}

#[derive(Debug)]
pub(crate) struct PullClosure {
    pub(crate) seq: u64,
    pub(crate) pull: PullNumber,
    pub(crate) by: String,
    pub(crate) how: PullClosureKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PullClosureKind {
    Merged,
    TurnedDown,
    Reopened,
}

impl PullClosure {
    pub(crate) fn is_merged(&self) -> bool {
        self.how == PullClosureKind::Merged
    }

    pub(crate) fn settlement(&self) -> Settlement {
        let (pull, by) = (self.pull, self.by.clone());
        if self.is_merged() { Settlement::Merged { pull, by } } else { Settlement::Closed { pull, by } }
    }
}

#[derive(Debug)]
pub(crate) enum PlanDecision {
    Approved,
    Again { guidance: Option<String> },
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredSignal {
    pub signal: u64,
    pub answer: SignalAnswer,
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalAnswer {
    Taken,
    /// It is kept in mind; whether there is something to do about it will be seen when the pull request is read.
    Noted,
    /// It is being asked whether the person may.
    Asking,
    NoRight(String),
    Ignored(String),
}

impl ResumeCommand {
    pub(crate) fn is_retry(&self) -> bool {
        matches!(self, Self::Retried { .. })
    }

    pub(crate) fn approved_by(&self) -> Option<&str> {
        if let Self::Approved { by } = self { Some(by) } else { None }
    }
}

/// What was heard, for one part of an order: a word is about what it was said to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalLogView<'a> {
    pub(crate) log: &'a SignalLog,
    /// 0 the pipeline, else the which-th answer to people.
    pub(crate) segment: u32,
}

impl<'a> SignalLogView<'a> {
    fn commands(self) -> impl DoubleEndedIterator<Item = &'a AppliedCommand> {
        self.log.commands.iter().filter(move |spoken| spoken.segment == self.segment)
    }

    /// The first word that counts and came after this entry.
    pub(crate) fn command_after(self, seq: u64) -> Option<&'a ResumeCommand> {
        self.commands_after(seq).next()
    }

    pub(crate) fn commands_after(self, seq: u64) -> impl Iterator<Item = &'a ResumeCommand> {
        self.commands().filter(move |spoken| spoken.seq > seq).map(|spoken| &spoken.command)
    }

    /// The statements that people dropped after this entry, with the entries that say so.
    pub(crate) fn dropped_after(self, seq: u64) -> impl Iterator<Item = (u64, u32, &'a str)> {
        self.commands().filter(move |spoken| spoken.seq > seq).filter_map(|spoken| {
            let ResumeCommand::StatementDropped { number, by } = &spoken.command else { return None };
            Some((spoken.seq, *number, by.as_str()))
        })
    }

    /// Whether a `/retry` came after this entry, whatever came between: of stages side by side each has its own word.
    pub(crate) fn has_retry_after(self, seq: u64) -> bool {
        self.commands_after(seq).any(ResumeCommand::is_retry)
    }

    /// Whether the first word after this entry is a `/retry`.
    pub(crate) fn retried_after(self, seq: u64) -> bool {
        self.command_after(seq).is_some_and(ResumeCommand::is_retry)
    }

    /// Who approved after this entry, whatever else was said: for work that nothing is wrong with.
    pub(crate) fn approved_after(self, seq: u64) -> Option<&'a str> {
        self.commands_after(seq).find_map(ResumeCommand::approved_by)
    }

    /// Who approved, when that is the last word after this entry.
    pub(crate) fn approved_last_after(self, seq: u64) -> Option<&'a str> {
        self.commands().next_back().filter(|spoken| spoken.seq > seq)?.command.approved_by()
    }

    /// What the last `/retry` after this entry advises.
    pub(crate) fn guidance_after(self, seq: u64) -> Option<&'a str> {
        let last = self.commands().rfind(|spoken| spoken.command.is_retry() && spoken.seq > seq)?;
        if let ResumeCommand::Retried { guidance } = &last.command { guidance.as_deref() } else { None }
    }

    /// The last wish for another plan in a span of entries, and what it advises.
    pub(crate) fn other_plan_within(self, span: Range<u64>) -> Option<(u64, Option<&'a str>)> {
        self.log.plan_decisions.iter().rev().find_map(|(said, decision)| {
            let PlanDecision::Again { guidance } = decision else { return None };
            span.contains(said).then_some((*said, guidance.as_deref()))
        })
    }

    pub(crate) fn plan_decision_after(self, seq: u64) -> Option<&'a (u64, PlanDecision)> {
        self.log.plan_decisions.iter().find(|(said, _)| *said > seq)
    }
}

impl SignalLog {
    /// Where a budget was granted last: by the last `/retry` that counts, in whatever words.
    pub(crate) fn last_retry(&self) -> Option<u64> {
        let words = self.commands.iter().filter(|spoken| spoken.command.is_retry()).map(|spoken| spoken.seq);
        let asked =
            self.pull_events.iter().filter(|occasion| matches!(occasion.kind, PullEventKind::Asked { .. }));
        words.chain(asked.map(|occasion| occasion.seq)).max()
    }

    /// What was said and done about the pull request after one entry and before another; without that one, until now.
    pub(crate) fn pull_events_within(&self, after: u64, before: Option<u64>) -> &[PullEvent] {
        let first = self.pull_events.partition_point(|event| event.seq <= after);
        let end = before.map_or(self.pull_events.len(), |before| {
            self.pull_events.partition_point(|event| event.seq < before)
        });
        self.pull_events.get(first..end).unwrap_or_default()
    }

    /// Why the order is cancelled, if it is.
    pub(crate) fn cancelled(&self) -> Option<&str> {
        let (at, because) = self.cancels.last()?;
        let is_reopened = self.commands.iter().any(|spoken| spoken.seq > *at);
        (!is_reopened).then_some(because.as_str())
    }

    /// The first word that ended the order, whether it has gone on since or not.
    pub(crate) fn first_end(&self) -> Option<u64> {
        let cancels = self.cancels.iter().map(|(seq, _)| *seq);
        cancels.chain(self.closures.iter().map(|closure| closure.seq)).min()
    }

    pub(crate) fn closed(&self) -> Option<&PullClosure> {
        self.closures.last().filter(|closure| closure.how != PullClosureKind::Reopened)
    }
}

/// Whether an agent was asked for code before this entry.
pub(super) fn has_code(pipeline: &Pipeline, journal: &Journal, seq: u64) -> bool {
    let is_of_code = |stage: &Stage| {
        stage.checks.contains(&Check::PushedCommit) || stage.output == Some(StageOutput::CodeArtifact)
    };
    let is_code = |intended: &Move| matches!(intended, Move::RunAgent(task) if pipeline.stage(&task.stage).is_some_and(is_of_code));
    let mut starts = journal.whole().before(seq).of_kind(EntryKind::Start);
    starts.any(|entry| matches!(&entry.event, JournalEvent::Intended { r#move, .. } if is_code(r#move)))
}
