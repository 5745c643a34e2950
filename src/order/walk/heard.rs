//! What was heard so far, as the walk asks for it.

use chrono::{DateTime, Utc};

use crate::order::moves::{Move, MoveKey};

/// What was heard so far.
#[derive(Debug, Default)]
pub(in crate::order) struct Heard {
    /// Words that open an order again, in order.
    pub(in crate::order) words: Vec<Spoken>,
    pub(in crate::order) cancels: Vec<Cancelled>,
    /// Questions about rights that are not answered yet.
    pub(in crate::order) pending: Vec<(MoveKey, Move)>,
    /// When the next of them is to be asked again.
    pub(in crate::order) ask_again: Option<DateTime<Utc>>,
    /// One a signal.
    pub(in crate::order) answers: Vec<Answered>,
}

/// A word that counts, and where it was taken.
#[derive(Debug)]
pub(in crate::order) struct Spoken {
    pub(in crate::order) seq: u64,
    pub(in crate::order) word: Word,
}

/// What opens an order again.
#[derive(Debug)]
pub(in crate::order) enum Word {
    /// `/retry` and nothing more.
    Retried,
    /// `/retry` with what it advises.
    Advised { guidance: String },
    /// `/approve`.
    Approved { by: String },
}

#[derive(Debug)]
pub(in crate::order) struct Cancelled {
    pub(in crate::order) seq: u64,
    pub(in crate::order) because: String,
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
    /// It is being asked whether the person may.
    Asking,
    /// It changed nothing, because.
    Ignored(String),
}

impl Word {
    pub(in crate::order) fn is_retry(&self) -> bool {
        match self {
            Self::Retried | Self::Advised { .. } => true,
            Self::Approved { .. } => false,
        }
    }
}

impl Heard {
    /// The first word that counts and came after this entry.
    pub(in crate::order) fn word_after(&self, seq: u64) -> Option<&Word> {
        self.words.iter().find(|spoken| spoken.seq > seq).map(|spoken| &spoken.word)
    }

    /// Every word that counts and came after this entry.
    pub(in crate::order) fn words_after(&self, seq: u64) -> impl Iterator<Item = &Word> {
        self.words.iter().filter(move |spoken| spoken.seq > seq).map(|spoken| &spoken.word)
    }

    /// Whether a `/retry` came after this entry, whatever came between: of stages side by side each has its own word.
    pub(in crate::order) fn has_retry_after(&self, seq: u64) -> bool {
        self.words_after(seq).any(Word::is_retry)
    }

    /// Whether the first word after this entry is a `/retry`.
    pub(in crate::order) fn retried_after(&self, seq: u64) -> bool {
        self.word_after(seq).is_some_and(Word::is_retry)
    }

    /// Who approved after this entry, whatever else was said: for work that nothing is wrong with.
    pub(in crate::order) fn approved_after(&self, seq: u64) -> Option<&str> {
        self.words_after(seq).find_map(|word| match word {
            Word::Approved { by } => Some(by.as_str()),
            Word::Retried | Word::Advised { .. } => None,
        })
    }

    /// Who approved, when that is the last word after this entry.
    pub(in crate::order) fn approved_last_after(&self, seq: u64) -> Option<&str> {
        let last = self.words.last().filter(|spoken| spoken.seq > seq)?;
        match &last.word {
            Word::Approved { by } => Some(by),
            Word::Retried | Word::Advised { .. } => None,
        }
    }

    /// Where the last `/retry` that counts was taken.
    pub(in crate::order) fn last_retry(&self) -> Option<u64> {
        self.words.iter().rfind(|spoken| spoken.word.is_retry()).map(|spoken| spoken.seq)
    }

    /// What the last `/retry` after this entry advises.
    pub(in crate::order) fn guidance_after(&self, seq: u64) -> Option<&str> {
        let last = self.words.iter().rfind(|spoken| spoken.word.is_retry() && spoken.seq > seq)?;
        match &last.word {
            Word::Advised { guidance } => Some(guidance),
            Word::Retried | Word::Approved { .. } => None,
        }
    }

    /// Why the order is cancelled, if it is, and by which entry.
    pub(in crate::order) fn cancelled(&self) -> Option<(u64, &str)> {
        self.cancels
            .last()
            .filter(|cancel| self.word_after(cancel.seq).is_none())
            .map(|cancel| (cancel.seq, cancel.because.as_str()))
    }
}
