//! The signals heard so far, as the replay queries them.

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
    /// Commands that reopen the order, oldest first.
    pub(crate) commands: Vec<AppliedCommand>,
    /// Each cancellation: its entry and the reason.
    pub(crate) cancels: Vec<(u64, String)>,
    /// Events on the pull request, in the order in which they take effect.
    pub(crate) pull_events: Vec<PullEvent>,
    pub(crate) closures: Vec<PullClosure>,
    pub(crate) plan_decisions: Vec<(u64, PlanDecision)>,
    /// Whether GitHub has yet to report the rights of a review's or remark's author.
    pub(crate) asks_for_reviewers: bool,
    /// Changes of the issue that the order takes in.
    pub(crate) text_updates: Vec<TextUpdate>,
    /// Changes of the issue that wait for a `/retry`.
    pub(crate) text_waits: TextNews,
    /// The kinds of change that people are told the order ignores until then.
    pub(crate) text_kept: TextNews,
    /// Permission checks that GitHub has not answered.
    pub(crate) pending: Vec<(MoveKey, Move)>,
    /// When to retry the next of them.
    pub(crate) ask_again: Option<DateTime<Utc>>,
    pub(crate) answers: Vec<AnsweredSignal>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TextNews {
    pub(crate) edit: bool,
    /// A comment that belongs to the task.
    pub(crate) comment: bool,
}

impl TextNews {
    pub(crate) fn is_any(self) -> bool {
        self.edit || self.comment
    }
}

/// A change of the issue that is read before the next agent run.
#[derive(Debug)]
pub(crate) struct TextUpdate {
    pub(crate) seq: u64,
    /// The stages whose last run saw the old text and must run again.
    pub(crate) sends_back: Vec<String>,
}

/// A command that took effect, and the entry where it did.
#[derive(Debug)]
pub(crate) struct AppliedCommand {
    pub(crate) seq: u64,
    /// What it applies to: 0 is the pipeline, `n` the nth answer to people.
    pub(crate) segment: u32,
    pub(crate) command: ResumeCommand,
}

/// A command that reopens an order.
#[derive(Debug)]
pub(crate) enum ResumeCommand {
    Retried { guidance: Option<String> },
    Approved { by: String },
    StatementDropped { number: u32, by: String },
}

/// An event on the pull request that may need an answer.
#[derive(Debug)]
pub(crate) struct PullEvent {
    pub(crate) seq: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) kind: PullEventKind,
}

#[derive(Debug)]
pub(crate) enum PullEventKind {
    /// A person with write access asked for changes or commented in a review.
    Reviewed {
        by: Person,
        review: u64,
        verdict: ReviewVerdict,
    },
    /// A person with write access wrote a comment.
    Remarked {
        by: Person,
        comment: u64,
    },
    /// A `/retry`, with or without advice, that asks for another answer.
    Asked {
        by: Requester,
        guidance: Option<String>,
    },
    /// The repository's checks finished on this commit.
    Checked {
        head: CommitSha,
    },
    /// The branch moved to this commit.
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

/// A signal and how it was handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsweredSignal {
    pub signal: u64,
    pub answer: SignalAnswer,
}

/// How a signal was handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignalAnswer {
    Taken,
    /// Nothing changes now. The next read of the pull request decides whether there is anything to do.
    Noted,
    /// GitHub has yet to report the person's rights.
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

/// The signals of one segment of an order: a command applies only to the segment where it was given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignalLogView<'a> {
    pub(crate) log: &'a SignalLog,
    /// 0 is the pipeline, `n` the nth answer to people.
    pub(crate) segment: u32,
}

impl<'a> SignalLogView<'a> {
    fn commands(self) -> impl DoubleEndedIterator<Item = &'a AppliedCommand> {
        self.log.commands.iter().filter(move |spoken| spoken.segment == self.segment)
    }

    /// The first command after this entry.
    pub(crate) fn command_after(self, seq: u64) -> Option<&'a ResumeCommand> {
        self.commands_after(seq).next()
    }

    pub(crate) fn commands_after(self, seq: u64) -> impl Iterator<Item = &'a ResumeCommand> {
        self.commands().filter(move |spoken| spoken.seq > seq).map(|spoken| &spoken.command)
    }

    /// The statements that people dropped after this entry: entry, number and person.
    pub(crate) fn dropped_after(self, seq: u64) -> impl Iterator<Item = (u64, u32, &'a str)> {
        self.commands().filter(move |spoken| spoken.seq > seq).filter_map(|spoken| {
            let ResumeCommand::StatementDropped { number, by } = &spoken.command else { return None };
            Some((spoken.seq, *number, by.as_str()))
        })
    }

    /// Whether any `/retry` followed this entry. Commands in between may be meant for parallel stages.
    pub(crate) fn has_retry_after(self, seq: u64) -> bool {
        self.commands_after(seq).any(ResumeCommand::is_retry)
    }

    /// Whether the first command after this entry is a `/retry`.
    pub(crate) fn retried_after(self, seq: u64) -> bool {
        self.command_after(seq).is_some_and(ResumeCommand::is_retry)
    }

    /// Who approved first after this entry, whatever other commands were given.
    pub(crate) fn approved_after(self, seq: u64) -> Option<&'a str> {
        self.commands_after(seq).find_map(ResumeCommand::approved_by)
    }

    /// Who approved, if that is the last command and came after this entry.
    pub(crate) fn approved_last_after(self, seq: u64) -> Option<&'a str> {
        self.commands().next_back().filter(|spoken| spoken.seq > seq)?.command.approved_by()
    }

    /// The advice in the last `/retry` after this entry.
    pub(crate) fn guidance_after(self, seq: u64) -> Option<&'a str> {
        let last = self.commands().rfind(|spoken| spoken.command.is_retry() && spoken.seq > seq)?;
        if let ResumeCommand::Retried { guidance } = &last.command { guidance.as_deref() } else { None }
    }

    /// The last request for another plan within a span of entries, and its advice.
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
    /// The entry of the last effective `/retry`, in whatever form: it granted a new budget.
    pub(crate) fn last_retry(&self) -> Option<u64> {
        let words = self.commands.iter().filter(|spoken| spoken.command.is_retry()).map(|spoken| spoken.seq);
        let asked =
            self.pull_events.iter().filter(|occasion| matches!(occasion.kind, PullEventKind::Asked { .. }));
        words.chain(asked.map(|occasion| occasion.seq)).max()
    }

    /// Events on the pull request after one entry and before another, or until now.
    pub(crate) fn pull_events_within(&self, after: u64, before: Option<u64>) -> &[PullEvent] {
        let first = self.pull_events.partition_point(|event| event.seq <= after);
        let end = before.map_or(self.pull_events.len(), |before| {
            self.pull_events.partition_point(|event| event.seq < before)
        });
        self.pull_events.get(first..end).unwrap_or_default()
    }

    /// Why the order is cancelled. `None` if it is not, or was reopened since.
    pub(crate) fn cancelled(&self) -> Option<&str> {
        let (at, because) = self.cancels.last()?;
        let is_reopened = self.commands.iter().any(|spoken| spoken.seq > *at);
        (!is_reopened).then_some(because.as_str())
    }

    /// The first signal that ended the order, even if it has resumed since.
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
