//! Where the App is installed and what happened there, for polling instead of webhooks.
//!
//! Only here does a token cover all repositories of an installation: to list them, and for nothing else.

use std::collections::BTreeSet;

use chrono::{DateTime, SecondsFormat, Utc};
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::connection::RequestSender;
use super::endpoints::InstalledRepository;
use super::error::{GitHubError, Result};
use super::permissions::TokenPermissions;
use super::queries::LabelWire;
use super::service::{GitHub, MOST_PAGES, PAGE, pages};
use super::transport::GitHubRequest;
use journeyman_order::{InstallationId, IssueNumber, PullNumber, RepositoryId, RepositoryName};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AppInstallation {
    pub id: InstallationId,
    /// Suspended by its owner, so that requests in its name fail.
    pub suspended: bool,
}

#[derive(Debug, Clone)]
pub struct ListedRepository {
    pub id: RepositoryId,
    pub at: InstalledRepository,
    /// Read-only for everybody.
    pub archived: bool,
    /// GitHub's description, in the form that deliveries have.
    pub facts: Value,
}

/// An issue or pull request that changed.
#[derive(Debug, Clone)]
pub struct ChangedThread {
    pub number: IssueNumber,
    pub is_pull: bool,
    pub is_open: bool,
    pub is_merged: bool,
    pub labels: Vec<String>,
    /// GitHub's description, in the form that deliveries have.
    pub facts: Value,
}

/// An event on an issue or a pull request.
#[derive(Debug, Clone)]
pub struct ThreadEvent {
    pub id: u64,
    /// Its kind, such as `labeled` or `closed`.
    pub event: String,
    /// The sender, in the form that deliveries have; null if the account is unknown.
    pub actor: Value,
    pub at: DateTime<Utc>,
    pub label: Option<String>,
}

/// A comment on an issue or a pull request, or a review.
#[derive(Debug, Clone)]
pub struct ThreadRemark {
    pub id: u64,
    /// The number of its issue or pull request.
    pub on: IssueNumber,
    pub author: Value,
    pub at: DateTime<Utc>,
    /// GitHub's description, in the form that deliveries have.
    pub facts: Value,
}

