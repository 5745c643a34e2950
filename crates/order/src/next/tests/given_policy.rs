//! Orders that verify somebody else's pull request.

use super::conversation::{moves_of, somebody};
use super::world::{SimulatedOrder, person, sha};
use super::*;
use crate::conversation::CheckRunState;
use crate::given_change::GivenChange;
use crate::settings::{RepositorySettings, VerificationSettings};

const VERIFY: &str = "
name: verify
version: 1
stages:
  - { name: verify, uses: verify, checks: [tests, verifier], verifier: code_reviewer }
";

fn given(by: Requester, settings: RepositorySettings) -> SimulatedOrder {
    let mut world = SimulatedOrder::with(VERIFY).settings(settings);
    let mut opened = world.journal.opened().clone();
    opened.by = by;
    opened.change = Some(GivenChange {
        pull: PullNumber(7),
        url: "u".to_owned(),
        head: sha(9),
        base: "main".to_owned(),
        author: "eve".to_owned(),
        author_id: Some(UserId(66)),
        fork: Some("eve/sum".to_owned()),
        closes: None,
        merge_group: false,
        continued: None,
    });
    let first = JournalEntry { seq: 1, at: world.now, event: JournalEvent::Opened(Box::new(opened)) };
    world.journal = Journal::new(vec![first]).unwrap();
    world
}

fn is_verified(ending: &OrderEnding) -> bool {
    matches!(ending, OrderEnding::Verified { .. })
}

#[test]
fn what_the_settings_ask_for_needs_nobodys_permission_and_settings_command_nothing() {
    let mut world = given(Requester::Repository, RepositorySettings::default());
    let ending = world.settle();
    assert!(is_verified(&ending), "{ending:?}: {:?}", world.made);
    assert!(world.made.iter().all(|key| !key.starts_with("authorize")), "{:?}", world.made);
    assert_eq!(world.projection().trace.authorized_by, None);

    let command = SlashCommand::Cancel;
    let mut world = given(Requester::Repository, RepositorySettings::default());
    world.hear_from(Requester::Repository, SignalKind::Commanded { comment: None, pull: None, command });
    let ending = world.settle();
    assert!(is_verified(&ending), "{ending:?}");
}

#[test]
fn the_reviewers_findings_are_a_comment_if_the_repository_wants_one() {
    for review in [false, true] {
        let verify = VerificationSettings { review, ..VerificationSettings::default() };
        let settings = RepositorySettings { verify, ..RepositorySettings::default() };
        let mut world = given(Requester::Person(person()), settings);
        let ending = world.settle();
        assert!(is_verified(&ending), "{ending:?}: {:?}", world.made);
        assert_eq!(world.made("verify/1/comment"), usize::from(review), "{:?}", world.made);
    }
}

/// The same commit as a merge group, as the engine opens it.
fn group() -> SimulatedOrder {
    let mut world = given(Requester::Repository, RepositorySettings::default());
    let mut opened = world.journal.opened().clone();
    opened.pipeline = opened.pipeline.without_agents();
    opened.change.as_mut().unwrap().merge_group = true;
    let first = JournalEntry { seq: 1, at: world.now, event: JournalEvent::Opened(Box::new(opened)) };
    world.journal = Journal::new(vec![first]).unwrap();
    world
}

/// What the check run on the group's head says last.
fn last_check(world: &SimulatedOrder) -> CheckRunState {
    match moves_of(world, "check/").last() {
        Some(Move::ShowCheck { head, state }) if *head == sha(9) => *state,
        other => panic!("{other:?}"),
    }
}

fn gone() -> SignalKind {
    SignalKind::GroupDestroyed { reason: "dequeued".to_owned() }
}

#[test]
fn a_merge_group_is_only_tested_and_only_its_check_run_says_so() {
    for (tests, state) in [(Vec::new(), CheckRunState::Success), (vec![red(2, 1)], CheckRunState::Failure)] {
        let mut world = group().when("verify/1/tests", tests);
        let ending = world.settle();
        assert_eq!(last_check(&world), state, "{ending:?}");
        world.say("/help");
        assert_eq!(world.settle(), ending);
        let said = ["verify-", "/agent", "status/", "say/", "react/"].map(|part| world.made(part));
        assert_eq!(said, [0; 5], "{:?}", world.made);
    }
}

#[test]
fn a_merge_group_that_is_gone_needs_no_verdict_and_keeps_one_that_it_has() {
    let mut world = group();
    while world.made("verify/1/fetch") == 0 {
        assert!(world.step(), "{:?}", world.made);
    }
    world.hear_from(somebody("bob", 2), gone());
    let because = "the merge group left GitHub's queue: dequeued".to_owned();
    assert_eq!(world.settle(), OrderEnding::Cancelled { because });
    assert_eq!((last_check(&world), world.made("/tests")), (CheckRunState::Cancelled, 0));

    let mut world = group().when("verify/1/tests", vec![red(2, 1)]);
    let ending = world.settle();
    world.hear_from(somebody("bob", 2), gone());
    assert_eq!((world.settle(), last_check(&world)), (ending, CheckRunState::Failure));
    world.say("/retry");
    assert!(is_verified(&world.settle()));
    assert_eq!((last_check(&world), world.made("verify/2/tests")), (CheckRunState::Success, 1));
}
