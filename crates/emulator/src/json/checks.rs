//! Check runs, suites, jobs and statuses as GitHub writes them, and the events about them.

use serde_json::{Value, json};

use super::{time, with};
use crate::repos;
use crate::state::checks::{
    ACTIONS_APP, CheckRunMaker, EmulatedAnnotation, EmulatedCheckRun, EmulatedCheckSuite,
    EmulatedCommitStatus,
};
use crate::state::{EmulatedIssueState, EmulatedRepository, EmulatorState, PermissionLevel};

impl EmulatorState {
    fn maker_json(&self, maker: CheckRunMaker) -> Value {
        match maker {
            CheckRunMaker::App => self.app_json(),
            CheckRunMaker::Actions => with(
                self.app_json(),
                json!({
                    "id": ACTIONS_APP, "slug": "github-actions", "name": "GitHub Actions",
                    "node_id": format!("A_{ACTIONS_APP}"), "client_id": format!("Iv1.{ACTIONS_APP:016x}"),
                    "html_url": format!("{}/apps/github-actions", self.origin),
                    "permissions": {"actions": "write", "checks": "write", "metadata": "read"}, "events": [],
                }),
            ),
        }
    }

    fn api_of(&self, repository: &EmulatedRepository) -> String {
        format!("{}/repos/{}", self.api(), repository.full_name)
    }

    /// The open pull requests whose head a commit is, in short.
    fn pulls_at(&self, repository: &EmulatedRepository, sha: &str) -> Vec<Value> {
        let base = self.api_of(repository);
        let repo = json!({"id": repository.id, "url": base, "name": repository.name});
        let open = repository.threads.values().filter(|thread| thread.state == EmulatedIssueState::Open);
        open.filter_map(|thread| thread.pull.as_ref().map(|pull| (thread, pull)))
            .filter(|(_, pull)| pull.head_sha == sha)
            .map(|(thread, pull)| {
                json!({
                    "id": pull.id, "number": thread.number, "url": format!("{base}/pulls/{}", thread.number),
                    "head": {"ref": pull.head, "sha": pull.head_sha, "repo": repo},
                    "base": {"ref": pull.base, "sha": pull.base_sha, "repo": repo},
                })
            })
            .collect()
    }

    pub(crate) fn check_run_json(&self, repository: &EmulatedRepository, run: &EmulatedCheckRun) -> Value {
        let (base, page) = (self.api_of(repository), self.job_page(repository, run));
        let url = format!("{base}/check-runs/{}", run.id);
        let details = match run.maker {
            CheckRunMaker::Actions => Some(page.clone()),
            CheckRunMaker::App => run.details_url.clone().or_else(|| Some(self.origin.clone())),
        };
        json!({
            "id": run.id, "head_sha": run.head_sha, "node_id": format!("CR_{}", run.id),
            "external_id": run.external_id, "url": url, "html_url": page, "details_url": details,
            "status": run.progress.status(), "conclusion": run.progress.conclusion().map(|one| one.as_str()),
            "started_at": time(run.started_at), "completed_at": run.completed_at.map(time),
            "output": {
                "title": run.output.title, "summary": run.output.summary, "text": run.output.text,
                "annotations_count": run.output.annotations.len(), "annotations_url": format!("{url}/annotations"),
            },
            "name": run.name, "check_suite": {"id": run.suite}, "app": self.maker_json(run.maker),
            "pull_requests": self.pulls_at(repository, &run.head_sha),
        })
    }

    /// A job of Actions has a page of its own; any other check run is shown on the pull request's.
    fn job_page(&self, repository: &EmulatedRepository, run: &EmulatedCheckRun) -> String {
        let page = format!("{}/{}", self.origin, repository.full_name);
        match (run.maker, repository.checks.suite(run.suite)) {
            (CheckRunMaker::Actions, Some(suite)) => {
                format!("{page}/actions/runs/{}/job/{}", suite.run, run.id)
            }
            (CheckRunMaker::Actions, None) | (CheckRunMaker::App, _) => format!("{page}/runs/{}", run.id),
        }
    }

    pub(crate) fn annotation_json(
        &self,
        repository: &EmulatedRepository,
        run: &EmulatedCheckRun,
        one: &EmulatedAnnotation,
    ) -> Value {
        json!({
            "path": one.path, "start_line": one.start_line, "end_line": one.end_line, "start_column": null,
            "end_column": null, "annotation_level": one.level, "title": one.title, "message": one.message,
            "raw_details": null,
            "blob_href": format!("{}/contents/{}?ref={}", self.api_of(repository), one.path, run.head_sha),
        })
    }

