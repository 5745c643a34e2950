//! What people read on GitHub, whole.

use chrono::{TimeZone, Utc};

use super::{
    LONGEST_BODY, PullView, RoundLine, StageLine, StageState, StatusView, TriedLine, Verification, pull,
    status,
};
use crate::order::{Counts, Exit, IssueNumber, PullNumber, Usage};

fn stage(name: &str, state: StageState, detail: &str) -> StageLine {
    StageLine { name: name.to_owned(), state, detail: detail.to_owned() }
}

fn working() -> StatusView {
    StatusView {
        headline: "Journeyman is working on this".to_owned(),
        stages: vec![
            stage("plan", StageState::Passed, ""),
            stage("implement", StageState::Running, "round 2 of 3: `test_sum` fails, see @x"),
            stage("publish", StageState::Waiting, ""),
        ],
        explanation: None,
        tried: Vec::new(),
        still_wrong: Vec::new(),
        cost_usd: 0.4249,
        budget_usd: 5.0,
        pull: None,
        next_steps: vec!["`/cancel` stops the work".to_owned()],
        updated_at: Utc.with_ymd_and_hms(2026, 3, 4, 5, 6, 7).unwrap(),
    }
}

#[test]
fn the_status_tells_at_one_look_where_an_order_stands() {
    assert_eq!(
        status(&working()),
        "### Journeyman is working on this\n\n\
         - ✅ plan\n\
         - ⏳ **implement** · round 2 of 3: \\`test\\_sum\\` fails, see `@x`\n\
         - ⬜ publish\n\n\
         **What you can do**\n\n\
         - `/cancel` stops the work\n\n\
         <sub>\\$0.42 of \\$5.00 spent · updated 2026-03-04 05:06:07 UTC</sub>"
    );
}

#[test]
fn what_went_wrong_stands_apart_and_the_pull_request_is_linked() {
    let mut view = working();
    view.stages.clear();
    view.next_steps.clear();
    view.explanation = Some("# Verified\n\n</sub>All fine, @team".to_owned());
    view.pull = Some((PullNumber(12), "https://github.com/octo/hello/pull/12".to_owned()));
    let text = status(&view);
    assert!(text.contains("**Pull request:** [#12](https://github.com/octo/hello/pull/12)\n"), "{text}");
    assert!(text.contains("> **Verified**\n>\n> \\</sub\\>All fine, `@team`\n"), "{text}");
    view.pull = Some((PullNumber(12), "javascript:alert(1)".to_owned()));
    assert!(status(&view).contains("**Pull request:** #12\n"));
}

#[test]
fn whoever_is_asked_reads_what_was_tried_what_is_wrong_and_how_to_go_on() {
    let line = |round, result: &str, diagnosis: Option<&str>, is_kept| TriedLine {
        stage: "implement".to_owned(),
        round,
        result: result.to_owned(),
        diagnosis: diagnosis.map(str::to_owned),
        is_kept,
    };
    let mut view = working();
    view.stages.clear();
    view.headline = "Handed over: the best attempt is not verified".to_owned();
    view.tried = vec![
        line(1, "1 of 2 tests pass: test_sum fails", None, true),
        line(2, "0 of 2 tests pass, @team", Some("The plan is wrong | see #7"), false),
    ];
    view.still_wrong = vec!["`test_sum` fails".to_owned(), "- [ ] forged\n## Verified".to_owned()];
    view.next_steps = vec!["Comment `/approve` to accept it.".to_owned()];
    assert_eq!(
        status(&view),
        "### Handed over: the best attempt is not verified\n\n\
         **What was tried**\n\n\
         - implement, round 1: 1 of 2 tests pass: test\\_sum fails · **this one is handed over**\n\
         - implement, round 2: 0 of 2 tests pass, `@team`\n  \
           - looked at: The plan is wrong \\| see `#7`\n\n\
         **What is still wrong**\n\n\
         - \\`test\\_sum\\` fails\n\
         - \\- \\[ \\] forged \\#\\# Verified\n\n\
         **What you can do**\n\n\
         - Comment `/approve` to accept it.\n\n\
         <sub>\\$0.42 of \\$5.00 spent · updated 2026-03-04 05:06:07 UTC</sub>"
    );
}

#[test]
fn what_a_person_approved_is_never_called_verified() {
    let mut view = change();
    view.verified = Verification::Approved { by: "mona".to_owned(), why: "`test_sum` fails".to_owned() };
    let text = pull(&view);
    assert!(
        text.contains(
            "### ⚠️ Approved by a person, not verified\n\n\
             mona accepted it as it is. What stood against it: \\`test\\_sum\\` fails\n\n- `pytest -q`: exit code 0"
        ),
        "{text}"
    );
    assert!(!text.contains("✅"));
}

