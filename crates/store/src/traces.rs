//! Up to which entry orders' journals were sent to a trace collector.
//!
//! May know: numbers of entries. Must never know: what they are used for.

use chrono::{DateTime, Utc};

use super::orders::order_id;
use super::pool::{read, written};
use super::{Store, StoreError, from_column, to_column, to_micros};
use journeyman_order::OrderId;

/// An order whose journal has grown since it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UntracedOrder {
    pub order: OrderId,
    /// The last entry sent; 0 if none.
    pub sent: u64,
    /// The last entry of the journal.
    pub last: u64,
}

impl Store {
    /// Orders with unsent entries whose journals have grown since then, the longest waiting first.
    pub async fn untraced_orders(
        &self,
        since: DateTime<Utc>,
        most: u32,
    ) -> Result<Vec<UntracedOrder>, StoreError> {
        // An index covers exactly these rows: both conditions must be identical.
        let rows: Vec<(String, i64, i64)> = read!(self, fetch_all,
            "SELECT id, traced_seq, last_seq FROM orders WHERE last_seq > traced_seq AND updated_at > $1 \
             ORDER BY updated_at LIMIT $2";
            to_micros(since), i64::from(most))?;
        rows.into_iter()
            .map(|(id, sent, last)| {
                let number = |column| from_column(column, "an entry's number");
                Ok(UntracedOrder { order: order_id(&id)?, sent: number(sent)?, last: number(last)? })
            })
            .collect()
    }

    /// Stores up to which entry an order's journal was sent.
    pub async fn set_traced(&self, order: OrderId, seq: u64) -> Result<(), StoreError> {
        // An order deleted in the meantime changes nothing.
        written!(self, "what was traced",
            "UPDATE orders SET traced_seq = $2 WHERE id = $1";
            order.to_string(), to_column(seq, "an entry's number")?);
        Ok(())
    }
}
