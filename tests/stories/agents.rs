//! Agents are programs and can crash.

use crate::world::Story;

/// Works, then crashes.
const CRASHES: &str = "
- stage: implement
  raw: true
  exit: 139
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
    echo 'Segmentation fault' >&2
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_pushed_counts_even_if_the_agent_broke_off() {
    let world = Story::of(CRASHES).labeled().await;
    let ended = world.settled_as("verified").await;
    assert_eq!(ended.runs_of("implement"), 1);
    world.end().await;
}
