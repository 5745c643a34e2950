//! GitHub cannot be reached for hours.

use super::*;
use crate::moves::EffectError;
use chrono::TimeDelta;

/// This many attempts take about six hours.
const SIX_HOURS: usize = 75;

fn away() -> EffectOutcome {
    let message = "GitHub could not be reached".to_owned();
    EffectOutcome::Trouble(EffectError { message, retry: Retry::Outage })
}

#[test]
fn hours_without_github_are_waited_for() {
    let mut order = SimulatedOrder::new();
    order.oracle(|_, r#move, before| (matches!(r#move, Move::Push { .. }) && before < SIX_HOURS).then(away));
    let begun = order.now;

    let ended = order.settle();

    assert!(matches!(ended, OrderEnding::Verified { .. }), "{ended:?}");
    let took = order.now - begun;
    assert!((TimeDelta::hours(5)..TimeDelta::hours(8)).contains(&took), "{took}");
    assert_eq!(order.made("implement/1/agent"), 1, "nobody pays for it");
}

#[test]
fn an_order_that_fails_while_github_is_away_says_so_when_it_is_back() {
    let broken = EffectError { message: "the disk is broken".to_owned(), retry: Retry::Never };
    let mut order = SimulatedOrder::new();
    order.oracle(move |key, r#move, before| match r#move {
        Move::RunTests { .. } => Some(EffectOutcome::Trouble(broken.clone())),
        Move::ShowStatus { .. } if key.0 != "status/1" && before < SIX_HOURS => Some(away()),
        _ => None,
    });
    let begun = order.now;

    let ended = order.settle();

    assert_eq!(ended, OrderEnding::Failed { because: "the disk is broken".to_owned() });
    assert!(order.now - begun > TimeDelta::hours(5), "{}", order.now - begun);
    let next = order.projection().next;
    assert!(next.moves.is_empty() && next.wake_at.is_none(), "nothing is owed: {next:?}");
    assert!(order.made("status/") > SIX_HOURS);
}

#[test]
fn after_a_day_without_github_an_order_fails_and_its_status_stays_owed() {
    let mut order = SimulatedOrder::new();
    order.oracle(|_, r#move, _| matches!(r#move, Move::Push { .. } | Move::ShowStatus { .. }).then(away));
    let begun = order.now;
    while order.now - begun < TimeDelta::hours(48) {
        assert!(order.step(), "the status is owed: {:?}", order.made.last());
    }
    let next = order.projection().next;
    assert_eq!(next.settled, Some(Settlement::Failed { because: "GitHub could not be reached".to_owned() }));
    assert!(next.wake_at.is_some() || !next.moves.is_empty(), "{next:?}");
    assert!(order.journal.entries().len() < 2_000, "{} entries", order.journal.entries().len());
}

#[test]
fn a_command_that_comes_just_before_an_outage_of_hours_is_heard_when_it_is_over() {
    let mut order = SimulatedOrder::new().when("/import", (0..3).map(|_| nothing()).collect());
    order.settle();
    let said_at = order.journal.last_seq() + 1;
    order.say("/retry");
    order.oracle(move |key, _, before| {
        (key.0 == format!("authorize/{said_at}") && before < SIX_HOURS).then(away)
    });

    let ended = order.settle();

    assert!(matches!(ended, OrderEnding::Verified { .. }), "{ended:?}");
    assert_eq!(order.last_answer(), Some(SignalAnswer::Taken));
}

#[test]
fn what_a_person_says_counts_in_the_order_in_which_it_was_said() {
    let mut order = SimulatedOrder::new();
    for _ in 0..6 {
        order.step();
    }
    let cancelled_at = order.journal.last_seq() + 1;
    order.say("/cancel");
    order.say("/retry");
    // GitHub confirms the first command late, would confirm the second at once, and the work waits longest.
    order.oracle(move |key, r#move, before| match r#move {
        Move::Authorize { .. } if key.0 == format!("authorize/{cancelled_at}") && before < 3 => Some(away()),
        Move::RunAgent(_) if before < 5 => Some(away()),
        _ => None,
    });

    let ended = order.settle();

    assert!(matches!(ended, OrderEnding::Verified { .. }), "{ended:?}");
    let answers: Vec<_> = order.projection().answers.into_iter().map(|answered| answered.answer).collect();
    assert_eq!(answers, [SignalAnswer::Taken, SignalAnswer::Taken]);
}
