//! What people said, and what became of it: every signal is answered, if only with "ignored, because".

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use super::heard::{Answer, Answered, Cancelled, Heard, Spoken, Word};
use super::{Seen, Walk, observations};
use crate::order::journal::{Event, Journal, Requester};
use crate::order::moves::{Move, MoveKey, Outcome, Retry};
use crate::order::pipeline::Pipeline;
use crate::order::signal::{Command, SignalKind};

/// How often GitHub is asked for somebody's rights, with growing pauses: an outage of an hour is outlasted.
const MOST_QUESTIONS: usize = 14;

impl Heard {
    /// Listens to the whole journal, one signal after the other, each as it stood when it was decided.
    pub(in crate::order) fn listen(pipeline: &Pipeline, journal: &Journal, now: DateTime<Utc>) -> Self {
        let mut heard = Self::default();
        // Read at the first command, and then for all: most journals have none.
        let observed = LazyCell::new(|| observations(journal.entries()));
        let mut comments: BTreeSet<u64> = BTreeSet::new();
        let mut decided: Vec<(u64, DateTime<Utc>, u64, Wish)> = Vec::new();
        for entry in journal.entries() {
            let Event::Signaled { signal, .. } = &entry.event else { continue };
            let by = &signal.by;
            match &signal.kind {
                SignalKind::Labeled { .. } => heard.ignore(entry.seq, "it is at work already"),
                SignalKind::Unlabeled { .. } => heard.ignore(entry.seq, "say /cancel to stop it"),
                SignalKind::IssueEdited
                | SignalKind::Misspoken { .. }
                | SignalKind::IssueTransferred
                | SignalKind::IssueDeleted
                | SignalKind::IssueLocked
                | SignalKind::PullReopened { .. }
                | SignalKind::PullPushed { .. }
                | SignalKind::Reviewed { .. }
                | SignalKind::Remarked { .. }
                | SignalKind::ChecksFinished { .. }
                | SignalKind::BaseMoved { .. } => heard.ignore(entry.seq, "it changes nothing yet"),
                SignalKind::PullClosed { merged, .. } => {
                    let how = if *merged { "merged" } else { "closed" };
                    let wish = Wish::Cancel(format!("{} {how} the pull request", by));
                    decided.push((entry.seq, entry.at, entry.seq, wish));
                }
                SignalKind::IssueClosed => {
                    let wish = Wish::Cancel(format!("{} closed the issue", by));
                    decided.push((entry.seq, entry.at, entry.seq, wish));
                }
                SignalKind::Commanded { comment: Some(comment), .. } if !comments.insert(*comment) => {
                    heard.ignore(entry.seq, "the comment was heard already");
                }
                SignalKind::Commanded { command, .. } => {
                    match heard.right(&observed, (entry.seq, entry.at), by, now) {
                        Right::Known { seq, at } => {
                            let wish = match command {
                                Command::Retry { guidance } => Wish::Retry(guidance.clone()),
                                Command::Approve => Wish::Approve(by.to_string()),
                                Command::Cancel => Wish::Cancel(format!("{} said /cancel", by)),
                                Command::Plan { .. } | Command::Status | Command::Help => {
                                    heard.ignore(entry.seq, "it changes nothing yet");
                                    continue;
                                }
                            };
                            decided.push((seq, at, entry.seq, wish));
                        }
                        Right::Asking => {
                            heard.answers.push(Answered { signal: entry.seq, answer: Answer::Asking })
                        }
                        Right::No(because) => heard.ignore(entry.seq, because),
                    }
                }
            }
        }
        decided.sort_by_key(|(seq, ..)| *seq);
        for (seq, at, signal, wish) in decided {
            heard.decide(pipeline, journal, (seq, at), signal, wish);
        }
        heard.answers.sort_by_key(|answered| answered.signal);
        heard
    }

