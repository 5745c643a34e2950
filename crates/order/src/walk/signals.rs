//! What people said, and what became of it: every signal is answered, if only with "ignored, because".

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::heard::{
    Answer, Answered, Cancelled, Closed, Closure, Heard, Occasion, PlanWord, Spoken, What, Word,
};
use super::rights::Right;
use super::{Seen, Walk, observations};
use crate::ids::Person;
use crate::journal::{Entry, Event, Journal};
use crate::moves::MoveKey;
use crate::pipeline::Pipeline;
use crate::signal::{Command, Requester, ReviewVerdict, Signal, SignalKind};
use crate::surfaces::Surfaces;

/// What is listened with.
struct Listener<'a, F> {
    heard: Heard,
    observed: LazyCell<BTreeMap<&'a MoveKey, Vec<Seen<'a>>>, F>,
    now: DateTime<Utc>,
    /// What people wrote is heard once, though two hooks bring it: comments, and reviews.
    comments: BTreeSet<u64>,
    reviews: BTreeSet<u64>,
    /// What they want, and since which entry it is known that they may.
    decided: Vec<Decided>,
}

struct Decided {
    seq: u64,
    at: DateTime<Utc>,
    signal: u64,
    wish: Wish,
}

enum Wish {
    Retry {
        guidance: Option<String>,
        by: Requester,
    },
    Cancel(String),
    /// The label was taken off.
    Unlabel(String),
    /// The issue is not here any more.
    Gone(String),
    Approve(String),
    Plan(Option<String>),
    /// It is answered by saying something, and changes nothing.
    Talk,
    Closure(Closure),
    Occasion(What),
}

/// How the order stood when something was said.
enum Stood {
    /// `conversing`: it answers people; the pipeline has ended.
    AtWork {
        conversing: bool,
        has_pull: bool,
    },
    PlanWaits,
    /// It rests, and can be told to go on.
    Rests {
        /// What a word would be about.
        segment: u32,
        /// Whether there is something to accept as it is.
        approvable: bool,
        retry: Retry,
    },
    Over,
}

/// What `/retry` is to an order that rests.
enum Retry {
    /// More rounds of what was given up.
    MoreRounds,
    /// Something to answer, like a review.
    Asks {
        /// Whether nothing is known to be wrong, so that a bare `/retry` asks for nothing.
        is_content: bool,
    },
}

impl Heard {
    /// Listens to the whole journal, one signal after the other, each as it stood when it was decided.
    pub(crate) fn listen(pipeline: &Pipeline, journal: &Journal, now: DateTime<Utc>) -> Self {
        let mut listener = Listener {
            heard: Self::default(),
            // Read at the first command, and then for all: most journals have none.
            observed: LazyCell::new(|| observations(journal.entries())),
            now,
            comments: BTreeSet::new(),
            reviews: BTreeSet::new(),
            decided: Vec::new(),
        };
        for entry in journal.entries() {
            if let Event::Signaled { signal, .. } = &entry.event {
                listener.hear(entry, signal);
            }
        }
        let Listener { mut heard, mut decided, .. } = listener;
        decided.sort_by_key(|decided| decided.seq);
        for decided in decided {
            heard.decide(pipeline, journal, decided);
        }
        heard.answers.sort_by_key(|answered| answered.signal);
        heard
    }

    fn decide(&mut self, pipeline: &Pipeline, journal: &Journal, decided: Decided) {
        let Decided { seq, at, signal, wish } = decided;
        let answer = match wish {
            Wish::Talk => Answer::Noted,
            Wish::Occasion(what) => {
                self.occasions.push(Occasion { seq, at, what });
                Answer::Noted
            }
            Wish::Closure(closure) => {
                let reopens = closure.how == Closed::Reopened;
                if reopens && self.closed().is_none() {
                    Answer::Ignored("it was not closed".to_owned())
                } else {
                    self.closures.push(closure);
                    Answer::Taken
                }
            }
            Wish::Gone(because) => {
                self.cancels.push(Cancelled { seq, because });
                Answer::Taken
            }
            Wish::Retry { .. } | Wish::Cancel(_) | Wish::Unlabel(_) | Wish::Approve(_) | Wish::Plan(_) => {
                let stood = self.stood(pipeline, journal, seq, at);
                self.command(seq, at, wish, stood).map_or_else(Answer::Ignored, |()| Answer::Taken)
            }
        };
        self.answers.push(Answered { signal, answer });
    }

