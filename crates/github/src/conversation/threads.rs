//! Review threads, through GraphQL.

use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::TextBudget;
use super::wire::{ActorWire, MentionMatcher, NodeList, NumberedWire, by_graphql};
use crate::endpoints::InstalledRepository;
use crate::error::{GitHubError, Result};
use crate::permissions::TokenPermissions;
use crate::service::{GitHub, MOST_PAGES};
use crate::transport::GitHubRequest;
use journeyman_order::PullNumber;
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::conversation::{CommentAuthor, PullReviewThread, PullReviewThreadComment};

/// Threads per page: each may have twenty comments of full length.
const PAGE: u32 = 20;

/// Reads the first and last comments of a thread; the middle of a long discussion is skipped. All of them share one
/// diff hunk.
const DOCUMENT: &str = "query($owner: String!, $name: String!, $number: Int!, $page: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: $page, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved path line originalLine diffSide
          begun: comments(first: 1) { nodes { diffHunk } }
          first: comments(first: 10) { nodes { ...said } }
          last: comments(last: 10) { nodes { ...said } }
        }
      }
    }
  }
}
fragment said on PullRequestReviewComment {
  fullDatabaseId body viewerDidAuthor
  author { __typename login ... on User { databaseId } }
  pullRequestReview { fullDatabaseId }
}";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewThreadPage {
    page_info: PageInfo,
    nodes: Vec<Option<ReviewThreadWire>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewThreadWire {
    id: String,
    is_resolved: bool,
    path: String,
    line: Option<u64>,
    original_line: Option<u64>,
    diff_side: String,
    begun: NodeList<ThreadStartWire>,
    first: NodeList<ThreadCommentWire>,
    last: NodeList<ThreadCommentWire>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadStartWire {
    diff_hunk: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadCommentWire {
    /// Numbers of this size come as text.
    full_database_id: Option<String>,
    body: String,
    viewer_did_author: bool,
    author: Option<ActorWire>,
    pull_request_review: Option<NumberedWire>,
}

impl GitHub {
    /// The unresolved threads, oldest first.
    pub(super) async fn review_threads(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        us: &MentionMatcher<'_>,
        room: &mut TextBudget,
    ) -> Result<Vec<PullReviewThread>> {
        let mut open = Vec::new();
        let mut after = None;
        for _ in 0..MOST_PAGES {
            let variables = json!({
                "owner": at.repository.owner(), "name": at.repository.name(), "number": pull, "page": PAGE,
                "after": after,
            });
            let (what, request) = ("tell the review threads", GitHubRequest::graphql(DOCUMENT, variables));
            let data: Value = self.graphql(at, TokenPermissions::ReadPulls, what, &request).await?;
            let Some(page) = data.pointer("/repository/pullRequest/reviewThreads") else { break };
            let ReviewThreadPage { page_info, nodes } = ReviewThreadPage::deserialize(page)
                .map_err(|error| GitHubError::unexpected(format!("GitHub's review threads: {error}")))?;
            open.extend(nodes.into_iter().flatten().filter(|thread| !thread.is_resolved));
            after = page_info.end_cursor.filter(|_| page_info.has_next_page);
            if after.is_none() || open.len() >= MOST_LISTED {
                break;
            }
        }
        open.truncate(MOST_LISTED);
        let mut threads: Vec<PullReviewThread> = open.into_iter().map(|wire| wire.read(us, room)).collect();
        threads.sort_by_key(|thread| thread.comments.first().map_or(0, |comment| comment.id));
        Ok(threads)
    }
}

impl ReviewThreadWire {
    fn read(self, us: &MentionMatcher<'_>, room: &mut TextBudget) -> PullReviewThread {
        let begun = self.begun.nodes.into_iter().flatten().next();
        let hunk = begun.map(|begun| begun.diff_hunk).unwrap_or_default();
        let mut comments: Vec<PullReviewThreadComment> = Vec::new();
        for wire in self.first.nodes.into_iter().chain(self.last.nodes).flatten() {
            let id = wire.full_database_id.as_deref().and_then(number);
            let Some(id) = id.filter(|id| !comments.iter().any(|known| known.id == *id)) else { continue };
            comments.push(wire.read(id, us, room));
        }
        // A removed line is not in the head.
        let line = self.line.filter(|_| self.diff_side != "LEFT");
        let original = self.original_line.or(self.line);
        PullReviewThread {
            id: self.id,
            path: self.path,
            line,
            original_line: original.filter(|original| line != Some(*original)),
            diff_hunk: room.hunk(&hunk),
            comments,
        }
    }
}

impl ThreadCommentWire {
    fn read(self, id: u64, us: &MentionMatcher<'_>, room: &mut TextBudget) -> PullReviewThreadComment {
        let by = if self.viewer_did_author { CommentAuthor::Us } else { by_graphql(self.author, us) };
        let review = self.pull_request_review.and_then(|review| review.full_database_id);
        PullReviewThreadComment {
            id,
            review: review.as_deref().and_then(number),
            by,
            names_us: us.is_mentioned_in(&self.body),
            body: room.body(&self.body),
        }
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}
