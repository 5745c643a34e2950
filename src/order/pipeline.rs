//! The stages an order goes through: read from YAML, held against the rules, then used as they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A pipeline. Made by [`Pipeline::parse`]; its stages are known to have an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pipeline {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// What it is for.
    #[serde(default)]
    pub description: String,
    /// Its stages; each stands after those it depends on.
    pub stages: Vec<Stage>,
}

/// A worker and its checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Its name, unique in the pipeline, of `[a-z0-9_-]`.
    pub name: String,
    /// Stages that have to have passed before.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// What it does with the worker's result.
    #[serde(default)]
    pub uses: Uses,
    /// The role of the agent that works here; none for a built-in that needs none.
    #[serde(default)]
    pub agent: Option<String>,
    /// The command template, with or without its slash; may be `{{stage.result}}`.
    #[serde(default)]
    pub command: Option<String>,
    /// Its arguments; `{{…}}` is filled in.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// What the worker's result has to look like.
    #[serde(default)]
    pub output: Output,
    /// What judges it, in this order.
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// What a stage does with its worker's result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Uses {
    /// The result itself is the stage's output.
    #[default]
    Agent,
    /// The result names the branch.
    Branch,
    /// The result is the pull request's title and text; the branch is pushed and the pull request opened.
    Publish,
    /// No worker: the pull request's text is finished, and it is taken out of draft when all is verified.
    Ready,
}

/// What a worker's result has to look like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Output {
    /// Any text.
    #[default]
    Text,
    /// One of these, and only one of them, somewhere in the text.
    OneOf(Vec<String>),
    /// A file in the agent's work tree that matches this glob.
    File(String),
}

/// What judges a worker's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A commit is in the agent's origin, and may leave.
    PushedCommit,
    /// The repository's tests pass on it.
    Tests,
}

/// Why a pipeline cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPipeline {
    /// Not YAML of this shape; line and column are in the message.
    #[error("{0}")]
    Yaml(String),
    /// A rule is broken.
    #[error("stage {stage:?}: {problem}")]
    Stage {
        /// Where.
        stage: String,
        /// What.
        problem: String,
    },
    /// It has no stages, or too many.
    #[error("a pipeline has 1 to {MOST_STAGES} stages, this has {0}")]
    Size(usize),
}

/// The most stages that a pipeline may have.
pub const MOST_STAGES: usize = 50;

impl Pipeline {
    /// Reads and holds against the rules: names are unique and known, dependencies have no circle.
    pub fn parse(yaml: &str) -> Result<Self, InvalidPipeline> {
        let mut pipeline: Self =
            serde_saphyr::from_str(yaml).map_err(|error| InvalidPipeline::Yaml(error.to_string()))?;
        pipeline.order_stages()?;
        Ok(pipeline)
    }

    /// The stage of that name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    fn order_stages(&mut self) -> Result<(), InvalidPipeline> {
        if !(1..=MOST_STAGES).contains(&self.stages.len()) {
            return Err(InvalidPipeline::Size(self.stages.len()));
        }
        let mut waiting: BTreeMap<String, usize> = BTreeMap::new();
        for (place, stage) in self.stages.iter().enumerate() {
            stage.hold_to_rules()?;
            if waiting.insert(stage.name.clone(), place).is_some() {
                return Err(stage.problem("there are two of this name"));
            }
        }
        for stage in &self.stages {
            if let Some(unknown) = stage.depends_on.iter().find(|name| !waiting.contains_key(*name)) {
                return Err(stage.problem(format!("depends on {unknown:?}, which is not a stage")));
            }
        }
        let mut rest = std::mem::take(&mut self.stages);
        while !rest.is_empty() {
            let is_free = |stage: &Stage| stage.depends_on.iter().all(|name| !waiting.contains_key(name));
            let Some(free) = rest.iter().position(is_free) else {
                let names: Vec<&str> = rest.iter().map(|stage| stage.name.as_str()).collect();
                return Err(rest[0].problem(format!("depends on itself, through {}", names.join(", "))));
            };
            let stage = rest.remove(free);
            waiting.remove(&stage.name);
            self.stages.push(stage);
        }
        Ok(())
    }
}

impl Stage {
    fn problem(&self, problem: impl Into<String>) -> InvalidPipeline {
        InvalidPipeline::Stage { stage: self.name.chars().take(80).collect(), problem: problem.into() }
    }

    fn hold_to_rules(&self) -> Result<(), InvalidPipeline> {
        let name_fits = (1..=40).contains(&self.name.len())
            && self
                .name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'));
        if !name_fits {
            return Err(self.problem("a name has 1 to 40 characters of a-z, 0-9, - and _"));
        }
        match self.uses {
            Uses::Ready => {
                if self.agent.is_some() || self.command.is_some() {
                    return Err(self.problem("`uses: ready` takes no agent and no command"));
                }
            }
            Uses::Agent | Uses::Branch | Uses::Publish => {
                if self.agent.is_none() || self.command.is_none() {
                    return Err(self.problem("an agent and a command are needed"));
                }
            }
        }
        if self.checks.contains(&Check::Tests) && !self.checks.starts_with(&[Check::PushedCommit]) {
            return Err(self.problem("the check `tests` comes after `pushed_commit`"));
        }
        Ok(())
    }
}
