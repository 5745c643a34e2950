//! Checks the built-in pipelines against the built-in roles and templates.

use super::role_tests::shipped;
use super::*;
use journeyman_order::Pipeline;
use journeyman_order::pipeline::{Escalation, Stage};

const PIPELINES: [(&str, &str, &[&str]); 4] = [
    (
        "issue-to-pr",
        include_str!("../../../templates/pipelines/issue-to-pr.yaml"),
        &["classify", "examine", "branch", "plan", "implement", "publish", "review", "ready"],
    ),
    (
        "coding-harness",
        include_str!("../../../templates/pipelines/coding-harness.yaml"),
        &["examine", "develop", "test", "publish", "review", "archive", "ready"],
    ),
    (
        "software-team",
        include_str!("../../../templates/pipelines/software-team.yaml"),
        &[
            "examine", "business_analyst", "quality_analyst", "technical_architect", "software_engineer",
            "publish", "tech_lead", "ready",
        ],
    ),
    ("fix", include_str!("../../../templates/pipelines/fix.yaml"), &["examine", "mend", "publish", "ready"]),
];

fn pipelines() -> impl Iterator<Item = Pipeline> {
    PIPELINES.iter().map(|(name, yaml, stages)| {
        let pipeline =
            Pipeline::parse_with(yaml, &shipped()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(&pipeline.name, name);
        let names: Vec<&str> = pipeline.stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(&names, stages, "{name}");
        pipeline
    })
}

fn commands(stage: &Stage) -> Vec<&str> {
    match stage.command.as_deref() {
        Some(command) if command.contains("{{") => vec!["feature", "bug", "chore"],
        Some(command) => vec![command],
        None => Vec::new(),
    }
}

#[test]
fn every_command_gets_the_arguments_that_it_asks_for() {
    for pipeline in pipelines() {
        for stage in &pipeline.stages {
            for command in commands(stage) {
                let template = built_in(command).unwrap_or_else(|| panic!("no template {command}"));
                let expanded = expand(&template, &stage.arguments);
                assert!(expanded.warnings.is_empty(), "{}: {command}", pipeline.name);
                for argument in &stage.arguments {
                    assert!(
                        expanded.text.contains(argument),
                        "{}: {command} leaves out {argument}",
                        pipeline.name
                    );
                }
                // Every input that a template mentions is given.
                for input in ["stories", "test_cases"] {
                    let asks = template.contains("stories that you are given") && input == "stories"
                        || command == "engineer";
                    assert!(
                        !asks || stage.inputs.contains_key(input),
                        "{}: {command} {input}",
                        pipeline.name
                    );
                }
            }
        }
    }
}

#[test]
fn who_judges_can_judge_and_who_is_asked_can_diagnose() {
    let roles = shipped();
    for pipeline in pipelines() {
        for stage in &pipeline.stages {
            let asked = match &stage.escalate_on_exhaust {
                Escalation::Agent(role) => Some(role),
                Escalation::None | Escalation::HumanApproval => None,
            };
            for role in stage.verifier.roles().iter().chain(asked) {
                assert!(roles[role].review_command.is_some(), "{}: {role}", stage.name);
                assert_ne!(stage.agent.as_ref(), Some(role), "nobody judges their own work");
            }
        }
    }
}
