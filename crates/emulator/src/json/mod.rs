//! The world's things as GitHub writes them. Fields that the emulator has nothing to say on have GitHub's
//! neutral value; links are complete, because clients insist on them.

mod checks;
mod reviews;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::WebPages;
use crate::diffs;
use crate::state::deliveries::{DeliveryAttempt, DeliveryResult};
use crate::state::reactions::{CONTENTS, EmulatedReaction};
use crate::state::thread_events::EmulatedIssueEvent;
use crate::state::{
    AppPermissions, DraftState, EmulatedAccount, EmulatedAccountKind, EmulatedComment, EmulatedIssue,
    EmulatedLabel, EmulatedPull, EmulatedRepository, EmulatorState, RepositoryVisibility,
};

/// What the App's webhook gets.
const EVENTS: [&str; 11] = [
    "check_run",
    "check_suite",
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "status",
    "workflow_run",
];

pub(crate) fn time(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Joins the fields of two objects; the second wins.
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

/// Their counts, as everything that carries them has it.
pub(crate) fn rollup(given: &[EmulatedReaction], url: &str) -> Value {
    let mut fields = Map::from_iter([
        ("url".to_owned(), json!(format!("{url}/reactions"))),
        ("total_count".to_owned(), json!(given.len())),
    ]);
    for (content, _) in CONTENTS {
        let count = given.iter().filter(|one| one.content == content).count();
        fields.insert(content.to_owned(), json!(count));
    }
    fields.into()
}

impl EmulatorState {
    /// The API's address, in the style of GitHub Enterprise Server.
    pub(crate) fn api(&self) -> String {
        format!("{}/api/v3", self.origin)
    }

    pub(crate) fn repository_api(&self, repository: &EmulatedRepository) -> String {
        format!("{}/repos/{}", self.api(), repository.full_name)
    }

    pub(crate) fn user_json(&self, id: u64) -> Value {
        let ghost = EmulatedAccount { id, login: "ghost".to_owned(), kind: EmulatedAccountKind::Person };
        let account = self.accounts.get(&id).unwrap_or(&ghost);
        let (login, origin) = (&account.login, &self.origin);
        let path = login.replace('[', "%5B").replace(']', "%5D");
        let url = format!("{}/users/{path}", self.api());
        let (kind, page) = match account.kind {
            EmulatedAccountKind::Person => ("User", format!("{origin}/{path}")),
            EmulatedAccountKind::Bot => ("Bot", format!("{origin}/apps/{}", self.app.slug)),
        };
        json!({
            "login": login, "id": id, "node_id": format!("U_{id}"),
            "avatar_url": format!("{origin}/avatars/u/{id}?v=4"), "gravatar_id": "",
            "url": url, "html_url": page, "followers_url": format!("{url}/followers"),
            "following_url": format!("{url}/following{{/other_user}}"),
            "gists_url": format!("{url}/gists{{/gist_id}}"),
            "starred_url": format!("{url}/starred{{/owner}}{{/repo}}"),
            "subscriptions_url": format!("{url}/subscriptions"), "organizations_url": format!("{url}/orgs"),
            "repos_url": format!("{url}/repos"), "events_url": format!("{url}/events{{/privacy}}"),
            "received_events_url": format!("{url}/received_events"),
            "type": kind, "user_view_type": "public", "site_admin": false,
        })
    }

    pub(crate) fn repository_json(&self, repository: &EmulatedRepository) -> Value {
        let url = self.repository_api(repository);
        let page = format!("{}/{}", self.origin, repository.full_name);
        let (private, visibility) = match repository.visibility {
            RepositoryVisibility::Public => (false, "public"),
            RepositoryVisibility::Private => (true, "private"),
        };
        let open = repository.threads.values().filter(|thread| thread.closed_at.is_none()).count();
        let facts = json!({
            "id": repository.id, "node_id": format!("R_{}", repository.id), "name": repository.name,
            "full_name": repository.full_name, "private": private, "visibility": visibility,
            "owner": self.user_json(repository.owner), "html_url": page, "description": null, "fork": false,
            "url": url, "branches_url": format!("{url}/branches{{/branch}}"),
            "collaborators_url": format!("{url}/collaborators{{/collaborator}}"),
            "comments_url": format!("{url}/comments{{/number}}"), "commits_url": format!("{url}/commits{{/sha}}"),
            "contents_url": format!("{url}/contents/{{+path}}"), "git_refs_url": format!("{url}/git/refs{{/sha}}"),
            "hooks_url": format!("{url}/hooks"), "issues_url": format!("{url}/issues{{/number}}"),
            "labels_url": format!("{url}/labels{{/name}}"), "pulls_url": format!("{url}/pulls{{/number}}"),
            "statuses_url": format!("{url}/statuses/{{sha}}"),
        });
        let more = json!({
            "created_at": time(repository.created_at), "updated_at": time(repository.created_at),
            "pushed_at": time(repository.created_at),
            "git_url": format!("{page}.git"), "clone_url": format!("{page}.git"), "ssh_url": format!("{page}.git"),
            "size": 0, "stargazers_count": 0, "watchers_count": 0, "language": null, "has_issues": true,
            "has_projects": false, "has_downloads": false, "has_wiki": false, "has_pages": false,
            "forks_count": 0, "archived": repository.rules.archived, "disabled": false, "open_issues_count": open, "license": null,
            "is_template": false, "topics": [], "forks": 0, "open_issues": open, "watchers": 0,
            "default_branch": repository.default_branch, "homepage": null, "web_commit_signoff_required": false,
            "custom_properties": {},
        });
        with(facts, more)
    }

    pub(crate) fn label_json(&self, repository: &EmulatedRepository, label: &EmulatedLabel) -> Value {
        json!({
            "id": label.id, "node_id": format!("LA_{}", label.id),
            "url": format!("{}/labels/{}", self.repository_api(repository), escape(&label.name)),
            "name": label.name, "color": label.color, "default": false, "description": label.description,
        })
    }

    pub(crate) fn labels_json(&self, repository: &EmulatedRepository, thread: &EmulatedIssue) -> Vec<Value> {
        let named = |name: &String| repository.labels.iter().find(|label| &label.name == name);
        thread.labels.iter().filter_map(named).map(|label| self.label_json(repository, label)).collect()
    }

    pub(crate) fn association(&self, repository: &EmulatedRepository, account: u64) -> &'static str {
        if account == repository.owner {
            "OWNER"
        } else if repository.roles.contains_key(&account) {
            "COLLABORATOR"
        } else {
            "NONE"
        }
    }

    /// Its page; without pages, what is no address of the web, so that nobody is sent there.
    pub(crate) fn thread_page(&self, repository: &EmulatedRepository, thread: &EmulatedIssue) -> String {
        let kind = if thread.pull.is_some() { "pull" } else { "issues" };
        let root = match self.pages {
            WebPages::Shown => &self.origin,
            WebPages::Hidden => "local:",
        };
        format!("{root}/{}/{kind}/{}", repository.full_name, thread.number)
    }

    /// The thread as an issue; a pull request is one too, with a link to its other self.
    pub(crate) fn issue_json(&self, repository: &EmulatedRepository, thread: &EmulatedIssue) -> Value {
        let base = self.repository_api(repository);
        let url = format!("{base}/issues/{}", thread.number);
        let page = self.thread_page(repository, thread);
        let mut issue = json!({
            "url": url, "repository_url": base, "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"), "events_url": format!("{url}/events"),
            "html_url": page, "id": thread.id, "node_id": format!("I_{}", thread.id), "number": thread.number,
            "title": thread.title, "user": self.user_json(thread.author),
            "labels": self.labels_json(repository, thread), "state": thread.state.as_str(),
            "locked": thread.locked, "assignee": null, "assignees": [], "milestone": null, "comments": thread.comments.len(),
            "created_at": time(thread.created_at), "updated_at": time(thread.updated_at),
            "closed_at": thread.closed_at.map(time),
            "author_association": self.association(repository, thread.author), "active_lock_reason": null,
            "body": thread.body, "reactions": rollup(&thread.reactions, &url),
            "timeline_url": format!("{url}/timeline"), "performed_via_github_app": self.via_app(thread.author),
            "state_reason": thread.closed_at.map(|_| "completed"),
        });
        if let Some(pull) = &thread.pull {
            issue = with(
                issue,
                json!({
                    "draft": pull.draft == DraftState::Yes,
                    "pull_request": {
                        "url": format!("{base}/pulls/{}", thread.number), "html_url": page,
                        "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
                        "merged_at": pull.merged.as_ref().map(|merged| time(merged.at)),
                    },
                }),
            );
        }
        issue
    }

    pub(crate) fn event_json(&self, one: &EmulatedIssueEvent) -> Value {
        let mut event = json!({
            "id": one.id, "node_id": format!("LE_{}", one.id),
            "url": format!("{}/issues/events/{}", self.api(), one.id), "actor": self.user_json(one.actor),
            "event": one.event, "commit_id": null, "commit_url": null, "created_at": time(one.at),
            "performed_via_github_app": null,
        });
        if let Some(label) = &one.label {
            event["label"] = json!({"name": label, "color": "ededed"});
        }
        event
    }

    pub(crate) fn via_app(&self, author: u64) -> Value {
        if self.names_apps && author == self.app.bot { self.app_json() } else { Value::Null }
    }

    pub(crate) fn permissions_json(permissions: &AppPermissions) -> Value {
        permissions
            .iter()
            .map(|(name, level)| (name.clone(), Value::from(level.as_str())))
            .collect::<Map<_, _>>()
            .into()
    }

    pub(crate) fn app_json(&self) -> Value {
        let app = &self.app;
        json!({
            "id": app.id, "slug": app.slug, "node_id": format!("A_{}", app.id),
            "client_id": self.client_id(),
            "owner": self.user_json(self.repositories.values().next().map_or(0, |repository| repository.owner)),
            "name": app.slug, "description": "", "external_url": self.origin,
            "html_url": format!("{}/apps/{}", self.origin, app.slug),
            "created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-01T00:00:00Z",
            "permissions": Self::permissions_json(&app.permissions),
            "events": EVENTS,
            "installations_count": 1,
        })
    }

    pub(crate) fn installation_json(&self, owner: u64) -> Value {
        let (app, api, installation) = (&self.app, self.api(), self.installation_of(owner));
        json!({
            "id": installation, "account": self.user_json(owner), "repository_selection": "selected",
            "access_tokens_url": format!("{api}/app/installations/{installation}/access_tokens"),
            "repositories_url": format!("{api}/installation/repositories"),
            "html_url": format!("{}/settings/installations/{installation}", self.origin),
            "app_id": app.id, "app_slug": app.slug, "target_id": owner, "target_type": "User",
            "permissions": Self::permissions_json(&app.permissions),
            "events": EVENTS,
            "created_at": "2024-01-01T00:00:00Z", "updated_at": "2024-01-01T00:00:00Z",
            "single_file_name": null, "has_multiple_single_files": false, "single_file_paths": [],
            "suspended_by": null, "suspended_at": app.suspended.then_some("2024-01-01T00:00:00Z"),
        })
    }

    pub(crate) fn comment_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        comment: &EmulatedComment,
    ) -> Value {
        let base = self.repository_api(repository);
        let url = format!("{base}/issues/comments/{}", comment.id);
        json!({
            "url": url,
            "html_url": format!("{}#issuecomment-{}", self.thread_page(repository, thread), comment.id),
            "issue_url": format!("{base}/issues/{}", thread.number), "id": comment.id,
            "node_id": format!("IC_{}", comment.id), "user": self.user_json(comment.author),
            "created_at": time(comment.created_at), "updated_at": time(comment.updated_at),
            "author_association": self.association(repository, comment.author), "body": comment.body,
            "reactions": rollup(&comment.reactions, &url), "performed_via_github_app": self.via_app(comment.author),
        })
    }

    fn side_json(&self, repository: &EmulatedRepository, branch: &str, sha: &str) -> Value {
        json!({
            "label": format!("{}:{branch}", self.login(repository.owner)), "ref": branch, "sha": sha,
            "user": self.user_json(repository.owner), "repo": self.repository_json(repository),
        })
    }

    pub(crate) fn pull_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        pull: &EmulatedPull,
    ) -> Value {
        let base = self.repository_api(repository);
        let (url, issue) =
            (format!("{base}/pulls/{}", thread.number), format!("{base}/issues/{}", thread.number));
        let page = self.thread_page(repository, thread);
        let merged = pull.merged.as_ref();
        let (mergeable, mergeable_state) = self.mergeable(repository, thread, pull);
        let comments: usize = pull.review_threads.iter().map(|one| one.comments.len()).sum();
        let size = diffs::size(&repository.git, &pull.base_sha, &pull.head_sha).unwrap_or_default();
        let facts = json!({
            "url": url, "id": pull.id, "node_id": format!("PR_{}", pull.id), "html_url": page,
            "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"), "issue_url": issue,
            "number": thread.number, "state": thread.state.as_str(), "locked": thread.locked, "title": thread.title,
            "user": self.user_json(thread.author), "body": thread.body, "created_at": time(thread.created_at),
            "updated_at": time(thread.updated_at), "closed_at": thread.closed_at.map(time),
            "merged_at": merged.map(|merged| time(merged.at)),
            "merge_commit_sha": merged.map(|merged| merged.commit.clone()), "assignee": null, "assignees": [],
            "requested_reviewers": pull.requested.iter().map(|one| self.user_json(*one)).collect::<Vec<_>>(),
            "requested_teams": [], "labels": self.labels_json(repository, thread),
            "milestone": null, "draft": pull.draft == DraftState::Yes, "commits_url": format!("{url}/commits"),
            "review_comments_url": format!("{url}/comments"),
            "review_comment_url": format!("{base}/pulls/comments{{/number}}"),
            "comments_url": format!("{issue}/comments"), "statuses_url": format!("{base}/statuses/{}", pull.head_sha),
        });
        let more = json!({
            "head": self.side_json(repository, &pull.head, &pull.head_sha),
            "base": self.side_json(repository, &pull.base, &pull.base_sha),
            "_links": {
                "self": {"href": url}, "html": {"href": page}, "issue": {"href": issue},
                "comments": {"href": format!("{issue}/comments")},
                "review_comments": {"href": format!("{url}/comments")},
                "review_comment": {"href": format!("{base}/pulls/comments{{/number}}")},
                "commits": {"href": format!("{url}/commits")},
                "statuses": {"href": format!("{base}/statuses/{}", pull.head_sha)},
            },
            "author_association": self.association(repository, thread.author), "auto_merge": null,
            "active_lock_reason": null, "merged": merged.is_some(), "mergeable": mergeable,
            "rebaseable": mergeable, "mergeable_state": mergeable_state,
            "merged_by": merged.map(|merged| self.user_json(merged.by)), "comments": thread.comments.len(),
            "review_comments": comments, "maintainer_can_modify": false, "commits": size.commits,
            "additions": size.additions, "deletions": size.deletions, "changed_files": size.files,
        });
        with(facts, more)
    }

    /// The pull request as lists and reviews have it: without what only a look at the one tells.
    pub(crate) fn pull_in_short_json(
        &self,
        repository: &EmulatedRepository,
        thread: &EmulatedIssue,
        pull: &EmulatedPull,
    ) -> Value {
        let mut value = self.pull_json(repository, thread, pull);
        if let Some(fields) = value.as_object_mut() {
            for name in [
                "merged",
                "mergeable",
                "rebaseable",
                "mergeable_state",
                "merged_by",
                "comments",
                "review_comments",
                "maintainer_can_modify",
                "commits",
                "additions",
                "deletions",
                "changed_files",
            ] {
                fields.remove(name);
            }
        }
        value
    }

    pub(crate) fn reaction_json(&self, given: &EmulatedReaction) -> Value {
        json!({
            "id": given.id, "node_id": format!("REA_{}", given.id), "user": self.user_json(given.by),
            "content": given.content, "created_at": time(given.at),
        })
    }
}

