//! The loop: the verifier, its limits, and what happens when a check has run out.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use super::world::{
    OrderEnding, SimulatedOrder, approves, failed, flags, guides, imported, nothing, objects, red, said, sha,
    tested,
};
use crate::agent_run::AgentFailureKind;
use crate::feedback::{Category, Feedback};
use crate::ids::*;
use crate::next::*;
use crate::test_run::TestVerdict;
use crate::trace::StageState;
use chrono::TimeDelta;

/// Implemented, published as a draft, reviewed in rounds, taken out of draft.
fn reviewed(escalation: &str) -> SimulatedOrder {
    SimulatedOrder::with(&format!(
        "
name: reviewed
version: 1
stages:
  - {{ name: implement, agent: developer, checks: [pushed_commit, policy, tests], escalate_on_exhaust: {escalation} }}
  - {{ name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }}
  - name: review
    agent: developer
    begins_with: checks
    checks: [pushed_commit, policy, tests, verifier]
    verifier: code_reviewer
    escalate_on_exhaust: {escalation}
    depends_on: [publish]
  - {{ name: ready, uses: ready, depends_on: [review] }}
"
    ))
}

/// A stage with a verifier in its own rounds, and everything after it.
fn adversarial(escalation: &str, rounds: u32) -> SimulatedOrder {
    SimulatedOrder::with(&format!(
        "
name: adversarial
version: 1
stages:
  - name: implement
    agent: developer
    checks: [pushed_commit, policy, tests, verifier]
    verifier: code_reviewer
    max_adversarial_rounds: {rounds}
    escalate_on_exhaust: {escalation}
  - {{ name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }}
  - {{ name: ready, uses: ready, depends_on: [publish] }}
"
    ))
}

/// A verifier that finds something else each time.
fn objections(world: SimulatedOrder, stage: &str, rounds: std::ops::RangeInclusive<u32>) -> SimulatedOrder {
    let finding = |round: u32| ["one", "two", "three", "four", "five", "six", "seven"][round as usize - 1];
    rounds.fold(world, |world, round| {
        world.when(
            format!("{stage}/{round}/verify-1"),
            vec![objects(&[&format!("finding {}", finding(round))])],
        )
    })
}

fn escalated(settled: &OrderEnding) -> &str {
    match settled {
        OrderEnding::Escalated { pull: Some(_), because } => because,
        other => panic!("{other:?}"),
    }
}

const VERIFIED: OrderEnding = OrderEnding::Verified { pull: Some(PullNumber(8)) };

#[test]
fn a_stage_that_judges_first_passes_without_a_run_of_its_worker() {
    let mut world = reviewed("none");
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!((world.made("review/1/verify-1"), world.made("review/1/agent")), (1, 0));
    assert_eq!(
        (world.made("review/1/tests"), world.pushes().len()),
        (0, 1),
        "its tests are known, and it is there"
    );
}

#[test]
fn what_the_verifier_finds_is_told_and_the_new_commit_is_reviewed() {
    let mut world = objections(reviewed("none"), "review", 1..=1);
    assert_eq!(world.settle(), VERIFIED);
    let told = world.task("review/2/agent").unwrap().rework.unwrap();
    assert_eq!((told.attempt, told.of), (1, 2), "the worker has not run here before");
    assert_eq!(told.feedback[0].issues[0].description, "finding one");
    let looked_at = |key: &str| match world.task(key).unwrap().place {
        crate::moves::AgentTaskWorkspace::Checkout { commit } => commit,
        crate::moves::AgentTaskWorkspace::Workspace => panic!("{key} works in the work tree"),
    };
    assert_eq!(looked_at("review/1/verify-1"), world.commit("implement/1"));
    assert_eq!(looked_at("review/2/verify-1"), world.commit("review/2"));
    let earlier = &world.task("review/2/verify-1").unwrap().arguments[4];
    assert!(earlier.contains("Round 1: finding one"), "{earlier}");
    let trace = world.projection().trace;
    assert_eq!(trace.pushed, Some(world.commit("review/2")));
    assert!(trace.pull.is_some_and(|pull| pull.ready));
    assert_eq!((world.made("review/1/comment"), world.made("review/2/comment")), (1, 1));
}

#[test]
fn each_commit_of_a_review_takes_the_place_of_the_one_before() {
    let mut world = objections(reviewed("none"), "review", 1..=2);
    assert_eq!(world.settle(), VERIFIED);
    let [first, second, third] = ["implement/1", "review/2", "review/3"].map(|round| world.commit(round));
    assert_eq!(world.pushes(), [(first.clone(), None), (second.clone(), Some(first)), (third, Some(second))]);
}

