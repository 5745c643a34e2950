//! What was heard so far, as the walk asks for it.

use chrono::{DateTime, Utc};

use crate::ids::{CommitSha, Person, PullNumber};
use crate::moves::{Move, MoveKey};
use crate::settlement::Settlement;
use crate::signal::Requester;
use crate::signal::ReviewVerdict;

/// What was heard so far.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Words that open an order again, in order.
    pub(crate) words: Vec<Spoken>,
    pub(crate) cancels: Vec<Cancelled>,
    /// What was said and done about the pull request, in the order in which it counts.
    pub(crate) occasions: Vec<Occasion>,
    /// How the pull request was closed and opened again.
    pub(crate) closures: Vec<Closure>,
    /// What people said of the plan.
    pub(crate) plan_words: Vec<(u64, PlanWord)>,
    /// Whether a review or a remark waits for GitHub to tell its author's rights.
    pub(crate) asks_for_reviewers: bool,
    /// Whether the issue's text was changed after the order began.
    pub(crate) issue_edited: bool,
    /// Questions about rights that are not answered yet.
    pub(crate) pending: Vec<(MoveKey, Move)>,
    /// When the next of them is to be asked again.
    pub(crate) ask_again: Option<DateTime<Utc>>,
    /// One a signal.
    pub(crate) answers: Vec<Answered>,
}

/// A word that counts, and where it was taken.
#[derive(Debug)]
pub(crate) struct Spoken {
    pub(crate) seq: u64,
    /// What it is about: 0 the pipeline, else the which-th answer to people.
    pub(crate) segment: u32,
    pub(crate) word: Word,
}

/// What opens an order again.
#[derive(Debug)]
pub(crate) enum Word {
    /// `/retry` and nothing more.
    Retried,
    /// `/retry` with what it advises.
    Advised { guidance: String },
    /// `/approve`.
    Approved { by: String },
}

/// Something about the pull request that may be answered.
#[derive(Debug)]
pub(crate) struct Occasion {
    pub(crate) seq: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) what: What,
}

/// What happened to the pull request.
#[derive(Debug)]
pub(crate) enum What {
    /// A person who may asked for changes, or said something.
    Reviewed { by: Person, review: u64, verdict: ReviewVerdict },
    /// A person who may wrote a comment.
    Remarked { by: Person, comment: u64 },
    /// `/retry`, with or without advice, when nothing was left to do.
    Asked { by: Requester, guidance: Option<String> },
    /// Checks of others finished.
    Checked { head: CommitSha },
    /// The branch is at this commit.
    Pushed { head: CommitSha },
    /// The base branch has moved.
    BaseMoved,
}

/// The pull request was closed, or opened again.
#[derive(Debug)]
pub(crate) struct Closure {
    pub(crate) seq: u64,
    pub(crate) pull: PullNumber,
    pub(crate) by: String,
    pub(crate) how: Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    Merged,
    TurnedDown,
    Reopened,
}

impl Closure {
    pub(crate) fn is_merged(&self) -> bool {
        self.how == Closed::Merged
    }

    pub(crate) fn settlement(&self) -> Settlement {
        let (pull, by) = (self.pull, self.by.clone());
        if self.is_merged() { Settlement::Merged { pull, by } } else { Settlement::Closed { pull, by } }
    }
}

/// What a person said of the plan.
#[derive(Debug)]
pub(crate) enum PlanWord {
    Approved,
    Again { guidance: Option<String> },
}

#[derive(Debug)]
pub(crate) struct Cancelled {
    pub(crate) seq: u64,
    pub(crate) because: String,
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The entry that holds the signal.
    pub signal: u64,
    /// What became of it.
    pub answer: Answer,
}

/// What became of a signal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It changed what happens.
    Taken,
    /// It is kept in mind; whether there is something to do about it will be seen when the pull request is read.
    Noted,
    /// It is being asked whether the person may.
    Asking,
    /// Who said it may not command.
    NoRight(String),
    /// It changed nothing, because.
    Ignored(String),
}

