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
    /// One a signal.
    pub(super) answers: Vec<Answered>,
}

#[derive(Debug)]
pub(super) struct Retried {
    pub(super) seq: u64,
    pub(super) at: DateTime<Utc>,
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

    /// Where and when the last `/retry` that counts was taken.
    pub(super) fn last_retry(&self) -> Option<(u64, DateTime<Utc>)> {
        self.retries.last().map(|retry| (retry.seq, retry.at))
    }

    /// Why the order is cancelled, if it is, and by which entry.
    pub(super) fn cancelled(&self) -> Option<(u64, &str)> {
        self.cancels
            .last()
            .filter(|cancel| self.retry_after(cancel.seq).is_none())
            .map(|cancel| (cancel.seq, cancel.because.as_str()))
    }
}