#[test]
fn when_the_verifiers_rounds_run_out_a_person_gets_the_best_round_as_a_draft() {
    let mut world = objections(reviewed("human_approval"), "review", 1..=3);
    let settled = world.settle();
    assert!(escalated(&settled).contains("finding three is not right (tried 3 times)"), "{settled:?}");
    assert_eq!(world.made("review/4"), 0);
    assert_eq!(
        (world.state("review"), world.state("ready")),
        (Some(StageState::Escalated), Some(StageState::Failed))
    );
    let trace = world.projection().trace;
    assert!(trace.pull.is_some_and(|pull| !pull.ready));
    // All rounds are equally good, so the latest counts, which is on the branch.
    assert_eq!(trace.work.map(|work| work.commit), Some(world.commit("review/3")));
    let pushes: Vec<CommitSha> = world.pushes().into_iter().map(|(commit, _)| commit).collect();
    assert_eq!(pushes, ["implement/1", "review/2", "review/3"].map(|round| world.commit(round)));
}

/// A verifier's answer with findings of these severities.
fn scored(round: usize, score: f64, severities: &[&str]) -> EffectOutcome {
    let issues: Vec<_> = (1..)
        .zip(severities)
        .map(|(number, severity)| {
            // The same words twice would end the rounds.
            let what = format!("{score} {severity} {number} in {}", ["one", "two", "three"][round - 1]);
            serde_json::json!({"severity": severity, "category": "security", "description": what})
        })
        .collect();
    let summary = format!("scored {score}");
    said(
        &serde_json::json!({"passed": false, "score": score, "summary": summary, "issues": issues})
            .to_string(),
    )
}

#[test]
fn a_security_hole_weighs_more_than_any_number_of_lesser_findings() {
    type Review<'a> = (f64, &'a [&'a str]);
    let (hole, closed): (Review<'_>, Review<'_>) = ((0.2, &["critical"]), (0.8, &["major"]));
    for (rounds, best) in [
        ([hole, hole, closed], 3),
        ([hole, closed, hole], 2),
        ([closed, hole, (0.9, &["critical", "minor"])], 1),
        ([(0.9, &["critical"]), (0.1, &["major", "major", "major"]), (0.9, &["critical"])], 2),
        ([(0.4, &["critical", "major"]), (0.3, &["critical"]), (0.9, &["critical", "major", "major"])], 2),
        ([(0.5, &["major"]), (0.7, &["major"]), (0.6, &["major"])], 2),
        ([(0.7, &["minor"]), (0.5, &["major"]), (0.7, &["minor"])], 3),
    ] {
        let mut world = reviewed("human_approval");
        for (round, (score, severities)) in (1..).zip(rounds) {
            world = world.when(format!("review/{round}/verify-1"), vec![scored(round, score, severities)]);
        }
        world.settle();
        let round = if best == 1 { "implement/1".to_owned() } else { format!("review/{best}") };
        let trace = world.projection().trace;
        assert_eq!(trace.work.map(|work| work.commit), Some(world.commit(&round)), "{rounds:?}");
        assert_eq!(trace.pushed, Some(world.commit(&round)), "{rounds:?}");
    }
}

#[test]
fn a_finding_is_open_until_a_reviewer_has_looked_again() {
    // Round 3 has no review, so what round 2 left open may still be in it.
    let nonsense = || said("LGTM");
    let mut world = reviewed("human_approval")
        .when("review/1/verify-1", vec![scored(1, 0.6, &["major"])])
        .when("review/2/verify-1", vec![scored(2, 0.5, &["critical"])])
        .when("review/3/verify-1", vec![nonsense()])
        .when("review/3/verify-2", vec![nonsense()]);
    world.settle();
    let trace = world.projection().trace;
    assert_eq!(trace.work.map(|work| work.commit), Some(world.commit("implement/1")));
    let review = trace.stages.iter().find(|stage| stage.name == "review").unwrap();
    let last = review.rounds.last().and_then(|round| round.feedback.as_ref()).unwrap();
    assert!(last.summary.contains("could not be completed"), "{last:?}");
}

#[test]
fn a_round_with_all_tests_passing_is_not_worse_for_having_fewer_of_them() {
    let mut world = reviewed("human_approval");
    world.oracle(|key, r#move, _| {
        let Move::RunTests { commit } = r#move else { return None };
        let passed = if key.0 == "review/2/tests" { 8 } else { 9 };
        Some(tested(commit, TestVerdict::Passed, passed, 0))
    });
    let mut world = world
        .when("review/1/verify-1", vec![scored(1, 0.2, &["critical"])])
        .when("review/2/verify-1", vec![scored(2, 0.8, &["major"])])
        .when("review/3/verify-1", vec![scored(3, 0.2, &["critical"])]);
    world.settle();
    assert_eq!(world.projection().trace.pushed, Some(world.commit("review/2")));
}

