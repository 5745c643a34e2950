//! What fails goes back to the agent with what failed; what keeps failing goes to a person.

use std::time::Duration;

use crate::world::{REPOSITORY, Story};

/// Writes an answer and pushes it.
fn answers(round: u32, answer: u32) -> String {
    format!(
        "
- stage: implement
  round: {round}
  usd: 0.05
  run: |
    cat
    echo {answer} > answer
    git commit -q -a -m 'Give the answer {answer}' && git push -q origin HEAD
"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_tests_send_the_agent_back_with_their_names_and_the_end_of_their_output() {
    let world = Story::of(&(answers(1, 43) + &answers(2, 42))).labeled().await;
    let ended = world.settled_as("verified").await;

    let first = ended.said("implement/1/agent");
    assert!(!first.contains("attempt"), "the first round hears of no attempts: {first}");
    assert!(first.contains("Write 42 into answer") && first.contains("It says 41, and it should say 42."));
    let second = ended.said("implement/2/agent");
    for told in [
        "attempt 2 of 3",
        "the answer is right",
        "# expected 42, found 43",
        "exit code 1",
        "1 passed, 1 failed",
    ] {
        assert!(second.contains(told), "{told:?} is not in the second round's prompt: {second}");
    }
    let failing = second.find("the answer is right").expect("the failing test is named");
    assert!(failing < second.len(), "{second}");
    assert!(second.contains("small, targeted changes"), "{second}");
    assert!(world.pull().issue.body.contains("after 2 rounds"), "{}", world.pull().issue.body);
    assert_eq!(world.git(&["rev-list", "--count", "main..journeyman/issue-1-right-answer"]), "1");
    let pushes = world.calls("POST", "git-receive-pack");
    assert_eq!(pushes.len(), 1, "only what passed is pushed: {pushes:#?}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_that_a_ruleset_declines_sends_the_agent_back_with_the_rules_pattern() {
    let amends = "
- stage: publish
  round: 2
  run: cat; git commit -q --amend -m 'JM-7 Give the answer 42' && git push -q --force origin HEAD
";
    let world = Story::of(&(answers(1, 42) + amends)).begin().await;
    let rule = serde_json::json!({"operator": "regex", "pattern": "^JM-[0-9]+ ", "negate": false});
    world.github.add_rule(REPOSITORY, ("**", "commit_message_pattern"), rule, false).expect("a rule");
    world.label().await;
    let ended = world.settled_as("verified").await;

    let heard = ended.said("publish/2/agent");
    for told in ["GH013: Repository rule violations found", "\"pattern\":\"^JM-[0-9]+ \""] {
        assert!(heard.contains(told), "{told:?} is not in the prompt: {heard}");
    }
    assert_eq!(world.git(&["log", "-1", "--format=%s", &world.pull().head]), "JM-7 Give the answer 42");
    assert_eq!(
        (ended.runs_of("implement"), ended.runs_of("publish")),
        (1, 2),
        "who publishes made that commit's words"
    );
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_attempts_run_out_the_best_one_is_handed_over_as_a_draft() {
    let worse = "
- stage: implement
  run: |
    git rm -q --ignore-unmatch question; echo $JOURNEYMAN_ROUND > answer
    git commit -q -a -m 'Try something else' && git push -q origin HEAD
  say: All tests pass.
";
    let best = "
- stage: implement
  round: 2
  run: |
    git checkout -q HEAD~1 -- question; echo 43 > answer
    git commit -q -a -m 'Give the answer 43' && git push -q origin HEAD
  say: All tests pass.
";
    let world = Story::of(&format!("{best}{worse}")).labeled().await;
    let ended = world.settled_as("escalated").await;

    assert_eq!((ended.runs_of("implement"), ended.judged_of("implement")), (3, 1), "the tech lead flags it");
    let pull = world.pull();
    assert!(pull.draft, "what is not verified stays a draft");
    assert_eq!(world.github.file(REPOSITORY, &pull.head, "answer").as_deref(), Some(&b"43\n"[..]));
    assert!(pull.issue.body.contains("❌ Not verified"), "{}", pull.issue.body);
    assert!(pull.issue.body.contains("1 passed, 1 failed"), "{}", pull.issue.body);
    assert_eq!(world.labels(), ["journeyman", "journeyman:needs-human"]);
    let status = world.status_comment();
    assert!(status.contains("round 2 came closest: 1 passed, 1 failed"), "{status}");
    assert!(status.contains("0 passed, 2 failed") && status.contains("tried 3 times"), "{status}");
    assert!(status.contains("/retry"), "{status}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_without_tests_is_called_unverified_in_so_many_words() {
    let story = Story::of(&answers(1, 42)).without("test.sh").without(".github/journeyman.yml");
    let world = story.labeled().await;
    world.settled_as("unverified").await;

    let pull = world.pull();
    assert!(pull.draft);
    assert!(pull.issue.body.contains("Unverified"), "{}", pull.issue.body);
    assert!(!pull.issue.body.contains("✅"), "{}", pull.issue.body);
    assert_eq!(world.labels(), ["journeyman", "journeyman:needs-human"]);
    let status = world.status_comment();
    assert!(status.contains("Done, but unverified") && status.contains("no tests"), "{status}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_command_that_runs_no_test_verifies_nothing() {
    let story = Story::of(&answers(1, 42)).file("test.sh", "echo 1..0\n");
    let world = story.labeled().await;
    let ended = world.settled_as("unverified").await;

    assert!(ended.because().contains("ran no test"), "{}", ended.because());
    assert!(world.pull().draft);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_that_hang_are_ended_with_all_they_started() {
    let hanging = "[ \"$(cat answer)\" = 42 ] || { echo 1..1; echo not ok 1; exit 1; }\nsleep 300 & echo 'not ok 1 - hangs'; sleep 300\n";
    let story = Story::of(&answers(1, 42))
        .file("test.sh", hanging)
        .settings(|settings| settings.testing.test_time = Duration::from_secs(1));
    let world = story.labeled().await;
    world.settled_as("escalated").await;

    assert!(world.pull().issue.body.contains("timed out"), "{}", world.pull().issue.body);
    world.assert_no_process_is_left().await;
    world.end().await;
}
