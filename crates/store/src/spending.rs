//! What agents' runs cost, by repository, by person and by day: written as an estimate before a run begins, corrected
//! when it has ended.
//!
//! A run is granted in the same transaction in which it is written down, one after the other: however many orders ask
//! at once, together they stay within what a day allows but for what their estimates miss.
//!
//! A day is a day of UTC, and a run belongs to the day on which it began. A run that was stopped, or lost with the
//! server, keeps its estimate: it was paid for, and nobody knows how much.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};

use super::pool::{OpenTransaction, WriteTransaction, execute, fetch, written};
use super::{Store, StoreError, from_column, to_column, to_micros};
use journeyman_order::{BudgetLimits, DayLimits, MoveKey, OrderId, RepositoryId, UserId};

/// What a run is thought to cost while nothing is known of its agent.
const GUESS: RunCost = RunCost { usd: 0.50, seconds: 300.0 };
/// How many runs before it an estimate is the mean of.
const RECENT: i64 = 20;
/// No run is written down as dearer, in dollars, or longer, in seconds.
const MOST: f64 = 1e9;

/// A run of an agent that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedAgentRun {
    pub order: OrderId,
    pub key: MoveKey,
    /// Which try of the effect it is, from 1.
    pub attempt: u32,
    pub repository: RepositoryId,
    /// Who asked for the work; none where that was the API.
    pub sender: Option<UserId>,
    /// The agent, by its name in the settings.
    pub agent: String,
    pub stage: String,
    pub role: String,
    /// The model that is asked for; empty where that is the agent's to choose.
    pub model: String,
    pub begins_at: DateTime<Utc>,
    /// The most that the order's own limits let it come to.
    pub most: RunCost,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunCost {
    pub usd: f64,
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// It worked: it counts as a run, and the next is estimated by it.
    Worked,
    /// Something kept the agent from its work: what it cost counts, and nothing else.
    KeptOff,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BudgetReservation {
    /// It may; it is written down with this estimate.
    Granted(RunCost),
    /// It may not; nothing was written.
    Exceeded(DailyLimitExceeded),
}

/// A limit that a run would go over.
#[derive(Debug, Clone, PartialEq)]
pub struct DailyLimitExceeded {
    pub scope: BudgetScope,
    pub limit: DailyLimitUsage,
    /// What the run is thought to come to.
    pub estimate: RunCost,
    pub until: DateTime<Utc>,
}

/// Whose limit for a day it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetScope {
    Repository,
    /// Of whoever asked for the work.
    Sender,
    All,
}

/// A limit for a day, and what is spent of it; estimates of what is under way counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DailyLimitUsage {
    Usd {
        spent: f64,
        limit: f64,
    },
    Minutes {
        spent: f64,
        limit: u64,
    },
    Runs {
        /// Made, or under way.
        spent: u64,
        limit: u32,
    },
}

/// What the day has seen, as it is kept.
struct DailySpending {
    microusd: i64,
    milliseconds: i64,
    runs: u64,
}

/// An estimate, and whether any run before it is behind it.
struct CostEstimate {
    microusd: i64,
    milliseconds: i64,
    is_known: bool,
}

impl Store {
    /// Writes a run down before it begins, with what it is thought to cost: the mean of the last 20 runs of its agent
    /// for this stage and role in this repository, else of its agent anywhere, else a guess that leaves no limit unused.
    /// The same run again is granted as it was.
    ///
    /// # Errors
    /// [`StoreError::Refused`] when there is no such order; otherwise when the store cannot be used.
    pub async fn reserve(
        &self,
        run: &PlannedAgentRun,
        limits: &DayLimits,
    ) -> Result<BudgetReservation, StoreError> {
        let mut tx = self.pools.begin("a reservation").await?;
        one_after_the_other(&mut tx).await?;
        if let Some(estimate) = granted_before(&mut tx, run).await? {
            return Ok(BudgetReservation::Granted(estimate.cost()));
        }
        let mut estimate = estimate(&mut tx, run).await?;
        let day = day_of(run.begins_at);
        for (scope, budget) in budget_scopes(run, limits) {
            let spent = spent(&mut tx, run, scope, day).await?;
            if let Err(limit) = hold(&budget, &spent, &mut estimate) {
                let until = day + TimeDelta::days(1);
                return Ok(BudgetReservation::Exceeded(DailyLimitExceeded {
                    scope,
                    limit,
                    estimate: estimate.cost(),
                    until,
                }));
            }
        }
        insert(&mut tx, run, &estimate).await?;
        tx.commit().await?;
        Ok(BudgetReservation::Granted(estimate.cost()))
    }

