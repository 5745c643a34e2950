//! How far a setup has come, by the files and by GitHub.

use std::collections::BTreeSet;
use std::path::Path;

use journeyman_agent::{CLAUDE_VARIABLES, is_credential};
use journeyman_config::{KNOWN_SETTINGS, RuntimeKind, SettingDefault, Settings, SettingsError};
use journeyman_github::{AppCredentials, ErrorKind, GitHub, GitHubError, web_address};
use journeyman_order::RepositoryName;
use url::Url;

/// What has to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetupStep {
    /// There is no App, or it cannot be used.
    App,
    /// It is installed nowhere.
    Install,
    /// The agent has no key.
    Agent,
    /// All is there: whether it works has to be looked at.
    Check,
}

/// How things stand.
#[derive(Debug, Clone, Default)]
pub struct SetupProgress {
    /// As the file has them, where they can be read.
    pub settings: Option<Settings>,
    /// Why what is there is of no use, with what to do about it.
    pub problem: Option<String>,
    pub app: Option<SetupApp>,
    /// Where it is installed; labels are made there.
    pub repositories: Vec<RepositoryName>,
    /// Where the agent that works by default has its key from.
    pub agent_key: Option<String>,
}

/// The App, as GitHub knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupApp {
    pub slug: String,
    /// Where people meet GitHub.
    pub web: Url,
    /// Its page there.
    pub page: Url,
}

impl SetupProgress {
    pub fn step(&self) -> SetupStep {
        if self.app.is_none() {
            SetupStep::App
        } else if self.repositories.is_empty() {
            SetupStep::Install
        } else if self.agent_key.is_none() {
            SetupStep::Agent
        } else {
            SetupStep::Check
        }
    }

    /// Looks, and makes the labels that are missing.
    pub async fn of(file: &Path) -> Self {
        Self::observe(file, &mut BTreeSet::new()).await
    }

    /// Looks; repositories of `labeled` have their labels, and the others get them.
    pub(crate) async fn observe(file: &Path, labeled: &mut BTreeSet<RepositoryName>) -> Self {
        let mut progress = Self::default();
        let settings = match Settings::load(Some(file).filter(|file| file.exists()), std::env::vars()) {
            Ok(settings) => settings,
            Err(error) => {
                progress.problem = (!is_new(&error)).then(|| error.to_string());
                return progress;
            }
        };
        progress.agent_key = agent_key(&settings);
        match app(&settings, labeled).await {
            Ok((app, repositories)) => (progress.app, progress.repositories) = (Some(app), repositories),
            Err(error) => progress.problem = Some(said(&error)),
        }
        progress.settings = Some(settings);
        progress
    }
}

/// Nothing was said of an App yet.
fn is_new(error: &SettingsError) -> bool {
    let is_required =
        |known: &&journeyman_config::KnownSetting| matches!(known.default, SettingDefault::Required(_));
    let all = KNOWN_SETTINGS.iter().filter(is_required).count();
    match error {
        SettingsError::Missing { keys } => keys.len() >= all - 1,
        SettingsError::File { .. }
        | SettingsError::Toml { .. }
        | SettingsError::Unknown { .. }
        | SettingsError::Value { .. } => false,
    }
}

fn said(error: &GitHubError) -> String {
    match error.kind {
        ErrorKind::Unauthorized | ErrorKind::NotFound => format!(
            "GitHub does not know the App of the settings ({error}): check github.app_id and github.private_key_path, or take \
             [github] out of the file to create another App"
        ),
        ErrorKind::Unavailable { .. }
        | ErrorKind::Forbidden
        | ErrorKind::Conflict
        | ErrorKind::Invalid
        | ErrorKind::Unexpected => error.to_string(),
    }
}

async fn app(
    settings: &Settings,
    labeled: &mut BTreeSet<RepositoryName>,
) -> Result<(SetupApp, Vec<RepositoryName>), GitHubError> {
    let github = &settings.github;
    let web = web_address(&github.api_url)?;
    let credentials = AppCredentials {
        api_url: github.api_url.clone(),
        app_id: github.app_id,
        private_key_pem: github.private_key.clone(),
        outgoing: settings.testing.outgoing.clone(),
    };
    let asked = GitHub::new(credentials, github.writes)?;
    let known = asked.registration().await?;
    let page = known.html_url.as_deref().and_then(|url| Url::parse(url).ok()).unwrap_or_else(|| {
        let mut page = web.clone();
        page.set_path(&format!("{}/apps/{}", web.path().trim_end_matches('/'), known.slug));
        page
    });
    let app = SetupApp { slug: known.slug, web, page };
    let mut repositories = Vec::new();
    for installation in asked.installations().await? {
        if installation.suspended {
            continue;
        }
        for listed in asked.installed_repositories(installation.id).await? {
            if listed.archived {
                continue;
            }
            let name = listed.at.repository.clone();
            if !labeled.contains(&name) {
                asked.make_labels(&listed.at, &settings.defaults.label).await?;
                labeled.insert(name.clone());
            }
            repositories.push(name);
        }
    }
    repositories.sort();
    Ok((app, repositories))
}

/// Where the key of the agent that works by default comes from; none where there is none.
fn agent_key(settings: &Settings) -> Option<String> {
    let agent = settings.agents.get(&settings.defaults.agent)?;
    let names: Vec<String> = match &agent.runtime {
        RuntimeKind::Claude if agent.env.is_empty() => CLAUDE_VARIABLES.map(str::to_owned).to_vec(),
        RuntimeKind::Claude | RuntimeKind::Command => agent.env.clone(),
        RuntimeKind::Api(api) => api.key_env.iter().cloned().collect(),
    };
    let mut credentials = names.into_iter().filter(|name| is_credential(name)).peekable();
    if credentials.peek().is_none() {
        return Some(format!("the agent {} needs none", settings.defaults.agent));
    }
    credentials.find(|name| settings.variables.get(name).is_some())
}
