//! What people said and how it was handled: every signal is answered, if only with "ignored, because".

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::Replay;
use super::sender_permission::SenderPermission;
use super::signal_log::{
    AnsweredSignal, AppliedCommand, PlanDecision, PullClosure, PullClosureKind, PullEvent, PullEventKind,
    ResumeCommand, SignalAnswer, SignalLog, TextNews, has_code,
};
use crate::ids::{CommitSha, Person, UserId};
use crate::journal::{Journal, JournalEntry, JournalEvent};
use crate::journal_index::{EntryKind, JournalPrefix};
use crate::moves::EffectOutcome;
use crate::pipeline::{Pipeline, Stage, StageOutput};
use crate::settlement::Settlement;
use crate::signal::{Requester, ReviewVerdict, Signal, SignalKind, SlashCommand};
use crate::surfaces::Surfaces;

/// In journals of this form or later, one person's commands count in the order in which they were given. In older ones
/// they count in the order in which GitHub confirmed the rights.
const IN_TURN_SINCE: u32 = 2;

struct SignalReader<'a> {
    log: SignalLog,
    journal: JournalPrefix<'a>,
    /// The commit of somebody else's pull request that is verified.
    given: Option<&'a CommitSha>,
    now: DateTime<Utc>,
    /// Comments and reviews are handled once, even if two hooks deliver them.
    comments: BTreeSet<u64>,
    reviews: BTreeSet<u64>,
    /// People whose comments are not part of the task. GitHub is not asked again for each comment.
    outsiders: BTreeSet<UserId>,
    /// For each person, the entry that confirmed the right for their last command. `None` while GitHub is asked.
    words: BTreeMap<UserId, Option<u64>>,
    is_in_turn: bool,
    /// What they want, with the entry that confirmed the right.
    decided: Vec<ResolvedSignal>,
}

struct ResolvedSignal {
    seq: u64,
    at: DateTime<Utc>,
    signal: u64,
    request: SignalRequest,
}

pub(super) enum SignalRequest {
    Command(RequestedCommand),
    /// Another plan, until code is written.
    Plan(Option<String>),
    Gone(String),
    /// Something else begins on somebody else's pull request: the reason, and the answer if the verdict is there.
    Superseded(String, SignalAnswer),
    /// Answered with a comment. Changes nothing.
    Talk,
    Closure(PullClosure),
    Occasion(PullEventKind),
    Text(TextNews),
}

/// A command whose effect depends on the order's phase.
pub(super) enum RequestedCommand {
    Retry {
        guidance: Option<String>,
        by: Requester,
    },
    Cancel(String),
    /// The label was added again while the pull request was open.
    GoOn(Requester),
    Unlabel(String),
    Approve(String),
    /// Drops a statement of the examiner.
    Drop {
        number: u32,
        by: String,
    },
    /// Options that apply only when an order begins.
    Choose,
}

pub(super) enum OrderPhase {
    /// `conversing`: the pipeline has ended, and the order answers people.
    AtWork {
        conversing: bool,
        has_pull: bool,
    },
    PlanWaits,
    /// It waits for a fix of its environment, then continues without a command.
    Unprepared,
    /// It rests until a person resumes it.
    Rests {
        /// What a command would apply to.
        segment: u32,
        /// Whether a person can accept the work as it is.
        approvable: bool,
        retry: RetryCommandKind,
        /// Whether requests are waiting to be answered together with later ones.
        gathers: bool,
    },
    Over,
}

/// What `/retry` means to an order at rest.
pub(super) enum RetryCommandKind {
    /// More rounds for what was given up.
    MoreRounds,
    /// A request to answer, like a review.
    Asks {
        /// Whether no problem is known, so that a bare `/retry` asks for nothing.
        is_content: bool,
    },
    /// Nothing: the commit of somebody else's pull request is verified.
    Judged,
}

