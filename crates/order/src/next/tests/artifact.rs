//! A worker without tools, whose answer is a code artifact.

use super::world::{OrderEnding, SimulatedOrder, nothing, objects, red, said};
use crate::PullNumber;
use crate::moves::{AgentAnswerFormat, MoveKey};
use crate::next::*;
use crate::trace::StageState;

const TEAM: &str = "
name: team
version: 1
stages:
  - { name: analyst, agent: business_analyst }
  - name: engineer
    agent: software_engineer
    inputs: { stories: '{{analyst.result}}' }
    output: code_artifact
    checks: [pushed_commit, policy, tests]
    escalate_on_exhaust: human_approval
    depends_on: [analyst]
  - { name: publish, uses: publish, agent: developer, command: create_pull_request, depends_on: [engineer] }
  - name: lead
    agent: software_engineer
    inputs: { stories: '{{analyst.result}}' }
    output: code_artifact
    begins_with: checks
    checks: [pushed_commit, policy, tests, verifier]
    verifier: tech_lead
    escalate_on_exhaust: human_approval
    depends_on: [publish]
  - { name: ready, uses: ready, depends_on: [lead] }
  - { name: notes, agent: archiver, arguments: ['{{engineer.artifact_id}} {{engineer.stories_covered}}'], depends_on: [engineer] }
";

/// Whole files that cover these stories, and the model's own claims.
fn artifact(stories: &[&str]) -> EffectOutcome {
    said(
        &serde_json::json!({
            "artifact_id": "CODE-001", "attempt_number": 9,
            "test_result": {"passed": true, "total_tests": 99},
            "stories_covered": ["US-099"],
            "files": [{"file_path": "src/sum.py", "file_type": "implementation", "content": "def add(a, b):\n    return a + b\n",
                "description": "sums", "story_ids": stories}],
        })
        .to_string(),
    )
}

