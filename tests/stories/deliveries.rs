//! Deliveries of every kind: stored, answered, and never a reason to crash.

use std::time::Duration;

use journeyman::config::DeliveryMode;
use journeyman::emulator::DeliveryAttempt;
use journeyman::order::OrderId;
use serde_json::Value;

use super::looks::until_the_next_is_at_work;
use super::missed::begin;
use crate::world::look::BOT;
use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World, slowly};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_on_github_while_nobody_was_there_is_heard_at_the_next_start() {
    let mut world = begin().await;
    world.stop_bot().await;
    world.label().await;
    // Deliveries found at the first start may still be queued, but no server is running to handle them.
    world.delivered().await;
    assert!(world.orders().await.is_empty(), "nobody heard of the label");

    world.start_bot().await;
    world.until_begun("prepare").await;

    world.settled_as("verified").await;
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

/// Another order ends verified, and so does the story.
async fn the_next_is_verified(world: World, before: OrderId) {
    let next = world.settled().await;
    assert_eq!((next.word(), next.order == before), ("verified", false), "{}", next.because());
    world.end().await;
}

/// Removing the label and closing the issue both happened before the second order's label. They are delivered again and
/// late, as by another hook for the same events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_from_before_the_label_does_not_end_its_order() {
    let world = Story::of(&slowly(3_000)).labeled().await;
    world.until_begun("implement/1/agent").await;
    world.unlabel().await;
    let first = world.settled_as("cancelled").await;
    world.github.close(REPOSITORY, world.issue, MAINTAINER).await.expect("it is open");
    world.github.reopen(REPOSITORY, world.issue, MAINTAINER).await.expect("it is closed");
    world.quiet().await;
    let of_before = world.github.deliveries();
    world.label().await;
    until_the_next_is_at_work(&world, first.order).await;

    for (number, action) in [(1, "unlabeled"), (2, "closed")] {
        let is_it = |one: &&DeliveryAttempt| {
            let payload: Value = serde_json::from_str(&one.payload).expect("it is JSON");
            let label = &payload["label"]["name"];
            one.event == "issues" && payload["action"] == action && (label.is_null() || label == "journeyman")
        };
        let told = of_before.iter().rev().find(is_it).expect("it was delivered");
        let guid = format!("0b989ba4-242f-11e5-81e1-c7b6966d28{number:02}");
        assert_eq!(world.deliver(&guid, "issues", told.payload.as_bytes()).await, 202);
    }
    the_next_is_verified(world, first.order).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_who_calls_us_on_a_pull_request_of_their_own_is_told_once_what_works_there() {
    let world = Story::of(WELL).begin().await;
    let mut number = 0;
    let mut says = async |login: &str, text: &str| {
        world.comment(login, "Hello.").await;
        world.quiet().await;
        let last = world.github.deliveries().into_iter().rfind(|one| one.event == "issue_comment");
        let mut body: Value = serde_json::from_str(&last.expect("a comment").payload).expect("a payload");
        // Only this distinguishes an issue from a pull request.
        body["issue"]["pull_request"] = serde_json::json!({});
        body["comment"]["body"] = text.into();
        number += 1;
        let guid = format!("0b989ba4-242f-11e5-81e1-c7b6966d26{number:02}");
        world.deliver(&guid, "issue_comment", body.to_string().as_bytes()).await;
        world.quiet().await;
        world.own_comments().len()
    };
    for quiet in ["/retry", "/help", "@somebody look", "I like /journeyman"] {
        assert_eq!(says(MAINTAINER, quiet).await, 0, "{quiet}");
    }
    assert_eq!(says("stranger", "/journeyman").await, 0, "no word to whoever may not command");
    for loud in ["/journeyman", "/journeyman mend it", "@journeyman mend it"] {
        assert_eq!(says(MAINTAINER, loud).await, 1, "{loud}");
    }
    let said = &world.own_comments()[0].body;
    assert!(
        said.contains("no order belongs to this pull request") && said.contains("works on an issue"),
        "{said}"
    );
    assert!(world.orders().await.is_empty());
    world.end().await;
}
