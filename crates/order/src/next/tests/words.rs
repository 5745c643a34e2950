//! People's commands from the label to the end, and the replies: the plan that waits, the label, and what blocks an
//! order.

#![expect(clippy::wildcard_enum_match_arm, reason = "a story looks at one kind of move")]

use super::conversation::{moves_of, somebody, verified};
use super::world::{OrderEnding, SimulatedOrder, said, sha, tested};
use crate::conversation::*;
use crate::ids::PullNumber;
use crate::moves::EffectOutcome;
use crate::next::*;
use crate::replay::signal_log::SignalAnswer;
use crate::settings::{PlanApproval, RepositorySettings};
use crate::signal::{CommentCommand, SignalKind};
use crate::test_run::TestVerdict;
use crate::trace::PendingApproval;

const PULL: PullNumber = PullNumber(8);

#[test]
fn the_plan_waits_for_a_person_where_the_repository_wishes_it() {
    let settings = RepositorySettings { plan: PlanApproval::Approve, ..RepositorySettings::default() };
    let mut world = SimulatedOrder::new().settings(settings);
    assert!(world.rests(), "it waits");
    assert_eq!(world.made("implement/1/agent"), 0, "no money went into code");
    assert_eq!(world.made("plan/1/show"), 1);
    world.say("/retry");
    assert!(world.rests());
    assert!(matches!(world.last_answer(), Some(SignalAnswer::Ignored(_))));
    world.say("/plan in two steps, please");
    assert!(world.rests());
    let Move::RunAgent(task) = moves_of(&world, "plan/2/agent")[0] else { panic!("an agent") };
    assert!(task.rework.as_ref().unwrap().feedback[0].summary.contains("in two steps"));
    assert_eq!(world.made("plan/2/show"), 1);
    world.say("/approve");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
}

fn planned(text: &str, plan: PlanApproval) -> SimulatedOrder {
    let settings = RepositorySettings { plan, ..RepositorySettings::default() };
    let found = EffectOutcome::FilesFound {
        files: vec![".journeyman/plans/a.md".to_owned()],
        content: Some(text.to_owned()),
    };
    let finds = move |_: &MoveKey, r#move: &Move, _: usize| {
        matches!(r#move, Move::FindFiles { .. }).then(|| found.clone())
    };
    SimulatedOrder::new().settings(settings).asking(Box::new(finds))
}

const BLOCKED: &str = "# Plan\n\n## Blocking questions\n\n1. CSV or TSV?\n";
const OPEN: &str = "# Plan\n\n## Open questions\n\n- May it be slow? Assumed: yes.\n";

#[test]
fn what_a_plan_cannot_do_without_is_asked_and_an_answer_on_the_issue_goes_on() {
    let mut world = planned(BLOCKED, PlanApproval::Auto);
    assert!(world.rests(), "it waits");
    assert_eq!((world.made("plan/1/ask"), world.made("implement/1/agent")), (1, 0));
    assert_eq!(world.projection().trace.asks, Some(PendingApproval::Answers));
    world.hear(SignalKind::IssueCommented { comment: 90, by_author: true });
    assert!(world.rests(), "asked once more");
    let Move::RunAgent(task) = moves_of(&world, "plan/2/agent")[0] else { panic!("an agent") };
    let told = &task.rework.as_ref().unwrap().feedback;
    assert!(told.iter().any(|one| one.summary.contains("CSV or TSV?")), "{told:#?}");
    // The same question stays open, but people are not asked a third time.
    assert_eq!(world.made("plan/2/ask"), 1);
    world.hear(SignalKind::IssueCommented { comment: 91, by_author: true });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.made("plan/3/ask"), 0);
}

#[test]
fn a_plan_with_questions_is_carried_out_as_it_is_once_a_person_says_so() {
    let mut world = planned(BLOCKED, PlanApproval::Auto);
    assert!(world.rests());
    world.say("/approve");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.made("plan/2/agent"), 0);
}

