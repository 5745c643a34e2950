//! Agents: which program to start or API to call for a task, the prompt to send, and how to read the answer.
//!
//! May know: runtimes and their command lines, models' APIs, streams of JSON lines, command templates, prompts.
//! Must never know: how a process is started or walled in, what an order does next, GitHub.
//!
//! Nothing here starts a process. The caller starts an [`AgentProgram`]'s [`Invocation`] and feeds its standard output
//! to a [`Transcript`], which reports the run. Only [`Runtime::Api`] uses the network: it calls a model's API. A run is
//! what the agent *says*: no line of a stream is evidence that work was done.

mod api;
mod claude;
mod expand;
mod failure;
mod history;
mod instructions;
mod lines;
mod live_redactor;
mod prompt;
mod reach;
mod record;
mod rework;
mod role;
mod sessions;
mod settings;
mod stream;
mod templates;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use journeyman_order::bounds::LONGEST_ARGUMENT;
use journeyman_order::model_service::Provider;
use journeyman_order::moves::AgentTask;
use journeyman_order::{OutgoingNetwork, Role};
use stream::OutputFormat;

pub use api::{
    ApiSettings, CallRecorder, ModelApi, ModelApiKey, ModelCall, Prices, how_to_price, is_a_providers_own,
};
pub use expand::{ExpandedTemplate, expand};
pub use instructions::instructions;
pub use live_redactor::LiveRedactor;
pub use prompt::prompt;
pub use reach::{AgentNetwork, ModelEndpoint};
pub use sessions::{SESSION_FOLDERS, is_session_file};
pub use settings::{AgentSettings, InvalidAgent, RuntimeKind};
pub use stream::Transcript;
pub use templates::{built_in, built_in_names, command_name, dropped_placeholders, repository_paths};

/// The agents of the settings, by name.
pub struct Agents(BTreeMap<String, Runtime>);

impl Agents {
    /// Creates a runtime for each agent, keyed by name. API agents reach their services over `outgoing`.
    ///
    /// # Errors
    /// When an agent's settings are invalid; the error names the key.
    pub fn new(
        settings: BTreeMap<String, AgentSettings>,
        outgoing: &OutgoingNetwork,
    ) -> Result<Self, InvalidAgent> {
        let mut runtimes = BTreeMap::new();
        for (name, agent) in settings {
            agent.hold_to_rules(&name)?;
            let runtime = match agent.runtime {
                RuntimeKind::Claude | RuntimeKind::Command => Runtime::Program(AgentProgram::new(agent)),
                RuntimeKind::Api(settings) => {
                    Runtime::Api(Box::new(ModelApi::new(&name, *settings, outgoing.clone())?))
                }
            };
            runtimes.insert(name, runtime);
        }
        Ok(Self(runtimes))
    }

    /// The runtime of the named agent.
    ///
    /// # Errors
    /// When there is no such agent; the error lists the known ones.
    pub fn get(&self, name: &str) -> Result<&Runtime, String> {
        self.0.get(name).ok_or_else(|| {
            let name: String = name.chars().take(80).collect();
            let known = self.names().collect::<Vec<_>>().join(", ");
            format!(
                "no agent {name:?} in the settings, known: {known}; add [agents.{name}] to journeyman.toml"
            )
        })
    }

    /// The model that the settings name for an agent, if any.
    pub fn model(&self, name: &str) -> Option<&str> {
        match self.0.get(name)? {
            Runtime::Program(program) => program.settings.model.as_deref(),
            Runtime::Api(api) => Some(api.model()),
        }
    }

    /// The provider of its models; `None` for a custom program, which does not say.
    pub fn provider(&self, name: &str) -> Option<Provider> {
        match self.0.get(name)? {
            Runtime::Program(program) => program.is_claude().then_some(Provider::Anthropic),
            Runtime::Api(api) => Some(api.provider()),
        }
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

pub enum Runtime {
    /// A program to start in the sandbox.
    Program(AgentProgram),
    /// A model's API to call; it returns text only.
    Api(Box<ModelApi>),
}

/// A program that does an agent's work.
pub struct AgentProgram {
    settings: AgentSettings,
}

impl AgentProgram {
    fn new(mut settings: AgentSettings) -> Self {
        if settings.runtime == RuntimeKind::Claude && settings.program.is_empty() {
            settings.program.push("claude".into());
        }
        settings.env = settings.variables();
        Self { settings }
    }

    fn is_claude(&self) -> bool {
        self.settings.runtime == RuntimeKind::Claude
    }

    /// What to start for a task. The system prompt of `role`, if known, becomes an option if the runtime has one, and
    /// otherwise precedes the prompt. `lookup_env` reads our own environment, only for variables that the settings
    /// list.
    pub fn invocation(
        &self,
        task: &AgentTask,
        role: Option<&Role>,
        prompt: &str,
        lookup_env: &dyn Fn(&str) -> Option<String>,
    ) -> Invocation {
        let mut environment = BTreeMap::new();
        let (mut given, mut missing, mut secrets) = (Vec::new(), Vec::new(), BTreeMap::new());
        for name in &self.settings.env {
            // An empty value counts as unset: the program would use it as a key.
            match lookup_env(name).filter(|value| !value.is_empty()) {
                Some(value) => {
                    if AgentSettings::is_secret(name, &value) {
                        secrets.insert(name.clone(), value.clone());
                    }
                    environment.insert(name.clone(), value);
                    given.push(name.clone());
                }
                None => missing.push(name.clone()),
            }
        }
        let network = reach::take(&self.settings.network, &mut environment);
        // Lets a program or a wrapper read the basics of its task without parsing the prompt.
        environment.insert("JOURNEYMAN_STAGE".into(), task.stage.clone());
        environment.insert("JOURNEYMAN_AGENT".into(), task.agent.clone());
        environment.insert("JOURNEYMAN_ROUND".into(), task.round.to_string());
        if !task.role.is_empty() {
            environment.insert("JOURNEYMAN_ROLE".into(), task.role.clone());
        }
        let session = task.session.as_deref().filter(|id| self.resumes() && is_session_id(id));
        let mut words = role::system_prompt(role);
        let mut program = self.settings.program.clone();
        let stdin = if self.is_claude() {
            environment.extend(claude::VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())));
            let argument = words.take_if(|words| words.len() <= LONGEST_ARGUMENT);
            let model = self.settings.model.as_deref();
            program.extend(claude::arguments(role, model, argument.as_deref(), session));
            claude::harmless(&role::before(words.as_deref(), prompt))
        } else {
            environment.extend(session.map(|id| ("JOURNEYMAN_SESSION".to_owned(), id.to_owned())));
            role::before(words.as_deref(), prompt)
        };
        let (stdin, reads) = (stdin.into_bytes(), self.settings.read.clone());
        Invocation { program, environment, network, stdin, reads, given, missing, secrets }
    }