    pub(crate) fn suite_json(&self, repository: &EmulatedRepository, suite: &EmulatedCheckSuite) -> Value {
        let base = self.api_of(repository);
        let progress = repository.checks.progress(suite);
        let url = format!("{base}/check-suites/{}", suite.id);
        let count = repository.checks.latest(suite).count();
        json!({
            "id": suite.id, "node_id": format!("CS_{}", suite.id), "head_branch": branch_at(repository, &suite.head_sha),
            "head_sha": suite.head_sha, "status": progress.status(),
            "conclusion": progress.conclusion().map(|one| one.as_str()), "url": url, "before": null,
            "after": suite.head_sha, "pull_requests": self.pulls_at(repository, &suite.head_sha),
            "app": self.maker_json(suite.maker), "created_at": time(suite.created_at),
            "updated_at": time(suite.created_at), "rerequestable": true, "runs_rerequestable": false,
            "latest_check_runs_count": count, "check_runs_url": format!("{url}/check-runs"),
            "head_commit": head_commit(repository, &suite.head_sha),
        })
    }

    pub(crate) fn job_json(&self, repository: &EmulatedRepository, run: &EmulatedCheckRun) -> Value {
        let base = self.api_of(repository);
        let workflow = repository.checks.suite(run.suite).map_or(0, |suite| suite.run);
        json!({
            "id": run.id, "run_id": workflow, "run_url": format!("{base}/actions/runs/{workflow}"),
            "run_attempt": run.attempt, "node_id": format!("CR_{}", run.id), "head_sha": run.head_sha,
            "url": format!("{base}/actions/jobs/{}", run.id), "html_url": self.job_page(repository, run),
            "status": run.progress.status(), "conclusion": run.progress.conclusion().map(|one| one.as_str()),
            "created_at": time(run.started_at), "started_at": time(run.started_at),
            "completed_at": run.completed_at.map(time), "name": run.name, "steps": [],
            "check_run_url": format!("{base}/check-runs/{}", run.id), "labels": ["ubuntu-latest"],
            "runner_id": 1, "runner_name": "GitHub Actions 1", "runner_group_id": 2,
            "runner_group_name": "GitHub Actions", "workflow_name": "CI",
            "head_branch": branch_at(repository, &run.head_sha),
        })
    }

    pub(crate) fn workflow_run_json(
        &self,
        repository: &EmulatedRepository,
        suite: &EmulatedCheckSuite,
    ) -> Value {
        let (base, page) = (self.api_of(repository), format!("{}/{}", self.origin, repository.full_name));
        let progress = repository.checks.progress(suite);
        let url = format!("{base}/actions/runs/{}", suite.run);
        json!({
            "id": suite.run, "name": "CI", "node_id": format!("WFR_{}", suite.run),
            "head_branch": branch_at(repository, &suite.head_sha), "head_sha": suite.head_sha,
            "path": ".github/workflows/ci.yml", "display_title": "CI", "run_number": 1, "event": "push",
            "status": progress.status(), "conclusion": progress.conclusion().map(|one| one.as_str()),
            "workflow_id": 1, "check_suite_id": suite.id, "check_suite_node_id": format!("CS_{}", suite.id),
            "url": url, "html_url": format!("{page}/actions/runs/{}", suite.run),
            "pull_requests": self.pulls_at(repository, &suite.head_sha), "created_at": time(suite.created_at),
            "updated_at": time(suite.created_at), "run_started_at": time(suite.created_at),
            "actor": self.user_json(repository.owner), "triggering_actor": self.user_json(repository.owner),
            "run_attempt": suite.attempt, "referenced_workflows": [], "previous_attempt_url": null,
            "jobs_url": format!("{url}/jobs"), "logs_url": format!("{url}/logs"),
            "check_suite_url": format!("{base}/check-suites/{}", suite.id),
            "artifacts_url": format!("{url}/artifacts"), "cancel_url": format!("{url}/cancel"),
            "rerun_url": format!("{url}/rerun"), "workflow_url": format!("{base}/actions/workflows/1"),
            "head_commit": head_commit(repository, &suite.head_sha),
            "repository": self.repository_json(repository), "head_repository": self.repository_json(repository),
        })
    }

