//! One writer that commits deliveries in groups: a commit costs a flush of the disk, whether it holds one
//! delivery or a hundred.

use std::time::Instant;

use tokio::sync::{mpsc, oneshot};

use super::checkpointer::Checkpointer;
use super::deliveries::{
    DeliverySaveOutcome, NewDelivery, PackedDelivery, TURN_WITHIN, insert, insert_at_once,
};
use super::pool::ConnectionPools;
use super::{Store, StoreError};

/// The most deliveries of one commit.
const GROUP: usize = 128;

type SaveReply = oneshot::Sender<Result<DeliverySaveOutcome, StoreError>>;

/// The way to the writer.
#[derive(Clone)]
pub(super) struct DeliveryWriter {
    queue: mpsc::Sender<(PackedDelivery, SaveReply)>,
}

impl DeliveryWriter {
    /// Starts the writer. It ends when the last clone of the store is gone.
    pub(super) fn start(pools: ConnectionPools) -> Self {
        let (queue, waiting) = mpsc::channel(GROUP);
        tokio::spawn(save_in_groups(pools, waiting));
        Self { queue }
    }
}

impl Store {
    /// Keeps a delivery, durably: once this is `Ok` a crash does not lose it.
    ///
    /// # Errors
    /// When it could not be kept; then it may be sent again.
    pub async fn save_delivery(&self, delivery: NewDelivery) -> Result<DeliverySaveOutcome, StoreError> {
        let ended = || StoreError::unavailable("it is being closed");
        let (answer, answered) = oneshot::channel();
        self.saver.queue.send((PackedDelivery::of(delivery), answer)).await.map_err(|_| ended())?;
        let saved = answered.await.map_err(|_| ended())?;
        if saved.is_err() {
            self.writes.doubt().await;
        }
        saved
    }
}

async fn save_in_groups(pools: ConnectionPools, mut waiting: mpsc::Receiver<(PackedDelivery, SaveReply)>) {
    let mut checkpointer = Checkpointer::start(pools.file());
    let mut group = Vec::with_capacity(GROUP);
    while waiting.recv_many(&mut group, GROUP).await > 0 {
        let (deliveries, answers): (Vec<PackedDelivery>, Vec<SaveReply>) = group.drain(..).unzip();
        let begun = Instant::now();
        checkpointer.wrote(deliveries.len());
        let results = match save_together(&pools, &deliveries).await {
            Ok(saved) => saved.into_iter().map(Ok).collect(),
            // One that the database will not take must not cost the others their place. Where all of them have waited in
            // vain, none of them waits again.
            Err(_) if deliveries.len() > 1 && begun.elapsed() < TURN_WITHIN => {
                save_one_by_one(&pools, &deliveries).await
            }
            Err(error) if deliveries.len() == 1 => vec![Err(error)],
            Err(error) => {
                let because = error.to_string();
                deliveries.iter().map(|_| Err(StoreError::unavailable(because.clone()))).collect()
            }
        };
        for (answer, result) in answers.into_iter().zip(results) {
            // Whoever asked may have gone; the delivery is kept all the same.
            let _ = answer.send(result);
        }
    }
}

async fn save_together(
    pools: &ConnectionPools,
    deliveries: &[PackedDelivery],
) -> Result<Vec<DeliverySaveOutcome>, StoreError> {
    let new = insert_at_once(pools, deliveries).await?;
    if new.len() == deliveries.len() {
        return Ok(vec![DeliverySaveOutcome::New; new.len()]);
    }
    let mut tx = pools.begin("deliveries").await?;
    let saved = insert(&mut tx, deliveries, new).await?;
    tx.commit().await?;
    Ok(saved)
}

async fn save_one_by_one(
    pools: &ConnectionPools,
    deliveries: &[PackedDelivery],
) -> Vec<Result<DeliverySaveOutcome, StoreError>> {
    let mut results = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let begun = Instant::now();
        let one = save_together(pools, std::slice::from_ref(delivery)).await;
        let is_waited_for = one.is_err() && begun.elapsed() >= TURN_WITHIN;
        results.push(one.and_then(|saved| {
            saved.first().copied().ok_or_else(|| StoreError::unavailable("the commit was empty"))
        }));
        if is_waited_for {
            break;
        }
    }
    let refused = || Err(StoreError::unavailable("the delivery before it could not be kept in time"));
    results.resize_with(deliveries.len(), refused);
    results
}
