//! One verdict: every surface says the same about a commit, and nothing unverified is called verified.

use crate::world::{MAINTAINER, REPOSITORY, Story};

const SETTINGS: &str = ".github/journeyman.yml";
const OWN: &str = ".github/journeyman/pipelines/own.yaml";

/// Two stages that commit, with no reviewer.
const TWO: &str = "\
name: own
version: 1
stages:
  - name: implement
    agent: developer
    command: develop
    arguments: ['{{issue.title}}', '{{issue.body}}']
    checks: [pushed_commit, policy, tests]
    escalate_on_exhaust: human_approval
  - name: polish
    depends_on: [implement]
    agent: developer
    command: develop
    arguments: ['{{issue.title}}', '{{issue.body}}']
    checks: [pushed_commit, policy, tests]
    escalate_on_exhaust: human_approval
  - name: publish
    depends_on: [polish]
    uses: publish
    agent: developer
    command: create_pull_request
    arguments: ['{{issue.number}}', '{{issue.title}}', '{{issue.body}}', '', '{{polish.changed}}']
  - { name: ready, uses: ready, depends_on: [publish] }
";

/// The first stage is never right; the second is.
const WORK: &str = "
- stage: implement
  run: echo 4$JOURNEYMAN_ROUND > answer && git commit -q -a -m 'Try an answer' && git push -q -f origin HEAD
- stage: implement
  round: 2
  run: echo 44 > answer && git commit -q -a -m 'Try an answer' && git push -q -f origin HEAD
- stage: polish
  run: echo 42 > answer && git commit -q -a -m 'Give the right answer' && git push -q -f origin HEAD
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_that_rests_on_what_a_person_accepted_is_never_verified() {
    let work = WORK.replacen("echo 4$JOURNEYMAN_ROUND", "echo 43", 1);
    let world =
        Story::of(&work).file(SETTINGS, "test: sh test.sh\npipeline: own\n").file(OWN, TWO).labeled().await;
    world.settled_as("escalated").await;
    world.comment(MAINTAINER, "/approve").await;
    let ended = world.settled().await;
    assert_eq!(world.handed_over("answer"), "42\n", "the second stage has passed its checks");
    let body = world.pull().issue.body;
    assert!(body.contains("### ⚠️ Approved by a person, not verified"), "{body}");
    assert!(!body.contains("✅"), "{body}");
    assert_eq!(ended.word(), "approved", "{}", ended.because());

    // Another App's check does not change that.
    let head = world.pull().head_sha;
    world.github.ci(REPOSITORY).pass_job(&head, "elsewhere").expect("a check");
    let ended = world.settled().await;
    assert!(ended.moves().iter().any(|name| name == "answer/1/read"), "{:?}", ended.moves());
    let body = world.pull().issue.body;
    assert!(body.contains("### ⚠️ Approved by a person, not verified"), "{body}");
    assert!(!body.contains("✅"), "{body}");
    assert_eq!(ended.word(), "approved", "{}", ended.because());
    let receipt = journeyman::order::Receipt::of(&ended.journal, &ended.projection);
    assert!(!receipt.verified, "{receipt:?}");
    insta::assert_snapshot!(world.surfaces().await, @"
    label: done
    status: Approved by mona, not verified
    check: Approved by a person, not verified: 2 of 2 tests pass (Some(Neutral))
    pull: ⚠️ Approved by a person, not verified (ready)
    receipt: approved / approved by a person, not verified / false
    api: approved / false
    exit: 4
    attestation: FAILED
    ");
    world.end().await;
}
