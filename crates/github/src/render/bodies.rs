//! What people read on GitHub, whole.

use chrono::{TimeZone, Utc};

use super::{
    LONGEST_BODY, PullBodyView, ReceiptCommandRun, ReceiptReview, ReceiptView, RepositoryLinks, RoundLine,
    SlashCommandLine, StageLine, StageLineState, StatusAttemptLine, StatusView, pull, status,
};
use journeyman_order::trace::CiTrace;
use journeyman_order::{
    AgentUsage, Category, Exit, Finding, Inconclusive, IssueNumber, PullNumber, Severity, TestCounts, Verdict,
};

fn stage(name: &str, state: StageLineState, detail: &str, seconds: Option<u64>) -> StageLine {
    StageLine { name: name.to_owned(), state, detail: detail.to_owned(), seconds }
}

fn working() -> StatusView {
    StatusView {
        headline: "Journeyman is at work on this".to_owned(),
        now: vec!["developer is at work (implement)".to_owned()],
        stages: vec![
            stage("plan", StageLineState::Passed, "", Some(64)),
            stage(
                "implement",
                StageLineState::Running,
                "round 2 of 3: `test_sum` fails, see @x",
                Some(3_725),
            ),
            stage("publish", StageLineState::Waiting, "", None),
        ],
        is_over: false,
        problems: Vec::new(),
        explanation: None,
        attempts: Vec::new(),
        still_wrong: Vec::new(),
        commands: Vec::new(),
        notes: Vec::new(),
        cost_usd: 0.4249,
        budget_usd: 5.0,
        seconds: 3_789,
        pull: None,
        dashboard: None,
        next_steps: vec!["`/cancel` stops the work".to_owned()],
        updated_at: Utc.with_ymd_and_hms(2026, 3, 4, 5, 6, 7).unwrap(),
    }
}

#[test]
fn the_status_tells_at_one_look_where_an_order_stands() {
    assert_eq!(
        status(&working()),
        "### Journeyman is at work on this\n\n\
         **Now:** developer is at work (implement)\n\n\
         - [x] plan · 1m 4s\n\
         - [ ] ⏳ **implement** · round 2 of 3: \\`test\\_sum\\` fails, see `@x` · 1h 2m\n\
         - [ ] publish\n\n\
         **What you can do**\n\n\
         - `/cancel` stops the work\n\n\
         <sub>\\$0.42 of \\$5.00 spent · 1h 3m at work · updated 2026-03-04 05:06:07 UTC</sub>"
    );
}

#[test]
fn what_is_over_is_folded_and_what_was_said_and_found_stands_below() {
    let mut view = working();
    view.headline = "Merged by @mona".to_owned();
    (view.now, view.is_over) = (Vec::new(), true);
    view.seconds = 266_400;
    view.pull = Some((PullNumber(12), "https://github.com/octo/hello/pull/12".to_owned()));
    view.dashboard = Some("https://bot.example.org/".to_owned());
    let said = |command: &str, ignored: Option<&str>| SlashCommandLine {
        command: command.to_owned(),
        by: "mona".to_owned(),
        ignored: ignored.map(str::to_owned),
    };
    view.commands = vec![said("/retry", None), said("/approve", Some("nothing waits, see #7"))];
    view.notes = vec!["The issue was edited after the start, @team.".to_owned()];
    view.next_steps.clear();
    assert_eq!(
        status(&view),
        "### Merged by `@mona`\n\n\
         **Pull request:** [#12](https://github.com/octo/hello/pull/12) · [dashboard](https://bot.example.org/)\n\n\
         <details>\n<summary>1 of 3 stages passed</summary>\n\n\
         - [x] plan · 1m 4s\n\
         - [ ] ⏳ **implement** · round 2 of 3: \\`test\\_sum\\` fails, see `@x` · 1h 2m\n\
         - [ ] publish\n\n\
         </details>\n\n\
         **What was said last**\n\n\
         - `/retry` by mona: done\n\
         - `/approve` by mona changed nothing: nothing waits, see `#7`\n\n\
         **Good to know**\n\n\
         - The issue was edited after the start, `@team.`\n\n\
         <sub>\\$0.42 of \\$5.00 spent · 3d 2h at work · updated 2026-03-04 05:06:07 UTC</sub>"
    );
}

