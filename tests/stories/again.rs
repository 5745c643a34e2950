//! An issue is labeled again after its order has ended: what happens to the existing pull request.

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

/// Gives the same wrong answer until a person says to try again.
const WRONG_AT_FIRST: &str = "
- stage: implement
  round: 3
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
- stage: implement
  run: |
    echo 43 > answer && date +%s%N > tries && git add tries
    git commit -q -a -m 'Give an answer' && git push -q origin HEAD
";

/// Someone removes the label and adds it again.
async fn label_again(world: &World, by: &str) {
    world.github.unlabel(REPOSITORY, world.issue, "journeyman", by).await.expect("it is on");
    world.label_by(by).await;
}

fn notes(body: &str) -> String {
    let notes = body.split("**Notes**\n\n").nth(1).unwrap_or_default();
    notes.split("\n\n").next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_again_with_an_open_draft_goes_on_there_as_retry_would() {
    let world = Story::of(WRONG_AT_FIRST).labeled().await;
    let ended = world.settled_as("escalated").await;
    let before = world.pull();
    label_again(&world, MAINTAINER).await;
    let again = world.settled().await;

    assert_eq!((again.word(), again.order), ("verified", ended.order), "{}", again.because());
    assert_eq!((world.pull().issue.number, world.pull().head), (before.issue.number, before.head));
    assert!(!world.pull().draft);
    assert_eq!(world.orders().await.len(), 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_again_with_an_open_pull_request_that_is_well_is_answered_with_a_word_that_names_it() {
    let world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    label_again(&world, MAINTAINER).await;
    let again = world.settled().await;

    assert_eq!((again.word(), again.order), ("verified", ended.order));
    assert_eq!(again.runs_of("implement"), 1, "nothing is paid for");
    world.pull();
    insta::assert_snapshot!(world.notices().join("\n---\n"), @"Pull request #2 is open for this issue, so no other was begun: nothing is known to be wrong with it; review it, comment /retry and what to change, or close it and add the label again to start over.");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_label_again_after_a_merge_is_a_new_order_with_a_new_branch() {
    let world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    let first = world.pull();
    world.github.merge(REPOSITORY, first.issue.number, MAINTAINER).await.expect("it is ready");
    world.quiet().await;
    world.rescript(&WELL.replace("echo 42", "echo 'And how many more?' >> question; echo 42"));
    if world.thread().labels.iter().any(|label| label == "journeyman") {
        world.unlabel().await;
    }
    // GitHub closes the issue with the merge.
    let _ = world.github.reopen(REPOSITORY, world.issue, MAINTAINER).await;
    world.label().await;
    let again = world.settled().await;

    assert_ne!(again.order, ended.order);
    let heads: Vec<_> = world.pulls().into_iter().map(|pull| pull.head).collect();
    assert_eq!(heads, ["journeyman/issue-1-right-answer", "journeyman/issue-1-right-answer-2"]);
    insta::assert_snapshot!(notes(&world.own_comments().last().expect("a status").body), @"- Pull request `#2` was merged: this order starts over, on a new branch.");
    world.end().await;
}