/// A delivery as the API lists it; with `detail` also what was sent.
pub(crate) fn delivery_json(delivery: &DeliveryAttempt, detail: bool) -> Value {
    let (status, code) = match &delivery.outcome {
        DeliveryResult::Queued => ("pending".to_owned(), 0),
        DeliveryResult::NoAddress => ("no webhook address".to_owned(), 0),
        DeliveryResult::Answered(code @ 200..=299) => ("OK".to_owned(), *code),
        DeliveryResult::Answered(code) => (format!("Invalid HTTP Response: {code}"), *code),
        DeliveryResult::Failed(_) => ("failed to connect to host".to_owned(), 502),
    };
    let mut value = json!({
        "id": delivery.id, "guid": delivery.guid, "delivered_at": time(delivery.at),
        "redelivery": delivery.redelivery, "duration": 0.1, "status": status, "status_code": code,
        "event": delivery.event, "action": delivery.action, "installation_id": delivery.installation_id,
        "repository_id": delivery.repository_id, "throttled_at": null,
    });
    if detail && let Some(fields) = value.as_object_mut() {
        let payload = serde_json::from_str::<Value>(&delivery.payload).unwrap_or(Value::Null);
        fields.insert("request".to_owned(), json!({"headers": {}, "payload": payload}));
        fields.insert("response".to_owned(), json!({"headers": {}, "payload": null}));
    }
    value
}

/// A name as one segment of a path.
pub(crate) fn escape(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
