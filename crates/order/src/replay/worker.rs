//! A worker as the loop sees it: who runs, with what, where, and under which limits.

use std::collections::BTreeMap;

use super::judge::RoundCheck;
use super::variables::{Variables, substitute};
use super::{Replay, Suspension};
use crate::ids::{BranchName, CommitSha};
use crate::moves::{AgentAnswerFormat, AgentTask, AgentTaskWorkspace, MoveKey};
use crate::pipeline::{
    Escalation, FeedbackMode, MOST_RUNS, RetryPolicy, Seconds, Stage, StageKind, StageOutput, StageStart,
};
use crate::settlement::Settlement;
use crate::task::{TaskAttachment, TaskComments};

/// How often whoever bends the tests may go on.
const MOST_TAMPERINGS: u32 = 2;

/// The template of a stage that names none.
const DEFAULT_COMMAND: &str = "work";

#[derive(Clone)]
pub(crate) struct Worker {
    /// The name of the stage or operation, for the agent's environment and its prompt.
    pub(crate) name: String,
    /// What the names of its effects begin with.
    pub(crate) prefix: String,
    pub(crate) role: String,
    pub(crate) agent: String,
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) inputs: BTreeMap<String, String>,
    pub(crate) comments: TaskComments,
    pub(crate) attachments: Vec<TaskAttachment>,
    pub(crate) branch: Option<BranchName>,
    /// What its work tree begins with, where that is not the base.
    pub(crate) start: Option<CommitSha>,
    pub(crate) place: AgentTaskWorkspace,
    pub(crate) answers: AgentAnswerFormat,
    pub(crate) schema: Option<serde_json::Value>,
    /// The session that its first run goes on with.
    pub(crate) session: Option<String>,
    /// The run whose answer its first run goes on from.
    pub(crate) previous: Option<MoveKey>,
    pub(crate) begins_with: StageStart,
    /// Whether its first round is told what was advised when the order was asked for.
    pub(crate) hears_the_request: bool,
    /// Whether what it makes is the plan, which a person can want anew.
    pub(crate) plans: bool,
    pub(crate) mode: FeedbackMode,
    pub(crate) escalation: Escalation,
    pub(crate) adversarial_rounds: u32,
    /// How often it may run in one set of rounds, whichever check sends it back.
    pub(crate) most_runs: u32,
    pub(crate) retry_count: u32,
    pub(crate) retry_policy: RetryPolicy,
    pub(crate) timeout: Option<Seconds>,
    /// The stage whose budget it works on, and how many dollars that is.
    pub(crate) budget: Option<(String, f64)>,
}

impl Worker {
    pub(crate) fn key(&self, round: u32, kind: &str) -> MoveKey {
        MoveKey::within(&self.prefix, format_args!("{round}/{kind}"))
    }

    /// How often a check may fail before the stage is escalated.
    pub(crate) fn limit(&self, judge: RoundCheck) -> u32 {
        match judge {
            RoundCheck::Output
            | RoundCheck::PushedCommit
            | RoundCheck::Policy
            | RoundCheck::Tests
            | RoundCheck::Statements
            | RoundCheck::Push => MOST_RUNS,
            RoundCheck::Tampering => MOST_TAMPERINGS,
            // It is asked for once, and then the work goes on without.
            RoundCheck::Proof => MOST_RUNS,
            RoundCheck::Verifier => self.adversarial_rounds,
            // As often as they ask for it, within the budget.
            RoundCheck::Person => u32::MAX,
        }
    }

    /// What it is to do, but for what differs from round to round.
    pub(crate) fn task(&self) -> AgentTask {
        AgentTask {
            stage: self.name.clone(),
            role: self.role.clone(),
            agent: self.agent.clone(),
            command: self.command.clone(),
            arguments: self.arguments.clone(),
            inputs: self.inputs.clone(),
            comments: self.comments.clone(),
            attachments: self.attachments.clone(),
            branch: self.branch.clone(),
            start: self.start.clone(),
            place: self.place.clone(),
            answers: self.answers,
            schema: self.schema.clone(),
            ..AgentTask::default()
        }
    }

