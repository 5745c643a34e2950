//! Reviews, their comments, and whether a pull request merges, as GitHub writes them.

use serde_json::{Value, json};

use super::time;
use crate::repos;
use crate::state::review_threads::EmulatedReviewThread;
use crate::state::{
    EmulatedComment, EmulatedIssue, EmulatedIssueState, EmulatedPull, EmulatedRepository, EmulatedReview,
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
        } else if pull.draft {
            "draft"
        } else {
            "clean"
        };
        (Some(merges), state)
    }

    pub(crate) fn review_json(&self, review: &EmulatedReview) -> Value {
        json!({
            "id": review.id, "user": self.user_json(review.author), "commit_id": review.commit,
            "body": (!review.body.is_empty()).then_some(&review.body),
            "submitted_at": time(review.at), "state": review.state,
        })
    }

    /// The review as the API has it: it shouts where the webhook speaks softly, and has text where that has none.
    pub(crate) fn review_of_api(&self, review: &EmulatedReview) -> Value {
        let mut value = self.review_json(review);
        value["state"] = json!(value["state"].as_str().map(str::to_ascii_uppercase));
        value["body"] = json!(review.body);
        value
    }

    pub(crate) fn review_comment_json(&self, of: &EmulatedReviewThread, comment: &EmulatedComment) -> Value {
        json!({
            "id": comment.id, "pull_request_review_id": comment.review, "path": of.path, "body": comment.body,
            "user": self.user_json(comment.author), "created_at": time(comment.created_at),
        })
    }
}
