//! Agents are programs: they break off, talk nonsense, are overloaded, or are not there.

use crate::world::{MAINTAINER, Story, WELL};

/// The work, then whatever follows as its stream.
fn works_and_prints(stream: &str, exit: u8) -> String {
    format!(
        "
- stage: implement
  raw: true
  exit: {exit}
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
    {stream}
"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_pushed_counts_even_if_the_agent_broke_off() {
    let world = Story::of(&works_and_prints("echo 'Segmentation fault' >&2", 139)).labeled().await;
    let ended = world.settled_as("verified").await;
    assert_eq!(ended.runs_of("implement"), 1);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_is_not_there_is_named_and_retry_works_once_it_is() {
    let mut world = Story::of(WELL).begin().await;
    let program =
        world.change_agent(|agent| std::mem::replace(&mut agent.program, vec!["/no/such/agent".to_owned()]));
    world.stop_bot().await;
    world.start_bot().await;
    world.label().await;
    let ended = world.settled_as("failed").await;
    let status = world.status_comment();
    assert!(status.contains("/no/such/agent") && status.contains("was not found"), "{status}");
    assert_eq!(ended.runs_of("classify"), 0);

    world.change_agent(|agent| agent.program = program);
    world.stop_bot().await;
    world.start_bot().await;
    world.comment(MAINTAINER, "/retry").await;
    assert_eq!(world.settled().await.word(), "verified");
    world.end().await;
}
