//! A repository's own settings in `.github/journeyman.yml`.

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL};

const SETTINGS: &str = ".github/journeyman.yml";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_label_of_its_own_starts_the_work_and_the_common_one_does_not() {
    let story = Story::of(WELL).file(SETTINGS, "label: robot\ntest: sh test.sh\n");
    let world = story.labeled().await;
    world.quiet().await;
    assert!(world.orders().await.is_empty(), "journeyman is another label here");
    assert!(world.thread().comments.is_empty());
    world.github.label(REPOSITORY, world.issue, "robot", MAINTAINER).await.expect("the issue is there");
    assert_eq!(world.settled().await.word(), "verified");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_test_command_is_what_judges_from_the_base_and_never_from_the_change() {
    let world = Story::of(
        "
- stage: implement
  run: |
    printf 'echo 1..1; echo ok 1 - fine\\n' > test.sh
    git commit -q -a -m 'Make the tests pass' && git push -q origin HEAD
",
    )
    .file(SETTINGS, "test: '[ \"$(cat answer)\" = 42 ]'\n")
    .labeled()
    .await;
    world.settled_as("escalated").await;
    assert!(world.pull().draft);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_that_the_change_breaks_is_feedback_and_said_as_such() {
    let settings = "setup: sh setup.sh\ntest: sh test.sh\n";
    let again = WELL.replace(
        "echo 42 > answer",
        "cat; echo 42 > answer; echo $JOURNEYMAN_ROUND > round; git add round
    echo 'echo no such package: roads >&2; exit 3' > setup.sh",
    );
    let again = again.replace("  say: The answer is right now.\n", "");
    let story = Story::of(&again).file(SETTINGS, settings).file("setup.sh", "true\n");
    let world = story.labeled().await;
    let ended = world.settled_as("escalated").await;
    assert!(ended.because().contains("the setup ended with exit code 3"), "{}", ended.because());
    let told = ended.said("implement/2/agent");
    assert!(told.contains("no such package: roads"), "{told}");
    assert!(world.pull().draft);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_setup_that_fails_costs_no_round_and_no_dollar_and_the_work_begins_once_it_is_mended() {
    let settings = "setup: 'echo no such package: roads >&2; exit 3'\ntest: sh test.sh\n";
    let world = Story::of(WELL).file(SETTINGS, settings).labeled().await;
    let ended = world.settled().await;
    assert_eq!((ended.word(), ended.projection.trace.usage.usd), ("unprepared", 0.0));
    assert!(!ended.moves().iter().any(|name| name.contains("agent")), "{:?}", ended.moves());
    let comment = world.thread().comments.first().map(|comment| comment.body.clone()).unwrap_or_default();
    let shown: Vec<&str> =
        comment.lines().take_while(|line| !line.starts_with("**What you can do")).collect();
    insta::assert_snapshot!(shown.get(1..8).unwrap_or_default().join("\n"), @r"
    ### Waiting for the repository: its tests cannot run here

    **Environment:** .github/journeyman.yml, which has setup

    **Blockers**

    - The setup \`echo no such package: roads \>\&2; exit 3\` ended with exit code 3: no such package: roads. Change \`setup\` in .github/journeyman.yml on the default branch, or what it installs.
    ");
    let mended = [(SETTINGS.to_owned(), Some(b"setup: 'true'\ntest: sh test.sh\n".to_vec()))];
    let pushed = world.github.push_commit(REPOSITORY, "main", MAINTAINER, "Mend the setup", mended.into());
    pushed.await.expect("it is pushed");
    world.settled_as("verified").await;
    world.end().await;
}

/// Tests that their runner should have prepared.
const UNPREPARED: &str = "
import unittest
class Answer(unittest.TestCase):
    def test_one(self):
        raise RuntimeError('settings are not configured for 1')
    def test_two(self):
        raise RuntimeError('settings are not configured for 2')
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_that_all_fail_in_the_same_way_cost_nothing_unless_that_is_the_issue() {
    let settings = "test: python3 -m unittest -v\n";
    let story = || Story::of(WELL).file(SETTINGS, settings).file("test_answer.py", UNPREPARED);
    let world = story().labeled().await;
    let ended = world.settled().await;
    assert_eq!((ended.word(), ended.projection.trace.usage.usd), ("unprepared", 0.0));
    assert!(!ended.moves().iter().any(|name| name.contains("agent")), "{:?}", ended.moves());
    let because = ended.because();
    let told = "all fail in the same way, so that the environment is probably wrong: RuntimeError: settings are not configured \
                for 1. ";
    assert!(because.contains(told), "{because}");
    assert!(because.contains("as `setup` in .github/journeyman.yml"), "{because}");
    world.end().await;

    let world = story().issue("The tests", "All tests fail since yesterday.").labeled().await;
    let ended = world.settled().await;
    assert!(ended.moves().iter().any(|name| name.contains("agent")), "{:?}", ended.moves());
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_protected_path_is_not_published_and_the_agent_hears_why() {
    let world = Story::of(
        "
- stage: implement
  round: 1
  run: |
    mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml && echo 42 > answer
    git add -A && git commit -q -m 'Give the right answer, and a workflow' && git push -q origin HEAD
- stage: implement
  run: |
    cat
    git rm -q -r .github/workflows && git commit -q -m 'Leave the workflows alone' && git push -q origin HEAD
",
    )
    .labeled()
    .await;
    let ended = world.settled_as("verified").await;
    let told = ended.said("implement/2/agent");
    assert!(told.contains(".github/workflows/ci.yml") && told.contains("protected"), "{told}");
    assert_eq!(world.git(&["diff", "--name-only", "main", &world.pull().head]), "answer");
    assert_eq!(world.git(&["rev-list", "--count", &format!("main..{}", world.pull().head)]), "1");
    let objects = world.git(&["rev-list", "--all", "--objects"]);
    assert!(!objects.contains("ci.yml"), "what was refused never reached GitHub: {objects}");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_ends_the_rounds_and_the_best_attempt_is_kept() {
    let world = Story::of(
        "
- stage: implement
  usd: 0.5
  run: |
    echo 4$JOURNEYMAN_ROUND > answer; echo $JOURNEYMAN_ROUND > round; git add round
    git commit -q -a -m 'Try an answer' && git push -q origin HEAD
",
    )
    .file(SETTINGS, "test: '[ -e never ]'\nbudget: { usd: 0.3 }\n")
    .labeled()
    .await;
    let ended = world.settled_as("escalated").await;
    assert_eq!(ended.runs_of("implement"), 1);
    let status = world.status_comment();
    assert!(status.contains("budget of \\$0.30 is spent") || status.contains("budget of"), "{status}");
    assert!(world.pull().draft);
    world.end().await;
}

/// The same scenes, with a developer that prints its prompt.
fn repeating(scenes: &str) -> String {
    scenes.replace("run: |", "run: |\n    cat").replace("  say: The answer is right now.\n", "")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipeline_of_the_repositorys_own_uses_its_commands_for_claude_code_in_a_folder_with_the_issue_as_json()
 {
    const PIPELINE: &str = "
name: own
version: 1
stages:
  - name: implement
    agent: developer
    command: /agent-work-orders/bug
    arguments: ['{{issue.json}}']
    checks: [pushed_commit, tests]
";
    let world = Story::of(&repeating(WELL))
        .file(SETTINGS, "test: sh test.sh\npipeline: own\n")
        .file(".github/journeyman/pipelines/own.yaml", PIPELINE)
        .file(".claude/commands/agent-work-orders/bug.md", "Mend this: $ARGUMENTS\n")
        .labeled()
        .await;
    let ended = world.settled().await;
    let said = ended.said("implement/1/agent");
    let json = said.split_once("Mend this: ").and_then(|(_, rest)| rest.lines().next()).unwrap_or_default();
    let issue: serde_json::Value =
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(
        (&issue["number"], &issue["title"]),
        (&world.issue.into(), &"The answer is wrong".into()),
        "{issue}"
    );
    assert!(
        issue["body"].is_string() && issue["html_url"].is_string() && issue["labels"].is_array(),
        "{issue}"
    );
    world.end().await;
}
