//! What people said, and what became of it: every signal is answered, if only with "ignored, because".

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::Replay;
use super::permissions::{SenderPermission, WordsInTurn};
use super::signal_log::{
    AnsweredSignal, AppliedCommand, Cancellation, PlanDecision, PullClosure, PullClosureKind, PullEvent,
    PullEventKind, ResumeCommand, SignalAnswer, SignalLog, TextNews, has_code,
};
use crate::ids::{Person, UserId};
use crate::journal::{Journal, JournalEntry, JournalEvent};
use crate::journal_index::{EntryKind, JournalPrefix};
use crate::moves::EffectOutcome;
use crate::pipeline::{Pipeline, Stage, StageOutput};
use crate::settlement::Settlement;
use crate::signal::{Requester, ReviewVerdict, Signal, SignalKind, SlashCommand};
use crate::surfaces::Surfaces;

/// The form of journals since which `/cancel` stops an answer that has not begun: before, it came too late for that.
const GATHERING_IS_CANCELLED_SINCE: u32 = 3;

struct SignalReader<'a> {
    log: SignalLog,
    journal: JournalPrefix<'a>,
    now: DateTime<Utc>,
    /// What people wrote is heard once, though two hooks bring it: comments, and reviews.
    comments: BTreeSet<u64>,
    reviews: BTreeSet<u64>,
    /// Whose comments on the issue do not belong to the task: GitHub is not asked about each.
    outsiders: BTreeSet<UserId>,
    words: WordsInTurn,
    /// What they want, and since which entry it is known that they may.
    decided: Vec<ResolvedSignal>,
}

struct ResolvedSignal {
    seq: u64,
    at: DateTime<Utc>,
    signal: u64,
    request: SignalRequest,
}

pub(super) enum SignalRequest {
    Retry {
        guidance: Option<String>,
        by: Requester,
    },
    Cancel(String),
    /// The label was put on again, while the pull request was open.
    GoOn(Requester),
    Unlabel(String),
    Gone(String),
    Approve(String),
    /// A statement of the examiner's does not count.
    Drop {
        number: u32,
        by: String,
    },
    /// What is chosen when an order begins.
    Choose,
    Plan {
        guidance: Option<String>,
        until_code: bool,
    },
    /// It is answered by saying something, and changes nothing.
    Talk,
    Closure(PullClosure),
    Occasion(PullEventKind),
    Text(TextNews),
}

pub(super) enum OrderPhase {
    /// `conversing`: it answers people; the pipeline has ended.
    AtWork {
        conversing: bool,
        has_pull: bool,
    },
    PlanWaits,
    /// It waits for its environment to be mended, and goes on by itself then.
    Unprepared,
    /// It rests, and can be told to go on.
    Rests {
        /// What a word would be about.
        segment: u32,
        /// Whether there is something to accept as it is.
        approvable: bool,
        retry: RetryCommandKind,
        /// Whether something waits to be answered, together with what may still come.
        gathers: bool,
    },
    Over,
}

/// What `/retry` is to an order that rests.
pub(super) enum RetryCommandKind {
    /// More rounds of what was given up.
    MoreRounds,
    /// Something to answer, like a review.
    Asks {
        /// Whether nothing is known to be wrong, so that a bare `/retry` asks for nothing.
        is_content: bool,
    },
}

impl RetryCommandKind {
    pub(super) fn asks(&self) -> bool {
        match self {
            Self::Asks { .. } => true,
            Self::MoreRounds => false,
        }
    }
}

