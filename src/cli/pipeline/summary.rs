//! What a pipeline comes to, in a paragraph.

use std::collections::BTreeSet;

use crate::order::Pipeline;
use crate::order::pipeline::{Escalation, Stage};

/// Stages, who works, how much it may come to, and who is asked when rounds run out.
pub(super) fn paragraph(pipeline: &Pipeline) -> String {
    let stages = &pipeline.stages;
    let roles: BTreeSet<&str> = stages
        .iter()
        .flat_map(|stage| [&stage.agent, &stage.verifier])
        .flatten()
        .map(String::as_str)
        .collect();
    let asked = asked(pipeline);
    let told = if asked.is_empty() {
        "Nobody is asked when rounds run out: a stage then fails with its history.".to_owned()
    } else {
        format!("When rounds run out: {}.", asked.join("; "))
    };
    let (least, most) = (pipeline.least_runs(), pipeline.most_runs());
    format!(
        "{} {}: {}, {} ({}). An order takes {least} runs of agents when all goes well, at most {most} when all goes \
         wrong, and never more than its budget. {told}",
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
