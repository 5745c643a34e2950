//! The stages of an order: parsed from YAML, checked against the rules, then never modified.
//!
//! May know: roles, whose schemas give stages their fields.
//! Must never know: where the files come from. Strangers write them: parsing always ends soon, with a pipeline or with
//! what is wrong and where.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod condition;
mod fields;
#[cfg(test)]
mod form_tests;
mod graph;
mod parse;
mod problem;
mod references;
mod rules;
#[cfg(test)]
mod tests;
mod values;

pub use condition::Condition;
pub use problem::{InvalidPipeline, PipelineProblem};
pub use values::{PipelineVersion, Seconds, Verifiers};

/// Most stages in a pipeline.
pub const MOST_STAGES: usize = 50;
/// Most verifier rounds, and most retries of a run.
pub const MOST_ROUNDS: u32 = 10;

/// Most runs of a worker under one check, including the first.
pub const MOST_RUNS: u32 = 3;
/// How often to ask an agent whose answers are unusable.
pub(crate) const MOST_QUESTIONS: u32 = 2;

const LONGEST_RUN_SECONDS: u64 = 24 * 3_600;
const MOST_DOLLARS: f64 = 10_000.0;

/// A pipeline. Made by [`Pipeline::parse`]; its stages are known to have an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    pub name: String,
    pub version: PipelineVersion,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its stages; each stands after those it depends on.
    pub stages: Vec<Stage>,
}

/// A worker and its checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its name, unique in the pipeline, of `[a-z0-9_-]`.
    pub name: String,
    /// Stages that have to have passed before.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// What it does with the worker's result.
    #[serde(default)]
    pub uses: StageKind,
    /// The role of the agent that works here; none for a built-in that needs none.
    #[serde(default)]
    pub agent: Option<String>,
    /// The command template, with or without its slash; may be `{{stage.result}}`. None: the template `work`.
    #[serde(default)]
    pub command: Option<String>,
    /// Its arguments; `{{…}}` is filled in.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// What the worker is given besides, by name; `{{…}}` is filled in. Stands in the prompt as data.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// What the worker's result has to look like; none: as the role says, or any text.
    #[serde(default)]
    pub output: Option<StageOutput>,
    /// What judges it, in this order.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// Whether the worker begins, or the checks do, on what is there already.
    #[serde(default)]
    pub begins_with: StageStart,
    /// The roles that the check `verifier` asks, at the same time.
    #[serde(default)]
    pub verifier: Verifiers,
    /// How often the verifiers may fail the work before it is escalated; 0: the verifier is not asked.
    #[serde(default = "default_adversarial_rounds")]
    pub max_adversarial_rounds: u32,
    /// How the worker is told what was wrong.
    #[serde(default)]
    pub feedback_mode: FeedbackMode,
    /// Who is asked when a check runs out.
    #[serde(default)]
    pub escalate_on_exhaust: Escalation,
    /// How often a run is tried again because of what is around it; never a round.
    #[serde(default = "default_retries")]
    pub retry_count: u32,
    /// After which failures, and with what pauses.
    #[serde(default)]
    pub retry_policy: RetryPolicy,
    /// How long one run of the worker may take.
    #[serde(default)]
    pub timeout: Option<Seconds>,
    /// Dollars that all runs of this stage may cost together.
    #[serde(default)]
    pub budget: Option<f64>,
    /// The stage is passed over unless this holds.
    #[serde(default)]
    pub when: Option<Condition>,
}

fn default_adversarial_rounds() -> u32 {
    3
}

fn default_retries() -> u32 {
    5
}

/// What a stage does with its worker's result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// The result itself is the stage's output.
    #[default]
    Agent,
    /// The result is what an examiner says of issue and base, who sees nothing else. No other stage sees it, but for where
    /// issue, documentation and tests contradict one another.
    Examine,
    /// The result names the branch.
    Branch,
    /// No worker: the repository's tests are run on the work as it stands.
    Tests,
    /// No worker: the commit of somebody else's pull request is fetched and judged. Nothing is written.
    Verify,
    /// The result is the pull request's title and text; the branch is pushed and the pull request opened.
    Publish,
    /// No worker: the pull request's text is finished, and it is taken out of draft when all is verified.
    Ready,
    /// The result, the inputs and the change are kept as artifacts of the order.
    Archive,
}

