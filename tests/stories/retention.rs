//! What is old is taken away while Journeyman runs: orders go on, and what was promised of old ones holds.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use journeyman::config::RetentionSettings;
use journeyman::emulator::ReviewState;
use journeyman::order::OrderId;
use sqlx::Connection as _;

use super::conversation::ANSWERS;
use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

/// Whatever is at rest is old.
const AT_ONCE: RetentionSettings = RetentionSettings {
    deliveries: Some(Duration::ZERO),
    artifacts: Some(Duration::ZERO),
    orders: Some(Duration::ZERO),
    journals: None,
};

fn folder(world: &World, order: OrderId) -> PathBuf {
    world.data().join("orders").join(order.to_string())
}

/// Starts Journeyman again with these settings, and waits for it to take away the order's folder and artifacts.
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
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_of_an_old_draft_goes_on_there_and_an_order_at_work_loses_nothing() {
    let scenes = "
- stage: implement
  round: 1
  think: 1500
  run: |
    echo 43 > answer && date +%s%N > tries && git add tries
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
- stage: implement
  run: |
    echo 43 > answer && date +%s%N > tries && git add tries
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
";
    let mut world = Story::of(scenes).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "escalated", "{}", ended.because());
    let (draft, issue) = (world.pull(), world.issue);
    world.label_another_issue("The answer is wrong, too", "It says 41, and it should say 42.").await;
    while world.latest_order().await == Some(ended.order) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.until_begun("implement/1/agent").await;
    let at_work = world.latest_order().await.expect("an order");
    age(&mut world, ended.order).await;
    assert!(folder(&world, at_work).exists(), "what is at work is not taken away");
    world.rescript(WELL);
    let other = world.settled().await;
    assert_eq!((other.order, other.word()), (at_work, "verified"), "{}", other.because());

    world.issue = issue;
    world.comment(MAINTAINER, "/retry It is 42.").await;
    world.quiet().await;

    let (_, survey) = world.look(ended.order).await;
    assert_eq!(survey.surfaces().outcome, "verified", "{:?}", survey.surfaces().because);
    let pulls = world.pulls();
    assert_eq!(pulls.len(), 2, "the same pull requests: {pulls:#?}");
    let pull = pulls.iter().find(|pull| pull.issue.number == draft.issue.number).expect("the draft");
    assert!(!pull.draft);
    world.end().await;
}

/// A disk that is full refuses what is written, and not what is removed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_taken_away_keeps_nothing_else() {
    let mut world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let refusal = "CREATE TRIGGER full BEFORE UPDATE OF body ON deliveries \
                   BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END";
    let url = format!("sqlite://{}", world.data().with_file_name("journeyman.db").display());
    let mut database = sqlx::SqliteConnection::connect(&url).await.expect("a database");
    sqlx::query(refusal).execute(&mut database).await.expect("made");
    database.close().await.expect("it closes");

    age(&mut world, ended.order).await;

    world.end().await;
}

/// Its pull request was merged long ago; the label on the same issue is a new order, on another branch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_known_of_an_order_that_ended_long_ago_and_the_label_begins_another() {
    let mut world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
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