#[test]
fn what_went_wrong_stands_apart_and_the_pull_request_is_linked() {
    let mut view = working();
    view.stages.clear();
    view.next_steps.clear();
    view.explanation = Some("# Verified\n\n</sub>All fine, @team".to_owned());
    view.problems = vec!["The App may not push: grant `contents: write`.".to_owned(), "<b>".to_owned()];
    let text = status(&view);
    assert!(
        text.contains(
            "**What stands in the way**\n\n- The App may not push: grant \\`contents: write\\`.\n- \\<b\\>\n\n"
        ),
        "{text}"
    );
    assert!(text.contains("> **Verified**\n>\n> \\</sub\\>All fine, `@team`\n"), "{text}");
    view.pull = Some((PullNumber(12), "javascript:alert(1)".to_owned()));
    view.dashboard = Some("https://x/a)b".to_owned());
    let text = status(&view);
    assert!(text.contains("**Pull request:** #12\n") && !text.contains("dashboard"), "{text}");
}

#[test]
fn whoever_is_asked_reads_what_was_tried_what_is_wrong_and_how_to_go_on() {
    let line = |round, result: &str, diagnosis: Option<&str>, is_kept| StatusAttemptLine {
        stage: "implement".to_owned(),
        round,
        result: result.to_owned(),
        diagnosis: diagnosis.map(str::to_owned),
        is_kept,
    };
    let mut view = working();
    view.stages.clear();
    view.now.clear();
    view.headline = "Handed over: the best attempt is not verified".to_owned();
    view.attempts = vec![
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
         <sub>\\$0.42 of \\$5.00 spent · 1h 3m at work · updated 2026-03-04 05:06:07 UTC</sub>"
    );
}

