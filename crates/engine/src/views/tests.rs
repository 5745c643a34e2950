//! Journals as people see them.

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use uuid::Uuid;

use super::*;
use journeyman_github::render::{FindingFollowUp, StageLineState};
use journeyman_order::OrderBudget;
use journeyman_order::conversation::{CheckRunState, NoticeComment};
use journeyman_order::moves::{AgentTask, Retry, ReviewNote, Rework};
use journeyman_order::next::{NextMoves, OrderProjection};
use journeyman_order::trace::{
    CandidateWork, CiTrace, OrderTrace, PullTrace, RoundTrace, StageChecksOutcome, StageState as Stood,
    StageTrace,
};
use journeyman_order::{
    AnsweredSignal, Category, CommitSha, EffectError, EffectOutcome, Feedback, Finding, IssueNumber,
    IssueText, JournalEntry, JournalEvent, Move, MoveKey, OrderId, OrderInput, OrderLimits, Person, Pipeline,
    PullNumber, RepositoryId, Requester, Settlement, Severity, Signal, SignalAnswer, SignalKind,
    SlashCommand, UserId, Verdict,
};

const PIPELINE: &str = "
name: small
version: 1
stages:
  - name: implement
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

fn sha(digit: char) -> CommitSha {
    digit.to_string().repeat(40).parse().unwrap()
}

fn mona() -> Requester {
    Requester::Person(Person { login: "mona".to_owned(), id: UserId(7) })
}

/// A journal that is written by a test: seconds from the opening, and what happened.
fn journal(events: Vec<(i64, JournalEvent)>) -> Journal {
    let opened = OrderInput {
        order: OrderId(Uuid::from_u128(1)),
        repository: "octo/hello".parse().unwrap(),
        repository_id: RepositoryId(1),
        installation: None,
        default_branch: "main".to_owned(),
        issue: IssueText {
            number: IssueNumber(7),
            title: "The sum".to_owned(),
            body: String::new(),
            url: "https://github.com/octo/hello/issues/7".to_owned(),
            labels: Vec::new(),
        },
        by: mona(),
        pipeline: Pipeline::parse(PIPELINE).unwrap(),
        agent: "claude".to_owned(),
        limits: OrderLimits::default(),
        roles: std::collections::BTreeMap::new(),
    };
    let opening = (0, JournalEvent::Opened(Box::new(opened)));
    let entries = std::iter::once(opening).chain(events).zip(1..).map(|((seconds, event), seq)| {
        JournalEntry { seq, at: start() + TimeDelta::seconds(seconds), event }
    });
    Journal::new(entries.collect()).unwrap()
}

