//! Reads repositories and their files, issues and people.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::Value;

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result, found};
use super::identity::Writer;
use super::permissions::TokenPermissions;
use super::service::GitHub;
use journeyman_order::{
    CommentCommand, InstallationId, IssueNumber, IssueText, Person, RepositoryId, RepositoryName,
};

/// A repository's current state on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryFacts {
    pub id: RepositoryId,
    /// Its current name; differs from the requested one after a rename.
    pub name: RepositoryName,
    /// The target branch of pull requests.
    pub default_branch: String,
}

/// An issue's current state on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueFacts {
    pub text: IssueText,
    /// Who opened it; `None` if the account was deleted.
    pub author: Option<Person>,
    pub state: IssueState,
    pub kind: IssueKind,
    pub labels: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueState {
    Open,
    Closed,
}

/// What an issue number belongs to: GitHub numbers issues and pull requests together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueKind {
    Issue,
    PullRequest,
}

#[derive(Deserialize)]
pub(super) struct LabelWire {
    pub(super) name: String,
}

/// A comment on an issue. Its text is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueComment {
    pub id: u64,
    pub login: String,
    /// The person who wrote it; `None` for a bot or a deleted account.
    pub person: Option<Person>,
    pub at: DateTime<Utc>,
    pub body: String,
}

#[derive(Deserialize)]
pub(super) struct CommentWire {
    pub(super) id: u64,
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) created_at: DateTime<Utc>,
    #[serde(flatten)]
    pub(super) writer: Writer,
}

impl GitHub {
    /// The App's installation for a repository.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the App is not installed there.
    pub async fn installation(&self, repository: &RepositoryName) -> Result<InstallationId> {
        match self.grants(repository).await {
            Err(error) if error.kind == ErrorKind::NotFound => Err(GitHubError::new(
                error.kind,
                format!(
                    "the App is not installed on {repository}, or there is no such repository; install it there"
                ),
            )),
            granted => Ok(granted?.id),
        }
    }

    /// A repository's id, current name and default branch.
    pub async fn repository(&self, at: &InstalledRepository) -> Result<RepositoryFacts> {
        #[derive(Deserialize)]
        struct Wire {
            id: RepositoryId,
            full_name: RepositoryName,
            default_branch: String,
        }
        let wire: Wire = self.read(at, TokenPermissions::ReadMetadata, "").await?;
        Ok(RepositoryFacts { id: wire.id, name: wire.full_name, default_branch: wire.default_branch })
    }

    /// An issue's current state.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it does not exist or was deleted.
    pub async fn issue(&self, at: &InstalledRepository, issue: IssueNumber) -> Result<IssueFacts> {
        #[derive(Deserialize)]
        struct Wire {
            number: IssueNumber,
            title: String,
            body: Option<String>,
            html_url: String,
            user: Option<Person>,
            state: IssueState,
            pull_request: Option<Value>,
            #[serde(default)]
            labels: Vec<LabelWire>,
        }
        let wire: Wire = self.read(at, TokenPermissions::ReadIssues, &format!("/issues/{issue}")).await?;
        let labels: Vec<String> = wire.labels.into_iter().map(|label| label.name).collect();
        Ok(IssueFacts {
            text: IssueText {
                number: wire.number,
                title: wire.title,
                body: wire.body.unwrap_or_default(),
                url: wire.html_url,
                labels: labels.clone(),
            },
            author: wire.user,
            state: wire.state,
            kind: if wire.pull_request.is_some() { IssueKind::PullRequest } else { IssueKind::Issue },
            labels,
        })
    }

    /// The relevant comments on an issue, oldest first: not ours, not commands, not empty.
    pub async fn issue_comments(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
    ) -> Result<Vec<IssueComment>> {
        let route = at.route(&format!("/issues/{issue}/comments"));
        let all: Vec<CommentWire> = self.list(at, TokenPermissions::ReadIssues, &route).await?;
        let mut comments = Vec::new();
        for CommentWire { id, body, created_at, writer } in all {
            let body = body.unwrap_or_default();
            let says_nothing = body.trim().is_empty() || CommentCommand::of(&body) != CommentCommand::None;
            if says_nothing || self.wrote(&writer).await? {
                continue;
            }
            let (login, person) = (writer.login().to_owned(), writer.person());
            comments.push(IssueComment { id, login, person, at: created_at, body });
        }
        Ok(comments)
    }

    /// Whether a person may currently write to the repository. The query is by login, but the id must match: someone
    /// else may have taken the login. The role `maintain` counts as `write`, as on GitHub; `triage` does not. Unknown
    /// people may not.
    pub async fn can_write(&self, at: &InstalledRepository, person: &Person) -> Result<bool> {
        #[derive(Deserialize)]
        struct Wire {
            permission: String,
            user: Option<Person>,
        }
        let login = percent_encoded(&person.login);
        let route = format!("/collaborators/{login}/permission");
        let wire: Option<Wire> = found(self.read(at, TokenPermissions::ReadMetadata, &route).await)?;
        let Some(wire) = wire else { return Ok(false) };
        let Some(user) = wire.user else {
            return Err(GitHubError::unexpected(format!(
                "GitHub did not say whose rights it told when asked about {:?}; nothing is allowed on that",
                person.login
            )));
        };
        Ok(user.id == person.id && matches!(wire.permission.as_str(), "admin" | "write"))
    }

    /// A file at a commit, branch or tag; `None` if there is no such file, or it is a directory or a submodule.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a path that leaves the repository, or a file over 1 MB, which this API does not
    /// return.
    pub async fn file(&self, at: &InstalledRepository, path: &str, git_ref: &str) -> Result<Option<Vec<u8>>> {
        if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(GitHubError::new(
                ErrorKind::Invalid,
                format!("{path:?} is not a path in a repository"),
            ));
        }
        let route: Vec<String> = path.split('/').map(percent_encoded).collect();
        let route = format!("/contents/{}?ref={}", route.join("/"), percent_encoded(git_ref));
        let entry: Option<Value> = found(self.read(at, TokenPermissions::ReadContents, &route).await)?;
        let Some(entry) = entry else { return Ok(None) };
        let field = |key: &str| entry.get(key).and_then(Value::as_str);
        // A directory is a list and has no type.
        if field("type") != Some("file") {
            return Ok(None);
        }
        let (Some("base64"), Some(content)) = (field("encoding"), field("content")) else {
            return Err(GitHubError::new(
                ErrorKind::Invalid,
                format!("{path} in {} is over 1 MB; make it smaller", at.repository),
            ));
        };
        let packed: String = content.split_ascii_whitespace().collect();
        let bytes = STANDARD
            .decode(packed)
            .map_err(|error| GitHubError::unexpected(format!("GitHub's encoding of {path}: {error}")))?;
        Ok(Some(bytes))
    }
}

/// Everything except letters, digits, `-`, `_` and `.`.
const NOT_IN_ROUTES: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// A text encoded as one component of a route.
pub(super) fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, NOT_IN_ROUTES).to_string()
}
