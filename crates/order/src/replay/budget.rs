//! What an order and its stages may cost, in dollars, time and agent runs.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::Replay;
use super::worker::Worker;
use crate::agent_run::AgentUsage;
use crate::journal::JournalEvent;
use crate::journal_index::{EntryKind, JournalPrefix};
use crate::moves::{EffectError, EffectOutcome, MoveKey, Retry};
use crate::settings::OrderLimits;

/// Agents are not started for less time than this.
const SHORTEST_RUN_SECONDS: i64 = 30;

/// What an order may cost and has cost since it began or since its last `/retry`, which grants it all again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OrderBudget {
    pub usd_limit: f64,
    /// In dollars, as the agents report.
    pub usd_spent: f64,
    pub minutes_limit: u64,
    /// From the first agent run to the newest journal entry, without waits for people or GitHub.
    pub minutes_spent: u64,
    /// The most agent runs.
    pub runs_limit: u32,
    pub runs_spent: u32,
}

impl Replay<'_> {
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

    /// The entry after which costs count.
    fn counted_from(&self) -> u64 {
        self.signals.log.last_retry().unwrap_or(0)
    }

    pub(crate) fn budget(&self) -> OrderBudget {
        let (limits, seq) = (self.limits(), self.counted_from());
        // Time after the last entry of an order at rest is not work.
        let minutes = self.worked(seq).0.num_minutes();
        OrderBudget {
            usd_limit: limits.usd,
            usd_spent: usage_after(self.prefix, seq).usd,
            minutes_limit: limits.minutes,
            minutes_spent: u64::try_from(minutes).unwrap_or(0),
            runs_limit: limits.runs,
            runs_spent: started(self.prefix, seq),
        }
    }

    /// The time left for a run, or the limit that is reached and what continuing would cost.
    pub(crate) fn remaining(&self, worker: &Worker<'_>, key: &MoveKey) -> Result<TimeDelta, String> {
        let limits = self.limits();
        self.left(&limits, worker, key).map_err(|reached| {
            let further = self.what_a_round_costs(key).map(|cost| format!("; {cost}")).unwrap_or_default();
            format!("{reached}{further}")
        })
    }

    fn left(&self, limits: &OrderLimits, worker: &Worker<'_>, key: &MoveKey) -> Result<TimeDelta, String> {
        let seq = self.counted_from();
        let spent = usage_after(self.prefix, seq).usd;
        if spent >= limits.usd {
            return Err(format!("the budget of ${:.2} is spent (${spent:.2})", limits.usd));
        }
        if let Some(usd) = worker.stage.budget {
            let stage = &worker.stage.name;
            // Among judges asked in parallel, no judge is skipped because another was faster.
            let of_stage = |known: &MoveKey| known.stage() == stage && !known.is_beside(key);
            let spent = usage_of(self.prefix, seq, of_stage).usd;
            if spent >= usd {
                return Err(format!("the budget of ${usd:.2} for stage {stage} is spent (${spent:.2})"));
            }
        }
        if started(self.prefix, seq) >= limits.runs {
            return Err(format!("the {} agent runs for this order are used up", limits.runs));
        }
        let minutes = i64::try_from(limits.minutes).unwrap_or(i64::MAX).min(60 * 24 * 365);
        let (until_last, since_last) = self.worked(seq);
        let left = (TimeDelta::minutes(minutes) - until_last - since_last).min(TimeDelta::minutes(minutes));
        if left < TimeDelta::seconds(SHORTEST_RUN_SECONDS.min(minutes * 60)) {
            return Err(format!("the {} minutes for this order are over", limits.minutes));
        }
        Ok(left)
    }

    /// How long the order worked until the last entry, and since then, from the first agent run after `seq`. Rests that
    /// end with a signal do not count, nor does time in which only retries against an unreachable GitHub were under
    /// way. Waiting for a place, for people or for GitHub is not work.
    fn worked(&self, seq: u64) -> (TimeDelta, TimeDelta) {
        let prefix = self.prefix;
        let Some(first) = prefix.of_kind(EntryKind::Start).find(|entry| entry.seq > seq) else {
            return (TimeDelta::zero(), TimeDelta::zero());
        };
        let (mut worked, mut last) = (TimeDelta::zero(), first.at);
        // `away` holds the effects whose last attempt met an outage.
        let (mut under_way, mut away): (BTreeSet<&MoveKey>, BTreeSet<&MoveKey>) = Default::default();
        for entry in prefix.entries().iter().skip_while(|entry| entry.seq < first.seq) {
            let is_rest = matches!(entry.event, JournalEvent::Signaled { .. }) && under_way.is_empty();
            let is_away = !away.is_empty() && under_way.is_subset(&away);
            if !is_rest && !is_away {
                worked += passed(last, entry.at);
            }
            last = entry.at;
            match &entry.event {
                JournalEvent::Intended { key, .. } => {
                    under_way.insert(key);
                }
                JournalEvent::Observed { key, outcome } => {
                    under_way.remove(key);
                    away.remove(key);
                    if matches!(**outcome, EffectOutcome::Trouble(EffectError { retry: Retry::Outage, .. })) {
                        away.insert(key);
                    }
                }
                JournalEvent::Opened(_) | JournalEvent::Signaled { .. } => {}
            }
        }
        let is_away = !away.is_empty() && under_way.is_subset(&away);
        (worked, if is_away { TimeDelta::zero() } else { passed(last, self.now) })
    }

    /// The mean cost of a round of this stage, or of any agent run if the stage has none yet. `None` if nothing is
    /// known, or if the agents do not report costs.
    fn what_a_round_costs(&self, key: &MoveKey) -> Option<String> {
        let stage = key.stage();
        let mut rounds: BTreeMap<&str, f64> = BTreeMap::new();
        let mut runs: Vec<f64> = Vec::new();
        for (_, known, run) in self.prefix.runs().filter(|(_, _, run)| run.took_place()) {
            runs.push(run.usage.usd);
            if known.stage() == stage {
                *rounds.entry(known.round()).or_default() += run.usage.usd;
            }
        }
        // The round that is being stopped is incomplete, so it counts only if it is the only one.
        if rounds.len() > 1 {
            rounds.remove(key.round());
        }
        let mean = |costs: &[f64]| costs.iter().sum::<f64>() / costs.len() as f64;
        let costs: Vec<f64> = rounds.into_values().collect();
        let (of, usd) =
            if costs.is_empty() { ("run of an agent", mean(&runs)) } else { ("round", mean(&costs)) };
        let usd = steady(usd);
        (usd > 0.0).then(|| format!("one more {of} costs about ${usd:.2}"))
    }
}