    /// Whether it can resume a session, and so still knows its task in a later round.
    pub fn resumes(&self) -> bool {
        self.is_claude() || self.settings.resumes
    }

    /// A reader for its output.
    pub fn transcript(&self) -> Transcript {
        Transcript::new(if self.is_claude() { OutputFormat::Records } else { OutputFormat::RecordsOrText })
    }
}

#[derive(Clone)]
pub struct Invocation {
    /// Program and arguments. Contains no secret and nothing from the task, but possibly the role's system prompt.
    pub program: Vec<String>,
    /// Added to the sandbox's environment. Its only credentials are those in [`AgentNetwork::held_credentials`] and
    /// those that the settings pass on explicitly.
    pub environment: BTreeMap<String, String>,
    /// The hosts and the model endpoint that it needs.
    pub network: AgentNetwork,
    /// Its standard input: the prompt.
    pub stdin: Vec<u8>,
    /// Paths outside the workspace that it may read.
    pub reads: Vec<PathBuf>,
    /// Variables listed in the agent's settings that are set in our own environment.
    given: Vec<String>,
    /// The listed variables that are unset or empty.
    missing: Vec<String>,
    /// Values of the secret variables, passed into the sandbox or not; redacted from whatever is shown.
    secrets: BTreeMap<String, String>,
}

impl Invocation {
    /// The program itself, as the settings name it.
    #[must_use]
    pub fn executable(&self) -> &str {
        self.program.first().map_or("", String::as_str)
    }

    /// The variables that are set and those that are missing, to help fix a credential. Names only.
    pub fn variables(&self, agent: &str) -> String {
        let setting = format!("agents.{agent}.env");
        let mut parts = Vec::new();
        if !self.given.is_empty() {
            parts.push(format!("{setting} passed on {}", self.given.join(", ")));
        }
        if !self.missing.is_empty() {
            parts.push(format!("{setting} asks for {}, not set in our environment", self.missing.join(", ")));
        }
        if parts.is_empty() { format!("{setting} names no variable") } else { parts.join("; ") }
    }

    /// The credentials that the settings list, if none is set; otherwise empty. Credentials are recognized by name:
    /// key, token, secret, password.
    pub fn missing_credentials(&self) -> Vec<&str> {
        if self.given.iter().any(|name| is_credential(name)) {
            return Vec::new();
        }
        self.missing.iter().map(String::as_str).filter(|name| is_credential(name)).collect()
    }

    /// Replaces secrets from our own environment with their names. Call it on all agent output that is kept or shown:
    /// an agent may print its own key. Values under eight characters are left in: they are too common in ordinary text.
    pub fn redact(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for (name, value) in self.secrets.iter().filter(|(_, value)| value.len() >= 8) {
            clean = live_redactor::without(&clean, value, &format!("[{name}]"));
        }
        clean
    }

    /// Like [`Self::redact`], for a stream that is shown while it grows.
    pub fn live_redactor(&self) -> LiveRedactor {
        let values = self.secrets.iter();
        LiveRedactor::of(values.map(|(name, value)| (name.clone(), value.as_str().into())))
    }
}

impl fmt::Debug for Invocation {
    /// Shows only names of variables and the prompt's length: values may be credentials.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Invocation")
            .field("program", &self.program)
            .field("environment", &self.environment.keys().collect::<Vec<_>>())
            .field("stdin_bytes", &self.stdin.len())
            .field("reach", &self.network)
            .field("reads", &self.reads)
            .finish()
    }
}

/// Whether a variable's name suggests a credential. Names of addresses and of token counts do not.
pub fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_word = |word: &str| matches!(word, "PASS" | "PASSWD" | "PAT" | "AUTH");
    !name.ends_with("_TOKENS")
        && (["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSPHRASE", "CREDENTIAL"]
            .iter()
            .any(|word| name.contains(word))
            || name.split('_').any(is_word))
}

/// Whether a text is safe as a session id: it comes from the agent's stream and becomes an argument, so it must not
/// look like an option.
fn is_session_id(text: &str) -> bool {
    (1..=128).contains(&text.len())
        && !text.starts_with('-')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod prompt_tests;
#[cfg(test)]
mod rework_tests;
#[cfg(test)]
mod role_tests;
#[cfg(test)]
mod shipped_tests;
#[cfg(test)]
mod stream_tests;
#[cfg(test)]
mod tests;
