//! Commits deliveries in groups through one writer: a commit costs a disk flush, for one delivery or for a hundred.

use tokio::sync::{mpsc, oneshot};

use super::deliveries::{DeliverySaveOutcome, NewDelivery, PackedDelivery, insert};
use super::pool::ConnectionPools;
use super::{Store, StoreError};

/// Most deliveries per commit.
const GROUP: usize = 128;

type SaveReply = oneshot::Sender<Result<DeliverySaveOutcome, StoreError>>;

#[derive(Clone)]
pub(super) struct DeliveryWriter {
    queue: mpsc::Sender<(PackedDelivery, SaveReply)>,
}

impl DeliveryWriter {
    /// Starts the writer. It ends with the last clone of the store.
    pub(super) fn start(pools: ConnectionPools) -> Self {
        let (queue, waiting) = mpsc::channel(GROUP);
        tokio::spawn(save_in_groups(pools, waiting));
        Self { queue }
    }
}

impl Store {
    /// Stores a delivery durably: after `Ok`, a crash does not lose it.
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
    let mut group = Vec::with_capacity(GROUP);
    while waiting.recv_many(&mut group, GROUP).await > 0 {
        let (deliveries, answers): (Vec<PackedDelivery>, Vec<SaveReply>) = group.drain(..).unzip();
        let results: Vec<Result<DeliverySaveOutcome, StoreError>> =
            match save_together(&pools, &deliveries).await {
                Ok(saved) => saved.into_iter().map(Ok).collect(),
                Err(error) => {
                    let because = error.to_string();
                    deliveries.iter().map(|_| Err(StoreError::unavailable(because.clone()))).collect()
                }
            };
        for (answer, result) in answers.into_iter().zip(results) {
            // The caller may be gone; the delivery is stored nevertheless.
            let _ = answer.send(result);
        }
    }
}

async fn save_together(
    pools: &ConnectionPools,
    deliveries: &[PackedDelivery],
) -> Result<Vec<DeliverySaveOutcome>, StoreError> {
    let mut tx = pools.begin("deliveries").await?;
    let saved = insert(&mut tx, deliveries).await?;
    tx.commit().await?;
    Ok(saved)
}
