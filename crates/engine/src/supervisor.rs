//! Drives orders, a limited number at a time, until stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Engine;
use super::driver::DriveOutcome;
use super::intake::DeliveryIntake;
use super::retry_clock::RetryClock;
use journeyman_order::OrderId;
use journeyman_store::StoreError;

/// How often the store is read without a notification.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);
const TOGETHER: Duration = Duration::from_millis(10);

#[derive(Default)]
struct SupervisedOrders {
    /// Orders that may have something to do and are not driven.
    waking: BTreeSet<OrderId>,
    read_at: Option<Instant>,
    driven: JoinSet<(OrderId, Result<DriveOutcome, StoreError>)>,
    signaled: BTreeMap<OrderId, Arc<Notify>>,
    parked: BTreeMap<OrderId, Instant>,
    /// Orders whose drive failed, such as because the store was unavailable.
    failed: RetryClock<OrderId>,
    /// Orders signalled while driven. Whether the drive noticed is unknown.
    signaled_while_driven: BTreeSet<OrderId>,
}

impl Engine {
    /// Runs until [`Engine::stop`]. Intake and driving do not wait for each other. Returns how many orders were in
    /// progress; they resume at the next start.
    pub async fn run(&self) -> usize {
        tokio::select! {
            stopped = self.supervise() => stopped,
            () = self.process_deliveries_forever() => 0,
            () = self.reconcile_forever() => 0,
        }
    }

    async fn process_deliveries_forever(&self) {
        let mut intake = DeliveryIntake::default();
        loop {
            let nap = match self.process_deliveries(&mut intake).await {
                Ok(()) => intake.next_due().map_or(LOOK_AGAIN, |due| due.min(LOOK_AGAIN)),
                Err(error) => {
                    tracing::error!("deliveries wait, because the store cannot be used: {error}");
                    LOOK_AGAIN
                }
            };
            tokio::select! {
                // Batches what arrives together: each read costs time, and each commit of conclusions a flush.
                () = self.arrived.notified() => tokio::time::sleep(TOGETHER).await,
                () = tokio::time::sleep(nap) => {}
            }
        }
    }

    async fn supervise(&self) -> usize {
        let mut orders = SupervisedOrders::default();
        loop {
            if !self.drain.is_cancelled()
                && let Err(error) = self.start_orders(&mut orders).await
            {
                tracing::error!("orders wait, because the store cannot be used: {error}");
            }
            let nap = orders.sleep();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return orders.stop().await,
                () = self.drain.cancelled() => return self.finish(orders).await,
                Some(rested) = orders.driven.join_next() => {
                    orders.finish_drive(rested, self.parts.clock.now());
                }
                () = self.order_requested.notified() => {
                    self.take_signaled().into_iter().for_each(|order| orders.wake(order));
                }
                () = tokio::time::sleep(nap) => {}
            }
        }
    }

    async fn finish(&self, mut orders: SupervisedOrders) -> usize {
        let time = self.parts.settings.drain_for;
        tracing::info!(orders = orders.signaled.len(), seconds = time.as_secs(), "what is under way may end");
        let over = tokio::time::sleep(time);
        tokio::pin!(over);
        loop {
            tokio::select! {
                biased;
                () = self.stop.cancelled() => return orders.stop().await,
                ended = orders.driven.join_next() => match ended {
                    Some(ended) => orders.finish_drive(ended, self.parts.clock.now()),
                    None => return 0,
                },
                () = &mut over => return orders.stop().await,
            }
        }
    }

    async fn start_orders(&self, orders: &mut SupervisedOrders) -> Result<(), StoreError> {
        if orders.read_at.is_none_or(|read| read.elapsed() >= LOOK_AGAIN) {
            orders.read(self.parts.store.waking_orders().await?);
        }
        let most = self.parts.settings.limits.concurrent_orders.saturating_sub(orders.signaled.len());
        for order in orders.startable(most) {
            orders.waking.remove(&order);
            orders.parked.remove(&order);
            let signaled = Arc::new(Notify::new());
            orders.signaled.insert(order, Arc::clone(&signaled));
            let engine = self.clone();
            orders.driven.spawn(async move { (order, engine.drive(order, signaled).await) });
        }
        Ok(())
    }
}

impl SupervisedOrders {
    fn read(&mut self, waking: Vec<OrderId>) {
        self.read_at = Some(Instant::now());
        self.waking = waking.into_iter().filter(|order| !self.signaled.contains_key(order)).collect();
        let Self { waking, failed, .. } = self;
        failed.retain(|order| waking.contains(order));
    }

    fn startable(&self, most: usize) -> Vec<OrderId> {
        let now = Instant::now();
        let is_due = |order: &OrderId| {
            let is_parked = self.parked.get(order).is_some_and(|due| *due > now);
            !is_parked && !self.failed.is_waiting(order)
        };
        self.waking.iter().copied().filter(is_due).take(most).collect()
    }

