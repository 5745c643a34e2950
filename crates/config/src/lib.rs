//! From a TOML file, the environment and a repository's YAML to validated settings.
//!
//! May know: `order`'s settings types, pipelines and roles, names of images, files, key and variable names.
//! Must never know: the adapters that use the settings.
//!
//! An error names the key, where it stands, and what is expected there. It never repeats a value, because the
//! value may be a secret that was put in the wrong place.

mod api;
mod app_key;
mod effective;
mod environment;
mod error;
mod finding;
#[cfg(test)]
mod folder_tests;
#[cfg(test)]
mod github_tests;
mod host;
mod kind;
mod known;
mod manifest;
mod network;
mod raw;
mod registries;
mod repository;
mod repository_templates;
mod schemas;
mod server;
mod signing;
mod telemetry;
mod templates;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

pub use journeyman_agent::{AgentSettings, ApiSettings, Prices, RuntimeKind};
pub use journeyman_order::model_service::{Price, Provider};
use journeyman_order::{
    CommitSigning, DayLimits, IsolationMode, JobLimits, NotificationSettings, OrderLimits, Pipeline,
    TelemetrySettings, TestingSettings, WriteLimits,
};

pub use app_key::APP_KEY_CREDENTIAL;
pub use effective::{EffectiveSetting, effective_settings};
pub use environment::EnvironmentVariables;
pub use error::SettingsError;
pub use finding::{DoctorFinding, FindingLevel};
pub use host::{HostRegistry, host_registries};
pub use kind::SettingKind;
pub use known::{KNOWN_SETTINGS, KnownSetting, SettingDefault};
pub use manifest::AppManifest;
pub use network::readable_certificates;
pub use repository::{RepositorySettingsError, repository_settings};
pub use repository_templates::{
    RepositoryTemplates, RepositoryTemplatesError, ServerTemplates, load_repository_templates,
};
pub use schemas::json_schemas;
pub use server::sqlite_url;
pub use templates::{Templates, TemplatesError, command_names, is_file_name};

/// All settings of a server, validated. What each key means stands in [`KNOWN_SETTINGS`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// `[server]`
    pub server: ServerSettings,
    /// `[github]`
    pub github: GithubSettings,
    /// `[signing]`, where there is a key.
    pub signing: Option<CommitSigning>,
    /// `[store]`
    pub store: StoreSettings,
    /// `[data]`
    pub data: DataSettings,
    /// `[notifications]`, where there is an address.
    pub notifications: Option<NotificationSettings>,
    /// If OpenTelemetry's variables name a collector.
    pub telemetry: Option<TelemetrySettings>,
    /// `[retention]`
    pub retention: RetentionSettings,
    /// `[defaults]`
    pub defaults: DefaultSettings,
    /// `templates.dir`
    pub templates: Option<PathBuf>,
    /// `[limits]`
    pub limits: LimitSettings,
    /// `[sandbox]`
    pub sandbox: SandboxSettings,
    /// What `[limits]` and `[sandbox]` say about tests.
    pub testing: TestingSettings,
    /// `[agents.NAME]`, by name; `claude` is there even if no file says so.
    pub agents: BTreeMap<String, AgentSettings>,
    /// Pipelines besides those that ship, by name. No key says them: whoever starts the application brings them.
    pub pipelines: BTreeMap<String, Pipeline>,
    /// `[prices."MODEL"]`, by model: what its tokens cost, where we know better than what is built in.
    pub prices: BTreeMap<String, Price>,
    /// The environment, with what `server.environment_file` adds to it.
    pub variables: EnvironmentVariables,
}

/// What running tests needs of the settings, without an application around it.
#[derive(Debug, Clone)]
pub struct TestRunSettings {
    /// `data.dir`, where it was given: without a server there is no data of one.
    pub data: Option<PathBuf>,
    pub sandbox: SandboxSettings,
    pub testing: TestingSettings,
}

/// `[server]`: the door.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub listen: SocketAddr,
    pub public_url: Option<Url>,
    /// How long what is under way may go on after SIGTERM.
    pub drain: Duration,
    pub api_token: Option<SecretString>,
}

/// `[github]`: the App.
#[derive(Debug, Clone)]
pub struct GithubSettings {
    /// Plain HTTP on loopback only.
    pub api_url: Url,
    pub app_id: u64,
    /// An RSA key as PEM.
    pub private_key: SecretString,
    pub deliveries: DeliveryMode,
    /// `webhook_secret`, then `webhook_secret_previous` during a rotation. Empty only where deliveries
    /// are pulled.
    pub webhook_secrets: Vec<SecretString>,
    pub writes: WriteLimits,
    /// How people sign in as on GitHub; without it nobody does.
    pub client: Option<AppClientSettings>,
}

/// `client_id` and `client_secret` of the App.
#[derive(Debug, Clone)]
pub struct AppClientSettings {
    pub id: String,
    pub secret: SecretString,
}

/// How we hear of what happened on GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMode {
    /// GitHub comes to us; what could not be delivered is asked for every five minutes.
    Webhook,
    /// We ask for everything, every few seconds.
    Pull,
}

impl DeliveryMode {
    /// How often GitHub is asked.
    pub fn every(self) -> Duration {
        match self {
            Self::Webhook => Duration::from_secs(300),
            Self::Pull => Duration::from_secs(3),
        }
    }
}

/// `[store]`.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// It may hold a password.
    pub url: SecretString,
}

/// `[data]`.
#[derive(Debug, Clone)]
pub struct DataSettings {
    pub dir: PathBuf,
    /// What can be made again: environments and images. `run` keeps them longer than its other data.
    pub cache_dir: PathBuf,
}

/// `[defaults]`: for repositories that do not say otherwise.
#[derive(Debug, Clone)]
pub struct DefaultSettings {
    pub label: String,
    /// A name in [`Settings::agents`].
    pub agent: String,
    /// A name, or a file.
    pub pipeline: String,
}

/// How long things are kept that nobody works with, from `[retention]`; none: for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionSettings {
    /// What GitHub sent.
    pub deliveries: Duration,
    /// Of orders at rest.
    pub artifacts: Option<Duration>,
    /// The folders of orders at rest.
    pub orders: Duration,
    /// All that is known of orders at rest, once their artifacts and folders have gone.
    pub journals: Option<Duration>,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self {
            // GitHub redelivers for three days.
            deliveries: 14 * day,
            artifacts: None,
            // Reviews seldom take longer. After that, work continues from the branch on GitHub.
            orders: 30 * day,
            journals: None,
        }
    }
}

/// What work may cost, from `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitSettings {
    pub concurrent_orders: usize,
    pub order: OrderLimits,
    pub per_day: DayLimits,
}

/// What agents and tests run in, from `[sandbox]`.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    pub mode: IsolationMode,
    pub read: Vec<PathBuf>,
    /// What one job may use of the machine.
    pub limits: JobLimits,
    /// Whether setups use the package indexes that this machine's own pip, npm and cargo are set to.
    pub host_registries: bool,
}
