//! The environment, before any agent is paid.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use super::world::{OrderEnding, SimulatedOrder, sha};
use crate::environment_report::{EnvironmentProblem, EnvironmentReport};
use crate::moves::EffectOutcome;
use crate::next::SignalAnswer;
use crate::signal::SignalKind;
use crate::surfaces::OrderLabel;

fn broken() -> EffectOutcome {
    let problem = EnvironmentProblem {
        what: "The setup `npm ci` ended with exit code 1".to_owned(),
        line: Some("npm error 404 left-pad@9 is not in this registry".to_owned()),
        remedy: "Change `setup` in .github/journeyman.yml on the default branch.".to_owned(),
    };
    EffectOutcome::EnvironmentPrepared(Box::new(EnvironmentReport {
        problem: Some(problem),
        ..EnvironmentReport::default()
    }))
}

fn unprepared() -> SimulatedOrder {
    let mut world = SimulatedOrder::new().when("environment/1", vec![broken()]);
    let ended = world.settle();
    let OrderEnding::Unprepared { because } = ended else { panic!("{ended:?}") };
    assert_eq!(
        because,
        "The setup `npm ci` ended with exit code 1: npm error 404 left-pad@9 is not in this registry. Change `setup` \
         in .github/journeyman.yml on the default branch."
    );
    assert!(!world.made.iter().any(|made| made.contains("agent")), "nobody is paid: {:?}", world.made);
    let shown = world.projection().surfaces();
    assert_eq!((shown.label, shown.exit_code, shown.outcome), (OrderLabel::NeedsHuman, 1, "unprepared"));
    world
}

#[test]
fn an_environment_that_the_default_branch_mends_is_prepared_again_and_the_work_begins_by_itself() {
    let mut world = unprepared();
    world.hear(SignalKind::BaseMoved { head: sha(7) });
    assert_eq!(
        world.projection().answers.last().map(|answered| &answered.answer),
        Some(&SignalAnswer::Taken)
    );
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    for again in ["prepare/2", "preflight/2", "environment/2"] {
        assert_eq!(world.made(again), 1, "{again}: {:?}", world.made);
    }
    assert_eq!(world.projection().trace.problems, Vec::<String>::new());
}

#[test]
fn an_environment_can_be_tried_again_and_fail_again() {
    let mut world =
        SimulatedOrder::new().when("environment/1", vec![broken()]).when("environment/2", vec![broken()]);
    world.settle();
    world.say("/retry");
    assert!(matches!(world.settle(), OrderEnding::Unprepared { .. }));
    world.say("/retry");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
}

#[test]
fn whoever_does_not_want_it_any_more_can_say_so_before_it_is_mended() {
    let mut world = unprepared();
    world.say("/cancel");
    assert!(matches!(world.settle(), OrderEnding::Cancelled { .. }));
    world.hear(SignalKind::BaseMoved { head: sha(7) });
    assert!(matches!(world.settle(), OrderEnding::Cancelled { .. }));
    assert_eq!(world.made("prepare"), 1);
}