    /// Says what a run came to. Whether it had been written down before.
    pub async fn settle(
        &self,
        order: OrderId,
        key: &MoveKey,
        attempt: u32,
        cost: RunCost,
        end: RunEnd,
    ) -> Result<bool, StoreError> {
        let updated = written!(self, "a settlement",
            "UPDATE spending SET actual_microusd = $4, actual_ms = $5, state = $6 \
             WHERE order_id = $1 AND key = $2 AND attempt = $3";
            order.to_string(), key.0.as_str(), i64::from(attempt), scaled(cost.usd, 1e6),
            scaled(cost.seconds, 1e3), end.word());
        Ok(updated > 0)
    }

    /// Takes back what was reserved for a run that could not begin. One that has ended stays.
    pub async fn release(&self, order: OrderId, key: &MoveKey, attempt: u32) -> Result<(), StoreError> {
        written!(self, "a release",
            "DELETE FROM spending WHERE order_id = $1 AND key = $2 AND attempt = $3 AND state = 'open'";
            order.to_string(), key.0.as_str(), i64::from(attempt));
        Ok(())
    }
}

/// When the day began that a moment belongs to.
pub(super) fn day_of(moment: DateTime<Utc>) -> DateTime<Utc> {
    moment.date_naive().and_time(NaiveTime::MIN).and_utc()
}

impl RunEnd {
    fn word(self) -> &'static str {
        match self {
            Self::Worked => "done",
            Self::KeptOff => "kept_off",
        }
    }
}

impl CostEstimate {
    fn cost(&self) -> RunCost {
        RunCost { usd: dollars(self.microusd), seconds: self.milliseconds as f64 / 1e3 }
    }
}

/// Whoever reads the sums holds the table until its own row is there. SQLite has one writer anyway.
async fn one_after_the_other(tx: &mut WriteTransaction) -> Result<(), StoreError> {
    match &mut tx.on {
        OpenTransaction::Sqlite(_) => {}
        OpenTransaction::Postgres(tx) => {
            sqlx::query("LOCK TABLE spending IN SHARE ROW EXCLUSIVE MODE").execute(&mut **tx).await?;
        }
    }
    Ok(())
}

async fn granted_before(
    tx: &mut WriteTransaction,
    run: &PlannedAgentRun,
) -> Result<Option<CostEstimate>, StoreError> {
    let row: Option<(i64, i64)> = fetch!(tx, fetch_optional,
        "SELECT estimated_microusd, estimated_ms FROM spending \
         WHERE order_id = $1 AND key = $2 AND attempt = $3";
        run.order.to_string(), run.key.0.as_str(), i64::from(run.attempt))?;
    Ok(row.map(|(microusd, milliseconds)| CostEstimate { microusd, milliseconds, is_known: true }))
}

/// What a run like this one is thought to cost.
async fn estimate(tx: &mut WriteTransaction, run: &PlannedAgentRun) -> Result<CostEstimate, StoreError> {
    let repository = to_column(run.repository.0, "a repository's id")?;
    let here = (Some(repository), Some(run.stage.as_str()), Some(run.role.as_str()));
    let (most_usd, most_ms) = (scaled(run.most.usd, 1e6), scaled(run.most.seconds, 1e3));
    for (repository, stage, role) in [here, (None, None, None)] {
        let (runs, microusd, milliseconds): (i64, i64, i64) = fetch!(tx, fetch_one,
            "SELECT COUNT(*), CAST(COALESCE(AVG(actual_microusd), 0) AS BIGINT), \
             CAST(COALESCE(AVG(actual_ms), 0) AS BIGINT) FROM (\
             SELECT actual_microusd, actual_ms FROM spending WHERE agent = $1 AND state = 'done' \
             AND ($2 IS NULL OR repository_id = $2) AND ($3 IS NULL OR stage = $3) \
             AND ($4 IS NULL OR role = $4) ORDER BY begun_at DESC LIMIT $5) AS recent";
            run.agent.as_str(), repository, stage, role, RECENT)?;
        if runs > 0 {
            let (microusd, milliseconds) = (microusd.min(most_usd), milliseconds.min(most_ms));
            return Ok(CostEstimate { microusd, milliseconds, is_known: true });
        }
    }
    Ok(CostEstimate {
        microusd: scaled(GUESS.usd, 1e6).min(most_usd),
        milliseconds: scaled(GUESS.seconds, 1e3).min(most_ms),
        is_known: false,
    })
}

