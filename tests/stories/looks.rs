//! The search for missed events fails or finds many at once. It never gives up, and what it finds counts in the order
//! in which it happened.

use journeyman::emulator::{Fault, FaultKind};
use journeyman::order::next::OrderProjection;
use journeyman::order::{IssueNumber, Journal, JournalEvent, OrderId, SignalKind};

use super::missed::{begin, start_without_deliveries};
use crate::world::look;
use crate::world::{MAINTAINER, REPOSITORY, Story, World, slowly};

/// Moves the time up to which everything was searched twenty minutes ahead.
async fn twenty_minutes_pass(world: &World) {
    world.sql("UPDATE server SET looked_until = looked_until + 1200000000").await;
}

fn always(path: &str, code: u16) -> Fault {
    let kind = FaultKind::Status { code, headers: Vec::new(), body: "{}".to_owned() };
    Fault { method: None, path_contains: path.to_owned(), times: 1_000, kind }
}

/// The signals in an order's journal, in one word each.
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

/// Waits until the next order has an agent working on its change.
pub(super) async fn until_the_next_is_at_work(world: &World, before: OrderId) {
    let next = |journal: &Journal, _: &OrderProjection| {
        (journal.opened().order != before && look::begun(journal, "implement/1/agent")).then_some(())
    };
    world.until("the next order's work", next).await;
}

/// The issues that have orders, and what was requested with each.
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
async fn what_happened_while_an_installation_was_suspended_is_heard_however_long_that_was() {
    let mut world = begin().await;
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
async fn whatever_begins_an_order_is_heard_by_looking_and_an_issue_that_is_gone_hides_no_other() {
    let mut world = begin().await;
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
async fn a_label_that_is_taken_off_cancels_although_no_delivery_tells_of_it() {
    let mut world = Story::of(&slowly(3_000)).labeled().await;
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
