//! What people do while Journeyman is down, without any deliveries left, is found by searching, and only once.

use std::collections::BTreeMap;
use std::time::Duration;

use journeyman::order::{JournalEvent, Requester, Settlement, SignalKind};

use crate::world::judges::finds;
use crate::world::look::BOT;
use crate::world::{MAINTAINER, OUTSIDER, REPOSITORY, Story, WELL, World};

/// A world whose first search is done.
pub(super) async fn begin() -> World {
    searched(Story::of(WELL).begin().await).await
}

async fn searched(world: World) -> World {
    let begun = std::time::Instant::now();
    while world.store.looked_until().await.expect("the store can be read").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it has not begun");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world
}

/// Restarts after all deliveries have expired, and waits until what the first search found is done.
pub(super) async fn start_without_deliveries(world: &mut World) {
    world.delivered().await;
    world.github.forget_deliveries();
    let before = world.store.looked_until().await.expect("the store can be read");
    world.start_bot().await;
    let begun = std::time::Instant::now();
    while world.store.looked_until().await.expect("the store can be read") == before {
        assert!(begun.elapsed() < Duration::from_secs(60), "nobody looked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.quiet().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_that_no_delivery_tells_of_gets_its_order_and_never_a_second_one() {
    let mut world = begin().await;
    // Two issues for no order: one loses its label before the search, the other never had it.
    for title in ["Not this one", "Nor this one"] {
        world.github.open_issue(REPOSITORY, MAINTAINER, title, "").await.expect("an issue");
    }
    world.stop_bot().await;
    world.label().await;
    world.github.label(REPOSITORY, 2, "journeyman", MAINTAINER).await.expect("it is there");
    world.github.unlabel(REPOSITORY, 2, "journeyman", MAINTAINER).await.expect("it is on");
    world.github.label(REPOSITORY, 3, "bug", MAINTAINER).await.expect("it is there");
    start_without_deliveries(&mut world).await;
    let ended = world.settled_as("verified").await;

    assert_eq!(ended.journal.opened().by.to_string(), MAINTAINER, "whoever put it on");
    assert_eq!(world.orders().await.len(), 1);
    let entries = ended.journal.entries().len();

    // Each start searches again, including the last minutes before.
    world.stop_bot().await;
    start_without_deliveries(&mut world).await;
    world.github.close(REPOSITORY, world.pull().issue.number, MAINTAINER).await.expect("it is open");
    world.quiet().await;
    world.stop_bot().await;
    start_without_deliveries(&mut world).await;
    assert_eq!(world.orders().await.len(), 1, "a label whose order has ended is no news");
    let (journal, projection) = world.look(ended.order).await;
    assert!(
        matches!(projection.next.settled, Some(Settlement::Closed { .. })),
        "{:?}",
        projection.next.settled
    );
    let heard =
        |entry: &&journeyman::order::JournalEntry| matches!(entry.event, JournalEvent::Signaled { .. });
    assert_eq!(journal.entries()[entries..].iter().filter(heard).count(), 1, "that it was closed, once");

    // It is set again while Journeyman is down: that is another event.
    world.stop_bot().await;
    world.unlabel().await;
    world.label().await;
    start_without_deliveries(&mut world).await;
    assert_eq!(world.orders().await.len(), 2);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_and_a_merge_that_no_delivery_tells_of_are_heard_once() {
    let mut world = Story::of(WELL).labeled().await;
    let ended = world.settled_as("verified").await;
    let pull = world.pull().issue.number;
    world.comment(MAINTAINER, "/status").await;
    world.quiet().await;
    world.stop_bot().await;
    world.comment(MAINTAINER, "/help").await;
    world.github.comment(REPOSITORY, pull, OUTSIDER, "Nice.").await.expect("it is there");
    start_without_deliveries(&mut world).await;
    let answered = |world: &World| {
        let own = world.thread().comments.into_iter().filter(|comment| comment.author == BOT);
        own.filter(|comment| comment.body.contains("/approve")).count()
    };
    assert_eq!(answered(&world), 1, "{:#?}", world.thread().comments);

    world.stop_bot().await;
    world.github.merge(REPOSITORY, pull, MAINTAINER).await.expect("it is ready");
    start_without_deliveries(&mut world).await;
    let (journal, projection) = world.look(ended.order).await;
    let merged = Settlement::Merged { pull: journeyman::order::PullNumber(pull), by: MAINTAINER.to_owned() };
    assert_eq!(projection.next.settled, Some(merged));
    let commands = journal.entries().iter().filter(|entry| match &entry.event {
        JournalEvent::Signaled { signal, .. } => matches!(signal.kind, SignalKind::Commanded { .. }),
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Observed { .. } => false,
    });
    assert_eq!(commands.count(), 2, "each was heard once");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_request_that_no_delivery_tells_of_is_verified_once_where_all_are() {
    for (verify, orders) in [("all", 1), ("label", 0)] {
        let scenes = finds("verify", "code_reviewer", None, &[]);
        let settings = format!("test: sh test.sh\nverify: {verify}\n");
        let story = Story::of(&scenes).file(".github/journeyman.yml", &settings);
        let mut world = searched(story.begin().await).await;
        world.stop_bot().await;
        let right = BTreeMap::from([("answer".to_owned(), Some(b"42\n".to_vec()))]);
        let opened = world.github.open_pull_from_fork(REPOSITORY, OUTSIDER, "Give the right answer", &right);
        opened.expect("it opens");
        start_without_deliveries(&mut world).await;
        assert_eq!(world.orders().await.len(), orders, "{verify}");
        if orders > 0 {
            let ended = world.settled_as("verified").await;
            assert_eq!(ended.journal.opened().by, Requester::Repository);
        }

        // Each start searches again, including the last minutes before.
        world.stop_bot().await;
        start_without_deliveries(&mut world).await;
        assert_eq!(world.orders().await.len(), orders, "{verify}");
        world.end().await;
    }
}