#[test]
fn an_answer_may_be_given_with_the_wish_for_another_plan() {
    let mut world = planned(BLOCKED, PlanApproval::Auto);
    assert!(world.rests());
    world.say("/plan TSV, please");
    assert!(world.rests());
    let Move::RunAgent(task) = moves_of(&world, "plan/2/agent")[0] else { panic!("an agent") };
    assert!(task.rework.as_ref().unwrap().feedback[0].summary.contains("TSV, please"));
}

#[test]
fn what_a_plan_merely_leaves_open_is_asked_where_the_repository_wishes_it() {
    let mut world = planned(OPEN, PlanApproval::Auto);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let mut world = planned(OPEN, PlanApproval::Ask);
    assert!(world.rests());
    assert_eq!(world.made("plan/1/ask"), 1);
}

#[test]
fn where_no_class_fits_a_person_is_asked_and_nobody_is_paid_to_choose_again() {
    for none in ["None of these: it is a question.", "0", "none", "`neither`"] {
        let mut world = SimulatedOrder::new()
            .when("classify/1/agent", vec![said(none)])
            .when("classify/2/agent", vec![said("/chore")]);
        assert!(world.rests(), "it waits");
        assert_eq!((world.made("classify/1/ask"), world.made("classify/2/agent")), (1, 0), "{none}");
        let Move::Say { saying: NoticeComment::Questions { questions, .. }, .. } =
            moves_of(&world, "classify/1/ask")[0]
        else {
            panic!("a question")
        };
        assert!(questions[0].contains("/feature, /bug, /chore"), "{questions:?}");
        world.hear(SignalKind::IssueCommented { comment: 90, by_author: true });
        assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
        let Move::RunAgent(task) = moves_of(&world, "classify/2/agent")[0] else { panic!("an agent") };
        let told = &task.rework.as_ref().unwrap().feedback;
        assert!(told.iter().any(|one| one.summary.contains("Which of")), "{told:?}");
    }
}

#[test]
fn an_approval_has_the_closest_class_chosen_and_after_two_questions_it_ends() {
    let mut world = SimulatedOrder::new().when("classify/1/agent", vec![said("none")]);
    assert!(world.rests());
    world.say("/approve");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let Move::RunAgent(task) = moves_of(&world, "classify/2/agent")[0] else { panic!("an agent") };
    assert!(task.rework.as_ref().unwrap().feedback[0].summary.contains("what comes closest"));

    let mut world = SimulatedOrder::new().when("/agent", vec![said("none"), said("none"), said("none")]);
    assert!(world.rests());
    world.say("/approve");
    assert!(world.rests(), "asked once more");
    world.say("/approve");
    let OrderEnding::Failed { because } = world.settle() else { panic!("nobody is asked for a third time") };
    assert!(because.contains("none of /feature, /bug, /chore fits"), "{because}");
}

#[test]
fn the_open_questions_of_an_analysis_are_asked_as_those_of_a_plan_are() {
    let analysis = |questions: &str| said(&format!(r#"{{"stories": [], "open_questions": [{questions}]}}"#));
    let pipeline = "
name: p
version: 1
stages:
  - { name: analyse, agent: business_analyst, output: { json_schema: { type: object, properties: { open_questions: { type: array } } } } }
  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests], depends_on: [analyse] }
  - { name: publish, uses: publish, agent: developer, depends_on: [implement] }
  - { name: ready, uses: ready, depends_on: [publish] }
";
    let order = |plan, questions| {
        let settings = RepositorySettings { plan, ..RepositorySettings::default() };
        SimulatedOrder::with(pipeline)
            .settings(settings)
            .when("analyse/1/agent", vec![analysis(questions)])
            .when("analyse/2/agent", vec![analysis("")])
    };
    let question = r#""CSV or TSV? Taken: CSV.""#;
    let mut world = order(PlanApproval::Auto, question);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    for plan in [PlanApproval::Ask, PlanApproval::Approve] {
        let mut world = order(plan, question);
        assert!(world.rests(), "it waits");
        assert_eq!((world.made("analyse/1/ask"), world.made("implement/1/agent")), (1, 0));
        world.hear(SignalKind::IssueCommented { comment: 90, by_author: true });
        assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
        let Move::RunAgent(task) = moves_of(&world, "analyse/2/agent")[0] else { panic!("an agent") };
        let told = &task.rework.as_ref().unwrap().feedback;
        assert!(told.iter().any(|one| one.summary.contains("CSV or TSV?")), "{told:?}");
    }
    let mut world = order(PlanApproval::Ask, "");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
}

