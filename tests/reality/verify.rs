//! `journeyman verify` on a local repository: what it prints, its exit codes, and that it leaves everything as it was.

use std::fs::File;

use serde_json::Value;

use super::local::{Desk, Tests};
use super::program::journeyman;

macro_rules! sample {
    ($file:literal) => {
        include_str!(concat!("../../crates/languages/samples/python-unittest/", $file))
    };
}

const BEFORE: [&str; 2] = [sample!("before/median.py"), sample!("before/test_median.py")];
const FIX: [&str; 2] = [sample!("fix/median.py"), sample!("fix/test_median.py")];
const ISSUE: &str = sample!("issue.md");

/// The examiner gives up, and the reviewer is content.
const AGENT: &str = "
- stage: examine
  say: I cannot tell.
- stage: verify
  role: code_reviewer
  say: '{\"passed\": true, \"score\": 0.9, \"summary\": \"Both middle values count.\", \"issues\": []}'
";

/// A Python project, its code and its tests: the branch `fix` is checked out and one commit ahead of `trunk`.
fn desk(base: [&str; 2], head: [&str; 2]) -> Desk {
    let desk = Desk::new(AGENT, Tests::None);
    desk.git("rm -q sum.sh");
    let commit = |[code, tests]: [&str; 2], message: &str| {
        desk.write("repository/median.py", code);
        desk.write("repository/test_median.py", tests);
        desk.write("message", message);
        desk.git("add -A");
        desk.git("commit -q -F ../message");
    };
    commit(base, "Begin");
    desk.git("checkout -q -b fix");
    commit(head, "Take the mean of the middle two\n\nOf an even number of values there are two.\n");
    desk
}

/// Everything that must stay in the repository.
fn state(desk: &Desk) -> [String; 3] {
    ["symbolic-ref HEAD", "for-each-ref", "status --porcelain"].map(|words| desk.git(words))
}

