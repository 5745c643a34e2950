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
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use url::Url;

pub use journeyman_agent::{AgentSettings, ApiSettings, Prices, RuntimeKind};
pub use journeyman_order::model_service::{Price, Provider};
use journeyman_order::{DayLimits, Pipeline};

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
    /// `[sandbox]`
    pub sandbox: SandboxSettings,
    /// `[limits]`
    pub limits: LimitSettings,
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
    pub writes: WriteSettings,
}

/// How fast writes to GitHub may be made in the name of one installation. By default as GitHub allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteSettings {
    /// `write_interval_ms`, by default 1,000: the least time from one to the next.
    pub interval: Duration,
    /// `writes_per_minute`, by default 80; none where it is 0.
    pub per_minute: Option<NonZeroU32>,
    /// `writes_per_hour`, by default 500; none where it is 0.
    pub per_hour: Option<NonZeroU32>,
}

impl WriteSettings {
    /// For a GitHub without such limits, as the emulator is.
    pub const UNLIMITED: Self = Self { interval: Duration::ZERO, per_minute: None, per_hour: None };
}

impl Default for WriteSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            per_minute: NonZeroU32::new(80),
            per_hour: NonZeroU32::new(500),
        }
    }
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

/// `[limits]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LimitSettings {
    /// `concurrent_orders`, by default 4.
    pub concurrent_orders: usize,
    /// `order_minutes`, by default 60.
    pub order_minutes: u64,
    /// `order_usd`: dollars, by default 5.
    pub order_usd: f64,
    /// `order_runs`: runs of agents, by default 60.
    pub order_runs: u32,
    /// `gather_seconds`, by default 20: what is waited after a word about a pull request, for others that come with it.
    pub gather_seconds: u32,
    /// `retry_renews`, by default true: whether `/retry` grants an order's limits once more.
    pub retry_renews: bool,
    /// `per_day`: what may be spent in a day of UTC; by default there is no limit.
    pub per_day: DayLimits,
    /// `test_seconds`, by default 600.
    pub test_seconds: u64,
    /// `setup_seconds`, by default 600.
    pub setup_seconds: u64,
    /// `mutant_seconds`, by default 120: for mutants of the changed lines; 0: none are tried.
    pub mutant_seconds: u64,
}

/// `[sandbox]`.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// `mode`.
    pub mode: SandboxMode,
    /// `setup_network`: names of hosts that a repository's `setup` may reach by HTTPS; `*` for any public one, `registries`
    /// for those of the package managers found.
    pub setup_network: Vec<String>,
    /// `setup_network_for_changes`: whether that holds for a change that edits what is installed, too.
    pub setup_network_for_changes: bool,
    /// `test_network`: names of hosts that tests may reach where their repository asks for them; none by default.
    pub test_network: Vec<String>,
    /// `read`: absolute paths that every sandbox may read beside its own list.
    pub read: Vec<PathBuf>,
}

/// What agents and tests run in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SandboxMode {
    /// `bubblewrap`, the default.
    Bubblewrap,
    /// `none`: no walls. Has to be asked for by name.
    None,
}
