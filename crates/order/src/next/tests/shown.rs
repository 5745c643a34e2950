//! What people see of rounds and results in any pipeline: results without a pull request, the best round of a failed
//! stage, check runs of replaced commits.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use super::conversation::moves_of;
use super::world::{OrderEnding, SimulatedOrder, approves, objects, red, said};
use crate::conversation::{CheckRunState, CommentTarget, NoticeComment};
use crate::ids::*;
use crate::next::*;

/// Reviewed before there is a pull request.
const REVIEWED_FIRST: &str = "
name: reviewed-first
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests] }
  - name: review
    agent: developer
    begins_with: checks
    checks: [pushed_commit, policy, tests, verifier]
    verifier: code_reviewer
    escalate_on_exhaust: human_approval
    depends_on: [implement]
  - { name: archive, uses: archive, inputs: { findings: '{{review.findings}}' }, depends_on: [review] }
  - { name: publish, uses: publish, agent: developer, depends_on: [archive] }
  - { name: ready, uses: ready, depends_on: [publish] }
";

#[test]
fn what_reviewers_found_before_the_pull_request_is_a_field_for_later_stages() {
    let mut world =
        SimulatedOrder::with(REVIEWED_FIRST).when("review/1/verify-1", vec![objects(&["finding one"])]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    let Move::Archive { parts, .. } = moves_of(&world, "archive/archive")[0] else { panic!("an archive") };
    let findings = &parts[0].1;
    assert!(
        findings.contains("Round 1: ") && findings.contains("- major: finding one (src/lib.rs:3)"),
        "{findings}"
    );
    assert!(findings.contains("Round 2: nothing to object"), "{findings}");
}

#[test]
fn a_pipeline_of_analysts_alone_posts_its_results_on_the_issue() {
    let mut world = SimulatedOrder::with(
        "
name: analysts
version: 1
stages:
  - { name: analyse, agent: business_analyst }
  - { name: specify, agent: technical_architect, depends_on: [analyse] }
",
    );
    world.settle();
    let Move::Say { on, saying } = moves_of(&world, "say/results-0")[0] else { panic!("a comment") };
    assert_eq!((*on, saying), (CommentTarget::Issue(IssueNumber(7)), &NoticeComment::Results));
    let shown = world.projection().surfaces();
    assert_eq!((shown.headline.as_str(), shown.exit_code), ("Done, nothing published", 4));
    assert_eq!(shown.label, crate::surfaces::OrderLabel::Done);
    assert_eq!(world.made("say/results"), 1, "once: {:?}", world.made);
}

#[test]
fn a_verified_commit_of_a_pipeline_that_publishes_nothing_is_in_the_results_and_a_retry_posts_new_ones() {
    let mut world = SimulatedOrder::with(
        "
name: four
version: 1
stages:
  - { name: develop, agent: developer, checks: [pushed_commit, policy] }
  - { name: test, uses: tests, depends_on: [develop] }
  - { name: review, agent: developer, begins_with: checks, checks: [verifier], verifier: code_reviewer, escalate_on_exhaust: human_approval, depends_on: [test] }
  - { name: archive, uses: archive, inputs: { code: '{{develop.code}}' }, depends_on: [review] }
",
    );
    assert_eq!(world.settle(), OrderEnding::Verified { pull: None });
    assert_eq!((world.made("say/results-0"), world.pushes().len()), (1, 0));
    assert_eq!(world.projection().surfaces().headline, "Verified, not examined, nothing published");
}

#[test]
fn where_nobody_is_asked_the_best_round_stays_on_the_branch() {
    let stage = "{ name: implement, agent: developer, checks: [pushed_commit, policy, tests] }";
    let rest = "
  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
";
    let mut world = SimulatedOrder::with(&format!("name: p\nversion: 1\nstages:\n  - {stage}{rest}"))
        .when("/tests", vec![red(1, 2), red(2, 1), red(0, 3)]);
    let OrderEnding::Failed { because } = world.settle() else { panic!("nobody is asked") };
    assert!(because.contains("2 passed, 1 failed"), "{because}");
    assert_eq!(world.pushes(), [(world.commit("implement/2"), None)]);
    assert_eq!(world.made("publish/pull"), 0);
    world.say("/retry");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    let pushes = world.pushes();
    assert_eq!(pushes.last(), Some(&(world.commit("implement/4"), Some(world.commit("implement/2")))));
}

#[test]
fn a_check_run_of_a_commit_that_was_replaced_ends_as_superseded() {
    let pipeline = "
name: p
version: 1
stages:
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests] }
  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }
  - name: review
    agent: developer
    begins_with: checks
    checks: [pushed_commit, policy, tests, verifier]
    verifier: code_reviewer
    depends_on: [publish]
  - { name: ready, uses: ready, depends_on: [review] }
";
    let mut world = SimulatedOrder::with(pipeline)
        .when("review/1/verify-1", vec![objects(&["one"])])
        .when("review/2/verify-1", vec![objects(&["two"])])
        .when("review/3/verify-1", vec![approves()]);
    // The last move in the list shows something, so that one finishes first.
    let ended = world.settle_choosing(|under_way| under_way.len() - 1);
    assert_eq!(ended, OrderEnding::Verified { pull: Some(PullNumber(8)) });
    let shown: Vec<(CommitSha, CheckRunState)> = moves_of(&world, "check/")
        .into_iter()
        .map(|r#move| match r#move {
            Move::ShowCheck { head, state } => (head.clone(), *state),
            other => panic!("{other:?}"),
        })
        .collect();
    let [first, second, third] = ["implement/1", "review/2", "review/3"].map(|round| world.commit(round));
    use CheckRunState::{InProgress, Success, Superseded};
    let expected = [
        (first.clone(), InProgress),
        (first, Superseded),
        (second.clone(), InProgress),
        (second, Superseded),
        (third.clone(), InProgress),
        (third, Success),
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_review_of_an_answer_is_no_comment_on_the_pull_request() {
    let mut world = SimulatedOrder::with(
        "
name: p
version: 1
stages:
  - { name: analyse, agent: business_analyst, checks: [verifier], verifier: code_reviewer }
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests], depends_on: [analyse] }
  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
",
    )
    .when("analyse/1/verify-1", vec![objects(&["one"])])
    .when("analyse/2/agent", vec![said("better")]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    assert_eq!(world.made("comment"), 0, "{:?}", world.made);
}
