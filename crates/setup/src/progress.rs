//! How far a setup has come, by the files and by GitHub.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use journeyman_agent::is_credential;
use journeyman_config::{RuntimeKind, Settings, SettingsError};
use journeyman_github::{AppCredentials, ErrorKind, GitHub, GitHubError, InstalledRepository, web_address};
use journeyman_order::RepositoryName;
use url::Url;

/// A page that waits for labels is shown again after this; GitHub lets nobody write quickly.
const LABELS_AT_ONCE: Duration = Duration::from_secs(4);

/// What has to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SetupStep {
    /// There is no App, or it cannot be used.
    App = 1,
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
    /// Something is said of an App: no other one is made in its place.
    pub is_configured: bool,
    /// What is not well, with what to do about it.
    pub problem: Option<String>,
    pub app: Option<SetupApp>,
    /// Where it is installed; labels are made there.
    pub repositories: Vec<RepositoryName>,
    /// What became of the labels there: nothing where they are made, and else why they could not be.
    pub labels: BTreeMap<RepositoryName, Option<String>>,
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

impl SetupApp {
    /// Where people choose its repositories.
    pub fn install_page(&self) -> String {
        format!("{}/installations/new", self.page.as_str().trim_end_matches('/'))
    }
}

impl SetupProgress {
    /// How many repositories have to wait for their labels.
    pub fn unlabeled(&self) -> usize {
        self.repositories.iter().filter(|name| !self.labels.contains_key(*name)).count()
    }

    /// Whether the labels are there.
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

    /// Looks; the labels of repositories of which nothing is known are made.
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

    /// Where it is installed, with the labels that are missing there. One repository in which they cannot be made stands in
    /// nobody's way.
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

/// Nothing was said of an App yet.
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

/// The variables in which the agent that works by default may have its key.
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

/// Where its key comes from; none where there is none.
fn agent_key(settings: &Settings) -> Option<String> {
    let variables = key_variables(settings);
    if variables.is_empty() {
        return Some(format!("the agent {} needs none", settings.defaults.agent));
    }
    variables.into_iter().find(|name| settings.variables.get(name).is_some())
}
