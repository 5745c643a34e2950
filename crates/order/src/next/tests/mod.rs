//! Whole orders without I/O: a simulated world answers the moves.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

mod approval;
mod artifact;
mod budget;
mod chance;
mod continued;
mod conversation;
mod corpus;
mod environment;
mod given;
mod given_policy;
mod graph;
mod loop_properties;
mod outage;
mod properties;
mod rounds;
mod scrutiny;
mod shown;
mod verdict_properties;
mod verifiers;
mod words;
mod world;

use self::world::{OrderEnding, SimulatedOrder, failed, imported, nothing, red, said, sha, tested};
use super::*;
use crate::agent_run::{AgentFailure, AgentFailureKind, AgentRun, AgentUsage};
use crate::ids::*;
use crate::signal::Requester;
use crate::signal::{Signal, SignalKind, SlashCommand};
use crate::test_run::TestVerdict;
use crate::trace::StageState;
use chrono::TimeDelta;

#[test]
fn a_wrong_first_attempt_is_sent_back_and_the_second_is_published() {
    let mut world = SimulatedOrder::new().when("implement/1/tests", vec![red(2, 1)]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    assert_eq!((world.made("implement/1/agent"), world.made("implement/2/agent")), (1, 1));
    let told = world.journal.entries().iter().find_map(|entry| match &entry.event {
        JournalEvent::Intended { key, r#move } if key.0 == "implement/2/agent" => match &**r#move {
            Move::RunAgent(task) => Some(task.clone()),
            _ => None,
        },
        _ => None,
    });
    let task = told.unwrap();
    let rework = task.rework.unwrap();
    assert_eq!((rework.attempt, rework.of, rework.failing_tests), (2, 3, vec!["test_0".to_owned()]));
    assert_eq!(rework.test_output.as_deref(), Some("boom"));
    assert_eq!((task.session.as_deref(), task.arguments), (Some("s1"), vec!["the plan".to_owned()]));
    let trace = world.projection().trace;
    assert_eq!(trace.pushed, trace.work.map(|work| work.commit));
    assert!(trace.pull.is_some_and(|pull| pull.ready));
}

#[test]
fn an_agent_that_pushes_nothing_gets_one_rework_and_no_pull_request() {
    let mut world = SimulatedOrder::new().when("/import", vec![nothing(), nothing()]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Blocked { because } if because.contains("nothing was pushed")),
        "{settled:?}"
    );
    assert_eq!(world.made("implement/"), 4, "two runs and two looks: {:?}", world.made);
    assert_eq!((world.made("push"), world.made("publish")), (0, 0));
}

