//! A signed commit that was made and not recorded: it is the one that is tested and pushed after the restart.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use journeyman::order::{EffectOutcome, JournalEvent};

use super::moment::{Moment, Point};
use super::world::{Agent, Ended, REPOSITORY, World};
use crate::workspace::signing::{COMMITTER, Keyring};

/// An ECDSA key never signs the same thing twice in the same way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signed_commit_that_was_not_recorded_is_found_and_no_other_is_made() {
    let keys = Keyring::ssh("ecdsa", "");
    let world = World::new(Agent::Quick).await;
    let key = world.path("signing");
    fs::write(&key, &keys.private).expect("a key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("a mode");
    let settings = fs::read_to_string(world.config()).expect("settings");
    let signing = format!("[signing]\nformat = \"ssh\"\nkey_file = {key:?}\ncommitter = \"{COMMITTER}\"\n");
    fs::write(world.config(), settings + &signing).expect("settings");
    let made = || {
        let folder = world.path("data/commits").join(format!("{REPOSITORY}.git"));
        let mut git = Command::new("git");
        git.args(["for-each-ref", "--format=%(objectname)", "refs/journeyman"]).current_dir(folder);
        let told = String::from_utf8(git.output().expect("git runs").stdout).expect("text");
        told.lines().map(str::to_owned).collect::<Vec<_>>()
    };

    let moment = Moment::Around { point: Point::Unobserved, effect: "implement/1/commit".to_owned(), nth: 1 };
    let mut running = world.start(Some(moment)).await;
    world.label().await;
    assert_eq!(running.ended().await, Ended::Killed, "{}", world.said());
    let before = made();
    assert_eq!(before.len(), 1, "it was made");
    assert_eq!(world.start(None).await.ended().await, Ended::Code(0), "{}", world.said());

    let journals = world.journals().await;
    let entries = journals[0].0.entries().iter();
    let commits: Vec<String> = entries
        .filter_map(|entry| match &entry.event {
            JournalEvent::Observed { outcome, .. } => match &**outcome {
                EffectOutcome::Committed { commit, .. } => Some(commit.to_string()),
                _ => None,
            },
            JournalEvent::Opened(_) | JournalEvent::Signaled { .. } | JournalEvent::Intended { .. } => None,
        })
        .collect();
    assert_eq!(commits.first(), before.first(), "what was made before is what the journal has");
    assert_eq!(made().len(), commits.len(), "no commit was made twice");
    let pulls = world.emulator.pulls(REPOSITORY);
    assert_eq!((pulls.len(), Some(&pulls[0].head_sha)), (1, commits.last()));
    let repository = world.emulator.git_dir(REPOSITORY).expect("the repository");
    keys.assert_good(&repository, &pulls[0].head_sha);
    let log = fs::read_to_string(world.path("log")).expect("a log");
    assert!(log.contains("commits are signed key=\"ssh SHA256:"), "{log}");
    for line in keys.private.lines().filter(|line| line.len() > 20) {
        assert!(!log.contains(line));
    }
}
