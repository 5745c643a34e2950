//! Deliveries are read by number, each once: no row may appear below those already read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::*;

pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Delays commits of one kind for as long as the test wants.
pub(super) struct HeldCommits {
    what: &'static str,
    pub(super) reached: Notify,
    pub(super) goes_on: Notify,
}

impl HeldCommits {
    pub(super) fn of(what: &'static str) -> Arc<Self> {
        Arc::new(Self { what, reached: Notify::new(), goes_on: Notify::new() })
    }
}

#[async_trait]
impl StoreWatcher for HeldCommits {
    async fn begins(&self, _what: &'static str) -> Result<Box<dyn Send>, StoreError> {
        Ok(Box::new(()))
    }

    async fn commits(&self, what: &'static str) -> Result<(), StoreError> {
        if what == self.what {
            self.reached.notify_one();
            self.goes_on.notified().await;
        }
        Ok(())
    }
}

/// Reads like the intake: everything after the last delivery.
async fn read_on(store: &Store, until: &mut i64, read: &mut BTreeSet<String>) {
    for delivery in store.pending_deliveries(*until, 10).await.unwrap() {
        *until = delivery.id;
        read.insert(delivery.guid.to_string());
    }
}

#[tokio::test]
async fn a_delivery_whose_commit_takes_longer_than_that_of_a_later_one_is_read() {
    for TestStore { store, url, _folder } in homes().await {
        let held = HeldCommits::of("deliveries");
        let slow = Store::open_watched(&url, held.clone()).await.unwrap();
        let early = tokio::spawn(async move { slow.save_delivery(delivery("early")).await });
        timeout(PATIENCE, held.reached.notified()).await.unwrap();

        let (mut until, mut read) = (0, BTreeSet::new());
        let quick = store.clone();
        let mut late = tokio::spawn(async move { quick.save_delivery(delivery("late")).await });
        // It is either stored now or waits for the previous one.
        let kept = timeout(Duration::from_millis(500), &mut late).await;
        read_on(&store, &mut until, &mut read).await;
        held.goes_on.notify_one();
        if kept.is_err() {
            timeout(PATIENCE, late).await.unwrap().unwrap().unwrap();
        }
        timeout(PATIENCE, early).await.unwrap().unwrap().unwrap();
        read_on(&store, &mut until, &mut read).await;

        let both = ["early", "late"].map(str::to_owned);
        assert_eq!(read, both.into(), "{url}");
    }
}

#[tokio::test]
async fn a_delivery_that_waits_for_one_without_an_end_is_refused_while_github_still_listens() {
    for TestStore { store, url, _folder } in homes().await {
        if !url.starts_with("postgres") {
            continue;
        }
        let held = HeldCommits::of("deliveries");
        let slow = Store::open_watched(&url, held.clone()).await.unwrap();
        let early = tokio::spawn(async move { slow.save_delivery(delivery("early")).await });
        timeout(PATIENCE, held.reached.notified()).await.unwrap();

        let begun = Instant::now();
        let late = timeout(PATIENCE, store.save_delivery(delivery("late"))).await.unwrap();

        let refused = late.unwrap_err().to_string();
        assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
        assert!(refused.contains("lock timeout"), "{refused}");
        held.goes_on.notify_one();
        timeout(PATIENCE, early).await.unwrap().unwrap().unwrap();
        store.save_delivery(delivery("late")).await.unwrap();
        assert_eq!(store.pending_deliveries(0, 10).await.unwrap().len(), 2);
    }
}