    fn stood(&self, pipeline: &Pipeline, journal: &Journal, seq: u64, at: DateTime<Utc>) -> Stood {
        let length = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        if self.closed().is_some() {
            return Stood::Over;
        }
        let mut walk = Walk::new(pipeline, journal, length, self, at);
        let ran = walk.run();
        let can_be_retried =
            Surfaces::of(ran.settled.as_ref(), &walk.verdict(ran.settled.as_ref())).can_be_retried;
        let segment = ran.answers_begun;
        let rests = |approvable, retry| Stood::Rests { segment, approvable, retry };
        match ran.settled {
            _ if self.cancelled().is_some() => rests(false, Retry::MoreRounds),
            Some(_) if segment == 0 && can_be_retried => rests(ran.approvable, Retry::MoreRounds),
            Some(_) if ran.given_up => rests(ran.approvable, Retry::MoreRounds),
            Some(_) if ran.has_pull => rests(ran.approvable, Retry::Asks { is_content: !can_be_retried }),
            Some(_) => Stood::Over,
            None if ran.plan_waits => Stood::PlanWaits,
            None => Stood::AtWork { conversing: segment > 0, has_pull: ran.has_pull },
        }
    }

    /// What a command changes as it stood then; or why nothing.
    fn command(&mut self, seq: u64, at: DateTime<Utc>, wish: Wish, stood: Stood) -> Result<(), String> {
        let because = match (wish, stood) {
            (Wish::Retry { guidance, .. }, Stood::Rests { segment, retry: Retry::MoreRounds, .. }) => {
                let word = match guidance {
                    Some(guidance) => Word::Advised { guidance },
                    None => Word::Retried,
                };
                self.words.push(Spoken { seq, segment, word });
                return Ok(());
            }
            (
                Wish::Retry { guidance: None, .. },
                Stood::Rests { retry: Retry::Asks { is_content: true }, .. },
            ) => {
                "nothing is known to be wrong with it: say what should be different after the command, or review the pull request"
            }
            (Wish::Retry { guidance, by }, Stood::Rests { retry: Retry::Asks { .. }, .. }) => {
                self.occasions.push(Occasion { seq, at, what: What::Asked { by, guidance } });
                return Ok(());
            }
            (Wish::Approve(by), Stood::Rests { segment, approvable: true, .. }) => {
                self.words.push(Spoken { seq, segment, word: Word::Approved { by } });
                return Ok(());
            }
            // Advice that comes while others are answered is for the next answer.
            (Wish::Retry { guidance: Some(guidance), by }, Stood::AtWork { conversing: true, .. }) => {
                let what = What::Asked { by, guidance: Some(guidance) };
                self.occasions.push(Occasion { seq, at, what });
                return Ok(());
            }
            (Wish::Approve(_), Stood::PlanWaits) => {
                self.plan_words.push((seq, PlanWord::Approved));
                return Ok(());
            }
            (Wish::Plan(guidance), Stood::PlanWaits) => {
                self.plan_words.push((seq, PlanWord::Again { guidance }));
                return Ok(());
            }
            (Wish::Cancel(because) | Wish::Unlabel(because), Stood::PlanWaits)
            | (Wish::Cancel(because), Stood::AtWork { .. })
            | (Wish::Unlabel(because), Stood::AtWork { has_pull: false, .. }) => {
                self.cancels.push(Cancelled { seq, because });
                return Ok(());
            }
            (Wish::Unlabel(_), Stood::AtWork { has_pull: true, .. }) => {
                "the pull request is open already: say /cancel, or close it"
            }
            (Wish::Approve(_), _) => "nothing waits for approval",
            (Wish::Plan(_), Stood::AtWork { has_pull: false, conversing: false }) => {
                "the plan is being made or carried out: say /cancel and start anew, or wait and review the pull request"
            }
            (Wish::Plan(_), _) => "no plan waits for approval: say /retry with what should be different",
            (Wish::Retry { .. }, Stood::AtWork { .. }) => "it is at work already",
            (Wish::Retry { .. }, Stood::PlanWaits) => {
                "the plan waits: say /approve, or /plan with what should be different"
            }
            (Wish::Retry { .. }, Stood::Over) => "it is done; there is nothing to retry",
            (Wish::Cancel(_) | Wish::Unlabel(_), Stood::Rests { .. } | Stood::Over) => "it has ended already",
            (Wish::Gone(_) | Wish::Talk | Wish::Closure(_) | Wish::Occasion(_), _) => "",
        };
        Err(because.to_owned())
    }
}