#[test]
fn what_a_person_approved_is_never_called_verified() {
    let mut view = change();
    view.receipt.says(Verdict::Approved {
        by: "mona".to_owned(),
        why: "`test_sum` fails".to_owned(),
        failed: true,
    });
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

/// A commit that passed everything.
pub(super) fn receipt() -> ReceiptView {
    let line = |round, result: &str, counts| RoundLine {
        stage: "implement".to_owned(),
        round,
        result: result.to_owned(),
        counts,
    };
    let ran = |command: &str| ReceiptCommandRun { command: command.to_owned(), exit: Exit::Code(0) };
    ReceiptView {
        scrutiny: None,
        refused: Vec::new(),
        held: Vec::new(),
        heading: "✅ Verified",
        verdict: Verdict::Verified,
        commit: "a".repeat(40).parse().unwrap(),
        tree: "b".repeat(40).parse().unwrap(),
        base: "c".repeat(40).parse().unwrap(),
        setup: Some(ran("pip install -e .")),
        test: Some(ran("pytest -q")),
        counts: Some(TestCounts { passed: 24, failed: 0, skipped: 1 }),
        failing: Vec::new(),
        review: Some(ReceiptReview { summary: "@ann: nothing to object".to_owned(), open: Vec::new() }),
        others: None,
        rounds: vec![
            line(1, "tests failed", Some(TestCounts { passed: 23, failed: 1, skipped: 1 })),
            line(2, "tests passed", None),
        ],
        usage: AgentUsage { input_tokens: 1_234_567, output_tokens: 890, usd: 0.4249 },
        budget_usd: 5.0,
        sandbox: Some("bubblewrap".to_owned()),
    }
}

fn change() -> PullBodyView {
    PullBodyView {
        issue: IssueNumber(7),
        issue_url: "https://github.com/o/r/issues/7".to_owned(),
        summary: "The sum of an empty list was `None`.\n\nCloses #1, thanks @ann".to_owned(),
        receipt: receipt(),
        pages: RepositoryLinks::by_issue("https://github.com/o/r/issues/7", IssueNumber(7)),
    }
}

#[test]
fn failing_tests_are_named_and_their_names_are_harmless() {
    let mut view = change();
    view.receipt.failing = (0..12).map(|n| format!("test `{n}` @team")).collect();
    let text = pull(&view);
    assert!(text.contains("  - fails: ``test `0` @team``\n"), "{text}");
    assert!(text.contains("  - and 2 more\n") && !text.contains("`10`"), "{text}");
}

#[test]
fn the_pull_request_says_what_was_done_how_it_was_verified_and_what_was_not() {
    let commit = format!("[`aaaaaaaaaa`](https://github.com/o/r/commit/{})", "a".repeat(40));
    assert_eq!(
        pull(&change()),
        format!(
            "Closes #7\n\n\
             ### What changed, in the agent's words\n\n\
             > The sum of an empty list was `None`.\n>\n> Closes `#1,` thanks `@ann`\n\n\
             ### ✅ Verified\n\n\
             - `pytest -q`: exit code 0, 24 passed, 0 failed, 1 skipped\n\
             - on commit {commit}, checked out afresh\n\
             - reviewed by a second agent: `@ann:` nothing to object\n\
             - after 2 rounds, for \\$0.42 of \\$5.00\n\n\
             **What was not verified**\n\n\
             - How the tests do without the change: they were run on this commit only, so that neither what failed \
             before nor whether a new test would fail without the change is known.\n\
             - 1 test, which was skipped.\n\
             - The repository's own checks on GitHub: none had spoken when this was written.\n\n\
             <details>\n<summary>Receipt</summary>\n\n\
             - Commit: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`\n\
             - Tree: `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`\n\
             - Base: `cccccccccccccccccccccccccccccccccccccccc`\n\
             - Setup: `pip install -e .`, exit code 0\n\
             - Tests: `pytest -q`, exit code 0\n\
             - Sandbox: bubblewrap\n\
             - Tokens: 1 234 567 read, 890 written; cost \\$0.42\n\
             - Rounds:\n  \
               - implement, round 1: tests failed (23 passed, 1 failed, 1 skipped)\n  \
               - implement, round 2: tests passed\n\n\
             </details>\n\n\
             <sub>Review it as you would a colleague's: every point of a review that asks for changes is answered. \
             Or comment `/retry`, `/approve`, `/cancel`, `/status`; `/help` tells what they do.</sub>"
        )
    );
}

#[test]
fn what_the_reviewer_doubts_and_what_other_checks_say_stands_there() {
    let mut view = change();
    let finding = |severity, place: Option<&str>| Finding {
        severity,
        category: Category::Style,
        description: "A name says nothing, @team".to_owned(),
        location: place.map(str::to_owned),
        suggestion: None,
    };
    view.receipt.review = Some(ReceiptReview {
        summary: "Sound.".to_owned(),
        open: vec![finding(Severity::Major, Some("src/a.py:3")), finding(Severity::Minor, None)],
    });
    view.receipt.others = Some(CiTrace {
        commit: view.receipt.commit.clone(),
        passed: 4,
        failing: vec!["lint".to_owned(), "a `b` @c".to_owned()],
        failing_on_base: vec!["docs".to_owned()],
        pending: vec!["e2e".to_owned()],
    });
    let text = pull(&view);
    assert!(
        text.contains(&format!(
            "**What the reviewing agent still doubts**\n\n\
             - major, [`src/a.py:3`](https://github.com/o/r/blob/{}/src/a.py#L3): A name says nothing, `@team`\n\
             - minor: A name says nothing, `@team`\n\n\
             **What was not verified**",
            "a".repeat(40)
        )),
        "{text}"
    );
    assert!(
        text.contains(
            "\n- the repository's own checks on GitHub: 4 passed; failed: `lint`, ``a `b` @c``; failed here and \
             without the change: `docs`; not done: `e2e`\n"
        ),
        "{text}"
    );
    assert!(!text.contains("none had spoken"), "{text}");
}

#[test]
fn what_is_not_verified_is_said_in_so_many_words() {
    let mut view = change();
    view.receipt.says(Verdict::Inconclusive {
        why: Inconclusive::NoTests { because: "the repository has no tests that we can find".to_owned() },
    });
    view.receipt.test = None;
    view.receipt.counts = None;
    view.receipt.review = None;
    view.receipt.sandbox = Some("none".to_owned());
    let text = pull(&view);
    assert!(
        text.contains("### ⚠️ Unverified\n\nthe repository has no tests that we can find\n\n- on commit"),
        "{text}"
    );
    assert!(text.contains("- Sandbox: **none**"));
    assert!(
        text.contains("- Tests: none were run on this commit.\n- The change itself: no second agent"),
        "{text}"
    );
    assert!(!text.contains("✅"));
    view.receipt.says(Verdict::Rejected { why: "exit code 1".to_owned() });
    assert!(pull(&view).contains("### ❌ Not verified\n\nexit code 1"));
}

#[test]
fn while_checks_are_to_come_and_when_they_never_came_the_text_says_so() {
    let mut view = change();
    let stages = vec!["review".to_owned(), "@team".to_owned()];
    view.receipt.says(Verdict::Pending { stages: stages.clone() });
    let text = pull(&view);
    assert!(
        text.contains(
            "### ⏳ Not verified yet\n\nWhat was checked so far is below. Still to come: review, `@team`.\n\n- `pytest"
        ),
        "{text}"
    );
    assert!(
        text.contains(
            "\nHow it stands by now: [the comment on the issue](https://github.com/o/r/issues/7).\n"
        )
    );
    view.receipt.says(Verdict::Inconclusive {
        why: Inconclusive::NotJudged { ended: Some("Cancelled: mona said /cancel".to_owned()), stages },
    });
    let text = pull(&view);
    assert!(
        text.contains(
            "### ❌ Not verified: the work has ended before\n\nCancelled: mona said /cancel\n\n\
             What was checked before is below. Never came: review, `@team`.\n\n- `pytest"
        ),
        "{text}"
    );
    assert!(!text.contains("yet") && !text.contains("✅"), "{text}");
}

#[test]
fn whatever_an_agent_or_a_repository_says_the_bodies_fit_and_close_one_issue() {
    for long in ["x @y fixes #3 `".repeat(10_000), "@\n\n".repeat(30_000), "a`".repeat(50_000)] {
        let mut view = change();
        view.summary.clone_from(&long);
        let receipt = &mut view.receipt;
        receipt.says(Verdict::Rejected { why: long.clone() });
        let ran = ReceiptCommandRun { command: long.clone(), exit: Exit::TimedOut };
        (receipt.test, receipt.setup) = (Some(ran.clone()), Some(ran));
        receipt.sandbox = Some(long.clone());
        receipt.failing = vec![long.clone(); 50];
        let finding = Finding {
            severity: Severity::Major,
            category: Category::Style,
            description: long.clone(),
            location: Some(format!("{}:1", long.replace('\n', "/"))),
            suggestion: Some(long.clone()),
        };
        receipt.review = Some(ReceiptReview { summary: long.clone(), open: vec![finding; 50] });
        let names = vec![long.clone(); 50];
        receipt.others = Some(CiTrace {
            commit: receipt.commit.clone(),
            passed: 1,
            failing: names.clone(),
            failing_on_base: names.clone(),
            pending: names.clone(),
        });
        receipt.rounds = (1..=500)
            .map(|round| RoundLine { stage: long.clone(), round, result: long.clone(), counts: None })
            .collect();
        let text = pull(&view);
        assert!(text.chars().count() <= LONGEST_BODY, "{}", text.chars().count());
        assert!(text.starts_with("Closes #7\n") && text.ends_with("what they do.</sub>"), "{text}");
        assert!(
            text.contains("### What changed"),
            "there is room for the agent's words, however much else there is"
        );
        assert_eq!(text.matches("Closes #").count(), 1);
        assert!(!text.contains("fixes #3"));

        let mut view = working();
        view.headline.clone_from(&long);
        view.explanation = Some(long.clone());
        view.still_wrong = vec![long.clone(); 50];
        (view.notes, view.problems, view.now) = (names.clone(), names.clone(), names);
        let said = SlashCommandLine { command: long.clone(), by: long.clone(), ignored: Some(long.clone()) };
        view.commands = vec![said; 3];
        let line = StatusAttemptLine {
            stage: long.clone(),
            round: 1,
            result: long.clone(),
            diagnosis: Some(long.clone()),
            is_kept: true,
        };
        view.attempts = vec![line; 100];
        view.stages = (0..500).map(|_| stage(&long, StageLineState::Failed, &long, Some(1))).collect();
        let text = status(&view);
        assert!(text.chars().count() <= LONGEST_BODY && text.ends_with("</sub>"), "{}", text.chars().count());
    }
}
