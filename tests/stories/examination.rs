//! An examiner who never sees the change says beforehand what it must do, and every change is checked against that.

use crate::world::Story;

const SETTINGS: &str = "test: sh test.sh\nexamine: changes\n";

/// None of its tests contains the answer.
const TEST: &str = r#"echo 1..2
failed=0
check() { # number, name, expected, found
  if [ "$3" = "$4" ]; then echo "ok $1 - $2"; else echo "not ok $1 - $2"; failed=1; fi
}
check 1 "there is a question" yes "$([ -s question ] && echo yes)"
check 2 "there is an answer" yes "$([ -s answer ] && echo yes)"
exit $failed
"#;

/// Two statements: what the issue asks for, and what the README promises.
const EXAMINER: &str = r#"
- stage: examine
  role: examiner
  run: |
    cat > /dev/null
    cat <<'ANSWER'
    {"statements": [
      {"kind": "changes", "quote": "it should say 42", "source": "issue",
       "programs": [{"file": "check.sh", "source": "cat ../answer\necho secret-program >/dev/null\n",
                     "answers": [{"input": "cat answer", "expected": "42"}]}]},
      {"kind": "stays", "quote": "There is always a question.", "source": "README.md",
       "programs": [{"file": "check.sh", "source": "test -s ../question && echo yes\n",
                     "answers": [{"input": "the question", "expected": "yes"}]}]}
    ], "contradictions": []}
    ANSWER
"#;

/// Fixes something else.
const OTHER: &str = r#"
- stage: implement
  role: developer
  round: 1
  run: |
    cat > /dev/null
    echo 43 > answer && git commit -q -a -m 'Give another answer' && git push -q origin HEAD
  say: The answer is another one now.
"#;

/// The second reading expects this.
fn read_again(expected: &str) -> String {
    format!(
        "
- stage: implement
  role: examiner
  say: '{{\"readings\": [{{\"statement\": 1, \"expected\": {expected}}}]}}'
"
    )
}

fn story(scenes: &str) -> Story {
    Story::of(scenes)
        .file(".github/journeyman.yml", SETTINGS)
        .file("README.md", "# Questions and answers\n\nThere is always a question.\n")
        .file("test.sh", TEST)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_keeps_every_statement_is_verified_without_a_test_of_its_own() {
    let world = story(&format!(
        "{EXAMINER}
- stage: implement
  run: |
    cat > /dev/null
    echo 42 > answer && git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
  say: The answer is right now.
"
    ))
    .labeled()
    .await;
    world.settled_as("verified").await;
    let body = world.pull().issue.body;
    assert!(body.contains("### ✅ Verified\n"), "{body}");
    let said: Vec<&str> = body.lines().filter(|line| line.contains("statement")).collect();
    insta::assert_snapshot!(said.join("\n"), @r###"
    - **Red before, green now:** No test proves the change, because it adds and edits none. 1 of 1 statements of the issue hold, 1 of 1 promises are kept.
    - statement 1 (issue: “it should say 42”) holds
    - statement 2 (README.md: “There is always a question.”) holds
    "###);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_author_hears_a_sentence_and_an_input_and_never_the_program() {
    let right = "
- stage: implement
  role: developer
  round: 2
  run: |
    prompt=$(cat)
    case \"$prompt\" in *secret-program*) exit 1 ;; esac
    case \"$prompt\" in *'it should say 42'*'cat answer gives 43, and 42 is expected'*) echo 42 > answer ;; esac
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD
  say: The answer is right now.
";
    let world = story(&format!("{EXAMINER}{OTHER}{right}{}", read_again("\"42\""))).labeled().await;
    world.settled_as("verified").await;
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_is_read_otherwise_a_second_time_counts_neither_way() {
    let world = story(&format!("{EXAMINER}{OTHER}{}", read_again("null"))).labeled().await;
    let ended = world.settled().await;
    let body = world.pull().issue.body;
    insta::assert_snapshot!(format!("{}: {}", ended.word(), ended.because()), @"unproven: passing, not proven: no test that failed before passes now, and the change adds and edits no test");
    assert!(body.contains("⚠️ statement 1"), "{body}");
    world.end().await;
}
