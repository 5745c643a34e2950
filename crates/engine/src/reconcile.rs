//! Deliveries that never reached us: GitHub's own list is compared with ours, at the start and again and again.
//!
//! May know: which deliveries GitHub lists, and which the store has. Must never know: what one means.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::Instant;

use super::Engine;
use journeyman_github::{ErrorKind, GitHubError, HookDelivery};
use journeyman_order::moves::Retry;
use journeyman_order::{DeliveryGuid, EffectError};
use journeyman_store::{DeliverySaveOutcome, HeardUntil, NewDelivery, StoreError};
use journeyman_webhook::events;

/// What is newer than this may still be on its way, and the clocks differ.
const OVERLAP: TimeDelta = TimeDelta::minutes(10);
/// What comes meanwhile waits so long for what could not come before, and may be its answer: `/retry` behind `/cancel`.
const CATCHES_UP_WITHIN: Duration = Duration::from_secs(30);
/// When GitHub is asked again after it could not be.
const AGAIN: Duration = Duration::from_secs(30);
/// So many comparisons wait for a delivery that GitHub lists and does not give. Then those behind it are taken in.
const MOST_WAITS: u32 = 5;
/// After so many in a row that cannot be given, no other is asked for: each takes long.
const MOST_IN_A_ROW: u32 = 10;
/// So long one is waited for that GitHub, or a server on the way, cannot give at the moment.
const LONGEST_OUTAGE: Duration = Duration::from_secs(24 * 60 * 60);

/// What one comparison came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReconcileReport {
    pub(super) taken_in: usize,
    /// How long the last of those has been waited for that could not be given.
    pub(super) waits_since: Option<Duration>,
}

/// Deliveries that GitHub listed and did not give.
pub(super) type UngivenDeliveries = BTreeMap<DeliveryGuid, UngivenDelivery>;

/// One that GitHub did not give.
#[derive(Debug)]
pub(super) struct UngivenDelivery {
    /// When that was seen first.
    since: Instant,
    /// How often it was refused.
    refusals: u32,
    is_left_out: bool,
}

/// What is waited for, while what came later is taken in.
struct WaitingFor {
    /// When the oldest was delivered.
    oldest: DateTime<Utc>,
    /// How long the last of them has been waited for.
    since: Duration,
}

impl Engine {
    /// Takes in what GitHub could not deliver, or what it was not to deliver where it is asked for everything.
    pub(super) async fn reconcile_forever(&self) {
        // What came since the start waits for it, and what no delivery tells of is looked for after it.
        let mut ungiven = UngivenDeliveries::new();
        let pause = {
            let mut first = std::pin::pin!(self.reconcile_once(&mut ungiven));
            let in_time = tokio::time::timeout(CATCHES_UP_WITHIN, &mut first).await;
            self.caught_up.store(true, Ordering::Release);
            self.delivery_arrived();
            match in_time {
                Ok(pause) => pause,
                Err(_) => first.await,
            }
        };
        tokio::join!(self.reconcile_after(pause, ungiven), self.look_for_missed_events());
    }

    async fn reconcile_after(&self, mut pause: Duration, mut ungiven: UngivenDeliveries) {
        loop {
            tokio::time::sleep(pause).await;
            pause = self.reconcile_once(&mut ungiven).await;
        }
    }

    /// How long it may be until the next.
    async fn reconcile_once(&self, ungiven: &mut UngivenDeliveries) -> Duration {
        let every = self.parts.settings.reconcile_every;
        match self.reconcile(ungiven).await {
            Ok(ReconcileReport { taken_in, waits_since }) => {
                if taken_in > 0 {
                    tracing::info!(taken_in, "deliveries of GitHub's that had not come");
                }
                // What does not pass soon is asked for ever more seldom.
                waits_since.map_or(every, |since| every.min(since.max(AGAIN)))
            }
            Err(error) => {
                tracing::warn!("GitHub's list of deliveries could not be compared: {}", error.message);
                every.min(AGAIN)
            }
        }
    }

