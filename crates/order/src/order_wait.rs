//! What an order waits for, for people who wonder why nothing happens.
//!
//! May know: a journal and what follows from it. Must never know: who shows it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::journal::Journal;
use super::journal_entry::JournalEvent;
use super::next::OrderProjection;
use super::trace::PendingApproval;

/// One thing that an order waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case")]
pub enum OrderWait {
    /// A running effect: an agent, the tests, a request to GitHub.
    Effect {
        /// Its name, as in the journal and in the log.
        key: String,
        /// When the current attempt began.
        since: DateTime<Utc>,
    },
    /// The retry of a failed effect.
    Attempt { because: String, until: DateTime<Utc> },
    Person {
        /// What the person has to do.
        to: String,
    },
}

impl OrderWait {
    /// Everything that an order waits for; empty if it has ended and its final status is posted.
    pub fn of(journal: &Journal, projection: &OrderProjection) -> Vec<Self> {
        let under_way = projection.next.moves.iter().filter(|(key, _)| journal.is_under_way(key));
        let mut waits: Vec<Self> = under_way
            .filter_map(|(key, _)| {
                let begun = journal.entries().iter().rfind(
                    |entry| matches!(&entry.event, JournalEvent::Intended { key: begun, .. } if begun == key),
                )?;
                Some(Self::Effect { key: key.to_string(), since: begun.at })
            })
            .collect();
        if projection.next.settled.is_some() {
            return waits;
        }
        let attempt = projection.trace.waiting.as_ref();
        waits.extend(
            attempt.map(|failed| Self::Attempt { because: failed.message.clone(), until: failed.until }),
        );
        waits.extend(projection.trace.asks.map(|asks| {
            let to = match asks {
                PendingApproval::Plan => "approve the plan, or say what is to be different",
                PendingApproval::Answers => "answer what the plan leaves open",
            };
            Self::Person { to: to.to_owned() }
        }));
        waits
    }
}
