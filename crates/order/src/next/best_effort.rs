//! Messages beside the work, which does not wait for them: reactions and short replies to commands, the check run on
//! the head, and the cleanup after the pull request is closed.
//!
//! Each is tried a few times and then dropped, because nothing important depends on it.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::super::backoff::Backoff;
use super::super::conversation::{CheckRunState, CommentRef, CommentTarget, NoticeComment, Reaction};
use super::super::effect_name::ReservedWord;
use super::super::ids::{CommitSha, PullNumber};
use super::super::journal::{Journal, JournalEvent};
use super::super::journal_index::{EntryKind, Observation};
use super::super::moves::{EffectOutcome, Move, MoveKey, Retry};
use super::super::replay::signal_log::{SignalAnswer, SignalLog};
use super::super::settlement::Settlement;
use super::super::signal::{SignalKind, SlashCommand};
use super::super::trace::OrderTrace;

/// How often a best-effort move is tried, and a status. The work does not wait for them.
pub(super) const MOST_ATTEMPTS: usize = 4;

/// The best-effort moves for one state of the journal.
pub(super) struct BestEffortMoves<'a> {
    journal: &'a Journal,
    now: DateTime<Utc>,
    /// What to do now.
    pub(super) moves: Vec<(MoveKey, Move)>,
    /// When to look again.
    pub(super) wake_at: Option<DateTime<Utc>>,
}

impl<'a> BestEffortMoves<'a> {
    pub(super) fn of(journal: &'a Journal, now: DateTime<Utc>) -> Self {
        Self { journal, now, moves: Vec::new(), wake_at: None }
    }