    /// A small question within a stage's round, to the same agent: nobody is asked when it fails.
    pub(crate) fn asks(&self, name: &str, prefix: String, command: &str, arguments: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            prefix,
            command: command.to_owned(),
            arguments,
            inputs: BTreeMap::new(),
            comments: TaskComments::default(),
            attachments: Vec::new(),
            answers: AgentAnswerFormat::Freely,
            schema: None,
            session: None,
            previous: None,
            begins_with: StageStart::Worker,
            hears_the_request: false,
            plans: false,
            most_runs: u32::MAX,
            escalation: Escalation::None,
            ..self.clone()
        }
    }

    /// The same question put to another role, which looks at a commit and may change nothing.
    pub(crate) fn asks_role(
        &self,
        (role, agent): (&str, String),
        command: &str,
        arguments: Vec<String>,
        (place, schema): (AgentTaskWorkspace, serde_json::Value),
    ) -> Self {
        let (inputs, comments) = (self.inputs.clone(), self.comments.clone());
        let attachments = self.attachments.clone();
        Self {
            role: role.to_owned(),
            agent,
            inputs,
            comments,
            attachments,
            place,
            schema: Some(schema),
            branch: None,
            start: None,
            ..self.asks(&self.name, self.prefix.clone(), command, arguments)
        }
    }
}

impl Replay<'_> {
    pub(crate) fn agent_for(&self, role: &str) -> String {
        self.journal.agent_for(role, &self.trace.request, &self.settings)
    }

    /// What a stage's worker has to answer: as the stage says, or its role, or any text.
    pub(crate) fn output(&self, stage: &Stage) -> StageOutput {
        let role = || stage.agent.as_deref().and_then(|role| self.journal.role(role));
        let of_role = || role().and_then(|role| role.output_schema.clone()).map(StageOutput::JsonSchema);
        stage.output.clone().or_else(of_role).unwrap_or_default()
    }

    /// A text of the pipeline, filled in with what this stage may see.
    pub(crate) fn fill(
        &self,
        stage: &Stage,
        text: &str,
        variables: &Variables,
    ) -> Result<String, Suspension> {
        substitute(text, variables).map_err(|unknown| {
            let because = format!("stage {}: {unknown}", stage.name);
            Suspension::Settled(Settlement::Failed { because })
        })
    }

    /// Whether a stage plans or writes, so that advice is for it.
    fn makes_something(&self, stage: &Stage) -> bool {
        stage.uses == StageKind::Agent
            && (stage.writes_tree() || matches!(self.output(stage), StageOutput::File(_)))
    }

    pub(crate) fn worker(&self, stage: &Stage, prefix: &str) -> Result<Worker, Suspension> {
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
        let (answers, schema) = match self.output(stage) {
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
            name: stage.name.clone(),
            prefix: prefix.to_owned(),
            agent: self.agent_for(&role),
            role,
            command: command.trim().trim_start_matches('/').to_owned(),
            arguments,
            inputs,
            comments: self.task.comments.clone(),
            attachments: self.task.attachments.clone(),
            // Whoever only reads needs none, and what it is named meanwhile is nothing to them.
            branch: self.trace.branch.clone().filter(|_| stage.writes_tree()),
            start: None,
            place,
            answers,
            schema,
            session: None,
            previous: None,
            begins_with: stage.begins_with,
            plans: prefix == stage.name && matches!(self.output(stage), StageOutput::File(_)),
            hears_the_request: prefix == stage.name && self.makes_something(stage),
            mode: stage.feedback_mode,
            escalation: stage.escalate_on_exhaust.clone(),
            adversarial_rounds: stage.max_adversarial_rounds,
            // Whole files are asked for three times.
            most_runs: match answers {
                AgentAnswerFormat::CodeArtifact if !self.is_of_form_3() => MOST_RUNS,
                AgentAnswerFormat::CodeArtifact | AgentAnswerFormat::Freely => u32::MAX,
            },
            retry_count: stage.retry_count,
            retry_policy: stage.retry_policy,
            timeout: stage.timeout,
            budget: stage.budget.map(|usd| (stage.name.clone(), usd)),
        })
    }
}
