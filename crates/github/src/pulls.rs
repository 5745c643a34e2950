//! Pull requests: opened once, found by branch, edited, marked ready; and their branches, deleted when no longer
//! needed.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use super::endpoints::InstalledRepository;
use super::error::{ErrorKind, GitHubError, Result, found};
use super::gate::WritePriority;
use super::identity::Writer;
use super::permissions::TokenPermissions;
use super::queries::{IssueState, LabelWire, percent_encoded};
use super::service::GitHub;
use super::transport::GitHubRequest;
use journeyman_order::conversation::{Mergeability, PullSnapshotState};
use journeyman_order::length::{LONGEST_BODY, fit};
use journeyman_order::{BranchName, CommitSha, IssueNumber, IssueText, PullNumber, UserId};

#[derive(Debug, Clone, Copy)]
pub struct NewPullRequest<'a> {
    pub head: &'a BranchName,
    /// The branch that it should be merged into.
    pub base: &'a str,
    pub title: &'a str,
    pub body: &'a str,
    pub draft: bool,
}

/// A pull request's current state on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: PullNumber,
    pub url: String,
    /// Its GraphQL id.
    pub node_id: String,
    /// The commit at the head of its branch.
    pub head_sha: CommitSha,
    pub draft: bool,
    pub state: PullSnapshotState,
}

#[derive(Deserialize)]
pub(super) struct PullRequestWire {
    number: PullNumber,
    html_url: String,
    node_id: String,
    title: String,
    body: Option<String>,
    pub(super) head: PullRequestHeadWire,
    base: PullRequestBaseWire,
    #[serde(default)]
    draft: bool,
    state: IssueState,
    merged_at: Option<String>,
    /// Lists do not say it.
    mergeable: Option<bool>,
    #[serde(default)]
    mergeable_state: String,
    #[serde(default)]
    labels: Vec<LabelWire>,
    #[serde(flatten)]
    writer: Writer,
}

#[derive(Deserialize)]
pub(super) struct PullRequestHeadWire {
    r#ref: String,
    pub(super) sha: CommitSha,
    /// `None` if the fork it came from was deleted.
    repo: Option<PullRequestRepoWire>,
}

#[derive(Deserialize)]
struct PullRequestBaseWire {
    r#ref: String,
    repo: Option<PullRequestRepoWire>,
}

#[derive(Deserialize)]
struct PullRequestRepoWire {
    full_name: String,
    pushed_at: Option<DateTime<Utc>>,
}

impl From<PullRequestWire> for PullRequest {
    fn from(wire: PullRequestWire) -> Self {
        Self {
            state: wire.state(),
            number: wire.number,
            url: wire.html_url,
            node_id: wire.node_id,
            head_sha: wire.head.sha,
            draft: wire.draft,
        }
    }
}

impl PullRequestWire {
    pub(super) fn state(&self) -> PullSnapshotState {
        match self.state {
            IssueState::Open => PullSnapshotState::Open,
            IssueState::Closed if self.merged_at.is_some() => PullSnapshotState::Merged,
            IssueState::Closed => PullSnapshotState::Closed,
        }
    }

    pub(super) fn mergeable(&self) -> Mergeability {
        match (self.mergeable, self.mergeable_state.as_str()) {
            (Some(false), _) | (_, "dirty") => Mergeability::Conflicts,
            (None, _) | (_, "unknown") => Mergeability::Unknown,
            (Some(true), "behind") => Mergeability::Behind,
            // Other blockers, such as checks or reviews, are not a git matter.
            (Some(true), _) => Mergeability::Cleanly,
        }
    }
}

/// Somebody's pull request, as it is to be verified or mended. Title and texts are as people wrote them, and hostile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignPull {
    pub title: String,
    pub body: String,
    pub url: String,
    pub head: CommitSha,
    /// The branch that it comes from, in the repository of its head.
    pub branch: String,
    /// The branch that it is to be merged into.
    pub base: String,
    /// The login, as GitHub shows it.
    pub author: String,
    /// `None` if the account was deleted.
    pub author_id: Option<UserId>,
    /// Whether an App opened it.
    pub is_by_a_bot: bool,
    /// Whether this App opened it.
    pub is_ours: bool,
    /// The repository that its head is in, if that is another one.
    pub fork: Option<String>,
    /// When anything was last pushed to the repository that its head is in.
    pub pushed_at: Option<DateTime<Utc>>,
    pub draft: bool,
    pub state: PullSnapshotState,
    pub labels: Vec<String>,
    /// The first issue of this repository that merging it closes.
    pub closes: Option<IssueText>,
}

/// What merging closes, by keyword or by hand. REST does not say.
const CLOSES: &str = "query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      closingIssuesReferences(first: 1) {
        nodes { number title body url labels(first: 20) { nodes { name } } }
      }
    }
  }
}";

#[derive(Deserialize)]
struct ClosedIssueWire {
    number: IssueNumber,
    title: String,
    body: String,
    url: String,
    labels: LabelNodes,
}

#[derive(Deserialize)]
struct LabelNodes {
    nodes: Vec<LabelWire>,
}

