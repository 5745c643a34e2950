//! The emulator's objects in GitHub's JSON, reduced to the fields that clients read.

mod checks;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::state::deliveries::{DeliveryAttempt, DeliveryResult};
use crate::state::{
    EmulatedAccountKind, EmulatedComment, EmulatedIssue, EmulatedIssueEvent, EmulatedIssueState,
    EmulatedLabel, EmulatedPull, EmulatedRepository, EmulatedReview, EmulatedReviewThread, EmulatorState,
};
use crate::{WebPages, repos};

/// Events that the App's webhook receives.
const EVENTS: [&str; 11] = [
    "check_run", "check_suite", "issue_comment", "issues", "merge_group", "pull_request",
    "pull_request_review", "pull_request_review_comment", "push", "status", "workflow_run",
];

pub(crate) fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Merges the fields of two objects; the second wins.
pub(crate) fn with(base: Value, more: Value) -> Value {
    let mut fields = match base {
        Value::Object(fields) => fields,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Map::new(),
    };
    if let Value::Object(more) = more {
        fields.extend(more);
    }
    Value::Object(fields)
}

impl EmulatorState {
    /// The API's address in the style of GitHub Enterprise Server.
    pub(crate) fn api(&self) -> String {
        format!("{}/api/v3", self.origin)
    }

    pub(crate) fn repository_api(&self, repository: &EmulatedRepository) -> String {
        format!("{}/repos/{}", self.api(), repository.full_name)
    }

    pub(crate) fn user_json(&self, id: u64) -> Value {
        let kind = match self.accounts.get(&id).map(|account| account.kind) {
            Some(EmulatedAccountKind::Bot) => "Bot",
            Some(EmulatedAccountKind::Person) | None => "User",
        };
        json!({"login": self.login(id), "id": id, "type": kind})
    }

    pub(crate) fn repository_json(&self, repository: &EmulatedRepository) -> Value {
        json!({
            "id": repository.id, "name": repository.name, "full_name": repository.full_name,
            "private": repository.is_private,
            "owner": self.user_json(repository.owner), "archived": repository.rules.archived,
            "default_branch": repository.default_branch,
        })
    }

    pub(crate) fn labels_json(&self, repository: &EmulatedRepository, thread: &EmulatedIssue) -> Vec<Value> {
        let named = |name: &String| repository.labels.iter().find(|label| &label.name == name);
        thread.labels.iter().filter_map(named).map(label_json).collect()
    }

    /// The thread's page. Without pages, an address that no browser follows.
    pub(crate) fn thread_page(&self, repository: &EmulatedRepository, thread: &EmulatedIssue) -> String {
        let kind = if thread.pull.is_some() { "pull" } else { "issues" };
        let root = match self.pages {
            WebPages::Shown => &self.origin,
            WebPages::Hidden => "local:",
        };
        format!("{root}/{}/{kind}/{}", repository.full_name, thread.number)
    }

    /// The thread as an issue; for a pull request with its `pull_request` field.
    pub(crate) fn issue_json(&self, repository: &EmulatedRepository, thread: &EmulatedIssue) -> Value {
        let mut issue = json!({
            "id": thread.id, "number": thread.number, "html_url": self.thread_page(repository, thread),
            "title": thread.title, "body": thread.body, "user": self.user_json(thread.author),
            "labels": self.labels_json(repository, thread), "state": thread.state,
            "created_at": time(thread.created_at), "updated_at": time(thread.updated_at),
            "performed_via_github_app": self.via_app(thread.author),
        });
        if let Some(pull) = &thread.pull {
            let merged_at = pull.merged.as_ref().map(|merged| time(merged.at));
            issue["pull_request"] = json!({"merged_at": merged_at});
        }
        issue
    }

    pub(crate) fn event_json(&self, one: &EmulatedIssueEvent) -> Value {
        let mut event = json!({
            "id": one.id, "event": one.event, "actor": self.user_json(one.actor), "created_at": time(one.at),
        });
        if let Some(label) = &one.label {
            event["label"] = json!({"name": label});
        }
        event
    }

    pub(crate) fn via_app(&self, author: u64) -> Value {
        if self.names_apps && author == self.app.bot { self.app_json() } else { Value::Null }
    }

