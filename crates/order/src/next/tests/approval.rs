//! `/approve` and `/retry`: what a person's command does to an order that waits for them.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use super::world::{OrderEnding, SimulatedOrder, failed, objects, red, sha, tested};
use crate::agent_run::AgentFailureKind;
use crate::ids::*;
use crate::next::*;
use crate::receipt::Receipt;
use crate::signal::Requester;
use crate::signal::{CommentCommand, SignalKind, SlashCommand};
use crate::test_run::TestVerdict;
use crate::trace::StageState;

const REVIEWED: &str = "
name: reviewed
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests], escalate_on_exhaust: human_approval }
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, arguments: ['{{implement.result}}'], depends_on: [implement] }
  - { name: review, agent: developer, begins_with: checks, checks: [pushed_commit, policy, tests, verifier], verifier: code_reviewer, escalate_on_exhaust: human_approval, depends_on: [publish] }
  - { name: again, uses: tests, depends_on: [review] }
  - { name: ready, uses: ready, depends_on: [again] }
  - { name: archive, uses: archive, inputs: { review: '{{review.verdict}}', said: '{{review.result}}' }, depends_on: [ready] }
";

/// An order whose tests fail in every round.
fn run_out() -> SimulatedOrder {
    SimulatedOrder::with(REVIEWED)
        .when("implement/1/tests", vec![red(1, 2)])
        .when("implement/2/tests", vec![red(2, 1)])
        .when("implement/3/tests", vec![red(0, 3)])
}

fn none() -> EffectOutcome {
    tested(&sha(9), TestVerdict::NoTests, 0, 0)
}

fn by_token(world: &mut SimulatedOrder, command: &str) {
    let CommentCommand::Command(command) = CommentCommand::of(command) else {
        panic!("{command:?} is no command")
    };
    world.hear_from(Requester::ApiToken, SignalKind::Commanded { comment: None, pull: None, command });
}

