//! Statistics of orders over time, computed by the database.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::AssertSqlSafe;

use super::order_list::is_among;
use super::pool::{execute, read};
use super::{Store, StoreError, to_column, to_micros};
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::{OrderId, RepositoryId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatisticsGrouping {
    /// By week of opening, from Monday: weeks since that of 1 January 1970.
    Week,
    Repository,
    Agent,
}

/// Totals of a group's orders. Unsuccessful requests of outsiders do not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatisticsLine {
    pub group: String,
    pub opened: u64,
    /// Ended but not cancelled.
    pub ended: u64,
    pub verified: u64,
    pub merged: u64,
    /// Verified and merged; `false_greens` of them were later reverted, or a check failed on the merge commit.
    pub trusted: u64,
    pub false_greens: u64,
    /// Rounds of verified orders with counted rounds, and the number of those orders.
    pub rounds: u64,
    pub counted: u64,
    pub microusd: u64,
    /// Total time from opening to pull request, and the number of orders with one.
    pub pull_micros: u64,
    pub pulls: u64,
}

/// Totals of one agent's runs with one model, over all its orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelLine {
    pub agent: String,
    /// Empty if none was named.
    pub model: String,
    pub runs: u64,
    pub microusd: u64,
    /// Of its orders, those with a merged pull request.
    pub merged: u64,
}

/// Verdicts on one examiner agent's statements with one model, over all ended orders.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatementLine {
    pub agent: String,
    /// Empty if none was named.
    pub model: String,
    /// By verdict, in the words of [`journeyman_order::examination::StatementVerdict::word`].
    pub counts: BTreeMap<String, u64>,
}

type StatisticsColumns = (String, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64, i64);

impl Store {
    /// Totals of orders opened since then, in all or these repositories; weeks by date, other groups by size.
    pub async fn statistics(
        &self,
        by: StatisticsGrouping,
        since: DateTime<Utc>,
        among: Option<&[RepositoryId]>,
    ) -> Result<Vec<StatisticsLine>, StoreError> {
        let (group, sequence) = match by {
            // 1 January 1970 was a Thursday.
            StatisticsGrouping::Week => ("(opened_at + 259200000000) / 604800000000", "1 DESC"),
            StatisticsGrouping::Repository => ("repository", "2 DESC, 1"),
            StatisticsGrouping::Agent => ("agent", "2 DESC, 1"),
        };
        let among = among.map_or("TRUE".to_owned(), is_among);
        let sum = |what: &str| format!("CAST(SUM(CASE WHEN {what} ELSE 0 END) AS BIGINT)");
        let has = |table: &str| format!("EXISTS (SELECT 1 FROM {table} WHERE order_id = orders.id)");
        let (trusted, fell) = ("state = 'merged' AND verified", has("after_merge"));
        let sql = format!(
            "SELECT CAST({group} AS TEXT), COUNT(*), {}, {}, {}, {}, {}, {}, {}, CAST(SUM(microusd) AS BIGINT), {}, COUNT(pull_at) \
             FROM orders WHERE opened_at >= $1 AND state <> 'refused' AND {among} GROUP BY {group} ORDER BY {sequence} LIMIT {MOST_LISTED}",
            sum("NOT active AND state <> 'cancelled' THEN 1"),
            sum("verified THEN 1"),
            sum("state = 'merged' THEN 1"),
            // Without a stored merge commit, the outcome is unknown.
            sum(&format!("{trusted} AND ({} OR {fell}) THEN 1", has("merged_commits"))),
            sum(&format!("{trusted} AND {fell} THEN 1")),
            sum("verified THEN rounds"),
            sum("verified AND rounds > 0 THEN 1"),
            sum("pull_at > opened_at THEN pull_at - opened_at"),
        );
        // Contains only our own text.
        let rows: Vec<StatisticsColumns> = read!(self, fetch_all, AssertSqlSafe(sql); to_micros(since))?;
        let number = |number: i64| number.unsigned_abs();
        let line = |(
            group,
            opened,
            ended,
            verified,
            merged,
            trusted,
            greens,
            rounds,
            counted,
            microusd,
            pull_micros,
            pulls,
        )| {
            StatisticsLine {
                group,
                opened: number(opened),
                ended: number(ended),
                verified: number(verified),
                merged: number(merged),
                trusted: number(trusted),
                false_greens: number(greens),
                rounds: number(rounds),
                counted: number(counted),
                microusd: number(microusd),
                pull_micros: number(pull_micros),
                pulls: number(pulls),
            }
        };
        Ok(rows.into_iter().map(line).collect())
    }

