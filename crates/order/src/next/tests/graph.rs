//! The graph: which stages run in parallel, what stops a stage, and what each stage rests on.
#![allow(clippy::wildcard_enum_match_arm, reason = "a test looks at one kind")]

use super::world::{OrderEnding, SimulatedOrder, failed, imported, nothing, objects, red, said};
use crate::agent_run::{AgentFailure, AgentFailureKind, AgentRun, AgentUsage};
use crate::ids::*;
use crate::moves::{AgentTask, AgentTaskWorkspace, EffectError};
use crate::next::*;
use crate::pipeline::{Escalation, StageKind};
use crate::trace::StageState;

fn pipeline(stages: &str) -> String {
    format!("name: graph\nversion: 1\nstages:\n{stages}")
}

const IMPLEMENT: &str = "  - { name: implement, agent: developer, checks: [pushed_commit, policy, tests] }\n";

fn published(stages: &str) -> String {
    pipeline(&format!(
        "{IMPLEMENT}{stages}  - {{ name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [implement] }}\n"
    ))
}

fn names(world: &SimulatedOrder) -> Vec<&str> {
    let mut names: Vec<&str> = world
        .under_way
        .iter()
        .map(|(key, _)| key.0.as_str())
        .filter(|key| !key.starts_with("status/") && !key.starts_with("check/"))
        .collect();
    names.sort_unstable();
    names
}

/// Runs everything up to the first moves of stages.
fn prepared(mut world: SimulatedOrder) -> SimulatedOrder {
    while world.made("preflight/1") == 0 {
        world.step();
    }
    world.begin_all();
    world
}

#[test]
fn independent_readers_run_side_by_side() {
    let world = prepared(SimulatedOrder::with(&pipeline(
        "  - { name: quality, agent: quality_analyst }\n  - { name: architect, agent: technical_architect }\n",
    )));
    assert_eq!(names(&world), ["architect/1/agent", "quality/1/agent"]);
    for key in ["architect/1/agent", "quality/1/agent"] {
        assert!(matches!(world.task(key).unwrap().place, AgentTaskWorkspace::Checkout { .. }), "{key}");
    }
}

#[test]
fn at_most_four_stages_are_at_work() {
    let stages: String = (1..=6).map(|n| format!("  - {{ name: reader{n}, agent: developer }}\n")).collect();
    let mut world = prepared(SimulatedOrder::with(&pipeline(&stages)));
    assert_eq!(names(&world).len(), 4);
    world.finish("reader3/1/agent");
    world.begin_all();
    assert_eq!(names(&world), ["reader1/1/agent", "reader2/1/agent", "reader4/1/agent", "reader5/1/agent"]);
}

#[test]
fn two_writers_are_never_at_work_at_once() {
    let mut world = prepared(SimulatedOrder::with(&pipeline(
        "  - { name: first, agent: developer, checks: [pushed_commit] }\n  - { name: second, agent: developer, checks: [pushed_commit] }\n",
    )));
    assert_eq!(names(&world), ["first/1/agent"]);
    while world.state("first") != Some(StageState::Passed) {
        world.step();
    }
    world.begin_all();
    assert_eq!(names(&world), ["second/1/agent"]);
}

#[test]
fn a_writer_waits_for_one_before_it_that_still_waits_for_a_reader() {
    let mut world = prepared(SimulatedOrder::with(&pipeline(
        "  - { name: plan, agent: developer }
  - { name: first, agent: developer, checks: [pushed_commit], depends_on: [plan] }
  - { name: second, agent: developer, checks: [pushed_commit] }\n",
    )));
    assert_eq!(names(&world), ["plan/1/agent"], "or else who is quicker would decide what second works on");
    world.settle();
    let place = |key: &str| world.made.iter().position(|made| made == key);
    assert!(place("first/1/commit") < place("second/1/agent"));
}

