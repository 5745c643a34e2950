//! Deliveries for people: what came, and what became of it.

use super::pool::read;
use super::{NewDelivery, Store, StoreError, from_micros};
use chrono::{DateTime, Utc};
use journeyman_order::{DeliveryGuid, OrderId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRow {
    /// Its place: whatever comes later has a higher one.
    pub id: i64,
    pub guid: DeliveryGuid,
    /// `X-GitHub-Event`.
    pub event: String,
    pub action: Option<String>,
    pub received_at: DateTime<Utc>,
    /// What became of it, in a word; none while it waits.
    pub conclusion: Option<String>,
    pub because: Option<String>,
    /// The orders that it opened or told something.
    pub orders: Vec<OrderId>,
    pub has_body: bool,
}

type DeliveryColumns =
    (i64, String, String, Option<String>, i64, Option<String>, Option<String>, Option<String>, bool);

impl Store {
    /// Deliveries, the latest first, from before this place.
    pub async fn deliveries(&self, before: i64, limit: u32) -> Result<Vec<DeliveryRow>, StoreError> {
        let rows: Vec<DeliveryColumns> = read!(self, fetch_all,
            "SELECT id, guid, event, action, received_at, conclusion, because, order_id, length(body) > 0 \
             FROM deliveries WHERE id < $1 ORDER BY id DESC LIMIT $2";
            before, i64::from(limit))?;
        rows.into_iter().map(row).collect()
    }

    /// A delivery as it came, to be taken in again.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is none, or its body is not kept any more.
    pub async fn delivery(&self, guid: &DeliveryGuid) -> Result<NewDelivery, StoreError> {
        type WholeColumns = (String, Option<String>, Vec<u8>, bool, i64);
        let what = || format!("delivery {guid}");
        let row: Option<WholeColumns> = read!(self, fetch_optional,
            "SELECT event, action, body, packed, received_at FROM deliveries WHERE guid = $1 AND length(body) > 0";
            guid.as_str())?;
        let (event, action, body, is_packed, received_at) =
            row.ok_or_else(|| StoreError::not_found(what()))?;
        let body = match is_packed {
            true => lz4_flex::decompress_size_prepended(&body)
                .map_err(|error| StoreError::broken(what(), error))?,
            false => body,
        };
        let received_at = from_micros(received_at, &what())?;
        Ok(NewDelivery { guid: guid.clone(), event, action, body, received_at })
    }
}

fn row(columns: DeliveryColumns) -> Result<DeliveryRow, StoreError> {
    let (id, guid, event, action, received_at, conclusion, because, orders, has_body) = columns;
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
        has_body,
    })
}
