//! Complete texts that people read on GitHub.

use super::{
    finding, intends, journal, projection, published, ran, run, says, sees, sha, stage, tested, trouble,
};
use crate::{LONGEST_BODY, pull, status};
use journeyman_order::environment_report::EnvironmentReport;
use journeyman_order::moves::{Diagnosis, DiagnosisDecision};
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::{CiTrace, OrderTrace, PullTrace, RoundTrace, StageState};
use journeyman_order::verdict::VerifiedCaveats;
use journeyman_order::{
    AgentUsage, AnsweredSignal, Category, Exit, Feedback, Inconclusive, Journal, PullNumber, Settlement,
    Severity, SignalAnswer, SignalKind, SlashCommand, TestCounts, UnrunProject, UnrunReason, Verdict,
};

const URL: &str = "https://github.com/octo/hello/pull/12";

fn failed(round: u32, summary: &str) -> RoundTrace {
    let feedback = Some(Feedback::failed(Category::TestFailure, summary));
    RoundTrace { round, feedback, ..RoundTrace::default() }
}

/// The second round of a change is running, this many seconds after the opening.
fn working(seconds: i64) -> (Journal, OrderProjection) {
    let command = |command| says(SignalKind::Commanded { comment: Some(1), pull: None, command });
    let journal = journal(vec![
        (0, intends("plan/1/agent", run(1, None))),
        (64, sees("plan/1/agent", trouble())),
        (64, intends("implement/2/agent", run(2, Some((2, 3))))),
        (seconds, command(SlashCommand::Retry { guidance: None })),
        (seconds, command(SlashCommand::Approve)),
    ]);
    let rounds = vec![failed(1, "no"), failed(2, "`test_sum` fails, see @x")];
    let trace = OrderTrace {
        stages: vec![
            stage("plan", StageState::Passed, Vec::new()),
            stage("implement", StageState::Running, rounds),
        ],
        usage: AgentUsage { usd: 0.4249, ..AgentUsage::default() },
        ..OrderTrace::default()
    };
    (journal, projection(trace, None))
}

fn pull_at(url: &str) -> Option<PullTrace> {
    let (summary, title) = (String::new(), String::new());
    Some(PullTrace { number: PullNumber(12), url: url.to_owned(), summary, title, ready: false })
}

#[test]
fn the_status_tells_at_one_look_where_an_order_stands() {
    let (journal, projection) = working(3_789);
    assert_eq!(
        status(&journal, &projection, None),
        "### Journeyman is working on this\n\n\
         **Now:** developer is working (implement)\n\n\
         - [x] plan · 1m 4s\n\
         - [ ] ⏳ **implement** · round 2 of 3, \\`test\\_sum\\` fails, see `@x` · 1h 2m\n\
         - [ ] review\n\n\
         **What you can do**\n\n\
         - Comment `/cancel` to stop, or `/help` for all commands.\n\n\
         <sub>\\$0.42 of \\$5.00 spent · 1h 3m of work · updated 2026-03-04 06:03:09 UTC</sub>"
    );
}

#[test]
fn what_is_over_is_folded_and_notes_stand_below() {
    let (journal, mut projection) = working(266_400);
    projection.next.settled = Some(Settlement::Merged { pull: PullNumber(12), by: "@mona".to_owned() });
    projection.trace.pull = pull_at(URL);
    projection.trace.notes = vec!["The issue was edited after the start, @team.".to_owned()];
    assert_eq!(
        status(&journal, &projection, Some(&"https://bot.example.org/".parse().unwrap())),
        "### Merged by `@mona`\n\n\
         **Pull request:** [#12](https://github.com/octo/hello/pull/12) · [dashboard](https://bot.example.org/orders/00000000-0000-0000-0000-000000000001)\n\n\
         <details>\n<summary>1 of 3 stages passed</summary>\n\n\
         - [x] plan · 1m 4s\n\
         - [ ] ❌ **implement** · round 2 of 3, \\`test\\_sum\\` fails, see `@x` · 3d 1h\n\
         - [x] ➖ review\n\n\
         </details>\n\n\
         **Notes**\n\n\
         - The issue was edited after the start, `@team.`\n\n\
         <sub>\\$0.42 of \\$5.00 spent · 3d 2h of work · updated 2026-03-07 07:00:00 UTC</sub>"
    );
}

