//! An issue in prose: its plan holds a test that was written before there was a change, and the change is held against it.

use crate::world::{MAINTAINER, Story};

/// Every file below `tests` is a test.
const TESTS: &str = r#"number=0
failed=0
for file in tests/*.sh; do
  number=$((number + 1))
  if sh "$file"; then echo "ok $number - $file"; else echo "not ok $number - $file"; failed=1; fi
done
echo "1..$number"
exit $failed
"#;

/// The plan of a bug, with a test that fails as long as the answer is not 42.
const PLAN: &str = r"
- stage: plan
  run: |
    mkdir -p .journeyman/plans
    cat > .journeyman/plans/issue-1-answer.md <<'PLAN'
    # The answer is wrong

    - **Change**: the answer, in `answer`.
    - **Reproduction**: `tests/answer.sh`

      ```sh
      test $(cat answer) = 42
      ```
    - **How to verify**: `sh test.sh`
    PLAN
  say: .journeyman/plans/issue-1-answer.md
";

/// Mends something else, and has a test of just that.
const OTHER: &str = "
- stage: implement
  round: 1
  run: |
    echo 43 > answer && echo 'test $(cat answer) = 43' > tests/own.sh
    git add -A && git commit -q -m 'Give another answer' && git push -q origin HEAD
  say: The answer is another one now.
";

fn story(work: &str) -> Story {
    Story::of(&format!("{PLAN}{OTHER}{work}"))
        .file("test.sh", TESTS)
        .file("tests/question.sh", "test -s question\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_with_a_test_of_its_own_is_held_against_the_test_of_the_plan() {
    let world = story(
        "
- stage: implement
  round: 2
  run: |
    case \"$(cat)\" in *'Make the code do what the plan'*'reproduction expects'*) echo 42 > answer ;; esac
    sed -i s/43/42/ tests/own.sh && git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
",
    )
    .labeled()
    .await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    // The agent was told once, and the pull request says what became of it.
    let body = world.pull().issue.body;
    let said: Vec<&str> = body.lines().filter(|line| line.contains("reproduction")).collect();
    insta::assert_snapshot!(said.join("\n"), @r###"
    - the plan's reproduction tests/answer.sh fails on the code before the change and passes with it
      - implement, round 1: passing, not proven: the plan's reproduction tests/answer.sh still fails with the change: tests/answer.sh (2 passed, 0 failed, 0 skipped)
    "###);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_the_test_of_the_plan_does_not_pass_with_is_not_verified_unless_a_person_says_so() {
    let world = story(
        "
- stage: implement
  say: 'No test: the reproduction wants 42, and the issue does not say that.'
",
    )
    .labeled()
    .await;
    let ended = world.settled().await;
    insta::assert_snapshot!(format!("{}: {}", ended.word(), ended.because()), @r###"
    unproven: passing, not proven: the plan's reproduction tests/answer.sh still fails with the change: tests/answer.sh; the agent says of a test: “the reproduction wants 42, and the issue does not say that.”
    "###);
    world.comment(MAINTAINER, "/approve").await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "approved", "{}", ended.because());
    assert!(world.pull().issue.body.contains("❌ the plan's reproduction tests/answer.sh still fails"));
    world.end().await;
}
