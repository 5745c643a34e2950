//! Deliveries: stored before GitHub gets its 2xx, and concluded exactly once.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::QueryBuilder;

use super::pool::{OpenTransaction, WriteTransaction, execute, fetch, in_tx, read, written};
use super::{Store, StoreError, from_micros, to_micros};
use journeyman_metrics::metrics;
use journeyman_order::{DeliveryGuid, OrderId};

#[derive(Debug, Clone)]
pub struct NewDelivery {
    pub guid: DeliveryGuid,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The body's `action`, for display only.
    pub action: Option<String>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    pub received_at: DateTime<Utc>,
}

pub(super) struct PackedDelivery {
    delivery: NewDelivery,
    /// Its body is LZ4 after a length prefix.
    is_packed: bool,
}

impl PackedDelivery {
    /// Compresses the body. GitHub's bodies repeat names and URLs, so they shrink to a fifth, and compressing is faster
    /// than writing the rest.
    pub(super) fn of(mut delivery: NewDelivery) -> Self {
        let packed = lz4_flex::compress_prepend_size(&delivery.body);
        let is_packed = packed.len() < delivery.body.len();
        if is_packed {
            delivery.body = packed;
        }
        Self { delivery, is_packed }
    }
}

/// The length of an unpacked body; `None` for an impossible length, which would ask for too much memory.
fn unpacked_length(packed: &[u8]) -> Option<usize> {
    /// LZ4 cannot expand a byte further.
    const MOST_FOR_A_BYTE: usize = 255;
    let length = u32::from_le_bytes(*packed.first_chunk()?);
    usize::try_from(length).ok().filter(|length| *length <= packed.len().saturating_mul(MOST_FOR_A_BYTE))
}

/// A delivery that is still to be processed.
#[derive(Debug, Clone)]
pub struct StoredDelivery {
    /// Its position: later deliveries have higher ones.
    pub id: i64,
    pub guid: DeliveryGuid,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    pub received_at: DateTime<Utc>,
}

/// Limit for the bodies in memory at once, applied to packed and to unpacked bytes.
pub const PENDING_BYTES: usize = 32 << 20;