#[test]
fn the_same_commit_again_is_nothing_pushed() {
    let same = || imported(7, Some("Fix the sum"));
    let mut world = SimulatedOrder::new()
        .when("/import", vec![same(), same()])
        .when("implement/1/tests", vec![red(0, 1)]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    assert_eq!((world.made("implement/2/tests"), world.made("implement/3/tests")), (0, 1));
}

#[test]
fn when_tests_run_out_the_best_round_goes_to_a_person_as_a_draft() {
    let mut world = SimulatedOrder::new().when("/tests", vec![red(1, 2), red(2, 1), red(0, 3)]);
    let settled = world.settle();
    assert!(matches!(settled, OrderEnding::Escalated { pull: Some(_), .. }), "{settled:?}");
    let stages = world.projection().trace.stages;
    let ready = stages.last().map(|stage| (stage.name.as_str(), stage.state));
    assert_eq!(ready, Some(("ready", StageState::Failed)), "a draft that is handed over is not ready");
    let trace = world.projection().trace;
    assert_eq!(trace.work.map(|work| work.round), Some(2));
    assert!(trace.pull.is_some_and(|pull| !pull.ready));
}

#[test]
fn after_a_retry_the_counters_start_again_and_the_guidance_is_told() {
    let mut world = SimulatedOrder::new().when("/tests", vec![red(1, 2), red(2, 1), red(0, 3), red(0, 3)]);
    world.settle();
    let guidance = Some("use a checked sum".to_owned());
    world.hear(SignalKind::Commanded {
        comment: None,
        pull: None,
        command: SlashCommand::Retry { guidance },
    });
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    assert_eq!(world.made("implement/5/agent"), 1);
    assert_eq!(world.made("publish/pull"), 1, "one pull request, whatever happens");
    let pushes: Vec<Option<CommitSha>> = world
        .journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            JournalEvent::Intended { r#move, .. } => match &**r#move {
                Move::Push { lease, .. } => Some(lease.clone()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert!(matches!(&pushes[..], [None, Some(_)]), "the second push replaces the first: {pushes:?}");
}

#[test]
fn without_tests_it_is_unverified_and_stays_a_draft() {
    let mut world = SimulatedOrder::new().when("/tests", vec![tested(&sha(9), TestVerdict::NoTests, 0, 0)]);
    assert!(matches!(world.settle(), OrderEnding::Unverified { pull: Some(_), .. }));
    assert!(world.projection().trace.pull.is_some_and(|pull| !pull.ready));
}

#[test]
fn without_the_right_nothing_is_done_and_nothing_is_said() {
    let mut world =
        SimulatedOrder::new().when("authorize/1", vec![EffectOutcome::Authorized { allowed: false }]);
    assert!(matches!(world.settle(), OrderEnding::Refused { .. }));
    assert_eq!(world.made, ["authorize/1"]);
}

#[test]
fn a_wrong_answer_is_sent_back_three_times_at_most() {
    let nonsense = || said("it is a /bug or a /feature");
    let mut world = SimulatedOrder::new().when("classify/1/agent", vec![nonsense()]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!(world.made("classify/"), 2);
    let mut world = SimulatedOrder::new()
        .when("classify/1/agent", vec![nonsense()])
        .when("classify/2/agent", vec![said("")])
        .when("classify/3/agent", vec![nonsense()]);
    assert!(
        matches!(world.settle(), OrderEnding::Failed { because } if because.contains("/feature, /bug, /chore"))
    );
}

#[test]
fn cosmetics_never_lose_the_work() {
    let long = || said("this is no name at all");
    let mut world = SimulatedOrder::new()
        .when("branch/1/agent", vec![long()])
        .when("branch/2/agent", vec![long()])
        .when("branch/3/agent", vec![long()])
        .when("/import", vec![imported(5, None)])
        .when("message/1/agent", vec![said("wip")])
        .when("message/2/agent", vec![said("")])
        .when("message/3/agent", vec![said("wip")])
        .when("text/1/agent", vec![said("x")])
        .when("text/2/agent", vec![said("x")])
        .when("text/3/agent", vec![said("x")]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    let trace = world.projection().trace;
    assert_eq!(trace.branch.map(|b| b.to_string()).as_deref(), Some("journeyman/issue-7-round-the-sum"));
    assert_eq!(trace.pull.map(|pull| pull.title).as_deref(), Some("Round the sum"));
    assert_eq!(trace.notes.len(), 3);
}

#[test]
fn overload_is_waited_for_and_is_no_round() {
    let busy = || failed(AgentFailureKind::Unavailable);
    let mut world = SimulatedOrder::new().when("implement/1/agent", vec![busy(), busy()]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!((world.made("implement/1/agent"), world.made("implement/2/agent")), (3, 0));
    let mut world = SimulatedOrder::new().when("implement/1/agent", (0..9).map(|_| busy()).collect());
    assert!(matches!(world.settle(), OrderEnding::Failed { .. }));
    assert_eq!(world.made("implement/1/agent"), 6);
}

#[test]
fn a_service_that_says_when_to_come_back_is_asked_then_and_not_before() {
    let mut world =
        SimulatedOrder::new().when("classify/1/agent", vec![told_to_wait(7), told_to_wait(1_000_000)]);
    let mut waits = Vec::new();
    for _ in 0..30 {
        let next = world.projection().next;
        if let (true, Some(until)) = (next.moves.is_empty(), next.wake_at) {
            let told = world.journal.entries().iter().rfind(
                |entry| matches!(&entry.event, JournalEvent::Observed { key, .. } if key.0 == "classify/1/agent"),
            );
            waits.push((until - told.unwrap().at).num_seconds());
        }
        world.step();
    }
    assert_eq!(waits, [7, 3_600], "as told, and never for longer than an hour");
    assert_eq!((world.made("classify/1/agent"), world.made("classify/2/agent")), (2, 0), "no round");
}

fn told_to_wait(seconds: u64) -> EffectOutcome {
    let failure = AgentFailure {
        retry_after_seconds: Some(seconds),
        ..AgentFailure::new(AgentFailureKind::Unavailable, "come back later")
    };
    EffectOutcome::AgentRan(Box::new(AgentRun { failure: Some(failure), ..AgentRun::default() }))
}

#[test]
fn a_wrong_key_ends_the_order_at_once_and_a_retry_goes_on_where_it_was() {
    let wrong = || failed(AgentFailureKind::Misconfigured);
    let mut world = SimulatedOrder::new().when("implement/1/agent", vec![wrong()]);
    assert!(matches!(world.settle(), OrderEnding::Failed { .. }));
    world.hear(SignalKind::Commanded {
        comment: None,
        pull: None,
        command: SlashCommand::Retry { guidance: None },
    });
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!((world.made("classify/1/agent"), world.made("implement/1/agent")), (1, 2));
}

#[test]
fn an_unknown_session_is_left_behind() {
    let mut world = SimulatedOrder::new()
        .when("implement/1/tests", vec![red(0, 1)])
        .when("implement/2/agent", vec![failed(AgentFailureKind::UnknownSession)]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    let sessions: Vec<Option<String>> = world
        .journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.event {
            JournalEvent::Intended { key, r#move } if key.0 == "implement/2/agent" => match &**r#move {
                Move::RunAgent(task) => Some(task.session.clone()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(sessions, [Some("s1".to_owned()), None]);
}

#[test]
fn money_and_time_have_an_end() {
    let dear = EffectOutcome::AgentRan(Box::new(AgentRun {
        result: Some("done".to_owned()),
        usage: AgentUsage { usd: 6.0, ..AgentUsage::default() },
        ..AgentRun::default()
    }));
    let mut world =
        SimulatedOrder::new().when("implement/1/agent", vec![dear]).when("/tests", vec![red(1, 1)]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Escalated { because, .. } if because.contains("budget")),
        "{settled:?}"
    );

    let mut world = SimulatedOrder::new();
    while world.made("classify/1/agent") == 0 {
        world.step();
    }
    world.now += TimeDelta::minutes(61);
    assert!(matches!(world.settle(), OrderEnding::Failed { because } if because.contains("60 minutes")));
}

#[test]
fn a_taken_name_is_left_to_its_owner() {
    let taken = EffectOutcome::BranchTaken { at: Some(sha(66)) };
    let mut world = SimulatedOrder::new().when("/push-1", vec![taken]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    let branch = world.projection().trace.branch.unwrap();
    assert_eq!(branch.as_str(), "journeyman/issue-7-fix-the-sum-2");
}

fn declined(because: &str) -> EffectOutcome {
    EffectOutcome::PushDeclined { because: because.to_owned() }
}

const RULE: &str = "commit messages have to begin with \"SUM-\"";

#[test]
fn a_push_that_is_declined_is_a_round_and_the_agent_hears_why() {
    let mut world = SimulatedOrder::new().when("/push-1", vec![declined(RULE)]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    let heard = world.task("publish/2/agent").unwrap().rework.unwrap();
    assert_eq!(heard.feedback[0].summary, format!("the push was declined: {RULE}"));
    assert_eq!((world.made("publish/2/tests"), world.made("implement/2/agent")), (1, 0));
    let (trace, made) = (world.projection().trace, world.commit("publish/2"));
    assert_eq!(
        (trace.pushed.as_ref(), trace.work.map(|work| work.commit).as_ref()),
        (Some(&made), Some(&made))
    );
}

#[test]
fn a_push_that_stays_declined_goes_to_a_person_whose_advice_reaches_the_agent() {
    let mut world = SimulatedOrder::new().when("/push-1", vec![declined(RULE), declined(RULE)]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Escalated { pull: None, because } if because.contains(RULE)),
        "{settled:?}"
    );
    assert_eq!(
        (world.made("/push-1"), world.made("publish/3/agent")),
        (2, 0),
        "the same failed in the same way"
    );
    world.say("/retry write SUM-7 before it");
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    let heard = world.task("publish/3/agent").unwrap().rework.unwrap();
    assert_eq!(heard.guidance.as_deref(), Some("write SUM-7 before it"));

    // The commit has no fault, and the rule has changed meanwhile.
    let same = || imported(7, Some("Fix the sum"));
    let mut world =
        SimulatedOrder::new().when("/push-1", vec![declined(RULE)]).when("/import", vec![same(), same()]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    assert_eq!(world.projection().trace.pushed, Some(world.commit("implement/1")));
}

#[test]
fn several_plans_are_asked_about() {
    let two = EffectOutcome::FilesFound { files: vec!["a.md".to_owned(), "b.md".to_owned()], content: None };
    let mut world =
        SimulatedOrder::new().when("plan/1/files", vec![two]).when("find/1/agent", vec![said("`b.md`")]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!((world.made("plan/1/find"), world.made("plan/1/read")), (1, 1));
}

#[test]
fn cancel_stops_and_retry_goes_on() {
    let mut world = SimulatedOrder::new();
    for _ in 0..6 {
        world.step();
    }
    world.hear(SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel });
    assert!(matches!(world.settle(), OrderEnding::Cancelled { because } if because.contains("ada")));
    let before = world.made.len();
    world.hear(SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel });
    world.settle();
    assert_eq!(
        world.projection().answers[1].answer,
        SignalAnswer::Ignored("it has already ended".to_owned())
    );
    world.hear(SignalKind::Commanded {
        comment: None,
        pull: None,
        command: SlashCommand::Retry { guidance: None },
    });
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }), "{:?}", &world.made[before..]);
}

#[test]
fn a_comment_that_arrives_twice_commands_once() {
    let again = || SignalKind::Commanded {
        comment: Some(5),
        pull: None,
        command: SlashCommand::Retry { guidance: None },
    };
    let mut world = SimulatedOrder::new().when("/import", (0..6).map(|_| nothing()).collect());
    world.settle();
    world.hear(again());
    world.settle();
    world.hear(again());
    assert!(matches!(world.settle(), OrderEnding::Blocked { .. }));
    assert_eq!(
        world.projection().answers[1].answer,
        SignalAnswer::Ignored("the comment was already handled".to_owned())
    );
    assert_eq!(world.made("implement/7/agent"), 0);
}

#[test]
fn an_outsiders_command_changes_nothing() {
    let mut world = SimulatedOrder::new().when("implement/1/tests", vec![red(0, 1)]);
    world.step();
    world.step();
    world.hear(SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel });
    let key = MoveKey(format!("authorize/{}", world.journal.last_seq()));
    world.write(JournalEvent::Observed {
        key,
        outcome: Box::new(EffectOutcome::Authorized { allowed: false }),
    });
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!(
        world.projection().answers[0].answer,
        SignalAnswer::NoRight("ada has no write access".to_owned())
    );
}

#[test]
fn what_is_spent_later_does_not_change_what_was_answered_before() {
    let dear = || {
        EffectOutcome::AgentRan(Box::new(AgentRun {
            result: Some("done".to_owned()),
            usage: AgentUsage { usd: 2.0, ..AgentUsage::default() },
            ..AgentRun::default()
        }))
    };
    let mut world = SimulatedOrder::new()
        .when("implement/1/agent", vec![dear()])
        .when("implement/2/agent", vec![dear()])
        .when("implement/3/agent", vec![dear()])
        .when("/tests", vec![red(1, 2), red(1, 2), red(1, 2)]);
    while world.made("implement/1/tests") == 0 {
        world.step();
    }
    world.hear(SignalKind::Commanded {
        comment: None,
        pull: None,
        command: SlashCommand::Retry { guidance: None },
    });
    assert!(matches!(world.settle(), OrderEnding::Escalated { .. }));
    assert_eq!(
        world.projection().answers[0].answer,
        SignalAnswer::Ignored("the work is already running".to_owned())
    );
    assert_eq!(world.made("implement/4/agent"), 0);
}

#[test]
fn waiting_for_a_place_is_not_work() {
    let mut world = SimulatedOrder::new();
    world.now += TimeDelta::minutes(500);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
}

#[test]
fn a_retry_of_unverified_work_is_a_new_round_that_hears_the_advice() {
    let none = || tested(&sha(9), TestVerdict::NoTests, 0, 0);
    let mut world = SimulatedOrder::new().when("/tests", vec![none()]);
    assert!(matches!(world.settle(), OrderEnding::Unverified { .. }));
    let guidance = Some("add a test".to_owned());
    world.hear(SignalKind::Commanded {
        comment: None,
        pull: None,
        command: SlashCommand::Retry { guidance: guidance.clone() },
    });
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!(world.advice("implement/2/agent"), guidance);
}

#[test]
fn advice_is_heard_whatever_the_order_had_stopped_at() {
    let mut world = SimulatedOrder::new();
    while world.made("plan/1/agent") == 0 {
        world.step();
    }
    world.hear(SignalKind::Commanded { comment: None, pull: None, command: SlashCommand::Cancel });
    world.settle();
    let guidance = Some("keep it small".to_owned());
    world.hear(SignalKind::Commanded {
        comment: None,
        pull: None,
        command: SlashCommand::Retry { guidance: guidance.clone() },
    });
    world.settle();
    assert_eq!(world.advice("implement/1/agent"), guidance);
    assert_eq!(world.advice("publish"), None, "said once");
}

#[test]
fn an_outsiders_label_does_not_take_a_maintainers_place() {
    let mut world =
        SimulatedOrder::new().when("authorize/1", vec![EffectOutcome::Authorized { allowed: false }]);
    let kind = SignalKind::Labeled { label: "journeyman".to_owned(), pull: None, at: None };
    let maintainer = Person { login: "grace".to_owned(), id: UserId(2) };
    world.write(JournalEvent::Signaled {
        signal: Signal { by: Requester::Person(maintainer.clone()), kind },
        delivery: None,
    });
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }));
    assert_eq!(world.projection().trace.authorized_by, Some(maintainer));
}

#[test]
fn a_pass_by_a_judge_of_the_changes_own_making_verifies_nothing() {
    let mut run = match tested(&sha(9), TestVerdict::Passed, 3, 0) {
        EffectOutcome::Tested(run) => run,
        other => panic!("{other:?}"),
    };
    run.doubt = Some("the change rewrites Makefile".to_owned());
    let mut world = SimulatedOrder::new().when("/tests", vec![EffectOutcome::Tested(run)]);
    assert!(
        matches!(world.settle(), OrderEnding::Unverified { because, .. } if because.contains("Makefile"))
    );
}
