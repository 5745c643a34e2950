//! Texts for journals and projections that the tests construct.

mod bodies;
mod harmless;
mod journals;
mod verification;

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use uuid::Uuid;

use journeyman_order::moves::{AgentTask, Retry, Rework};
use journeyman_order::next::{NextMoves, OrderProjection};
use journeyman_order::test_run::CommandRun;
use journeyman_order::trace::{
    CandidateWork, OrderTrace, PullTrace, RoundTrace, StageChecksOutcome, StageState, StageTrace,
};
use journeyman_order::{
    Category, CommitSha, EffectError, EffectOutcome, Exit, Feedback, Finding, IssueNumber, IssueText,
    Journal, JournalEntry, JournalEvent, Move, MoveKey, OrderBudget, OrderId, OrderInput, OrderLimits,
    Person, Pipeline, PullNumber, RepositoryId, Requester, Settlement, Severity, Signal, SignalKind,
    TestCounts, TestRun, TestVerdict, UserId, Verdict,
};

const PIPELINE: &str = "
name: small
version: 1
stages:
  - name: plan
    agent: developer
    command: implement
  - name: implement
    depends_on: [plan]
    agent: developer
    command: implement
    checks: [pushed_commit, tests]
  - name: review
    depends_on: [implement]
    agent: developer
    command: implement
    begins_with: checks
    checks: [pushed_commit, verifier]
    verifier: code_reviewer
";

fn start() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 4, 5, 0, 0).unwrap()
}

pub(crate) fn sha(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn mona() -> Requester {
    Requester::Person(Person { login: "mona".to_owned(), id: UserId(7) })
}

/// A test's journal: seconds since the opening, and events.
pub(crate) fn journal(events: Vec<(i64, JournalEvent)>) -> Journal {
    let opened = OrderInput {
        format: journeyman_order::journal::JOURNAL_FORMAT,
        order: OrderId(Uuid::from_u128(1)),
        repository: "octo/hello".parse().unwrap(),
        repository_id: RepositoryId(1),
        installation: None,
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: IssueNumber(7),
            title: "The sum".to_owned(),
            body: String::new(),
            url: "https://github.com/o/r/issues/7".to_owned(),
            labels: Vec::new(),
        },
        by: mona(),
        pipeline: Pipeline::parse(PIPELINE).unwrap(),
        agent: "claude".to_owned(),
        limits: OrderLimits::default(),
        roles: BTreeMap::new(),
        earlier: Vec::new(),
        request: Default::default(),
        comment: None,
        labeled_at: None,
        commented_at: None,
        change: None,
    };
    let opening = (0, JournalEvent::Opened(Box::new(opened)));
    let entries = std::iter::once(opening).chain(events).zip(1..).map(|((seconds, event), seq)| {
        JournalEntry { seq, at: start() + TimeDelta::seconds(seconds), event }
    });
    Journal::new(entries.collect()).unwrap()
}

pub(crate) fn intends(key: &str, doing: Move) -> JournalEvent {
    JournalEvent::Intended { key: MoveKey(key.to_owned()), r#move: Box::new(doing) }
}

pub(crate) fn sees(key: &str, outcome: EffectOutcome) -> JournalEvent {
    JournalEvent::Observed { key: MoveKey(key.to_owned()), outcome: Box::new(outcome) }
}

pub(crate) fn says(kind: SignalKind) -> JournalEvent {
    JournalEvent::Signaled { signal: Signal { by: mona(), kind }, delivery: None }
}

fn trouble() -> EffectOutcome {
    EffectOutcome::Trouble(EffectError { message: "overloaded".to_owned(), retry: Retry::Soon })
}

pub(crate) fn run(round: u32, rework: Option<(u32, u32)>) -> Move {
    Move::RunAgent(AgentTask {
        stage: "implement".to_owned(),
        role: "developer".to_owned(),
        round,
        rework: rework.map(|(attempt, of)| Rework { attempt, of, ..Rework::default() }),
        ..AgentTask::default()
    })
}

/// The result of a replay; each test sets the part that it covers.
pub(crate) fn projection(trace: OrderTrace, settled: Option<Settlement>) -> OrderProjection {
    let next = NextMoves { moves: Vec::new(), wake_at: None, settled };
    let budget = OrderBudget {
        usd_limit: 5.0,
        usd_spent: 0.0,
        minutes_limit: 60,
        minutes_spent: 0,
        runs_limit: 60,
        runs_spent: 0,
    };
    let verdict = Verdict::of(&Pipeline::parse(PIPELINE).unwrap(), &trace, next.settled.as_ref());
    OrderProjection { next, trace, verdict, answers: Vec::new(), budget, revision: 1 }
}

pub(crate) fn stage(name: &str, state: StageState, rounds: Vec<RoundTrace>) -> StageTrace {
    StageTrace { name: name.to_owned(), state, rounds }
}

pub(crate) fn finding(what: &str, place: &str) -> Finding {
    Finding {
        severity: Severity::Major,
        category: Category::LogicError,
        description: what.to_owned(),
        location: Some(place.to_owned()),
        suggestion: None,
    }
}

pub(crate) fn work() -> CandidateWork {
    CandidateWork {
        round: 1,
        pushed: sha('9'),
        agent: "claude".to_owned(),
        session: None,
        answer: MoveKey("implement/1/agent".to_owned()),
        patch: String::new(),
        review: Some(Feedback { issues: vec![finding("a", "x:1")], ..Feedback::passed("Sound.") }),
        open: Default::default(),
        commit: sha('a'),
        tree: "b".repeat(40).parse().unwrap(),
        changed: vec!["x".to_owned()],
        tests: None,
        tested_at: 0,
        checks: StageChecksOutcome::Passed,
        accepted: None,
    }
}

pub(crate) fn ran(command: &str, exit: Exit) -> CommandRun {
    CommandRun { command: command.to_owned(), exit, duration_seconds: 1.0, output_sha256: String::new() }
}

pub(crate) fn tested() -> TestRun {
    TestRun {
        commit: sha('a'),
        tree: "b".repeat(40).parse().unwrap(),
        verdict: TestVerdict::Passed,
        doubt: None,
        left_out: Vec::new(),
        unrun: Vec::new(),
        setup: Some(ran("pip install -e .", Exit::Code(0))),
        test: Some(ran("pytest -q", Exit::Code(0))),
        signal: None,
        counts: Some(TestCounts { passed: 24, failed: 0, skipped: 1 }),
        failing: Vec::new(),
        tail: String::new(),
        image: None,
        sandbox: "bubblewrap".to_owned(),
        network: BTreeMap::new(),
        scrutiny: None,
        artifacts: Vec::new(),
    }
}

pub(crate) fn published(review: StageState) -> OrderTrace {
    let round = |round| RoundTrace { round, ..RoundTrace::default() };
    OrderTrace {
        base: Some(sha('c')),
        stages: vec![
            stage("implement", StageState::Passed, vec![round(1)]),
            stage("review", review, vec![round(1)]),
        ],
        work: Some(work()),
        pull: Some(PullTrace {
            number: PullNumber(12),
            url: "https://github.com/octo/hello/pull/12".to_owned(),
            summary: String::new(),
            title: String::new(),
            ready: false,
        }),
        ..OrderTrace::default()
    }
}