#[test]
fn a_worse_round_does_not_take_the_place_of_the_best() {
    let mut world = reviewed("human_approval")
        .when("review/1/verify-1", vec![objects(&["a", "b"])])
        .when("review/2/verify-1", vec![objects(&["c"])])
        .when("review/3/verify-1", vec![objects(&["d", "e", "f"])]);
    world.settle();
    let trace = world.projection().trace;
    assert_eq!(trace.work.as_ref().map(|work| work.round), Some(2));
    assert_eq!(trace.pushed, Some(world.commit("review/2")));
    let pushes = world.pushes();
    assert_eq!(pushes.last(), Some(&(world.commit("review/2"), Some(world.commit("review/3")))));
}

#[test]
fn a_verifier_that_is_allowed_no_round_is_not_asked() {
    let mut world = adversarial("none", 0);
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(world.made("verify"), 0);
}

#[test]
fn a_verifier_that_answers_nonsense_once_is_asked_again() {
    let mut world = adversarial("none", 3).when("implement/1/verify-1", vec![said("LGTM")]);
    assert_eq!(world.settle(), VERIFIED);
    let again = world.task("implement/1/verify-2").unwrap().rework.unwrap();
    assert_eq!(again.feedback[0].issues[0].category, Category::InvalidOutput);
    assert_eq!(world.made("implement/2"), 0, "the worker did nothing wrong");
}

#[test]
fn a_verifier_that_answers_nonsense_twice_is_no_pass_and_a_retry_asks_it_again() {
    let mut world = reviewed("human_approval")
        .when("review/1/verify-1", vec![said("LGTM")])
        .when("review/1/verify-2", vec![said("LGTM!")]);
    let settled = world.settle();
    assert!(
        escalated(&settled).contains("the review by code_reviewer could not be completed"),
        "{settled:?}"
    );
    assert_eq!(world.projection().trace.work.map(|work| work.commit), Some(world.commit("implement/1")));
    world.say("/retry");
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(
        (world.made("review/1/verify-3"), world.made("review/1/agent"), world.made("review/2")),
        (1, 0, 0)
    );
}

#[test]
fn advice_is_kept_for_the_worker_when_the_verifier_is_asked_first() {
    let mut world = reviewed("human_approval")
        .when("review/1/verify-1", vec![said("LGTM")])
        .when("review/1/verify-2", vec![said("LGTM!")])
        .when("review/1/verify-3", vec![objects(&["overflow"])]);
    world.settle();
    world.say("/retry use a checked sum");
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(world.advice("review/2/agent").as_deref(), Some("use a checked sum"));
}

#[test]
fn guidance_of_the_tech_lead_grants_one_more_set_of_rounds_and_leads_to_success() {
    let mut world = objections(adversarial("tech_lead", 3), "implement", 1..=4)
        .when("implement/3/diagnosis-1", vec![guides("split the function")]);
    assert_eq!(world.settle(), VERIFIED);
    let told = world.task("implement/4/agent").unwrap().rework.unwrap();
    assert_eq!(told.diagnosis.map(|said| said.guidance).as_deref(), Some("split the function"));
    assert_eq!((told.attempt, world.made("implement/5/agent")), (1, 1));
    let asked = world.task("implement/3/diagnosis-1").unwrap();
    assert!(asked.arguments[1].contains("Round 3, the best"), "{:?}", asked.arguments);
}

#[test]
fn the_tech_lead_is_asked_once_and_then_a_person() {
    let mut world = objections(adversarial("tech_lead", 3), "implement", 1..=6)
        .when("implement/3/diagnosis-1", vec![guides("split the function")]);
    let settled = world.settle();
    assert!(escalated(&settled).contains("also after the tech_lead's guidance"), "{settled:?}");
    assert_eq!(
        (world.made("diagnosis"), world.made("implement/6/verify"), world.made("implement/7")),
        (1, 1, 0)
    );
}

