//! What an order and its stages may cost, in dollars and in time.

use chrono::{DateTime, TimeDelta, Utc};

use super::Walk;
use super::worker::Worker;
use crate::order::agent_run::Usage;
use crate::order::journal::{Entry, Event};
use crate::order::moves::{Move, Outcome};
use crate::order::settings::OrderLimits;

/// No agent is started for less time than this.
const SHORTEST_RUN_SECONDS: i64 = 30;

impl Walk<'_> {
    fn limits(&self) -> OrderLimits {
        let server = self.journal.opened().limits;
        let own = self.settings.budget.unwrap_or_default();
        OrderLimits {
            minutes: own.minutes.map_or(server.minutes, |minutes| minutes.min(server.minutes)),
            usd: own.usd.map_or(server.usd, |usd| usd.min(server.usd)),
            runs: own.runs.map_or(server.runs, |runs| runs.min(server.runs)),
            ..server
        }
    }

    /// The limits that hold, for the status.
    pub(in crate::order) fn usd_limit(&self) -> f64 {
        self.limits().usd
    }

    /// The time that is left, or which limit is reached. It runs from the first agent's run after the opening or the
    /// last `/retry`: waiting for a place is not work.
    pub(in crate::order) fn remaining(&self, worker: &Worker) -> Result<TimeDelta, String> {
        let limits = self.limits();
        let seq = self.heard.heard.last_retry().unwrap_or(0);
        let spent = usage_after(self.entries, seq, None).usd;
        if spent >= limits.usd {
            return Err(format!("the budget of ${:.2} is spent (${spent:.2})", limits.usd));
        }
        if let Some((stage, usd)) = &worker.budget {
            let spent = usage_after(self.entries, seq, Some(stage)).usd;
            if spent >= *usd {
                return Err(format!("the budget of ${usd:.2} for stage {stage} is spent (${spent:.2})"));
            }
        }
        let minutes = i64::try_from(limits.minutes).unwrap_or(i64::MAX).min(60 * 24 * 365);
        let worked = first_run_after(self.entries, seq).map_or(TimeDelta::zero(), |since| self.now - since);
        let left = TimeDelta::minutes(minutes) - worked;
        if left < TimeDelta::seconds(SHORTEST_RUN_SECONDS.min(minutes * 60)) {
            return Err(format!("the {} minutes for this order are over", limits.minutes));
        }
        Ok(left)
    }
}

/// When the first agent was started, by the entries after this one.
fn first_run_after(entries: &[Entry], seq: u64) -> Option<DateTime<Utc>> {
    let runs = |event: &Event| matches!(event, Event::Intended { r#move, .. } if matches!(**r#move, Move::RunAgent(_)));
    entries.iter().find(|entry| entry.seq > seq && runs(&entry.event)).map(|entry| entry.at)
}

/// What the agents cost, by the entries after this one; of one stage, or of all.
pub(in crate::order) fn usage_after(entries: &[Entry], seq: u64, stage: Option<&str>) -> Usage {
    let mut sum = Usage::default();
    for entry in entries.iter().filter(|entry| entry.seq > seq) {
        if let Event::Observed { key, outcome } = &entry.event
            && let Outcome::AgentRan(run) = &**outcome
            && stage.is_none_or(|stage| key.0.split('/').next() == Some(stage))
        {
            sum = sum + run.usage;
        }
    }
    sum
}
