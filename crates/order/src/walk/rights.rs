//! Who may command: asked of GitHub once for each word, and as long as it does not answer, they may not.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::Seen;
use super::heard::Heard;
use crate::effect_name::Reserved;
use crate::moves::{Move, MoveKey, Outcome, Retry};
use crate::signal::Requester;

/// How often GitHub is asked for somebody's rights, with growing pauses: an outage of an hour is outlasted.
const MOST_QUESTIONS: usize = 14;

/// What is known of somebody's right.
pub(crate) enum Right {
    /// They may, and that is known since this entry.
    Known {
        seq: u64,
        at: DateTime<Utc>,
    },
    Asking,
    No(String),
}

impl Heard {
    #[expect(clippy::wildcard_enum_match_arm, reason = "any other outcome is of another move")]
    /// Whether this person may command, as far as GitHub was asked. When it cannot be asked, they may not.
    pub(crate) fn right(
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
        let key = MoveKey::beside(Reserved::Authorize, signal);
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