fn approved_by(settled: &OrderEnding) -> (&str, &str) {
    match settled {
        OrderEnding::Approved { pull: Some(PullNumber(8)), by, because } => (by, because),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_person_approves_leaves_its_draft_and_is_not_judged_again() {
    let mut world = run_out();
    assert!(matches!(world.settle(), OrderEnding::Escalated { pull: Some(_), .. }));
    world.say("/approve");
    let settled = world.settle();
    let (by, because) = approved_by(&settled);
    assert_eq!(by, "ada");
    assert!(because.contains("2 passed, 1 failed"), "the best round's own fault: {because}");
    assert_eq!(world.last_answer(), Some(SignalAnswer::Taken));
    assert_eq!((world.made("verify"), world.made("again/"), world.made("implement/4")), (0, 0, 0));
    let states =
        ["implement", "publish", "review", "again", "ready", "archive"].map(|stage| world.state(stage));
    assert_eq!(
        states.map(|state| state.unwrap()),
        [
            StageState::Approved,
            StageState::Passed,
            StageState::Skipped,
            StageState::Skipped,
            StageState::Passed,
            StageState::Passed
        ]
    );
    let projection = world.projection();
    assert!(projection.trace.pull.as_ref().is_some_and(|pull| pull.ready));
    assert_eq!(projection.trace.pushed, Some(world.commit("implement/2")));
    let receipt = Receipt::of(&world.journal, &projection);
    assert_eq!((receipt.outcome, receipt.verified, receipt.on_remote), ("approved", false, true));
}

#[test]
fn approval_of_a_review_that_ran_out_takes_its_best_round() {
    let mut world = SimulatedOrder::with(REVIEWED)
        .when("review/1/verify-1", vec![objects(&["a", "b"])])
        .when("review/2/verify-1", vec![objects(&["c"])])
        .when("review/3/verify-1", vec![objects(&["d", "e"])]);
    world.settle();
    world.say("/approve");
    approved_by(&world.settle());
    assert_eq!(world.projection().trace.pushed, Some(world.commit("review/2")));
    assert_eq!(world.made("again/"), 0);
}

#[test]
fn what_could_not_be_verified_can_be_approved() {
    let mut world = SimulatedOrder::with(REVIEWED).when("/tests", vec![none(), none()]);
    assert!(matches!(world.settle(), OrderEnding::Unverified { pull: Some(_), .. }));
    assert!(world.projection().trace.pull.is_some_and(|pull| !pull.ready));
    world.say("/approve");
    let settled = world.settle();
    assert!(approved_by(&settled).1.contains("no tests"), "{settled:?}");
    assert!(world.projection().trace.pull.is_some_and(|pull| pull.ready));
    assert!(!Receipt::of(&world.journal, &world.projection()).verified);
}

#[test]
fn what_was_made_on_approved_work_is_not_published_where_a_later_stage_breaks_off() {
    let mut world = SimulatedOrder::with(
        "
name: three
version: 1
stages:
  - { name: one, agent: developer, checks: [pushed_commit, tests], escalate_on_exhaust: human_approval }
  - { name: two, agent: developer, checks: [pushed_commit, tests], depends_on: [one] }
  - { name: three, agent: developer, checks: [pushed_commit, tests], depends_on: [two] }
",
    )
    .when("one/1/tests", vec![red(1, 2)])
    .when("one/2/tests", vec![red(2, 1)])
    .when("one/3/tests", vec![red(0, 3)])
    .when("three/1/agent", vec![failed(AgentFailureKind::Misconfigured)]);
    assert!(matches!(world.settle(), OrderEnding::Escalated { pull: Some(_), .. }));
    world.say("/approve");
    assert!(matches!(world.settle(), OrderEnding::Failed { .. }));
    assert_eq!(world.state("two"), Some(StageState::Passed));
    assert_eq!(
        world.projection().trace.pushed,
        Some(world.commit("one/2")),
        "what ada approved, and no more"
    );
    assert_eq!(world.made("/approved"), 0);
}

#[test]
fn approval_while_at_work_is_ignored_with_a_reason() {
    let mut world = run_out();
    world.step();
    world.step();
    world.say("/approve");
    assert!(
        matches!(world.settle(), OrderEnding::Escalated { .. }),
        "said too early, it is not kept for later"
    );
    assert_eq!(
        world.last_answer(),
        Some(SignalAnswer::Ignored("nothing is waiting for approval".to_owned()))
    );
}

#[test]
fn a_second_approval_and_a_retry_after_it_change_nothing() {
    let mut world = run_out();
    world.settle();
    world.say("/approve");
    let first = world.settle();
    for command in ["/approve", "/retry"] {
        world.say(command);
        assert_eq!(world.settle(), first);
        assert!(matches!(world.last_answer(), Some(SignalAnswer::Ignored(_))), "{command}");
    }
    assert_eq!(world.made("/approved"), 1);
}

#[test]
fn what_is_verified_needs_no_approval_and_what_is_blocked_has_nothing_to_approve() {
    let mut world = SimulatedOrder::with(REVIEWED);
    world.settle();
    world.say("/approve");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert!(matches!(world.last_answer(), Some(SignalAnswer::Ignored(_))));

    let mut world =
        SimulatedOrder::with(REVIEWED).when("/import", (0..3).map(|_| super::world::nothing()).collect());
    world.settle();
    world.say("/approve");
    assert!(matches!(world.settle(), OrderEnding::Blocked { .. }));
    assert_eq!(
        world.last_answer(),
        Some(SignalAnswer::Ignored("nothing is waiting for approval".to_owned()))
    );
}

#[test]
fn approval_by_somebody_without_the_right_is_ignored_with_a_reason() {
    let mut world = run_out();
    world.settle();
    let outsider = Requester::Person(Person { login: "eve".to_owned(), id: UserId(66) });
    world.hear_from(
        outsider,
        SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Approve },
    );
    let key = format!("authorize/{}", world.journal.last_seq());
    assert_eq!(world.last_answer(), Some(SignalAnswer::Asking));
    world = world.when(key, vec![EffectOutcome::Authorized { allowed: false }]);
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    assert_eq!(world.last_answer(), Some(SignalAnswer::NoRight("eve has no write access".to_owned())));
    assert!(world.projection().trace.pull.is_some_and(|pull| !pull.ready));
}

#[test]
fn the_apis_token_approves_and_retries_without_being_asked() {
    let mut world = run_out().when("implement/4/tests", vec![red(0, 1)]);
    world.settle();
    let asked = world.made("authorize");
    by_token(&mut world, "/retry mind the carry");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!(world.made("authorize"), asked);
    assert_eq!(world.advice("implement/4/agent").as_deref(), Some("mind the carry"));

    let mut world = run_out();
    world.settle();
    by_token(&mut world, "/approve");
    assert_eq!(approved_by(&world.settle()).0, "the API");
}

#[test]
fn a_retry_gives_new_rounds_with_the_guidance_told_once() {
    let mut world = run_out()
        .when("implement/4/tests", vec![red(1, 1)])
        .when("implement/5/tests", vec![red(1, 4)])
        .when("implement/6/tests", vec![red(1, 5)]);
    world.settle();
    world.say("/retry use a checked sum");
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }), "three more");
    let advice = [3, 4, 5, 6].map(|round| world.advice(&format!("implement/{round}/agent")));
    assert_eq!(advice, [None, Some("use a checked sum".to_owned()), None, None]);
    assert_eq!(world.task("implement/4/agent").unwrap().rework.unwrap().attempt, 1);
    assert_eq!(world.made("implement/7"), 0);
    let best = world.projection().trace.work.map(|work| work.round);
    assert_eq!(best, Some(2), "later rounds were no better");
    world.say("/approve");
    approved_by(&world.settle());
    assert_eq!(world.projection().trace.pushed, Some(world.commit("implement/2")));
}