impl SignalLog {
    /// Listens to the whole journal, one signal after the other, each as it stood when it was decided.
    pub(crate) fn read(pipeline: &Pipeline, journal: &Journal, now: DateTime<Utc>) -> Self {
        let mut listener = SignalReader {
            log: Self::default(),
            journal: journal.whole(),
            now,
            comments: journal.opened().comment.into_iter().collect(),
            reviews: BTreeSet::new(),
            outsiders: BTreeSet::new(),
            words: WordsInTurn::of(journal.opened().format),
            decided: Vec::new(),
        };
        for entry in journal.whole().of_kind(EntryKind::Signal) {
            if let JournalEvent::Signaled { signal, .. } = &entry.event {
                listener.read(entry, signal);
            }
        }
        let SignalReader { log: mut signals, mut decided, .. } = listener;
        decided.sort_by_key(|decided| decided.seq);
        for decided in decided {
            signals.decide(pipeline, journal, decided);
        }
        signals.answers.sort_by_key(|answered| answered.signal);
        signals
    }

    fn decide(&mut self, pipeline: &Pipeline, journal: &Journal, decided: ResolvedSignal) {
        let ResolvedSignal { seq, at, signal, request: wish } = decided;
        let answer = match wish {
            SignalRequest::Talk => SignalAnswer::Noted,
            // An environment that could not be prepared may be mended now.
            SignalRequest::Occasion(PullEventKind::BaseMoved)
                if may_be_unprepared(journal, seq)
                    && matches!(self.phase_at(pipeline, journal, seq, at), OrderPhase::Unprepared) =>
            {
                self.commands.push(AppliedCommand { seq, segment: 0, command: ResumeCommand::Retried });
                SignalAnswer::Taken
            }
            SignalRequest::Occasion(what) => {
                self.pull_events.push(PullEvent { seq, at, kind: what });
                SignalAnswer::Noted
            }
            SignalRequest::Text(news) => self.text_changed(pipeline, journal, (seq, at), news),
            SignalRequest::Closure(closure) => {
                let reopens = closure.how == PullClosureKind::Reopened;
                if reopens && self.closed().is_none() {
                    SignalAnswer::Ignored("it was not closed".to_owned())
                } else {
                    self.closures.push(closure);
                    SignalAnswer::Taken
                }
            }
            SignalRequest::Gone(because) => {
                self.cancels.push(Cancellation { seq, because });
                SignalAnswer::Taken
            }
            SignalRequest::Plan { guidance, until_code: true } => {
                let stood = self.phase_at(pipeline, journal, seq, at);
                let plans = |stage: &Stage| matches!(stage.output, Some(StageOutput::File(_)));
                let planned = match pipeline.stages.iter().any(plans) {
                    true => self.plan_anew(seq, guidance, stood, has_code(pipeline, journal, seq)),
                    false => Err("the pipeline makes no plan: comment /retry and what to change"),
                };
                planned.map_or_else(
                    |because| SignalAnswer::Ignored(because.to_owned()),
                    |()| SignalAnswer::Taken,
                )
            }
            SignalRequest::Retry { guidance, by } if self.text_waits.is_any() => {
                let stood = self.phase_at(pipeline, journal, seq, at);
                self.retry_with_new_text((seq, at), (guidance, by), stood)
                    .map_or_else(SignalAnswer::Ignored, |()| SignalAnswer::Taken)
            }
            SignalRequest::Retry { .. }
            | SignalRequest::GoOn(_)
            | SignalRequest::Choose
            | SignalRequest::Cancel(_)
            | SignalRequest::Unlabel(_)
            | SignalRequest::Approve(_)
            | SignalRequest::Drop { .. }
            | SignalRequest::Plan { until_code: false, .. } => {
                let stood = self.phase_at(pipeline, journal, seq, at);
                self.command(seq, at, wish, stood)
                    .map_or_else(SignalAnswer::Ignored, |()| SignalAnswer::Taken)
            }
        };
        self.answers.push(AnsweredSignal { signal, answer });
    }

