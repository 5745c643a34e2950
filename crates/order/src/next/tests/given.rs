//! Somebody else's pull request is fetched, tested and reviewed, and nothing is written to it.

use super::conversation::{moves_of, somebody};
use super::scrutiny::unproven;
use super::world::{OrderEnding, SimulatedOrder, objects, red, said, sha};
use crate::conversation::CheckRunState;
use crate::ids::{CommitSha, PullNumber};
use crate::moves::AgentTaskWorkspace;
use crate::next::*;
use crate::proof::Proof;
use crate::signal::SignalKind;
use crate::surfaces::OrderLabel;

const PULL: PullNumber = PullNumber(8);
const VERIFIED: OrderEnding = OrderEnding::Verified { pull: Some(PULL) };

/// One statement, and tests of the base that contradict the issue.
const EXAMINATION: &str = r#"{
    "statements": [{
        "kind": "changes", "quote": "Round the sum", "source": "issue",
        "programs": [{
            "file": "check.sh", "source": "sh ../sum.sh 1.4 1", "answers": [{"input": "1.4 1", "expected": "2"}]
        }]
    }],
    "contradictions": [{
        "one": {"quote": "Round the sum", "source": "issue"},
        "other": {"quote": "assert sum(1.4, 1) == 2.4", "source": "test_sum.py"},
        "tests_against_issue": true
    }]
}"#;

fn order() -> SimulatedOrder {
    SimulatedOrder::of_change().when("examine/1/agent", vec![said(EXAMINATION)])
}

/// An order whose change is fetched and not tested yet.
fn at_work() -> SimulatedOrder {
    let mut world = order();
    while world.made("verify/1/fetch") == 0 {
        assert!(world.step(), "{:?}", world.made);
    }
    world
}

fn head(world: &SimulatedOrder) -> CommitSha {
    world.journal.opened().change.as_ref().unwrap().head.clone()
}

/// The check runs that were shown, in order.
fn checks(world: &SimulatedOrder) -> Vec<(CommitSha, CheckRunState)> {
    let shown = moves_of(world, "check/").into_iter().map(|shown| {
        let Move::ShowCheck { head, state } = shown else { panic!("{shown:?}") };
        (head.clone(), *state)
    });
    shown.collect()
}

/// Nothing goes to the repository, and people hear nothing apart from the comment and the check run.
fn assert_only_looked_at(world: &SimulatedOrder) {
    let writes = |r#move: &&Move| {
        matches!(
            r#move,
            Move::Commit { .. }
                | Move::Push { .. }
                | Move::UpdateBranch { .. }
                | Move::OpenPull { .. }
                | Move::FinishPull { .. }
                | Move::ShowReview(_)
                | Move::ShowAnswer(_)
                | Move::AnswerThreads { .. }
                | Move::RequestReview { .. }
                | Move::RerunJobs { .. }
                | Move::Say { .. }
                | Move::React { .. }
        )
    };
    let written: Vec<&Move> = moves_of(world, "").into_iter().filter(writes).collect();
    assert!(written.is_empty(), "{written:?}");
    assert_eq!(world.projection().surfaces().label, OrderLabel::None);
}

#[test]
fn a_change_that_is_green_and_reviewed_is_verified_and_nothing_is_written() {
    let mut world = order();
    // The last move in the list shows something, so that one finishes first.
    assert_eq!(world.settle_choosing(|under_way| under_way.len() - 1), VERIFIED);
    assert_only_looked_at(&world);
    let head = head(&world);
    assert_eq!(
        checks(&world),
        [(head.clone(), CheckRunState::InProgress), (head.clone(), CheckRunState::Success)]
    );
    let shown = world.projection().surfaces();
    assert_eq!((shown.exit_code, shown.verified), (0, true));
    assert!(shown.headline.starts_with("Verified"), "{}", shown.headline);

    let examiner = world.task("examine/1/agent").unwrap();
    assert_eq!(examiner.place, AgentTaskWorkspace::Checkout { commit: sha(1) }, "it never sees the change");
    let reviewer = world.task("verify/1/verify-1").unwrap();
    assert_eq!(reviewer.place, AgentTaskWorkspace::Checkout { commit: head });
    assert_eq!(
        (reviewer.arguments[0].as_str(), reviewer.arguments[2].as_str()),
        ("Round the sum", "+ round")
    );
    assert_eq!(world.made("examine/"), 1, "contradictions are no question to people: {:?}", world.made);
}

