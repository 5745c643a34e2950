//! From a TOML file, the environment and a repository's YAML to validated settings.
//!
//! May know: `order`'s settings types, pipelines and roles, files, key and variable names.
//! Must never know: the adapters that use the settings.
//!
//! An error names the key, where it stands, and what is expected there. It never repeats a value, because the
//! value may be a secret that was put in the wrong place.

mod api;
mod error;
mod raw;
mod repository;
mod repository_templates;
mod server;
mod templates;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use url::Url;

pub use journeyman_agent::{AgentSettings, ApiSettings, Prices, RuntimeKind};
pub use journeyman_order::model_service::{Price, Provider};
use journeyman_order::{DayLimits, IsolationMode, OrderLimits, Pipeline, TestingSettings, WriteLimits};

pub use error::SettingsError;
pub use repository::{RepositorySettingsError, repository_settings};
pub use repository_templates::{
    RepositoryTemplates, RepositoryTemplatesError, ServerTemplates, load_repository_templates,
};
pub use templates::{Templates, TemplatesError, is_file_name};

/// All settings of a server, validated.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `[server]`
    pub server: ServerSettings,
    /// `[github]`
    pub github: GithubSettings,
    /// `[store]`
    pub store: StoreSettings,
    /// `[data]`
    pub data: DataSettings,
    /// `[defaults]`
    pub defaults: DefaultSettings,
    /// `[templates]`
    pub templates: TemplateSettings,
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
}

/// What running tests needs of the settings, without an application around it.
#[derive(Debug, Clone)]
pub struct TestRunSettings {
    pub sandbox: SandboxSettings,
    pub testing: TestingSettings,
}

/// `[server]`: the door.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// `listen`, by default `127.0.0.1:3000`.
    pub listen: SocketAddr,
    /// `public_url`: where people reach the dashboard.
    pub public_url: Option<Url>,
    /// `api_token`: what opens the API; without it the API is closed.
    pub api_token: Option<SecretString>,
}

/// `[github]`: the App.
#[derive(Debug, Clone)]
pub struct GithubSettings {
    /// `api_url`, by default `https://api.github.com`. Plain HTTP on loopback only.
    pub api_url: Url,
    /// `app_id`.
    pub app_id: u64,
    /// What is in the file of `private_key_path`: an RSA key as PEM.
    pub private_key: SecretString,
    /// `webhook_secret`, then `webhook_secret_previous` during a rotation. Never empty.
    pub webhook_secrets: Vec<SecretString>,
    /// `write_interval_ms`, `writes_per_minute`, `writes_per_hour`.
    pub writes: WriteLimits,
}

/// `[store]`.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// `url`, by default `sqlite://journeyman.db`. It may hold a password.
    pub url: SecretString,
}

/// `[data]`.
#[derive(Debug, Clone)]
pub struct DataSettings {
    /// `dir`, by default `data`: mirrors and workspaces.
    pub dir: PathBuf,
}

/// `[defaults]`: for repositories that do not say otherwise.
#[derive(Debug, Clone)]
pub struct DefaultSettings {
    /// `label`, by default `journeyman`.
    pub label: String,
    /// `agent`, by default `claude`; a name in [`Settings::agents`].
    pub agent: String,
    /// `pipeline`, by default `issue-to-pr`: a name, or a file.
    pub pipeline: String,
}

/// `[templates]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TemplateSettings {
    /// `dir`: a folder whose `pipelines/`, `agents/` and `commands/` stand in place of ours, by name.
    pub dir: Option<PathBuf>,
}

/// What work may cost, from `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitSettings {
    /// Orders at work at the same time.
    pub concurrent_orders: usize,
    pub order: OrderLimits,
    pub per_day: DayLimits,
}

/// What agents and tests run in, from `[sandbox]`.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    pub mode: IsolationMode,
    /// Absolute paths that every sandbox may read beside its own list.
    pub read: Vec<PathBuf>,
}
