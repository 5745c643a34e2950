//! Where the look at what no delivery told of is hindered, or finds much at once: nothing is given up for that, and what is
//! found counts in the order in which it happened.

use std::time::Duration;

use journeyman::emulator::{Fault, FaultKind, RepositorySource};
use journeyman::order::next::OrderProjection;
use journeyman::order::{IssueNumber, Journal, JournalEvent, OrderId, SignalKind};

use super::missed::start_without_deliveries;
use crate::world::look;
use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

/// Slow enough to be met in the middle.
pub(super) const SLOWLY: &str = "
- stage: implement
  think: 3000
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
";

/// Has begun, with its first start behind it.
async fn begin(scenes: &str) -> World {
    let world = Story::of(scenes).begin().await;
    let begun = std::time::Instant::now();
    while world.store.looked_until().await.expect("the store can be read").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world
}

/// Everything was looked at until twenty minutes later than it was.
async fn twenty_minutes_pass(world: &World) {
    world.sql("UPDATE server SET looked_until = looked_until + 1200000000").await;
}

fn always(path: &str, code: u16) -> Fault {
    let kind = FaultKind::Status { code, headers: Vec::new(), body: "{}".to_owned() };
    Fault { method: None, path_contains: path.to_owned(), times: 1_000, kind }
}

/// What an order was told, each in a word.
async fn told(world: &World, order: OrderId) -> Vec<&'static str> {
    let (journal, _) = world.look(order).await;
    let signals = journal.entries().iter().filter_map(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => Some(signal.kind.clone()),
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Observed { .. } => None,
    });
    let words = signals.map(|kind| match kind {
        SignalKind::Labeled { .. } => "labeled",
        SignalKind::Unlabeled { .. } => "unlabeled",
        SignalKind::Commanded { command, .. } => command.word(),
        SignalKind::IssueEdited => "edited",
        SignalKind::IssueClosed | SignalKind::PullClosed { .. } => "closed",
        other => panic!("{other:?}"),
    });
    words.collect()
}

/// Another order than this one has an agent at work on its change.
pub(super) async fn until_the_next_is_at_work(world: &World, before: OrderId) {
    let next = |journal: &Journal, _: &OrderProjection| {
        (journal.opened().order != before && look::begun(journal, "implement/1/agent")).then_some(())
    };
    world.until("the next order's work", next).await;
}