    /// Totals of the runs of orders opened since then, in all or these repositories, by agent and model; the most
    /// expensive first.
    pub async fn model_statistics(
        &self,
        since: DateTime<Utc>,
        among: Option<&[RepositoryId]>,
    ) -> Result<Vec<ModelLine>, StoreError> {
        let among = among.map_or("TRUE".to_owned(), is_among);
        let sql = format!(
            "SELECT spending.agent, spending.model, COUNT(CASE WHEN spending.state <> 'kept_off' THEN 1 END), \
             CAST(SUM(COALESCE(actual_microusd, estimated_microusd)) AS BIGINT), \
             COUNT(DISTINCT CASE WHEN counted.state = 'merged' THEN counted.id END) \
             FROM (SELECT id, state FROM orders WHERE opened_at >= $1 AND state <> 'refused' AND {among}) AS counted \
             JOIN spending ON spending.order_id = counted.id \
             GROUP BY spending.agent, spending.model ORDER BY 4 DESC, 1, 2 LIMIT {MOST_LISTED}"
        );
        // Contains only our own text and numbers.
        let rows: Vec<(String, String, i64, i64, i64)> = read!(self, fetch_all,
            AssertSqlSafe(sql);
            to_micros(since))?;
        let line = |(agent, model, runs, microusd, merged): (String, String, i64, i64, i64)| ModelLine {
            agent,
            model,
            runs: runs.unsigned_abs(),
            microusd: microusd.unsigned_abs(),
            merged: merged.unsigned_abs(),
        };
        Ok(rows.into_iter().map(line).collect())
    }

    /// Stores the verdicts on an order's examiner's statements, replacing earlier ones.
    pub async fn keep_statements(&self, order: OrderId, line: &StatementLine) -> Result<(), StoreError> {
        let mut tx = self.pools.begin("what became of statements").await?;
        execute!(tx, "DELETE FROM statements WHERE order_id = $1"; order.to_string())?;
        for (verdict, count) in &line.counts {
            let count = to_column(*count, "a count of statements")?;
            execute!(tx,
                "INSERT INTO statements (order_id, agent, model, verdict, count) VALUES ($1, $2, $3, $4, $5)";
                order.to_string(), line.agent.as_str(), line.model.as_str(), verdict.as_str(), count)?;
        }
        tx.commit().await
    }

    /// Totals of the statements of orders opened since then, in all or these repositories, by agent and model.
    pub async fn statement_statistics(
        &self,
        since: DateTime<Utc>,
        among: Option<&[RepositoryId]>,
    ) -> Result<Vec<StatementLine>, StoreError> {
        let among = among.map_or("TRUE".to_owned(), is_among);
        let sql = format!(
            "SELECT statements.agent, statements.model, statements.verdict, CAST(SUM(statements.count) AS BIGINT) \
             FROM (SELECT id FROM orders WHERE opened_at >= $1 AND {among}) AS counted \
             JOIN statements ON statements.order_id = counted.id GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        );
        // Contains only our own text and numbers.
        let rows: Vec<(String, String, String, i64)> = read!(self, fetch_all,
            AssertSqlSafe(sql);
            to_micros(since))?;
        let mut lines: Vec<StatementLine> = Vec::new();
        for (agent, model, verdict, count) in rows {
            if lines.last().is_none_or(|last| (&last.agent, &last.model) != (&agent, &model)) {
                lines.push(StatementLine { agent, model, counts: BTreeMap::new() });
            }
            if let Some(last) = lines.last_mut() {
                last.counts.insert(verdict, count.unsigned_abs());
            }
        }
        Ok(lines)
    }
}