#[test]
fn a_failed_stage_stops_what_depends_on_it_and_nothing_else() {
    let mut world = SimulatedOrder::with(&pipeline(
        "  - { name: a, agent: developer }
  - { name: b, agent: developer }
  - { name: after_a, agent: developer, depends_on: [a] }
  - { name: after_after_a, agent: developer, depends_on: [after_a] }
  - { name: after_b, agent: developer, depends_on: [b] }\n",
    ))
    .when("a/1/agent", vec![failed(AgentFailureKind::Misconfigured)]);
    assert!(matches!(world.settle(), OrderEnding::Failed { because } if because.contains("Misconfigured")));
    assert_eq!((world.made("after_a/"), world.made("after_after_a/"), world.made("after_b/")), (0, 0, 1));
    assert_eq!(
        (world.state("a"), world.state("after_b")),
        (Some(StageState::Failed), Some(StageState::Passed))
    );
}

#[test]
fn a_stage_whose_condition_does_not_hold_is_passed_over() {
    let stages = "  - { name: classify, agent: developer, output: { one_of: [/bug, /feature] } }
  - { name: plan, agent: developer, depends_on: [classify], when: '{{classify.result}} == /feature' }
  - { name: work, agent: developer, arguments: ['{{plan.result}}'], depends_on: [plan] }\n";
    for (class, state, told) in
        [("/bug", StageState::Skipped, ""), ("/feature", StageState::Passed, "the plan")]
    {
        let mut world = SimulatedOrder::with(&pipeline(stages))
            .when("classify/1/agent", vec![said(class)])
            .when("plan/1/agent", vec![said("the plan")]);
        world.settle();
        assert_eq!(world.state("plan"), Some(state));
        assert_eq!(world.task("work/1/agent").unwrap().arguments, [told]);
    }
}

#[test]
fn a_stage_of_tests_that_fails_stops_all_after_it() {
    let yaml = pipeline(&format!(
        "{}  - {{ name: test, uses: tests, depends_on: [implement] }}
  - {{ name: publish, uses: publish, agent: developer, depends_on: [test] }}
  - {{ name: ready, uses: ready, depends_on: [publish] }}\n",
        IMPLEMENT.replace(", tests", "")
    ));
    let mut world = SimulatedOrder::with(&yaml).when("test/1/tests", vec![red(1, 2)]);
    assert!(
        matches!(world.settle(), OrderEnding::Failed { because } if because.contains("1 passed, 2 failed"))
    );
    // The work was paid for, so it stays on the branch.
    assert_eq!((world.made("publish/pull"), world.made("ready")), (0, 0));
    assert_eq!(world.pushes(), [(world.commit("implement/1"), None)]);
    world.say("/retry");
    assert_eq!(
        world.settle(),
        OrderEnding::Verified { pull: Some(PullNumber(8)) },
        "it may have been the machine"
    );
    assert_eq!((world.made("test/2/tests"), world.made("implement/2")), (1, 0));
}

#[test]
fn failed_tests_of_a_stage_of_their_own_go_to_whom_it_escalates() {
    let yaml =
        published("  - { name: test, uses: tests, depends_on: [implement] }\n").replace(", tests]", "]");
    let mut parsed = Pipeline::parse(&yaml).unwrap();
    for escalation in [Escalation::HumanApproval, Escalation::Agent("tech_lead".to_owned())] {
        for stage in parsed.stages.iter_mut().filter(|stage| stage.uses == StageKind::Tests) {
            stage.escalate_on_exhaust = escalation.clone();
        }
        let mut world = SimulatedOrder::of(parsed.clone()).when("test/1/tests", vec![red(1, 2)]);
        assert!(matches!(world.settle(), OrderEnding::Escalated { pull: Some(_), .. }), "{escalation:?}");
        assert_eq!(world.made("diagnosis"), 0, "there is no worker to guide");
        world.say("/approve");
        assert!(matches!(world.settle(), OrderEnding::Approved { pull: Some(_), .. }));
        assert_eq!(world.made("test/2"), 0);
    }
}

#[test]
fn a_stage_of_tests_gives_what_they_came_to() {
    let yaml = pipeline(&format!(
        "{IMPLEMENT}  - {{ name: test, uses: tests, depends_on: [implement] }}
  - {{ name: report, agent: archiver, inputs: {{ a: '{{{{test.verdict}}}}', b: '{{{{test.result}}}}', c: '{{{{implement.changed}}}}' }}, depends_on: [test] }}\n"
    ));
    let mut world = SimulatedOrder::with(&yaml);
    world.settle();
    let inputs: Vec<String> = world.task("report/1/agent").unwrap().inputs.into_values().collect();
    assert_eq!(inputs, ["passed", "3 passed, 0 failed, 0 skipped", "src/lib.rs"]);
}

