//! Deliveries of every kind: kept, answered, and never a reason to fall over.

use std::time::Duration;

use journeyman::config::DeliveryMode;
use journeyman::emulator::Emulator;
use journeyman::store::DeliveryConclusion;

use crate::world::look::BOT;
use crate::world::{MAINTAINER, REPOSITORY, Story, WELL};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nonsense_that_is_signed_is_kept_with_a_reason_and_the_work_goes_on() {
    let world = Story::of(WELL).begin().await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies: [(&str, &[u8]); 9] = [
        ("issues", b""),
        ("issues", b"not json"),
        ("issues", b"{}"),
        ("issues", b"null"),
        ("issues", b"{\"action\":\"labeled\"}"),
        ("issues", b"{\"action\":\"labeled\",\"issue\":{\"number\":-1},\"label\":null,\"repository\":[]}"),
        ("issues", b"\xff\xfe{\x00}"),
        ("issue_comment", deep.as_bytes()),
        ("an_event_of_tomorrow", b"{\"action\":\"appeared\"}"),
    ];
    for (number, (event, body)) in bodies.iter().enumerate() {
        let guid = format!("0b989ba4-242f-11e5-81e1-c7b6966d25{number:02}");
        assert_eq!(world.deliver(&guid, event, body).await, 202, "{event} {number}");
        world.quiet().await;
        let guid = guid.parse().expect("a GUID");
        let conclusion = world.store.conclusion(&guid).await.expect("it is kept").expect("it is concluded");
        match conclusion {
            DeliveryConclusion::Ignored { because } | DeliveryConclusion::Refused { because } => {
                assert!(!because.is_empty(), "{event} {number}");
            }
            DeliveryConclusion::Opened { .. } | DeliveryConclusion::Signaled { .. } => {
                panic!("{event} {number}: {conclusion:?}")
            }
        }
    }
    assert!(world.orders().await.is_empty());
    world.label().await;
    assert_eq!(world.settled().await.word(), "verified");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ping_is_answered() {
    let world = Story::of(WELL).begin().await;
    world.github.ping();
    world.quiet().await;
    let ping =
        world.github.deliveries().into_iter().find(|one| one.event == "ping").expect("a ping was sent");
    assert!(
        matches!(ping.outcome, journeyman::emulator::DeliveryResult::Answered(200..=299)),
        "{:?}",
        ping.outcome
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_on_github_while_nobody_was_there_is_heard_at_the_next_start() {
    let mut world = Story::of(WELL).begin().await;
    let listed = |github: &Emulator| {
        let asked = github.calls().iter().any(|call| call.path.contains("/app/hook/deliveries"));
        asked.then_some(())
    };
    let asked = world.github.wait_for("the first look", Duration::from_secs(30), listed);
    asked.await.expect("GitHub is asked for its list");
    world.stop_bot().await;
    world.label().await;
    world.quiet().await;
    assert!(world.orders().await.is_empty(), "nobody heard of the label");

    world.start_bot().await;
    world.until_begun("prepare").await;

    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!(world.orders().await.len(), 1);
    let redelivered = world.github.deliveries().iter().filter(|one| one.redelivery).count();
    assert_eq!(redelivered, 0, "nobody sent anything again");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_public_address_everything_is_asked_for() {
    let world = Story::of(WELL).settings(|settings| settings.github.deliveries = DeliveryMode::Pull);
    let world = world.begin().await;
    world.github.set_webhook_url("http://127.0.0.1:1/nowhere");
    world.label().await;
    world.until_begun("prepare").await;
    assert_eq!(world.settled().await.word(), "verified");
    world.comment(MAINTAINER, "/help").await;
    let answered = world.github.wait_for("an answer", Duration::from_secs(30), |github| {
        let issue = github.issue(REPOSITORY, world.issue)?;
        issue
            .comments
            .iter()
            .any(|comment| comment.author == BOT && comment.body.contains("/retry"))
            .then_some(())
    });
    answered.await.expect("the command was heard");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_github_delivers_twice_changes_nothing_the_second_time() {
    let world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified");
    let (calls, entries) = (world.github.calls().len(), ended.journal.entries().len());
    for delivery in world.github.deliveries() {
        world.github.redeliver(&delivery.guid).await.expect("it is known");
    }
    let ended = world.settled().await;
    assert_eq!(ended.journal.entries().len(), entries);
    assert_eq!(world.github.calls().len(), calls, "nobody is asked anything");
    assert_eq!(world.orders().await.len(), 1);
    world.end().await;
}
