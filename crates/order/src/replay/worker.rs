//! A worker as the loop sees it: who runs, with what, where, and under which limits.

use std::collections::BTreeMap;

use super::judge::RoundCheck;
use super::{Replay, Suspension};
use crate::moves::{AgentAnswerFormat, AgentTask, AgentTaskWorkspace, MoveKey};
use crate::pipeline::{Escalation, MOST_RUNS, Stage, StageKind, StageOutput, StageStart};
use crate::settlement::Settlement;

/// How often a worker may weaken the tests before a person must look.
const MOST_TAMPERINGS: u32 = 2;

/// The template if a stage names none.
const DEFAULT_COMMAND: &str = "work";

pub(crate) struct Worker<'s> {
    pub(crate) stage: &'s Stage,
    /// The prefix of its effects' keys.
    pub(crate) prefix: String,
    /// The task of its first run. Later runs differ only in what changes by round.
    pub(crate) task: AgentTask,
    pub(crate) begins_with: StageStart,
    /// Whether its first round gets the advice from the request for the order.
    pub(crate) hears_the_request: bool,
    /// Whether it makes the plan, which a person can have rewritten.
    pub(crate) plans: bool,
    pub(crate) escalation: Escalation,
    /// The most runs in one set of rounds, whichever check sends it back.
    pub(crate) most_runs: u32,
}

impl Worker<'_> {
    pub(crate) fn key(&self, round: u32, kind: &str) -> MoveKey {
        MoveKey::within(&self.prefix, format_args!("{round}/{kind}"))
    }

    /// How often a check may fail before the stage escalates.
    pub(crate) fn limit(&self, judge: RoundCheck) -> u32 {
        match judge {
            RoundCheck::Output
            | RoundCheck::PushedCommit
            | RoundCheck::Policy
            | RoundCheck::Tests
            | RoundCheck::Statements
            | RoundCheck::Push => MOST_RUNS,
            RoundCheck::Tampering => MOST_TAMPERINGS,
            // Asked for once; then the work continues without it.
            RoundCheck::Proof => MOST_RUNS,
            RoundCheck::Verifier => self.stage.max_adversarial_rounds,
            // As often as people ask, within the budget.
            RoundCheck::Person => u32::MAX,
        }
    }

    /// A small question to the same agent within a round. A failure does not escalate.
    pub(crate) fn asks(&self, name: &str, prefix: String, command: &str, arguments: Vec<String>) -> Self {
        Self {
            stage: self.stage,
            prefix,
            task: AgentTask {
                stage: name.to_owned(),
                role: self.task.role.clone(),
                agent: self.task.agent.clone(),
                command: command.to_owned(),
                arguments,
                branch: self.task.branch.clone(),
                start: self.task.start.clone(),
                place: self.task.place.clone(),
                ..AgentTask::default()
            },
            begins_with: StageStart::Worker,
            hears_the_request: false,
            plans: false,
            most_runs: u32::MAX,
            escalation: Escalation::None,
        }
    }

    /// The same question to another role, which reads a commit and may change nothing.
    pub(crate) fn asks_role(
        &self,
        (role, agent): (&str, String),
        command: &str,
        arguments: Vec<String>,
        (place, schema): (AgentTaskWorkspace, serde_json::Value),
    ) -> Self {
        let asked = self.asks(&self.task.stage, self.prefix.clone(), command, arguments);
        let task = AgentTask {
            role: role.to_owned(),
            agent,
            inputs: self.task.inputs.clone(),
            comments: self.task.comments.clone(),
            attachments: self.task.attachments.clone(),
            place,
            schema: Some(schema),
            branch: None,
            start: None,
            ..asked.task
        };
        Self { task, ..asked }
    }
}

