//! Deliveries that never reached us: GitHub's own list is compared with ours, at the start and again and again.
//!
//! May know: which deliveries GitHub lists, and which the store has. Must never know: what one means.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::Engine;
use journeyman_github::{ErrorKind, HookDelivery};
use journeyman_order::EffectError;
use journeyman_store::{DeliverySaveOutcome, NewDelivery};
use journeyman_webhook::events;

/// What is newer than this may still be on its way, and the clocks differ.
const OVERLAP: TimeDelta = TimeDelta::minutes(10);
/// When GitHub is asked again after it could not be.
const AGAIN: Duration = Duration::from_secs(30);

/// What one comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReconcileReport {
    taken_in: usize,
}

impl Engine {
    /// Takes in what GitHub could not deliver, or what it was not to deliver where it is asked for everything.
    pub(super) async fn reconcile_forever(&self) {
        // What did come is taken in before it is looked for what did not.
        let pause = self.reconcile_once().await;
        tokio::join!(self.reconcile_after(pause), self.look_for_missed_events());
    }

    async fn reconcile_after(&self, mut pause: Duration) {
        loop {
            tokio::time::sleep(pause).await;
            pause = self.reconcile_once().await;
        }
    }

    /// How long it may be until the next.
    async fn reconcile_once(&self) -> Duration {
        let every = self.parts.settings.reconcile_every;
        match self.reconcile().await {
            Ok(ReconcileReport { taken_in: 0 }) => every,
            Ok(ReconcileReport { taken_in }) => {
                tracing::info!(taken_in, "deliveries of GitHub's that had not come");
                every
            }
            Err(error) => {
                tracing::warn!("GitHub's list of deliveries could not be compared: {}", error.message);
                every.min(AGAIN)
            }
        }
    }

    async fn reconcile(&self) -> Result<ReconcileReport, EffectError> {
        let (heard, since) = match self.parts.store.heard_until().await? {
            Some(heard) => (heard, heard - OVERLAP),
            // The first start: what happens from now on is missed by nobody.
            None => {
                let now = self.parts.clock.now();
                self.parts.store.set_heard_until(now).await?;
                (now, now)
            }
        };
        let listed = self.parts.github.hook_deliveries(since).await?;
        let newest = listed.iter().map(|one| one.delivered_at).max().unwrap_or(heard).max(heard);
        let taken_in = self.take_in(listed).await?;
        if heard < newest {
            self.parts.store.set_heard_until(newest).await?;
        }
        Ok(ReconcileReport { taken_in })
    }

    /// The oldest first, as they would have come.
    async fn take_in(&self, listed: Vec<HookDelivery>) -> Result<usize, EffectError> {
        let meaningful: BTreeSet<&str> = events().collect();
        let listed: Vec<HookDelivery> =
            listed.into_iter().rev().filter(|one| meaningful.contains(one.event.as_str())).collect();
        let guids = listed.iter().map(|one| one.guid.clone()).collect();
        let mut unknown: BTreeSet<_> =
            self.parts.store.unknown_deliveries(guids).await?.into_iter().collect();
        let mut taken_in = 0;
        for delivery in listed {
            if !unknown.remove(&delivery.guid) {
                continue;
            }
            let body = match self.parts.github.hook_payload(&delivery).await {
                Ok(body) => body,
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            let HookDelivery { guid, event, action, .. } = delivery;
            let received_at: DateTime<Utc> = self.parts.clock.now();
            let new = NewDelivery { guid, event, action, body, received_at };
            if self.parts.store.save_delivery(new).await? == DeliverySaveOutcome::New {
                taken_in += 1;
                self.delivery_arrived();
            }
        }
        Ok(taken_in)
    }
}