#[test]
fn a_change_whose_tests_fail_is_not_verified_and_no_review_is_paid_for() {
    let mut world = order().when("verify/1/tests", vec![red(2, 1)]);
    let settled = world.settle();
    let OrderEnding::Escalated { pull: Some(PULL), because } = &settled else { panic!("{settled:?}") };
    assert!(because.contains("2 passed, 1 failed"), "{because}");
    assert_eq!((world.made("verify/1/verify-1"), world.made("verify/2")), (0, 0), "{:?}", world.made);
    assert_eq!(checks(&world), [(head(&world), CheckRunState::Failure)]);
    assert_only_looked_at(&world);
    let shown = world.projection().surfaces();
    assert_eq!((shown.headline.as_str(), shown.exit_code), ("Not verified", 3));
}

#[test]
fn a_change_that_no_test_proves_is_said_to_be_so_and_nobody_is_asked_for_a_test() {
    let mut world = order().when("verify/1/tests", vec![unproven()]);
    let because = "passing, not proven: the new tests pass on the old code as well".to_owned();
    assert_eq!(world.settle(), OrderEnding::Unproven { because });
    assert_eq!((world.made("verify/1/agent"), world.made("verify/2")), (0, 0), "{:?}", world.made);
    assert_eq!(world.made("verify/1/verify-1"), 1, "it is reviewed all the same");
    assert_eq!(checks(&world), [(head(&world), CheckRunState::Neutral)]);
    assert_only_looked_at(&world);
}

#[test]
fn a_change_of_dependencies_alone_needs_no_test() {
    let tested = |only_dependencies, proof| {
        let EffectOutcome::Tested(mut run) = unproven() else { unreachable!() };
        let scrutiny = run.scrutiny.as_mut().unwrap();
        scrutiny.dependencies = vec!["`a` 2 is in package.json instead of 1".to_owned()];
        scrutiny.only_dependencies = only_dependencies;
        scrutiny.proof = Some(proof);
        EffectOutcome::Tested(run)
    };
    let mut world = order().when("verify/1/tests", vec![tested(true, Proof::NoTestsChanged)]);
    assert_eq!(world.settle(), VERIFIED);
    assert_only_looked_at(&world);
    let because = "the change touches how the tests are run, and no test".to_owned();
    for (only_dependencies, proof) in [(false, Proof::NoTestsChanged), (true, Proof::NotProven { because })] {
        let mut world = order().when("verify/1/tests", vec![tested(only_dependencies, proof)]);
        let settled = world.settle();
        assert!(matches!(settled, OrderEnding::Unproven { .. }), "{settled:?}");
    }
}

#[test]
fn a_change_that_its_reviewer_objects_to_is_not_verified() {
    let mut world = order().when("verify/1/verify-1", vec![objects(&["an off by one"])]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Escalated { pull: Some(PULL), because } if because.contains("an off by one")),
        "{settled:?}"
    );
    assert_eq!(world.made("verify/2"), 0, "nobody is sent back: {:?}", world.made);
    assert_eq!(checks(&world), [(head(&world), CheckRunState::Failure)]);
    assert_only_looked_at(&world);
}

#[test]
fn a_review_that_cannot_be_made_leaves_the_change_unverified_until_a_retry() {
    let mut world =
        order().when("verify/1/verify-1", vec![said("LGTM")]).when("verify/1/verify-2", vec![said("LGTM!")]);
    let because = "code_reviewer has not reviewed this commit".to_owned();
    assert_eq!(world.settle(), OrderEnding::Unverified { pull: Some(PULL), because });
    assert_only_looked_at(&world);
    let notes = world.projection().trace.notes;
    assert!(notes.iter().any(|note| note.starts_with("The review could not be made: ")), "{notes:?}");
    world.say("/retry");
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(
        (world.made("verify/1/verify-3"), world.made("/tests")),
        (1, 1),
        "only the reviewer is asked again"
    );
}

#[test]
fn another_push_cancels_the_verification_and_the_reason_names_its_commit() {
    let mut world = at_work();
    let pushed = |head: CommitSha| SignalKind::PullPushed { pull: PULL, head };
    // GitHub tells of the head that is being verified as well.
    world.hear_from(somebody("carl", 3), pushed(head(&world)));
    assert!(world.projection().next.settled.is_none());
    let other = sha(51);
    world.hear_from(somebody("carl", 3), pushed(other.clone()));
    let because = format!("carl pushed another commit, {}", other.short());
    assert_eq!(world.settle(), OrderEnding::Cancelled { because });
    assert_eq!(checks(&world), [(head(&world), CheckRunState::Cancelled)]);
    assert_eq!(world.made("/tests"), 0);
    assert_only_looked_at(&world);
}

