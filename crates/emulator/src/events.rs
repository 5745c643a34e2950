//! Turns what happened into GitHub's webhook payloads.

use serde_json::{Value, json};
use uuid::Uuid;

use super::json::with;
use super::repos;
use super::state::deliveries::{DeliveryAttempt, DeliveryResult};
use super::state::{AppStage, EmulatedIssueEvent, EmulatorState};
use crate::clock;

/// How git denotes an absent object.
pub(crate) const NO_SHA: &str = "0000000000000000000000000000000000000000";

/// A reference moved by a push. A SHA of zeros means that it was created or deleted.
#[derive(Debug, Clone)]
pub(crate) struct RefUpdate {
    pub reference: String,
    pub before: String,
    pub after: String,
}

impl EmulatorState {
    /// Queues an event for delivery.
    pub(crate) fn emit(&mut self, repository: &str, event: &str, action: Option<&str>, by: u64, more: Value) {
        let Some(found) = self.repository(repository) else { return };
        let installation = self.installation_of(found.owner);
        let mut payload = with(
            more,
            json!({
                "repository": self.repository_json(found),
                "sender": self.user_json(by),
                "installation": {"id": installation, "node_id": format!("IN_{installation}")},
            }),
        );
        if let Some(action) = action {
            payload = with(json!({"action": action}), payload);
        }
        self.queue(event, action, &payload);
    }

    fn queue(&mut self, event: &str, action: Option<&str>, payload: &Value) {
        if self.app.suspended || self.app.stage != AppStage::Installed {
            return;
        }
        let id = self.new_id();
        self.deliveries.push(DeliveryAttempt {
            id,
            guid: Uuid::new_v4().to_string(),
            event: event.to_owned(),
            action: action.map(str::to_owned),
            payload: payload.to_string(),
            at: clock::now(),
            redelivery: false,
            outcome: DeliveryResult::Queued,
        });
    }

    /// Records the result of a delivery.
    pub(crate) fn delivered(&mut self, id: u64, outcome: DeliveryResult) {
        if let Some(found) = self.deliveries.iter_mut().find(|one| one.id == id) {
            found.outcome = outcome;
        }
    }

    /// Records the kinds of acts that GitHub's issue events keep.
    fn keep_event(&mut self, repository: &str, number: u64, action: &str, by: u64, more: &Value) {
        if !matches!(action, "labeled" | "unlabeled" | "closed" | "reopened") {
            return;
        }
        let id = self.new_id();
        let label = more.pointer("/label/name").and_then(Value::as_str).map(str::to_owned);
        let thread = self.repository_mut(repository).and_then(|found| found.threads.get_mut(&number));
        if let Some(thread) = thread {
            let (event, at) = (action.to_owned(), thread.updated_at);
            thread.events.push(EmulatedIssueEvent { id, event, actor: by, at, label });
        }
    }

    /// An event about an issue, or a `pull_request` event if it is a pull request.
    pub(crate) fn emit_thread(&mut self, repository: &str, number: u64, action: &str, by: u64, more: Value) {
        self.keep_event(repository, number, action, by, &more);
        let Some(found) = self.repository(repository) else { return };
        let Some(thread) = found.threads.get(&number) else { return };
        let (event, about) = match &thread.pull {
            None => ("issues", json!({"issue": self.issue_json(found, thread)})),
            Some(pull) => (
                "pull_request",
                json!({"number": number, "pull_request": self.pull_json(found, thread, pull)}),
            ),
        };
        self.emit(repository, event, Some(action), by, with(about, more));
    }

    pub(crate) fn emit_comment(
        &mut self,
        repository: &str,
        number: u64,
        comment: u64,
        action: &str,
        by: u64,
        more: Value,
    ) {
        let Some(found) = self.repository(repository) else { return };
        let Some(thread) = found.threads.get(&number) else { return };
        let Some(comment) = thread.comments.iter().find(|one| one.id == comment) else { return };
        let about = json!({
            "issue": self.issue_json(found, thread), "comment": self.comment_json(found, thread, comment),
        });
        self.emit(repository, "issue_comment", Some(action), by, with(about, more));
    }

    pub(crate) fn emit_review(&mut self, repository: &str, number: u64, review: u64, by: u64) {
        let Some(found) = self.repository(repository) else { return };
        let Some(thread) = found.threads.get(&number) else { return };
        let Some(pull) = &thread.pull else { return };
        let Some(review) = pull.reviews.iter().find(|one| one.id == review) else { return };
        let pull = self.pull_in_short_json(found, thread, pull);
        let about = json!({"review": self.review_json(review), "pull_request": pull});
        self.emit(repository, "pull_request_review", Some("submitted"), by, about);
    }

    pub(crate) fn emit_review_comment(&mut self, repository: &str, comment: u64, by: u64) {
        let Some(found) = self.repository(repository) else { return };
        let Some((thread, of, comment)) = found.review_comment(comment) else { return };
        let Some(pull) = &thread.pull else { return };
        let pull = self.pull_in_short_json(found, thread, pull);
        let about = json!({"comment": self.review_comment_json(of, comment), "pull_request": pull});
        self.emit(repository, "pull_request_review_comment", Some("created"), by, about);
    }

    pub(crate) fn emit_push(&mut self, repository: &str, moved: &RefUpdate, by: u64) {
        let Some(found) = self.repository(repository) else { return };
        let (created, deleted) = (moved.before == NO_SHA, moved.after == NO_SHA);
        // A new branch's commits count from the default branch, not from the first commit.
        let since = if created {
            let default = format!("refs/heads/{}", found.default_branch);
            repos::head(&found.git, &found.default_branch).filter(|_| moved.reference != default)
        } else {
            Some(moved.before.clone())
        };
        let commits =
            if deleted { Vec::new() } else { repos::commits(&found.git, since.as_deref(), &moved.after, 20) };
        let commits = commits.into_iter();
        let commits = commits.map(|one| json!({"id": one.sha, "message": one.message.trim_end()}));
        let payload = json!({
            "ref": moved.reference, "before": moved.before, "after": moved.after, "created": created,
            "deleted": deleted, "commits": commits.collect::<Vec<_>>(),
        });
        self.emit(repository, "push", None, by, payload);
    }
}
