//! Deliveries for display: what arrived, and its conclusion.

use super::pool::read;
use super::{Store, StoreError, from_micros};
use chrono::{DateTime, Utc};
use journeyman_order::{DeliveryGuid, OrderId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its position: later deliveries have higher ones.
    pub id: i64,
    pub guid: DeliveryGuid,
    /// `X-GitHub-Event`.
    pub event: String,
    pub action: Option<String>,
    pub received_at: DateTime<Utc>,
    /// Its conclusion in one word; `None` while it is pending.
    pub conclusion: Option<String>,
    pub because: Option<String>,
    /// The orders that it opened or signaled.
    pub orders: Vec<OrderId>,
}

type DeliveryColumns =
    (i64, String, String, Option<String>, i64, Option<String>, Option<String>, Option<String>);

impl Store {
    /// Deliveries before this position, the latest first.
    pub async fn deliveries(&self, before: i64, limit: u32) -> Result<Vec<DeliveryRow>, StoreError> {
        let rows: Vec<DeliveryColumns> = read!(self, fetch_all,
            "SELECT id, guid, event, action, received_at, conclusion, because, order_id \
             FROM deliveries WHERE id < $1 ORDER BY id DESC LIMIT $2";
            before, i64::from(limit))?;
        rows.into_iter().map(row).collect()
    }
}

fn row(columns: DeliveryColumns) -> Result<DeliveryRow, StoreError> {
    let (id, guid, event, action, received_at, conclusion, because, orders) = columns;
    let what = format!("delivery {guid}");
    let orders = orders.unwrap_or_default();
    let orders = orders.split(' ').filter(|order| !order.is_empty()).map(str::parse);
    Ok(DeliveryRow {
        id,
        guid: guid.parse().map_err(|error| StoreError::broken(what.clone(), error))?,
        event,
        action,
        received_at: from_micros(received_at, &what)?,
        conclusion,
        because,
        orders: orders.collect::<Result<_, _>>().map_err(|error| StoreError::broken(what.clone(), error))?,
    })
}
