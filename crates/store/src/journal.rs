//! The journal: each entry is appended in its own immediate transaction, and read from any entry on.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::pool::{WriteTransaction, execute, fetch, read};
use super::{Store, StoreError, from_column, from_micros, to_column, to_micros};
use journeyman_order::{Journal, JournalEntry, JournalEvent, OrderId, OrderInput};

/// Storage for orders' journals. A carrier needs only this part of a store.
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// Appends an entry durably after entry `last`, and returns it as later reads will. `None` if another writer was
    /// first; then nothing is written.
    async fn append_after(
        &self,
        order: OrderId,
        last: u64,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<Option<JournalEntry>, StoreError>;

    /// Reads the entries after number `seq`, in order; after 0, all of them.
    async fn entries_after(&self, order: OrderId, seq: u64) -> Result<Vec<JournalEntry>, StoreError>;

    async fn journal(&self, order: OrderId) -> Result<Journal, StoreError> {
        let entries = self.entries_after(order, 0).await?;
        if entries.is_empty() {
            return Err(StoreError::not_found(format!("order {order}")));
        }
        Journal::new(entries).map_err(|error| StoreError::unreadable(order, error))
    }

    /// Reads the entries added since, by any writer, and appends them.
    async fn catch_up(&self, journal: &mut Journal) -> Result<(), StoreError> {
        let order = journal.opened().order;
        for entry in self.entries_after(order, journal.last_seq()).await? {
            journal.push(entry).map_err(|error| StoreError::unreadable(order, error))?;
        }
        Ok(())
    }
}

#[async_trait]
impl JournalStore for Store {
    async fn append_after(
        &self,
        order: OrderId,
        last: u64,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<Option<JournalEntry>, StoreError> {
        let mut tx = self.pools.begin("an entry").await?;
        // Waits for entries whose commit is under way.
        let entry = append(&mut tx, order, &event, at).await?;
        if entry.seq != last + 1 {
            return Ok(None);
        }
        tx.commit().await?;
        Ok(Some(entry))
    }

    async fn entries_after(&self, order: OrderId, seq: u64) -> Result<Vec<JournalEntry>, StoreError> {
        let rows: Result<Vec<(i64, i64, String)>, sqlx::Error> = read!(self, fetch_all,
            "SELECT seq, at, event FROM journal WHERE order_id = $1 AND seq > $2 ORDER BY seq";
            order.to_string(), to_column(seq, "an entry's number")?);
        // A column has the wrong type.
        let is_of_the_row =
            |error: &sqlx::Error| matches!(error, sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_));
        let rows = rows.map_err(|error| match is_of_the_row(&error) {
            true => StoreError::unreadable(order, error),
            false => error.into(),
        })?;
        rows.into_iter().map(|(seq, at, event)| entry(order, seq, at, &event)).collect()
    }
}

impl Store {
    /// Appends an entry, whatever is there already.
    pub async fn append(
        &self,
        order: OrderId,
        event: JournalEvent,
        at: DateTime<Utc>,
    ) -> Result<JournalEntry, StoreError> {
        let mut tx = self.pools.begin("an entry").await?;
        let entry = append(&mut tx, order, &event, at).await?;
        tx.commit().await?;
        Ok(entry)
    }

    /// What an order was opened with; `None` if its journal does not say or is unreadable.
    pub async fn opened(&self, order: OrderId) -> Result<Option<OrderInput>, StoreError> {
        let row: Option<(String,)> = read!(self, fetch_optional,
            "SELECT event FROM journal WHERE order_id = $1 AND seq = 1";
            order.to_string())?;
        Ok(match row.map(|(event,)| serde_json::from_str(&event)) {
            Some(Ok(JournalEvent::Opened(opened))) => Some(*opened),
            Some(
                Ok(
                    JournalEvent::Signaled { .. }
                    | JournalEvent::Intended { .. }
                    | JournalEvent::Observed { .. },
                )
                | Err(_),
            )
            | None => None,
        })
    }
}

/// Appends an entry to an order's journal. The order's row counts the entries, which serialises writers on PostgreSQL.
pub(super) async fn append(
    tx: &mut WriteTransaction,
    order: OrderId,
    event: &JournalEvent,
    at: DateTime<Utc>,
) -> Result<JournalEntry, StoreError> {
    let at = to_micros(at);
    let text = serde_json::to_string(event)
        .map_err(|error| StoreError::refused(format!("an entry of order {order}"), error.to_string()))?;
    let counted: Option<(i64,)> = fetch!(tx, fetch_optional,
        "UPDATE orders SET last_seq = last_seq + 1, updated_at = $2 WHERE id = $1 RETURNING last_seq";
        order.to_string(), at)?;
    let (seq,) = counted.ok_or_else(|| StoreError::not_found(format!("order {order}")))?;
    // Parse it before writing: an unreadable entry, such as a cost that is not a number, must not get in.
    let entry = entry(order, seq, at, &text).map_err(|error| {
        StoreError::refused(
            format!("entry {seq} of order {order}"),
            format!("it could not be read again: {error}"),
        )
    })?;
    execute!(tx,
        "INSERT INTO journal (order_id, seq, at, event) VALUES ($1, $2, $3, $4)";
        order.to_string(), seq, at, text.as_str())?;
    Ok(entry)
}

fn entry(order: OrderId, seq: i64, at: i64, event: &str) -> Result<JournalEntry, StoreError> {
    let unreadable =
        |error: &dyn std::fmt::Display| StoreError::unreadable(order, format!("entry {seq}: {error}"));
    Ok(JournalEntry {
        seq: from_column(seq, "its number").map_err(|error| unreadable(&error))?,
        at: from_micros(at, "its time").map_err(|error| unreadable(&error))?,
        event: serde_json::from_str(event).map_err(|error| unreadable(&error))?,
    })
}