#[test]
fn what_went_wrong_stands_apart_and_the_pull_request_is_linked() {
    let (journal, mut projection) = working(3_789);
    let because = "# Verified\n\n</sub>All fine, @team".to_owned();
    projection.next.settled = Some(Settlement::Failed { because });
    projection.trace.problems =
        vec!["The App may not push: grant `contents: write`.".to_owned(), "<b>".to_owned()];
    let text = status(&journal, &projection, None);
    assert!(
        text.contains("**Blockers**\n\n- The App may not push: grant \\`contents: write\\`.\n- \\<b\\>\n\n"),
        "{text}"
    );
    assert!(text.contains("> **Verified**\n>\n> \\</sub\\>All fine, `@team`\n"), "{text}");
    projection.trace.pull = pull_at("javascript:alert(1)");
    let text = status(&journal, &projection, Some(&"https://x/a)b".parse().unwrap()));
    assert!(text.contains("**Pull request:** #12\n") && !text.contains("dashboard"), "{text}");
}

#[test]
fn whoever_is_asked_reads_what_was_tried_what_is_wrong_and_how_to_go_on() {
    let (mut first, mut second) = (failed(1, "test_sum fails"), failed(2, "see below, @team"));
    let counted = |passed| {
        let counts = Some(TestCounts { passed, failed: 2 - passed, skipped: 0 });
        Some(journeyman_order::TestRun { counts, ..tested() })
    };
    (first.tests, second.tests) = (counted(1), counted(0));
    first.commit = Some(sha('a'));
    let mut wrong = finding("`test_sum` fails", "");
    wrong.location = None;
    let forged = finding("- [ ] forged\n## Verified", "x.py:1");
    first.feedback.as_mut().unwrap().issues = vec![wrong, forged, finding("the test a::b fails", "a::b")];
    second.diagnosis = Some(Diagnosis {
        decision: DiagnosisDecision::Flag,
        diagnosis: "The plan is wrong | see #7".to_owned(),
        guidance: String::new(),
    });
    let mut trace = published(StageState::NotReached);
    trace.pull = None;
    trace.stages = vec![stage("implement", StageState::Escalated, vec![first, second])];
    let settled = Settlement::Escalated { pull: None, because: "test_sum fails".to_owned() };
    assert_eq!(
        status(&journal(Vec::new()), &projection(trace, Some(settled)), None),
        "### Needs a person: the best attempt is not verified\n\n\
         <details>\n<summary>0 of 3 stages passed</summary>\n\n\
         - [x] ➖ plan\n\
         - [ ] ❌ **implement** · round 2, 0 of 2 tests pass\n\
         - [x] ➖ review\n\n\
         </details>\n\n\
         > test\\_sum fails\n\n\
         **What was tried**\n\n\
         - implement, round 1: 1 of 2 tests pass: test\\_sum fails · **best attempt**\n\
         - implement, round 2: 0 of 2 tests pass: see below, `@team`\n  \
           - diagnosis: The plan is wrong \\| see `#7`\n\n\
         **What is still wrong**\n\n\
         - \\`test\\_sum\\` fails\n\
         - x.py:1: - \\[ \\] forged \\#\\# Verified\n\
         - the test a::b fails\n\n\
         **What you can do**\n\n\
         - Look at the draft; take it over or close it.\n\
         - Comment `/retry` (with guidance, if you like) for another set of attempts.\n\
         - Comment `/approve` to accept it as it is, though it is not verified.\n\n\
         <sub>\\$0.00 of \\$5.00 spent · 0s of work · updated 2026-03-04 05:00:00 UTC</sub>"
    );
}

