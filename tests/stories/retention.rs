//! Old data is deleted while Journeyman runs: orders continue, and promises about old ones hold.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use journeyman::config::RetentionSettings;
use journeyman::emulator::ReviewState;
use journeyman::order::OrderId;

use super::conversation::ANSWERS;
use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

/// Everything that is finished counts as old.
const AT_ONCE: RetentionSettings = RetentionSettings {
    deliveries: Duration::ZERO,
    artifacts: Some(Duration::ZERO),
    orders: Duration::ZERO,
    journals: None,
};

fn folder(world: &World, order: OrderId) -> PathBuf {
    world.data().join("orders").join(order.to_string())
}

/// Restarts Journeyman with these settings, and waits until it has deleted the order's folder and artifacts.
async fn age(world: &mut World, order: OrderId) {
    world.stop_bot().await;
    world.change_settings(|settings| settings.retention = AT_ONCE);
    world.start_bot().await;
    let begun = Instant::now();
    while folder(world, order).exists() || !world.store.artifacts(order).await.expect("a store").is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(20), "nothing is taken away");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_order_keeps_its_receipt_and_its_pull_request_and_a_review_of_it_is_answered() {
    let mut world = Story::of(&(WELL.to_owned() + ANSWERS)).labeled().await;
    let ended = world.settled_as("verified").await;
    let (before, said) = (world.pull(), world.surfaces().await);
    age(&mut world, ended.order).await;

    assert_eq!(
        world.surfaces().await,
        said,
        "label, status, check, receipt and attestation say what they said"
    );
    let verdict = (ReviewState::ChangesRequested, "One thing.");
    let note = ("answer", 1, "say it to the end, please");
    let reviewed =
        world.github.review_lines(REPOSITORY, before.issue.number, MAINTAINER, verdict, &[note]).await;
    reviewed.expect("the pull request is there");
    let again = world.settled().await;

    assert_eq!((again.word(), again.order), ("verified", ended.order), "{}", again.because());
    let pull = world.pull();
    assert_ne!(pull.head_sha, before.head_sha);
    assert_eq!(world.git(&["rev-parse", &format!("{}^", pull.head_sha)]), before.head_sha);
    world.end().await;
}

/// Its pull request was merged long ago. The label on the same issue is a new order, on another branch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_known_of_an_order_that_ended_long_ago_and_the_label_begins_another() {
    let mut world = Story::of(WELL).labeled().await;
    let ended = world.settled_as("verified").await;
    age(&mut world, ended.order).await;
    assert!(world.store.order(ended.order).await.is_ok(), "its pull request is open");
    world.github.merge(REPOSITORY, world.pull().issue.number, MAINTAINER).await.expect("it can be merged");
    world.quiet().await;
    world.github.reopen(REPOSITORY, world.issue, MAINTAINER).await.expect("the merge has closed it");
    world.quiet().await;
    world.stop_bot().await;
    world.change_settings(|settings| settings.retention.journals = Some(Duration::ZERO));
    world.start_bot().await;
    let begun = Instant::now();
    while world.store.order(ended.order).await.is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it is not forgotten");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (status, _) = world.api("GET", &format!("/api/v1/work-orders/{}", ended.order), None).await;
    assert_eq!(status, 404);

    world.stop_bot().await;
    world.change_settings(|settings| settings.retention.journals = None);
    world.start_bot().await;
    world.unlabel().await;
    world.label().await;
    let again = world.settled().await;
    assert!(again.order != ended.order && world.orders().await.len() == 1, "{}", again.because());
    world.end().await;
}