    async fn stop(mut self) -> usize {
        let under_way = self.signaled.len();
        self.driven.shutdown().await;
        under_way
    }

    fn wake(&mut self, order: OrderId) {
        self.parked.remove(&order);
        self.failed.worked(&order);
        if let Some(signaled) = self.signaled.get(&order) {
            signaled.notify_one();
            self.signaled_while_driven.insert(order);
        } else {
            self.waking.insert(order);
        }
    }

    fn finish_drive(
        &mut self,
        rested: Result<(OrderId, Result<DriveOutcome, StoreError>), tokio::task::JoinError>,
        now: DateTime<Utc>,
    ) {
        match rested {
            Ok((order, rest)) => {
                self.signaled.remove(&order);
                if rest.is_ok() {
                    self.failed.worked(&order);
                }
                let has_heard = self.signaled_while_driven.remove(&order);
                if has_heard || !matches!(rest, Ok(DriveOutcome::Ended)) {
                    self.waking.insert(order);
                }
                match rest {
                    Ok(DriveOutcome::Ended) => {}
                    Ok(DriveOutcome::Until(_)) if has_heard => {}
                    Ok(DriveOutcome::Until(until)) => {
                        let pause = (until - now).to_std().unwrap_or_default().min(LONGEST_PAUSE);
                        self.parked.insert(order, Instant::now() + pause);
                    }
                    Err(error) => {
                        tracing::error!(%order, "waits, because the store cannot be used: {error}");
                        self.failed.failed(order);
                    }
                }
            }
            Err(error) => {
                // Only a bug of ours makes a drive panic. Notifiers without a drive are dropped, so the order is driven
                // again after a pause: the bug may strike again.
                tracing::error!("a drive ended by a fault: {error}");
                for (order, _) in self.signaled.extract_if(.., |_, notify| Arc::strong_count(notify) == 1) {
                    self.waking.insert(order);
                    self.failed.failed(order);
                }
            }
        }
    }

    fn sleep(&self) -> Duration {
        let now = Instant::now();
        let parked = self.parked.values().map(|due| due.saturating_duration_since(now)).min();
        let first = parked.into_iter().chain(self.failed.next_due()).min();
        first.unwrap_or(LOOK_AGAIN).clamp(Duration::from_millis(100), LOOK_AGAIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    #[tokio::test]
    async fn an_order_whose_drive_ends_by_a_fault_is_driven_again_after_a_pause() {
        let mut orders = SupervisedOrders::default();
        let [faulty, well] = [1, 2].map(|number| OrderId(uuid::Uuid::from_u128(number)));
        let notifies = [faulty, well].map(|order| {
            let notify = Arc::new(Notify::new());
            orders.signaled.insert(order, Arc::clone(&notify));
            notify
        });
        let [of_faulty, _of_well] = notifies;
        orders.driven.spawn(async move {
            let _held = of_faulty;
            Vec::new().pop().expect("a fault of ours")
        });

        let ended = orders.driven.join_next().await.expect("it was driven");
        orders.finish_drive(ended, Utc::now());

        assert!(!orders.signaled.contains_key(&faulty) && orders.failed.is_waiting(&faulty));
        assert!(orders.signaled.contains_key(&well) && !orders.failed.is_waiting(&well));
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_that_is_due_comes_first_and_what_is_driven_or_parked_is_left() {
        let mut orders = SupervisedOrders::default();
        let [driven, parked, told, last] = [1, 2, 3, 4].map(|number| OrderId(uuid::Uuid::from_u128(number)));
        orders.signaled.insert(driven, Arc::new(Notify::new()));
        let now = Utc::now();
        orders.driven.spawn(async move { (parked, Ok(DriveOutcome::Until(now + TimeDelta::hours(1)))) });
        let ended = orders.driven.join_next().await.expect("it was driven");
        orders.finish_drive(ended, now);
        orders.read(vec![driven, parked, last]);
        assert_eq!(orders.startable(4), [last]);
        orders.wake(told);
        orders.wake(driven);
        assert_eq!(orders.startable(4), [told, last]);
        assert_eq!(orders.startable(1), [told]);
        tokio::time::advance(Duration::from_secs(61 * 60)).await;
        assert_eq!(orders.startable(4), [parked, told, last]);

        orders.driven.spawn(async move { (driven, Ok(DriveOutcome::Ended)) });
        let ended = orders.driven.join_next().await.expect("it was driven");
        orders.finish_drive(ended, Utc::now());
        assert_eq!(
            orders.startable(1),
            [driven],
            "it was told something, which its drive may not have heard"
        );
    }
}
