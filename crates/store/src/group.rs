//! One writer that commits deliveries in groups: a commit costs a flush of the disk, whether it holds one
//! delivery or a hundred.

use tokio::sync::{mpsc, oneshot};

use super::deliveries::{NewDelivery, Saved, insert};
use super::pool::Pools;
use super::{Store, StoreError};

/// The most deliveries of one commit.
const GROUP: usize = 128;

type Answer = oneshot::Sender<Result<Saved, StoreError>>;

/// The way to the writer.
#[derive(Clone)]
pub(super) struct Saver {
    queue: mpsc::Sender<(NewDelivery, Answer)>,
}

impl Saver {
    /// Starts the writer. It ends when the last clone of the store is gone.
    pub(super) fn start(pools: Pools) -> Self {
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
    pub async fn save_delivery(&self, delivery: NewDelivery) -> Result<Saved, StoreError> {
        let ended = || StoreError::unavailable("it is being closed");
        let (answer, answered) = oneshot::channel();
        self.saver.queue.send((delivery, answer)).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }
}

async fn save_in_groups(pools: Pools, mut waiting: mpsc::Receiver<(NewDelivery, Answer)>) {
    let mut group = Vec::with_capacity(GROUP);
    while waiting.recv_many(&mut group, GROUP).await > 0 {
        let (deliveries, answers): (Vec<NewDelivery>, Vec<Answer>) = group.drain(..).unzip();
        let results = match save_together(&pools, &deliveries).await {
            Ok(saved) => saved.into_iter().map(Ok).collect(),
            // One that the database will not take must not cost the others their place.
            Err(_) if deliveries.len() > 1 => save_one_by_one(&pools, &deliveries).await,
            Err(error) => vec![Err(error)],
        };
        for (answer, result) in answers.into_iter().zip(results) {
            // Whoever asked may have gone; the delivery is kept all the same.
            let _ = answer.send(result);
        }
    }
}

async fn save_together(pools: &Pools, deliveries: &[NewDelivery]) -> Result<Vec<Saved>, StoreError> {
    let mut tx = pools.begin().await?;
    let mut saved = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        saved.push(insert(&mut tx, delivery).await?);
    }
    tx.commit().await?;
    Ok(saved)
}

async fn save_one_by_one(pools: &Pools, deliveries: &[NewDelivery]) -> Vec<Result<Saved, StoreError>> {
    let mut results = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let one = save_together(pools, std::slice::from_ref(delivery)).await;
        results.push(one.and_then(|saved| {
            saved.first().copied().ok_or_else(|| StoreError::unavailable("the commit was empty"))
        }));
    }
    results
}