#[test]
fn a_push_after_the_verdict_leaves_it_as_it_is() {
    for tests in [Vec::new(), vec![red(2, 1)]] {
        let mut world = order().when("verify/1/tests", tests);
        let settled = world.settle();
        let shown = checks(&world);
        world.hear_from(somebody("carl", 3), SignalKind::PullPushed { pull: PULL, head: sha(51) });
        assert_eq!(world.settle(), settled);
        let stands = "the commit before it was judged already, and that stands".to_owned();
        assert_eq!(world.last_answer(), Some(SignalAnswer::Ignored(stands)));
        assert_eq!(checks(&world), shown);
    }
}

#[test]
fn who_asks_for_a_fix_ends_the_verification_and_a_verdict_stands() {
    let mut world = at_work();
    world.say("/journeyman fix the rounding");
    let because = "ada asked for a fix".to_owned();
    assert_eq!(world.settle(), OrderEnding::Cancelled { because });
    assert_eq!(checks(&world), [(head(&world), CheckRunState::Cancelled)]);

    let mut world = order();
    assert_eq!(world.settle(), VERIFIED);
    world.say("/journeyman fix");
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!(world.last_answer(), Some(SignalAnswer::Noted));
    assert_only_looked_at(&world);
}

#[test]
fn when_the_pull_request_is_closed_the_verification_ends_and_nothing_is_said() {
    for merged in [true, false] {
        let mut world = at_work();
        world.hear_from(somebody("bob", 2), SignalKind::PullClosed { pull: PULL, merged });
        let by = "bob".to_owned();
        let expected = match merged {
            true => OrderEnding::Merged { pull: PULL, by },
            false => OrderEnding::Closed { pull: PULL, by },
        };
        assert_eq!(world.settle(), expected);
        assert_eq!(moves_of(&world, "closed/"), [&Move::Tidy { branch: None }]);
        assert_eq!(world.made("/tests"), 0);
        assert_only_looked_at(&world);
    }
}

#[test]
fn a_retry_tests_the_same_commit_again_and_of_a_verified_one_it_does_nothing() {
    let mut world = order().when("verify/1/tests", vec![red(2, 1)]);
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    world.say("/retry");
    assert_eq!(world.settle(), VERIFIED);
    let made = ["verify/1/tests", "verify/2/tests", "examine/"].map(|part| world.made(part));
    assert_eq!(made, [1, 1, 1], "{:?}", world.made);
    let head = head(&world);
    assert_eq!(checks(&world).last(), Some(&(head.clone(), CheckRunState::Success)));
    let tested: Vec<&Move> = moves_of(&world, "/tests");
    assert!(tested.iter().all(|run| **run == Move::RunTests { commit: head.clone() }), "{tested:?}");

    for command in ["/retry", "/retry and round down"] {
        world.say(command);
        assert_eq!(world.settle(), VERIFIED);
        let because = "this commit is verified; push another, or comment /journeyman verify".to_owned();
        assert_eq!(world.last_answer(), Some(SignalAnswer::Ignored(because)), "{command}");
    }
    assert_eq!(world.made("verify/3"), 0);
}

#[test]
fn an_approval_is_ignored() {
    let mut world = order().when("verify/1/tests", vec![red(2, 1)]);
    let settled = world.settle();
    world.say("/approve");
    assert_eq!(world.settle(), settled);
    assert_eq!(
        world.last_answer(),
        Some(SignalAnswer::Ignored("nothing is waiting for approval".to_owned()))
    );
    assert!(!world.projection().surfaces().can_be_approved);
}

#[test]
fn an_outsiders_label_is_refused_and_nothing_is_fetched() {
    let mut world = order().when("authorize/1", vec![EffectOutcome::Authorized { allowed: false }]);
    assert!(matches!(world.settle(), OrderEnding::Refused { because } if because.contains("ada")));
    assert_eq!(world.made, ["authorize/1"]);
}

#[test]
fn an_order_of_an_issue_has_nothing_to_verify() {
    let mut world = SimulatedOrder::of(SimulatedOrder::of_change().journal.pipeline().clone());
    let because = "stage verify: the order was opened for an issue, not for a pull request".to_owned();
    assert_eq!(world.settle(), OrderEnding::Failed { because });
}
