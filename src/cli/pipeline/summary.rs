//! Summarizes a pipeline in a paragraph.

use std::collections::BTreeSet;

use crate::order::Pipeline;
use crate::order::pipeline::{Escalation, Stage, StageKind};

/// The stages, who works, and who is asked when rounds run out.
pub(super) fn paragraph(pipeline: &Pipeline) -> String {
    let stages = &pipeline.stages;
    let roles: BTreeSet<&str> = stages
        .iter()
        .flat_map(|stage| stage.agent.iter().chain(stage.verifier.roles()))
        .map(String::as_str)
        .collect();
    let asked = asked(pipeline);
    let told = if asked.is_empty() {
        "When the rounds are used up, nobody is asked: the stage fails with its history.".to_owned()
    } else {
        format!("When the rounds are used up: {}.", asked.join("; "))
    };
    let publishes = stages.iter().any(|stage| stage.uses == StageKind::Publish);
    let published = if publishes {
        ""
    } else {
        " Nothing will be published: no stage has `uses: publish`. The results are posted as a comment on the issue."
    };
    format!(
        "{} {}: {}, {} ({}). {told}{published}",
        pipeline.name,
        pipeline.version,
        counted(stages.len(), "stage"),
        counted(roles.len(), "role"),
        if roles.is_empty() {
            "no agent works".to_owned()
        } else {
            roles.into_iter().collect::<Vec<_>>().join(", ")
        },
    )
}

fn asked(pipeline: &Pipeline) -> Vec<String> {
    let by = |stage: &Stage| match &stage.escalate_on_exhaust {
        Escalation::None => None,
        Escalation::HumanApproval => Some(format!("{} asks a person", stage.name)),
        Escalation::Agent(role) => Some(format!("{} asks {role}, then a person", stage.name)),
    };
    pipeline.stages.iter().filter_map(by).collect()
}

fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