/// One read of pending deliveries.
#[derive(Debug, Clone)]
pub struct PendingPage {
    /// The oldest first; at least one if any is pending.
    pub deliveries: Vec<StoredDelivery>,
    pub is_last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliverySaveOutcome {
    /// It is new, or it was refused before and sent again after a fix.
    New,
    /// A redelivery of a known one. Nothing changed.
    Seen,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryConclusion {
    Ignored {
        because: String,
    },
    Opened {
        order: OrderId,
    },
    Signaled {
        /// The orders; at least one.
        orders: Vec<OrderId>,
    },
    /// It asked for something forbidden, or was unreadable.
    Refused {
        because: String,
    },
}

impl DeliveryConclusion {
    fn columns(&self) -> (&'static str, Option<String>, Option<String>) {
        // PostgreSQL cannot store NUL in text.
        let text = |because: &str| Some(because.replace('\0', "\u{fffd}"));
        match self {
            Self::Ignored { because } => ("ignored", text(because), None),
            Self::Refused { because } => ("refused", text(because), None),
            Self::Opened { order } => ("opened", None, Some(order.to_string())),
            Self::Signaled { orders } => {
                let orders: Vec<String> = orders.iter().map(OrderId::to_string).collect();
                ("signaled", None, Some(orders.join(" ")))
            }
        }
    }
}

/// The time up to which all of GitHub's deliveries were received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeardUntil {
    pub at: DateTime<Utc>,
    /// False if GitHub was never asked. `at` is then the time of the last delivery and moves with the next one.
    pub is_kept: bool,
}

impl Store {
    /// Pending deliveries after this one, the oldest first. There may be fewer than `limit` if their bodies exceed
    /// [`PENDING_BYTES`].
    pub async fn pending_deliveries(
        &self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredDelivery>, StoreError> {
        Ok(self.pending_page(after, limit).await?.deliveries)
    }

    /// Like [`Self::pending_deliveries`], and whether these are all.
    pub async fn pending_page(&self, after: i64, limit: u32) -> Result<PendingPage, StoreError> {
        self.pending_within(after, limit, (PENDING_BYTES, PENDING_BYTES)).await
    }

    /// Applies two limits to more than one delivery: bytes of the stored bodies and of the unpacked ones.
    pub(super) async fn pending_within(
        &self,
        after: i64,
        limit: u32,
        (kept, came): (usize, usize),
    ) -> Result<PendingPage, StoreError> {
        type PendingColumns = (i64, String, String, Vec<u8>, bool, i64, i64);
        // The length is known without reading the body.
        let rows: Vec<PendingColumns> = read!(self, fetch_all,
            "WITH sized AS (SELECT id, length(body) AS size FROM deliveries \
             WHERE conclusion IS NULL AND id > $1 ORDER BY id LIMIT $2), \
             summed AS (SELECT id, size, SUM(size) OVER (ORDER BY id) AS together, COUNT(*) OVER () AS there \
             FROM sized) \
             SELECT one.id, guid, event, body, packed, received_at, there FROM summed \
             JOIN deliveries AS one ON one.id = summed.id \
             WHERE together = size OR together <= $3 ORDER BY one.id";
            after, i64::from(limit), i64::try_from(kept).unwrap_or(i64::MAX))?;
        let there = rows.first().map_or(0, |(.., there)| *there);
        let (mut deliveries, mut left) = (Vec::with_capacity(rows.len()), came);
        for (id, guid, event, body, is_packed, received_at, _) in rows {
            let what = || format!("delivery {guid}");
            // A body damaged on disk becomes empty. Its reader refuses it, and it blocks no other delivery.
            let length = unpacked_length(&body).filter(|_| is_packed);
            let Some(rest) =
                left.checked_sub(length.unwrap_or(body.len())).or(deliveries.is_empty().then_some(0))
            else {
                break;
            };
            left = rest;
            let unpacked = length.and_then(|_| lz4_flex::decompress_size_prepended(&body).ok());
            deliveries.push(StoredDelivery {
                id,
                received_at: from_micros(received_at, &what())?,
                guid: guid.parse().map_err(|error| StoreError::broken(what(), error))?,
                event,
                body: unpacked.unwrap_or(body),
            });
        }
        let read = deliveries.len() as i64;
        Ok(PendingPage { is_last: read == there && read < i64::from(limit), deliveries })
    }

    /// Concludes deliveries in one commit. The first conclusion of each is final; later ones are ignored. Missing
    /// deliveries are skipped.
    pub async fn conclude_deliveries(
        &self,
        conclusions: &[(DeliveryGuid, DeliveryConclusion)],
    ) -> Result<(), StoreError> {
        let mut tx = self.pools.begin("a conclusion").await?;
        for (guid, conclusion) in conclusions {
            match conclude(&mut tx, guid, conclusion).await {
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        tx.commit().await
    }

    pub async fn unknown_deliveries(
        &self,
        guids: Vec<DeliveryGuid>,
    ) -> Result<Vec<DeliveryGuid>, StoreError> {
        let mut unknown = Vec::new();
        for guid in guids {
            let found: Option<(i64,)> = read!(self, fetch_optional,
                "SELECT id FROM deliveries WHERE guid = $1";
                guid.as_str())?;
            if found.is_none() {
                unknown.push(guid);
            }
        }
        Ok(unknown)
    }

    /// The time up to which all of GitHub's deliveries were received, by GitHub's clock.
    pub async fn heard_until(&self) -> Result<Option<HeardUntil>, StoreError> {
        let (heard, last): (Option<i64>, Option<i64>) = read!(
            self,
            fetch_one,
            "SELECT heard_until, (SELECT MAX(received_at) FROM deliveries) FROM server WHERE one = 1"
        )?;
        let read = |at| from_micros(at, "the last delivery");
        let heard = heard.or(last).map(|at| Ok(HeardUntil { at: read(at)?, is_kept: heard.is_some() }));
        heard.transpose()
    }

    /// Stores the time up to which all of GitHub's deliveries were received.
    pub async fn set_heard_until(&self, at: DateTime<Utc>) -> Result<(), StoreError> {
        written!(self, "heard until", "UPDATE server SET heard_until = $1 WHERE one = 1"; to_micros(at));
        Ok(())
    }

    /// A delivery's conclusion; `None` while it is pending.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is no such delivery.
    pub async fn conclusion(&self, guid: &DeliveryGuid) -> Result<Option<DeliveryConclusion>, StoreError> {
        type ConclusionColumns = (Option<String>, Option<String>, Option<String>);
        let row: Option<ConclusionColumns> = read!(self, fetch_optional,
            "SELECT conclusion, because, order_id FROM deliveries WHERE guid = $1";
            guid.as_str())?;
        let what = || format!("delivery {guid}");
        let (conclusion, because, order) = row.ok_or_else(|| StoreError::not_found(what()))?;
        let Some(conclusion) = conclusion else { return Ok(None) };
        let because = because.unwrap_or_default();
        let order = order.unwrap_or_default();
        let parsed =
            |order: &str| order.parse::<OrderId>().map_err(|error| StoreError::broken(what(), error));
        Ok(Some(match conclusion.as_str() {
            "ignored" => DeliveryConclusion::Ignored { because },
            "refused" => DeliveryConclusion::Refused { because },
            "opened" => DeliveryConclusion::Opened { order: parsed(&order)? },
            "signaled" => DeliveryConclusion::Signaled {
                orders: order.split(' ').map(parsed).collect::<Result<_, _>>()?,
            },
            other => return Err(StoreError::broken(what(), format!("conclusion {other:?}"))),
        }))
    }
}

/// Rows per statement: more would save little, and each count is another prepared statement.
const IN_ONE: usize = 32;
/// Key of the lock in PostgreSQL, besides the schema's name.
const INSERTS: i32 = 0x4a4d_4445;

fn insertion<DB>(deliveries: &[PackedDelivery]) -> QueryBuilder<DB>
where
    DB: sqlx::Database,
    for<'a> &'a str: sqlx::Encode<'a, DB> + sqlx::Type<DB>,
    for<'a> Option<&'a str>: sqlx::Encode<'a, DB> + sqlx::Type<DB>,
    for<'a> &'a [u8]: sqlx::Encode<'a, DB> + sqlx::Type<DB>,
    bool: for<'a> sqlx::Encode<'a, DB> + sqlx::Type<DB>,
    i64: for<'a> sqlx::Encode<'a, DB> + sqlx::Type<DB>,
{
    let mut query = QueryBuilder::new(
        "INSERT INTO deliveries (guid, event, action, body, packed, received_at) SELECT * FROM (",
    );
    query.push_values(deliveries, |mut row, PackedDelivery { delivery, is_packed }| {
        row.push_bind(delivery.guid.as_str())
            .push_bind(delivery.event.as_str())
            .push_bind(delivery.action.as_deref())
            .push_bind(delivery.body.as_slice())
            .push_bind(*is_packed)
            .push_bind(to_micros(delivery.received_at));
    });
    // SQLite does not accept `ON CONFLICT` after a bare `SELECT`.
    query.push(") AS came WHERE TRUE ON CONFLICT (guid) DO NOTHING RETURNING guid");
    query
}

/// How long an insertion waits for the previous one.
const TURN_WITHIN: Duration = Duration::from_secs(3);

/// PostgreSQL numbers rows on insert but shows them on commit. Deliveries are read by number, so a row that appears
/// below those already read would be missed until a restart. So insertions run one at a time, even after one left open
/// by a broken connection. A long wait fails, because GitHub waits only ten seconds.
async fn await_turn(tx: &mut WriteTransaction) -> Result<(), StoreError> {
    if let OpenTransaction::Postgres(tx) = &mut tx.on {
        sqlx::query(
            "SELECT set_config('lock_timeout', $2, true), \
             pg_advisory_xact_lock($1, hashtext(current_schema()))",
        )
        .bind(INSERTS)
        .bind(TURN_WITHIN.as_millis().to_string())
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// The outcome of each, in order.
pub(super) async fn insert(
    tx: &mut WriteTransaction,
    deliveries: &[PackedDelivery],
) -> Result<Vec<DeliverySaveOutcome>, StoreError> {
    await_turn(tx).await?;
    let mut outcomes = Vec::with_capacity(deliveries.len());
    for some in deliveries.chunks(IN_ONE) {
        let mut new: BTreeSet<String> = insert_new(tx, some).await?.into_iter().collect();
        for delivery in some {
            // A group may contain a delivery twice.
            let is_new = new.remove(delivery.delivery.guid.as_str())
                || (was_refused(tx, delivery).await?
                    && !insert_new(tx, std::slice::from_ref(delivery)).await?.is_empty());
            outcomes.push(if is_new { DeliverySaveOutcome::New } else { DeliverySaveOutcome::Seen });
        }
    }
    Ok(outcomes)
}

async fn insert_new(
    tx: &mut WriteTransaction,
    deliveries: &[PackedDelivery],
) -> Result<Vec<String>, StoreError> {
    let inserted: Vec<(String,)> = in_tx!(tx, connection => async {
        let mut query = insertion(deliveries);
        query.build_query_as().fetch_all(connection).await
    })?;
    Ok(inserted.into_iter().map(|(guid,)| guid).collect())
}

/// Deletes a refused delivery, so that it is inserted again after all later ones.
async fn was_refused(tx: &mut WriteTransaction, delivery: &PackedDelivery) -> Result<bool, StoreError> {
    let removed = execute!(tx,
        "DELETE FROM deliveries WHERE guid = $1 AND conclusion = 'refused'"; delivery.delivery.guid.as_str())?;
    Ok(removed > 0)
}

/// Returns whether it was pending before.
pub(super) async fn conclude(
    tx: &mut WriteTransaction,
    guid: &DeliveryGuid,
    conclusion: &DeliveryConclusion,
) -> Result<bool, StoreError> {
    let (word, because, order) = conclusion.columns();
    let updated = execute!(tx,
        "UPDATE deliveries SET conclusion = $2, because = $3, order_id = $4 \
         WHERE guid = $1 AND conclusion IS NULL";
        guid.as_str(), word, because.as_deref(), order.as_deref())?;
    if updated > 0 {
        metrics().delivery_concluded(word);
        return Ok(true);
    }
    let there: Option<(i64,)> = fetch!(tx, fetch_optional,
        "SELECT id FROM deliveries WHERE guid = $1";
        guid.as_str())?;
    there.map(|_| false).ok_or_else(|| StoreError::not_found(format!("delivery {guid}")))
}