impl SignalLog {
    /// Reads every signal of the journal and decides each by the order's phase at that entry.
    pub(crate) fn read(pipeline: &Pipeline, journal: &Journal, now: DateTime<Utc>) -> Self {
        let mut listener = SignalReader {
            log: Self::default(),
            journal: journal.whole(),
            given: journal.opened().judged().map(|change| &change.head),
            now,
            comments: journal.opened().comment.into_iter().collect(),
            reviews: BTreeSet::new(),
            outsiders: BTreeSet::new(),
            words: BTreeMap::new(),
            is_in_turn: journal.opened().format >= IN_TURN_SINCE,
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
            // The new base may fix an environment that could not be prepared.
            SignalRequest::Occasion(PullEventKind::BaseMoved)
                if may_be_unprepared(journal, seq)
                    && matches!(self.phase_at(pipeline, journal, seq, at), OrderPhase::Unprepared) =>
            {
                self.resume(seq, 0, ResumeCommand::Retried { guidance: None })
            }
            SignalRequest::Occasion(what) => {
                self.pull_events.push(PullEvent { seq, at, kind: what });
                SignalAnswer::Noted
            }
            SignalRequest::Text(news) => self.text_changed(pipeline, journal, (seq, at), news),
            SignalRequest::Closure(PullClosure { how: PullClosureKind::Reopened, .. })
                if self.closed().is_none() =>
            {
                ignored("it was not closed")
            }
            SignalRequest::Closure(closure) => {
                self.closures.push(closure);
                SignalAnswer::Taken
            }
            SignalRequest::Gone(because) => {
                self.cancels.push((seq, because));
                SignalAnswer::Taken
            }
            SignalRequest::Superseded(because, too_late) => match self.phase_at(pipeline, journal, seq, at) {
                OrderPhase::AtWork { .. } | OrderPhase::PlanWaits | OrderPhase::Unprepared => {
                    self.cancels.push((seq, because));
                    SignalAnswer::Taken
                }
                OrderPhase::Rests { .. } | OrderPhase::Over => too_late,
            },
            SignalRequest::Plan(guidance) => {
                let stood = self.phase_at(pipeline, journal, seq, at);
                let plans = |stage: &Stage| matches!(stage.output, Some(StageOutput::File(_)));
                match pipeline.stages.iter().any(plans) {
                    true => self.plan_anew(seq, guidance, stood, has_code(pipeline, journal, seq)),
                    false => ignored("the pipeline makes no plan: comment /retry and what to change"),
                }
            }
            SignalRequest::Command(command) => {
                let stood = self.phase_at(pipeline, journal, seq, at);
                if self.text_waits.is_any()
                    && let RequestedCommand::Retry { guidance, by } = command
                {
                    self.retry_with_new_text((seq, at), (guidance, by), stood)
                } else {
                    self.command(seq, at, command, stood)
                }
            }
        };
        self.answers.push(AnsweredSignal { signal, answer });
    }

    fn resume(&mut self, seq: u64, segment: u32, command: ResumeCommand) -> SignalAnswer {
        self.commands.push(AppliedCommand { seq, segment, command });
        SignalAnswer::Taken
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
        let (segment, has_pull) = (ran.answers_begun, replay.trace.pull.is_some());
        let is_cancelled = self.cancelled().is_some();
        let gathers = ran.gathers && !is_cancelled;
        let rests = |approvable, retry| OrderPhase::Rests { segment, approvable, retry, gathers };
        match ran.settled {
            _ if is_cancelled => rests(false, RetryCommandKind::MoreRounds),
            Some(Settlement::Unprepared { .. }) => OrderPhase::Unprepared,
            // Another commit goes on top of one that somebody's own branch has.
            Some(_)
                if segment == 0 && can_be_retried && !(replay.adopts() && replay.trace.pushed.is_some()) =>
            {
                rests(ran.approvable, RetryCommandKind::MoreRounds)
            }
            Some(_) if ran.given_up => rests(ran.approvable, RetryCommandKind::MoreRounds),
            Some(Settlement::Finished { .. }) if replay.trace.is_given => {
                rests(false, RetryCommandKind::Judged)
            }
            Some(_) if has_pull => {
                rests(ran.approvable, RetryCommandKind::Asks { is_content: !can_be_retried })
            }
            Some(_) => OrderPhase::Over,
            None if ran.plan_waits => OrderPhase::PlanWaits,
            None => OrderPhase::AtWork { conversing: segment > 0, has_pull },
        }
    }