    pub(super) async fn reconcile(
        &self,
        ungiven: &mut UngivenDeliveries,
    ) -> Result<ReconcileReport, EffectError> {
        let now = self.parts.clock.now();
        let (heard, since, is_first) = match self.parts.store.heard_until().await? {
            Some(HeardUntil { at, is_kept }) => {
                // What moved with each delivery would pass over one that is missed while GitHub cannot be asked.
                if !is_kept {
                    self.parts.store.set_heard_until(at).await?;
                }
                (at, at - OVERLAP, false)
            }
            // The first start: what happens from now on is missed by nobody, nor what a start that failed has missed.
            None => {
                self.parts.store.set_heard_until(now).await?;
                (now, now - OVERLAP, true)
            }
        };
        let mut listed = self.parts.github.hook_deliveries(since).await?;
        let newest = listed.iter().map(|one| one.delivered_at).max().unwrap_or(heard).max(heard).min(now);
        // What somebody has taken in before us is theirs.
        listed.retain(|one| !(is_first && one.was_taken_in));
        let (taken_in, waiting) = self.take_in(listed, ungiven).await?;
        // Whoever starts anew lists it again.
        let until = waiting.as_ref().map_or(newest, |waiting| newest.min(waiting.oldest));
        if heard < until {
            self.parts.store.set_heard_until(until).await?;
        }
        Ok(ReconcileReport { taken_in, waits_since: waiting.map(|waiting| waiting.since) })
    }

    /// The oldest first, as they would have come.
    async fn take_in(
        &self,
        listed: Vec<HookDelivery>,
        ungiven: &mut UngivenDeliveries,
    ) -> Result<(usize, Option<WaitingFor>), EffectError> {
        let meaningful: BTreeSet<&str> = events().collect();
        let listed: Vec<HookDelivery> =
            listed.into_iter().rev().filter(|one| meaningful.contains(one.event.as_str())).collect();
        let guids = listed.iter().map(|one| one.guid.clone()).collect();
        let mut unknown: BTreeSet<_> =
            self.parts.store.unknown_deliveries(guids).await?.into_iter().collect();
        ungiven.retain(|guid, _| unknown.contains(guid));
        let (mut taken_in, mut waiting, mut in_a_row) = (0, None::<WaitingFor>, 0);
        for delivery in listed {
            if in_a_row >= MOST_IN_A_ROW {
                break;
            }
            if !unknown.remove(&delivery.guid) {
                continue;
            }
            match self.fetch(&delivery).await? {
                Ok(saved) => {
                    in_a_row = 0;
                    if saved == DeliverySaveOutcome::New {
                        taken_in += 1;
                        self.delivery_arrived();
                    }
                }
                Err(error) if error.kind == ErrorKind::NotFound => {}
                Err(error) => {
                    if let Some(since) = pass_over(&delivery, error, ungiven)? {
                        let (oldest, least) = waiting
                            .map_or((delivery.delivered_at, since), |known| (known.oldest, known.since));
                        waiting = Some(WaitingFor {
                            oldest: oldest.min(delivery.delivered_at),
                            since: least.min(since),
                        });
                        in_a_row += 1;
                    }
                }
            }
        }
        Ok((taken_in, waiting))
    }

    /// Fetches one and keeps it, as if it had come: what came since then was said later.
    async fn fetch(
        &self,
        delivery: &HookDelivery,
    ) -> Result<Result<DeliverySaveOutcome, GitHubError>, StoreError> {
        let body = match self.parts.github.hook_payload(delivery).await {
            Ok(body) => body,
            Err(error) => return Ok(Err(error)),
        };
        let HookDelivery { guid, event, action, delivered_at: received_at, .. } = delivery.clone();
        let new = NewDelivery { guid, event, action, body, received_at };
        self.parts.store.save_delivery(new).await.map(Ok)
    }
}

/// How long it has been waited for already, where that goes on and others are taken in meanwhile; none where it is left out.
/// The error is for the whole comparison: at first what comes behind one that is not given waits with it, since it may have been
/// said of it.
fn pass_over(
    delivery: &HookDelivery,
    error: GitHubError,
    ungiven: &mut UngivenDeliveries,
) -> Result<Option<Duration>, EffectError> {
    let is_of_this_one = error.kind != ErrorKind::Unauthorized;
    let is_outage = matches!(error.kind, ErrorKind::Unavailable { .. });
    let error = EffectError::from(error);
    // A limit is for all that we ask.
    if !is_of_this_one || matches!(error.retry, Retry::After { .. }) {
        return Err(error);
    }
    let (guid, event) = (&delivery.guid, &delivery.event);
    let now = Instant::now();
    let begun = UngivenDelivery { since: now, refusals: 0, is_left_out: false };
    let known = ungiven.entry(guid.clone()).or_insert(begun);
    let since = now.duration_since(known.since);
    known.refusals = known.refusals.saturating_add(1);
    if known.refusals < MOST_WAITS {
        return Err(error);
    }
    if is_outage && since < LONGEST_OUTAGE {
        tracing::warn!(%guid, event, "GitHub cannot give a delivery, which is waited for: {}", error.message);
        return Ok(Some(since));
    }
    if !known.is_left_out {
        known.is_left_out = true;
        tracing::error!(%guid, event, "GitHub does not give a delivery, which is left out: {}", error.message);
    }
    Ok(None)
}