fn intends(key: &str, doing: Move) -> JournalEvent {
    JournalEvent::Intended { key: MoveKey(key.to_owned()), r#move: Box::new(doing) }
}

fn sees(key: &str, outcome: EffectOutcome) -> JournalEvent {
    JournalEvent::Observed { key: MoveKey(key.to_owned()), outcome: Box::new(outcome) }
}

fn says(kind: SignalKind) -> JournalEvent {
    JournalEvent::Signaled { signal: Signal { by: mona(), kind }, delivery: None }
}

fn trouble() -> EffectOutcome {
    EffectOutcome::Trouble(EffectError { message: "overloaded".to_owned(), retry: Retry::Soon })
}

fn run(round: u32, rework: Option<(u32, u32)>) -> Move {
    Move::RunAgent(AgentTask {
        stage: "implement".to_owned(),
        role: "developer".to_owned(),
        round,
        rework: rework.map(|(attempt, of)| Rework { attempt, of, ..Rework::default() }),
        ..AgentTask::default()
    })
}

/// What a walk would have found; each test says what it is about.
fn survey(trace: OrderTrace, settled: Option<Settlement>) -> OrderProjection {
    let next = NextMoves { moves: Vec::new(), wake_at: None, settled };
    let budget = OrderBudget {
        usd_limit: 5.0,
        usd_spent: 0.0,
        minutes_limit: 60,
        minutes_spent: 0,
        runs_limit: 60,
        runs_spent: 0,
        retry_renews: true,
    };
    let verdict = Verdict::of(&Pipeline::parse(PIPELINE).unwrap(), &trace, next.settled.as_ref());
    OrderProjection { next, trace, verdict, answers: Vec::new(), usd_limit: 5.0, budget, revision: 1 }
}

fn stage(name: &str, state: Stood, rounds: Vec<RoundTrace>) -> StageTrace {
    StageTrace { name: name.to_owned(), state, rounds }
}

fn finding(what: &str, place: &str) -> Finding {
    Finding {
        severity: Severity::Major,
        category: Category::LogicError,
        description: what.to_owned(),
        location: Some(place.to_owned()),
        suggestion: None,
    }
}

fn work() -> CandidateWork {
    CandidateWork {
        round: 1,
        pushed: sha('9'),
        agent: "claude".to_owned(),
        session: None,
        answer: MoveKey("implement/1/agent".to_owned()),
        patch: String::new(),
        review: Some(Feedback { issues: vec![finding("a", "x:1")], ..Feedback::passed("Sound.") }),
        open_findings: 1,
        commit: sha('a'),
        tree: "b".repeat(40).parse().unwrap(),
        changed: vec!["x".to_owned()],
        tests: None,
        tested_at: 0,
        checks: StageChecksOutcome::Passed,
        accepted: None,
    }
}

fn published(review: Stood) -> OrderTrace {
    let round = |round| RoundTrace { round, ..RoundTrace::default() };
    OrderTrace {
        base: Some(sha('c')),
        stages: vec![
            stage("implement", Stood::Passed, vec![round(1)]),
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

#[test]
fn time_is_counted_while_something_is_done_and_not_while_a_person_is_waited_for() {
    let status = Move::ShowStatus { revision: 1 };
    let journal = journal(vec![
        (10, intends("implement/1/agent", run(1, None))),
        (20, intends("status/1", status)),
        (50, sees("status/1", EffectOutcome::StatusShown { comment: None })),
        (70, sees("implement/1/agent", trouble())),
        // A day goes by.
        (86_470, intends("implement/1/agent", run(1, None))),
        (86_475, intends("review/1/tests", Move::RunTests { commit: sha('a') })),
        (86_480, sees("implement/1/agent", trouble())),
        (86_490, sees("review/1/tests", trouble())),
    ]);
    let seconds = |stage: &str| time::seconds_at_work(&journal, |key| key.stage() == stage);
    assert_eq!(seconds("implement"), Some(70));
    assert_eq!(seconds("review"), Some(15));
    assert_eq!(seconds("publish"), None);
    assert_eq!(time::seconds_at_work(&journal, |_| true), Some(80));
    assert_eq!(time::last_news(&journal), start() + TimeDelta::seconds(86_490));
    assert!(time::under_way(&journal).is_empty());
}

#[test]
fn the_status_tells_round_and_attempt_what_is_under_way_and_what_was_said() {
    let command = |command| SignalKind::Commanded { comment: Some(1), pull: None, command };
    let journal = journal(vec![
        (1, says(SignalKind::IssueEdited)),
        (2, says(command(SlashCommand::Approve))),
        (3, says(command(SlashCommand::Help))),
        (4, says(command(SlashCommand::Retry { guidance: None }))),
        (5, says(command(SlashCommand::Cancel))),
        (10, intends("implement/1/agent", run(1, None))),
        (20, sees("implement/1/agent", trouble())),
        (21, intends("implement/2/message/1/agent", run(1, Some((3, 3))))),
        (22, sees("implement/2/message/1/agent", trouble())),
        (30, intends("implement/2/agent", run(2, Some((2, 3))))),
    ]);
    let round = |round| RoundTrace { round, ..RoundTrace::default() };
    let trace = OrderTrace {
        stages: vec![stage("implement", Stood::Running, vec![round(1), round(2)])],
        notes: vec!["No tests were found.".to_owned()],
        ..OrderTrace::default()
    };
    let mut survey = survey(trace, None);
    let answered = |signal, answer| AnsweredSignal { signal, answer };
    survey.answers = vec![
        answered(3, SignalAnswer::Ignored("nothing waits for approval".to_owned())),
        answered(4, SignalAnswer::Noted),
        answered(5, SignalAnswer::Taken),
        answered(6, SignalAnswer::NoRight("mona has no write access".to_owned())),
    ];
    let view = status(&journal, &survey, None);
    assert_eq!(view.now, ["developer is at work (implement)"]);
    let lines: Vec<(&str, StageLineState, &str, Option<u64>)> = view
        .stages
        .iter()
        .map(|line| (line.name.as_str(), line.state, line.detail.as_str(), line.seconds))
        .collect();
    assert_eq!(
        lines,
        [
            ("implement", StageLineState::Running, "round 2 of 3", Some(11)),
            ("review", StageLineState::Waiting, "", None)
        ]
    );
    let said: Vec<(&str, Option<&str>)> =
        view.commands.iter().map(|line| (line.command.as_str(), line.ignored.as_deref())).collect();
    // Of people without the right nothing is said, and help was helped on the spot.
    assert_eq!(said, [("/approve", Some("nothing waits for approval")), ("/retry", None)]);
    assert_eq!(
        view.notes,
        [
            "The issue was edited after the start: this order works on the text as it was.",
            "No tests were found."
        ]
    );
    assert_eq!(status(&journal, &survey, None), view);
    let said = notice(&journal, &survey, &NoticeComment::Status);
    assert_eq!(said.headline, "Journeyman is at work on this: implement, round 2");
}

#[test]
fn rounds_of_a_later_set_and_answers_to_people_are_numbered_as_they_are() {
    let round = |round| RoundTrace { round, ..RoundTrace::default() };
    let journal = journal(vec![
        (1, intends("implement/5/agent", run(5, Some((2, 3))))),
        (2, intends("answer/1/2/agent", run(2, Some((2, 3))))),
    ]);
    let stages = vec![
        stage("implement", Stood::Passed, vec![round(5)]),
        stage("answer", Stood::Running, vec![round(2)]),
    ];
    let view = status(&journal, &survey(OrderTrace { stages, ..OrderTrace::default() }, None), None);
    let lines: Vec<(&str, &str)> =
        view.stages.iter().map(|line| (line.name.as_str(), line.detail.as_str())).collect();
    assert_eq!(lines, [("implement", "round 5, attempt 2 of 3"), ("review", ""), ("answer", "round 2 of 3")]);
}

#[test]
fn a_plan_that_waits_and_all_that_stands_in_the_way_is_told_at_once() {
    let journal = journal(Vec::new());
    let waiting = survey(OrderTrace { asks: Some(PendingApproval::Plan), ..OrderTrace::default() }, None);
    let view = status(&journal, &waiting, None);
    assert!(view.headline.contains("waits") && view.next_steps[0].contains("`/approve`"), "{view:?}");
    assert_eq!(label(&waiting), OrderLabel::NeedsHuman);
    let problems = vec!["no push".to_owned(), "no key".to_owned()];
    let failed = |because: &str| Some(Settlement::Failed { because: because.to_owned() });
    let trace = OrderTrace { problems: problems.clone(), ..OrderTrace::default() };
    let view = status(&journal, &survey(trace, failed("2 things stand in the way")), None);
    assert_eq!((view.problems, view.explanation.as_deref()), (problems, Some("2 things stand in the way")));
    let trace = OrderTrace { problems: vec!["no key".to_owned()], ..OrderTrace::default() };
    assert_eq!(status(&journal, &survey(trace, failed("no key")), None).explanation, None);
}

#[test]
fn the_pull_request_says_that_judges_are_to_come_and_never_verified_when_the_order_ended_before() {
    let journal = journal(Vec::new());
    let heading = |trace, settled| pull(&journal, &survey(trace, settled), "").unwrap().receipt.heading;
    assert_eq!(heading(published(Stood::Running), None), "⏳ Not verified yet");
    for settled in [
        Settlement::Cancelled { because: "mona said /cancel".to_owned() },
        Settlement::Failed { because: "no key".to_owned() },
        Settlement::Merged { pull: PullNumber(12), by: "mona".to_owned() },
    ] {
        let heading = heading(published(Stood::Failed), Some(settled));
        assert_eq!(heading, "❌ Not verified: the work has ended before");
    }
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
        let trace = OrderTrace { ci: Some(ci), ..published(Stood::Passed) };
        pull(&journal, &survey(trace, None), "").unwrap().receipt.others
    };
    assert_eq!(others(sha('a')).map(|ci| ci.passed), Some(3));
    assert_eq!(others(sha('d')), None);
}

#[test]
fn the_check_run_of_another_commit_claims_nothing() {
    let journal = journal(Vec::new());
    let survey = survey(published(Stood::Passed), None);
    let on = |head: char| check(&journal, &survey, &sha(head), CheckRunState::Success);
    assert!(on('a').receipt.is_some());
    assert_eq!((on('a').findings.len(), on('a').changed), (1, vec!["x".to_owned()]));
    let other = on('d');
    assert!(other.receipt.is_none() && other.findings.is_empty() && other.changed.is_empty());
}

#[test]
fn what_became_of_a_finding_is_what_the_next_review_says() {
    let note = |round, commit, issues: Vec<Finding>| ReviewNote {
        pull: PullNumber(12),
        stage: "review".to_owned(),
        round,
        verifier: "code_reviewer".to_owned(),
        commit,
        feedback: Some(Feedback { passed: false, score: 0.5, summary: "No.".to_owned(), issues }),
    };
    let first = note(1, sha('a'), vec![finding("a is wrong", "x.py:1"), finding("b is wrong", "y.py:1")]);
    let second = note(2, sha('b'), vec![finding("a is still wrong", "x.py:9")]);
    let show = |key: &str, note: &ReviewNote| intends(key, Move::ShowReview(note.clone()));
    let round = |round, result: Option<&str>| RoundTrace {
        round,
        agent: result.map(|_| "claude".to_owned()),
        result: result.map(str::to_owned),
        ..RoundTrace::default()
    };
    let mut trace = published(Stood::Running);
    trace.stages[1].rounds = vec![round(1, None), round(2, Some("Mended b."))];
    let survey = survey(trace, None);

    let early = journal(vec![(1, show("review/1/show", &first))]);
    let view = review(&early, &survey, &first);
    assert_eq!(
        (view.follow_ups, view.answer),
        (vec![FindingFollowUp::Unknown, FindingFollowUp::Unknown], None)
    );

    let later = journal(vec![(1, show("review/1/show", &first)), (2, show("review/2/show", &second))]);
    let view = review(&later, &survey, &first);
    assert_eq!(
        view.follow_ups,
        [FindingFollowUp::RaisedAgain(sha('b')), FindingFollowUp::NotRaisedAgain(sha('b'))]
    );
    assert_eq!(view.answer.as_deref(), Some("Mended b."));
    assert_eq!(review(&later, &survey, &second).follow_ups, [FindingFollowUp::Unknown]);
    assert_eq!(earlier_reviews(&later, &second), [&first]);
    assert!(earlier_reviews(&later, &first).is_empty());
}
