//! Comments of ours: each found again by its id, or by a hidden marker and its author, so that none is written twice.

use serde::Deserialize;
use serde_json::json;

use super::endpoints::InstalledRepository;
use super::error::{Result, found};
use super::gate::WritePriority;
use super::identity::Writer;
use super::permissions::TokenPermissions;
use super::service::GitHub;
use super::transport::{GitHubRequest, GitHubResponse};
use journeyman_order::length::{LONGEST_BODY, fit};
use journeyman_order::{IssueNumber, OrderId, PullNumber};

#[derive(Deserialize)]
struct IssueCommentWire {
    id: u64,
    body: Option<String>,
    #[serde(flatten)]
    writer: Writer,
}

/// What a comment begins with, unseen by readers. Anybody can write one, so that it counts only in a comment
/// of which something else says that it is ours.
struct CommentMarker {
    line: String,
    about: String,
    permissions: TokenPermissions,
}

impl CommentMarker {
    /// `name` is ours: letters, digits and `: / - _ .`, without `--`, which would end the hidden text.
    fn new(at: &InstalledRepository, issue: IssueNumber, name: &str, permissions: TokenPermissions) -> Self {
        let about = format!("{} {issue} {name}", at.repository);
        Self { line: format!("<!-- journeyman:{name} -->"), about, permissions }
    }

    fn body(&self, text: &str) -> String {
        fit(&format!("{}\n{text}", self.line), LONGEST_BODY)
    }

    fn begins(&self, comment: &IssueCommentWire) -> bool {
        comment.body.as_deref().is_some_and(|body| body.trim_start().starts_with(&self.line))
    }
}

/// Whether GitHub would show the same: it changes line ends and cuts white space at the end.
pub(super) fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| text.replace("\r\n", "\n").trim_end().to_owned();
    plain(one) == plain(other)
}

impl GitHub {
    /// Makes the status comment of an order say this, and answers its id. The first call creates it, later ones edit
    /// it in place, and nothing is written when it says so already. `known` is what an earlier call answered.
    ///
    /// An edit is what everything else overtakes. So the text is asked for again when its turn has come: it then says
    /// what is known by then, and all that happened meanwhile is in this one edit.
    pub async fn set_status_comment<F: Future<Output = String>>(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        order: OrderId,
        known: Option<u64>,
        text: impl Fn() -> F,
    ) -> Result<u64> {
        let marker = CommentMarker::new(at, issue, &format!("status:{order}"), TokenPermissions::WriteIssues);
        self.set(at, issue, &marker, known, WritePriority::Status, text).await
    }

    /// Makes the comment of a pull request with this marker say this, as the status comment does.
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

    /// A comment that is new is important; `edits` is what its edits are.
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

    /// Says something on an issue or a pull request, once for a marker: when there is a comment of ours with it,
    /// nothing is written.
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

    /// A comment of ours, if it is there and has this marker.
    async fn comment_with(
        &self,
        at: &InstalledRepository,
        marker: &CommentMarker,
        id: u64,
    ) -> Result<Option<IssueCommentWire>> {
        let route = format!("/issues/comments/{id}");
        let there: Option<IssueCommentWire> = found(self.read(at, marker.permissions, &route).await)?;
        Ok(there.filter(|comment| marker.begins(comment)))
    }

    /// The oldest comment of ours with this marker. Should there be more, because a creation that we had given up
    /// on was carried out after all, the others are taken away.
    async fn look_for(
        &self,
        at: &InstalledRepository,
        issue: IssueNumber,
        marker: &CommentMarker,
    ) -> Result<Option<IssueCommentWire>> {
        let route = at.route(&format!("/issues/{issue}/comments"));
        let comments: Vec<IssueCommentWire> = self.list(at, marker.permissions, &route).await?;
        let mut ours: Vec<IssueCommentWire> = Vec::new();
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
        let made = |answer: GitHubResponse| answer.json::<IssueCommentWire>().map(|comment| comment.id);
        let look = || async { Ok(self.look_for(at, issue, marker).await?.map(|found| found.id)) };
        self.create_once(at, marker.permissions, request, made, look).await
    }

    async fn edit<F: Future<Output = String>>(
        &self,
        at: &InstalledRepository,
        marker: &CommentMarker,
        found: &IssueCommentWire,
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