    pub(crate) fn status_json(
        &self,
        repository: &EmulatedRepository,
        status: &EmulatedCommitStatus,
    ) -> Value {
        let creator = self.user_json(status.creator);
        json!({
            "url": format!("{}/statuses/{}", self.api_of(repository), status.sha),
            "avatar_url": creator.get("avatar_url"), "id": status.id, "node_id": format!("SC_{}", status.id),
            "state": status.state, "description": status.description, "target_url": status.target_url,
            "context": status.context, "created_at": time(status.at), "updated_at": time(status.at),
            "creator": creator,
        })
    }

    /// The events about checks go to Apps that were granted to read them.
    fn receives_event(&self, permission: &str) -> bool {
        self.app.permissions.get(permission).is_some_and(|level| *level >= PermissionLevel::Read)
    }

    pub(crate) fn emit_check_run(
        &mut self,
        repository: &str,
        id: u64,
        action: &str,
        by: Option<u64>,
        more: Value,
    ) {
        let Some(found) = self.repository(repository).filter(|_| self.receives_event("checks")) else {
            return;
        };
        let Some(run) = found.checks.run(id) else { return };
        let suite = found.checks.suite(run.suite).map(|suite| self.suite_json(found, suite));
        let about = with(self.check_run_json(found, run), json!({"check_suite": suite}));
        let by = by.unwrap_or(match run.maker {
            CheckRunMaker::App => self.app.bot,
            CheckRunMaker::Actions => found.owner,
        });
        self.emit(repository, "check_run", Some(action), by, with(json!({"check_run": about}), more));
    }

    pub(crate) fn emit_suite(&mut self, repository: &str, id: u64) {
        let Some(found) = self.repository(repository) else { return };
        let Some(suite) = found.checks.suite(id) else { return };
        let (maker, owner) = (suite.maker, found.owner);
        let about = json!({"check_suite": self.suite_json(found, suite)});
        let workflow = json!({
            "workflow_run": self.workflow_run_json(found, suite),
            "workflow": {"id": 1, "name": "CI", "path": ".github/workflows/ci.yml", "state": "active"},
        });
        if self.receives_event("checks") {
            self.emit(repository, "check_suite", Some("completed"), owner, about);
        }
        if maker == CheckRunMaker::Actions && self.receives_event("actions") {
            self.emit(repository, "workflow_run", Some("completed"), owner, workflow);
        }
    }

    pub(crate) fn emit_status(&mut self, repository: &str, id: u64) {
        let Some(found) = self.repository(repository).filter(|_| self.receives_event("statuses")) else {
            return;
        };
        let Some(status) = found.checks.statuses.iter().find(|status| status.id == id) else { return };
        let branches: Vec<Value> = repos::heads(&found.git)
            .into_iter()
            .filter(|(_, sha)| *sha == status.sha)
            .map(|(name, sha)| json!({"name": name, "commit": {"sha": sha}, "protected": false}))
            .collect();
        let about = json!({
            "id": status.id, "sha": status.sha, "name": found.full_name, "target_url": status.target_url,
            "avatar_url": null, "context": status.context, "description": status.description,
            "state": status.state, "branches": branches, "created_at": time(status.at),
            "updated_at": time(status.at),
        });
        let by = status.creator;
        self.emit(repository, "status", None, by, about);
    }
}

fn branch_at(repository: &EmulatedRepository, sha: &str) -> Option<String> {
    let heads = repos::heads(&repository.git);
    // A branch of somebody's work rather than the default one, when both are there.
    let here = |name: &&String| heads.get(*name).is_some_and(|head| head == sha);
    let mut names: Vec<&String> = heads.keys().filter(here).collect();
    names.sort_by_key(|name| **name == repository.default_branch);
    names.first().map(|name| (*name).clone())
}

fn head_commit(repository: &EmulatedRepository, sha: &str) -> Value {
    let Some(commit) = repos::commits(&repository.git, None, sha, 1).pop() else { return Value::Null };
    let person = |(name, email): &(String, String)| json!({"name": name, "email": email});
    json!({
        "id": commit.sha, "tree_id": commit.tree, "message": commit.message.trim_end(),
        "timestamp": chrono::DateTime::from_timestamp(commit.seconds, 0).map(time),
        "author": person(&commit.author), "committer": person(&commit.committer),
    })
}
