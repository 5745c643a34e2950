//! What was heard so far, as the walk asks for it.

use chrono::{DateTime, Utc};

use super::moves::{Move, MoveKey};

/// What was heard so far.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) retries: Vec<Retried>,
    pub(super) cancels: Vec<Cancelled>,
    /// Questions about rights that are not answered yet.
    pub(super) pending: Vec<(MoveKey, Move)>,
    /// When the next of them is to be asked again.
    pub(super) ask_again: Option<DateTime<Utc>>,
    /// One a signal.
    pub(super) answers: Vec<Answered>,
}

#[derive(Debug)]
pub(super) struct Retried {
    pub(super) seq: u64,
    pub(super) guidance: Option<String>,
}

#[derive(Debug)]
pub(super) struct Cancelled {
    pub(super) seq: u64,
    pub(super) because: String,
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

impl Heard {
    /// The first `/retry` that counts and came after this entry.
    pub(super) fn retry_after(&self, seq: u64) -> Option<&Retried> {
        self.retries.iter().find(|retry| retry.seq > seq)
    }

    /// Where the last `/retry` that counts was taken.
    pub(super) fn last_retry(&self) -> Option<u64> {
        self.retries.last().map(|retry| retry.seq)
    }

    /// What the last `/retry` after this entry advises.
    pub(super) fn guidance_after(&self, seq: u64) -> Option<&str> {
        self.retries.iter().rfind(|retry| retry.seq > seq).and_then(|retry| retry.guidance.as_deref())
    }

    /// Why the order is cancelled, if it is, and by which entry.
    pub(super) fn cancelled(&self) -> Option<(u64, &str)> {
        self.cancels
            .last()
            .filter(|cancel| self.retry_after(cancel.seq).is_none())
            .map(|cancel| (cancel.seq, cancel.because.as_str()))
    }
}
