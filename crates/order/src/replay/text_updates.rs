//! Changes of the issue during an order: taken in directly before code begins, and with `/retry` afterwards.

use chrono::{DateTime, Utc};

use super::signal_log::{PullEvent, PullEventKind, SignalAnswer, SignalLog, TextNews, TextUpdate, has_code};
use super::signal_reader::{OrderPhase, RequestedCommand, RetryCommandKind, ignored};
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::effect_name::ReservedWord;
use crate::feedback::{Category, Feedback};
use crate::journal::{Journal, JournalEntry, JournalEvent};
use crate::journal_index::EntryKind;
use crate::moves::{AgentTask, EffectOutcome, Move, MoveKey};
use crate::pipeline::{Check, Pipeline, Stage, StageKind, StageOutput};
use crate::signal::Requester;

/// The request to the worker that answers people, if `/retry` says no more.
const READ_AGAIN: &str = "The issue was changed after the work began: its title, its text or its comments. Read it as you are \
                          given it now, and change what does not fit it.";

impl SignalLog {
    /// Decides what happens with a change of the issue.
    pub(super) fn text_changed(
        &mut self,
        pipeline: &Pipeline,
        journal: &Journal,
        (seq, at): (u64, DateTime<Utc>),
        news: TextNews,
    ) -> SignalAnswer {
        let has_code = has_code(pipeline, journal, seq);
        let waits = self.text_waits;
        self.text_waits.edit |= news.edit && has_code;
        self.text_waits.comment |= news.comment && has_code;
        let is_known = (!news.edit || waits.edit) && (!news.comment || waits.comment);
        if has_code && is_known {
            return ignored("the order goes on with the text as it was; /retry takes the new one in");
        }
        let is_at_work = match self.phase_at(pipeline, journal, seq, at) {
            OrderPhase::Over => return ignored("the order has ended"),
            OrderPhase::AtWork { .. } | OrderPhase::PlanWaits => true,
            OrderPhase::Unprepared | OrderPhase::Rests { .. } => false,
        };
        match (has_code, is_at_work) {
            (false, _) => {
                // A choice is redone only if people were asked about it.
                let has_asked = |stage: &Stage| {
                    journal.whole().before(seq).entries().iter().any(|entry| {
                        matches!(&entry.event, JournalEvent::Intended { key, r#move }
                            if key.stage() == stage.name && r#move.questions().is_some())
                    })
                };
                let is_thought = |stage: &&Stage| {
                    is_at_work
                        && matches!(stage.uses, StageKind::Agent | StageKind::Examine)
                        && !stage.checks.contains(&Check::PushedCommit)
                        && (!matches!(stage.output, Some(StageOutput::OneOf(_))) || has_asked(stage))
                };
                let stages = pipeline.stages.iter().filter(is_thought);
                let sends_back = stages.map(|stage| stage.name.clone()).collect();
                self.text_updates.push(TextUpdate { seq, sends_back });
                SignalAnswer::Taken
            }
            (true, true) => {
                self.text_kept.edit |= news.edit;
                self.text_kept.comment |= news.comment;
                SignalAnswer::Noted
            }
            (true, false) => ignored("nothing is being done; /retry takes the new text in"),
        }
    }

    /// A `/retry` after a change of the issue also reads the issue again.
    pub(super) fn retry_with_new_text(
        &mut self,
        (seq, at): (u64, DateTime<Utc>),
        (guidance, by): (Option<String>, Requester),
        stood: OrderPhase,
    ) -> SignalAnswer {
        let asked = |guidance: Option<String>| guidance.unwrap_or_else(|| READ_AGAIN.to_owned());
        if matches!(stood, OrderPhase::AtWork { conversing: false, .. }) {
            // The current work finishes first, then this is answered.
            let kind = PullEventKind::Asked { by, guidance: Some(asked(guidance)) };
            self.pull_events.push(PullEvent { seq, at, kind });
        } else {
            let is_asked = matches!(
                stood,
                OrderPhase::AtWork { .. } | OrderPhase::Rests { retry: RetryCommandKind::Asks { .. }, .. }
            );
            let guidance = if is_asked { Some(asked(guidance)) } else { guidance };
            let answer = self.command(seq, at, RequestedCommand::Retry { guidance, by }, stood);
            if answer != SignalAnswer::Taken {
                return answer;
            }
        }
        self.text_waits = TextNews::default();
        self.text_updates.push(TextUpdate { seq, sends_back: Vec::new() });
        SignalAnswer::Taken
    }
}

impl Replay<'_> {
    /// Reads the changed issue before a new run. A worker that saw an older text starts a new session.
    pub(super) fn with_new_text(&mut self, key: &MoveKey, task: &mut AgentTask) -> Result<(), Suspension> {
        let begun = self.begun(key);
        if let (None, Some(update)) = (begun, self.signals.log.text_updates.last()) {
            self.observe(&MoveKey::beside(ReservedWord::IssueText, update.seq), Move::ReadIssue)?;
        }
        // The result is the same before and after the run began, so a crash repeats the same task.
        let before = begun.map_or(self.prefix, |begun| self.prefix.before(begun));
        if before.of_kind(EntryKind::Text).rfind(is_text_read).is_some_and(|read| read.seq > self.last_run) {
            task.session = None;
            if let Some(rework) = &mut task.rework {
                let is_told = rework.feedback.first().is_some_and(|first| *first == outdated());
                if !is_told {
                    rework.feedback.insert(0, outdated());
                }
            }
        }
        Ok(())
    }

    /// Whether a round saw an old text: the issue changed after it began and before the next one did.
    pub(super) fn is_outdated(&self, worker: &Worker<'_>, round: u32) -> bool {
        let Some(begun) = self.begun(&worker.key(round, "agent")) else { return false };
        let next = self.begun(&worker.key(round + 1, "agent")).unwrap_or(u64::MAX);
        self.signals.log.text_updates.iter().any(|update| {
            update.sends_back.contains(&worker.prefix) && (begun + 1..next).contains(&update.seq)
        })
    }
}

/// Whether this entry observed a rereading of the issue.
fn is_text_read(entry: &&JournalEntry) -> bool {
    let JournalEvent::Observed { outcome, .. } = &entry.event else { return false };
    matches!(**outcome, EffectOutcome::IssueRead { .. })
}

/// The feedback for a round that began with an older text.
pub(super) fn outdated() -> Feedback {
    Feedback::failed(
        Category::Architecture,
        "the issue was changed since: its title, its text or its comments are not what they were".to_owned(),
    )
    .suggest("Read the task again as it is given now, and do what it asks for.")
}