    pub(super) fn phase_at(
        &self,
        pipeline: &Pipeline,
        journal: &Journal,
        seq: u64,
        at: DateTime<Utc>,
    ) -> OrderPhase {
        let length = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        if self.closed().is_some() {
            return OrderPhase::Over;
        }
        let mut replay = Replay::new(pipeline, journal, length, self, at);
        let ran = replay.run();
        let can_be_retried =
            Surfaces::of(ran.settled.as_ref(), &replay.verdict(ran.settled.as_ref())).can_be_retried;
        let segment = ran.answers_begun;
        let is_cancelled = self.cancelled().is_some();
        let gathers = ran.gathers && !is_cancelled && journal.opened().format >= GATHERING_IS_CANCELLED_SINCE;
        let rests = |approvable, retry| OrderPhase::Rests { segment, approvable, retry, gathers };
        match ran.settled {
            _ if is_cancelled => rests(false, RetryCommandKind::MoreRounds),
            Some(Settlement::Unprepared { .. }) => OrderPhase::Unprepared,
            Some(_) if segment == 0 && can_be_retried => rests(ran.approvable, RetryCommandKind::MoreRounds),
            Some(_) if ran.given_up => rests(ran.approvable, RetryCommandKind::MoreRounds),
            Some(_) if ran.has_pull => {
                rests(ran.approvable, RetryCommandKind::Asks { is_content: !can_be_retried })
            }
            Some(_) => OrderPhase::Over,
            None if ran.plan_waits => OrderPhase::PlanWaits,
            None => OrderPhase::AtWork { conversing: segment > 0, has_pull: ran.has_pull },
        }
    }