#[test]
fn a_flag_goes_to_a_person_with_its_diagnosis() {
    let mut world = objections(adversarial("tech_lead", 3), "implement", 1..=3)
        .when("implement/3/diagnosis-1", vec![flags("the issue contradicts itself")]);
    let settled = world.settle();
    assert!(escalated(&settled).contains("The tech_lead says: the issue contradicts itself"), "{settled:?}");
    assert_eq!(world.made("implement/4"), 0);
}

#[test]
fn a_tech_lead_that_answers_nonsense_twice_leaves_it_to_a_person() {
    let nonsense = || said("try harder");
    let mut world = objections(adversarial("tech_lead", 3), "implement", 1..=3)
        .when("implement/3/diagnosis-1", vec![nonsense()])
        .when("implement/3/diagnosis-2", vec![nonsense()]);
    let settled = world.settle();
    assert!(escalated(&settled).contains("The tech_lead could not say more"), "{settled:?}");
    assert_eq!((world.made("diagnosis"), world.made("implement/4")), (2, 0));
}

#[test]
fn after_a_persons_retry_the_tech_lead_may_be_asked_once_more() {
    let mut world = objections(adversarial("tech_lead", 3), "implement", 1..=6);
    world.settle();
    world.say("/retry");
    world.settle();
    assert_eq!((world.made("implement/3/diagnosis"), world.made("implement/6/diagnosis")), (1, 1));
}

#[test]
fn a_stage_that_escalates_to_nobody_fails_with_its_history_and_opens_no_pull_request() {
    let mut world = objections(adversarial("none", 3), "implement", 1..=3);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Failed { because } if because.contains("finding three")),
        "{settled:?}"
    );
    assert_eq!(world.pushes(), [(world.commit("implement/3"), None)], "the best round is kept");
    assert_eq!((world.made("publish/pull"), world.made("ready")), (0, 0));
    let rounds = world.projection().trace.stages.remove(0).rounds;
    let history: Vec<String> = rounds.into_iter().filter_map(|round| Some(round.feedback?.summary)).collect();
    assert_eq!(history.len(), 3, "{history:?}");
    assert_eq!((world.state("publish"), world.state("ready")), (None, None));
}

#[test]
fn the_same_failure_twice_running_is_not_paid_for_a_third_time() {
    let mut world =
        adversarial("human_approval", 3).when("/verify-1", vec![objects(&["a"]), objects(&["a"])]);
    let settled = world.settle();
    assert!(escalated(&settled).contains("rounds 1 and 2 failed in the same way"), "{settled:?}");
    assert_eq!(world.made("implement/3"), 0);

    let mut world =
        adversarial("human_approval", 3).when("/verify-1", vec![objects(&["a"]), objects(&["b"])]);
    assert_eq!(world.settle(), VERIFIED, "different messages are different failures");

    let mut world = adversarial("human_approval", 3).when("/tests", vec![red(1, 2), red(1, 2)]);
    assert!(escalated(&world.settle()).contains("in the same way"));
    assert_eq!((world.made("/tests"), world.made("verify")), (2, 0));
}

#[test]
fn each_check_has_a_counter_of_its_own() {
    let refused = |what: &str| {
        vec![EffectOutcome::ImportRefused(Feedback::failed(Category::Policy, format!("{what} is protected")))]
    };
    let mut world = adversarial("human_approval", 3)
        .when("implement/1/import", refused("Makefile"))
        .when("implement/2/import", vec![nothing()])
        .when("implement/3/tests", vec![red(1, 2)])
        .when("implement/4/verify-1", vec![objects(&["a"])])
        .when("implement/5/import", refused(".github"))
        .when("implement/6/import", vec![nothing()])
        .when("implement/7/tests", vec![red(2, 1)])
        .when("implement/8/verify-1", vec![objects(&["b"])]);
    assert_eq!(world.settle(), VERIFIED, "two failures of each are within each limit");
    assert_eq!(world.made("implement/9/agent"), 1);
    let attempts: Vec<(u32, u32)> = (2..=9)
        .map(|round| world.task(&format!("implement/{round}/agent")).unwrap().rework.unwrap())
        .map(|rework| (rework.attempt, rework.of))
        .collect();
    let of = [3, 4, 5, 6, 6, 7, 8, 9];
    assert_eq!(attempts, (2..=9).zip(of).collect::<Vec<_>>(), "the worker's runs, whichever check failed");
}