const SUMMARY: &str = "The sum of an empty list was `None`.\n\nCloses #1, thanks @ann";

/// A commit that passed everything, with one part of its evidence changed.
fn change(make: impl FnOnce(&mut OrderProjection)) -> OrderProjection {
    let mut trace = published(StageState::Passed);
    let mut first = failed(1, "tests failed");
    first.tests = Some(tested());
    first.tests.as_mut().unwrap().counts = Some(TestCounts { passed: 23, failed: 1, skipped: 1 });
    let mut rounds = vec![first, RoundTrace { round: 2, ..RoundTrace::default() }];
    for (round, commit) in rounds.iter_mut().zip(['d', 'a']) {
        (round.agent, round.commit) = (Some("claude".to_owned()), Some(sha(commit)));
    }
    trace.stages[0].rounds = rounds;
    trace.usage = AgentUsage { input_tokens: 1_234_567, output_tokens: 890, usd: 0.4249 };
    let work = trace.work.as_mut().unwrap();
    work.tests = Some(tested());
    work.review = Some(Feedback::passed("@ann: nothing to object"));
    let mut projection = projection(trace, None);
    projection.verdict = Verdict::Verified(VerifiedCaveats::default());
    make(&mut projection);
    projection
}

fn said(make: impl FnOnce(&mut OrderProjection)) -> String {
    pull(&journal(Vec::new()), &change(make), SUMMARY).unwrap()
}

#[test]
fn what_a_person_approved_is_never_called_verified() {
    let text = said(|projection| {
        let (by, why) = ("mona".to_owned(), "`test_sum` fails".to_owned());
        projection.verdict = Verdict::Approved { by, why, failed: true };
    });
    assert!(
        text.contains(
            "### ⚠️ Approved by a person, not verified\n\n\
             mona accepted it as it is. Why it was not verified: \\`test\\_sum\\` fails\n\n\
             - **What ran:** `pytest -q`, exit code 0"
        ),
        "{text}"
    );
    assert!(!text.contains("✅"));
}

#[test]
fn folders_whose_tests_were_not_run_are_named() {
    let text = said(|projection| {
        let tests = projection.trace.work.as_mut().unwrap().tests.as_mut().unwrap();
        tests.left_out = (0..12).map(|n| format!("web/{n}")).collect();
    });
    assert!(text.contains("; folders that the change does not concern; "), "{text}");
    let expected = "- Tests of folders that the change does not concern: `web/0`, `web/1`, `web/2`, `web/3`, `web/4`, `web/5`, \
                    `web/6`, `web/7`, `web/8`, `web/9` and 2 more\n";
    let (_, gaps) = text.split_once("**What was not verified**").expect("gaps");
    assert!(gaps.contains(expected), "{text}");
}

#[test]
fn projects_without_a_test_that_ran_and_notes_of_the_environment_are_named_as_not_verified() {
    let project = |folder: &str, because| UnrunProject {
        folder: folder.to_owned(),
        manifest: format!("{folder}/package.json"),
        edited: format!("{folder}/a.js"),
        because,
    };
    let text = said(|projection| {
        let tests = projection.trace.work.as_mut().unwrap().tests.as_mut().unwrap();
        tests.unrun = vec![project("web", UnrunReason::NotAsked), project("app", UnrunReason::Unknown)];
        tests.doubt = Some(tests.unrun[0].sentence());
        let notes = vec!["no tests were found for @web".to_owned()];
        projection.trace.environment = Some(EnvironmentReport { notes, ..EnvironmentReport::default() });
        let because = tests.unrun[0].sentence();
        projection.verdict = Verdict::Inconclusive { why: Inconclusive::ProjectNotTested { because } };
    });
    let because = "### ⚠️ Unverified: no test of a project that the change edits ran\n\nthe change edits web/a.js, and no test of web ran: ";
    assert!(text.contains(because), "{text}");
    let (_, gaps) = text.split_once("**What was not verified**").expect("gaps");
    for said in [
        "\n- ⚠️ the change edits web/a.js, and no test of web ran: ",
        "\n- app/a.js: the test command does not tell whether it runs tests of app\n",
        "\n- no tests were found for `@web`\n",
    ] {
        assert!(gaps.contains(said), "{said}: {text}");
    }
    assert!(text.contains("tests of web; tests of app; "), "{text}");
}

