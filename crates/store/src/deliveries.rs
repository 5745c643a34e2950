//! Deliveries: kept before GitHub hears 2xx, concluded once, whoever works on them.

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
    /// The body's `action`, for people who look; it decides nothing.
    pub action: Option<String>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    pub received_at: DateTime<Utc>,
}

pub(super) struct PackedDelivery {
    delivery: NewDelivery,
    /// Its body is LZ4, behind its length.
    is_packed: bool,
}

impl PackedDelivery {
    /// GitHub's bodies are names and addresses, said again and again: a fifth of them is written to the disk, which takes
    /// longer than to pack them.
    pub(super) fn of(mut delivery: NewDelivery) -> Self {
        let packed = lz4_flex::compress_prepend_size(&delivery.body);
        let is_packed = packed.len() < delivery.body.len();
        if is_packed {
            delivery.body = packed;
        }
        Self { delivery, is_packed }
    }
}

/// How long a packed body was; none where it cannot be one, as whatever asked for that much memory.
fn unpacked_length(packed: &[u8]) -> Option<usize> {
    /// LZ4 says no more with a byte.
    const MOST_FOR_A_BYTE: usize = 255;
    let length = u32::from_le_bytes(*packed.first_chunk()?);
    usize::try_from(length).ok().filter(|length| *length <= packed.len().saturating_mul(MOST_FOR_A_BYTE))
}

/// A delivery that waits to be understood.
#[derive(Debug, Clone)]
pub struct StoredDelivery {
    /// Its place: whatever comes later has a higher one.
    pub id: i64,
    pub guid: DeliveryGuid,
    /// `X-GitHub-Event`.
    pub event: String,
    /// The body, byte for byte.
    pub body: Vec<u8>,
    pub received_at: DateTime<Utc>,
}

/// Bodies of deliveries that are in memory at once, as they are kept and again as they came.
pub const PENDING_BYTES: usize = 32 << 20;

/// Deliveries that wait, as many as are read at once.
#[derive(Debug, Clone)]
pub struct PendingPage {
    /// The oldest first; at least one where any waits.
    pub deliveries: Vec<StoredDelivery>,
    pub is_last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliverySaveOutcome {
    /// It was not there, or was refused before: whoever sends it again has mended what was in its way.
    New,
    /// It was there: a redelivery. Nothing changed.
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
        /// Which; there is at least one.
        orders: Vec<OrderId>,
    },
    /// It asked for something that it must not have, or could not be read.
    Refused {
        because: String,
    },
}

impl DeliveryConclusion {
    fn columns(&self) -> (&'static str, Option<String>, Option<String>) {
        // PostgreSQL keeps no NUL in a text.
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

/// Until when all that GitHub delivered was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeardUntil {
    pub at: DateTime<Utc>,
    /// Otherwise GitHub was never asked, and it is when the last delivery came: it moves with the next.
    pub is_kept: bool,
}

impl Store {
    /// Deliveries that nobody has concluded yet and that came after this one, the oldest first; fewer than `limit` also
    /// where their bodies are more than [`PENDING_BYTES`].
    pub async fn pending_deliveries(
        &self,
        after: i64,
        limit: u32,
    ) -> Result<Vec<StoredDelivery>, StoreError> {
        Ok(self.pending_page(after, limit).await?.deliveries)
    }

    /// The same, and whether that is all.
    pub async fn pending_page(&self, after: i64, limit: u32) -> Result<PendingPage, StoreError> {
        self.pending_within(after, limit, (PENDING_BYTES, PENDING_BYTES)).await
    }

    /// Of more than one no more than so many bytes of their bodies, as they are kept, and as they came.
    pub(super) async fn pending_within(
        &self,
        after: i64,
        limit: u32,
        (kept, came): (usize, usize),
    ) -> Result<PendingPage, StoreError> {
        type PendingColumns = (i64, String, String, Vec<u8>, bool, i64, i64);
        // A body's length is told without reading it.
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
            // One that the disk has damaged says nothing, and is refused by whoever reads it: it holds up no other.
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

    /// Says what became of deliveries, in one commit. The first conclusion of each stands; a later one changes nothing. One that is
    /// not there is left out.
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

    /// Until when all that GitHub delivered was taken in, by GitHub's clock.
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

    /// Keeps until when all that GitHub delivered was taken in.
    pub async fn set_heard_until(&self, at: DateTime<Utc>) -> Result<(), StoreError> {
        written!(self, "heard until", "UPDATE server SET heard_until = $1 WHERE one = 1"; to_micros(at));
        Ok(())
    }

    /// What became of a delivery; none while it waits.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when there is no such delivery.
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

/// As many as one statement keeps: more would save little, and each number is a statement that the connection prepares.
const IN_ONE: usize = 32;
/// Of the lock in PostgreSQL, beside the name of the schema.
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
    // SQLite takes no `ON CONFLICT` behind a bare `SELECT`.
    query.push(") AS came WHERE TRUE ON CONFLICT (guid) DO NOTHING RETURNING guid");
    query
}

/// How long an insertion waits for the one before it.
const TURN_WITHIN: Duration = Duration::from_secs(3);

/// PostgreSQL numbers rows as they are inserted, and shows them as they are committed. Deliveries are read by their numbers,
/// so one that becomes visible below those that were read would not be seen before a restart. Therefore transactions insert
/// one after the other, also behind one that a broken connection has left without an end. Whoever waits for long is
/// refused: GitHub listens for ten seconds.
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

/// What became of each, in their order.
pub(super) async fn insert(
    tx: &mut WriteTransaction,
    deliveries: &[PackedDelivery],
) -> Result<Vec<DeliverySaveOutcome>, StoreError> {
    await_turn(tx).await?;
    let mut outcomes = Vec::with_capacity(deliveries.len());
    for some in deliveries.chunks(IN_ONE) {
        let mut new: BTreeSet<String> = insert_new(tx, some).await?.into_iter().collect();
        for delivery in some {
            // The same may be in a group twice.
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

/// Takes one away that was refused, so that it comes anew, behind those that came since.
async fn was_refused(tx: &mut WriteTransaction, delivery: &PackedDelivery) -> Result<bool, StoreError> {
    let removed = execute!(tx,
        "DELETE FROM deliveries WHERE guid = $1 AND conclusion = 'refused'"; delivery.delivery.guid.as_str())?;
    Ok(removed > 0)
}

/// Whether it was not concluded before.
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