/// The number of agent runs after this entry, including those that were cut off and restarted without an outcome. Runs
/// under way are not counted yet.
fn started(prefix: JournalPrefix<'_>, seq: u64) -> u32 {
    let starts = prefix.of_kind(EntryKind::Start).filter(|start| start.seq > seq);
    let cut_off = starts.filter(|start| {
        let JournalEvent::Intended { key, .. } = &start.event else { return false };
        prefix.before(start.seq).is_under_way_since(key, seq)
    });
    let ended = prefix.runs().filter(|(at, _, run)| *at > seq && run.took_place());
    u32::try_from(ended.count() + cut_off.count()).unwrap_or(u32::MAX)
}

/// What the agents used after this entry.
pub(crate) fn usage_after(prefix: JournalPrefix<'_>, seq: u64) -> AgentUsage {
    usage_of(prefix, seq, |_| true)
}

/// Rounds to a millionth of a dollar. Parallel costs are added in the order in which they end, which changes a sum of
/// floats.
fn steady(usd: f64) -> f64 {
    (usd * 1e6).round() / 1e6
}

fn usage_of(prefix: JournalPrefix<'_>, seq: u64, is_counted: impl Fn(&MoveKey) -> bool) -> AgentUsage {
    let counted = prefix.runs().filter(|(at, key, _)| *at > seq && is_counted(key));
    let usage = counted.fold(AgentUsage::default(), |sum, (_, _, run)| sum + run.usage);
    AgentUsage { usd: steady(usage.usd), ..usage }
}

/// The time between two moments. A clock that was set back counts as no time.
fn passed(from: DateTime<Utc>, until: DateTime<Utc>) -> TimeDelta {
    (until - from).max(TimeDelta::zero())
}
