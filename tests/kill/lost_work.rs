//! Killed, and what lay on this machine alone is gone by the next start: the disk was another one, or a backup was put back.

use std::fs;

use journeyman::order::{JournalEntry, JournalEvent};

use super::moment::{Moment, Point};
use super::world::{Agent, Ended, World};

/// Kills at this moment, takes these folders of the data folder away, and starts again: how many runs of the developer's first
/// stage there were in the end.
async fn lost(point: Point, effect: &str, folders: &[&str]) -> usize {
    let world = World::new(Agent::Quick).await;
    let moment = Moment::Around { point, effect: effect.to_owned(), nth: 1 };
    let mut server = world.start(Some(moment)).await;
    world.label().await;
    assert_eq!(server.ended().await, Ended::Killed, "{}", world.said());
    assert!(world.sandboxes_end(super::world::PATIENCE).await.is_empty());
    for folder in folders {
        let path = world.path("data").join(folder);
        if path.ends_with("boot") {
            fs::write(path, "another-start-of-the-machine\n").expect("a file");
        } else if path.exists() {
            fs::remove_dir_all(path).expect("a folder");
        }
    }

    let mut server = world.start(None).await;
    assert_eq!(server.ended().await, Ended::Code(0), "{}", world.said());

    let journals = world.journals().await;
    let [(journal, survey)] = &journals[..] else { panic!("one order") };
    assert!(survey.surfaces().verified, "{effect} without {folders:?}: {}", world.said());
    let is_run = |entry: &JournalEntry| matches!(&entry.event, JournalEvent::Observed { key, .. } if key.0.starts_with("implement/") && key.0.ends_with("/agent"));
    journal.entries().iter().filter(|entry| is_run(entry)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_whose_work_tree_is_gone_before_it_was_taken_in_is_made_again() {
    assert_eq!(lost(Point::Intended, "implement/1/import", &["orders"]).await, 2);
    // After a power cut what was pushed is there still.
    assert_eq!(lost(Point::Observed, "implement/1/agent", &["boot"]).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_in_and_is_gone_is_taken_in_again_from_the_agents_own_repository() {
    assert_eq!(lost(Point::Intended, "implement/1/commit", &["commits"]).await, 2);
    assert_eq!(lost(Point::Intended, "implement/2/tests", &["commits"]).await, 2);
    assert_eq!(lost(Point::Intended, "publish/COMMIT/push-1", &["commits"]).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_of_which_nothing_is_left_is_made_again_and_what_was_pushed_to_github_is_fetched() {
    let all = ["orders", "commits", "mirrors"];
    assert_eq!(lost(Point::Intended, "implement/1/commit", &all).await, 2);
    assert_eq!(lost(Point::Intended, "implement/1/tests", &all).await, 2);
    assert_eq!(lost(Point::Unobserved, "publish/COMMIT/push-1", &all).await, 2);
}