impl Word {
    pub(crate) fn is_retry(&self) -> bool {
        match self {
            Self::Retried | Self::Advised { .. } => true,
            Self::Approved { .. } => false,
        }
    }
}

/// What was heard, for one part of an order: a word is about what it was said to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hearing<'a> {
    pub(crate) heard: &'a Heard,
    /// 0 the pipeline, else the which-th answer to people.
    pub(crate) segment: u32,
}

impl<'a> Hearing<'a> {
    fn words(self) -> impl DoubleEndedIterator<Item = &'a Spoken> {
        self.heard.words.iter().filter(move |spoken| spoken.segment == self.segment)
    }

    /// The first word that counts and came after this entry.
    pub(crate) fn word_after(self, seq: u64) -> Option<&'a Word> {
        self.words_after(seq).next()
    }

    /// Every word that counts and came after this entry.
    pub(crate) fn words_after(self, seq: u64) -> impl Iterator<Item = &'a Word> {
        self.words().filter(move |spoken| spoken.seq > seq).map(|spoken| &spoken.word)
    }

    /// Whether a `/retry` came after this entry, whatever came between: of stages side by side each has its own word.
    pub(crate) fn has_retry_after(self, seq: u64) -> bool {
        self.words_after(seq).any(Word::is_retry)
    }

    /// Whether the first word after this entry is a `/retry`.
    pub(crate) fn retried_after(self, seq: u64) -> bool {
        self.word_after(seq).is_some_and(Word::is_retry)
    }

    /// Who approved after this entry, whatever else was said: for work that nothing is wrong with.
    pub(crate) fn approved_after(self, seq: u64) -> Option<&'a str> {
        self.words_after(seq).find_map(|word| match word {
            Word::Approved { by } => Some(by.as_str()),
            Word::Retried | Word::Advised { .. } => None,
        })
    }

    /// Who approved, when that is the last word after this entry.
    pub(crate) fn approved_last_after(self, seq: u64) -> Option<&'a str> {
        let last = self.words().next_back().filter(|spoken| spoken.seq > seq)?;
        match &last.word {
            Word::Approved { by } => Some(by),
            Word::Retried | Word::Advised { .. } => None,
        }
    }

    /// What the last `/retry` after this entry advises.
    pub(crate) fn guidance_after(self, seq: u64) -> Option<&'a str> {
        let last = self.words().rfind(|spoken| spoken.word.is_retry() && spoken.seq > seq)?;
        match &last.word {
            Word::Advised { guidance } => Some(guidance),
            Word::Retried | Word::Approved { .. } => None,
        }
    }

    /// The first word about the plan after this entry.
    pub(crate) fn plan_word_after(self, seq: u64) -> Option<&'a (u64, PlanWord)> {
        self.heard.plan_words.iter().find(|(said, _)| *said > seq)
    }
}

impl Heard {
    /// Where a budget was granted last: by the last `/retry` that counts, in whatever words.
    pub(crate) fn last_retry(&self) -> Option<u64> {
        let words = self.words.iter().filter(|spoken| spoken.word.is_retry()).map(|spoken| spoken.seq);
        let asked = self.occasions.iter().filter(|occasion| matches!(occasion.what, What::Asked { .. }));
        words.chain(asked.map(|occasion| occasion.seq)).max()
    }

    /// Why the order is cancelled, if it is, and by which entry.
    pub(crate) fn cancelled(&self) -> Option<(u64, &str)> {
        let reopened = |seq: u64| self.words.iter().any(|spoken| spoken.seq > seq);
        self.cancels
            .last()
            .filter(|cancel| !reopened(cancel.seq))
            .map(|cancel| (cancel.seq, cancel.because.as_str()))
    }

    /// How the pull request was closed, if it is.
    pub(crate) fn closed(&self) -> Option<&Closure> {
        self.closures.last().filter(|closure| closure.how != Closed::Reopened)
    }
}