#[test]
fn what_is_archived_is_the_inputs_and_the_archivers_words() {
    let yaml = pipeline(&format!(
        "{IMPLEMENT}  - {{ name: archive, uses: archive, agent: archiver, inputs: {{ code: '{{{{implement.code}}}}' }}, depends_on: [implement] }}\n"
    ));
    let archived = |world: &SimulatedOrder| {
        world.journal.entries().iter().find_map(|entry| match &entry.event {
            JournalEvent::Intended { key, r#move } if key.0 == "archive/archive" => match &**r#move {
                Move::Archive { parts, .. } => Some(parts.clone()),
                _ => None,
            },
            _ => None,
        })
    };
    let part = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut world = SimulatedOrder::with(&yaml).when("archive/1/agent", vec![said("all well")]);
    assert!(matches!(world.settle(), OrderEnding::Verified { pull: None }));
    assert_eq!(archived(&world), Some(vec![part("code", "+ 1"), part("summary", "all well")]));

    let mut world = SimulatedOrder::with(&yaml)
        .when("archive/1/agent", vec![said(""), said(""), said("")])
        .when("archive/2/agent", vec![said("")]);
    assert!(matches!(world.settle(), OrderEnding::Verified { .. }), "an archive without words is still one");
    assert_eq!(archived(&world), Some(vec![part("code", "+ 1"), part("summary", "")]));
    assert_eq!(world.projection().trace.notes.len(), 1);
}

#[test]
fn a_stages_budget_and_time_are_its_own() {
    let dear = |usd: f64| {
        let usage = AgentUsage { usd, ..AgentUsage::default() };
        EffectOutcome::AgentRan(Box::new(AgentRun {
            result: Some("x".to_owned()),
            usage,
            ..AgentRun::default()
        }))
    };
    let yaml = pipeline(
        "  - { name: a, agent: developer, output: { one_of: [yes] }, budget: 0.5, timeout: 90s }
  - { name: b, agent: developer, depends_on: [] }\n",
    )
    .replace("[yes]", "['yes']");
    let mut world =
        SimulatedOrder::with(&yaml).when("a/1/agent", vec![dear(0.6)]).when("b/1/agent", vec![dear(2.0)]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Failed { because } if because.contains("$0.50 for stage a")),
        "{settled:?}"
    );
    assert_eq!((world.made("a/2"), world.state("b")), (0, Some(StageState::Passed)));
    let seconds = |key: &str| world.task(key).unwrap().timeout_seconds;
    assert_eq!(seconds("a/1/agent"), 90);
    assert!((3_590..=3_600).contains(&seconds("b/1/agent")), "what is left for the order");
    // The budget before a retry was for the earlier rounds.
    world.say("/retry");
    world.settle();
    assert_eq!(world.made("a/2/agent"), 1);
}

#[test]
fn each_retry_policy_does_as_it_says() {
    let stage = |policy: &str| {
        SimulatedOrder::with(&pipeline(&format!(
            "  - {{ name: a, agent: developer, retry_count: 2, retry_policy: {policy} }}\n"
        )))
    };
    let times = |world: &SimulatedOrder| -> Vec<i64> {
        let begun: Vec<DateTime<Utc>> = world
            .journal
            .entries()
            .iter()
            .filter(
                |entry| matches!(&entry.event, JournalEvent::Intended { key, .. } if key.0 == "a/1/agent"),
            )
            .map(|entry| entry.at)
            .collect();
        begun.windows(2).map(|pair| (pair[1] - pair[0]).num_seconds()).collect()
    };
    let ended = || (0..3).map(|_| failed(AgentFailureKind::Ended)).collect::<Vec<_>>();
    // A run that ended on its own counts as a round, and a repeated failure gets no third one.
    let mut world = stage("infrastructure_only").when("a/1/agent", ended());
    world.settle();
    assert_eq!((world.made("a/1/agent"), world.made("a/2/agent")), (1, 1));

    let mut world = stage("blind").when("a/1/agent", ended());
    world.settle();
    assert_eq!((world.made("a/1/agent"), world.made("a/2/agent")), (3, 1), "after its retries it is a round");
    assert!(
        times(&world).iter().all(|seconds| *seconds <= 3),
        "at once, but for the status: {:?}",
        times(&world)
    );

    let mut world = stage("exponential").when("a/1/agent", ended());
    world.settle();
    assert_eq!((world.made("a/1/agent"), world.made("a/2/agent")), (3, 1));
    assert!(times(&world)[1] >= 4 && times(&world)[1] > times(&world)[0], "{:?}", times(&world));

    for policy in ["infrastructure_only", "blind", "exponential"] {
        let busy = (0..5).map(|_| failed(AgentFailureKind::Unavailable)).collect();
        let mut world = stage(policy).when("a/1/agent", busy);
        assert!(matches!(world.settle(), OrderEnding::Failed { .. }), "{policy}");
        assert_eq!(world.made("a/1/agent"), 3, "{policy}");
        let wrong = (0..5).map(|_| failed(AgentFailureKind::Misconfigured)).collect();
        let mut world = stage(policy).when("a/1/agent", wrong);
        assert!(matches!(world.settle(), OrderEnding::Failed { .. }), "{policy}");
        assert_eq!(world.made("a/1/agent"), 1, "{policy}: a person has to mend it first");
    }
}