/// The format of a timestamp in a query.
fn moment(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

impl GitHub {
    pub async fn installations(&self) -> Result<Vec<AppInstallation>> {
        #[derive(Deserialize)]
        struct Wire {
            id: InstallationId,
            suspended_at: Option<Value>,
        }
        let all = pages(MOST_PAGES, |page| async move {
            let request = GitHubRequest::get(format!("/app/installations?per_page={PAGE}&page={page}"));
            let answer = self.ask_as_app(&request).await?;
            Ok((answer.json()?, answer.has_next))
        });
        let all: Vec<Wire> = known_of(all.await?, "installations");
        let installed = all.into_iter();
        Ok(installed
            .map(|one| AppInstallation { id: one.id, suspended: one.suspended_at.is_some() })
            .collect())
    }

    pub async fn installed_repositories(
        &self,
        installation: InstallationId,
    ) -> Result<Vec<ListedRepository>> {
        #[derive(Deserialize)]
        struct Token {
            token: SecretString,
        }
        #[derive(Deserialize)]
        struct Wire {
            repositories: Vec<Value>,
        }
        let metadata = TokenPermissions::ReadMetadata;
        let route = format!("/app/installations/{installation}/access_tokens");
        let body = json!({"permissions": metadata.wire()});
        let Token { token } = self.ask_as_app(&GitHubRequest::post(route, body)).await?.json()?;
        let token = &token;
        let all = pages(MOST_PAGES, |page| async move {
            let request =
                GitHubRequest::get(format!("/installation/repositories?per_page={PAGE}&page={page}"));
            let once = || self.send(RequestSender::Token(token.clone()), &request, Some(metadata));
            let answer = self.repeating(once).await?;
            let Wire { repositories } = answer.json()?;
            Ok((repositories, answer.has_next))
        });
        let all = known_of(all.await?, "repositories of an installation");
        all.into_iter().map(|facts| listed(installation, facts)).collect()
    }

    /// Issues and pull requests that changed since then, oldest change first.
    pub async fn changed_threads(
        &self,
        at: &InstalledRepository,
        since: DateTime<Utc>,
    ) -> Result<Vec<ChangedThread>> {
        #[derive(Deserialize)]
        struct Wire {
            number: IssueNumber,
            state: String,
            pull_request: Option<WirePull>,
            #[serde(default)]
            labels: Vec<LabelWire>,
        }
        #[derive(Deserialize)]
        struct WirePull {
            merged_at: Option<Value>,
        }
        self.changes(at, "/issues?state=all&", since, |facts| {
            let wire: Wire = read(&facts)?;
            Ok(Some(ChangedThread {
                number: wire.number,
                is_pull: wire.pull_request.is_some(),
                is_open: wire.state == "open",
                is_merged: wire.pull_request.is_some_and(|pull| pull.merged_at.is_some()),
                labels: wire.labels.into_iter().map(|label| label.name).collect(),
                facts,
            }))
        })
        .await
    }

    /// The events of an issue or a pull request, in order.
    pub async fn thread_events(
        &self,
        at: &InstalledRepository,
        thread: IssueNumber,
    ) -> Result<Vec<ThreadEvent>> {
        #[derive(Deserialize)]
        struct Wire {
            id: u64,
            event: String,
            actor: Option<Value>,
            created_at: DateTime<Utc>,
            label: Option<LabelWire>,
        }
        let route = at.route(&format!("/issues/{thread}/events"));
        let all: Vec<Wire> = self.list(at, TokenPermissions::ReadThreads, &route).await?;
        let events = all.into_iter().map(|wire| {
            let Wire { id, event, actor, created_at, label } = wire;
            let label = label.map(|label| label.name);
            ThreadEvent { id, event, actor: actor.unwrap_or_default(), at: created_at, label }
        });
        Ok(events.collect())
    }

    /// Comments on issues and pull requests, written or changed since then.
    pub async fn comments_since(
        &self,
        at: &InstalledRepository,
        since: DateTime<Utc>,
    ) -> Result<Vec<ThreadRemark>> {
        #[derive(Deserialize)]
        struct Wire {
            id: u64,
            issue_url: String,
            user: Option<Value>,
            created_at: DateTime<Utc>,
        }
        self.changes(at, "/issues/comments?", since, |facts| {
            let wire: Wire = read(&facts)?;
            let number = wire.issue_url.rsplit('/').next().and_then(|number| number.parse().ok());
            let (Some(number), Some(author)) = (number, wire.user) else { return Ok(None) };
            let (id, on, at) = (wire.id, IssueNumber(number), wire.created_at);
            Ok(Some(ThreadRemark { id, on, author, at, facts }))
        })
        .await
    }

    /// Each page asks for changes since the last entry of the previous one. Numbered pages could skip an entry:
    /// whatever changes meanwhile moves to the end and shifts the rest.
    async fn changes<T>(
        &self,
        at: &InstalledRepository,
        list: &str,
        since: DateTime<Utc>,
        one: impl Fn(Value) -> Result<Option<T>>,
    ) -> Result<Vec<T>> {
        #[derive(Deserialize)]
        struct Wire {
            id: u64,
            updated_at: DateTime<Utc>,
        }
        let (mut changes, mut known) = (Vec::new(), BTreeSet::new());
        let (mut from, mut page, mut in_vain) = (since, 1, 0);
        loop {
            let query =
                format!("sort=updated&direction=asc&since={}&per_page={PAGE}&page={page}", moment(from));
            let request = GitHubRequest::get(at.route(&format!("{list}{query}")));
            let answer = self.call(at, TokenPermissions::ReadThreads, &request).await?;
            let listed: Vec<Value> = answer.json()?;
            let is_last = listed.is_empty() || !answer.has_next.unwrap_or(listed.len() >= PAGE);
            let (mut last, before) = (from, known.len());
            for facts in listed {
                let wire: Wire = read(&facts)?;
                last = last.max(wire.updated_at);
                if known.insert(wire.id) {
                    changes.extend(one(facts)?);
                }
            }
            if is_last {
                return Ok(changes);
            }
            in_vain = if known.len() > before { 0 } else { in_vain + 1 };
            if in_vain > MOST_PAGES {
                return Err(GitHubError::unexpected(format!("{list} lists the same again and again")));
            }
            (from, page) = if last > from { (last, 1) } else { (from, page + 1) };
        }
    }

    /// The submitted reviews of a pull request.
    pub async fn submitted_reviews(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
    ) -> Result<Vec<ThreadRemark>> {
        #[derive(Deserialize)]
        struct Wire {
            id: u64,
            user: Option<Value>,
            submitted_at: Option<DateTime<Utc>>,
        }
        let route = at.route(&format!("/pulls/{pull}/reviews"));
        let all: Vec<Value> = self.list(at, TokenPermissions::ReadPulls, &route).await?;
        let mut reviews = Vec::new();
        for facts in all {
            let wire: Wire = read(&facts)?;
            let (Some(at), Some(author)) = (wire.submitted_at, wire.user) else { continue };
            reviews.push(ThreadRemark { id: wire.id, on: IssueNumber(pull.0), author, at, facts });
        }
        Ok(reviews)
    }
}

/// An overlong list is cut, not rejected.
fn known_of<T>((all, is_whole): (Vec<T>, bool), what: &str) -> Vec<T> {
    if !is_whole {
        tracing::warn!(known = all.len(), "there are more {what} than are looked at");
    }
    all
}

fn read<T: DeserializeOwned>(facts: &Value) -> Result<T> {
    T::deserialize(facts).map_err(|error| {
        GitHubError::unexpected(format!(
            "an entry of a list is not what GitHub's documentation says: {error}"
        ))
    })
}

fn listed(installation: InstallationId, facts: Value) -> Result<ListedRepository> {
    #[derive(Deserialize)]
    struct Wire {
        id: RepositoryId,
        full_name: RepositoryName,
        #[serde(default)]
        archived: bool,
    }
    let Wire { id, full_name, archived } = read(&facts)?;
    Ok(ListedRepository {
        id,
        at: InstalledRepository { repository: full_name, installation },
        archived,
        facts,
    })
}