/// An order just before this effect.
fn before(key: &str) -> SimulatedOrder {
    let mut world = SimulatedOrder::new();
    while world.projection().next.moves.iter().all(|(next, _)| next.0 != key) {
        assert!(world.step(), "{key} comes: {:?}", world.made);
    }
    world
}

#[test]
fn another_plan_can_be_wanted_before_it_is_begun_and_the_first_one_does_what_is_advised() {
    let mut world = before("classify/1/agent");
    world.say("/plan in two steps, please");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.made("plan/"), 2, "one run, and the file: {:?}", world.made);
    assert_eq!(world.advice("plan/1/agent").as_deref(), Some("in two steps, please"));
    assert_eq!(world.advice("implement/1/agent"), None);
}

#[test]
fn a_plan_that_is_being_made_is_stopped_and_made_anew_with_the_advice() {
    let mut world = SimulatedOrder::new();
    let key = "plan/1/agent";
    while world.begin_all() && !world.is_under_way(key) {
        let first = world.first_under_way();
        world.finish(&first);
    }
    world.say("/plan in two steps, please");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    let Move::RunAgent(task) = moves_of(&world, "plan/2/agent")[0] else { panic!("an agent") };
    assert!(task.rework.as_ref().unwrap().feedback[0].summary.contains("in two steps"));
    let Move::RunAgent(task) = moves_of(&world, "implement/1/agent")[0] else { panic!("an agent") };
    assert!(task.rework.is_none());
}

#[test]
fn a_plan_that_was_made_is_made_anew_as_long_as_nobody_was_asked_for_code() {
    let mut world = before("implement/1/agent");
    world.say("/plan in two steps, please");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!((world.made("plan/2/agent"), world.made("implement/1/agent")), (1, 1));
}

#[test]
fn an_order_whose_environment_failed_is_prepared_again_and_planned_with_the_advice() {
    let blocked =
        EffectOutcome::Preflighted { problems: vec!["no credential".to_owned()], warnings: Vec::new() };
    let mut world = SimulatedOrder::new().when("preflight/1", vec![blocked]);
    assert!(matches!(world.settle(), OrderEnding::Failed { .. }));
    world.say("/plan in two steps, please");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PULL) });
    assert_eq!(world.advice("plan/1/agent").as_deref(), Some("in two steps, please"));
}

#[test]
fn once_code_was_written_another_plan_is_refused_in_one_line() {
    let refused = |because: &str| Some(SignalAnswer::Ignored(because.to_owned()));
    let mut world = before("implement/1/import");
    world.say("/plan in two steps, please");
    world.settle();
    assert_eq!(
        world.last_answer(),
        refused(
            "code is being written already: comment /cancel and start over, or wait and review the pull request"
        )
    );
    world.say("/plan in two steps, please");
    world.settle();
    assert_eq!(world.last_answer(), refused("code was written already: comment /retry and what to change"));
    assert_eq!(world.made("plan/2/agent"), 0);
}

#[test]
fn the_label_cancels_until_there_is_a_pull_request() {
    let label = || SignalKind::Unlabeled { label: "journeyman".to_owned() };
    let mut world = SimulatedOrder::new();
    while world.made("plan/1/agent") == 0 {
        world.step();
    }
    world.hear(label());
    assert!(matches!(world.settle(), OrderEnding::Cancelled { because } if because.contains("label")));
    let mut world = SimulatedOrder::new();
    while world.made("publish/pull") == 0 {
        world.step();
    }
    world.hear(label());
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert!(matches!(world.last_answer(), Some(SignalAnswer::Ignored(_))));
}

