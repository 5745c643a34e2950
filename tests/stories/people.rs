//! Who may ask for what, and what happens when people act while Journeyman works.

use std::time::{Duration, Instant};

use journeyman::emulator::RepositoryRole;
use journeyman::order::{JournalEvent, SignalKind};

use crate::world::{Ended, MAINTAINER, OUTSIDER, REPOSITORY, STUBBORN, Story, TRIAGER, WELL, World, slowly};

/// Thinks for a minute before it does anything.
const SLOW: &str = "
- stage: implement
  think: 60000
  say: Nothing to do.
";

/// The number of signals, without comments that are no commands.
fn signals(ended: &Ended) -> usize {
    let is_one = |event: &JournalEvent| match event {
        JournalEvent::Signaled { signal, .. } => !matches!(signal.kind, SignalKind::IssueCommented { .. }),
        JournalEvent::Opened(_) | JournalEvent::Intended { .. } | JournalEvent::Observed { .. } => false,
    };
    ended.journal.entries().iter().filter(|entry| is_one(&entry.event)).count()
}

async fn agent_is_running(world: &World) {
    world.until_begun("implement/1/agent").await;
    world
        .until("the agent's process", |_, _| {
            world.processes().iter().any(|line| line.contains("scripted-agent")).then_some(())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_of_somebody_without_write_access_does_nothing_at_all() {
    for login in [OUTSIDER, TRIAGER] {
        let world = Story::of(WELL).begin().await;
        world.label_by(login).await;
        let ended = world.settled_as("refused").await;

        assert_eq!(ended.moves(), ["authorize/1"], "nothing is fetched, nothing is run");
        assert!(world.thread().comments.is_empty() && world.pulls().is_empty());
        assert_eq!(world.labels(), ["journeyman"]);
        for method in ["POST", "PATCH", "PUT", "DELETE"] {
            let writes = world.calls(method, "/repos/");
            assert!(writes.is_empty(), "{login}: {writes:#?}");
        }
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retry_by_somebody_without_write_access_changes_nothing() {
    let world = Story::of(STUBBORN).labeled().await;
    assert_eq!(world.settled().await.word(), "blocked");
    let before = world.status_comment();
    for login in [OUTSIDER, TRIAGER] {
        world.comment(login, "/retry please").await;
    }
    let ended = world.settled_as("blocked").await;

    assert_eq!(ended.runs_of("implement"), 2);
    assert_eq!(signals(&ended), 2, "it is written down, and ignored");
    assert_eq!(world.status_comment(), before);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancel_ends_a_running_agent_within_seconds() {
    let world = Story::of(SLOW).labeled().await;
    agent_is_running(&world).await;
    let said = Instant::now();
    world.comment(MAINTAINER, "/cancel").await;
    let ended = world.settled().await;

    assert!(said.elapsed() < Duration::from_secs(10), "it took {:?}", said.elapsed());
    assert_eq!(ended.word(), "cancelled");
    world.assert_no_process_is_left().await;
    assert!(world.pulls().is_empty() && world.branches().is_empty());
    assert!(world.status_comment().contains("Cancelled"), "{}", world.status_comment());
    assert!(world.status_comment().contains("mona said /cancel"), "{}", world.status_comment());
    assert_eq!(world.labels(), ["journeyman"]);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_in_a_quote_in_code_or_in_prose_is_none() {
    let world = Story::of(&slowly(1_500)).labeled().await;
    agent_is_running(&world).await;
    for text in
        ["> /cancel", "```\n/cancel\n```", "You could say /cancel", "    /cancel", "`/cancel`", "/cancelled"]
    {
        world.comment(MAINTAINER, text).await;
    }
    let comment = world.github.comment(REPOSITORY, world.issue, MAINTAINER, "Nice").await.expect("a comment");
    world.github.edit_comment(REPOSITORY, comment, MAINTAINER, "/cancel").await.expect("an edit");
    let ended = world.settled_as("verified").await;

    assert_eq!(
        signals(&ended),
        1,
        "/cancelled looks like a command, and is none; the others are not even that"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_the_issue_stops_the_work() {
    let world = Story::of(SLOW).labeled().await;
    agent_is_running(&world).await;
    world.github.close(REPOSITORY, world.issue, MAINTAINER).await.expect("the issue is there");
    let ended = world.settled_as("cancelled").await;

    assert!(ended.because().contains("closed the issue"), "{}", ended.because());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_event_under_two_guids_is_one_order() {
    let mut world = Story::of(&slowly(1_500)).begin().await;
    world.stop_bot().await;
    world.label().await;
    let body = world.labeled_body().await;
    world.start_bot().await;
    let (one, two) = tokio::join!(
        world.deliver("0b989ba4-242f-11e5-81e1-c7b6966d2516", "issues", &body),
        world.deliver("1b989ba4-242f-11e5-81e1-c7b6966d2516", "issues", &body),
    );
    assert_eq!((one, two), (202, 202));
    world.settled_as("verified").await;

    assert_eq!(world.orders().await.len(), 1);
    world.pull();
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_that_is_taken_away_during_the_work_keeps_it_from_being_pushed() {
    let world = Story::of(&slowly(1_500)).labeled().await;
    agent_is_running(&world).await;
    world
        .github
        .set_permission(REPOSITORY, MAINTAINER, RepositoryRole::Read)
        .expect("the repository is there");
    let ended = world.settled_as("failed").await;

    assert!(ended.because().contains("no write access any more"), "{}", ended.because());
    assert!(world.branches().is_empty() && world.pulls().is_empty());
    assert!(world.calls("POST", "git-receive-pack").is_empty());
    world.end().await;
}