    fn decide(
        &mut self,
        pipeline: &Pipeline,
        journal: &Journal,
        (seq, at): (u64, DateTime<Utc>),
        signal: u64,
        wish: Wish,
    ) {
        let length = usize::try_from(seq.saturating_sub(1)).unwrap_or(usize::MAX);
        let stood = match self.cancelled() {
            Some(_) => Stood::Retriable,
            None => {
                let ran = Walk::new(pipeline, journal, length, self, at).run();
                match ran.settled {
                    Some(_) if ran.approvable => Stood::WithAPerson,
                    Some(settlement) if settlement.can_be_retried() => Stood::Retriable,
                    Some(_) => Stood::Done,
                    None => Stood::AtWork,
                }
            }
        };
        match (wish, stood) {
            (Wish::Retry(guidance), Stood::Retriable | Stood::WithAPerson) => {
                let word = match guidance {
                    Some(guidance) => Word::Advised { guidance },
                    None => Word::Retried,
                };
                self.words.push(Spoken { seq, word });
            }
            (Wish::Approve(by), Stood::WithAPerson) => {
                self.words.push(Spoken { seq, word: Word::Approved { by } });
            }
            (Wish::Approve(_), Stood::AtWork | Stood::Retriable | Stood::Done) => {
                return self.ignore(signal, "nothing waits for approval");
            }
            (Wish::Retry(_), Stood::AtWork) => return self.ignore(signal, "it is at work already"),
            (Wish::Retry(_), Stood::Done) => {
                return self.ignore(signal, "it is done; there is nothing to retry");
            }
            (Wish::Cancel(because), Stood::AtWork) => self.cancels.push(Cancelled { seq, because }),
            (Wish::Cancel(_), Stood::Retriable | Stood::WithAPerson | Stood::Done) => {
                return self.ignore(signal, "it has ended already");
            }
        }
        self.answers.push(Answered { signal, answer: Answer::Taken });
    }

    fn ignore(&mut self, signal: u64, because: impl Into<String>) {
        self.answers.push(Answered { signal, answer: Answer::Ignored(because.into()) });
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    /// Whether this person may command, as far as GitHub was asked. When it cannot be asked, they may not.
    fn right(
        &mut self,
        observed: &BTreeMap<&MoveKey, Vec<Seen<'_>>>,
        (signal, at): (u64, DateTime<Utc>),
        by: &Requester,
        now: DateTime<Utc>,
    ) -> Right {
        // The API's token is the right.
        let person = match by {
            Requester::Person(person) => person,
            Requester::ApiToken => return Right::Known { seq: signal, at },
        };
        let key = MoveKey(format!("authorize/{signal}"));
        let asked = observed.get(&key).map_or(&[][..], Vec::as_slice);
        for seen in asked {
            if let Outcome::Authorized { allowed } = seen.outcome {
                return if *allowed {
                    Right::Known { seq: seen.seq, at: seen.at }
                } else {
                    Right::No(format!("{} has no write access", person.login))
                };
            }
        }
        let Some(last) = asked.last() else {
            self.pending.push((key, Move::Authorize { person: person.clone() }));
            return Right::Asking;
        };
        let retry = match last.outcome {
            Outcome::Trouble(trouble) => trouble.retry,
            _ => Retry::Soon,
        };
        let told = match retry {
            Retry::Never => return Right::No("GitHub does not tell their rights".to_owned()),
            Retry::After { seconds } => seconds.min(3_600),
            Retry::Soon => 10 << asked.len().min(5),
        };
        if asked.len() >= MOST_QUESTIONS {
            return Right::No("GitHub could not be asked for their rights".to_owned());
        }
        let due = last.at + chrono::TimeDelta::seconds(told.cast_signed());
        if now >= due {
            self.pending.push((key, Move::Authorize { person: person.clone() }));
        } else {
            self.ask_again = Some(self.ask_again.map_or(due, |known| known.min(due)));
        }
        Right::Asking
    }
}

enum Wish {
    Retry(Option<String>),
    Cancel(String),
    Approve(String),
}

enum Stood {
    AtWork,
    Retriable,
    /// As [`Stood::Retriable`], and there is something to approve.
    WithAPerson,
    Done,
}

enum Right {
    Known { seq: u64, at: DateTime<Utc> },
    Asking,
    No(String),
}