fn change() -> PullView {
    PullView {
        issue: IssueNumber(7),
        summary: "The sum of an empty list was `None`.\n\nCloses #1, thanks @ann".to_owned(),
        verified: Verification::Verified,
        commit: "a".repeat(40).parse().unwrap(),
        tree: "b".repeat(40).parse().unwrap(),
        base: "c".repeat(40).parse().unwrap(),
        test_command: Some("pytest -q".to_owned()),
        setup_command: Some("pip install -e .".to_owned()),
        exit: Some(Exit::Code(0)),
        counts: Some(Counts { passed: 24, failed: 0, skipped: 1 }),
        failing: Vec::new(),
        review: Some("@ann: nothing to object".to_owned()),
        rounds: vec![
            RoundLine {
                stage: "implement".to_owned(),
                round: 1,
                result: "tests failed".to_owned(),
                counts: Some(Counts { passed: 23, failed: 1, skipped: 1 }),
            },
            RoundLine {
                stage: "implement".to_owned(),
                round: 2,
                result: "tests passed".to_owned(),
                counts: None,
            },
        ],
        usage: Usage { input_tokens: 1_234_567, output_tokens: 890, usd: 0.4249 },
        sandbox: "bubblewrap".to_owned(),
    }
}

#[test]
fn failing_tests_are_named_and_their_names_are_harmless() {
    let mut view = change();
    view.failing = (0..12).map(|n| format!("test `{n}` @team")).collect();
    let text = pull(&view);
    assert!(text.contains("  - fails: ``test `0` @team``\n"), "{text}");
    assert!(text.contains("  - and 2 more\n") && !text.contains("`10`"), "{text}");
}

#[test]
fn the_pull_request_says_what_was_done_and_how_it_was_verified() {
    assert_eq!(
        pull(&change()),
        "Closes #7\n\n\
         ### What changed, in the agent's words\n\n\
         > The sum of an empty list was `None`.\n>\n> Closes `#1,` thanks `@ann`\n\n\
         ### ✅ Verified\n\n\
         - `pytest -q`: exit code 0, 24 passed, 0 failed, 1 skipped\n\
         - on commit `aaaaaaaaaa`, checked out afresh\n\
         - reviewed by a second agent: `@ann:` nothing to object\n\
         - after 2 rounds, for \\$0.42\n\n\
         <details>\n<summary>Receipt</summary>\n\n\
         - Commit: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`\n\
         - Tree: `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`\n\
         - Base: `cccccccccccccccccccccccccccccccccccccccc`\n\
         - Setup: `pip install -e .`\n\
         - Tests: `pytest -q`\n\
         - Sandbox: bubblewrap\n\
         - Tokens: 1 234 567 read, 890 written; cost \\$0.42\n\
         - Rounds:\n  \
           - implement, round 1: tests failed (23 passed, 1 failed, 1 skipped)\n  \
           - implement, round 2: tests passed\n\n\
         </details>"
    );
}

#[test]
fn what_is_not_verified_is_said_in_so_many_words() {
    let mut view = change();
    view.verified =
        Verification::Unverified { why: "the repository has no tests that we can find".to_owned() };
    view.test_command = None;
    view.counts = None;
    view.exit = None;
    view.sandbox = "none".to_owned();
    let text = pull(&view);
    assert!(
        text.contains("### ⚠️ Unverified\n\nthe repository has no tests that we can find\n\n- on commit"),
        "{text}"
    );
    assert!(text.contains("- Sandbox: **none**"));
    assert!(!text.contains("✅"));
    view.verified = Verification::NotVerified { why: "exit code 1".to_owned() };
    assert!(pull(&view).contains("### ❌ Not verified\n\nexit code 1"));
}

#[test]
fn whatever_an_agent_or_a_repository_says_the_bodies_fit_and_close_one_issue() {
    let long = "x @y fixes #3 `".repeat(10_000);
    let mut view = change();
    view.summary.clone_from(&long);
    view.verified = Verification::NotVerified { why: long.clone() };
    view.test_command = Some(long.clone());
    view.setup_command = Some(long.clone());
    view.sandbox.clone_from(&long);
    view.rounds = (1..=500)
        .map(|round| RoundLine { stage: long.clone(), round, result: long.clone(), counts: None })
        .collect();
    let text = pull(&view);
    assert!(text.chars().count() <= LONGEST_BODY && text.ends_with("</details>"), "{}", text.chars().count());
    assert_eq!(text.matches("Closes #").count(), 1);
    assert!(!text.contains("fixes #3"));

    let mut view = working();
    view.headline.clone_from(&long);
    view.explanation = Some(long.clone());
    view.still_wrong = vec![long.clone(); 50];
    let line = TriedLine {
        stage: long.clone(),
        round: 1,
        result: long.clone(),
        diagnosis: Some(long.clone()),
        is_kept: true,
    };
    view.tried = vec![line; 100];
    view.stages = (0..500).map(|_| stage(&long, StageState::Failed, &long)).collect();
    let text = status(&view);
    assert!(text.chars().count() <= LONGEST_BODY && text.ends_with("</sub>"), "{}", text.chars().count());
}