    /// Another plan, wherever no code was written; or why there is none.
    fn plan_anew(
        &mut self,
        seq: u64,
        guidance: Option<String>,
        stood: OrderPhase,
        has_code: bool,
    ) -> Result<(), &'static str> {
        let resumed = match stood {
            OrderPhase::AtWork { conversing: false, .. } if has_code => {
                return Err(
                    "code is being written already: comment /cancel and start over, or wait and review the pull request",
                );
            }
            _ if has_code => return Err("code was written already: comment /retry and what to change"),
            OrderPhase::PlanWaits | OrderPhase::AtWork { conversing: false, .. } => None,
            OrderPhase::Unprepared => Some(0),
            OrderPhase::Rests { segment, retry: RetryCommandKind::MoreRounds, .. } => Some(segment),
            OrderPhase::AtWork { conversing: true, .. } | OrderPhase::Rests { .. } | OrderPhase::Over => {
                return Err("it has already ended");
            }
        };
        if let Some(segment) = resumed {
            self.commands.push(AppliedCommand { seq, segment, command: ResumeCommand::Retried });
        }
        self.plan_decisions.push((seq, PlanDecision::Again { guidance }));
        Ok(())
    }

    /// What a command changes as it stood then; or why nothing.
    pub(super) fn command(
        &mut self,
        seq: u64,
        at: DateTime<Utc>,
        wish: SignalRequest,
        stood: OrderPhase,
    ) -> Result<(), String> {
        let because = match (wish, stood) {
            (
                SignalRequest::GoOn(_),
                OrderPhase::Rests { retry: RetryCommandKind::Asks { is_content: true }, .. },
            ) => {
                "nothing is known to be wrong with it; review it, comment /retry and what to change, or close it and \
                 add the label again to start over"
            }
            (SignalRequest::GoOn(by), stood) => {
                return self.command(seq, at, SignalRequest::Retry { guidance: None, by }, stood);
            }
            (
                SignalRequest::Retry { guidance, .. },
                OrderPhase::Rests { segment, retry: RetryCommandKind::MoreRounds, .. },
            ) => {
                let word = match guidance {
                    Some(guidance) => ResumeCommand::Advised { guidance },
                    None => ResumeCommand::Retried,
                };
                self.commands.push(AppliedCommand { seq, segment, command: word });
                return Ok(());
            }
            (
                SignalRequest::Retry { guidance: None, .. },
                OrderPhase::Rests { retry: RetryCommandKind::Asks { is_content: true }, .. },
            ) => {
                "the pull request has no known problem: write what to change after the command, or review it"
            }
            (
                SignalRequest::Retry { guidance, by },
                OrderPhase::Rests { retry: RetryCommandKind::Asks { .. }, .. },
            ) => {
                self.pull_events.push(PullEvent { seq, at, kind: PullEventKind::Asked { by, guidance } });
                return Ok(());
            }
            (SignalRequest::Retry { .. }, OrderPhase::Unprepared) => {
                self.commands.push(AppliedCommand { seq, segment: 0, command: ResumeCommand::Retried });
                return Ok(());
            }
            (SignalRequest::Approve(by), OrderPhase::Rests { segment, approvable: true, .. }) => {
                self.commands.push(AppliedCommand { seq, segment, command: ResumeCommand::Approved { by } });
                return Ok(());
            }
            (SignalRequest::Drop { number, by }, OrderPhase::Rests { segment, approvable: true, .. }) => {
                let command = ResumeCommand::StatementDropped { number, by };
                self.commands.push(AppliedCommand { seq, segment, command });
                return Ok(());
            }
            // Advice that comes while others are answered is for the next answer.
            (
                SignalRequest::Retry { guidance: Some(guidance), by },
                OrderPhase::AtWork { conversing: true, .. },
            ) => {
                let what = PullEventKind::Asked { by, guidance: Some(guidance) };
                self.pull_events.push(PullEvent { seq, at, kind: what });
                return Ok(());
            }
            (SignalRequest::Approve(_), OrderPhase::PlanWaits) => {
                self.plan_decisions.push((seq, PlanDecision::Approved));
                return Ok(());
            }
            (SignalRequest::Plan { guidance, .. }, OrderPhase::PlanWaits) => {
                self.plan_decisions.push((seq, PlanDecision::Again { guidance }));
                return Ok(());
            }
            (
                SignalRequest::Cancel(because) | SignalRequest::Unlabel(because),
                OrderPhase::PlanWaits | OrderPhase::Unprepared,
            )
            | (
                SignalRequest::Cancel(because),
                OrderPhase::AtWork { .. } | OrderPhase::Rests { gathers: true, .. },
            )
            | (SignalRequest::Unlabel(because), OrderPhase::AtWork { has_pull: false, .. }) => {
                self.cancels.push(Cancellation { seq, because });
                return Ok(());
            }
            (SignalRequest::Unlabel(_), OrderPhase::AtWork { has_pull: true, .. }) => {
                "the pull request is already open: comment /cancel, or close it"
            }
            (SignalRequest::Choose, _) => {
                "the pipeline and the agent are chosen when an order begins, and this one goes on: leave them out to \
                 give advice"
            }
            (SignalRequest::Approve(_), _) => "nothing is waiting for approval",
            (SignalRequest::Drop { .. }, _) => "no statement stands in the way",
            (SignalRequest::Plan { .. }, OrderPhase::AtWork { has_pull: false, conversing: false }) => {
                "the plan is being made or carried out: comment /cancel and start over, or wait and review the pull request"
            }
            (SignalRequest::Plan { .. }, _) => {
                "no plan is waiting for approval: comment /retry and what to change"
            }
            (SignalRequest::Retry { .. }, OrderPhase::AtWork { .. }) => "the work is already running",
            (SignalRequest::Retry { .. }, OrderPhase::PlanWaits) => {
                "the plan is waiting for approval: comment /approve, or /plan and what to change"
            }
            (SignalRequest::Retry { .. }, OrderPhase::Over) => "it is done; there is nothing to retry",
            (
                SignalRequest::Cancel(_) | SignalRequest::Unlabel(_),
                OrderPhase::Rests { .. } | OrderPhase::Over,
            ) => "it has already ended",
            (
                SignalRequest::Gone(_)
                | SignalRequest::Talk
                | SignalRequest::Closure(_)
                | SignalRequest::Occasion(_)
                | SignalRequest::Text(_),
                _,
            ) => "",
        };
        Err(because.to_owned())
    }
}

