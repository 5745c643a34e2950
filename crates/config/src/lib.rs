//! Reads a TOML file, the environment and a repository's YAML into validated settings.
//!
//! May know: `order`'s settings types, pipelines and roles, names of images, files, key and variable names.
//! Must never know: the adapters that use the settings.
//!
//! An error names the key, its location and the expected value. It never repeats a value, because the
//! value may be a secret in the wrong place.

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
    RequestOrigin, TelemetrySettings, TestingSettings, WriteLimits,
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

/// All settings of a server, validated. [`KNOWN_SETTINGS`] documents each key.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `[server]`
    pub server: ServerSettings,
    /// `[github]`
    pub github: GithubSettings,
    /// `[signing]`. `None` without a key.
    pub signing: Option<CommitSigning>,
    /// `[store]`
    pub store: StoreSettings,
    /// `[data]`
    pub data: DataSettings,
    /// `[notifications]`. `None` without an address.
    pub notifications: Option<NotificationSettings>,
    /// `None` unless OpenTelemetry's variables name a collector.
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
    /// Test settings from `[limits]` and `[sandbox]`.
    pub testing: TestingSettings,
    /// `[agents.NAME]`, by name. `claude` always exists.
    pub agents: BTreeMap<String, AgentSettings>,
    /// Pipelines besides the built-in ones, by name. No key sets them: the caller that starts the application does.
    pub pipelines: BTreeMap<String, Pipeline>,
    /// Where work is asked for. No key sets it either.
    pub asked_on: RequestOrigin,
    /// `[prices."MODEL"]`, by model. These prices override the built-in ones.
    pub prices: BTreeMap<String, Price>,
    /// The environment plus the variables of `server.environment_file`.
    pub variables: EnvironmentVariables,
}

/// The settings that a test run needs without an application.
#[derive(Debug, Clone)]
pub struct TestRunSettings {
    /// `data.dir` if it is set. The default belongs to a server, so it does not apply here.
    pub data: Option<PathBuf>,
    pub sandbox: SandboxSettings,
    pub testing: TestingSettings,
}

/// `[server]`
#[derive(Debug, Clone)]
pub struct ServerSettings {
    pub listen: SocketAddr,
    pub public_url: Option<Url>,
    /// How long running work may continue after SIGTERM.
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
    /// `webhook_secret`, then `webhook_secret_previous` during a rotation. Empty only if deliveries are polled.
    pub webhook_secrets: Vec<SecretString>,
    pub writes: WriteLimits,
    /// OAuth client of the App. Without it, people cannot sign in with GitHub.
    pub client: Option<AppClientSettings>,
}

/// `client_id` and `client_secret` of the App.
#[derive(Debug, Clone)]
pub struct AppClientSettings {
    pub id: String,
    pub secret: SecretString,
}

/// How events on GitHub reach the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMode {
    /// GitHub calls the webhook. The server polls for failed deliveries every five minutes.
    Webhook,
    /// The server polls for all deliveries every few seconds.
    Pull,
}

impl DeliveryMode {
    /// How often the server polls GitHub.
    pub fn every(self) -> Duration {
        match self {
            Self::Webhook => Duration::from_secs(300),
            Self::Pull => Duration::from_secs(3),
        }
    }
}

/// `[store]`
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// May contain a password.
    pub url: SecretString,
}

/// `[data]`
#[derive(Debug, Clone)]
pub struct DataSettings {
    pub dir: PathBuf,
    /// Data that can be rebuilt: environments and images. `run` keeps them longer than its other data.
    pub cache_dir: PathBuf,
}

/// `[defaults]`, for repositories that do not override them.
#[derive(Debug, Clone)]
pub struct DefaultSettings {
    pub label: String,
    /// A key of [`Settings::agents`].
    pub agent: String,
    /// A name or a file.
    pub pipeline: String,
}

/// How long to keep data after its last use. `[retention]` sets artifacts and journals; `None` keeps them forever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionSettings {
    /// Bodies of handled deliveries.
    pub deliveries: Duration,
    /// Artifacts of orders at rest.
    pub artifacts: Option<Duration>,
    /// Folders of orders at rest.
    pub orders: Duration,
    /// Journals of orders at rest, once their artifacts and folders are deleted.
    pub journals: Option<Duration>,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        let day = Duration::from_secs(24 * 60 * 60);
        Self {
            // GitHub redelivers for three days.
            deliveries: 14 * day,
            artifacts: None,
            // Reviews rarely take longer. After that, work continues from the branch on GitHub.
            orders: 30 * day,
            journals: None,
        }
    }
}

/// Spending limits from `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitSettings {
    pub concurrent_orders: usize,
    pub order: OrderLimits,
    pub per_day: DayLimits,
}

/// The sandbox of agents and tests, from `[sandbox]`.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    pub mode: IsolationMode,
    pub read: Vec<PathBuf>,
    /// What one job may use of the machine.
    pub limits: JobLimits,
    /// Whether setups use the package indexes that this machine's pip, npm and cargo are configured with.
    pub host_registries: bool,
}
