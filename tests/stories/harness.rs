//! The pipeline `coding-harness`: a developer, the tests, a reviewer who argues, and a record of it.

use super::review::MENDS;
use crate::world::judges::finds;
use crate::world::{Ended, MAINTAINER, Story, World};

/// Right at once, and fixes whatever the review asks for.
const WORK: &str = "
- stage: develop
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
  say: The answer is right now.
- stage: archive
  usd: 0.01
  run: |
    case \"$(cat)\" in *'+42'*'and 2 more'*) echo 'The answer was wrong, and the question was short.' ;; *) echo 'Something was done.' ;; esac
";

/// Objects in rounds 1 to 3, each time to something else.
fn objects() -> String {
    let rounds = [(1, "It is short."), (2, "It is vague."), (3, "It is long.")];
    rounds.map(|(round, what)| finds("review", "code_reviewer", Some(round), &[what])).concat()
}

async fn told(scenes: &str) -> (World, Ended) {
    let story =
        Story::of(scenes).settings(|settings| settings.defaults.pipeline = "coding-harness".to_owned());
    let world = story.labeled().await;
    let ended = world.settled().await;
    (world, ended)
}

/// Whether an effect of a stage was started.
fn reached(ended: &Ended, stage: &str) -> bool {
    ended.moves().iter().any(|name| name.split('/').next() == Some(stage))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_round_passes_and_all_of_it_is_archived() {
    let scenes = WORK.to_owned() + &finds("review", "code_reviewer", Some(1), &["It is short."]) + MENDS;
    let (world, ended) = told(&scenes).await;

    assert_eq!(ended.word(), "verified", "{}", ended.because());
    assert_eq!((ended.judged_of("review"), ended.runs_of("review"), ended.runs_of("develop")), (2, 1, 1));
    let moves = ended.moves();
    let at = |name: &str| {
        moves.iter().position(|made| made == name).unwrap_or_else(|| panic!("{name}: {moves:?}"))
    };
    let in_order = [
        "develop/1/commit", "test/1/tests", "publish/pull", "review/1/verify-1", "review/2/agent",
        "archive/archive",
    ];
    assert!(in_order.windows(2).all(|pair| at(pair[0]) < at(pair[1])), "{moves:?}");

    let code = world.artifact(ended.order, "archive-archive-code.patch").await;
    assert!(code.contains("+42") && !code.contains("+and 2 more"), "as it was developed: {code}");
    let last = world.artifact(ended.order, "archive-archive-final_code.patch").await;
    assert!(last.contains("+42") && last.contains("+and 2 more"), "as it was reviewed last: {last}");
    let tests = world.artifact(ended.order, "archive-archive-test_results.md").await;
    assert!(tests.contains("2 passed, 0 failed"), "{tests}");
    let findings = world.artifact(ended.order, "archive-archive-findings.md").await;
    assert!(findings.contains("Round 1: ") && findings.contains("major: It is short."), "{findings}");
    let review = world.artifact(ended.order, "archive-archive-review.md").await;
    assert!(review.contains("Right, and tested."), "{review}");
    let summary = world.artifact(ended.order, "archive-archive-summary.md").await;
    assert_eq!(summary, "The answer was wrong, and the question was short.", "it was given the code");

    let pull = world.pull();
    assert!(!pull.draft);
    let tested = ended.projection.trace.work.as_ref().map(|work| work.commit.to_string());
    assert_eq!(Some(pull.head_sha), tested);
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);
    world.assert_shown_as_verified().await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_rounds_run_out_a_person_gets_a_draft_and_an_approval_goes_on_to_the_archive() {
    let (world, ended) = told(&(WORK.to_owned() + &objects() + MENDS)).await;

    assert_eq!(ended.word(), "escalated", "{}", ended.because());
    assert_eq!((ended.judged_of("review"), ended.runs_of("review")), (3, 2));
    assert!(!reached(&ended, "archive"), "{:?}", ended.moves());
    let pull = world.pull();
    assert!(pull.draft);
    assert_eq!(world.handed_over("question").lines().count(), 3, "all are as bad: the last is the best");
    let reviews = world.reviews();
    assert_eq!(reviews.len(), 3, "a comment a round: {reviews:#?}");
    for (round, what) in (1..).zip(["It is short.", "It is vague.", "It is long."]) {
        let body = &reviews[round - 1].body;
        assert!(
            body.contains(&format!("review, round {round}: changes requested")) && body.contains(what),
            "{body}"
        );
    }
    assert_eq!(world.labels(), ["journeyman", "journeyman:needs-human"]);
    assert!(world.status_comment().contains("It is short."), "{}", world.status_comment());

    world.comment(MAINTAINER, "/approve").await;
    let ended = world.settled_as("approved").await;
    assert!(reached(&ended, "archive"));
    let last = world.artifact(ended.order, "archive-archive-final_code.patch").await;
    assert!(last.contains("+42") && last.contains("+and 3 more"), "what was approved: {last}");
    assert_eq!(world.pull().issue.number, pull.issue.number, "the same pull request");
    assert!(!world.pull().draft);
    assert!(world.pull().issue.body.contains("Approved by a person, not verified"));
    insta::assert_snapshot!(world.surfaces().await, @"
    label: done
    status: Approved by mona, not verified
    check: Approved by a person, not verified: 2 of 2 tests pass, 1 finding is open (Some(Neutral))
    pull: ⚠️ Approved by a person, not verified (ready)
    receipt: approved / approved by a person, not verified / false
    api: approved / false
    exit: 4
    attestation: FAILED
    ");
    world.end().await;
}
