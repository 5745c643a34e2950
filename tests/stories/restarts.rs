//! Journeyman is stopped in the middle and restarted on the same data.

use crate::all_or_first;
use crate::world::{MAINTAINER, Story, World};

/// Slow enough to be stopped in the middle.
const SLOWLY: &str = "
- stage: classify
  think: 300
  say: /feature
  usd: 0.01
- stage: implement
  think: 300
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD || true
";

async fn ends_as_if_nothing_had_happened(world: World, moment: &str) {
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "stopped at {moment}: {}", ended.because());
    world.pull();
    assert_eq!(world.branches().len(), 1);
    assert_eq!(world.orders().await.len(), 1);
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);
    for stage in ["classify", "branch", "plan", "implement", "publish"] {
        assert_eq!(ended.runs_of(stage), 1, "{stage} was paid once, stopped at {moment}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_goes_on_where_it_was() {
    let moments = ["implement/1/agent", "publish/pull", "prepare", "classify/1/agent", "implement/1/tests"];
    for moment in all_or_first(&moments, 2) {
        let mut world = Story::of(SLOWLY).labeled().await;
        world.until_begun(moment).await;
        world.stop_bot().await;
        world.start_bot().await;
        ends_as_if_nothing_had_happened(world, moment).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_that_was_redelivered_after_the_start_is_taken_up() {
    let mut world = Story::of(SLOWLY).begin().await;
    world.stop_bot().await;
    world.label().await;
    world.labeled_body().await;
    world.start_bot().await;
    let lost =
        world.github.deliveries().into_iter().rev().find(|one| one.action.as_deref() == Some("labeled"));
    world.github.redeliver(&lost.expect("the label's delivery").guid).await.expect("it is known");
    ends_as_if_nothing_had_happened(world, "before the label").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_that_was_heard_is_not_forgotten() {
    let slow = SLOWLY.replace("think: 300\n  usd: 0.05", "think: 60000\n  usd: 0.05");
    let mut world = Story::of(&slow).labeled().await;
    world.until_begun("implement/1/agent").await;
    world.comment(MAINTAINER, "/cancel").await;
    let heard = |journal: &journeyman::order::Journal| {
        journal
            .entries()
            .iter()
            .any(|entry| matches!(entry.event, journeyman::order::JournalEvent::Signaled { .. }))
    };
    world.until("the signal", |journal, _| heard(journal).then_some(())).await;
    world.stop_bot().await;
    world.start_bot().await;
    assert_eq!(world.settled().await.word(), "cancelled");
    assert!(world.pulls().is_empty());
    world.end().await;
}
