//! How far the journals of orders were sent to a collector of traces.
//!
//! May know: numbers of entries. Must never know: what is made of them.

use chrono::{DateTime, Utc};

use super::orders::order_id;
use super::pool::{read, written};
use super::{Store, StoreError, from_column, to_column, to_micros};
use journeyman_order::OrderId;

/// An order whose journal has grown since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UntracedOrder {
    pub order: OrderId,
    /// The last entry that was sent; 0: none.
    pub sent: u64,
    /// The last entry that there is.
    pub last: u64,
}

impl Store {
    /// Orders whose journals have grown since this, and have entries that were not sent; those first that have waited for
    /// longest.
    pub async fn untraced_orders(
        &self,
        since: DateTime<Utc>,
        most: u32,
    ) -> Result<Vec<UntracedOrder>, StoreError> {
        // There is an index of just these rows: the condition has to stand here as it stands there.
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

    /// Keeps up to which entry an order's journal was sent.
    pub async fn set_traced(&self, order: OrderId, seq: u64) -> Result<(), StoreError> {
        // One that was taken away meanwhile has nothing to keep.
        written!(self, "what was traced",
            "UPDATE orders SET traced_seq = $2 WHERE id = $1";
            order.to_string(), to_column(seq, "an entry's number")?);
        Ok(())
    }
}