    /// Requests another plan if no code was written yet, or says why not.
    fn plan_anew(
        &mut self,
        seq: u64,
        guidance: Option<String>,
        stood: OrderPhase,
        has_code: bool,
    ) -> SignalAnswer {
        let resumed = match stood {
            OrderPhase::AtWork { conversing: false, .. } if has_code => {
                return ignored(
                    "code is being written already: comment /cancel and start over, or wait and review the pull request",
                );
            }
            _ if has_code => return ignored("code was written already: comment /retry and what to change"),
            OrderPhase::PlanWaits | OrderPhase::AtWork { conversing: false, .. } => None,
            OrderPhase::Unprepared => Some(0),
            OrderPhase::Rests { segment, retry: RetryCommandKind::MoreRounds, .. } => Some(segment),
            OrderPhase::AtWork { conversing: true, .. } | OrderPhase::Rests { .. } | OrderPhase::Over => {
                return ignored("it has already ended");
            }
        };
        if let Some(segment) = resumed {
            self.resume(seq, segment, ResumeCommand::Retried { guidance: None });
        }
        self.plan_decisions.push((seq, PlanDecision::Again { guidance }));
        SignalAnswer::Taken
    }

    /// Applies a command to the order's phase, or says why nothing changes.
    pub(super) fn command(
        &mut self,
        seq: u64,
        at: DateTime<Utc>,
        wish: RequestedCommand,
        stood: OrderPhase,
    ) -> SignalAnswer {
        use OrderPhase::{AtWork, Over, PlanWaits, Rests, Unprepared};
        use RequestedCommand::{Approve, Cancel, Choose, Drop, GoOn, Retry, Unlabel};
        use RetryCommandKind::{Asks, Judged, MoreRounds};
        let because = match (wish, stood) {
            (GoOn(_), Rests { retry: Asks { is_content: true }, .. }) => {
                "nothing is known to be wrong with it; review it, comment /retry and what to change, or close it and \
                 add the label again to start over"
            }
            (GoOn(by), stood) => return self.command(seq, at, Retry { guidance: None, by }, stood),
            (Retry { guidance, .. }, Rests { segment, retry: MoreRounds, .. }) => {
                return self.resume(seq, segment, ResumeCommand::Retried { guidance });
            }
            (Retry { .. }, Rests { retry: Judged, .. }) => {
                "this commit is verified; push another, or comment /journeyman verify"
            }
            (Retry { guidance: None, .. }, Rests { retry: Asks { is_content: true }, .. }) => {
                "the pull request has no known problem: write what to change after the command, or review it"
            }
            // Advice that arrives during an answer is for the next one.
            (Retry { guidance, by }, Rests { retry: Asks { .. }, .. })
            | (Retry { guidance: guidance @ Some(_), by }, AtWork { conversing: true, .. }) => {
                self.pull_events.push(PullEvent { seq, at, kind: PullEventKind::Asked { by, guidance } });
                return SignalAnswer::Taken;
            }
            (Retry { .. }, Unprepared) => {
                return self.resume(seq, 0, ResumeCommand::Retried { guidance: None });
            }
            (Approve(by), Rests { segment, approvable: true, .. }) => {
                return self.resume(seq, segment, ResumeCommand::Approved { by });
            }
            (Drop { number, by }, Rests { segment, approvable: true, .. }) => {
                return self.resume(seq, segment, ResumeCommand::StatementDropped { number, by });
            }
            (Approve(_), PlanWaits) => {
                self.plan_decisions.push((seq, PlanDecision::Approved));
                return SignalAnswer::Taken;
            }
            (Cancel(because) | Unlabel(because), PlanWaits | Unprepared)
            | (Cancel(because), AtWork { .. } | Rests { gathers: true, .. })
            | (Unlabel(because), AtWork { has_pull: false, .. }) => {
                self.cancels.push((seq, because));
                return SignalAnswer::Taken;
            }
            (Unlabel(_), AtWork { has_pull: true, .. }) => {
                "the pull request is already open: comment /cancel, or close it"
            }
            (Choose, _) => {
                "the pipeline and the agent are chosen when an order begins, and this one goes on: leave them out to \
                 give advice"
            }
            (Approve(_), _) => "nothing is waiting for approval",
            (Drop { .. }, _) => "no statement stands in the way",
            (Retry { .. }, AtWork { .. }) => "the work is already running",
            (Retry { .. }, PlanWaits) => {
                "the plan is waiting for approval: comment /approve, or /plan and what to change"
            }
            (Retry { .. }, Over) => "it is done; there is nothing to retry",
            (Cancel(_) | Unlabel(_), Rests { .. } | Over) => "it has already ended",
        };
        ignored(because)
    }
}