#[test]
fn failing_tests_are_named_and_their_names_are_harmless() {
    let text = said(|projection| {
        let tests = projection.trace.work.as_mut().unwrap().tests.as_mut().unwrap();
        tests.failing = (0..12).map(|n| format!("test `{n}` @team")).collect();
    });
    assert!(text.contains("\n- ❌ Failing: ``test `0` @team``, "), "{text}");
    assert!(text.contains("``test `9` @team`` and 2 more\n") && !text.contains("`10`"), "{text}");
}

#[test]
fn the_pull_request_says_what_was_done_how_it_was_verified_and_what_was_not() {
    assert_eq!(
        said(|_| {}),
        "Closes #7\n\n\
         ### What changed, in the agent's words\n\n\
         > The sum of an empty list was `None`.\n>\n> Closes `#1,` thanks `@ann`\n\n\
         ### ✅ Verified\n\n\
         - **What ran:** `pytest -q`, exit code 0: 24 passed, 0 failed, 1 skipped.\n\
         - **Red before, green now:** ⚠️ It is not known what failed before, because nothing was compared with the base.\n\
         - **Existing tests:** ⚠️ It is not known whether one changed, because nothing was compared with the base.\n\
         - **Strength of the tests:** ⚠️ Not known, because no expectation was falsified.\n\
         - **What was not verified:** ⚠️ the tests without the change; 1 skipped test; the repository's own checks on \
         GitHub.\n\n\
         <details>\n<summary>Details</summary>\n\n\
         **What ran**\n\n\
         - Setup: `pip install -e .`, exit code 0\n\
         - Sandbox: bubblewrap\n\
         - Reviewed by a second agent: `@ann:` nothing to object\n\n\
         **What was not verified**\n\n\
         - 1 skipped test.\n\
         - The repository's own checks on GitHub: none had reported when this was written.\n\n\
         **Receipt**\n\n\
         - Commit: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`\n\
         - Tree: `bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb`\n\
         - Base: `cccccccccccccccccccccccccccccccccccccccc`\n\
         - Cost: \\$0.42 of \\$5.00, after 2 rounds; 1 234 567 tokens read, 890 written\n\
         - Rounds:\n  \
           - implement, round 1: tests failed (23 passed, 1 failed, 1 skipped)\n  \
           - implement, round 2: passed\n\n\
         </details>\n\n\
         <sub>Review it as you would a colleague's: Journeyman answers every point of a review that requests changes. \
         Or comment `/retry`, `/approve`, `/cancel`, `/status`; `/help` explains them.</sub>"
    );
}