/// The outcome of deleting a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BranchDeletion {
    /// Deleted, now or before.
    Gone,
    /// Not deleted: it has someone else's commit, or it is protected.
    Kept { because: String },
}

/// GitHub's message for a second pull request from the same branch.
fn says_it_exists(error: &GitHubError) -> bool {
    error.message.to_lowercase().contains("pull request already exists")
}

impl GitHub {
    /// Opens a pull request, or finds the open one from this branch. If GitHub has no drafts (private repositories of
    /// some plans), it is opened as ready; see [`PullRequest::draft`].
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when the branch is missing or has no commits of its own; [`ErrorKind::Conflict`] when
    /// GitHub has one already but does not list it yet.
    pub async fn open_pull(&self, at: &InstalledRepository, new: NewPullRequest<'_>) -> Result<PullRequest> {
        let _turn = self.turn(&format!("pull {at:?} {}", new.head)).await;
        if let Some(open) = self.open_from(at, new.head, new.base).await? {
            return Ok(open.into());
        }
        let knows_no_drafts =
            |error: &GitHubError| error.kind == ErrorKind::Invalid && error.message.contains("Draft pull");
        let mut opened = self.post_pull(at, new, new.draft).await;
        if new.draft && opened.as_ref().is_err_and(knows_no_drafts) {
            opened = self.post_pull(at, new, false).await;
        }
        opened.map(PullRequest::from)
    }

    async fn post_pull(
        &self,
        at: &InstalledRepository,
        new: NewPullRequest<'_>,
        draft: bool,
    ) -> Result<PullRequestWire> {
        let body = json!({
            "head": new.head.as_str(),
            "base": new.base,
            "title": new.title,
            "body": fit(new.body, LONGEST_BODY),
            "draft": draft,
            "maintainer_can_modify": false,
        });
        let request = GitHubRequest::post(at.route("/pulls"), body);
        match self.call(at, TokenPermissions::WritePulls, &request).await {
            // The request was valid; the list read before was stale.
            Err(error) if error.kind == ErrorKind::Invalid && says_it_exists(&error) => {
                Err(GitHubError::new(ErrorKind::Conflict, error.message))
            }
            answer => answer?.json(),
        }
    }

    async fn open_from(
        &self,
        at: &InstalledRepository,
        head: &BranchName,
        base: &str,
    ) -> Result<Option<PullRequestWire>> {
        let filter = percent_encoded(&format!("{}:{head}", at.repository.owner()));
        let route = at.route(&format!("/pulls?state=open&head={filter}"));
        let pulls: Vec<PullRequestWire> = self.list(at, TokenPermissions::ReadPulls, &route).await?;
        // GitHub ignores a filter it does not understand, and a fork may have a branch of the same name.
        let name = at.repository.to_string();
        Ok(pulls.into_iter().find(|pull| {
            let ours = pull.head.repo.as_ref().is_some_and(|repo| repo.full_name.eq_ignore_ascii_case(&name));
            ours && pull.head.r#ref == head.as_str() && pull.base.r#ref == base
        }))
    }

    /// The open pull request from this branch, if this App opened it.
    pub async fn own_pull_from(
        &self,
        at: &InstalledRepository,
        head: &BranchName,
        base: &str,
    ) -> Result<Option<PullRequest>> {
        match self.open_from(at, head, base).await? {
            Some(open) if self.wrote(&open.writer).await? => Ok(Some(open.into())),
            Some(_) | None => Ok(None),
        }
    }

    pub(super) async fn pull_wire(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
    ) -> Result<PullRequestWire> {
        self.read(at, TokenPermissions::ReadPulls, &format!("/pulls/{pull}")).await
    }

    /// A pull request's current state.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it does not exist.
    pub async fn pull(&self, at: &InstalledRepository, pull: PullNumber) -> Result<PullRequest> {
        Ok(self.pull_wire(at, pull).await?.into())
    }

    /// Somebody's pull request with what it is to do.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when it does not exist.
    pub async fn foreign_pull(&self, at: &InstalledRepository, pull: PullNumber) -> Result<ForeignPull> {
        let wire = self.pull_wire(at, pull).await?;
        let variables = json!({"owner": at.repository.owner(), "name": at.repository.name(), "number": pull});
        let (what, request) =
            ("tell what the pull request closes", GitHubRequest::graphql(CLOSES, variables));
        let data: Value = self.graphql(at, TokenPermissions::ReadPulls, what, &request).await?;
        let first = data.pointer("/repository/pullRequest/closingIssuesReferences/nodes/0");
        let first = first.filter(|first| !first.is_null()).map(ClosedIssueWire::deserialize).transpose();
        let first =
            first.map_err(|error| GitHubError::unexpected(format!("GitHub's closed issues: {error}")))?;
        let state = wire.state();
        let is_ours = self.wrote(&wire.writer).await?;
        let here = at.repository.to_string();
        let here = wire.base.repo.map_or(here, |base| base.full_name);
        let pushed_at = wire.head.repo.as_ref().and_then(|head| head.pushed_at);
        let head = wire.head.repo.map_or_else(|| "a deleted repository".to_owned(), |head| head.full_name);
        let names = |labels: Vec<LabelWire>| labels.into_iter().map(|label| label.name).collect();
        Ok(ForeignPull {
            title: wire.title,
            body: wire.body.unwrap_or_default(),
            url: wire.html_url,
            head: wire.head.sha,
            branch: wire.head.r#ref,
            base: wire.base.r#ref,
            author: wire.writer.login().to_owned(),
            author_id: wire.writer.user.as_ref().and_then(|user| user.id),
            is_by_a_bot: wire.writer.is_bot(),
            is_ours,
            fork: Some(head).filter(|head| !head.eq_ignore_ascii_case(&here)),
            pushed_at,
            draft: wire.draft,
            state,
            labels: names(wire.labels),
            closes: first.map(|ClosedIssueWire { number, title, body, url, labels }| IssueText {
                number,
                title,
                body,
                url,
                labels: names(labels.nodes),
            }),
        })
    }