    pub(crate) fn app_json(&self) -> Value {
        let app = &self.app;
        json!({
            "id": app.id, "slug": app.slug, "name": app.slug, "client_id": self.client_id(),
            "html_url": format!("{}/apps/{}", self.origin, app.slug),
            "permissions": app.permissions, "events": EVENTS,
        })
    }

    pub(crate) fn installation_json(&self, owner: u64) -> Value {
        let (app, installation) = (&self.app, self.installation_of(owner));
        json!({
            "id": installation, "account": self.user_json(owner),
            "html_url": format!("{}/settings/installations/{installation}", self.origin),
            "permissions": app.permissions,
            "suspended_at": app.suspended.then_some("2024-01-01T00:00:00Z"),
        })
    }

    pub(crate) fn comment_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        comment: &EmulatedComment,
    ) -> Value {
        json!({
            "id": comment.id, "node_id": format!("IC_{}", comment.id), "body": comment.body,
            "issue_url": format!("{}/issues/{}", self.repository_api(repository), thread.number),
            "user": self.user_json(comment.author), "created_at": time(comment.created_at),
            "updated_at": time(comment.updated_at), "performed_via_github_app": self.via_app(comment.author),
        })
    }

    pub(crate) fn pull_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        pull: &EmulatedPull,
    ) -> Value {
        let merged = pull.merged.as_ref();
        let (mergeable, mergeable_state) = self.mergeable(repository, thread, pull);
        let repo = self.repository_json(repository);
        let of_fork = |fork: &String| {
            json!({
                "id": pull.id, "full_name": fork, "owner": self.user_json(thread.author),
                "pushed_at": pull.pushed_at.map(time),
            })
        };
        let head_repo = with(repo.clone(), pull.fork.as_ref().map_or(Value::Null, of_fork));
        json!({
            "id": pull.id, "node_id": format!("PR_{}", pull.id), "number": thread.number,
            "html_url": self.thread_page(repository, thread), "state": thread.state,
            "title": thread.title, "body": thread.body, "user": self.user_json(thread.author),
            "created_at": time(thread.created_at), "updated_at": time(thread.updated_at),
            "labels": self.labels_json(repository, thread), "draft": pull.draft, "merged": merged.is_some(),
            "merged_at": merged.map(|merged| time(merged.at)),
            "merge_commit_sha": merged.map(|merged| merged.commit.clone()),
            "head": {"ref": pull.head, "sha": pull.head_sha, "repo": head_repo},
            "base": {"ref": pull.base, "sha": pull.base_sha, "repo": repo},
            "mergeable": mergeable, "mergeable_state": mergeable_state,
        })
    }

    /// The short form of a pull request in lists and reviews.
    pub(crate) fn pull_in_short_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        pull: &EmulatedPull,
    ) -> Value {
        let mut value = self.pull_json(repository, thread, pull);
        if let Some(fields) = value.as_object_mut() {
            for name in ["merged", "mergeable", "mergeable_state"] {
                fields.remove(name);
            }
        }
        value
    }

    /// `mergeable` and `mergeable_state`: unknown until someone asks after a push.
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

    /// The review as the API returns it: state in upper case, and an empty body as text instead of null.
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

pub(crate) fn label_json(label: &EmulatedLabel) -> Value {
    json!({"id": label.id, "name": label.name, "color": label.color})
}

/// A delivery as the API lists it; `detail` adds what was sent.
pub(crate) fn delivery_json(delivery: &DeliveryAttempt, detail: bool) -> Value {
    let code = match &delivery.outcome {
        DeliveryResult::Queued | DeliveryResult::NoAddress => 0,
        DeliveryResult::Answered(code) => *code,
        DeliveryResult::Failed(_) => 502,
    };
    let mut value = json!({
        "id": delivery.id, "guid": delivery.guid, "delivered_at": time(delivery.at), "status_code": code,
        "event": delivery.event, "action": delivery.action,
    });
    if detail {
        let payload = serde_json::from_str::<Value>(&delivery.payload).unwrap_or(Value::Null);
        value["request"] = json!({"payload": payload});
    }
    value
}
