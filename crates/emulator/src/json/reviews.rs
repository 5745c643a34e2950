//! Reviews, their comments, and whether a pull request merges, as GitHub writes them.

use serde_json::{Value, json};

use super::{rollup, time};
use crate::repos;
use crate::state::review_threads::{DiffPosition, EmulatedReviewComment, EmulatedReviewThread};
use crate::state::{
    DraftState, EmulatedIssue, EmulatedIssueState, EmulatedPull, EmulatedRepository, EmulatedReview,
    EmulatorState,
};

impl EmulatorState {
    /// `mergeable` and `mergeable_state`: unknown as long as nobody asked since the last push.
    pub(crate) fn mergeable(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        pull: &EmulatedPull,
    ) -> (Option<bool>, &'static str) {
        let base = repos::head(&repository.git, &pull.base);
        let known = match (&pull.weighed, base) {
            (Some((weighed, head)), Some(base)) if weighed == &base && head == &pull.head_sha => Some(base),
            (_, _) => None,
        };
        let Some(base) = known.filter(|_| thread.state == EmulatedIssueState::Open) else {
            return (None, "unknown");
        };
        let merges = repos::merges(&repository.git, &base, &pull.head_sha).unwrap_or(false);
        let state = if !merges {
            "dirty"
        } else if pull.draft == DraftState::Yes {
            "draft"
        } else if repository.strict && !repos::descends(&repository.git, &pull.head_sha, &base) {
            "behind"
        } else {
            "clean"
        };
        (Some(merges), state)
    }

    pub(crate) fn review_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        review: &EmulatedReview,
    ) -> Value {
        let page = format!("{}#pullrequestreview-{}", self.thread_page(repository, thread), review.id);
        let pull = format!("{}/pulls/{}", self.repository_api(repository), thread.number);
        json!({
            "id": review.id, "node_id": format!("PRR_{}", review.id), "user": self.user_json(review.author),
            "body": (!review.body.is_empty()).then_some(&review.body), "commit_id": review.commit,
            "submitted_at": time(review.at), "state": review.state.as_str(), "html_url": page,
            "pull_request_url": pull, "author_association": self.association(repository, review.author),
            "_links": {"html": {"href": page}, "pull_request": {"href": pull}},
        })
    }

    /// The review as the API has it: it shouts where the webhook speaks softly, and has text where that has none.
    pub(crate) fn review_of_api(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        review: &EmulatedReview,
    ) -> Value {
        let mut value = self.review_json(repository, thread, review);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("state".to_owned(), json!(review.state.as_str().to_ascii_uppercase()));
            fields.insert("body".to_owned(), json!(review.body));
        }
        value
    }

    pub(crate) fn review_comment_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        of: &EmulatedReviewThread,
        comment: &EmulatedReviewComment,
    ) -> Value {
        let base = self.repository_api(repository);
        let (url, pull) =
            (format!("{base}/pulls/comments/{}", comment.id), format!("{base}/pulls/{}", thread.number));
        let page = format!("{}#discussion_r{}", self.thread_page(repository, thread), comment.id);
        let today =
            thread.pull.as_ref().map_or(DiffPosition::Outdated, |pull| of.current_position(repository, pull));
        let head = thread.pull.as_ref().map_or(of.commit.as_str(), |pull| pull.head_sha.as_str());
        // One that is outdated stays with the commit that it was written on.
        let commit = if today == DiffPosition::Outdated { of.commit.as_str() } else { head };
        let (start, line, position) = match today {
            DiffPosition::Line { start, line, position } => (start, Some(line), Some(position)),
            // About a file: there is a place, and no line.
            DiffPosition::File => (None, None, Some(1)),
            DiffPosition::Outdated => (None, None, None),
        };
        let first = of.comments.first().map(|first| first.id).filter(|first| *first != comment.id);
        let mut value = json!({
            "url": url, "pull_request_review_id": comment.review, "id": comment.id,
            "node_id": format!("PRRC_{}", comment.id), "diff_hunk": of.hunk, "path": of.path,
            "commit_id": commit, "original_commit_id": of.commit, "user": self.user_json(comment.author),
            "body": comment.body, "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
            "html_url": page, "pull_request_url": pull,
            "author_association": self.association(repository, comment.author),
            "_links": {"self": {"href": url}, "html": {"href": page}, "pull_request": {"href": pull}},
            "reactions": rollup(&comment.reactions, &url),
            "start_line": start, "original_start_line": of.location.and_then(|place| place.start),
            "start_side": of.location.and_then(|place| place.start.map(|_| place.side.as_str())),
            "line": line, "original_line": of.location.map(|place| place.line),
            "side": of.location.map_or("RIGHT", |place| place.side.as_str()),
            "position": position, "original_position": of.location.map_or(1, |place| place.position),
            "subject_type": if of.location.is_some() { "line" } else { "file" },
        });
        if let (Some(first), Some(fields)) = (first, value.as_object_mut()) {
            fields.insert("in_reply_to_id".to_owned(), json!(first));
        }
        value
    }
}
