//! A failure goes back to the agent with its details; repeated failure goes to a person.

use std::time::Duration;

use crate::world::Story;

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
        "attempt 2 of 3", "the answer is right", "# expected 42, found 43", "exit code 1",
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
