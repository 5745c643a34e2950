//! What is old is removed, some of it at a time, so that nobody waits for long who writes meanwhile.
//!
//! At rest is an order that is not active and whose journal has not grown since it was left. Its journal is the truth, and
//! goes last, with all else that is known of it.

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
/// Rows of one transaction.
const AT_ONCE: i64 = 200;
/// Of a file, the part that may be empty; it is written again before the file grows.
const MOST_EMPTY: i64 = 4;
/// For so long nobody may write, while those are waited for that read what the log of writes holds.
const READERS_END_WITHIN: Duration = Duration::from_millis(100);
/// Between two transactions.
const BREATH: Duration = Duration::from_millis(20);

/// Removes some in each of many transactions, until there are none. Says how many.
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
    /// Empties the bodies of deliveries that were concluded and came before this. Their rows stay, so that one that is sent
    /// again is known. Says how many.
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

    /// Removes deliveries that were concluded and came before this. Says how many.
    pub async fn remove_deliveries(&self, before: DateTime<Utc>) -> Result<usize, StoreError> {
        // In the sequence in which they came, as nearly as matters: the oldest are looked at first.
        bit_by_bit!(
            self,
            "deliveries that are removed",
            "DELETE FROM deliveries WHERE conclusion IS NOT NULL AND received_at < $1 \
             AND id IN (SELECT id FROM deliveries ORDER BY id LIMIT $2)",
            to_micros(before),
            AT_ONCE
        )
    }

    /// Removes the artifacts of orders that have been at rest since before this; their files go with
    /// [`Store::sweep_artifact_files`]. Says how many.
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

    /// Orders that have been at rest since before this, and whose pull requests are not open, by their ids: some of those
    /// after this one.
    pub async fn forgettable_orders(
        &self,
        before: DateTime<Utc>,
        after: Option<OrderId>,
    ) -> Result<Vec<OrderId>, StoreError> {
        // Of one that cannot be read nobody knows.
        let [merged, closed] = PULL_ENDED;
        let rows: Vec<(String,)> = read!(self, fetch_all,
            "SELECT id FROM orders WHERE NOT active AND last_seq <= rested_seq AND updated_at < $1 AND id > $2 \
             AND (pull IS NULL OR state IN ($3, $4)) ORDER BY id LIMIT $5";
            to_micros(before), after.map(|order| order.to_string()).unwrap_or_default(), merged, closed,
            AT_ONCE)?;
        rows.into_iter().map(|(id,)| order_id(&id)).collect()
    }

    /// Removes an order with its journal, its artifacts and its costs, if it is at rest as it was. Whether it was.
    pub async fn forget_order(&self, order: OrderId, before: DateTime<Utc>) -> Result<bool, StoreError> {
        let [merged, closed] = PULL_ENDED;
        let id = order.to_string();
        let mut tx = self.pools.begin("an order that is forgotten").await?;
        // Taken first, so that nothing is written of it until all of it is gone.
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

    /// Whether an order has been at rest since before this. One that is not known is not.
    pub async fn has_rested_since(&self, order: OrderId, before: DateTime<Utc>) -> Result<bool, StoreError> {
        let row: Option<(String,)> = read!(self, fetch_optional,
            "SELECT id FROM orders WHERE id = $1 AND NOT active AND last_seq <= rested_seq AND updated_at < $2";
            order.to_string(), to_micros(before))?;
        Ok(row.is_some())
    }

    /// Gives back to the disk what a file of SQLite does not use any more. PostgreSQL does that by itself.
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

/// What the log of writes has grown to is given back, too. SQLite lets nobody write while it waits for those who read, such
/// as a backup: so it waits for a moment only, on a connection that is nobody else's, and the log stays until the next time.
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