fn team() -> SimulatedOrder {
    SimulatedOrder::with(TEAM).when("analyst/1/agent", vec![said(r#"[{"id": "US-001"}, {"id": "US-002"}]"#)])
}

/// The same artifact with another id.
fn renamed(artifact: EffectOutcome) -> EffectOutcome {
    let EffectOutcome::AgentRan(mut run) = artifact else { panic!("an answer") };
    run.result = run.result.map(|text| text.replace("CODE-001", "CODE-002"));
    EffectOutcome::AgentRan(run)
}

fn whole() -> EffectOutcome {
    artifact(&["US-001", "US-002"])
}

const VERIFIED: OrderEnding = OrderEnding::Verified { pull: Some(PullNumber(8)) };

#[test]
fn its_files_are_written_and_go_through_the_same_checks() {
    let mut world = team().when("engineer/1/agent", vec![whole()]);
    assert_eq!(world.settle(), VERIFIED);
    let asked = world.task("engineer/1/agent").unwrap();
    assert_eq!(
        (asked.answers, asked.schema.is_some(), asked.previous),
        (AgentAnswerFormat::CodeArtifact, true, None)
    );
    let place = |key: &str| world.made.iter().position(|made| made == key).unwrap_or_else(|| panic!("{key}"));
    let order = ["engineer/1/agent", "engineer/1/write", "engineer/1/import", "engineer/1/tests"].map(place);
    assert!(order.is_sorted(), "{order:?}");
    let told = world.task("notes/1/agent").unwrap().arguments;
    assert_eq!(told, ["CODE-001 US-001\nUS-002"], "computed by us, whatever it claims");
}

#[test]
fn what_does_not_parse_is_a_round_with_the_fault_as_feedback_and_nothing_is_written() {
    let mut world = team()
        .when("engineer/1/agent", vec![said(r#"{"artifact_id": "CODE-1"#)])
        .when("engineer/2/agent", vec![whole()]);
    assert_eq!(world.settle(), VERIFIED);
    assert_eq!((world.made("engineer/1/write"), world.made("engineer/1/import")), (0, 0));
    let again = world.task("engineer/2/agent").unwrap();
    assert_eq!(again.previous, Some(MoveKey("engineer/1/agent".to_owned())), "it has no memory of its own");
    let rework = again.rework.unwrap();
    assert_eq!((rework.attempt, rework.of), (2, 3));
    assert!(rework.feedback[0].summary.contains("no JSON object"), "{rework:?}");
}

#[test]
fn whole_files_are_asked_for_three_times_whichever_check_fails_and_the_record_counts_them() {
    let mut world = team()
        .when("engineer/1/agent", vec![said("{")])
        .when("engineer/2/agent", vec![whole()])
        .when("engineer/3/agent", vec![whole()])
        .when("engineer/4/agent", vec![whole()])
        .when("engineer/2/import", vec![nothing()])
        .when("engineer/3/tests", vec![red(1, 2)]);
    let ended = world.settle();
    assert_eq!(world.made("engineer/4/agent"), 0, "{ended:?}");
    let asked = (2..=3).map(|round| world.task(&format!("engineer/{round}/agent")).unwrap().rework.unwrap());
    let attempts: Vec<(u32, u32)> = asked.map(|rework| (rework.attempt, rework.of)).collect();
    assert_eq!(attempts, [(2, 3), (3, 3)]);
    let OrderEnding::Escalated { because, .. } = &ended else { panic!("{ended:?}") };
    assert!(because.contains("all 3 attempts are used up"), "{because}");

    world.say("/retry");
    world.settle();
    let numbers: Vec<u32> = crate::steps::steps(&world.journal)
        .into_iter()
        .filter_map(|step| step.code_artifact)
        .map(|artifact| artifact.attempt_number)
        .collect();
    assert_eq!(numbers, [2, 3, 1], "after /retry they are counted from 1 again");
}

#[test]
fn a_story_that_no_file_covers_is_feedback() {
    let mut world =
        team().when("engineer/1/agent", vec![artifact(&["US-001"])]).when("engineer/2/agent", vec![whole()]);
    assert_eq!(world.settle(), VERIFIED);
    let rework = world.task("engineer/2/agent").unwrap().rework.unwrap();
    assert_eq!(rework.feedback[0].summary, "no file covers US-002");
}

#[test]
fn what_the_model_says_of_its_tests_is_not_believed() {
    let mut world = team()
        .when("engineer/1/agent", vec![whole()])
        .when("engineer/2/agent", vec![whole()])
        .when("engineer/1/tests", vec![red(1, 2)]);
    assert_eq!(world.settle(), VERIFIED);
    let again = world.task("engineer/2/agent").unwrap();
    assert_eq!(again.rework.unwrap().failing_tests, ["test_0", "test_1"]);
    assert_eq!(again.previous, Some(MoveKey("engineer/1/agent".to_owned())));
}

#[test]
fn three_answers_that_are_none_end_it_and_the_same_one_ends_it_sooner() {
    let mut world = team()
        .when("engineer/1/agent", vec![said("{")])
        .when("engineer/2/agent", vec![said(r#"{"files": []}"#)])
        .when("engineer/3/agent", vec![artifact(&["US-002"])]);
    assert!(matches!(world.settle(), OrderEnding::Blocked { because } if because.contains("tried 3 times")));
    assert_eq!((world.made("engineer/4"), world.pushes().len()), (0, 0));
    assert_eq!(world.state("engineer"), Some(StageState::Failed));

    let mut world =
        team().when("engineer/1/agent", vec![said("{")]).when("engineer/2/agent", vec![said("{")]);
    assert!(
        matches!(world.settle(), OrderEnding::Blocked { because } if because.contains("in the same way"))
    );
    assert_eq!(world.made("engineer/3"), 0);
}

#[test]
fn the_leads_review_of_a_clean_submission_goes_on_from_the_engineers_artifact() {
    let mut world = team()
        .when("engineer/1/agent", vec![whole()])
        .when("lead/1/verify-1", vec![objects(&["a name"])])
        .when("lead/2/agent", vec![whole()]);
    assert_eq!(world.settle(), VERIFIED);
    let again = world.task("lead/2/agent").unwrap();
    assert_eq!(
        again.previous,
        Some(MoveKey("engineer/1/agent".to_owned())),
        "all files again, under the same id"
    );
    assert_eq!((world.made("lead/1/agent"), world.made("lead/2/write")), (0, 1));
}

#[test]
fn an_artifact_keeps_its_id_over_the_rounds() {
    let mut world = team()
        .when("engineer/1/agent", vec![whole()])
        .when("engineer/1/tests", vec![red(1, 2)])
        .when("engineer/2/agent", vec![renamed(whole())])
        .when("engineer/3/agent", vec![whole()])
        .when("lead/1/verify-1", vec![objects(&["a name"])])
        .when("lead/2/agent", vec![renamed(whole())])
        .when("lead/3/agent", vec![whole()]);
    assert_eq!(world.settle(), VERIFIED);
    let first = world.task("engineer/1/agent").unwrap();
    assert_eq!(first.artifact.unwrap().keeps, None, "any id will do");
    let second = world.task("engineer/2/agent").unwrap();
    assert_eq!(second.artifact.unwrap().keeps.as_deref(), Some("CODE-001"));
    assert_eq!(
        second.schema.unwrap()["properties"]["artifact_id"]["enum"][0],
        "CODE-001",
        "and it is told so"
    );
    assert_eq!((world.made("engineer/2/write"), world.made("lead/2/write")), (0, 0), "nothing is written");
    for round in ["engineer/3/agent", "lead/3/agent"] {
        let rework = world.task(round).unwrap().rework.unwrap();
        let said = &rework.feedback[0].summary;
        assert_eq!(said, "/artifact_id: is CODE-002, and was CODE-001 in the attempt before");
        assert_eq!(world.task(round).unwrap().artifact.unwrap().keeps.as_deref(), Some("CODE-001"));
    }
}

#[test]
fn test_cases_with_an_id_of_their_own_are_covered_as_well() {
    let yaml = TEAM.replacen(
        "inputs: { stories:",
        "inputs: { test_cases: '[{\"test_id\": \"TC-007\"}]', stories:",
        1,
    );
    let mut world = SimulatedOrder::with(&yaml)
        .when("analyst/1/agent", vec![said(r#"[{"id": "US-001"}]"#)])
        .when("engineer/1/agent", vec![artifact(&["US-001"])])
        .when("engineer/2/agent", vec![artifact(&["US-001", "TC-007"])]);
    assert_eq!(world.settle(), VERIFIED);
    let rework = world.task("engineer/2/agent").unwrap().rework.unwrap();
    assert_eq!(rework.feedback[0].summary, "no file covers TC-007");
}

/// In an older journal, an answer that passed then passes now.
#[test]
fn an_order_from_before_artifacts_were_held_to_an_id_replays_as_it_was() {
    let mut world = team()
        .when("engineer/1/agent", vec![whole()])
        .when("engineer/1/tests", vec![red(1, 2)])
        .when("engineer/2/agent", vec![whole()]);
    assert_eq!(world.settle(), VERIFIED);
    let entries = world.journal.entries().iter().map(|entry| {
        let text = serde_json::to_string(entry).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let key =
            value.pointer("/event/key").or(value.get("key")).and_then(|key| key.as_str()).unwrap_or_default();
        let is_second = key == "engineer/2/agent";
        if is_second {
            value = serde_json::from_str(&text.replace("CODE-001", "CODE-002")).unwrap();
        }
        without_rules(&mut value);
        serde_json::from_value(value).unwrap()
    });
    world.journal = Journal::new(entries.collect()).unwrap();
    let old = world.task("engineer/2/agent").unwrap();
    assert_eq!(old.artifact, None);
    assert_eq!(OrderEnding::of(&world.projection()), Some(VERIFIED));
}

/// Removes the fields that older journals do not have.
fn without_rules(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => {
            if fields.get("answers").is_some() {
                fields.remove("artifact");
            }
            fields.values_mut().for_each(without_rules);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_rules),
        _ => {}
    }
}
