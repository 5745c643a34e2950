//! The cost of agent runs by repository, person and day: recorded as an estimate before a run, corrected after it.
//!
//! A run is granted in the transaction that records it, one at a time. So parallel orders together stay within the
//! daily limits, apart from errors of the estimates.
//!
//! A day is a UTC day, and a run belongs to the day on which it began. A run that was stopped or lost with the server
//! keeps its estimate: it cost money, but the amount is unknown.

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};

use super::pool::{OpenTransaction, WriteTransaction, execute, fetch, written};
use super::{Store, StoreError, from_column, to_column, to_micros};
use journeyman_order::{BudgetLimits, DayLimits, MoveKey, OrderId, RepositoryId, UserId};

/// Estimate for an agent without earlier runs.
const GUESS: RunCost = RunCost { usd: 0.50, seconds: 300.0 };
/// An estimate is the mean of this many earlier runs.
const RECENT: i64 = 20;
/// Upper bound for a recorded run, in dollars and in seconds.
const MOST: f64 = 1e9;

/// An agent run that is about to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedAgentRun {
    pub order: OrderId,
    pub key: MoveKey,
    /// The attempt at the effect, from 1.
    pub attempt: u32,
    pub repository: RepositoryId,
    /// Who requested the work; `None` for the API.
    pub sender: Option<UserId>,
    /// The agent's name in the settings.
    pub agent: String,
    pub stage: String,
    pub role: String,
    /// The requested model; empty if the agent chooses.
    pub model: String,
    pub begins_at: DateTime<Utc>,
    /// The most that the order's own limits allow it.
    pub most: RunCost,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RunCost {
    pub usd: f64,
    pub seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// It worked: it counts as a run and affects later estimates.
    Worked,
    /// Something prevented the agent's work: only the cost counts.
    KeptOff,
}

#[derive(Debug, Clone, PartialEq)]
pub enum BudgetReservation {
    /// Allowed, and recorded with this estimate.
    Granted(RunCost),
    /// Not allowed; nothing was recorded.
    Exceeded(DailyLimitExceeded),
}

/// A limit that a run would exceed.
#[derive(Debug, Clone, PartialEq)]
pub struct DailyLimitExceeded {
    pub scope: BudgetScope,
    pub limit: DailyLimitUsage,
    /// The run's estimated cost.
    pub estimate: RunCost,
    pub until: DateTime<Utc>,
}

/// The scope of a daily limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetScope {
    Repository,
    /// Everything that one person requested.
    Sender,
    All,
}

/// A daily limit and its usage; running runs count with their estimates.
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
        /// Finished or running.
        spent: u64,
        limit: u32,
    },
}

/// A day's spending, as stored.
struct DailySpending {
    microusd: i64,
    milliseconds: i64,
    runs: u64,
}

/// An estimate, and whether it is based on earlier runs.
struct CostEstimate {
    microusd: i64,
    milliseconds: i64,
    is_known: bool,
}

impl Store {
    /// Records a run before it begins, with its estimated cost: the mean of its agent's last 20 runs for this stage and
    /// role in this repository, else of its agent anywhere, else a guess that still lets small limits be used. A
    /// repeated call grants the same run unchanged.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if there is no such order; otherwise if the store is unusable.
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

    /// Records a run's actual cost. Returns whether the run was recorded before.
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

    /// Cancels the reservation of a run that could not begin. A finished run stays.
    pub async fn release(&self, order: OrderId, key: &MoveKey, attempt: u32) -> Result<(), StoreError> {
        written!(self, "a release",
            "DELETE FROM spending WHERE order_id = $1 AND key = $2 AND attempt = $3 AND state = 'open'";
            order.to_string(), key.0.as_str(), i64::from(attempt));
        Ok(())
    }
}

/// The start of a time's UTC day.
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

/// Locks the table from reading the sums until the new row exists. SQLite has only one writer anyway.
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

/// The estimated cost of a run.
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

/// The limits that apply to a run. API requests have no sender and no sender's limit.
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

/// Whether the rest of a limit is enough for a run. A guess shrinks to the rest, so that a small limit is usable at
/// all; a run can exceed the rest.
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

/// A number as stored. Agents may report anything, so it is clamped to a valid range.
fn scaled(number: f64, scale: f64) -> i64 {
    let number = if number.is_nan() { 0.0 } else { number.clamp(0.0, MOST) };
    (number * scale).round() as i64
}

pub(super) fn dollars(microusd: i64) -> f64 {
    microusd as f64 / 1e6
}