#[test]
fn an_agent_that_failed_without_the_json_that_was_asked_for_is_told_why_it_failed() {
    let mut world = SimulatedOrder::with(&pipeline(
        "  - { name: a, agent: developer, retry_policy: infrastructure_only, output: { json_schema: { type: object } } }\n",
    ))
    .when("a/1/agent", vec![failed(AgentFailureKind::Ended)])
    .when("a/2/agent", vec![said("")])
    .when("a/3/agent", vec![said("{}")]);
    world.settle();
    let told = |key: &str| world.task(key).unwrap().rework.unwrap().feedback[0].summary.clone();
    assert_eq!(told("a/2/agent"), "the agent gave no answer: Ended");
    assert_eq!(told("a/3/agent"), "the answer is empty");
}

#[test]
fn a_retry_of_a_stage_leaves_those_beside_it_alone() {
    let trouble = EffectOutcome::Trouble(EffectError { message: "full".to_owned(), retry: Retry::Never });
    let mut world = SimulatedOrder::with(&pipeline(
        "  - { name: a, agent: developer }\n  - { name: b, agent: developer }\n  - { name: c, agent: developer, depends_on: [a, b] }\n",
    ))
    .when("a/1/agent", vec![trouble]);
    world.settle();
    world.say("/retry look again");
    assert!(matches!(world.settle(), OrderEnding::Unverified { .. }));
    assert_eq!((world.made("a/1/agent"), world.made("b/1/agent"), world.made("c/1/agent")), (2, 1, 1));
    assert_eq!(world.advice("a/1/agent").as_deref(), Some("look again"));
    assert_eq!(world.advice("c/1/agent"), None, "told to a");
}

#[test]
fn a_review_without_commits_of_its_own_judges_what_is_there_again() {
    let yaml = published(
        "  - { name: review, agent: developer, begins_with: checks, checks: [verifier], verifier: code_reviewer, escalate_on_exhaust: human_approval, depends_on: [implement] }\n",
    );
    let mut world = SimulatedOrder::with(&yaml)
        .when("review/1/verify-1", vec![objects(&["a"])])
        .when("review/2/verify-1", vec![objects(&["b"])]);
    assert!(
        matches!(world.settle(), OrderEnding::Escalated { .. }),
        "an answer in words is no answer to a finding"
    );
    assert_eq!((world.made("review/2/verify-1"), world.made("review/3")), (1, 0));
}

#[test]
fn a_judge_of_an_earlier_commit_does_not_bring_it_back() {
    // `look` comes after `review` in the file, and judges the commit before it.
    let yaml = pipeline(&format!(
        "{IMPLEMENT}  - {{ name: publish, uses: publish, agent: developer, depends_on: [implement] }}
  - {{ name: review, agent: developer, begins_with: checks, checks: [pushed_commit, tests, verifier], verifier: code_reviewer, depends_on: [publish] }}
  - {{ name: look, agent: developer, begins_with: checks, checks: [verifier], verifier: code_reviewer, depends_on: [implement] }}
  - {{ name: ready, uses: ready, depends_on: [review, look] }}\n"
    ));
    let mut world = SimulatedOrder::with(&yaml).when("review/1/verify-1", vec![objects(&["a"])]);
    assert_eq!(world.settle(), OrderEnding::Verified { pull: Some(PullNumber(8)) });
    let trace = world.projection().trace;
    assert_eq!(trace.work.map(|work| work.commit), Some(world.commit("review/2")));
    assert_eq!(trace.pushed, Some(world.commit("review/2")));
}

