//! Killed, and what lay on this machine alone is gone by the next start: the disk was another one, or a backup was put back.

use std::fs;
use std::path::Path;

use journeyman::order::next::OrderProjection;
use journeyman::order::{Journal, JournalEntry, JournalEvent};

use super::moment::{Moment, Point};
use super::world::{Agent, Ended, World};

/// Kills at this moment, takes these folders of the data folder away, and starts again: how many runs of the developer's first
/// stage there were in the end.
async fn lost(point: Point, effect: &str, folders: &[&str]) -> usize {
    damaged(point, effect, &format!("{folders:?}"), |data| {
        for folder in folders {
            let path = data.join(folder);
            if path.ends_with("boot") {
                fs::write(path, "another-start-of-the-machine\n").expect("a file");
            } else if path.exists() {
                fs::remove_dir_all(path).expect("a folder");
            }
        }
    })
    .await
}

/// Takes away the contents of all files in what we keep of the agent's work. Its folders and commits are still there.
fn without_files(data: &Path) {
    let repository = git2::Repository::open(data.join("commits/octo/median.git")).expect("our commits");
    let objects = repository.path().join("objects");
    let odb = repository.odb().expect("objects");
    let mut gone = 0;
    odb.foreach(|id| {
        let name = id.to_string();
        let file = objects.join(&name[..2]).join(&name[2..]);
        let is_content = odb.read_header(*id).is_ok_and(|(_, kind)| kind == git2::ObjectType::Blob);
        if is_content && file.exists() {
            fs::remove_file(file).expect("a file");
            gone += 1;
        }
        true
    })
    .expect("all objects");
    assert!(gone > 0, "nothing was there");
}

async fn damaged(point: Point, effect: &str, what: &str, damage: impl FnOnce(&Path)) -> usize {
    let (journal, survey) = after(point, effect, damage).await;
    let surfaces = survey.surfaces();
    assert!(surfaces.verified, "{effect} without {what}: {surfaces:?}");
    let is_run = |entry: &JournalEntry| matches!(&entry.event, JournalEvent::Observed { key, .. } if key.0.starts_with("implement/") && key.0.ends_with("/agent"));
    journal.entries().iter().filter(|entry| is_run(entry)).count()
}

/// The order as it ended, after a kill at this moment and this damage.
async fn after(point: Point, effect: &str, damage: impl FnOnce(&Path)) -> (Journal, OrderProjection) {
    let world = World::new(Agent::Quick).await;
    let moment = Moment::Around { point, effect: effect.to_owned(), nth: 1 };
    let mut server = world.start(Some(moment)).await;
    world.label().await;
    assert_eq!(server.ended().await, Ended::Killed, "{}", world.said());
    assert!(world.sandboxes_end(super::world::PATIENCE).await.is_empty());
    damage(&world.path("data"));

    let mut server = world.start(None).await;
    assert_eq!(server.ended().await, Ended::Code(0), "{}", world.said());

    world.journals().await.pop().expect("one order")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_whose_work_tree_is_gone_before_it_was_taken_in_is_made_again() {
    assert_eq!(lost(Point::Intended, "implement/1/import", &["orders"]).await, 2);
    // After a power cut what was pushed is there still.
    assert_eq!(lost(Point::Observed, "implement/1/agent", &["boot"]).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_in_and_has_lost_its_files_is_a_new_round() {
    let without = |effect| damaged(Point::Intended, effect, "files", without_files);
    assert_eq!(without("implement/1/commit").await, 2);
    assert_eq!(without("implement/1/tests").await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_round_of_which_nothing_is_left_is_made_again_and_what_was_pushed_to_github_is_fetched() {
    let all = ["orders", "commits", "mirrors"];
    assert_eq!(lost(Point::Intended, "implement/1/commit", &all).await, 2);
    assert_eq!(lost(Point::Intended, "implement/1/tests", &all).await, 2);
    assert_eq!(lost(Point::Unobserved, "publish/COMMIT/push-1", &all).await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tested_commit_that_nothing_has_any_more_ends_its_order_with_a_word_that_says_so() {
    let (_, survey) = after(Point::Intended, "publish/COMMIT/push-1", |data| {
        for folder in ["orders", "commits", "mirrors"] {
            fs::remove_dir_all(data.join(folder)).expect("a folder");
        }
    })
    .await;
    let because = survey.surfaces().because.expect("why it ended");
    let (said, _) = because.split_once(" (").expect("what was tried");
    assert!(said.contains("is gone from the machine that Journeyman runs on, and is not on the order's branch on GitHub: take the label away and set it again"), "{because}");
}
