//! Deliveries that never arrived: compares GitHub's own list with ours, at the start and periodically.
//!
//! May know: which deliveries GitHub lists, and which the store has. Must never know: what one means.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::Engine;
use journeyman_github::{ErrorKind, HookDelivery};
use journeyman_order::EffectError;
use journeyman_store::{DeliverySaveOutcome, HeardUntil, NewDelivery};
use journeyman_webhook::events;

/// Newer deliveries may still be on their way, and clocks differ.
const OVERLAP: TimeDelta = TimeDelta::minutes(10);
/// How long new deliveries wait for missed ones, which they may answer: `/retry` after `/cancel`.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(30);
/// When GitHub is asked again after a failure.
const AGAIN: Duration = Duration::from_secs(30);
/// How many comparisons in a row wait for a delivery that GitHub lists but refuses to return.
const MOST_WAITS: u32 = 5;

impl Engine {
    /// Takes in what GitHub could not deliver, or everything if GitHub is polled.
    pub(super) async fn reconcile_forever(&self) {
        // New deliveries wait for the first comparison. Events without a delivery are looked for after it.
        let mut failures = 0;
        let pause = {
            let mut first = std::pin::pin!(self.reconcile_once(&mut failures));
            let in_time = tokio::time::timeout(CATCHES_UP_WITHIN, &mut first).await;
            self.caught_up.store(true, Ordering::Release);
            self.delivery_arrived();
            match in_time {
                Ok(pause) => pause,
                Err(_) => first.await,
            }
        };
        tokio::join!(self.reconcile_after(pause, failures), self.look_for_missed_events());
    }

    async fn reconcile_after(&self, mut pause: Duration, mut failures: u32) {
        loop {
            tokio::time::sleep(pause).await;
            pause = self.reconcile_once(&mut failures).await;
        }
    }

    async fn reconcile_once(&self, failures: &mut u32) -> Duration {
        let every = self.parts.settings.reconcile_every;
        match self.reconcile(*failures >= MOST_WAITS).await {
            Ok(taken_in) => {
                *failures = 0;
                if taken_in > 0 {
                    tracing::info!(taken_in, "deliveries of GitHub's that had not come");
                }
                every
            }
            Err(error) => {
                *failures = failures.saturating_add(1);
                tracing::warn!("GitHub's list of deliveries could not be compared: {}", error.message);
                every.min(AGAIN)
            }
        }
    }

    /// Returns how many were taken in. With `skips_refused`, those that GitHub refuses to return block no others.
    pub(super) async fn reconcile(&self, skips_refused: bool) -> Result<usize, EffectError> {
        let now = self.parts.clock.now();
        let (heard, since, is_first) = match self.parts.store.heard_until().await? {
            Some(HeardUntil { at, is_kept }) => {
                // A time that advanced with each delivery would skip one that is missed while GitHub is unreachable.
                if !is_kept {
                    self.parts.store.set_heard_until(at).await?;
                }
                (at, at - OVERLAP, false)
            }
            // The first start: nothing from now on is missed, nor anything that a failed start missed.
            None => {
                self.parts.store.set_heard_until(now).await?;
                (now, now - OVERLAP, true)
            }
        };
        let mut listed = self.parts.github.hook_deliveries(since).await?;
        let newest = listed.iter().map(|one| one.delivered_at).max().unwrap_or(heard).max(heard).min(now);
        // Deliveries that another server took in before us are its own.
        listed.retain(|one| !(is_first && one.was_taken_in));
        let (taken_in, refused) = self.take_in(listed, skips_refused).await?;
        // The next comparisons list the refused one again, as long as GitHub does.
        let until = refused.map_or(newest, |refused| newest.min(refused));
        if heard < until {
            self.parts.store.set_heard_until(until).await?;
        }
        Ok(taken_in)
    }

    /// Oldest first, as they would have arrived. Returns how many were new, and the time of the first refused one.
    async fn take_in(
        &self,
        listed: Vec<HookDelivery>,
        skips_refused: bool,
    ) -> Result<(usize, Option<DateTime<Utc>>), EffectError> {
        let meaningful: BTreeSet<&str> = events().collect();
        let listed: Vec<HookDelivery> =
            listed.into_iter().rev().filter(|one| meaningful.contains(one.event.as_str())).collect();
        let guids = listed.iter().map(|one| one.guid.clone()).collect();
        let mut unknown: BTreeSet<_> =
            self.parts.store.unknown_deliveries(guids).await?.into_iter().collect();
        let (mut taken_in, mut refused) = (0, None);
        for delivery in listed {
            if !unknown.remove(&delivery.guid) {
                continue;
            }
            let body = match self.parts.github.hook_payload(&delivery).await {
                Ok(body) => body,
                Err(error) if error.kind == ErrorKind::NotFound => continue,
                Err(error) if skips_refused && is_refusal(error.kind) => {
                    tracing::warn!(guid = %delivery.guid, "GitHub does not give a delivery: {error}");
                    refused = refused.or(Some(delivery.delivered_at));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            // Saved with its original time: what arrived since then was said later.
            let HookDelivery { guid, event, action, delivered_at: received_at, .. } = delivery;
            let new = NewDelivery { guid, event, action, body, received_at };
            if self.parts.store.save_delivery(new).await? == DeliverySaveOutcome::New {
                taken_in += 1;
                self.delivery_arrived();
            }
        }
        Ok((taken_in, refused))
    }
}

fn is_refusal(kind: ErrorKind) -> bool {
    !matches!(kind, ErrorKind::Unavailable { .. } | ErrorKind::Unauthorized)
}
