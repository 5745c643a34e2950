//! Keeps orders going, so many at a time, until it is told to stop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::Engine;
use super::driver::Rest;
use journeyman_order::OrderId;
use journeyman_store::StoreError;

/// How often the store is looked at although nobody said that something arrived.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// How long an order is left alone after the store could not be used for it.
const AFTER_FAULT: chrono::TimeDelta = chrono::TimeDelta::seconds(5);

/// The engine was asked to stop and has. Orders that were under way go on at the next start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// Orders that were under way.
    pub under_way: usize,
}

#[derive(Default)]
struct Orders {
    driven: JoinSet<(OrderId, Result<Rest, StoreError>)>,
    signaled: BTreeMap<OrderId, Arc<Notify>>,
    parked: BTreeMap<OrderId, DateTime<Utc>>,
    /// Told something while they were driven; whether the drive still heard of it is not known.
    told: BTreeSet<OrderId>,
}

impl Engine {
    /// Runs until [`Engine::stop`]. Taking in and driving do not wait for one another.
    pub async fn run(&self) -> Stopped {
        let (tell, told) = mpsc::unbounded_channel();
        tokio::select! {
            stopped = self.supervise(told) => stopped,
            () = self.take_in_for_ever(&tell) => Stopped { under_way: 0 },
        }
    }

    async fn take_in_for_ever(&self, tell: &mpsc::UnboundedSender<OrderId>) {
        loop {
            if let Err(error) = self.take_in(tell).await {
                tracing::error!("deliveries wait, because the store cannot be used: {error}");
            }
            tokio::select! {
                () = self.arrived.notified() => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    async fn supervise(&self, mut told: mpsc::UnboundedReceiver<OrderId>) -> Stopped {
        let mut orders = Orders::default();
        loop {
            if let Err(error) = self.start_orders(&mut orders).await {
                tracing::error!("orders wait, because the store cannot be used: {error}");
            }
            let nap = orders.sleep();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    let under_way = orders.signaled.len();
                    orders.driven.shutdown().await;
                    return Stopped { under_way };
                }
                Some(rested) = orders.driven.join_next() => orders.rest(rested),
                Some(order) = told.recv() => orders.tell(order),
                () = self.asked.notified() => {
                    for order in self.take_told() {
                        orders.tell(order);
                    }
                }
                () = tokio::time::sleep(nap) => {}
            }
        }
    }

    async fn start_orders(&self, orders: &mut Orders) -> Result<(), StoreError> {
        let now = Utc::now();
        for order in self.parts.store.waking_orders().await? {
            if orders.signaled.len() >= self.parts.rules.concurrent_orders {
                break;
            }
            let parked = orders.parked.get(&order).is_some_and(|until| *until > now);
            if parked || orders.signaled.contains_key(&order) {
                continue;
            }
            orders.parked.remove(&order);
            let signaled = Arc::new(Notify::new());
            orders.signaled.insert(order, Arc::clone(&signaled));
            let engine = self.clone();
            orders.driven.spawn(async move { (order, engine.drive(order, signaled).await) });
        }
        Ok(())
    }
}

impl Orders {
    /// An order's journal has grown by somebody else's hand.
    fn tell(&mut self, order: OrderId) {
        self.parked.remove(&order);
        if let Some(signaled) = self.signaled.get(&order) {
            signaled.notify_one();
            self.told.insert(order);
        }
    }

    fn rest(&mut self, rested: Result<(OrderId, Result<Rest, StoreError>), tokio::task::JoinError>) {
        match rested {
            Ok((order, rest)) => {
                self.signaled.remove(&order);
                match rest {
                    Ok(Rest::Ended) => {}
                    Ok(Rest::Until(_)) if self.told.contains(&order) => {}
                    Ok(Rest::Until(until)) => {
                        self.parked.insert(order, until);
                    }
                    Err(error) => {
                        tracing::error!(%order, "waits, because the store cannot be used: {error}");
                        self.parked.insert(order, Utc::now() + AFTER_FAULT);
                    }
                }
                self.told.remove(&order);
            }
            Err(error) => {
                // A drive does not panic but by a fault of ours. All notifiers whose drive is gone are let go, so
                // that the order is driven again.
                tracing::error!("a drive ended by a fault: {error}");
                self.signaled.retain(|_, notify| Arc::strong_count(notify) > 1);
            }
        }
    }

    fn sleep(&self) -> Duration {
        let first =
            self.parked.values().min().map(|until| (*until - Utc::now()).to_std().unwrap_or_default());
        first.unwrap_or(LOOK_AGAIN).clamp(Duration::from_millis(100), LOOK_AGAIN)
    }
}
