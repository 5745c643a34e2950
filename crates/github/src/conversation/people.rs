//! What we post where people wrote: replies in threads, reactions, and requests for review.

use serde::Deserialize;
use serde_json::{Value, json};

use super::wire::{NodeList, NumberedWire};
use crate::endpoints::InstalledRepository;
use crate::error::{ErrorKind, Result, found};
use crate::gate::WritePriority;
use crate::permissions::TokenPermissions;
use crate::service::GitHub;
use crate::transport::GitHubRequest;
use journeyman_order::conversation::{CommentRef, PointResolution, Reaction, ThreadReply};
use journeyman_order::length::{LONGEST_BODY, fit};
use journeyman_order::{OrderId, PullNumber};

/// The last hundred comments: if more follow our reply, it was read long ago.
const LOOK: &str = "query($id: ID!) {
  node(id: $id) {
    ... on PullRequestReviewThread {
      isResolved
      pullRequest { number }
      first: comments(first: 1) { nodes { fullDatabaseId } }
      last: comments(last: 100) { nodes { body viewerDidAuthor } }
    }
  }
}";

const RESOLVE: &str = "mutation($id: ID!) {
  resolveReviewThread(input: {threadId: $id}) { thread { id isResolved } }
}";

#[derive(Debug, Clone, Copy)]
pub struct ThreadAnswer<'a> {
    pub order: OrderId,
    /// The point that is answered, and its resolution.
    pub reply: &'a ThreadReply,
    pub body: &'a str,
}

impl ThreadAnswer<'_> {
    /// The invisible start of a reply: the answered comment and the resolution. If an attempt fails and a later one
    /// succeeds, that is a new reply.
    fn marker(&self) -> String {
        let how = match &self.reply.done {
            PointResolution::In(commit) => commit.short().to_owned(),
            PointResolution::Unsaid(commit) => format!("unsaid-{}", commit.short()),
            PointResolution::Nothing => "nothing".to_owned(),
            PointResolution::InVain => "in-vain".to_owned(),
        };
        format!("<!-- journeyman:reply:{}:{}:{how} -->", self.order, self.reply.answers)
    }
}

#[derive(Deserialize)]
struct AnswerThreadData {
    node: Option<AnswerThreadWire>,
}

/// All fields are absent for another kind of node.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerThreadWire {
    #[serde(default)]
    is_resolved: bool,
    pull_request: Option<AnswerPullWire>,
    first: Option<NodeList<NumberedWire>>,
    last: Option<NodeList<LastCommentWire>>,
}

#[derive(Deserialize)]
struct AnswerPullWire {
    number: PullNumber,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastCommentWire {
    body: String,
    viewer_did_author: bool,
}

struct ThreadAnswerState {
    /// Only a thread's first comment accepts replies.
    first: String,
    answered: bool,
    resolved: bool,
}

impl GitHub {
    /// Replies in a review thread, once, and resolves the thread if a commit addresses it. Does nothing if the thread
    /// is gone.
    pub async fn answer_thread(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        answer: &ThreadAnswer<'_>,
    ) -> Result<()> {
        let thread = answer.reply.thread.as_str();
        let _turn = self.turn(&format!("{at:?} {thread}")).await;
        let marker = answer.marker();
        let Some(state) = self.thread_answer_state(at, pull, thread, &marker).await? else {
            tracing::info!(%pull, thread, "a thread that was to be answered is gone");
            return Ok(());
        };
        if !state.answered {
            let body = fit(&format!("{marker}\n{}", answer.body), LONGEST_BODY);
            let route = at.route(&format!("/pulls/{pull}/comments/{}/replies", state.first));
            let request = GitHubRequest::post(route, json!({"body": body}));
            let look = || async {
                let state = self.thread_answer_state(at, pull, thread, &marker).await?;
                Ok(state.filter(|state| state.answered).map(drop))
            };
            let said = self.create_once(at, TokenPermissions::WritePulls, request, |_| Ok(()), look).await;
            if found(said)?.is_none() {
                tracing::info!(%pull, thread, "a thread that was to be answered is gone");
                return Ok(());
            }
        }
        if !state.resolved && matches!(answer.reply.done, PointResolution::In(_)) {
            let request =
                GitHubRequest::graphql(RESOLVE, json!({"id": thread})).yielding(WritePriority::Important);
            let what = "settle the thread";
            found(self.graphql::<Value>(at, TokenPermissions::ReadyPulls, what, &request).await)?;
        }
        Ok(())
    }

    /// The state of a thread of this pull request; `None` if there is no such thread.
    async fn thread_answer_state(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        thread: &str,
        marker: &str,
    ) -> Result<Option<ThreadAnswerState>> {
        let request = GitHubRequest::graphql(LOOK, json!({"id": thread}));
        let looked = self.graphql(at, TokenPermissions::ReadPulls, "tell the review thread", &request).await;
        let Some(AnswerThreadData { node: Some(wire) }) = found(looked)? else { return Ok(None) };
        let is_here = wire.pull_request.is_some_and(|found| found.number == pull);
        let first = wire.first.into_iter().flat_map(|list| list.nodes).flatten().next();
        let first = first.and_then(|comment| comment.full_database_id);
        // It becomes part of a route.
        let first = first.filter(|id| is_here && id.bytes().all(|b| b.is_ascii_digit()));
        let Some(first) = first else { return Ok(None) };
        let mut said = wire.last.into_iter().flat_map(|list| list.nodes).flatten();
        let answered =
            said.any(|comment| comment.viewer_did_author && comment.body.trim_start().starts_with(marker));
        Ok(Some(ThreadAnswerState { first, answered, resolved: wire.is_resolved }))
    }

    /// Reacts to a comment. Repeats have no effect; a deleted comment is ignored.
    pub async fn react(
        &self,
        at: &InstalledRepository,
        comment: CommentRef,
        reaction: Reaction,
    ) -> Result<()> {
        let (route, permissions) = match comment {
            CommentRef::Issue(id) => (format!("/issues/comments/{id}/reactions"), TokenPermissions::Converse),
            CommentRef::Review(id) => {
                (format!("/pulls/comments/{id}/reactions"), TokenPermissions::WritePulls)
            }
        };
        let content = match reaction {
            Reaction::Eyes => "eyes",
            Reaction::Rocket => "rocket",
            Reaction::Confused => "confused",
        };
        let request = GitHubRequest::post(at.route(&route), json!({"content": content}));
        if found(self.call(at, permissions, &request).await)?.is_none() {
            tracing::info!(?comment, "a comment that was to be reacted to is gone");
        }
        Ok(())
    }

    /// Requests reviews, for the first time or again. People who cannot review here are skipped.
    pub async fn request_review(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        logins: &[&str],
    ) -> Result<()> {
        let route = at.route(&format!("/pulls/{pull}/requested_reviewers"));
        // One by one: GitHub accepts a list as a whole or not at all.
        for login in logins {
            let request = GitHubRequest::post(route.as_str(), json!({"reviewers": [login]}));
            match self.call(at, TokenPermissions::WritePulls, &request).await {
                Err(error) if error.kind == ErrorKind::Invalid => {
                    tracing::info!(%pull, login, %error, "cannot be asked for a review");
                }
                asked => drop(asked?),
            }
        }
        Ok(())
    }
}