#[test]
fn three_refusals_of_the_policy_end_it_and_so_do_two_missing_commits() {
    let refused = |what: &str| {
        EffectOutcome::ImportRefused(Feedback::failed(Category::Policy, format!("{what} is protected")))
    };
    let mut world =
        adversarial("human_approval", 3).when("/import", vec![refused("a"), refused("b"), refused("c")]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Blocked { because } if because.contains("tried 3 times")),
        "{settled:?}"
    );
    assert_eq!((world.made("commit"), world.pushes().len()), (0, 0));

    let mut world = adversarial("human_approval", 3).when("/import", vec![nothing(), nothing()]);
    assert!(matches!(world.settle(), OrderEnding::Blocked { .. }));
    assert_eq!(world.made("implement/3/agent"), 0, "the same is not paid for a third time");
}

#[test]
fn what_fails_in_the_same_way_twice_is_guided_once_and_the_first_repetition_ends_it() {
    for (key, same) in [("/import", nothing()), ("/tests", red(1, 2))] {
        let mut world = adversarial("tech_lead", 3)
            .when(key, vec![same.clone(), same.clone(), same])
            .when("diagnosis-1", vec![guides("like so")]);
        let ended = world.settle();
        let (OrderEnding::Blocked { because } | OrderEnding::Escalated { because, .. }) = &ended else {
            panic!("{key}: {ended:?}")
        };
        assert!(because.contains("also after the tech_lead's guidance"), "{key}: {because}");
        assert_eq!((world.made("diagnosis-1"), world.made("implement/4/agent")), (1, 0), "{key}");
    }
}

#[test]
fn guidance_is_for_all_that_can_be_guided() {
    for (key, outcomes) in [
        ("/tests", vec![red(1, 2), red(1, 3), red(1, 4)]),
        (
            "/import",
            ["a", "b", "c"]
                .map(|text| EffectOutcome::ImportRefused(Feedback::failed(Category::Policy, text)))
                .to_vec(),
        ),
    ] {
        let mut world =
            adversarial("tech_lead", 3).when(key, outcomes).when("diagnosis-1", vec![guides("like so")]);
        assert_eq!(world.settle(), VERIFIED, "{key}");
        assert_eq!((world.made("diagnosis-1"), world.made("implement/4/agent")), (1, 1), "{key}");
    }
}

#[test]
fn work_that_the_verifier_cannot_be_paid_for_is_kept() {
    let mut world = adversarial("human_approval", 3);
    while world.made("implement/1/tests") == 0 {
        world.step();
    }
    world.now += TimeDelta::minutes(61);
    let settled = world.settle();
    assert!(escalated(&settled).contains("60 minutes"), "{settled:?}");
    assert_eq!(world.projection().trace.pushed, Some(world.commit("implement/1")));
}

#[test]
fn a_crash_between_the_verifiers_answer_and_its_comment_pays_nothing_twice() {
    let mut world = objections(reviewed("none"), "review", 1..=1);
    while world.made("review/1/verify-1") == 0 {
        world.step();
    }
    world.begin_all();
    // The running work is lost, and only the journal is left.
    world.under_way.clear();
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(
        (world.made("review/1/verify"), world.made("review/1/comment"), world.made("review/2/agent")),
        (1, 1, 1)
    );
}

#[test]
fn a_comment_that_cannot_be_put_does_not_stop_the_work() {
    let never =
        EffectOutcome::Trouble(crate::moves::EffectError { message: "gone".to_owned(), retry: Retry::Never });
    let mut world = reviewed("none").when("review/1/comment", vec![never]);
    assert_eq!(world.settle(), VERIFIED);
    assert!(world.projection().trace.notes[0].contains("could not be put"));
}

#[test]
fn the_same_commit_pushed_again_in_a_review_is_no_answer_to_it() {
    let mut world = objections(reviewed("none"), "review", 1..=1)
        .when("implement/1/import", vec![imported(5, Some("Fix the sum"))])
        .when("review/2/import", vec![imported(5, Some("Fix the sum"))]);
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!((world.made("review/2/verify"), world.made("review/3/verify")), (0, 1));
}

#[test]
fn work_without_tests_is_reviewed_and_stays_unverified() {
    let mut world = reviewed("none").when("/tests", vec![tested(&sha(9), TestVerdict::NoTests, 0, 0)]);
    assert!(matches!(world.settle(), OrderEnding::Unverified { pull: Some(_), .. }));
    assert_eq!(world.made("review/1/verify-1"), 1);
}

#[test]
fn a_verifier_that_is_overloaded_is_waited_for_and_is_no_round() {
    let busy = || failed(AgentFailureKind::Unavailable);
    let mut world = adversarial("none", 3).when("implement/1/verify-1", vec![busy(), busy(), approves()]);
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!((world.made("verify-1"), world.made("verify-2"), world.made("implement/2")), (3, 0, 0));
}