pub(super) fn ignored(because: &str) -> SignalAnswer {
    SignalAnswer::Ignored(because.to_owned())
}

impl SignalReader<'_> {
    fn read(&mut self, entry: &JournalEntry, signal: &Signal) {
        use SignalKind::{Commanded, Labeled, Misspoken, Unlabeled};
        let by = &signal.by;
        let heard = (entry.seq, entry.at);
        let closure =
            |pull, how| SignalRequest::Closure(PullClosure { seq: entry.seq, pull, by: by.to_string(), how });
        let wish = match &signal.kind {
            SignalKind::Labeled { pull: None, .. } => {
                return self.ignore(entry.seq, "the work is already running");
            }
            SignalKind::PullOpened { .. } | SignalKind::GroupChecksRequested => {
                return self.ignore(entry.seq, "it is not about this order");
            }
            SignalKind::IssueLocked => {
                return self.ignore(entry.seq, "those who may command can still write there");
            }
            SignalKind::Reviewed { verdict: ReviewVerdict::Approved, .. } => {
                return self.ignore(entry.seq, "an approval needs no answer");
            }
            SignalKind::IssueCommented { comment, by_author } => {
                return self.commented(entry, by, *comment, *by_author);
            }
            SignalKind::Reviewed { review, verdict, .. } => {
                let is_new = self.reviews.insert(*review);
                let what = |by| PullEventKind::Reviewed { by, review: *review, verdict: *verdict };
                return self.of_a_reviewer(heard, by, is_new, what);
            }
            SignalKind::Remarked { comment, .. } => {
                let is_new = self.comments.insert(*comment);
                let what = |by| PullEventKind::Remarked { by, comment: *comment };
                return self.of_a_reviewer(heard, by, is_new, what);
            }
            SignalKind::Commanded { comment: Some(comment), .. } | SignalKind::Misspoken { comment, .. }
                if !self.comments.insert(*comment) =>
            {
                return self.ignore(entry.seq, "the comment was already handled");
            }
            SignalKind::Misspoken { .. } => SignalRequest::Talk,
            SignalKind::Labeled { pull: Some(_), .. } => {
                SignalRequest::Command(RequestedCommand::GoOn(by.clone()))
            }
            SignalKind::Unlabeled { .. } => {
                SignalRequest::Command(RequestedCommand::Unlabel(format!("{by} removed the label")))
            }
            SignalKind::Commanded { command: SlashCommand::Start { request }, .. }
                if self.given.is_some() && request.fix().is_some() =>
            {
                SignalRequest::Superseded(format!("{by} asked for a fix"), SignalAnswer::Noted)
            }
            SignalKind::Commanded { command, .. } => wish_of(command, by),
            SignalKind::IssueEdited => SignalRequest::Text(TextNews { edit: true, comment: false }),
            SignalKind::IssueTransferred => SignalRequest::Gone(format!("{by} moved the issue away")),
            SignalKind::IssueDeleted => SignalRequest::Gone(format!("{by} deleted the issue")),
            SignalKind::IssueClosed => {
                SignalRequest::Command(RequestedCommand::Cancel(format!("{by} closed the issue")))
            }
            SignalKind::PullClosed { pull, merged: true } => closure(*pull, PullClosureKind::Merged),
            SignalKind::PullClosed { pull, merged: false } => closure(*pull, PullClosureKind::TurnedDown),
            SignalKind::PullReopened { pull } => closure(*pull, PullClosureKind::Reopened),
            SignalKind::PullPushed { head, .. } if self.given.is_some_and(|given| given != head) => {
                SignalRequest::Superseded(
                    format!("{by} pushed another commit, {}", head.short()),
                    ignored("the commit before it was judged already, and that stands"),
                )
            }
            SignalKind::PullPushed { head, .. } => {
                SignalRequest::Occasion(PullEventKind::Pushed { head: head.clone() })
            }
            SignalKind::ChecksFinished { head } => {
                SignalRequest::Occasion(PullEventKind::Checked { head: head.clone() })
            }
            SignalKind::BaseMoved { .. } => SignalRequest::Occasion(PullEventKind::BaseMoved),
            SignalKind::GroupDestroyed { reason } => {
                let because = format!("the merge group left GitHub's queue: {reason}");
                SignalRequest::Command(RequestedCommand::Cancel(because))
            }
        };
        if matches!(signal.kind, Commanded { .. } | Labeled { .. } | Misspoken { .. } | Unlabeled { .. }) {
            self.of_who_may(heard, by, wish);
        } else {
            self.request(entry, wish);
        }
    }

    fn request(&mut self, entry: &JournalEntry, wish: SignalRequest) {
        self.decided.push(ResolvedSignal { seq: entry.seq, at: entry.at, signal: entry.seq, request: wish });
    }

    /// Takes a signal only if its sender has write access.
    fn of_who_may(
        &mut self,
        (signal, at): (u64, DateTime<Utc>),
        by: &Requester,
        wish: SignalRequest,
    ) -> Option<SignalAnswer> {
        // GitHub is asked about one command per person at a time.
        let last = match by {
            Requester::Person(person) if self.is_in_turn => self.words.get(&person.id).copied(),
            Requester::Person(_) | Requester::ApiToken | Requester::Repository => None,
        };
        let permission = match last {
            Some(None) => SenderPermission::Asking,
            last => {
                let after = last.flatten().unwrap_or(0);
                self.log.permission(self.journal, (signal, at, after), by, self.now)
            }
        };
        if let Requester::Person(person) = by
            && !matches!(permission, SenderPermission::No(_))
        {
            let known = if let SenderPermission::Known { seq, .. } = permission { Some(seq) } else { None };
            self.words.insert(person.id, known);
        }
        let answer = match permission {
            SenderPermission::Known { seq, at } => {
                self.decided.push(ResolvedSignal { seq, at, signal, request: wish });
                return None;
            }
            SenderPermission::Asking => SignalAnswer::Asking,
            SenderPermission::No(because) => SignalAnswer::NoRight(because),
        };
        self.log.answers.push(AnsweredSignal { signal, answer: answer.clone() });
        Some(answer)
    }

    /// A comment on the issue counts if its author opened the issue or has write access.
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
                if let Some(SignalAnswer::NoRight(_)) = self.of_who_may((seq, entry.at), by, news) {
                    self.outsiders.insert(person.id);
                }
            }
            Requester::ApiToken | Requester::Repository => {
                self.ignore(seq, "comments are written on GitHub");
            }
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
            Requester::ApiToken | Requester::Repository => {
                self.ignore(signal, "reviews are written on GitHub");
            }
            Requester::Person(person) => {
                let answer = self.of_who_may((signal, at), by, SignalRequest::Occasion(what(person.clone())));
                self.log.asks_for_reviewers |= answer == Some(SignalAnswer::Asking);
            }
        }
    }

    fn ignore(&mut self, signal: u64, because: &str) {
        self.log.answers.push(AnsweredSignal { signal, answer: ignored(because) });
    }
}