/// The lines of the result, without their details.
fn lines(printed: &str) -> Vec<&str> {
    let (_, findings) = printed.split_once("\n\n").expect("the verdict, and what was found");
    findings.lines().filter(|line| !line.starts_with(' ')).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fix_with_its_test_is_verified_against_a_remotes_branch_and_nothing_changes() {
    let desk = desk(BEFORE, FIX);
    desk.git("update-ref refs/remotes/origin/main trunk");
    desk.write("repository/median.py", "I am at work on this\n");
    let before = state(&desk);

    let ended = desk.journeyman(&["verify", "--repo", "repository", "--base", "origin/main"]).await;

    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.printed.starts_with("Verified, not examined\n\n"), "{}", ended.printed);
    let lines = lines(&ended.printed);
    let labels: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    let expected = [
        "What ran", "Red before, green now", "Existing tests", "Strength of the tests",
        "What was not verified",
    ];
    assert_eq!(labels, expected, "{}", ended.printed);
    assert!(lines[0].contains("4 passed, 0 failed"), "{}", ended.printed);
    assert!(lines[1].contains("test_even"), "{}", ended.printed);
    assert_eq!(state(&desk), before);
    assert_eq!(desk.git("diff --name-only"), "median.py");
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_an_agent_nor_a_key_is_needed() {
    let desk = desk(BEFORE, FIX);
    desk.write("none.toml", "[defaults]\nagent = \"claude\"\n");

    let arguments = ["verify", "--repo", "repository", "--base", "trunk", "--config", "none.toml"];
    let ended = desk.journeyman(&arguments).await;

    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.printed.contains("a review by a second agent"), "{}", ended.printed);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_verifies_here_is_not_bound_by_what_the_repository_has_verified_on_github() {
    let desk = desk(BEFORE, FIX);
    desk.git("checkout -q trunk");
    desk.commit("repository/.github/journeyman.yml", "verify: never\n");
    desk.git("checkout -q fix");
    desk.git("rebase -q trunk");

    let ended = desk.journeyman(&["verify", "--repo", "repository", "--base", "trunk"]).await;

    assert_eq!(ended.code, Some(0), "{}", ended.said);
    assert!(ended.printed.starts_with("Verified, not examined\n\n"), "{}", ended.printed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_that_lost_a_file_of_the_base_or_the_head_is_refused_at_once_with_its_name() {
    for branch in ["trunk", "fix"] {
        let desk = desk(BEFORE, FIX);
        let lost = desk.git(&format!("rev-parse {branch}:median.py"));
        let (folder, rest) = lost.split_at(2);
        std::fs::remove_file(desk.path("repository/.git/objects").join(folder).join(rest))
            .expect("it is loose");

        let ended = desk.journeyman(&["verify", "--repo", "repository", "--base", "trunk"]).await;

        let says = format!("the clone lacks the object {} of median.py: `git fetch --refetch`", &lost[..8]);
        assert_eq!(ended.code, Some(2), "{}", ended.said);
        assert!(ended.said.contains(&says), "{says:?} is not in {}", ended.said);
        assert!(!ended.said.contains("order "), "nothing was begun: {}", ended.said);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failing_tests_print_is_shown() {
    let desk = desk(BEFORE, [BEFORE[0], FIX[1]]);

    let ended = desk.journeyman(&["verify", "--repo", "repository", "--base", "trunk"]).await;

    assert_eq!(ended.code, Some(3), "{}", ended.said);
    let (_, output) =
        ended.printed.split_once("\nThe end of the output:\n\n").expect("the end of the output");
    assert!(output.contains("  AssertionError: "), "{output}");
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_that_cannot_be_installed_are_told_with_the_end_of_the_output_and_advice_for_the_base() {
    let desk = desk(BEFORE, FIX);
    desk.git("checkout -q trunk");
    let settings = "setup: 'echo collecting roads; echo \"ERROR: no such package: roads\" >&2; exit 3'\n\
                    test: python3 -m unittest\n";
    desk.commit("repository/.github/journeyman.yml", settings);
    desk.git("checkout -q fix");
    desk.git("rebase -q trunk");

    let ended = desk.journeyman(&["verify", "--repo", "repository", "--base", "trunk"]).await;

    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(ended.printed.starts_with("The tests' packages could not be installed\n"), "{}", ended.printed);
    for words in [
        "ended with exit code 3: ERROR: no such package: roads. Change `setup` in .github/journeyman.yml on the base, or",
        "\nThe end of the output:\n\n  collecting roads\n  ERROR: no such package: roads\n",
    ] {
        assert!(ended.printed.contains(words), "{words:?} is not in {}", ended.printed);
    }
    assert!(!ended.said.contains("default branch"), "{}", ended.said);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_reports_no_test_is_said_to_have_run_none_with_what_it_printed() {
    let desk = desk(BEFORE, FIX);
    desk.git("checkout -q trunk");
    let test = "echo \"<testsuites tests=\\\"0\\\"/>\" > report.xml; echo Nothing was compiled.";
    desk.commit("repository/.github/journeyman.yml", &format!("test: '{test}'\nreport: report.xml\n"));
    desk.git("checkout -q fix");
    desk.git("rebase -q trunk");

    let ended = desk.journeyman(&["verify", "--repo", "repository", "--base", "trunk"]).await;

    assert_eq!(ended.code, Some(4), "{}", ended.said);
    assert!(ended.printed.starts_with("Unverified\n"), "{}", ended.printed);
    assert!(ended.printed.contains("ran no test"), "{}", ended.printed);
    assert!(!ended.printed.contains("no evidence that this test suite can fail"), "{}", ended.printed);
    let end = "\nThe end of the output:\n\n  Nothing was compiled.\n";
    assert!(ended.printed.contains(end), "{}", ended.printed);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_its_output_is_no_terminal_a_line_says_which_run_of_the_tests_is_made() {
    let slow = |tests: &str| format!("import time\n\ntime.sleep(1)\n{tests}");
    let (before, after) = (slow(BEFORE[1]), slow(FIX[1]));
    let desk = desk([BEFORE[0], &before], [BEFORE[0], &after]);

    let ended = desk.journeyman(&["verify", "--repo", "repository", "--base", "trunk"]).await;

    let told: Vec<&str> = ended.said.lines().filter(|line| line.starts_with("  … tests: the ")).collect();
    assert!(told.iter().all(|line| line.contains(" code")) && !told.is_empty(), "{}", ended.said);
    assert!(!ended.printed.contains("tests: the "), "{}", ended.printed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_test_that_is_weakened_instead_of_mended_is_a_failed_check() {
    let weakened = FIX[1].replace("2.5", "3");
    let desk = desk([BEFORE[0], FIX[1]], [sample!("wrong/median.py"), &weakened]);
    // Without a base, the default branch of the remote is it.
    desk.git("update-ref refs/remotes/origin/main trunk");
    desk.git("symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main");

    let ended = desk.journeyman(&["verify", "--repo", "repository"]).await;

    assert_eq!(ended.code, Some(3), "{}", ended.said);
    assert!(ended.printed.starts_with("Not verified\n"), "{}", ended.printed);
    assert!(ended.printed.contains("test_even"), "{}", ended.printed);
}

#[test]
fn the_issue_comes_from_standard_input_and_the_receipt_as_json_names_the_review() {
    let desk = desk(BEFORE, FIX);
    desk.write("bug.md", ISSUE);
    let mut command = journeyman(
        desk.folder(),
        &["verify", "--repo", "repository", "--base", "trunk", "--agent", "worker", "--issue", "-", "--json"],
    );
    command.stdin(File::open(desk.path("bug.md")).expect("the issue"));

    let output = command.output().expect("it runs");

    let (printed, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{printed}{said}");
    let receipt: Value = serde_json::from_str(&printed).expect("standard output is JSON alone");
    assert_eq!((&receipt["verified"], &receipt["verdict"]), (&Value::Bool(true), &"verified".into()));
    assert_eq!(receipt["commit"], desk.git("rev-parse fix").as_str());
    assert_eq!(receipt["base"], desk.git("rev-parse trunk").as_str());
    assert_eq!(receipt["review"]["summary"], "Both middle values count.", "{receipt:#}");
    assert_eq!(receipt["pull_request"], 2, "the issue is the first: {receipt:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_usage_ends_with_2_and_a_sentence() {
    let desk = desk(BEFORE, FIX);
    let cases: &[(&[&str], &str)] = &[
        (
            &["--base", "trunk", "--head", "trunk"],
            "--head has no commit that --base lacks: there is nothing to verify",
        ),
        (&["--base", "fix"], "--head has no commit that --base lacks: there is nothing to verify"),
        (&["--base", "nowhere"], "--base nowhere: there is no such branch or commit here"),
        (&["--base", "trunk", "--head", "nowhere"], "--head nowhere: there is no such branch or commit here"),
        (&[], "--base: say which branch the change is to be merged into"),
        (&["--base", "trunk", "--issue", "-"], "--issue -: standard input is empty"),
        (&["--base", "trunk", "--issue", "nothing.md"], "nothing.md"),
        (&["--base", "trunk", "--agent", "bob"], "known are claude, "),
    ];
    for (more, says) in cases {
        let ended = desk.journeyman(&[&["verify", "--repo", "repository"], *more].concat()).await;
        assert_eq!(ended.code, Some(2), "{more:?}: {}", ended.said);
        assert!(ended.said.contains(says), "{more:?} does not say {says:?}: {}", ended.said);
        assert!(ended.printed.is_empty() && !ended.said.contains("panicked"), "{}", ended.said);
    }
}
