//! How far a setup has come, judged from files and GitHub.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use journeyman_agent::is_credential;
use journeyman_config::{RuntimeKind, Settings, SettingsError};
use journeyman_github::{AppCredentials, ErrorKind, GitHub, GitHubError, InstalledRepository, web_address};
use journeyman_order::RepositoryName;
use url::Url;

/// A page creates labels for this long and then reloads, because GitHub limits writes.
const LABELS_AT_ONCE: Duration = Duration::from_secs(4);

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetupStep {
    /// The App is missing or unusable.
    App = 1,
    /// The App is not installed anywhere.
    Install,
    /// The agent has no key.
    Agent,
    /// Everything is in place and can be checked.
    Check,
}

/// The state of a setup.
#[derive(Debug, Clone, Default)]
pub struct SetupProgress {
    /// The settings. `None` if they cannot be read.
    pub settings: Option<Settings>,
    /// The settings mention an App, so setup creates no other one.
    pub is_configured: bool,
    /// A problem and how to fix it.
    pub problem: Option<String>,
    pub app: Option<SetupApp>,
    /// Where the App is installed. Labels are created there.
    pub repositories: Vec<RepositoryName>,
    /// Results of creating labels: `None` if they exist, otherwise the reason for the failure.
    pub labels: BTreeMap<RepositoryName, Option<String>>,
    /// Where the default agent gets its key.
    pub agent_key: Option<String>,
}

/// The App as GitHub knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupApp {
    pub slug: String,
    /// GitHub's web address.
    pub web: Url,
    /// The App's page there.
    pub page: Url,
}

impl SetupApp {
    /// The page where people choose the App's repositories.
    pub fn install_page(&self) -> String {
        format!("{}/installations/new", self.page.as_str().trim_end_matches('/'))
    }
}

impl SetupProgress {
    /// The number of repositories that still wait for their labels.
    pub fn unlabeled(&self) -> usize {
        self.repositories.iter().filter(|name| !self.labels.contains_key(*name)).count()
    }

    /// Whether its labels exist.
    pub fn has_labels(&self, repository: &RepositoryName) -> bool {
        self.labels.get(repository).is_some_and(Option::is_none)
    }

    pub fn step(&self) -> SetupStep {
        if self.app.is_none() {
            SetupStep::App
        } else if self.repositories.is_empty() || self.unlabeled() > 0 {
            SetupStep::Install
        } else if self.agent_key.is_none() {
            SetupStep::Agent
        } else {
            SetupStep::Check
        }
    }

    /// Checks the current state and creates the labels of repositories without a result.
    pub async fn observe(file: &Path, labels: BTreeMap<RepositoryName, Option<String>>) -> Self {
        let mut progress = Self { is_configured: true, labels, ..Self::default() };
        let settings = match Settings::load(Some(file).filter(|file| file.exists()), std::env::vars()) {
            Ok(settings) => settings,
            Err(error) if is_new(&error) => return Self::default(),
            Err(error) => {
                progress.problem = Some(error.to_string());
                return progress;
            }
        };
        progress.agent_key = agent_key(&settings);
        match app(&settings).await {
            Ok((app, github)) => {
                progress.app = Some(app);
                progress.installed(&github, &settings.defaults.label).await;
            }
            Err(error) => progress.problem = Some(said(&error)),
        }
        progress.settings = Some(settings);
        progress
    }

    /// Finds the App's repositories and creates missing labels. A failure in one repository does not block the others.
    async fn installed(&mut self, github: &GitHub, label: &str) {
        let begun = Instant::now();
        let listed = match listed(github).await {
            Ok(listed) => listed,
            Err(error) => {
                self.problem = Some(format!("GitHub does not say where the App is installed: {error}"));
                return;
            }
        };
        for at in listed {
            let name = at.repository.clone();
            self.repositories.push(name.clone());
            if !self.labels.contains_key(&name) && begun.elapsed() <= LABELS_AT_ONCE {
                let refused = github.make_labels(&at, label).await.err();
                self.labels.insert(name, refused.map(|error| error.to_string()));
            }
        }
        self.repositories.sort();
        let refused = self.labels.iter().find_map(|(name, refused)| Some((name, refused.as_ref()?)));
        self.problem = refused.map(|(name, why)| format!("The labels of {name} could not be made: {why}"));
    }
}

/// Whether no App is configured yet.
fn is_new(error: &SettingsError) -> bool {
    let SettingsError::Missing { keys } = error else { return false };
    ["github.app_id", "github.private_key_path"].iter().all(|key| keys.iter().any(|missing| missing == key))
}

fn said(error: &GitHubError) -> String {
    if !matches!(error.kind, ErrorKind::Unauthorized | ErrorKind::NotFound) {
        return error.to_string();
    }
    format!(
        "GitHub does not know the App of the settings ({error}): check github.app_id, github.private_key_path, \
         github.api_url and this machine's clock. To create another App, take these keys out of the file."
    )
}

async fn app(settings: &Settings) -> Result<(SetupApp, GitHub), GitHubError> {
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
    let told = known.html_url.as_deref().and_then(|url| Url::parse(url).ok());
    let page = told.filter(|page| page.origin() == web.origin()).unwrap_or_else(|| {
        let mut page = web.clone();
        page.set_path(&format!("{}/apps/{}", web.path().trim_end_matches('/'), known.slug));
        page
    });
    Ok((SetupApp { slug: known.slug, web, page }, asked))
}

async fn listed(github: &GitHub) -> Result<Vec<InstalledRepository>, GitHubError> {
    let mut all = Vec::new();
    for installation in github.installations().await?.into_iter().filter(|one| !one.suspended) {
        let repositories = github.installed_repositories(installation.id).await?;
        all.extend(repositories.into_iter().filter(|one| !one.archived).map(|one| one.at));
    }
    Ok(all)
}

/// The variables that may hold the default agent's key.
pub(crate) fn key_variables(settings: &Settings) -> Vec<String> {
    let Some(agent) = settings.agents.get(&settings.defaults.agent) else { return Vec::new() };
    let names: Vec<String> = match &agent.runtime {
        RuntimeKind::Claude if agent.env.is_empty() => {
            ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"]
                .map(str::to_owned)
                .to_vec()
        }
        RuntimeKind::Claude | RuntimeKind::Command => agent.env.clone(),
        RuntimeKind::Api(api) => api.key_env.iter().cloned().collect(),
    };
    names.into_iter().filter(|name| is_credential(name)).collect()
}

/// Where the agent's key comes from. `None` if it is missing.
fn agent_key(settings: &Settings) -> Option<String> {
    let variables = key_variables(settings);
    if variables.is_empty() {
        return Some(format!("the agent {} needs none", settings.defaults.agent));
    }
    variables.into_iter().find(|name| settings.variables.get(name).is_some())
}
