//! `/approve`: a person accepts what could not be verified, and everybody can see that it was not.

use crate::world::{MAINTAINER, OUTSIDER, Story, TRIAGER, WELL, World};

/// There are no tests, so that there is nothing to verify with.
async fn unverified() -> World {
    let world = Story::of(WELL).without("test.sh").without(".github/journeyman.yml").labeled().await;
    assert_eq!(world.settled().await.word(), "unverified");
    assert!(world.pull().draft);
    world
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_without_tests_is_approved_by_a_person_and_said_to_be_not_verified() {
    let world = unverified().await;
    for login in [OUTSIDER, TRIAGER] {
        world.comment(login, "/approve").await;
    }
    world.comment(MAINTAINER, "I would `/approve` this\n\n> /approve").await;
    assert_eq!(world.settled().await.word(), "unverified");
    assert!(world.pull().draft);

    world.comment(MAINTAINER, "/approve").await;
    let ended = world.settled_as("approved").await;
    let pull = world.pull();
    assert!(!pull.draft);
    assert!(pull.issue.body.contains("Approved by a person, not verified"), "{}", pull.issue.body);
    assert!(pull.issue.body.contains("mona accepted it as it is"), "{}", pull.issue.body);
    assert!(!pull.issue.body.contains("✅"), "{}", pull.issue.body);
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);

    // Once is enough.
    world.comment(MAINTAINER, "/approve").await;
    let again = world.settled_as("approved").await;
    let more: Vec<String> = again.moves().split_off(ended.moves().len());
    let beside = ["authorize/", "react/", "say/"];
    let is_talk = |name: &String| beside.iter().any(|kind| name.starts_with(kind));
    assert!(more.iter().all(is_talk), "the right is asked for, and it is said why not: {more:?}");
    insta::assert_snapshot!(world.surfaces().await, @"
    label: done
    status: Approved by mona, not verified
    check: Approved by mona, not verified (Some(Neutral))
    pull: ⚠️ Approved by a person, not verified (ready)
    receipt: approved / approved by a person, not verified / false
    api: approved / false
    exit: 4
    attestation: WARNED
    ");
    world.end().await;
}
