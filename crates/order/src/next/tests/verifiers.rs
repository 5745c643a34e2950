//! A stage that several roles judge in parallel.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use super::world::{OrderEnding, SimulatedOrder, approves, failed, objects, said};
use crate::agent_run::{AgentFailure, AgentFailureKind, AgentRun};
use crate::feedback::Severity;
use crate::ids::PullNumber;
use crate::inconclusive::Inconclusive;
use crate::moves::AgentTaskWorkspace;
use crate::next::*;
use crate::steps::{StepKind, steps};

const VERIFIED: OrderEnding = OrderEnding::Verified { pull: Some(PullNumber(8)) };
const ALL: &str = "[logic_reviewer, security_reviewer, architecture_reviewer]";

/// Implemented, published as a draft, reviewed by these roles.
fn reviewed_by(verifier: &str) -> SimulatedOrder {
    SimulatedOrder::with(&format!(
        "
name: reviewed
version: 1
stages:
  - {{ name: implement, agent: developer, checks: [pushed_commit, policy, tests] }}
  - {{ name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }}
  - name: review
    agent: developer
    begins_with: checks
    checks: [pushed_commit, policy, tests, verifier]
    verifier: {verifier}
    escalate_on_exhaust: human_approval
    depends_on: [publish]
  - {{ name: ready, uses: ready, depends_on: [review] }}
"
    ))
}

fn key(role: &str, round: u32, question: u32) -> String {
    format!("review/{round}/verify-{role}-{question}")
}

#[test]
fn all_are_asked_at_the_same_time_about_the_same_commit_and_each_has_to_be_content() {
    let mut world = reviewed_by(ALL);
    while world.under_way.len() < 3 {
        assert!(world.begin_all());
        if world.under_way.len() < 3 {
            let key = world.under_way[0].0.0.clone();
            world.finish(&key);
        }
    }
    let commit = world.commit("implement/1");
    let at_work: Vec<String> = world.under_way.iter().map(|(key, _)| key.to_string()).collect();
    for role in ["logic_reviewer", "security_reviewer", "architecture_reviewer"] {
        assert!(at_work.contains(&key(role, 1, 1)), "{at_work:?}");
        let task = world.task(&key(role, 1, 1)).unwrap();
        assert_eq!((&*task.role, &*task.command), (role, "review"));
        assert_eq!(task.place, AgentTaskWorkspace::Checkout { commit: commit.clone() });
    }
    assert_eq!(world.settle_choosing(|_| 0), VERIFIED);
    assert_eq!(world.made("/verify-"), 3);
}

#[test]
fn what_several_find_is_told_together_with_who_found_it_and_counts_as_one_round() {
    let mut world = reviewed_by(ALL)
        .when(key("logic_reviewer", 1, 1), vec![objects(&["an off by one"])])
        .when(key("architecture_reviewer", 1, 1), vec![objects(&["a layer too many"])]);
    assert_eq!(world.settle(), VERIFIED);
    let told = world.task("review/2/agent").unwrap().rework.unwrap();
    assert_eq!((told.attempt, told.of), (1, 2), "one of three rounds is used, whoever objects");
    let feedback = &told.feedback[0];
    let found: Vec<&str> = feedback.issues.iter().map(|finding| finding.description.as_str()).collect();
    assert_eq!(found, ["logic_reviewer: an off by one", "architecture_reviewer: a layer too many"]);
    assert!(feedback.issues.iter().all(|finding| finding.severity == Severity::Major));
    assert_eq!((feedback.passed, feedback.score), (false, 0.4), "the lowest");
    insta::assert_snapshot!(feedback.summary, @"logic_reviewer: an off by one is not right architecture_reviewer: a layer too many is not right security_reviewer: nothing to object");

    // Each role gets only its own earlier words.
    let before = |role: &str| world.task(&key(role, 2, 1)).unwrap().arguments[4].clone();
    assert_eq!(
        before("logic_reviewer"),
        "Round 1: an off by one is not right\n- an off by one (src/lib.rs:3)\n"
    );
    assert_eq!(before("security_reviewer"), "Round 1: nothing to object\n");
    let steps = steps(&world.journal);
    assert_eq!(steps.iter().filter(|step| step.kind == StepKind::Review).count(), 6);
    let second = steps.iter().find(|step| step.key.0 == "review/2/agent").unwrap();
    let by: Vec<Option<&str>> = second.checks.iter().map(|check| check.by.as_deref()).collect();
    assert_eq!(second.success, Some(true));
    assert_eq!(
        by,
        [None, None, None, Some("logic_reviewer"), Some("security_reviewer"), Some("architecture_reviewer")]
    );
}

#[test]
fn one_that_answers_nonsense_is_asked_again_and_the_others_are_not() {
    let mut world = reviewed_by(ALL).when(key("security_reviewer", 1, 1), vec![said("LGTM")]);
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(world.made("/verify-"), 4);
    assert_eq!(world.made(&key("security_reviewer", 1, 2)), 1);

    let mut world = reviewed_by(ALL)
        .when(key("security_reviewer", 1, 1), vec![said("LGTM")])
        .when(key("security_reviewer", 1, 2), vec![said("LGTM!")]);
    let OrderEnding::Escalated { because, .. } = world.settle() else { panic!("that is no pass") };
    assert!(because.contains("the review by security_reviewer could not be completed"), "{because}");
    world.say("/retry");
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(world.made(&key("security_reviewer", 1, 3)), 1);
    assert_eq!(world.made("/verify-"), 5, "those who have answered are not paid again");
}

