//! What texts take from the journal, and what they leave out.

use chrono::TimeDelta;

use super::{intends, journal, projection, published, run, says, sees, sha, stage, start, tested, trouble};
use crate::stages::{last_news, seconds_at_work, under_way};
use crate::{check, label, notice, pull, status};
use journeyman_order::conversation::{CheckRunState, NoticeComment};
use journeyman_order::surfaces::OrderLabel;
use journeyman_order::trace::{CiTrace, OrderTrace, PendingApproval, RoundTrace, StageState};
use journeyman_order::{Category, EffectOutcome, Feedback, Move, PullNumber, Settlement, SignalKind};

#[test]
fn time_is_counted_while_something_is_done_and_not_while_a_person_is_waited_for() {
    let status = Move::ShowStatus { revision: 1 };
    let journal = journal(vec![
        (10, intends("implement/1/agent", run(1, None))),
        (20, intends("status/1", status)),
        (50, sees("status/1", EffectOutcome::StatusShown { comment: None })),
        (70, sees("implement/1/agent", trouble())),
        // A day passes.
        (86_470, intends("implement/1/agent", run(1, None))),
        (86_475, intends("review/1/tests", Move::RunTests { commit: sha('a') })),
        (86_480, sees("implement/1/agent", trouble())),
        (86_490, sees("review/1/tests", trouble())),
    ]);
    let seconds = |stage: &str| seconds_at_work(&journal, |key| key.stage() == stage);
    assert_eq!(seconds("implement"), Some(70));
    assert_eq!(seconds("review"), Some(15));
    assert_eq!(seconds("publish"), None);
    assert_eq!(seconds_at_work(&journal, |_| true), Some(80));
    assert_eq!(last_news(&journal), start() + TimeDelta::seconds(86_490));
    assert!(under_way(&journal).is_empty());
}

#[test]
fn the_status_tells_round_and_attempt_and_what_is_under_way() {
    let journal = journal(vec![
        (1, says(SignalKind::IssueEdited)),
        (10, intends("implement/1/agent", run(1, None))),
        (20, sees("implement/1/agent", trouble())),
        (21, intends("implement/2/message/1/agent", run(1, Some((3, 3))))),
        (22, sees("implement/2/message/1/agent", trouble())),
        (30, intends("implement/2/agent", run(2, Some((2, 3))))),
    ]);
    let round = |round| RoundTrace { round, ..RoundTrace::default() };
    let trace = OrderTrace {
        stages: vec![stage("implement", StageState::Running, vec![round(1), round(2)])],
        notes: vec!["No tests were found.".to_owned()],
        ..OrderTrace::default()
    };
    let projection = projection(trace, None);
    assert_eq!(
        status(&journal, &projection, None),
        "### Journeyman is working on this\n\n\
         **Now:** developer is working (implement)\n\n\
         - [ ] plan\n\
         - [ ] ⏳ **implement** · round 2 of 3 · 11s\n\
         - [ ] review\n\n\
         **Notes**\n\n\
         - The issue was edited after the start: this order uses the original text.\n\
         - No tests were found.\n\n\
         **What you can do**\n\n\
         - Comment `/cancel` to stop, or `/help` for all commands.\n\n\
         <sub>\\$0.00 of \\$5.00 spent · 11s of work · updated 2026-03-04 05:00:30 UTC</sub>"
    );
    assert_eq!(
        notice(&journal, &projection, &NoticeComment::Status),
        "Journeyman is working on this: implement, round 2. \
         Details: the [comment on the issue](https://github.com/o/r/issues/7)."
    );
}

#[test]
fn rounds_of_a_later_set_and_answers_to_people_are_numbered_as_they_are() {
    let round = |round| RoundTrace { round, ..RoundTrace::default() };
    let journal = journal(vec![
        (1, intends("implement/5/agent", run(5, Some((2, 3))))),
        (2, intends("answer/1/2/agent", run(2, Some((2, 3))))),
    ]);
    let stages = vec![
        stage("implement", StageState::Passed, vec![round(5)]),
        stage("answer", StageState::Running, vec![round(2)]),
    ];
    let text = status(&journal, &projection(OrderTrace { stages, ..OrderTrace::default() }, None), None);
    assert!(
        text.contains(
            "\n- [x] implement · round 5, attempt 2 of 3 · 1s\n- [ ] review\n\
             - [ ] ⏳ **answer** · round 2 of 3 · 0s\n"
        ),
        "{text}"
    );
}