impl<'a, F: FnOnce() -> BTreeMap<&'a MoveKey, Vec<Seen<'a>>>> Listener<'a, F> {
    fn hear(&mut self, entry: &Entry, signal: &Signal) {
        let by = &signal.by;
        let (seq, at) = (entry.seq, entry.at);
        match &signal.kind {
            SignalKind::Labeled { .. } => self.ignore(seq, "it is at work already"),
            SignalKind::IssueEdited => {
                self.heard.issue_edited = true;
                self.ignore(seq, "the order works on the text as it was when it began");
            }
            SignalKind::IssueLocked => self.ignore(seq, "those who may command can still write there"),
            SignalKind::IssueTransferred => {
                self.wish(entry, Wish::Gone(format!("{by} moved the issue away")))
            }
            SignalKind::IssueDeleted => self.wish(entry, Wish::Gone(format!("{by} deleted the issue"))),
            SignalKind::IssueClosed => self.wish(entry, Wish::Cancel(format!("{by} closed the issue"))),
            SignalKind::PullClosed { pull, merged } => {
                let how = if *merged { Closed::Merged } else { Closed::TurnedDown };
                self.wish(entry, Wish::Closure(Closure { seq, pull: *pull, by: by.to_string(), how }));
            }
            SignalKind::PullReopened { pull } => {
                let how = Closed::Reopened;
                self.wish(entry, Wish::Closure(Closure { seq, pull: *pull, by: by.to_string(), how }));
            }
            SignalKind::PullPushed { head, .. } => {
                self.wish(entry, Wish::Occasion(What::Pushed { head: head.clone() }));
            }
            SignalKind::ChecksFinished { head } => {
                self.wish(entry, Wish::Occasion(What::Checked { head: head.clone() }));
            }
            SignalKind::BaseMoved { .. } => self.wish(entry, Wish::Occasion(What::BaseMoved)),
            SignalKind::Reviewed { verdict: ReviewVerdict::Approved, .. } => {
                self.ignore(seq, "an approval needs no answer");
            }
            SignalKind::Reviewed { review, verdict, .. } => {
                let is_new = self.reviews.insert(*review);
                let what = |by| What::Reviewed { by, review: *review, verdict: *verdict };
                self.of_a_reviewer((seq, at), by, is_new, what);
            }
            SignalKind::Remarked { comment, .. } => {
                let is_new = self.comments.insert(*comment);
                self.of_a_reviewer((seq, at), by, is_new, |by| What::Remarked { by, comment: *comment });
            }
            SignalKind::Commanded { comment: Some(comment), .. } | SignalKind::Misspoken { comment, .. }
                if !self.comments.insert(*comment) =>
            {
                self.ignore(seq, "the comment was heard already");
            }
            SignalKind::Misspoken { .. } => self.of_who_may((seq, at), by, || Wish::Talk),
            SignalKind::Unlabeled { .. } => {
                self.of_who_may((seq, at), by, || Wish::Unlabel(format!("{by} took the label off")));
            }
            SignalKind::Commanded { command, .. } => self.of_who_may((seq, at), by, || match command {
                Command::Retry { guidance } => Wish::Retry { guidance: guidance.clone(), by: by.clone() },
                Command::Approve => Wish::Approve(by.to_string()),
                Command::Cancel => Wish::Cancel(format!("{by} said /cancel")),
                Command::Plan { guidance } => Wish::Plan(guidance.clone()),
                Command::Status | Command::Help => Wish::Talk,
            }),
        }
    }

    fn wish(&mut self, entry: &Entry, wish: Wish) {
        self.decided.push(Decided { seq: entry.seq, at: entry.at, signal: entry.seq, wish });
    }

    /// What counts only when it comes from somebody with write access.
    fn of_who_may(
        &mut self,
        (signal, at): (u64, DateTime<Utc>),
        by: &Requester,
        wish: impl FnOnce() -> Wish,
    ) {
        match self.heard.right(&self.observed, (signal, at), by, self.now) {
            Right::Known { seq, at } => self.decided.push(Decided { seq, at, signal, wish: wish() }),
            Right::Asking => self.heard.answers.push(Answered { signal, answer: Answer::Asking }),
            Right::No(because) => {
                self.heard.answers.push(Answered { signal, answer: Answer::NoRight(because) });
            }
        }
    }

    fn of_a_reviewer(
        &mut self,
        (signal, at): (u64, DateTime<Utc>),
        by: &Requester,
        is_new: bool,
        what: impl FnOnce(Person) -> What,
    ) {
        match by {
            _ if !is_new => self.ignore(signal, "it was heard already"),
            Requester::ApiToken => self.ignore(signal, "reviews are written on GitHub"),
            Requester::Person(person) => {
                self.of_who_may((signal, at), by, || Wish::Occasion(what(person.clone())));
                let last = self.heard.answers.last();
                let is_asked =
                    last.is_some_and(|last| last.signal == signal && last.answer == Answer::Asking);
                self.heard.asks_for_reviewers |= is_asked;
            }
        }
    }

    fn ignore(&mut self, signal: u64, because: &str) {
        let answer = Answer::Ignored(because.to_owned());
        self.heard.answers.push(Answered { signal, answer });
    }
}