#[test]
fn one_whose_program_fails_is_told_by_its_failure_and_not_as_an_empty_answer() {
    let broken = || {
        let failure = AgentFailure::new(AgentFailureKind::Ended, "it failed (exit code 1): no such model");
        let result = Some("LGTM".to_owned());
        EffectOutcome::AgentRan(Box::new(AgentRun { result, failure: Some(failure), ..AgentRun::default() }))
    };
    let mut world = reviewed_by(ALL)
        .when(key("security_reviewer", 1, 1), vec![broken()])
        .when(key("security_reviewer", 1, 2), vec![broken()]);
    let OrderEnding::Escalated { because, .. } = world.settle() else { panic!("that is no pass") };
    assert!(because.contains("it failed (exit code 1): no such model"), "{because}");
    let told = world.task(&key("security_reviewer", 1, 2)).unwrap().rework.unwrap();
    let expected = "the agent gave no answer: it failed (exit code 1): no such model";
    assert_eq!(told.feedback[0].summary, expected);
}

#[test]
fn one_whose_service_is_away_is_waited_for_and_the_others_are_kept() {
    let away = || failed(AgentFailureKind::Unavailable);
    let mut world = reviewed_by(ALL).when(key("logic_reviewer", 1, 1), vec![away(), away(), approves()]);
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(world.made(&key("logic_reviewer", 1, 1)), 3);
    assert_eq!(world.made("/verify-"), 5);
}

#[test]
fn one_that_cannot_be_run_ends_the_stage_once_the_others_have_answered() {
    let wrong = || failed(AgentFailureKind::Misconfigured);
    for last in [0, 2] {
        let mut world = reviewed_by(ALL).when(key("logic_reviewer", 1, 1), vec![wrong(), approves()]);
        let settled = world.settle_choosing(|under_way| last.min(under_way.len() - 1));
        let OrderEnding::Failed { because } = settled else { panic!("{settled:?}") };
        assert_eq!(because, "Misconfigured");
        assert_eq!(world.made("/verify-"), 3, "whoever is quicker: {:?}", world.made);
        world.say("/retry");
        assert_eq!(world.settle(), VERIFIED);
        assert_eq!(world.made("/verify-"), 4);
    }
}

#[test]
fn the_budget_of_a_stage_holds_for_all_of_them_and_leaves_out_none_that_was_slower() {
    let expensive = || {
        let EffectOutcome::AgentRan(mut run) = approves() else { panic!("an answer") };
        run.usage.usd = 0.7;
        EffectOutcome::AgentRan(run)
    };
    for first in [0, 2] {
        let mut world = reviewed_by(&format!("{ALL}\n    budget: 0.5"))
            .when(key("logic_reviewer", 1, 1), vec![expensive()])
            .when(key("security_reviewer", 1, 1), vec![failed(AgentFailureKind::Unavailable)])
            .when(key("architecture_reviewer", 1, 1), vec![objects(&["a layer too many"])]);
        let settled = world.settle_choosing(|under_way| first.min(under_way.len() - 1));
        let OrderEnding::Escalated { because, .. } = settled else { panic!("{settled:?}") };
        assert!(because.contains("the budget of $0.50 for stage review is spent"), "{because}");
        assert_eq!((world.made("/verify-"), world.made("review/2")), (4, 0), "{:?}", world.made);
    }
}

#[test]
fn a_crash_at_any_moment_pays_nobody_twice() {
    let mut calm = reviewed_by(ALL).when(key("logic_reviewer", 1, 1), vec![objects(&["an off by one"])]);
    assert_eq!(calm.settle_choosing(|_| 0), VERIFIED);
    for crash in 0..60 {
        let mut world = reviewed_by(ALL).when(key("logic_reviewer", 1, 1), vec![objects(&["an off by one"])]);
        for _ in 0..crash {
            if world.begin_all() && !world.under_way.is_empty() {
                let key = world.under_way[crash % world.under_way.len()].0.0.clone();
                world.finish(&key);
            }
        }
        world.begin_all();
        world.under_way.clear();
        assert_eq!(world.settle_choosing(|_| 0), VERIFIED);
        let paid = |world: &SimulatedOrder| {
            let mut paid: Vec<String> =
                world.made.iter().filter(|key| key.contains("/verify-")).cloned().collect();
            paid.sort();
            paid
        };
        assert_eq!(paid(&world), paid(&calm), "after {crash} effects");
    }
}

#[test]
fn a_commit_that_one_of_them_has_not_seen_is_not_verified() {
    let mut world = reviewed_by(ALL);
    world.settle();
    let mut projection = world.projection();
    let round = projection.trace.stages.iter_mut().find(|stage| stage.name == "review").unwrap();
    round.rounds[0].reviews.retain(|review| review.role != "security_reviewer");
    let verdict = Verdict::of(world.journal.pipeline(), &projection.trace, projection.next.settled.as_ref());
    let by = "security_reviewer".to_owned();
    assert_eq!(verdict, Verdict::Inconclusive { why: Inconclusive::NotReviewed { by } });
}

#[test]
fn a_list_of_one_is_asked_under_the_name_that_one_always_had() {
    let mut world = reviewed_by("[code_reviewer]");
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(world.made("review/1/verify-1"), 1);
    let kept = serde_json::to_value(&world.journal.pipeline().stages[2]).unwrap();
    assert_eq!(kept["verifier"], "code_reviewer");
}