impl Replay<'_> {
    pub(crate) fn agent_for(&self, role: &str) -> String {
        self.journal.agent_for(role, &self.trace.request, &self.settings)
    }

    /// The form of answer that the stage requires, or its role, or else any text.
    pub(crate) fn output(&self, stage: &Stage) -> StageOutput {
        let role = || stage.agent.as_deref().and_then(|role| self.journal.role(role));
        let of_role = || role().and_then(|role| role.output_schema.clone()).map(StageOutput::JsonSchema);
        stage.output.clone().or_else(of_role).unwrap_or_default()
    }

    /// Fills in a text of the pipeline with the variables of this stage.
    pub(crate) fn fill(
        &self,
        stage: &Stage,
        text: &str,
        variables: &Variables,
    ) -> Result<String, Settlement> {
        substitute(text, variables)
            .map_err(|unknown| Settlement::Failed { because: format!("stage {}: {unknown}", stage.name) })
    }

    pub(crate) fn worker<'s>(&self, stage: &'s Stage, prefix: &str) -> Result<Worker<'s>, Suspension> {
        let mut variables = self.visible_to(stage);
        let mut inputs = BTreeMap::new();
        for (name, text) in &stage.inputs {
            inputs.insert(name.clone(), self.fill(stage, text, &variables)?);
        }
        variables.extend(inputs.iter().map(|(name, value)| (format!("inputs.{name}"), value.clone())));
        let command = self.fill(stage, stage.command.as_deref().unwrap_or(DEFAULT_COMMAND), &variables)?;
        let arguments = stage
            .arguments
            .iter()
            .map(|text| self.fill(stage, text, &variables))
            .collect::<Result<_, _>>()?;
        let role = stage.agent.clone().unwrap_or_default();
        let is_continued = self.journal.opened().continued().is_some();
        let output = self.output(stage);
        let plans = matches!(output, StageOutput::File(_));
        let (answers, schema) = match output {
            StageOutput::CodeArtifact => (AgentAnswerFormat::CodeArtifact, Some(crate::artifact::schema())),
            StageOutput::JsonSchema(schema) => (AgentAnswerFormat::Freely, Some(schema)),
            StageOutput::Text | StageOutput::OneOf(_) | StageOutput::File(_) => {
                (AgentAnswerFormat::Freely, None)
            }
        };
        let place = match self.head_for(stage) {
            Some(commit) if !stage.writes_tree() => AgentTaskWorkspace::Checkout { commit },
            Some(_) | None => AgentTaskWorkspace::Workspace,
        };
        Ok(Worker {
            stage,
            prefix: prefix.to_owned(),
            task: AgentTask {
                stage: stage.name.clone(),
                agent: self.agent_for(&role),
                role,
                command: command.trim().trim_start_matches('/').to_owned(),
                arguments,
                inputs,
                comments: self.task.comments.clone(),
                attachments: self.task.attachments.clone(),
                // A read-only stage needs no branch, and must not depend on when it is named.
                branch: self.trace.branch.clone().filter(|_| stage.writes_tree()),
                start: self.start().filter(|_| stage.writes_tree() && is_continued),
                place,
                answers,
                schema,
                ..AgentTask::default()
            },
            begins_with: stage.begins_with,
            plans: prefix == stage.name && plans,
            // Advice is for stages that plan or write.
            hears_the_request: prefix == stage.name
                && stage.uses == StageKind::Agent
                && (stage.writes_tree() || plans),
            escalation: stage.escalate_on_exhaust.clone(),
            // Whole files are requested at most three times.
            most_runs: match answers {
                AgentAnswerFormat::CodeArtifact => MOST_RUNS,
                AgentAnswerFormat::Freely => u32::MAX,
            },
        })
    }
}

/// Values by name, such as `plan.content`.
pub(crate) type Variables = BTreeMap<String, String>;

/// Fills in each `{{stage.field}}` of a pipeline text. An unknown name is an error. It is one pass: inserted text is
/// never read again.
fn substitute(text: &str, variables: &Variables) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, (name, behind))) =
        rest.split_once("{{").and_then(|(before, after)| Some((before, after.split_once("}}")?)))
    {
        let name = name.trim();
        let Some(value) = variables.get(name).or_else(|| variables.get(&all_of(name))) else {
            let known: Vec<&str> = variables.keys().map(String::as_str).collect();
            return Err(format!("{{{{{name}}}}} stands for nothing here; known are {}", known.join(", ")));
        };
        filled.extend([before, value.as_str()]);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The wildcard for every field of a stage that has no result.
pub(crate) fn all_of(name: &str) -> String {
    format!("{}.*", name.split('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filled_in_is_not_read_again() {
        let variables = Variables::from([
            ("issue.title".to_owned(), "{{plan.content}} }} {{".to_owned()),
            ("plan.content".to_owned(), "secret".to_owned()),
        ]);
        for (text, filled) in [
            ("{{issue.title}}", "{{plan.content}} }} {{"),
            ("a {{ plan.content }} b {{plan.content}}", "a secret b secret"),
            ("no end {{plan.content", "no end {{plan.content"),
            ("", ""),
        ] {
            assert_eq!(substitute(text, &variables).as_deref(), Ok(filled), "{text:?}");
        }
        let unknown = substitute("{{plan.file}}", &variables).unwrap_err();
        assert_eq!(unknown, "{{plan.file}} stands for nothing here; known are issue.title, plan.content");
    }
}