/// The limits that hold for a run. The API is nobody whose limit could be reached.
fn budget_scopes(
    run: &PlannedAgentRun,
    limits: &DayLimits,
) -> impl Iterator<Item = (BudgetScope, BudgetLimits)> {
    let sender = run.sender.map(|_| (BudgetScope::Sender, limits.sender));
    [Some((BudgetScope::Repository, limits.repository)), sender, Some((BudgetScope::All, limits.all))]
        .into_iter()
        .flatten()
        .filter(|(_, budget)| *budget != BudgetLimits::default())
}

async fn spent(
    tx: &mut WriteTransaction,
    run: &PlannedAgentRun,
    scope: BudgetScope,
    day: DateTime<Utc>,
) -> Result<DailySpending, StoreError> {
    let (repository, sender) = match scope {
        BudgetScope::Repository => (Some(to_column(run.repository.0, "a repository's id")?), None),
        BudgetScope::Sender => (None, run.sender.map(|id| to_column(id.0, "a person's id")).transpose()?),
        BudgetScope::All => (None, None),
    };
    let (microusd, milliseconds, runs): (i64, i64, i64) = fetch!(tx, fetch_one,
        "SELECT CAST(COALESCE(SUM(COALESCE(actual_microusd, estimated_microusd)), 0) AS BIGINT), \
         CAST(COALESCE(SUM(COALESCE(actual_ms, estimated_ms)), 0) AS BIGINT), \
         COUNT(CASE WHEN state <> 'kept_off' THEN 1 END) FROM spending \
         WHERE begun_at >= $1 AND begun_at < $2 AND ($3 IS NULL OR repository_id = $3) \
         AND ($4 IS NULL OR sender_id = $4)";
        to_micros(day), to_micros(day + TimeDelta::days(1)), repository, sender)?;
    Ok(DailySpending { microusd, milliseconds, runs: from_column(runs, "the day's runs")? })
}

/// Whether what is left is enough for a run. A guess takes what is left where that is less, so that a small limit can be
/// used at all; it is no less held while the run is under way.
fn hold(
    budget: &BudgetLimits,
    spent: &DailySpending,
    estimate: &mut CostEstimate,
) -> Result<(), DailyLimitUsage> {
    if let Some(limit) = budget.runs
        && spent.runs >= u64::from(limit)
    {
        return Err(DailyLimitUsage::Runs { spent: spent.runs, limit });
    }
    if let Some(limit) = budget.usd {
        let left = scaled(limit, 1e6) - spent.microusd;
        if left <= 0 || estimate.is_known && estimate.microusd > left {
            return Err(DailyLimitUsage::Usd { spent: dollars(spent.microusd), limit });
        }
        estimate.microusd = estimate.microusd.min(left);
    }
    if let Some(limit) = budget.minutes {
        let left = scaled(limit as f64 * 60.0, 1e3) - spent.milliseconds;
        if left <= 0 || estimate.is_known && estimate.milliseconds > left {
            return Err(DailyLimitUsage::Minutes { spent: spent.milliseconds as f64 / 60e3, limit });
        }
        estimate.milliseconds = estimate.milliseconds.min(left);
    }
    Ok(())
}

async fn insert(
    tx: &mut WriteTransaction,
    run: &PlannedAgentRun,
    estimate: &CostEstimate,
) -> Result<(), StoreError> {
    let sender = run.sender.map(|id| to_column(id.0, "a person's id")).transpose()?;
    execute!(tx,
        "INSERT INTO spending (order_id, key, attempt, repository_id, sender_id, agent, stage, role, begun_at, \
         state, estimated_microusd, estimated_ms, model) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'open', $10, $11, $12)";
        run.order.to_string(), run.key.0.as_str(), i64::from(run.attempt),
        to_column(run.repository.0, "a repository's id")?, sender, run.agent.as_str(), run.stage.as_str(),
        run.role.as_str(), to_micros(run.begins_at), estimate.microusd, estimate.milliseconds,
        run.model.as_str())?;
    Ok(())
}

/// As it is kept. What an agent says of itself may be anything: nothing is less than nothing, or beyond all measure.
fn scaled(number: f64, scale: f64) -> i64 {
    let number = if number.is_nan() { 0.0 } else { number.clamp(0.0, MOST) };
    (number * scale).round() as i64
}

pub(super) fn dollars(microusd: i64) -> f64 {
    microusd as f64 / 1e6
}