/// The issues that have orders, and what was asked for with each.
async fn begun(world: &World) -> Vec<(u64, String)> {
    let mut begun = Vec::new();
    for order in world.orders().await {
        let (journal, _) = world.look(order).await;
        let IssueNumber(number) = journal.opened().issue.number;
        let request = &journal.opened().request;
        begun.push((number, request.base().or(request.advice.as_deref()).unwrap_or_default().to_owned()));
    }
    begun.sort();
    begun
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_is_heard_although_an_earlier_order_of_the_issue_heard_of_its_own() {
    let mut world = Story::of(WELL).labeled().await;
    let first = world.settled().await;
    world.github.close(REPOSITORY, world.pull().issue.number, MAINTAINER).await.expect("it is open");
    world.quiet().await;
    assert_eq!(told(&world, first.order).await, ["closed"]);
    world.rescript(SLOWLY);
    world.unlabel().await;
    world.label().await;
    until_the_next_is_at_work(&world, first.order).await;
    world.stop_bot().await;

    world.github.close(REPOSITORY, world.issue, MAINTAINER).await.expect("it is open");
    start_without_deliveries(&mut world).await;
    let second = world.settled().await;
    assert_eq!((second.word(), second.order == first.order), ("cancelled", false), "{}", second.because());
    assert_eq!(told(&world, second.order).await, ["closed"]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_installation_that_lets_nobody_in_holds_up_no_other() {
    const OTHER: &str = "umbrella/questions";
    let mut world = begin(WELL).await;
    world
        .github
        .create_repository(OTHER, RepositorySource::Files(Default::default()))
        .await
        .expect("the name is free");
    let apart = world.github.install_apart("umbrella");
    let issue = world.github.open_issue(OTHER, MAINTAINER, "There", "").await.expect("an issue");
    world.stop_bot().await;
    start_without_deliveries(&mut world).await;
    world.stop_bot().await;

    world.github.label(OTHER, issue, "journeyman", "umbrella").await.expect("it is there");
    world.github.inject(always(&format!("/app/installations/{apart}/access_tokens"), 403));
    // Each start looks, and what was looked at is not looked at again.
    start_without_deliveries(&mut world).await;
    world.stop_bot().await;
    twenty_minutes_pass(&world).await;
    assert!(world.orders().await.is_empty());

    world.github.clear_faults();
    start_without_deliveries(&mut world).await;
    assert_eq!(world.orders().await.len(), 1, "what happened meanwhile is heard as soon as it lets us in");
    world.stop_bot().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_while_an_installation_was_suspended_is_heard_however_long_that_was() {
    let mut world = begin(WELL).await;
    world.stop_bot().await;
    start_without_deliveries(&mut world).await;
    world.github.suspend_installation(true);
    world.label().await;
    world.stop_bot().await;
    start_without_deliveries(&mut world).await;
    twenty_minutes_pass(&world).await;
    assert!(world.orders().await.is_empty());

    world.stop_bot().await;
    world.github.suspend_installation(false);
    start_without_deliveries(&mut world).await;
    assert_eq!(begun(&world).await, [(world.issue, String::new())]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_is_heard_although_its_settings_could_not_be_read_at_first() {
    let mut world = begin(WELL).await;
    world.stop_bot().await;
    world.label().await;
    world.github.inject(always("/contents/.github/journeyman.yml", 502));
    start_without_deliveries(&mut world).await;
    world.stop_bot().await;
    twenty_minutes_pass(&world).await;
    assert!(world.orders().await.is_empty());

    world.github.clear_faults();
    start_without_deliveries(&mut world).await;
    assert_eq!(begun(&world).await, [(world.issue, String::new())]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_begins_an_order_is_heard_by_looking_and_an_issue_that_is_gone_hides_no_other() {
    let mut world = begin(WELL).await;
    for title in ["Gone", "By a comment", "By a mention", "By a label with options", "For somebody else"] {
        world.github.open_issue(REPOSITORY, MAINTAINER, title, "").await.expect("an issue");
    }
    world.stop_bot().await;
    let github = &world.github;
    github.label(REPOSITORY, 2, "bug", MAINTAINER).await.expect("it is there");
    github.inject(always("/issues/2/events", 410));
    for (issue, says) in [(3, "/journeyman be brief"), (4, "@journeyman: be quick"), (6, "@hubot please")] {
        github.comment(REPOSITORY, issue, MAINTAINER, says).await.expect("it is there");
    }
    github.label(REPOSITORY, 5, "journeyman:base=main", MAINTAINER).await.expect("it is there");
    start_without_deliveries(&mut world).await;
    let expected = [(3, "be brief"), (4, "be quick"), (5, "main")];
    assert_eq!(begun(&world).await, expected.map(|(issue, asked)| (issue, asked.to_owned())));

    world.stop_bot().await;
    start_without_deliveries(&mut world).await;
    assert_eq!(world.orders().await.len(), 3, "each once");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_to_an_order_before_the_label_that_begins_the_next_is_not_said_to_that() {
    let mut world = Story::of(SLOWLY).labeled().await;
    world.until_begun("implement/1/agent").await;
    let first = world.latest_order().await.expect("there is one");
    world.stop_bot().await;
    world.comment(MAINTAINER, "/cancel").await;
    world.unlabel().await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    world.label().await;
    world.rescript(WELL);
    start_without_deliveries(&mut world).await;

    let second = world.settled().await;
    assert_eq!((second.word(), second.order == first), ("verified", false), "{}", second.because());
    let (_, before) = world.look(first).await;
    assert_eq!(before.surfaces().outcome, "cancelled");
    assert_eq!(told(&world, second.order).await, Vec::<&str>::new());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_to_an_order_that_has_ended_is_not_said_to_the_next() {
    let mut world = Story::of(WELL).labeled().await;
    let first = world.settled().await;
    world.github.close(REPOSITORY, world.pull().issue.number, MAINTAINER).await.expect("it is open");
    world.quiet().await;
    world.stop_bot().await;
    world.comment(MAINTAINER, "/cancel").await;
    world.unlabel().await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    world.label().await;
    start_without_deliveries(&mut world).await;

    let second = world.settled().await;
    assert_eq!((second.word(), second.order == first.order), ("verified", false), "{}", second.because());
    assert_eq!(told(&world, first.order).await, ["closed", "cancel"]);
    assert_eq!(told(&world, second.order).await, Vec::<&str>::new());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_of_the_issue_is_heard_once() {
    let mut world = Story::of(SLOWLY).labeled().await;
    world.until_begun("implement/1/agent").await;
    let order = world.latest_order().await.expect("there is one");
    world.stop_bot().await;
    let (issue, text) = (world.issue, Some("Right means 42."));
    world.github.edit(REPOSITORY, issue, MAINTAINER, None, text).await.expect("it is there");
    start_without_deliveries(&mut world).await;
    assert_eq!(told(&world, order).await, ["edited"]);
    world.stop_bot().await;
    start_without_deliveries(&mut world).await;
    assert_eq!(told(&world, order).await, ["edited"]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_that_is_taken_off_cancels_although_no_delivery_tells_of_it() {
    let mut world = Story::of(SLOWLY).labeled().await;
    world.until_begun("implement/1/agent").await;
    let order = world.latest_order().await.expect("there is one");
    world.stop_bot().await;
    world.unlabel().await;
    start_without_deliveries(&mut world).await;
    let ended = world.settled().await;
    assert_eq!((ended.word(), ended.order), ("cancelled", order), "{}", ended.because());
    assert_eq!(told(&world, order).await, ["unlabeled"]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_after_the_label_is_said_to_the_order_that_the_label_begins() {
    let mut world = begin(SLOWLY).await;
    world.stop_bot().await;
    world.label().await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    world.comment(MAINTAINER, "/cancel").await;
    start_without_deliveries(&mut world).await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "cancelled", "{}", ended.because());
    assert_eq!(told(&world, ended.order).await, ["cancel"]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_comment_that_is_edited_begins_nothing_also_where_nobody_told_of_the_edit() {
    let mut world = begin(WELL).await;
    let (issue, thanks) = (world.issue, "I have seen this too.");
    let comment = world.github.comment(REPOSITORY, issue, MAINTAINER, thanks).await.expect("it is there");
    world.quiet().await;
    world.stop_bot().await;
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    world.github.edit_comment(REPOSITORY, comment, MAINTAINER, "/journeyman").await.expect("it is there");
    start_without_deliveries(&mut world).await;
    assert!(world.orders().await.is_empty());
    world.end().await;
}

/// A word on a closed issue begins nothing; nor does it when the issue is opened again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_said_on_a_closed_issue_begins_nothing_when_it_is_opened_again() {
    let mut world = begin(WELL).await;
    world.github.close(REPOSITORY, world.issue, MAINTAINER).await.expect("it is open");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    world.comment(MAINTAINER, "/journeyman").await;
    world.label().await;
    world.quiet().await;
    world.stop_bot().await;
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    world.github.reopen(REPOSITORY, world.issue, MAINTAINER).await.expect("it is closed");
    start_without_deliveries(&mut world).await;
    assert!(world.orders().await.is_empty());
    world.end().await;
}
