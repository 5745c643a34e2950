//! Deliveries while GitHub is unavailable.

use std::sync::atomic::{AtomicUsize, Ordering};

use journeyman_store::{NewDelivery, StoreError, StoreWatcher};

use super::*;
use crate::Engine;
use crate::intake::DeliveryIntake;

const WAITING: u64 = 450;

/// Counts how often the store is read.
#[derive(Default)]
struct ReadCount(AtomicUsize);

#[async_trait::async_trait]
impl StoreWatcher for ReadCount {
    async fn begins(&self, what: &'static str) -> Result<Box<dyn Send>, StoreError> {
        if what == "a read" {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(Box::new(()))
    }
}

fn labeled(number: u64, issue: u64) -> NewDelivery {
    let body = serde_json::json!({
        "action": "labeled",
        "label": {"name": "journeyman"},
        "issue": {"number": issue, "title": "Mend the sum", "state": "open"},
        "repository": {"id": 7, "full_name": REPOSITORY, "default_branch": "main"},
        "sender": {"login": "mona", "id": 8, "type": "User"},
        "installation": {"id": 9},
    });
    NewDelivery {
        guid: format!("{number}").parse().expect("a GUID"),
        event: "issues".to_owned(),
        action: None,
        body: body.to_string().into_bytes(),
        received_at: Utc::now(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_github_is_not_read_again_when_another_delivery_comes() {
    let world = EffectsFixture::new().await;
    let reads = Arc::new(ReadCount::default());
    let url = format!("sqlite://{}", world.place.path().join("journeyman.db").display());
    let store =
        Store::open_watched(&url, Arc::clone(&reads) as Arc<dyn StoreWatcher>).await.expect("a store");
    let nobody = AppCredentials {
        api_url: "http://127.0.0.1:9".parse().expect("an address"),
        app_id: 77,
        private_key_pem: keys().private_pem.clone(),
        outgoing: Default::default(),
    };
    let engine = Engine::new(EngineParts {
        store: store.clone(),
        github: GitHub::new(nobody, WriteLimits::NONE).expect("our side of GitHub"),
        ..EngineParts::clone(&world.parts)
    });
    engine.caught_up.store(true, Ordering::Relaxed);
    let mut intake = DeliveryIntake::default();
    for number in 0..WAITING {
        store.save_delivery(labeled(number, number + 100)).await.expect("it is kept");
    }
    engine.process_deliveries(&mut intake).await.expect("they are taken in");

    let before = reads.0.load(Ordering::Relaxed);
    store.save_delivery(labeled(WAITING, 100)).await.expect("it is kept");
    engine.process_deliveries(&mut intake).await.expect("it is taken in");
    let read = reads.0.load(Ordering::Relaxed) - before;

    // The new delivery; and the oldest one with its subject, if its retry was due meanwhile.
    assert!((1..=6).contains(&read), "the store was read {read} times");
    assert!(engine.take_signaled().is_empty(), "no order was told anything");
    let left = store.pending_deliveries(0, 1_000).await.expect("a list").len();
    assert_eq!(left, WAITING as usize + 1, "all of them wait");
}
