//! The normal case: a label becomes a verified pull request.

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL};
use journeyman::order::Receipt;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_becomes_a_verified_pull_request() {
    let world = Story::of(WELL).labeled().await;
    let before = world.github.branches(REPOSITORY);
    let ended = world.settled_as("verified").await;

    let pull = world.pull();
    let receipt = Receipt::of(&ended.journal, &ended.projection);
    let tests = ended.projection.trace.work.as_ref().and_then(|work| work.tests.clone()).expect("tests ran");
    assert_eq!(pull.head_sha, tests.commit.to_string(), "the head is the commit that was tested");
    assert_eq!(Some(pull.head_sha.clone()), receipt.commit.as_ref().map(ToString::to_string));
    assert!(receipt.verified && receipt.on_remote);
    assert_eq!(world.github.branch_head(REPOSITORY, &pull.head), Some(pull.head_sha.clone()));
    assert_eq!(world.branches(), ["journeyman/issue-1-right-answer"]);
    assert_eq!(
        world.github.branch_head(REPOSITORY, "main"),
        before.get("main").cloned(),
        "main is untouched"
    );

    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{}", pull.head)]), "1");
    assert_eq!(world.git(&["diff", "--name-only", "main", &pull.head]), "answer");
    let author = world.git(&["log", "-1", "--format=%an|%cn|%s|%b", &pull.head]);
    assert!(author.starts_with("journeyman") || author.starts_with("Journeyman"), "{author}");
    assert!(author.contains("|Give the right answer|It was off by one."), "{author}");

    assert!(!pull.draft, "it is ready");
    assert_eq!(pull.issue.title, "Give the right answer");
    assert_eq!(pull.issue.body.matches("Closes #1").count(), 1, "{}", pull.issue.body);
    assert!(pull.issue.body.contains(&pull.head_sha), "the receipt names the commit");
    assert!(pull.issue.body.contains("2 passed, 0 failed, 0 skipped"), "{}", pull.issue.body);
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);
    assert!(world.status_comment().contains("Verified, not examined: the pull request is ready for review"));
    assert_eq!(world.thread().author, MAINTAINER);
    world.assert_shown_as_verified().await;
    world.end().await;
}
