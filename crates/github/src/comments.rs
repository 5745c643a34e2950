//! Our comments, each found again by its id, or by a hidden marker and its author, so that none is written twice.

use std::fmt::Display;

use serde_json::json;

use super::endpoints::InstalledRepository;
use super::error::{Result, found};
use super::gate::WritePriority;
use super::permissions::TokenPermissions;
use super::queries::CommentWire;
use super::service::GitHub;
use super::transport::{GitHubRequest, GitHubResponse};
use journeyman_order::length::{LONGEST_BODY, fit};
use journeyman_order::{IssueNumber, PullNumber};

/// The invisible start of a comment. Anyone can write one, so it counts only in a comment that is known to be ours.
struct CommentMarker {
    line: String,
    about: String,
    permissions: TokenPermissions,
}

impl CommentMarker {
    /// `name` consists of letters, digits and `: / - _ .`, without `--`, which would end the HTML comment.
    fn new(at: &InstalledRepository, issue: IssueNumber, name: &str, permissions: TokenPermissions) -> Self {
        let about = format!("{} {issue} {name}", at.repository);
        Self { line: format!("<!-- journeyman:{name} -->"), about, permissions }
    }

    fn body(&self, text: &str) -> String {
        fit(&format!("{}\n{text}", self.line), LONGEST_BODY)
    }

    fn begins(&self, comment: &CommentWire) -> bool {
        comment.body.as_deref().is_some_and(|body| body.trim_start().starts_with(&self.line))
    }
}

/// Whether GitHub would show the same: it normalizes line ends and trims trailing whitespace.
pub(super) fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    plain(one) == plain(other)
}

impl GitHub {
    /// Updates the status comment about an order, or about what its orders share, and returns its id. The first call creates it, later ones edit it, and nothing
    /// is written if it is unchanged. `known` is the id from an earlier call.
    ///
    /// Everything else overtakes an edit. So the text is built when the edit's turn has come: one edit then contains
    /// everything that happened meanwhile.
    pub async fn set_status_comment<F: Future<Output = String>>(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        about: impl Display,
        known: Option<u64>,
        text: impl Fn() -> F,
    ) -> Result<u64> {
        let marker = CommentMarker::new(at, issue, &format!("status:{about}"), TokenPermissions::WriteIssues);
        self.set(at, issue, &marker, known, WritePriority::Status, text).await
    }

    /// Updates a pull request's comment with this marker, like the status comment.
    pub async fn set_pull_comment(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        marker: &str,
        body: &str,
    ) -> Result<()> {
        let thread = IssueNumber(pull.0);
        let marker = CommentMarker::new(at, thread, marker, TokenPermissions::Converse);
        let text = || std::future::ready(body.to_owned());
        self.set(at, thread, &marker, None, WritePriority::Ordinary, text).await.map(drop)
    }

    /// Creating a comment is important; `edits` is the priority of its edits.
    async fn set<F: Future<Output = String>>(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        marker: &CommentMarker,
        known: Option<u64>,
        edits: WritePriority,
        text: impl Fn() -> F,
    ) -> Result<u64> {
        let body = marker.body(&text().await);
        let _turn = self.turn(&marker.about).await;
        let there = match known {
            Some(id) => self.comment_with(at, marker, id).await?,
            None => None,
        };
        let found = match there {
            Some(there) => Some(there),
            None => self.look_for(at, issue, marker).await?,
        };
        match found {
            Some(found) if found.body.as_deref().is_some_and(|there| same(there, &body)) => Ok(found.id),
            Some(found) => self.edit(at, marker, &found, edits, text).await.map(|()| found.id),
            None => self.create(at, issue, marker, &body).await,
        }
    }

    /// Comments on an issue or a pull request, once per marker: if our comment with it exists, nothing is written.
    pub async fn comment(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        marker: &str,
        body: &str,
    ) -> Result<()> {
        let marker = CommentMarker::new(at, issue, marker, TokenPermissions::Converse);
        let body = marker.body(body);
        let _turn = self.turn(&marker.about).await;
        match self.look_for(at, issue, &marker).await? {
            Some(_) => Ok(()),
            None => self.create(at, issue, &marker, &body).await.map(drop),
        }
    }

    /// Our comment, if it exists and has this marker.
    async fn comment_with(
        &self,
        at: &InstalledRepository,
        marker: &CommentMarker,
        id: u64,
    ) -> Result<Option<CommentWire>> {
        let route = format!("/issues/comments/{id}");
        let there: Option<CommentWire> = found(self.read(at, marker.permissions, &route).await)?;
        Ok(there.filter(|comment| marker.begins(comment)))
    }

    /// Our oldest comment with this marker. Duplicates can exist if a creation succeeded after we gave up on it; they
    /// are deleted.
    async fn look_for(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        marker: &CommentMarker,
    ) -> Result<Option<CommentWire>> {
        let route = at.route(&format!("/issues/{issue}/comments"));
        let comments: Vec<CommentWire> = self.list(at, marker.permissions, &route).await?;
        let mut ours: Vec<CommentWire> = Vec::new();
        for comment in comments.into_iter().filter(|comment| marker.begins(comment)) {
            if self.wrote(&comment.writer).await? {
                ours.push(comment);
            }
        }
        ours.sort_by_key(|comment| comment.id);
        let mut ours = ours.into_iter();
        let oldest = ours.next();
        for double in ours {
            let request = GitHubRequest::delete(at.route(&format!("/issues/comments/{}", double.id)))
                .yielding(WritePriority::Ordinary);
            if let Err(error) = self.call(at, marker.permissions, &request).await {
                tracing::warn!(%error, "a comment that was written twice could not be taken away");
            }
        }
        Ok(oldest)
    }

    async fn create(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        marker: &CommentMarker,
        body: &str,
    ) -> Result<u64> {
        let route = at.route(&format!("/issues/{issue}/comments"));
        let request = GitHubRequest::post(route, json!({"body": body}));
        let made = |answer: GitHubResponse| answer.json::<CommentWire>().map(|comment| comment.id);
        let look = || async { Ok(self.look_for(at, issue, marker).await?.map(|found| found.id)) };
        self.create_once(at, marker.permissions, request, made, look).await
    }

    async fn edit<F: Future<Output = String>>(
        &self,
        at: &InstalledRepository,
        marker: &CommentMarker,
        found: &CommentWire,
        priority: WritePriority,
        text: impl Fn() -> F,
    ) -> Result<()> {
        let route = at.route(&format!("/issues/comments/{}", found.id));
        let permit = self.permit(at, marker.permissions, priority, &format!("PATCH {route}")).await?;
        let body = &marker.body(&text().await);
        if found.body.as_deref().is_some_and(|there| same(there, body)) {
            return Ok(());
        }
        let request = GitHubRequest::patch(route, json!({"body": body})).yielding(priority);
        self.authorized(at, marker.permissions, &request, Some(permit)).await.map(drop)
    }
}
