//! Who may command. GitHub is asked once for each command; until it answers, the person may not.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::signal_log::SignalLog;
use crate::backoff::Backoff;
use crate::effect_name::ReservedWord;
use crate::journal_index::{JournalPrefix, Observation};
use crate::moves::{EffectError, EffectOutcome, Move, MoveKey, Retry};
use crate::signal::Requester;

/// How often GitHub is asked for a person's rights, with growing pauses. Attempts during an outage do not count.
const MOST_QUESTIONS: usize = 14;

/// What is known of a person's rights.
pub(crate) enum SenderPermission {
    /// They may, and this entry confirmed it.
    Known {
        seq: u64,
        at: DateTime<Utc>,
    },
    Asking,
    No(String),
}

impl SignalLog {
    /// Whether this person may command, by GitHub's answers after an entry. If GitHub cannot be asked, they may not.
    pub(crate) fn permission(
        &mut self,
        journal: JournalPrefix<'_>,
        (signal, at, after): (u64, DateTime<Utc>, u64),
        by: &Requester,
        now: DateTime<Utc>,
    ) -> SenderPermission {
        // The API token is permission enough.
        let person = match by {
            Requester::Person(person) => person,
            Requester::ApiToken => return SenderPermission::Known { seq: signal, at },
            Requester::Repository => return SenderPermission::No("settings give no commands".to_owned()),
        };
        let key = MoveKey::beside(ReservedWord::Authorize, signal);
        let asked: Vec<Observation<'_>> = journal.observed(&key).filter(|seen| seen.seq > after).collect();
        for seen in &asked {
            if let EffectOutcome::Authorized { allowed } = seen.outcome {
                return if *allowed {
                    SenderPermission::Known { seq: seen.seq, at: seen.at }
                } else {
                    SenderPermission::No(format!("{} has no write access", person.login))
                };
            }
        }
        let Some(last) = asked.last() else {
            self.pending.push((key, Move::Authorize { person: person.clone() }));
            return SenderPermission::Asking;
        };
        let retry =
            if let EffectOutcome::Trouble(trouble) = last.outcome { trouble.retry } else { Retry::Soon };
        let is_away = |seen: &&Observation<'_>| {
            matches!(seen.outcome, EffectOutcome::Trouble(EffectError { retry: Retry::Outage, .. }))
        };
        let answered = asked.len() - asked.iter().filter(is_away).count();
        let away = u32::try_from(asked.iter().rev().take_while(is_away).count()).unwrap_or(u32::MAX);
        let told = match retry {
            Retry::Never => return SenderPermission::No("GitHub does not tell their rights".to_owned()),
            Retry::After { seconds } => Some(seconds.min(3_600)),
            Retry::Soon => Some(10 << answered.min(5)),
            Retry::Outage => Backoff::OUTAGE.pause(away, None).map(|pause| pause.as_secs()),
        };
        let Some(told) = told.filter(|_| answered < MOST_QUESTIONS) else {
            return SenderPermission::No("GitHub could not be asked for their rights".to_owned());
        };
        let due = last.at + Duration::from_secs(told);
        if now >= due {
            self.pending.push((key, Move::Authorize { person: person.clone() }));
        } else {
            self.ask_again = Some(self.ask_again.map_or(due, |known| known.min(due)));
        }
        SenderPermission::Asking
    }
}
