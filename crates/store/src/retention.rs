//! Deletes old data in small steps, so that other writers never wait long.
//!
//! An order is at rest if it is inactive and its journal has not grown since it was left. Its journal is the truth and
//! is deleted last, with everything else about it.

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::connections::Databases;
use super::orders::{PULL_ENDED, order_id};
use super::pool::{execute, read, written};
use super::{Store, StoreError, to_micros};
use journeyman_order::OrderId;

const NO_BYTES: &[u8] = &[];
/// Rows per transaction.
const AT_ONCE: i64 = 200;
/// One part in this many of a file may be empty; SQLite fills that before the file grows.
const MOST_EMPTY: i64 = 4;
/// How long writers may be blocked while readers of the write-ahead log finish.
const READERS_END_WITHIN: Duration = Duration::from_millis(100);
/// Pause between two transactions.
const BREATH: Duration = Duration::from_millis(20);

/// Deletes some rows per transaction until none are left. Returns their number.
macro_rules! bit_by_bit {
    ($store:expr, $what:literal, $statement:literal, $($bound:expr),+) => {{
        let mut removed = 0;
        loop {
            let some = written!($store, $what, $statement; $($bound),+) as usize;
            if some == 0 {
                return Ok(removed);
            }
            removed += some;
            tokio::time::sleep(BREATH).await;
        }
    }};
}

impl Store {
    /// Empties the bodies of deliveries that were concluded and arrived before this. The rows stay, so that
    /// redeliveries are recognised. Returns their number.
    pub async fn remove_delivery_bodies(&self, before: DateTime<Utc>) -> Result<usize, StoreError> {
        bit_by_bit!(
            self,
            "bodies that are removed",
            "UPDATE deliveries SET body = $3 WHERE conclusion IS NOT NULL AND id IN (SELECT id FROM deliveries \
             WHERE conclusion IS NOT NULL AND length(body) > 0 AND received_at < $1 LIMIT $2)",
            to_micros(before),
            AT_ONCE,
            NO_BYTES
        )
    }

    /// Deletes deliveries that were concluded and arrived before this. Returns their number.
    pub async fn remove_deliveries(&self, before: DateTime<Utc>) -> Result<usize, StoreError> {
        // By id, which is roughly the order of arrival, so that the oldest come first.
        bit_by_bit!(
            self,
            "deliveries that are removed",
            "DELETE FROM deliveries WHERE conclusion IS NOT NULL AND received_at < $1 \
             AND id IN (SELECT id FROM deliveries ORDER BY id LIMIT $2)",
            to_micros(before),
            AT_ONCE
        )
    }

    /// Deletes the artifacts of orders at rest since before this; [`Store::sweep_artifact_files`] deletes their files.
    /// Returns their number.
    pub async fn remove_artifacts(&self, before: DateTime<Utc>) -> Result<usize, StoreError> {
        bit_by_bit!(
            self,
            "artifacts that are removed",
            "DELETE FROM artifacts WHERE (order_id, name) IN (SELECT artifacts.order_id, artifacts.name \
             FROM artifacts JOIN orders ON orders.id = artifacts.order_id \
             WHERE NOT orders.active AND orders.last_seq <= orders.rested_seq AND orders.updated_at < $1 LIMIT $2)",
            to_micros(before),
            AT_ONCE
        )
    }

    /// Ids of some orders after this one that have been at rest since before this and have no open pull request.
    pub async fn forgettable_orders(
        &self,
        before: DateTime<Utc>,
        after: Option<OrderId>,
    ) -> Result<Vec<OrderId>, StoreError> {
        // The state of an unreadable order's pull request is unknown.
        let [merged, closed] = PULL_ENDED;
        let rows: Vec<(String,)> = read!(self, fetch_all,
            "SELECT id FROM orders WHERE NOT active AND last_seq <= rested_seq AND updated_at < $1 AND id > $2 \
             AND (pull IS NULL OR state IN ($3, $4)) ORDER BY id LIMIT $5";
            to_micros(before), after.map(|order| order.to_string()).unwrap_or_default(), merged, closed,
            AT_ONCE)?;
        rows.into_iter().map(|(id,)| order_id(&id)).collect()
    }

    /// Deletes an order with its journal, artifacts and costs if it is still at rest. Returns whether it was.
    pub async fn forget_order(&self, order: OrderId, before: DateTime<Utc>) -> Result<bool, StoreError> {
        let [merged, closed] = PULL_ENDED;
        let id = order.to_string();
        let mut tx = self.pools.begin("an order that is forgotten").await?;
        // Lock the row first, so that nothing is added until everything is deleted.
        let is_at_rest = execute!(tx,
            "UPDATE orders SET state = state WHERE id = $1 AND NOT active AND last_seq <= rested_seq \
             AND updated_at < $2 AND (pull IS NULL OR state IN ($3, $4))";
            &id, to_micros(before), merged, closed)?;
        if is_at_rest == 0 {
            return Ok(false);
        }
        for statement in [
            "DELETE FROM statements WHERE order_id = $1",
            "DELETE FROM after_merge WHERE order_id = $1",
            "DELETE FROM merged_commits WHERE order_id = $1",
            "DELETE FROM spending WHERE order_id = $1",
            "DELETE FROM artifacts WHERE order_id = $1",
            "DELETE FROM journal WHERE order_id = $1",
            "DELETE FROM orders WHERE id = $1",
        ] {
            execute!(tx, statement; &id)?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Whether an order has been at rest since before this; false if unknown.
    pub async fn has_rested_since(&self, order: OrderId, before: DateTime<Utc>) -> Result<bool, StoreError> {
        let row: Option<(String,)> = read!(self, fetch_optional,
            "SELECT id FROM orders WHERE id = $1 AND NOT active AND last_seq <= rested_seq AND updated_at < $2";
            order.to_string(), to_micros(before))?;
        Ok(row.is_some())
    }

    /// Returns unused space of an SQLite file to the disk. PostgreSQL does so automatically.
    pub async fn compact(&self) -> Result<(), StoreError> {
        let Databases::Sqlite { writer, file: Some(file), .. } = &self.pools.databases else { return Ok(()) };
        let number = async |pragma: &'static str| -> Result<i64, StoreError> {
            Ok(sqlx::query_scalar::<_, i64>(pragma).fetch_one(writer).await?)
        };
        let (mut empty, mut all) =
            (number("PRAGMA freelist_count").await?, number("PRAGMA page_count").await?);
        while empty * MOST_EMPTY > all {
            sqlx::query("PRAGMA incremental_vacuum(500)").fetch_all(writer).await?;
            tokio::time::sleep(BREATH).await;
            let before = empty;
            (empty, all) = (number("PRAGMA freelist_count").await?, number("PRAGMA page_count").await?);
            if empty >= before {
                break;
            }
        }
        give_back_the_log(file).await
    }
}

/// Shrinks the write-ahead log. SQLite blocks writers while it waits for readers such as a backup. So this waits only
/// briefly, on its own connection; if that fails, the log stays until the next time.
async fn give_back_the_log(file: &Path) -> Result<(), StoreError> {
    let options = SqliteConnectOptions::new().filename(file).busy_timeout(READERS_END_WITHIN);
    let mut connection = options.connect().await?;
    let (busy, ..): (i64, i64, i64) =
        sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut connection).await?;
    if busy != 0 {
        tracing::debug!("somebody reads the database: its log keeps its size until the next time");
    }
    connection.close().await?;
    Ok(())
}
