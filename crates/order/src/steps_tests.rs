use proptest::prelude::*;

use super::*;
use crate::agent_run::{AgentFailure, AgentFailureKind, AgentRun};
use crate::feedback::Category;
use crate::ids::TreeSha;
use crate::ids::{IssueNumber, OrderId, Person, RepositoryId, UserId};
use crate::journal::{IssueText, JournalEntry, OrderInput};
use crate::moves::{AgentTask, EffectError};
use crate::pipeline::Pipeline;
use crate::settings::OrderLimits;
use crate::signal::Requester;
use crate::test_run::{CommandRun, Exit, TestCounts};
use crate::test_run::{TestRun, TestVerdict};

fn second(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + seconds, 0).unwrap()
}

fn opened() -> JournalEvent {
    let pipeline = "{name: p, version: 1, stages: [
        {name: plan, agent: developer, command: feature},
        {name: implement, agent: developer, command: implement, checks: [pushed_commit, tests]}]}";
    JournalEvent::Opened(Box::new(OrderInput {
        format: crate::journal::JOURNAL_FORMAT,
        order: OrderId(uuid::Uuid::nil()),
        repository: "o/r".parse().unwrap(),
        repository_id: RepositoryId(1),
        installation: None,
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: IssueNumber(1),
            title: String::new(),
            body: String::new(),
            url: String::new(),
            labels: Vec::new(),
        },
        by: Requester::Person(Person { login: "anna".to_owned(), id: UserId(1) }),
        pipeline: Pipeline::parse(pipeline).unwrap(),
        agent: "claude".to_owned(),
        limits: OrderLimits { minutes: 1, usd: 1.0, ..OrderLimits::default() },
        roles: Default::default(),
        earlier: Vec::new(),
        request: Default::default(),
        comment: None,
        labeled_at: None,
        commented_at: None,
        change: None,
    }))
}

/// One entry a second, after the opening.
fn journal(events: impl IntoIterator<Item = JournalEvent>) -> Journal {
    let events = std::iter::once(opened()).chain(events);
    let entries =
        (1_u64..).zip(events).map(|(seq, event)| JournalEntry { seq, at: second(seq as i64), event });
    Journal::new(entries.collect()).unwrap()
}