#[test]
fn of_a_round_it_is_said_that_a_reviewer_objects_and_its_tests_are_counted_once() {
    let text = said(|projection| {
        let counts = Some(TestCounts { passed: 3, failed: 1, skipped: 0 });
        let mut red = failed(1, "3 passed, 1 failed, 0 skipped; the test command ended with exit code 1");
        red.tests = Some(journeyman_order::TestRun { counts, ..tested() });
        let mut objected = failed(2, "The hole is closed.");
        objected.review = objected.feedback.clone();
        objected.tests = Some(tested());
        for round in [&mut red, &mut objected] {
            (round.agent, round.commit) = (Some("claude".to_owned()), Some(sha('d')));
        }
        projection.trace.stages[0].rounds = vec![red, objected];
    });
    for line in [
        "- implement, round 1: 3 passed, 1 failed, 0 skipped; the test command ended with exit code 1\n",
        "- implement, round 2: changes requested: The hole is closed. (24 passed, 0 failed, 1 skipped)\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn what_the_reviewer_doubts_and_what_other_checks_say_stands_there() {
    let text = said(|projection| {
        let mut minor = finding("A name says nothing, @team", "");
        (minor.severity, minor.location) = (Severity::Minor, None);
        let issues = vec![minor, finding("A name says nothing, @team", "src/a.py:3")];
        projection.trace.work.as_mut().unwrap().review =
            Some(Feedback { issues, ..Feedback::passed("Sound.") });
        projection.trace.ci = Some(CiTrace {
            commit: sha('a'),
            passed: 4,
            failing: vec!["lint".to_owned(), "a `b` @c".to_owned()],
            failing_on_base: vec!["docs".to_owned()],
            pending: vec!["e2e".to_owned()],
        });
    });
    for said in [
        format!(
            "\n- ⚠️ major, [`src/a.py:3`](https://github.com/o/r/blob/{}/src/a.py#L3): A name says nothing, `@team`\n",
            "a".repeat(40)
        ),
        "\n- minor: A name says nothing, `@team`\n".to_owned(),
        "1 skipped test; open findings of the reviewing agent.\n".to_owned(),
        "\n- ❌ The repository's own checks on GitHub: 4 passed; failed: `lint`, ``a `b` @c``; failed here and on the \
         base: `docs`; pending: `e2e`\n"
            .to_owned(),
    ] {
        assert!(text.contains(&said), "{said}: {text}");
    }
    assert!(!text.contains("none had reported"), "{text}");
}

#[test]
fn what_is_not_verified_is_said_in_so_many_words() {
    let text = said(|projection| {
        let because = "the repository has no tests that we can find".to_owned();
        projection.verdict = Verdict::Inconclusive { why: Inconclusive::NoTests { because } };
        let work = projection.trace.work.as_mut().unwrap();
        work.review = None;
        let tests = work.tests.as_mut().unwrap();
        (tests.test, tests.counts, tests.sandbox) = (None, None, "none".to_owned());
    });
    assert!(
        text.contains("### ⚠️ Unverified\n\nthe repository has no tests that we can find\n\n- **What ran:** ⚠️ No test ran"),
        "{text}"
    );
    for said in [
        "- ❌ Sandbox: none; agents and tests ran without isolation\n",
        "- **What was not verified:** ⚠️ tests; the tests without the change; isolation of the tests; a review by a second \
         agent; ",
        "- The change itself: no second agent has reviewed this commit.\n",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("✅"));
    let text = said(|projection| projection.verdict = Verdict::Rejected { why: "exit code 1".to_owned() });
    assert!(text.contains("### ❌ Not verified\n\nexit code 1"));
}

#[test]
fn the_verdict_stands_above_the_agents_claim_wherever_the_work_is_not_verified() {
    let ended = Inconclusive::NotJudged { ended: Some("Cancelled".to_owned()), stages: Vec::new() };
    for verdict in [
        Verdict::Pending { stages: vec!["review".to_owned()] },
        Verdict::Inconclusive { why: Inconclusive::NotTested },
        Verdict::Inconclusive { why: ended },
        Verdict::Rejected { why: "exit code 1".to_owned() },
        Verdict::Approved { by: "mona".to_owned(), why: "exit code 1".to_owned(), failed: true },
    ] {
        let text = said(|projection| projection.verdict = verdict.clone());
        let heading = change(|projection| projection.verdict = verdict.clone()).surfaces().heading;
        let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words:?} is not in {text}"));
        assert!(text.starts_with("Closes #7\n\n### "), "{text}");
        assert!(at(&heading) < at("in the agent's words"), "{text}");
        assert!(at("in the agent's words") < at("**What was not verified**"), "{text}");
    }
}

