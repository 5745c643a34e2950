//! Killed, and imported files are gone by the next start.

use std::fs;
use std::path::Path;

use journeyman::order::{JournalEntry, JournalEvent};

use super::moment::{Moment, Point};
use super::world::{Agent, Ended, World};

/// Deletes the contents of all files in the kept agent work, but not its folders and commits.
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

/// Killed before this effect, it loses those files and restarts. Returns the developer's runs of the first stage.
async fn without_files_before(effect: &str) -> usize {
    let world = World::new(Agent::Quick).await;
    let moment = Moment::Around { point: Point::Intended, effect: effect.to_owned(), nth: 1 };
    let mut server = world.start(Some(moment)).await;
    world.label().await;
    assert_eq!(server.ended().await, Ended::Killed, "{}", world.said());
    assert!(world.sandboxes_end(super::world::PATIENCE).await.is_empty());
    without_files(&world.path("data"));

    let mut server = world.start(None).await;
    assert_eq!(server.ended().await, Ended::Code(0), "{}", world.said());

    let (journal, projection) = world.journals().await.pop().expect("one order");
    assert!(projection.surfaces().verified, "{effect}: {:?}", projection.surfaces());
    let is_run = |entry: &JournalEntry| matches!(&entry.event, JournalEvent::Observed { key, .. } if key.0.starts_with("implement/") && key.0.ends_with("/agent"));
    journal.entries().iter().filter(|entry| is_run(entry)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_in_and_has_lost_its_files_is_a_new_round() {
    assert_eq!(without_files_before("implement/1/commit").await, 2);
    assert_eq!(without_files_before("implement/1/tests").await, 2);
}