/// What a worker's result has to look like.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StageOutput {
    #[default]
    Text,
    /// One of these, and only one of them, somewhere in the text.
    OneOf(Vec<String>),
    /// A file in the agent's work tree that matches this glob.
    File(String),
    /// JSON that this schema allows; its top-level properties are the stage's fields.
    JsonSchema(serde_json::Value),
    /// Whole files as one JSON artifact, which we write, commit and push for the agent.
    CodeArtifact,
}

/// What judges a worker's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A commit is in the agent's origin.
    PushedCommit,
    /// Its tree may leave: no protected path, nothing that the airlock refuses. Always part of `pushed_commit`;
    /// naming it says so.
    Policy,
    /// The repository's tests pass on it.
    Tests,
    /// A second agent has nothing to object, or each of several.
    Verifier,
}

/// What a stage begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageStart {
    /// The worker runs, then it is judged.
    #[default]
    Worker,
    /// What is there is judged; the worker runs when a check has something to say.
    Checks,
}

/// How a worker is told what was wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FeedbackMode {
    /// The list of findings, and the summary with an instruction.
    #[default]
    #[serde(rename = "structured+natural")]
    Both,
    /// The list of findings.
    #[serde(rename = "structured")]
    Structured,
    #[serde(rename = "natural")]
    Natural,
}

/// Who is asked when a check runs out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
pub enum Escalation {
    /// Nobody: the stage fails with its history.
    #[default]
    None,
    /// A person gets the best round as a draft.
    HumanApproval,
    /// An agent of this role diagnoses; its guidance grants one more set of rounds, or it flags to a person.
    Agent(String),
}

impl From<String> for Escalation {
    fn from(text: String) -> Self {
        match text.as_str() {
            "none" => Self::None,
            "human_approval" => Self::HumanApproval,
            _ => Self::Agent(text),
        }
    }
}

impl From<Escalation> for String {
    fn from(escalation: Escalation) -> Self {
        match escalation {
            Escalation::None => "none".to_owned(),
            Escalation::HumanApproval => "human_approval".to_owned(),
            Escalation::Agent(role) => role,
        }
    }
}

/// After which failures a run is tried again without counting as a round.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryPolicy {
    /// Also after a run that ended with an error of its own and no result; at once.
    Blind,
    /// Also after a run that ended with an error of its own and no result; with growing pauses.
    Exponential,
    /// Only when the runtime could not be reached or was overloaded; with growing pauses.
    #[default]
    InfrastructureOnly,
}

impl Pipeline {
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    pub fn examiner(&self) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.uses == StageKind::Examine)
    }

    /// Its stages that verify a given change, without agents: nobody examines the issue or reviews.
    pub fn without_agents(mut self) -> Self {
        self.stages.retain(|stage| stage.uses == StageKind::Verify);
        for stage in &mut self.stages {
            stage.depends_on.clear();
            stage.checks.retain(|check| *check != Check::Verifier);
            stage.verifier = Verifiers::default();
        }
        self
    }
}

impl Stage {
    /// Whether the stage needs the agent's only work tree: such stages run one after another in the pipeline's order.
    /// All others see a read-only checkout and run in parallel.
    pub fn writes_tree(&self) -> bool {
        match self.uses {
            StageKind::Branch | StageKind::Tests | StageKind::Publish | StageKind::Ready => true,
            StageKind::Archive | StageKind::Examine | StageKind::Verify => false,
            StageKind::Agent => {
                self.checks.contains(&Check::PushedCommit)
                    || matches!(self.output, Some(StageOutput::File(_) | StageOutput::CodeArtifact))
            }
        }
    }
}