#[test]
fn whoever_commands_sees_that_it_was_read() {
    let (mut world, _) = verified(SimulatedOrder::new());
    let say = |text: &str, comment: u64| match CommentCommand::of(text) {
        CommentCommand::Command(command) => {
            SignalKind::Commanded { comment: Some(comment), pull: None, command }
        }
        CommentCommand::Unknown(word) => SignalKind::Misspoken { comment, pull: None, word },
        CommentCommand::None => panic!("{text}"),
    };
    world.hear(say("/help", 11));
    world.hear(say("/retyr", 12));
    world.hear(say("/approve", 13));
    world.hear(say("/approve", 13));
    world.settle();
    let reactions: Vec<_> = moves_of(&world, "react/")
        .into_iter()
        .map(|r#move| match r#move {
            Move::React { comment: CommentRef::Issue(id), reaction } => (*id, *reaction),
            other => panic!("{other:?}"),
        })
        .collect();
    for expected in [
        (11, Reaction::Eyes),
        (11, Reaction::Rocket),
        (12, Reaction::Eyes),
        (12, Reaction::Confused),
        (13, Reaction::Eyes),
        (13, Reaction::Confused),
    ] {
        assert_eq!(
            reactions.iter().filter(|seen| **seen == expected).count(),
            1,
            "{expected:?} in {reactions:?}"
        );
    }
    assert_eq!(moves_of(&world, "say/").len(), 3);
}

#[test]
fn outsiders_hear_nothing_or_one_polite_line() {
    let refused = |key: &MoveKey, r#move: &Move| matches!(r#move, Move::Authorize { person } if person.login == "eve" && key.0.starts_with("authorize/"));
    for polite in [false, true] {
        let settings = RepositorySettings { answer_outsiders: polite, ..RepositorySettings::default() };
        let (mut world, _) = verified(SimulatedOrder::new().settings(settings));
        world.oracle(move |key, r#move, _| {
            refused(key, r#move).then_some(EffectOutcome::Authorized { allowed: false })
        });
        for comment in [21, 22] {
            let CommentCommand::Command(command) = CommentCommand::of("/retry now") else { panic!() };
            let kind = SignalKind::Commanded { comment: Some(comment), pull: None, command };
            world.hear_from(somebody("eve", 66), kind);
        }
        world.settle();
        assert!(moves_of(&world, "react/").is_empty());
        assert_eq!(moves_of(&world, "say/").len(), usize::from(polite));
    }
}

#[test]
fn everything_that_stands_in_the_way_is_said_at_once_and_before_anything_is_paid() {
    let problems = vec!["the App may not write contents".to_owned(), "there is no credential".to_owned()];
    let blocked = EffectOutcome::Preflighted { problems: problems.clone(), warnings: Vec::new() };
    let mut world = SimulatedOrder::new().when("preflight/1", vec![blocked]);
    assert!(matches!(world.settle(), OrderEnding::Failed { .. }));
    assert_eq!(world.projection().trace.problems, problems);
    assert_eq!(world.made("classify/1/agent"), 0);
    world.say("/retry");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
}

#[test]
fn a_budget_of_others_that_is_spent_keeps_the_work() {
    let spent =
        EffectOutcome::BudgetSpent { because: "the repository has spent its $20 of today".to_owned() };
    let red = tested(&sha(1), TestVerdict::Failed, 1, 1);
    let mut world =
        SimulatedOrder::new().when("implement/1/tests", vec![red]).when("implement/2/agent", vec![spent]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Escalated { pull: Some(_), because } if because.contains("$20")),
        "{settled:?}"
    );
    world.say("/retry");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }), "there is more tomorrow");
}

#[test]
fn what_is_stopped_says_so_on_its_pull_request() {
    let mut world = SimulatedOrder::new();
    while world.made("publish/pull") == 0 {
        world.step();
    }
    world.say("/cancel");
    assert!(matches!(world.settle(), OrderEnding::Cancelled { .. }));
    assert_eq!(moves_of(&world, "ended/").len(), 1, "the text does not promise more");
    world.say("/retry");
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!(moves_of(&world, "ended/").len(), 1);
}
