//! What an order may cost, and what people read when it is spent.

#![expect(clippy::wildcard_enum_match_arm, reason = "a story looks at one end")]

use super::world::{OrderEnding, SimulatedOrder, failed, red};
use crate::agent_run::{AgentFailureKind, AgentRun, AgentUsage};
use crate::journal::{Journal, JournalEntry};
use crate::moves::EffectOutcome;
use crate::next::*;
use crate::settings::{BudgetLimits, OrderLimits, RepositorySettings};
use crate::signal::SignalKind;
use chrono::TimeDelta;

fn limited(change: impl FnOnce(&mut OrderLimits)) -> SimulatedOrder {
    let mut world = SimulatedOrder::new();
    let mut opened = world.journal.opened().clone();
    change(&mut opened.limits);
    let entries = vec![JournalEntry { seq: 1, at: world.now, event: JournalEvent::Opened(Box::new(opened)) }];
    world.journal = Journal::new(entries).unwrap();
    world
}

fn costs(usd: f64) -> EffectOutcome {
    let usage = AgentUsage { usd, ..AgentUsage::default() };
    EffectOutcome::AgentRan(Box::new(AgentRun {
        result: Some("done".to_owned()),
        usage,
        ..AgentRun::default()
    }))
}

/// The reason for the escalation.
fn escalated(world: &mut SimulatedOrder) -> String {
    match world.settle() {
        // The text before it is about the best round.
        OrderEnding::Escalated { because, .. } => because.split("At the end: ").last().unwrap().to_owned(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn at_the_limit_it_is_said_what_one_more_round_costs() {
    let mut world = limited(|limits| limits.usd = 1.0)
        .when("implement/1/agent", vec![costs(0.3)])
        .when("implement/2/agent", vec![costs(0.7)])
        .when("/tests", vec![red(1, 1), red(2, 1)]);
    let because = escalated(&mut world);
    assert_eq!(because, "the budget of $1.00 is spent ($1.03); one more round costs about $0.50");
    assert_eq!(world.made("implement/3/agent"), 0);
    let budget = world.projection().budget;
    assert_eq!((budget.usd_limit, budget.runs_spent), (1.0, 5));
    assert!((budget.usd_spent - 1.03).abs() < 1e-9, "{budget:?}");

    world.say("/retry");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }), "it is granted once more");
    assert!(world.projection().budget.usd_spent < 0.1, "{:?}", world.projection().budget);
}

#[test]
fn agents_that_do_not_say_what_they_cost_are_not_guessed_at() {
    let mut world = limited(|limits| limits.runs = 4)
        .when("implement/1/agent", vec![costs(0.0)])
        .when("/tests", vec![red(1, 1)]);
    assert_eq!(escalated(&mut world), "the 4 agent runs for this order are used up");
}

#[test]
fn runs_are_counted_when_an_agent_was_at_work() {
    // classify, branch and plan are three runs. A run that could not start does not count.
    let kept_off = vec![failed(AgentFailureKind::Unavailable), failed(AgentFailureKind::UnknownSession)];
    let mut world = limited(|limits| limits.runs = 5)
        .when("implement/1/agent", kept_off)
        .when("/tests", vec![red(3, 1), red(2, 1)]);
    let because = escalated(&mut world);
    assert!(because.starts_with("the 5 agent runs for this order are used up"), "{because}");
    assert_eq!((world.made("implement/1/agent"), world.made("implement/2/agent")), (3, 1));
    assert_eq!(world.made("implement/3/agent"), 0);
}

#[test]
fn a_repository_allows_fewer_runs_and_never_more() {
    for (own, counted) in [(4, 4), (6, 5)] {
        let budget = Some(BudgetLimits { runs: Some(own), ..BudgetLimits::default() });
        let mut world = limited(|limits| limits.runs = 5)
            .settings(RepositorySettings { budget, ..RepositorySettings::default() })
            .when("/tests", vec![red(3, 1), red(2, 1), red(1, 1)]);
        let because = escalated(&mut world);
        assert!(because.starts_with(&format!("the {counted} agent runs")), "{own}: {because}");
        assert_eq!(world.projection().budget.runs_limit, counted);
    }
}

#[test]
fn waiting_for_people_is_not_work() {
    let mut world = SimulatedOrder::new().when("/tests", vec![red(3, 1), red(2, 1), red(1, 1)]);
    escalated(&mut world);
    world.now += TimeDelta::days(3);
    world.say("/retry");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert!(world.projection().budget.minutes_spent < 60, "{:?}", world.projection().budget);
}

#[test]
fn time_in_which_a_run_went_on_is_work_whoever_spoke_meanwhile() {
    let mut world = SimulatedOrder::new().when("/tests", vec![red(1, 1)]);
    while world.made("plan/1/agent") == 0 {
        world.step();
    }
    world.begin_all();
    world.now += TimeDelta::minutes(61);
    world.hear(SignalKind::IssueLocked);
    for (key, _) in world.under_way.clone() {
        world.finish(&key.0);
    }
    match world.settle() {
        OrderEnding::Blocked { because } => assert!(because.contains("60 minutes"), "{because}"),
        other => panic!("{other:?}"),
    }
}