#[test]
fn while_checks_are_to_come_and_when_they_never_came_the_text_says_so() {
    let stages = vec!["review".to_owned(), "@team".to_owned()];
    let text = said(|projection| projection.verdict = Verdict::Pending { stages: stages.clone() });
    assert!(
        text.contains(
            "### ⏳ Not verified yet\n\nThe checks so far are below. Still to run: review, `@team`.\n\n\
             - **What ran:** `pytest"
        ),
        "{text}"
    );
    assert!(
        text.contains("\nCurrent status: [the comment on the issue](https://github.com/o/r/issues/7).\n")
    );
    let ended = Some("Cancelled: mona said /cancel".to_owned());
    let why = Inconclusive::NotJudged { ended, stages };
    let text = said(|projection| projection.verdict = Verdict::Inconclusive { why });
    assert!(
        text.contains(
            "### ❌ Not verified: the order ended early\n\nCancelled: mona said /cancel\n\n\
             The checks that ran are below. Not passed: review, `@team`.\n\n- **What ran:** `pytest"
        ),
        "{text}"
    );
    assert!(!text.contains("yet") && !text.contains("✅"), "{text}");
}

#[test]
fn whatever_an_agent_or_a_repository_says_the_bodies_fit_and_close_one_issue() {
    let (journal, _) = working(3_789);
    for long in ["x @y fixes #3 `".repeat(10_000), "@\n\n".repeat(30_000), "a`".repeat(50_000)] {
        let names = vec![long.clone(); 50];
        let mut projection = change(|_| {});
        projection.verdict = Verdict::Rejected { why: long.clone() };
        let mut all = finding(&long, &format!("{}:1", long.replace('\n', "/")));
        all.suggestion = Some(long.clone());
        let trace = &mut projection.trace;
        let work = trace.work.as_mut().unwrap();
        work.review = Some(Feedback { issues: vec![all; 50], ..Feedback::passed(long.as_str()) });
        let tests = work.tests.as_mut().unwrap();
        tests.setup = Some(ran(&long, Exit::TimedOut));
        tests.test = Some(ran(&long, Exit::TimedOut));
        (tests.sandbox, tests.failing) = (long.clone(), names.clone());
        trace.ci = Some(CiTrace {
            commit: sha('a'),
            passed: 1,
            failing: names.clone(),
            failing_on_base: names.clone(),
            pending: names.clone(),
        });
        let mut tried = failed(1, &long);
        (tried.agent, tried.commit) = (Some(long.clone()), Some(sha('a')));
        tried.diagnosis = Some(Diagnosis {
            decision: DiagnosisDecision::Flag,
            diagnosis: long.clone(),
            guidance: String::new(),
        });
        trace.stages =
            (0..60).map(|n| stage(&format!("{n}{long}"), StageState::Failed, vec![tried.clone()])).collect();
        let text = pull(&journal, &projection, &long).unwrap();
        assert!(text.chars().count() <= LONGEST_BODY, "{}", text.chars().count());
        assert!(text.starts_with("Closes #7\n") && text.ends_with("`/help` explains them.</sub>"), "{text}");
        assert!(
            text.contains("### What changed"),
            "there is room for the agent's words, however much else there is"
        );
        assert_eq!(text.matches("Closes #").count(), 1);
        assert!(!text.contains("fixes #3"));

        (projection.trace.notes, projection.trace.problems) = (names.clone(), names);
        projection.answers = (5..=6)
            .map(|signal| AnsweredSignal { signal, answer: SignalAnswer::Ignored(long.clone()) })
            .collect();
        let escalated = Settlement::Escalated { pull: Some(PullNumber(12)), because: long.clone() };
        let closed = Settlement::Closed { pull: PullNumber(12), by: long.clone() };
        for settled in [None, Some(escalated), Some(closed)] {
            projection.next.settled = settled;
            let text = status(&journal, &projection, None);
            let length = text.chars().count();
            assert!(length <= LONGEST_BODY && text.ends_with("</sub>"), "{length}");
        }
    }
}
