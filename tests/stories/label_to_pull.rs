//! The main road: a label becomes a verified pull request.

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL};
use journeyman::order::Receipt;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_becomes_a_verified_pull_request() {
    let world = Story::of(WELL).labeled().await;
    let before = world.github.branches(REPOSITORY);
    let ended = world.settled().await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let pull = world.pull();
    let receipt = Receipt::of(&ended.journal, &ended.survey);
    let tests = ended.survey.trace.work.as_ref().and_then(|work| work.tests.clone()).expect("tests ran");
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
    insta::assert_snapshot!(world.surfaces().await, @"
    label: done
    status: Verified, not examined: the pull request is ready for review
    check: Verified, not examined: 2 of 2 tests pass (Some(Success))
    pull: ✅ Verified, not examined (ready)
    receipt: verified / verified / true
    api: verified / true
    exit: 0
    attestation: PASSED
    ");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_is_one_comment_edited_in_place_and_the_draft_ends_last() {
    let slowly = WELL.replace("usd: 0.05", "think: 1000");
    let world = Story::of(&slowly).labeled().await;
    world.until_begun("implement/1/agent").await;
    let working = ["journeyman", "journeyman:working"].map(str::to_owned);
    let (issue, patience) = (world.issue, std::time::Duration::from_secs(30));
    let seen = world.github.wait_for("the working label and the first status", patience, |github| {
        let issue = github.issue(REPOSITORY, issue)?;
        (issue.labels == working && issue.comments.len() == 1).then_some(issue)
    });
    let first = seen.await.expect("people see that it is at work").comments.remove(0);
    assert!(first.body.contains("Journeyman is working on this"), "{}", first.body);
    assert!(first.body.contains("/cancel"), "{}", first.body);
    assert_eq!(world.settled().await.word(), "verified");

    assert_eq!(world.own_comments()[0].id, first.id, "the same comment, edited");
    assert_eq!(world.calls("POST", "/issues/1/comments").len(), 1);
    let calls = world.github.calls();
    let place = |what: &str, fits: &dyn Fn(&journeyman::emulator::ApiCall) -> bool| {
        calls.iter().position(fits).unwrap_or_else(|| panic!("{what} was not called"))
    };
    let pushed = place("push", &|call| call.method == "POST" && call.path.contains("git-receive-pack"));
    let opened = place("open", &|call| call.method == "POST" && call.path.ends_with("/pulls"));
    let ready = place("ready", &|call| call.path.ends_with("/graphql"));
    assert!(pushed < opened && opened < ready, "pushed, opened as a draft, ready at the end");
    assert!(calls[opened].body.contains("\"draft\":true"), "{}", calls[opened].body);
    insta::assert_snapshot!(world.surfaces().await, @"
    label: done
    status: Verified, not examined: the pull request is ready for review
    check: Verified, not examined: 2 of 2 tests pass (Some(Success))
    pull: ✅ Verified, not examined (ready)
    receipt: verified / verified / true
    api: verified / true
    exit: 0
    attestation: PASSED
    ");
    world.end().await;
}
