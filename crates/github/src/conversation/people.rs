//! What we say to people where they said something: in their threads, with a reaction, by asking them to look again.

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

/// The last hundred comments: an answer of ours that has more than that behind it was read long ago.
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
    /// What is answered, and what was done about it.
    pub reply: &'a ThreadReply,
    pub body: &'a str,
}

impl ThreadAnswer<'_> {
    /// What the answer begins with, unseen by readers: the comment that is answered, and how. An attempt in vain that
    /// is made good later is answered again.
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

/// Of another kind of node nothing is told.
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
    /// Only a thread's first comment can be answered.
    first: String,
    answered: bool,
    resolved: bool,
}

impl GitHub {
    /// Answers in a thread of a review, once, and settles the thread when a commit addresses it. A thread that is gone
    /// hears nothing.
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

    /// How a thread of this pull request stands; none when there is no such thread.
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
        // It goes into a route.
        let first = first.filter(|id| is_here && id.bytes().all(|b| b.is_ascii_digit()));
        let Some(first) = first else { return Ok(None) };
        let mut said = wire.last.into_iter().flat_map(|list| list.nodes).flatten();
        let answered =
            said.any(|comment| comment.viewer_did_author && comment.body.trim_start().starts_with(marker));
        Ok(Some(ThreadAnswerState { first, answered, resolved: wire.is_resolved }))
    }

    /// Reacts to a comment. Doing it twice is doing it once; a comment that is gone needs no reaction.
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

    /// Asks people for their review, again or for the first time. Who cannot review here is passed over: the rest is
    /// asked all the same.
    pub async fn request_review(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        logins: &[&str],
    ) -> Result<()> {
        let route = at.route(&format!("/pulls/{pull}/requested_reviewers"));
        // One by one: GitHub asks all of a list or none.
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