#[test]
fn a_plan_that_waits_and_all_that_stands_in_the_way_is_told_at_once() {
    let journal = journal(Vec::new());
    let waiting = projection(OrderTrace { asks: Some(PendingApproval::Plan), ..OrderTrace::default() }, None);
    let text = status(&journal, &waiting, None);
    assert!(
        text.starts_with("### The plan is waiting") && text.contains("comment `/approve` to continue"),
        "{text}"
    );
    assert_eq!(label(&waiting), OrderLabel::NeedsHuman);
    let failed = |because: &str, problems: &[&str]| {
        let problems = problems.iter().map(|&problem| problem.to_owned()).collect();
        let settled = Settlement::Failed { because: because.to_owned() };
        status(&journal, &projection(OrderTrace { problems, ..OrderTrace::default() }, Some(settled)), None)
    };
    let text = failed("no push; no key", &["no push", "no key"]);
    assert!(text.contains("- no push\n- no key\n") && !text.contains("\n>"), "{text}");
    assert!(!failed("no key", &["no key"]).contains("\n>"));
}

#[test]
fn the_pull_request_says_that_judges_are_to_come_and_never_verified_when_the_order_ended_before() {
    let journal = journal(Vec::new());
    let text = |trace, settled| pull(&journal, &projection(trace, settled), "").unwrap();
    assert!(text(published(StageState::Running), None).contains("\n### ⏳ Not verified yet\n"));
    for settled in [
        Settlement::Cancelled { because: "mona said /cancel".to_owned() },
        Settlement::Failed { because: "no key".to_owned() },
        Settlement::Merged { pull: PullNumber(12), by: "mona".to_owned() },
    ] {
        let text = text(published(StageState::Failed), Some(settled));
        assert!(text.contains("\n### ❌ Not verified: the order ended early\n"), "{text}");
    }
    assert_eq!(pull(&journal, &projection(OrderTrace::default(), None), "Done."), None);
}

#[test]
fn checks_of_others_count_for_the_commit_that_they_ran_on() {
    let journal = journal(Vec::new());
    let others = |commit| {
        let ci = CiTrace {
            commit,
            passed: 3,
            pending: Vec::new(),
            failing: Vec::new(),
            failing_on_base: Vec::new(),
        };
        let trace = OrderTrace { ci: Some(ci), ..published(StageState::Passed) };
        pull(&journal, &projection(trace, None), "").unwrap().contains("checks on GitHub: 3 passed\n")
    };
    assert!(others(sha('a')) && !others(sha('d')));
}

#[test]
fn the_check_run_of_another_commit_claims_nothing() {
    let journal = journal(Vec::new());
    let mut trace = published(StageState::Passed);
    trace.work.as_mut().unwrap().tests = Some(tested());
    let projection = projection(trace, None);
    let on = |head: char| check(&journal, &projection, &sha(head), CheckRunState::Success);
    assert!(on('a').title.contains("24 of 24 tests pass") && on('a').annotations.len() == 1);
    let other = on('d');
    assert!(other.annotations.is_empty() && !other.title.contains("pass"), "{other:?}");
    assert!(other.summary.ends_with(&format!(
        "There are no results for commit [`dddddddddd`](https://github.com/o/r/commit/{}) yet.",
        "d".repeat(40)
    )));
}

#[test]
fn a_stage_that_asks_nobody_shows_its_history_and_where_its_best_round_is() {
    let failed = |round, what: &str| RoundTrace {
        round,
        agent: Some("claude".to_owned()),
        feedback: Some(Feedback::failed(Category::TestFailure, what)),
        ..RoundTrace::default()
    };
    let mut trace = published(StageState::Passed);
    trace.pull = None;
    trace.branch = Some("journeyman/issue-7-sum".parse().unwrap());
    trace.pushed = trace.work.as_ref().map(|work| work.commit.clone());
    let mut rounds = vec![failed(1, "two fail"), failed(2, "one fails")];
    rounds[1].commit = trace.pushed.clone();
    trace.stages = vec![stage("implement", StageState::Failed, rounds)];
    let settled = Settlement::Failed { because: "stage implement: one fails (tried 3 times)".to_owned() };
    let text = status(&journal(Vec::new()), &projection(trace, Some(settled)), None);
    for part in [
        "**Branch:** `journeyman/issue-7-sum`",
        "- implement, round 1: two fail\n- implement, round 2: one fails · **best attempt**",
        "**What is still wrong**\n\n- one fails",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