fn wish_of(command: &SlashCommand, by: &Requester) -> SignalRequest {
    SignalRequest::Command(match command {
        SlashCommand::Retry { guidance } => {
            RequestedCommand::Retry { guidance: guidance.clone(), by: by.clone() }
        }
        SlashCommand::Start { request } if !request.options.is_empty() => RequestedCommand::Choose,
        SlashCommand::Start { request } => {
            RequestedCommand::Retry { guidance: request.advice.clone(), by: by.clone() }
        }
        SlashCommand::Approve => RequestedCommand::Approve(by.to_string()),
        SlashCommand::DropStatement { number } => {
            RequestedCommand::Drop { number: *number, by: by.to_string() }
        }
        SlashCommand::Cancel => RequestedCommand::Cancel(format!("{by} said /cancel")),
        SlashCommand::Plan { guidance, .. } => return SignalRequest::Plan(guidance.clone()),
        SlashCommand::Status | SlashCommand::Help => return SignalRequest::Talk,
    })
}

/// Whether the newest environment before this entry failed. A base moves often, and replaying the journal each time
/// would be expensive.
fn may_be_unprepared(journal: &Journal, seq: u64) -> bool {
    let mut before = journal.whole().before(seq).of_kind(EntryKind::Environment);
    let Some(JournalEvent::Observed { outcome, .. }) = before.next_back().map(|entry| &entry.event) else {
        return false;
    };
    matches!(&**outcome, EffectOutcome::EnvironmentPrepared(report) if report.problem.is_some())
}