impl SignalReader<'_> {
    fn read(&mut self, entry: &JournalEntry, signal: &Signal) {
        let by = &signal.by;
        let (seq, at) = (entry.seq, entry.at);
        match &signal.kind {
            SignalKind::Labeled { pull: None, .. } => self.ignore(seq, "the work is already running"),
            SignalKind::Labeled { pull: Some(_), .. } => {
                self.of_who_may((seq, at), by, || SignalRequest::GoOn(by.clone()));
            }
            SignalKind::IssueEdited => {
                self.request(entry, SignalRequest::Text(TextNews { edit: true, comment: false }));
            }
            SignalKind::IssueCommented { comment, by_author } => {
                self.commented(entry, by, *comment, *by_author)
            }
            SignalKind::IssueLocked => self.ignore(seq, "those who may command can still write there"),
            SignalKind::IssueTransferred => {
                self.request(entry, SignalRequest::Gone(format!("{by} moved the issue away")))
            }
            SignalKind::IssueDeleted => {
                self.request(entry, SignalRequest::Gone(format!("{by} deleted the issue")))
            }
            SignalKind::IssueClosed => {
                self.request(entry, SignalRequest::Cancel(format!("{by} closed the issue")))
            }
            SignalKind::PullClosed { pull, merged } => {
                let how = if *merged { PullClosureKind::Merged } else { PullClosureKind::TurnedDown };
                self.request(
                    entry,
                    SignalRequest::Closure(PullClosure { seq, pull: *pull, by: by.to_string(), how }),
                );
            }
            SignalKind::PullReopened { pull } => {
                let how = PullClosureKind::Reopened;
                self.request(
                    entry,
                    SignalRequest::Closure(PullClosure { seq, pull: *pull, by: by.to_string(), how }),
                );
            }
            SignalKind::PullPushed { head, .. } => {
                self.request(entry, SignalRequest::Occasion(PullEventKind::Pushed { head: head.clone() }));
            }
            SignalKind::ChecksFinished { head } => {
                self.request(entry, SignalRequest::Occasion(PullEventKind::Checked { head: head.clone() }));
            }
            SignalKind::BaseMoved { .. } => {
                self.request(entry, SignalRequest::Occasion(PullEventKind::BaseMoved))
            }
            SignalKind::Reviewed { verdict: ReviewVerdict::Approved, .. } => {
                self.ignore(seq, "an approval needs no answer");
            }
            SignalKind::Reviewed { review, verdict, .. } => {
                let is_new = self.reviews.insert(*review);
                let what = |by| PullEventKind::Reviewed { by, review: *review, verdict: *verdict };
                self.of_a_reviewer((seq, at), by, is_new, what);
            }
            SignalKind::Remarked { comment, .. } => {
                let is_new = self.comments.insert(*comment);
                self.of_a_reviewer((seq, at), by, is_new, |by| PullEventKind::Remarked {
                    by,
                    comment: *comment,
                });
            }
            SignalKind::Commanded { comment: Some(comment), .. } | SignalKind::Misspoken { comment, .. }
                if !self.comments.insert(*comment) =>
            {
                self.ignore(seq, "the comment was already handled");
            }
            SignalKind::Misspoken { .. } => self.of_who_may((seq, at), by, || SignalRequest::Talk),
            SignalKind::Unlabeled { .. } => {
                self.of_who_may((seq, at), by, || SignalRequest::Unlabel(format!("{by} removed the label")));
            }
            SignalKind::Commanded { command, .. } => self.of_who_may((seq, at), by, || match command {
                SlashCommand::Retry { guidance } => {
                    SignalRequest::Retry { guidance: guidance.clone(), by: by.clone() }
                }
                SlashCommand::Start { request } if !request.options.is_empty() => SignalRequest::Choose,
                SlashCommand::Start { request } => {
                    SignalRequest::Retry { guidance: request.advice.clone(), by: by.clone() }
                }
                SlashCommand::Approve => SignalRequest::Approve(by.to_string()),
                SlashCommand::DropStatement { number } => {
                    SignalRequest::Drop { number: *number, by: by.to_string() }
                }
                SlashCommand::Cancel => SignalRequest::Cancel(format!("{by} said /cancel")),
                SlashCommand::Plan { guidance, until_code } => {
                    SignalRequest::Plan { guidance: guidance.clone(), until_code: *until_code }
                }
                SlashCommand::Status | SlashCommand::Help => SignalRequest::Talk,
            }),
        }
    }

    fn request(&mut self, entry: &JournalEntry, wish: SignalRequest) {
        self.decided.push(ResolvedSignal { seq: entry.seq, at: entry.at, signal: entry.seq, request: wish });
    }

    /// What counts only when it comes from somebody with write access.
    fn of_who_may(
        &mut self,
        (signal, at): (u64, DateTime<Utc>),
        by: &Requester,
        wish: impl FnOnce() -> SignalRequest,
    ) {
        let permission = self
            .words
            .in_turn(by, |after| self.log.permission(self.journal, (signal, at, after), by, self.now));
        match permission {
            SenderPermission::Known { seq, at } => {
                self.decided.push(ResolvedSignal { seq, at, signal, request: wish() })
            }
            SenderPermission::Asking => {
                self.log.answers.push(AnsweredSignal { signal, answer: SignalAnswer::Asking })
            }
            SenderPermission::No(because) => {
                self.log.answers.push(AnsweredSignal { signal, answer: SignalAnswer::NoRight(because) });
            }
        }
    }

    /// A comment on the issue is news when it is its author's, or somebody's with write access.
    fn commented(&mut self, entry: &JournalEntry, by: &Requester, comment: u64, by_author: bool) {
        let seq = entry.seq;
        let news = SignalRequest::Text(TextNews { edit: false, comment: true });
        match by {
            _ if !self.comments.insert(comment) => self.ignore(seq, "the comment was already handled"),
            _ if by_author => self.request(entry, news),
            Requester::Person(person) if self.outsiders.contains(&person.id) => {
                self.ignore(seq, "its author has no write access");
            }
            Requester::Person(person) => {
                self.of_who_may((seq, entry.at), by, || news);
                let last = self.log.answers.last().filter(|last| last.signal == seq);
                if last.is_some_and(|last| matches!(last.answer, SignalAnswer::NoRight(_))) {
                    self.outsiders.insert(person.id);
                }
            }
            Requester::ApiToken => self.ignore(seq, "comments are written on GitHub"),
        }
    }

    fn of_a_reviewer(
        &mut self,
        (signal, at): (u64, DateTime<Utc>),
        by: &Requester,
        is_new: bool,
        what: impl FnOnce(Person) -> PullEventKind,
    ) {
        match by {
            _ if !is_new => self.ignore(signal, "it was heard already"),
            Requester::ApiToken => self.ignore(signal, "reviews are written on GitHub"),
            Requester::Person(person) => {
                self.of_who_may((signal, at), by, || SignalRequest::Occasion(what(person.clone())));
                let last = self.log.answers.last();
                let is_asked =
                    last.is_some_and(|last| last.signal == signal && last.answer == SignalAnswer::Asking);
                self.log.asks_for_reviewers |= is_asked;
            }
        }
    }

    fn ignore(&mut self, signal: u64, because: &str) {
        let answer = SignalAnswer::Ignored(because.to_owned());
        self.log.answers.push(AnsweredSignal { signal, answer });
    }
}

/// Whether the last environment that was prepared before this entry could not be. A base moves often, and to replay the
/// journal for each time would be dear.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other outcome is of an environment")]
fn may_be_unprepared(journal: &Journal, seq: u64) -> bool {
    let mut before = journal.whole().before(seq).of_kind(EntryKind::Environment);
    let problem = |entry: &JournalEntry| match &entry.event {
        JournalEvent::Observed { outcome, .. } => match &**outcome {
            EffectOutcome::EnvironmentPrepared(report) => Some(report.problem.is_some()),
            _ => None,
        },
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Signaled { .. } => None,
    };
    before.next_back().and_then(problem).unwrap_or(false)
}