#[test]
fn unverified_work_that_a_person_wants_better_is_still_the_best_when_nothing_better_comes() {
    let mut world = SimulatedOrder::with(REVIEWED)
        .when("implement/1/tests", vec![none()])
        .when("/tests", vec![none(), red(0, 2), red(0, 3), red(0, 4)]);
    assert!(matches!(world.settle(), OrderEnding::Unverified { .. }));
    world.say("/retry add a test");
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    let best = world.projection().trace.work.map(|work| work.round);
    assert_eq!((best, world.made("implement/3/agent")), (Some(1), 1));
}

#[test]
fn a_word_for_one_stage_does_not_keep_another_from_its_retry() {
    let apart = "
name: apart
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests], escalate_on_exhaust: human_approval }
  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
  - { name: notes, agent: archiver }
";
    let mut world = SimulatedOrder::with(apart)
        .when("implement/1/tests", vec![red(1, 2)])
        .when("implement/2/tests", vec![red(1, 2)])
        .when("notes/1/agent", vec![failed(AgentFailureKind::Misconfigured)]);
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    world.say("/approve");
    assert!(matches!(world.settle(), OrderEnding::Failed { .. }), "the notes are missing");
    world.say("/retry");
    approved_by(&world.settle());
    assert_eq!((world.made("notes/1/agent"), world.made("implement/3")), (2, 0));
}

#[test]
fn approval_holds_after_a_retry_that_could_change_nothing() {
    let untested = "
name: untested
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy] }
  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
";
    let mut world = SimulatedOrder::with(untested);
    assert!(matches!(world.settle(), OrderEnding::Unverified { .. }));
    world.say("/retry");
    world.settle();
    world.say("/approve");
    approved_by(&world.settle());
}

#[test]
fn what_is_approved_leaves_its_draft_though_no_stage_would_do_that() {
    for stages in ["", "  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }\n"] {
        let stage = "{ name: implement, agent: developer, checks: [pushed_commit, policy, tests], escalate_on_exhaust: human_approval }";
        let yaml = format!("name: bare\nversion: 1\nstages:\n  - {stage}\n{stages}");
        let mut world = SimulatedOrder::with(&yaml).when("/tests", vec![red(1, 2), red(1, 2)]);
        assert!(matches!(world.settle(), OrderEnding::Escalated { pull: Some(_), .. }), "{stages}");
        world.say("/approve");
        approved_by(&world.settle());
        assert!(world.projection().trace.pull.is_some_and(|pull| pull.ready), "{stages}");
    }
    let yaml = "
name: bare
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests] }
  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }
";
    let mut world = SimulatedOrder::with(yaml).when("/tests", vec![none()]);
    assert!(matches!(world.settle(), OrderEnding::Unverified { pull: Some(_), .. }));
    world.say("/approve");
    approved_by(&world.settle());
    assert!(world.projection().trace.pull.is_some_and(|pull| pull.ready));
}

#[test]
fn a_draft_is_handed_over_though_its_text_names_what_the_worker_did_not_say() {
    // `publish` names {{implement.result}}, and `archive` {{review.result}}: neither stage has a result of its own.
    let mut world = run_out();
    assert!(matches!(world.settle(), OrderEnding::Escalated { pull: Some(_), .. }));
    let mut world = SimulatedOrder::with(REVIEWED);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!(world.made("archive/archive"), 1);
}
