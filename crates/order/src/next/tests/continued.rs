//! Somebody's pull request is mended: on its own branch, or for a fork in a pull request of ours.

use super::conversation::moves_of;
use super::scrutiny::unproven;
use super::world::{OrderEnding, SimulatedOrder, red, sha};
use super::*;
use crate::conversation::CheckRunState;
use crate::feedback::{Category, Feedback};
use crate::given_change::{GivenChange, PullContinuation};
use crate::order_request::OrderRequest;

const THEIRS: PullNumber = PullNumber(12);
const OURS: PullNumber = PullNumber(8);
const FIX: &str = include_str!("../../../../../templates/pipelines/fix.yaml");

/// An order that mends a pull request from this branch, or from a fork.
fn mending(branch: Option<&str>) -> SimulatedOrder {
    SimulatedOrder::with(FIX).opened_with(|opened| {
        opened.issue.number = IssueNumber(12);
        opened.request = OrderRequest { advice: Some("and the empty list".to_owned()), ..Default::default() };
        opened.change = Some(GivenChange {
            pull: THEIRS,
            url: "u".to_owned(),
            head: sha(50),
            base: "main".to_owned(),
            author: "carl".to_owned(),
            author_id: None,
            fork: branch.is_none().then(|| "carl/sum".to_owned()),
            closes: None,
            merge_group: false,
            continued: Some(PullContinuation {
                branch: branch.map(|name| name.parse().unwrap()),
                found: Some(Feedback::failed(Category::TestFailure, "2 passed, 1 failed")),
            }),
        });
    })
}

fn on_a_branch() -> SimulatedOrder {
    mending(Some("carls-answer"))
}

/// The parents of the commits that were made, in order.
fn parents(world: &SimulatedOrder) -> Vec<CommitSha> {
    let made = moves_of(world, "/commit").into_iter().map(|made| {
        let Move::Commit { parent, .. } = made else { panic!("{made:?}") };
        parent.clone()
    });
    made.collect()
}

/// The words of the pull request, and whether it is a draft, are its author's.
fn assert_keeps_its_words(world: &SimulatedOrder) {
    let is_of_words = |made: &&Move| matches!(made, Move::OpenPull { .. } | Move::FinishPull { .. });
    let written: Vec<&Move> = moves_of(world, "").into_iter().filter(is_of_words).collect();
    assert!(written.is_empty(), "{written:?}");
}

#[test]
fn the_commit_goes_on_top_of_the_head_and_the_pull_request_keeps_its_words() {
    let mut world = on_a_branch();
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(THEIRS) });
    let commit = world.commit("mend/1");
    assert_eq!(parents(&world), [sha(50)]);
    assert_eq!(world.pushes(), [(commit.clone(), Some(sha(50)))]);
    assert_keeps_its_words(&world);
    let success = Move::ShowCheck { head: commit, state: CheckRunState::Success };
    assert_eq!(moves_of(&world, "check/"), [&success], "the head keeps the check run that it has");
    assert_eq!(world.projection().trace.pull.map(|pull| pull.number), Some(THEIRS));
}

#[test]
fn who_mends_it_starts_from_its_head_and_hears_what_was_found_and_what_a_person_says() {
    let mut world = on_a_branch();
    world.settle();
    let task = world.task("mend/1/agent").unwrap();
    assert_eq!(task.start, Some(sha(50)));
    let told = task.rework.expect("it is told");
    assert_eq!((told.attempt, told.guidance.as_deref()), (1, Some("and the empty list")));
    let told: Vec<&str> = told.feedback.iter().map(|feedback| feedback.summary.as_str()).collect();
    assert_eq!(told, ["2 passed, 1 failed"]);
}

#[test]
fn what_fails_is_not_pushed_to_somebodys_branch_unless_a_person_accepts_it() {
    let mut world = (1..=3_u64)
        .fold(on_a_branch(), |world, round| world.when(format!("mend/{round}/tests"), vec![red(round, 1)]));
    let settled = world.settle();
    assert!(matches!(settled, OrderEnding::Escalated { pull: Some(THEIRS), .. }), "{settled:?}");
    assert!(world.pushes().is_empty() && moves_of(&world, "check/").is_empty(), "{:?}", world.made);
    assert_keeps_its_words(&world);

    world.say("/approve");
    let settled = world.settle();
    assert!(matches!(settled, OrderEnding::Approved { pull: Some(THEIRS), .. }), "{settled:?}");
    let [(_, lease)] = &world.pushes()[..] else { panic!("{:?}", world.pushes()) };
    assert_eq!(*lease, Some(sha(50)));
}

#[test]
fn a_push_meanwhile_is_not_overwritten() {
    let mut world = on_a_branch();
    world.oracle(|_, made, _| {
        let is_push = matches!(made, Move::Push { .. });
        is_push.then(|| EffectOutcome::BranchTaken { at: Some(sha(51)) })
    });
    let settled = world.settle();
    let OrderEnding::Escalated { pull: Some(THEIRS), because } = &settled else { panic!("{settled:?}") };
    assert!(because.starts_with("carls-answer was changed meanwhile"), "{because}");
    assert_keeps_its_words(&world);
}

#[test]
fn a_retry_after_the_push_makes_another_commit_and_replaces_none() {
    let mut world =
        on_a_branch().when("mend/1/tests", vec![unproven()]).when("mend/2/tests", vec![unproven()]);
    let settled = world.settle();
    assert!(matches!(settled, OrderEnding::Unproven { .. }), "{settled:?}");
    let pushed = world.commit("mend/2");
    world.say("/retry");
    while world.made("answer/1/1/agent") == 0 {
        assert!(world.step(), "{:?}", world.made);
    }
    assert_eq!(world.task("answer/1/1/agent").unwrap().start, Some(pushed));
    assert_eq!(world.made("mend/3"), 0);
}

#[test]
fn a_forks_goes_on_in_a_pull_request_of_ours_with_its_commits_below() {
    let mut world = mending(None);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(OURS) });
    assert_eq!(parents(&world), [sha(50)]);
    let pushed: Vec<&Move> = moves_of(&world, "/push-1");
    let [Move::Push { branch, lease: None, .. }] = pushed[..] else { panic!("{pushed:?}") };
    assert!(branch.as_str().starts_with("journeyman/issue-12-"), "{branch}");
    assert_eq!(world.made("publish/pull"), 1, "{:?}", world.made);
    let fetched: Vec<&Move> = moves_of(&world, "prepare/change");
    assert_eq!(fetched, [&Move::FetchChange { head: sha(50) }]);
}