    /// Proposes a best-effort move unless a pause comes first. Returns whether it is over: done, or tried often enough.
    fn run(&mut self, word: ReservedWord, rest: impl Display, r#move: Move) -> bool {
        let key = MoveKey::beside(word, rest);
        let mut due = None;
        let (mut tried, mut outages) = (0, 0);
        for Observation { at, outcome, .. } in self.journal.whole().observed(&key) {
            let EffectOutcome::Trouble(trouble) = outcome else { return true };
            if trouble.retry == Retry::Outage {
                outages += 1;
                let Some(pause) = Backoff::OUTAGE.pause(outages, None) else { return true };
                due = Some(at + pause);
                continue;
            }
            (tried, outages) = (tried + 1, 0);
            let pause = match trouble.retry {
                Retry::Never => return true,
                Retry::After { seconds } => seconds,
                Retry::Soon | Retry::Outage => 1 << (2 * tried.min(5)),
            };
            if tried >= MOST_ATTEMPTS {
                return true;
            }
            due = Some(at + Duration::from_secs(pause));
        }
        match due.filter(|due| self.now < *due) {
            Some(due) => self.wake_at = Some(self.wake_at.map_or(due, |known| known.min(due))),
            None => self.moves.push((key, r#move)),
        }
        false
    }

    /// Shows people that their command was read and what became of it. People without write access get no reply, or one
    /// polite line if the repository wants it.
    #[expect(clippy::wildcard_enum_match_arm, reason = "only words are answered with words")]
    pub(super) fn say_what_became(&mut self, signals: &SignalLog) {
        let answers_outsiders = self.journal.prepared().is_some_and(|known| known.settings.answer_outsiders);
        let mut known: BTreeSet<u64> = self.journal.opened().comment.into_iter().collect();
        let mut outsiders = 0;
        for answered in &signals.answers {
            let entry =
                usize::try_from(answered.signal).ok().and_then(|seq| self.journal.entries().get(seq - 1));
            let Some(JournalEvent::Signaled { signal, .. }) = entry.map(|entry| &entry.event) else {
                continue;
            };
            let (comment, pull) = match &signal.kind {
                SignalKind::Commanded { comment, pull, .. } => (*comment, *pull),
                SignalKind::Misspoken { comment, pull, .. } => (Some(*comment), *pull),
                SignalKind::Labeled { pull: Some(_), .. } => (None, None),
                _ => continue,
            };
            // The same comment from another hook.
            if comment.is_some_and(|comment| !known.insert(comment)) {
                continue;
            }
            let on = self.place(pull);
            let (reaction, saying) = match (&answered.answer, &signal.kind) {
                (SignalAnswer::Asking, _) => continue,
                (SignalAnswer::NoRight(_), _) => {
                    outsiders += 1;
                    if answers_outsiders && outsiders == 1 {
                        let saying = NoticeComment::NoRight;
                        self.run(ReservedWord::Say, "outsiders", Move::Say { on, saying });
                    }
                    continue;
                }
                (_, SignalKind::Misspoken { word, .. }) => {
                    (Reaction::Confused, Some(NoticeComment::UnknownCommand { word: word.clone() }))
                }
                (SignalAnswer::Ignored(because), SignalKind::Commanded { command, .. }) => {
                    let (word, because) = (command.word().to_owned(), because.clone());
                    (Reaction::Confused, Some(NoticeComment::NotNow { word, because }))
                }
                // The label was added while this pull request was open.
                (SignalAnswer::Ignored(because), SignalKind::Labeled { pull: Some(pull), .. }) => {
                    let (pull, because) = (*pull, because.clone());
                    (Reaction::Confused, Some(NoticeComment::PullIsOpen { pull, because }))
                }
                (_, SignalKind::Commanded { command: SlashCommand::Help, .. }) => {
                    (Reaction::Rocket, Some(NoticeComment::Help))
                }
                (_, SignalKind::Commanded { command: SlashCommand::Status, .. }) => {
                    (Reaction::Rocket, Some(NoticeComment::Status))
                }
                _ => (Reaction::Rocket, None),
            };
            self.answer(answered.signal, comment, reaction, on, saying);
        }
    }

    /// Says once for each kind of change that the work continues with the old text.
    pub(super) fn say_that_the_text_stays(&mut self, signals: &SignalLog) {
        let on = self.place(None);
        for (is_kept, comment) in [(signals.text_kept.edit, false), (signals.text_kept.comment, true)] {
            if is_kept {
                let what = if comment { "text-commented" } else { "text-edited" };
                let saying = NoticeComment::TextKept { comment };
                self.run(ReservedWord::Say, what, Move::Say { on, saying });
            }
        }
    }

    /// Eyes first, then the result.
    fn answer(
        &mut self,
        seq: u64,
        comment: Option<u64>,
        reaction: Reaction,
        on: CommentTarget,
        saying: Option<NoticeComment>,
    ) {
        if let Some(comment) = comment.map(CommentRef::Issue) {
            let eyes = Move::React { comment, reaction: Reaction::Eyes };
            if self.run(ReservedWord::React, format_args!("{seq}/eyes"), eyes) {
                let answer = Move::React { comment, reaction };
                self.run(ReservedWord::React, format_args!("{seq}/answer"), answer);
            }
        }
        if let Some(saying) = saying {
            self.run(ReservedWord::Say, seq, Move::Say { on, saying });
        }
    }

    fn place(&self, pull: Option<PullNumber>) -> CommentTarget {
        pull.map_or(CommentTarget::Issue(self.journal.opened().issue.number), CommentTarget::Pull)
    }

    /// Reports the closed pull request on the issue, and cleans up labels and branch.
    pub(super) fn tidy_up(&mut self, signals: &SignalLog, trace: &OrderTrace) {
        let Some(closure) = signals.closed() else { return };
        let opened = self.journal.opened();
        if opened.change.is_none() {
            let on = CommentTarget::Issue(self.journal.opened().issue.number);
            let saying = NoticeComment::PullClosed {
                pull: closure.pull,
                merged: closure.is_merged(),
                by: closure.by.clone(),
            };
            self.run(ReservedWord::Closed, format_args!("{}/say", closure.seq), Move::Say { on, saying });
        }
        let deletes = self.journal.prepared().is_some_and(|known| known.settings.delete_branch);
        let branch = trace.branch.clone().zip(trace.pushed.clone());
        let branch = branch.filter(|_| deletes && opened.adopted_branch().is_none());
        self.run(ReservedWord::Closed, format_args!("{}/tidy", closure.seq), Move::Tidy { branch });
    }

    /// Updates the text of a pull request whose order ended badly, so that it does not look like work in progress.
    pub(super) fn end_the_text(
        &mut self,
        (signals, answers): (&SignalLog, u32),
        trace: &OrderTrace,
        settled: Option<&Settlement>,
    ) {
        // Once for each stop, and for each failed answer to people.
        let times = signals.commands.len() + signals.cancels.len();
        let what = match settled {
            Some(Settlement::Cancelled { .. } | Settlement::Failed { .. } | Settlement::Blocked { .. }) => {
                format!("{times}/text")
            }
            Some(Settlement::Escalated { .. }) if answers > 0 => format!("answer-{answers}-{times}/text"),
            Some(_) | None => return,
        };
        let is_own = !trace.is_given && self.journal.opened().adopted_branch().is_none();
        if let Some(pull) = trace.pull.as_ref().filter(|_| is_own) {
            self.run(ReservedWord::Ended, what, pull.finish(false));
        }
    }

    /// Keeps the check run on the head in step with the status. One change at a time, so that an older one never
    /// overwrites a newer one.
    pub(super) fn check_run(&mut self, trace: &OrderTrace, state: Option<CheckRunState>) {
        let mut shown = 0;
        let mut last: Option<(&CommitSha, CheckRunState)> = None;
        for entry in self.journal.whole().of_kind(EntryKind::Check) {
            let JournalEvent::Intended { r#move, .. } = &entry.event else { continue };
            if let Move::ShowCheck { head, state } = &**r#move
                && last != Some((head, *state))
            {
                (shown, last) = (shown + 1, Some((head, *state)));
            }
        }
        if let Some((head, state)) = last {
            let again = Move::ShowCheck { head: head.clone(), state };
            if !self.run(ReservedWord::Check, shown, again) {
                return;
            }
        }
        // A check run that began on an earlier head would never end otherwise.
        if let (Some((old, CheckRunState::InProgress)), Some(head)) = (last, &trace.pushed)
            && old != head
            && !self.journal.opened().is_of_form_3()
        {
            let superseded = Move::ShowCheck { head: old.clone(), state: CheckRunState::Superseded };
            self.run(ReservedWord::Check, shown + 1, superseded);
            return;
        }
        // Somebody else's pull request was merged or closed before its verdict.
        let is_open = matches!(last, Some((_, CheckRunState::InProgress)));
        let state = state.or((trace.is_given && is_open).then_some(CheckRunState::Cancelled));
        let (Some(head), Some(state), Some(_)) = (&trace.pushed, state, &trace.pull) else { return };
        // Between two stages the check run stays as it was.
        if state == CheckRunState::InProgress && trace.running().is_none() {
            return;
        }
        if last != Some((head, state)) {
            let show = Move::ShowCheck { head: head.clone(), state };
            self.run(ReservedWord::Check, shown + 1, show);
        }
    }
}