    /// Updates a pull request's title and body; writes nothing if they are unchanged.
    pub async fn update_pull(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        title: Option<&str>,
        body: &str,
    ) -> Result<()> {
        let body = fit(body, LONGEST_BODY);
        let says_so = |wire: &PullRequestWire| {
            let there = wire.body.as_deref().unwrap_or_default().replace("\r\n", "\n");
            there.trim_end() == body.trim_end() && title.is_none_or(|title| title == wire.title)
        };
        if says_so(&self.pull_wire(at, pull).await?) {
            return Ok(());
        }
        let mut change = json!({"body": body});
        if let Some(title) = title {
            change["title"] = json!(title);
        }
        let request = GitHubRequest::patch(at.route(&format!("/pulls/{pull}")), change);
        self.call(at, TokenPermissions::WritePulls, &request).await.map(drop)
    }

    /// Marks a pull request ready and verifies it. Only GraphQL can do this.
    ///
    /// # Errors
    /// [`ErrorKind::Unexpected`] when GitHub accepts it but it is still a draft; [`ErrorKind::Invalid`] when it is no
    /// longer open.
    pub async fn mark_ready(&self, at: &InstalledRepository, pull: &PullRequest) -> Result<()> {
        let now = self.pull(at, pull.number).await?;
        if !now.draft {
            return Ok(());
        }
        if now.state != PullSnapshotState::Open {
            return Err(GitHubError::new(
                ErrorKind::Invalid,
                format!("pull request #{} is closed and stays a draft; reopen it first", pull.number),
            ));
        }
        let query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) \
                     { pullRequest { id isDraft } } }";
        let what = "take the pull request out of draft";
        let request =
            GitHubRequest::graphql(query, json!({"id": now.node_id})).yielding(WritePriority::Important);
        let told = self.graphql::<Value>(at, TokenPermissions::ReadyPulls, what, &request).await;
        // The actual state decides: the answer may be an error after success, or a success without effect.
        match self.pull(at, pull.number).await {
            Ok(after) if !after.draft => Ok(()),
            Ok(_) => Err(told.err().unwrap_or_else(|| {
                GitHubError::unexpected(format!(
                    "GitHub took pull request #{} out of draft, it says, and it still is one; \
                     press \"Ready for review\" there",
                    pull.number
                ))
            })),
            Err(error) => Err(told.err().unwrap_or(error)),
        }
    }

    /// Deletes a branch if it is at this commit. Someone could push between check and deletion; the pull request keeps
    /// those commits and offers to restore the branch.
    pub async fn delete_branch(
        &self,
        at: &InstalledRepository,
        branch: &BranchName,
        commit: &CommitSha,
    ) -> Result<BranchDeletion> {
        #[derive(Deserialize)]
        struct Wire {
            object: ObjectWire,
        }
        #[derive(Deserialize)]
        struct ObjectWire {
            sha: CommitSha,
        }
        let name = branch.as_str().split('/').map(percent_encoded).collect::<Vec<_>>().join("/");
        let route = format!("/git/ref/heads/{name}");
        let there: Option<Wire> = found(self.read(at, TokenPermissions::ReadContents, &route).await)?;
        let Some(there) = there else { return Ok(BranchDeletion::Gone) };
        if there.object.sha != *commit {
            let because = format!("it is at {}, and not at {}", there.object.sha.short(), commit.short());
            return Ok(BranchDeletion::Kept { because });
        }
        let delete = GitHubRequest::delete(at.route(&format!("/git/refs/heads/{name}")))
            .yielding(WritePriority::Ordinary);
        match found(self.call(at, TokenPermissions::WriteContents, &delete).await) {
            Ok(_) => Ok(BranchDeletion::Gone),
            // "Reference does not exist" or a rule that forbids it: either way there is nothing left to do.
            Err(error)
                if error.is_forbidden() || matches!(error.kind, ErrorKind::Invalid | ErrorKind::Conflict) =>
            {
                Ok(BranchDeletion::Kept { because: error.message })
            }
            Err(error) => Err(error),
        }
    }
}
