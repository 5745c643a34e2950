//! The settings of one agent.

use std::path::PathBuf;

use super::api::ApiSettings;
use super::is_credential;
use journeyman_order::names::{OWN_VARIABLES, is_variable};

/// Passed on to Claude Code if the settings list no variables.
pub const CLAUDE_VARIABLES: [&str; 4] =
    ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"];

/// The shortest run of letters and digits that looks like a token; names rarely have one this long.
const SHORTEST_ROW: usize = 20;

/// One `[agents.NAME]` of the settings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentSettings {
    pub name: String,
    pub runtime: RuntimeKind,
    /// The model, if the runtime takes one.
    pub model: Option<String>,
    /// Program and arguments that precede ours; empty: the runtime's default (`claude`).
    pub program: Vec<String>,
    /// Variables of our environment to pass on; empty: the runtime's default list.
    pub env: Vec<String>,
    /// Whether a `command` resumes the session in `JOURNEYMAN_SESSION`.
    pub resumes: bool,
    /// Paths outside the workspace that it may read.
    pub read: Vec<PathBuf>,
    /// Host names that it may reach besides its model's service.
    pub network: Vec<String>,
}

/// What an agent runs on.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum RuntimeKind {
    #[default]
    Claude,
    /// Any program: prompt on standard input, result on standard output.
    Command,
    /// A model's HTTP API. `program`, `env` and `read` do not apply, and the model is in here.
    Api(Box<ApiSettings>),
}

/// Why an agent's settings are invalid. Names the key.
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
        if self.resumes && self.runtime != RuntimeKind::Command {
            return invalid("resumes", "only the runtime `command` takes it".into());
        }
        match self.env.iter().find_map(|name| variable_problem(name)) {
            Some(problem) => invalid("env", problem),
            None => Ok(()),
        }
    }

    /// The variables of our environment that are passed on to it.
    pub fn variables(&self) -> Vec<String> {
        match self.runtime {
            RuntimeKind::Claude if self.env.is_empty() => CLAUDE_VARIABLES.map(String::from).to_vec(),
            RuntimeKind::Claude | RuntimeKind::Command => self.env.clone(),
            RuntimeKind::Api(_) => Vec::new(),
        }
    }

    /// Whether a variable in `env` holds a secret, judged by its name or its value.
    pub fn is_secret(name: &str, value: &str) -> bool {
        is_credential(name) || looks_like_secret(value)
    }
}

/// Whether a value looks like a token, whatever its name: a URL with a password, or a long run of letters and digits.
/// Names of regions and models contain separators.
fn looks_like_secret(value: &str) -> bool {
    if let Some((_, rest)) = value.split_once("://") {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        return authority.rsplit_once('@').is_some_and(|(user, _)| !user.is_empty());
    }
    value.split(|c: char| !c.is_ascii_alphanumeric()).any(|row| {
        let count = |is: fn(&u8) -> bool| row.bytes().filter(is).count();
        let is_mixed = count(u8::is_ascii_uppercase) > 0 && count(u8::is_ascii_lowercase) > 0;
        let is_hex = row.len() >= 32 && count(u8::is_ascii_hexdigit) == row.len();
        row.len() >= SHORTEST_ROW && count(u8::is_ascii_digit) >= 2 && (is_mixed || is_hex)
    })
}

/// Why a variable of this name cannot be passed on, if so.
fn variable_problem(name: &str) -> Option<String> {
    if !is_variable(name) {
        return Some(format!("{name:?} is not the name of a variable"));
    }
    let is_own = name.starts_with(OWN_VARIABLES);
    is_own.then(|| format!("{name} is Journeyman's own and never passed on to an agent"))
}
