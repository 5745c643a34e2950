//! Commits are signed: what is tested, reviewed, pushed and merged has a signature that git verifies.

use journeyman::emulator::{CheckConclusion, ReviewState};
use journeyman::order::{EffectOutcome, JournalEvent};
use serde_json::Value;

use super::conversation::ANSWERS;
use crate::workspace::signing::Keyring;
use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

/// A repository that requires signed commits on every branch.
async fn where_signatures_are_required(keys: &Keyring) -> World {
    let signing = keys.signing();
    let story = Story::of(&(WELL.to_owned() + ANSWERS));
    let world = story.settings(|settings| settings.signing = Some(signing)).begin().await;
    world.github.add_rule(REPOSITORY, ("**", "required_signatures"), Value::Null, false).unwrap();
    world
}

fn repository(world: &World) -> std::path::PathBuf {
    world.github.git_dir(REPOSITORY).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_that_requires_signatures_gets_them_on_every_commit() {
    let keys = Keyring::ssh("ed25519", "");
    let mut world = where_signatures_are_required(&keys).await;
    world.label().await;
    let ended = world.settled_as("verified").await;
    let first = world.pull();
    keys.assert_good(&repository(&world), &first.head_sha);
    // Tests ran on the signed commit, and the same commit was pushed.
    let tested: Vec<String> = ended
        .journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            JournalEvent::Observed { outcome, .. } => match &**outcome {
                EffectOutcome::Committed { commit, .. } => Some(commit.to_string()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(tested, std::slice::from_ref(&first.head_sha));
    let runs = world.github.check_runs(REPOSITORY, &first.head_sha);
    assert!(
        runs.iter().any(|run| run.by_app && run.conclusion == Some(CheckConclusion::Success)),
        "{runs:#?}"
    );

    // A review is answered after a restart.
    world.stop_bot().await;
    world.start_bot().await;
    let notes = [("answer", 1, "say it to the end, please")];
    let verdict = (ReviewState::ChangesRequested, "One thing.");
    world.github.review_lines(REPOSITORY, first.issue.number, MAINTAINER, verdict, &notes).await.unwrap();
    world.settled_as("verified").await;
    let second = world.pull();
    assert_ne!(second.head_sha, first.head_sha);
    keys.assert_good(&repository(&world), &second.head_sha);

    // The base moves, and is merged in.
    let moved = [("question".to_owned(), Some(b"How many roads?\n".to_vec()))].into();
    world.github.push_commit(REPOSITORY, "main", MAINTAINER, "Ask shorter", moved).await.unwrap();
    world.settled_as("verified").await;
    let third = world.pull();
    assert_eq!(world.git(&["rev-list", "--parents", "-n", "1", &third.head_sha]).split(' ').count(), 3);
    keys.assert_good(&repository(&world), &third.head_sha);
    assert_eq!(world.git(&["log", "-1", "--format=%an|%cn", &third.head_sha]), "journeyman[bot]|Sums");
    let secret = keys.private.lines().nth(2).unwrap();
    for order in world.orders().await {
        let (journal, _) = world.look(order).await;
        assert!(!serde_json::to_string(journal.entries()).unwrap().contains(secret));
    }
    assert!(world.github.calls().iter().all(|call| !call.body.contains(secret)));
    world.end().await;
}