#[test]
fn a_second_writer_that_pushes_nothing_has_not_pushed_the_firsts_commit() {
    let yaml = pipeline(&format!(
        "{IMPLEMENT}  - {{ name: polish, agent: developer, checks: [pushed_commit, tests], depends_on: [implement] }}\n"
    ));
    let same = || imported(7, Some("Fix the sum"));
    let mut world = SimulatedOrder::with(&yaml)
        .when("implement/1/import", vec![same()])
        .when("polish/1/import", vec![same()])
        .when("polish/2/import", vec![nothing()])
        .when("polish/3/import", vec![same()]);
    let settled = world.settle();
    assert!(
        matches!(&settled, OrderEnding::Blocked { because } if because.contains("still at")),
        "{settled:?}"
    );
    assert_eq!(world.made("polish/4"), 0);
}

#[test]
fn a_round_that_was_made_before_the_pull_request_is_not_put_on_it() {
    // The review and the pull request do not wait for each other, and a comment stops neither, whichever is faster.
    let yaml = pipeline(&format!(
        "{}  - {{ name: publish, uses: publish, agent: developer, depends_on: [implement] }}
  - {{ name: look, agent: developer, begins_with: checks, checks: [verifier], verifier: code_reviewer, depends_on: [implement] }}\n",
        IMPLEMENT
    ));
    let mut world = SimulatedOrder::with(&yaml).when("look/1/verify-1", vec![objects(&["a"])]);
    while world.state("implement") != Some(StageState::Passed) {
        world.step();
    }
    world.begin_all();
    world.finish("look/1/verify-1");
    world.begin_all();
    assert!(names(&world).contains(&"look/2/agent"), "{:?}", names(&world));
    for _ in 0..6 {
        let Some(key) = names(&world).into_iter().find(|key| key.starts_with("publish/")).map(str::to_owned)
        else {
            break;
        };
        world.finish(&key);
        world.begin_all();
        assert!(names(&world).contains(&"look/2/agent"), "stopped by {key}: {:?}", names(&world));
    }
    assert_eq!((world.made("publish/pull"), world.made("look/1/comment")), (1, 0));
}

#[test]
fn what_a_reader_is_told_does_not_depend_on_who_is_quicker() {
    let yaml = pipeline(
        "  - { name: branch, uses: branch, agent: developer, command: generate_branch }\n  - { name: reader, agent: developer }\n",
    );
    let asked = |branch_first: bool| {
        let mut world = prepared(SimulatedOrder::with(&yaml));
        if branch_first {
            world.finish("branch/1/agent");
        }
        let moves = world.projection().next.moves;
        match moves.into_iter().find(|(key, _)| key.0 == "reader/1/agent") {
            Some((_, Move::RunAgent(task))) => AgentTask { timeout_seconds: 0, ..task },
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(asked(true), asked(false));
}

#[test]
fn a_service_that_says_when_is_obeyed_beside_others_that_go_on() {
    let failure = AgentFailure {
        retry_after_seconds: Some(600),
        ..AgentFailure::new(AgentFailureKind::Unavailable, "come back later")
    };
    let busy = EffectOutcome::AgentRan(Box::new(AgentRun { failure: Some(failure), ..AgentRun::default() }));
    let mut world = prepared(SimulatedOrder::with(&pipeline(
        "  - { name: a, agent: developer }\n  - { name: b, agent: developer }\n  - { name: c, agent: developer, depends_on: [b] }\n",
    )))
    .when("a/1/agent", vec![busy]);
    world.finish("a/1/agent");
    world.begin_all();
    assert_eq!(names(&world), ["b/1/agent"]);
    assert!(world.projection().next.wake_at.is_some());
    let settled = world.settle_choosing(|_| 0);
    assert!(matches!(settled, OrderEnding::Unverified { .. }));
    assert!(
        world.made.iter().position(|key| key == "c/1/agent")
            < world.made.iter().rposition(|key| key == "a/1/agent")
    );
}
