//! What the settings say of one agent.

use std::path::PathBuf;

use super::api::ApiSettings;
use journeyman_order::names::{NamingError, VariableName};

/// One `[agents.NAME]` of the settings.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    pub name: String,
    /// On what it runs.
    pub runtime: RuntimeKind,
    /// The model, where the runtime takes one.
    pub model: Option<String>,
    /// The program and arguments that come before ours; empty: the runtime's own (`claude`).
    pub program: Vec<String>,
    /// Names in our environment that are passed on; empty: the runtime's own list.
    pub env: Vec<String>,
    /// Paths that it needs to see besides the workspace, read-only.
    pub read: Vec<PathBuf>,
    /// Names of hosts that it may reach besides its model's service.
    pub network: Vec<String>,
}

/// On what an agent runs.
#[derive(Debug, Clone, PartialEq)]
pub enum RuntimeKind {
    Claude,
    /// Any program: prompt on standard input, result on standard output.
    Command,
    /// A model's HTTP API; `program`, `env` and `read` are nothing to it, and the model is in here.
    Api(Box<ApiSettings>),
}

/// Why the settings of an agent are of no use. Names the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("agents.{agent}.{key}: {problem}")]
pub struct InvalidAgent {
    agent: String,
    key: &'static str,
    problem: String,
}

impl InvalidAgent {
    pub(super) fn new(agent: &str, key: &'static str, problem: String) -> Self {
        Self { agent: agent.chars().take(80).collect(), key, problem }
    }
}

impl AgentSettings {
    pub(super) fn hold_to_rules(&self, agent: &str) -> Result<(), InvalidAgent> {
        let invalid = |key, problem: String| Err(InvalidAgent::new(agent, key, problem));
        let program_is_empty = self.program.first().is_none_or(String::is_empty);
        match &self.runtime {
            RuntimeKind::Command => {
                if program_is_empty {
                    return invalid("program", "the runtime `command` needs the program to start".into());
                }
                if self.model.is_some() {
                    return invalid(
                        "model",
                        "the runtime `command` takes none; put it into `program`".into(),
                    );
                }
            }
            RuntimeKind::Claude => {
                if !self.program.is_empty() && program_is_empty {
                    return invalid("program", "the first word is empty".into());
                }
            }
            RuntimeKind::Api(_) => {}
        }
        match self.env.iter().find_map(|name| variable_problem(name)) {
            Some(problem) => invalid("env", problem),
            None => Ok(()),
        }
    }
}

/// Why a variable of that name cannot be asked for, if it cannot.
fn variable_problem(name: &str) -> Option<String> {
    match VariableName::parse(name) {
        Ok(_) => None,
        Err(NamingError::Own) => Some(format!("{name} is Journeyman's own and never passed on to an agent")),
        Err(NamingError::Variable | NamingError::Form | NamingError::Reserved(_)) => {
            Some(format!("{name:?} is not the name of a variable"))
        }
    }
}
