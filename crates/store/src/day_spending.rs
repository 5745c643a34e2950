//! A day's spending for display: the same sums, of the same day, that daily limits apply to.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::AssertSqlSafe;

use super::order_list::is_among;
use super::orders::order_id;
use super::pool::read;
use super::spending::{day_of, dollars};
use super::{Store, StoreError, from_column, to_micros};
use journeyman_order::bounds::MOST_NAMED;
use journeyman_order::{OrderId, RepositoryId, UserId};

/// How to group a day's runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DayGrouping {
    All,
    Repository,
    /// Who requested the work; requests through the API count toward no sender.
    Sender,
    /// Only this one, however little was spent.
    OneSender(UserId),
}

/// Totals of a day's runs; running ones count with their estimates.
#[derive(Debug, Clone, PartialEq)]
pub struct DayLine {
    /// `None` for all repositories together.
    pub repository: Option<RepositoryId>,
    pub sender: Option<UserId>,
    pub usd: f64,
    pub minutes: f64,
    pub runs: u64,
    /// One of its orders.
    pub order: Option<OrderId>,
}

impl DayLine {
    /// A day without runs.
    pub const NOTHING: Self =
        Self { repository: None, sender: None, usd: 0.0, minutes: 0.0, runs: 0, order: None };
}

type DayColumns = (Option<i64>, i64, i64, i64, Option<String>);

impl Store {
    /// Sums the runs that began on the day of `moment`, for all or these repositories; the most expensive first.
    pub async fn day_spending(
        &self,
        by: DayGrouping,
        moment: DateTime<Utc>,
        among: Option<&[RepositoryId]>,
    ) -> Result<Vec<DayLine>, StoreError> {
        let (who, group) = match by {
            // Without GROUP BY, an empty sum would be a row too.
            DayGrouping::All => ("CAST(NULL AS BIGINT)", "HAVING COUNT(*) > 0"),
            DayGrouping::Repository => ("repository_id", "GROUP BY repository_id"),
            DayGrouping::Sender => ("sender_id", "AND sender_id IS NOT NULL GROUP BY sender_id"),
            DayGrouping::OneSender(_) => ("sender_id", "GROUP BY sender_id"),
        };
        let one = match by {
            DayGrouping::OneSender(sender) => format!("sender_id = {} AND", sender.0),
            DayGrouping::All | DayGrouping::Repository | DayGrouping::Sender => String::new(),
        };
        let among = among.map_or("TRUE".to_owned(), is_among);
        let sql = format!(
            "SELECT {who}, CAST(COALESCE(SUM(COALESCE(actual_microusd, estimated_microusd)), 0) AS BIGINT), \
             CAST(COALESCE(SUM(COALESCE(actual_ms, estimated_ms)), 0) AS BIGINT), \
             COUNT(CASE WHEN state <> 'kept_off' THEN 1 END), MAX(order_id) FROM spending \
             WHERE begun_at >= $1 AND begun_at < $2 AND {one} {among} {group} ORDER BY 2 DESC, 1 LIMIT {MOST_NAMED}"
        );
        let day = day_of(moment);
        // Contains only our own text and numbers.
        let rows: Vec<DayColumns> = read!(self, fetch_all,
            AssertSqlSafe(sql);
            to_micros(day), to_micros(day + TimeDelta::days(1)))?;
        rows.into_iter().map(|row| day_line(by, row)).collect()
    }
}

fn day_line(
    by: DayGrouping,
    (who, microusd, milliseconds, runs, order): DayColumns,
) -> Result<DayLine, StoreError> {
    let (repository, sender) = match by {
        DayGrouping::All => (None, None),
        DayGrouping::Repository => (who, None),
        DayGrouping::Sender | DayGrouping::OneSender(_) => (None, who),
    };
    Ok(DayLine {
        repository: repository.map(i64::unsigned_abs).map(RepositoryId),
        sender: sender.map(i64::unsigned_abs).map(UserId),
        usd: dollars(microusd),
        minutes: milliseconds as f64 / 60e3,
        runs: from_column(runs, "the day's runs")?,
        order: order.map(|order| order_id(&order)).transpose()?,
    })
}