fn intended(key: &str, r#move: Move) -> JournalEvent {
    JournalEvent::Intended { key: MoveKey(key.to_owned()), r#move: Box::new(r#move) }
}

fn observed(key: &str, outcome: EffectOutcome) -> JournalEvent {
    JournalEvent::Observed { key: MoveKey(key.to_owned()), outcome: Box::new(outcome) }
}

fn task(stage: &str, round: u32) -> Move {
    Move::RunAgent(AgentTask {
        stage: stage.to_owned(),
        agent: "claude".to_owned(),
        round,
        command: "implement".to_owned(),
        arguments: Vec::new(),
        rework: None,
        session: None,
        branch: None,
        timeout_seconds: 60,
        ..AgentTask::default()
    })
}

fn ran(failure: Option<AgentFailureKind>) -> EffectOutcome {
    EffectOutcome::AgentRan(Box::new(AgentRun {
        result: Some("all 24 tests pass".to_owned()),
        session_id: Some("s1".to_owned()),
        failure: failure.map(|kind| AgentFailure::new(kind, "out of turns")),
        usage: AgentUsage { input_tokens: 10, output_tokens: 5, usd: 0.25 },
        artifacts: vec!["implement-1-agent.jsonl".to_owned()],
        ..AgentRun::default()
    }))
}

fn sha(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn tree() -> TreeSha {
    "7".repeat(40).parse().unwrap()
}

fn import() -> Move {
    Move::Import { branch: "journeyman/issue-1-a".parse().unwrap(), base: sha('0') }
}

fn imported() -> EffectOutcome {
    EffectOutcome::Imported {
        pushed: sha('a'),
        tree: tree(),
        message: None,
        changed: vec!["sum.py".to_owned()],
        warnings: Vec::new(),
    }
}

fn commit() -> Move {
    Move::Commit {
        tree: tree(),
        parent: sha('0'),
        merges: None,
        message: "Fix the sum".to_owned(),
        date: second(0),
    }
}

fn test_run(verdict: TestVerdict, passed: u64, failed: u64) -> TestRun {
    TestRun {
        commit: sha('c'),
        tree: tree(),
        verdict,
        doubt: None,
        left_out: Vec::new(),
        unrun: Vec::new(),
        setup: None,
        test: Some(CommandRun {
            command: "pytest -q".to_owned(),
            exit: Exit::Code(i32::from(failed > 0)),
            duration_seconds: 1.0,
            output_sha256: String::new(),
        }),
        signal: None,
        counts: Some(TestCounts { passed, failed, skipped: 0 }),
        failing: (0..failed).map(|number| format!("test_{number}")).collect(),
        tail: String::new(),
        image: None,
        sandbox: "bubblewrap".to_owned(),
        network: Default::default(),
        scrutiny: None,
        artifacts: vec!["implement-1-tests.txt".to_owned()],
    }
}

fn tested(verdict: TestVerdict, passed: u64, failed: u64) -> EffectOutcome {
    EffectOutcome::Tested(Box::new(test_run(verdict, passed, failed)))
}

#[test]
fn a_round_is_one_step_with_its_checks_and_their_evidence() {
    let events = [
        intended("implement/1/agent", task("implement", 1)),
        observed("implement/1/agent", ran(None)),
        intended("implement/1/import", import()),
        observed("implement/1/import", imported()),
        intended("implement/1/commit", commit()),
        observed("implement/1/commit", EffectOutcome::Committed { commit: sha('c'), patch: String::new() }),
        intended("implement/1/tests", Move::RunTests { commit: sha('c') }),
        observed("implement/1/tests", tested(TestVerdict::Failed, 3, 1)),
    ];
    let seen: Vec<Option<bool>> = (1..=events.len())
        .map(|length| steps(&journal(events[..length].to_vec())).pop().and_then(|step| step.success))
        .collect();
    let open = None;
    assert_eq!(seen, [open, open, open, open, open, open, open, Some(false)], "the checks decide");

    let mut steps = steps(&journal(events));
    assert_eq!(steps.len(), 1);
    let step = steps.pop().unwrap();
    assert_eq!((step.stage.as_str(), step.kind, step.round), ("implement", StepKind::Agent, Some(1)));
    assert_eq!(step.result.as_deref(), Some("all 24 tests pass"), "what the agent said is kept apart");
    assert_eq!(step.duration_seconds, Some(7.0));
    assert_eq!(step.usage.usd, 0.25);
    assert_eq!(step.artifacts, ["implement-1-agent.jsonl", "implement-1-tests.txt"]);
    let [pushed, policy, tests] = step.checks.as_slice() else { panic!("{:?}", step.checks) };
    assert!(pushed.feedback.passed && policy.feedback.passed && !tests.feedback.passed);
    let Some(CheckEvidence::Import { commit, .. }) = &pushed.evidence else { panic!("{pushed:?}") };
    assert_eq!(*commit, Some(sha('c')));
    assert_eq!(tests.feedback.score, 0.75);
    assert_eq!(tests.feedback.issues[0].location.as_deref(), Some("test_0"));
}

#[test]
fn an_operation_inside_a_round_is_a_step_of_its_own() {
    let steps = steps(&journal([
        intended("implement/1/agent", task("implement", 1)),
        observed("implement/1/agent", ran(None)),
        intended("implement/1/import", import()),
        observed("implement/1/import", imported()),
        intended("implement/1/message/1/agent", task("commit_message", 1)),
        observed("implement/1/message/1/agent", ran(None)),
        intended("implement/1/tests", Move::RunTests { commit: sha('c') }),
        observed("implement/1/tests", tested(TestVerdict::Passed, 4, 0)),
    ]));
    let told: Vec<(&str, usize)> =
        steps.iter().map(|step| (step.stage.as_str(), step.checks.len())).collect();
    assert_eq!(told, [("implement", 3), ("commit_message", 0)]);
    assert!(steps.iter().all(|step| step.success == Some(true)));
}

#[test]
fn a_commit_in_a_key_is_no_round() {
    let branch = "journeyman/issue-1-a".parse().unwrap();
    let push = Move::Push { branch, commit: sha('1'), lease: None };
    let steps = steps(&journal([intended("publish/1111111111/push-1", push)]));
    assert_eq!((steps[0].stage.as_str(), steps[0].round), ("publish", None));
}

#[test]
fn an_agent_that_pushed_nothing_has_failed_whatever_it_says() {
    let because = "nothing was pushed".to_owned();
    let steps = steps(&journal([
        intended("implement/1/agent", task("implement", 1)),
        observed("implement/1/agent", ran(None)),
        intended("implement/1/import", import()),
        observed("implement/1/import", EffectOutcome::NothingPushed { because: because.clone() }),
    ]));
    assert_eq!(steps[0].success, Some(false));
    assert_eq!(steps[0].checks[0].feedback.issues[0].category, Category::MissingCommit);
    assert_eq!(steps[0].checks[0].feedback.summary, because);
}

#[test]
fn an_agent_that_ran_out_of_turns_may_have_done_the_work() {
    let steps = steps(&journal([
        intended("implement/2/agent", task("implement", 2)),
        observed("implement/2/agent", ran(Some(AgentFailureKind::LimitReached))),
        intended("implement/2/import", import()),
        observed("implement/2/import", imported()),
        intended("implement/2/tests", Move::RunTests { commit: sha('c') }),
        observed("implement/2/tests", tested(TestVerdict::Passed, 4, 0)),
    ]));
    assert_eq!(steps[0].success, Some(true));
}

#[test]
fn a_stage_without_checks_ends_with_its_agent() {
    for (failure, success) in [(None, true), (Some(AgentFailureKind::Ended), false)] {
        let events = [intended("plan/1/agent", task("plan", 1)), observed("plan/1/agent", ran(failure))];
        let steps = steps(&journal(events));
        assert_eq!(steps[0].success, Some(success));
        assert_eq!(steps[0].error.is_some(), !success);
    }
}

#[test]
fn an_effect_that_is_tried_again_stays_one_step_and_forgets_its_trouble() {
    let push = || {
        let branch = "journeyman/issue-1-a".parse().unwrap();
        intended("publish/1/push", Move::Push { branch, commit: sha('c'), lease: None })
    };
    let trouble =
        |retry| EffectOutcome::Trouble(EffectError { message: "502 from GitHub".to_owned(), retry });
    let mut events = vec![push(), observed("publish/1/push", trouble(Retry::Soon))];
    let waiting = steps(&journal(events.clone()));
    assert_eq!((waiting[0].success, waiting[0].error.as_deref()), (None, Some("502 from GitHub")));

    events.extend([push(), observed("publish/1/push", EffectOutcome::Pushed)]);
    let done = steps(&journal(events.clone()));
    assert_eq!((done.len(), done[0].success, &done[0].error), (1, Some(true), &None));
    assert_eq!(done[0].duration_seconds, Some(3.0));

    events.extend([push(), observed("publish/1/push", trouble(Retry::Never))]);
    assert_eq!(steps(&journal(events))[0].success, Some(false));
}

#[test]
fn what_is_no_work_is_no_step() {
    let person = Person { login: "anna".to_owned(), id: UserId(1) };
    let steps = steps(&journal([
        intended("authorize/1", Move::Authorize { person }),
        observed("authorize/1", EffectOutcome::Authorized { allowed: true }),
        intended("status/1", Move::ShowStatus { revision: 1 }),
        observed("status/1", EffectOutcome::StatusShown { comment: None }),
        intended("prepare", Move::Prepare),
    ]));
    assert_eq!(steps.len(), 1);
    assert_eq!(
        (steps[0].stage.as_str(), steps[0].kind, steps[0].round),
        ("prepare", StepKind::Prepare, None)
    );
}

#[test]
fn a_repository_without_tests_passes_unverified() {
    let feedback = of_tests(&test_run(TestVerdict::NoTests, 0, 0)).feedback;
    assert!(feedback.passed && feedback.summary.contains("nothing is verified"));
    assert!(!of_tests(&test_run(TestVerdict::SetupFailed, 0, 0)).feedback.passed);
    // A run with green counts whose command failed is red, and never gets the full score.
    let feedback = of_tests(&test_run(TestVerdict::Failed, 5, 0)).feedback;
    assert!(!feedback.passed && feedback.score < 1.0 && !feedback.issues.is_empty());
}

fn any_event() -> impl Strategy<Value = JournalEvent> {
    let key = prop_oneof![
        Just("implement/1/agent"),
        Just("implement/1/import"),
        Just("implement/1/tests"),
        Just("implement/2/agent"),
        Just("implement/2/tests"),
        Just("plan/1/agent"),
        Just("prepare"),
        Just("implement/1/commit"),
        Just("//"),
        Just(""),
        Just("implement/99999999999/agent"),
    ];
    let moves = prop_oneof![
        Just(task("implement", 1)),
        Just(task("plan", 1)),
        Just(Move::Prepare),
        Just(import()),
        Just(commit()),
        Just(Move::RunTests { commit: sha('c') }),
        Just(Move::ShowStatus { revision: 1 }),
    ];
    let outcomes = prop_oneof![
        Just(ran(None)),
        Just(ran(Some(AgentFailureKind::Ended))),
        Just(imported()),
        Just(EffectOutcome::NothingPushed { because: String::new() }),
        Just(EffectOutcome::Committed { commit: sha('c'), patch: String::new() }),
        Just(tested(TestVerdict::Passed, 1, 0)),
        Just(tested(TestVerdict::Failed, 0, 0)),
        Just(EffectOutcome::BranchTaken { at: None }),
        Just(EffectOutcome::FilesFound { files: Vec::new(), content: None }),
    ];
    (key, prop_oneof![moves.prop_map(Ok), outcomes.prop_map(Err)]).prop_map(|(key, either)| match either {
        Ok(r#move) => intended(key, r#move),
        Err(outcome) => observed(key, outcome),
    })
}

proptest! {
    #[test]
    fn any_journal_has_steps_and_a_longer_one_has_no_fewer(events in proptest::collection::vec(any_event(), 0..20)) {
        let whole = journal(events);
        let mut before = 0;
        for length in 1..=whole.entries().len() {
            let steps = steps(&whole.prefix(length).unwrap());
            prop_assert!(steps.len() >= before);
            before = steps.len();
            for step in &steps {
                if step.success == Some(true) {
                    prop_assert!(step.checks.iter().all(|check| check.feedback.passed));
                }
            }
            let text = serde_json::to_string(&steps).unwrap();
            let read: Vec<Step> = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(read.len(), steps.len());
        }
    }
}
