//! Check runs, suites, jobs and statuses in GitHub's JSON, and the events about them.

use serde_json::{Value, json};

use super::with;
use crate::repos;
use crate::state::checks::{ACTIONS_APP, EmulatedCheckRun, EmulatedCheckSuite};
use crate::state::{EmulatedIssueState, EmulatedRepository, EmulatorState, PermissionLevel};

impl EmulatorState {
    fn maker_json(&self, is_app: bool) -> Value {
        match is_app {
            true => json!({"id": self.app.id, "slug": self.app.slug}),
            false => json!({"id": ACTIONS_APP, "slug": "github-actions"}),
        }
    }

    /// Short forms of the open pull requests with this head commit; GitHub leaves out those of forks.
    fn pulls_at(&self, repository: &EmulatedRepository, sha: &str) -> Vec<Value> {
        let open = repository.threads.values().filter(|thread| thread.state == EmulatedIssueState::Open);
        open.filter_map(|thread| thread.pull.as_ref().map(|pull| (thread, pull)))
            .filter(|(_, pull)| pull.head_sha == sha && pull.fork.is_none())
            .map(|(thread, pull)| {
                let head = json!({"ref": pull.head, "sha": sha, "repo": {"id": repository.id}});
                json!({"id": pull.id, "number": thread.number, "head": head})
            })
            .collect()
    }

    pub(crate) fn check_run_json(&self, repository: &EmulatedRepository, run: &EmulatedCheckRun) -> Value {
        let page = self.job_page(repository, run);
        let details = match run.by_app {
            true => run.details_url.as_ref().unwrap_or(&self.origin),
            false => &page,
        };
        json!({
            "id": run.id, "name": run.name, "head_sha": run.head_sha, "external_id": run.external_id,
            "html_url": page, "details_url": details, "status": run.status,
            "conclusion": run.conclusion, "output": {
                "title": run.title, "summary": run.summary, "annotations_count": run.annotations.len(),
            },
            "app": self.maker_json(run.by_app), "pull_requests": self.pulls_at(repository, &run.head_sha),
        })
    }

    /// A job of Actions has its own page; other check runs are shown on the pull request's page.
    fn job_page(&self, repository: &EmulatedRepository, run: &EmulatedCheckRun) -> String {
        let page = format!("{}/{}", self.origin, repository.full_name);
        match repository.checks.suite(run.suite).filter(|_| !run.by_app) {
            Some(suite) => format!("{page}/actions/runs/{}/job/{}", suite.run, run.id),
            None => format!("{page}/runs/{}", run.id),
        }
    }

    fn suite_json(&self, repository: &EmulatedRepository, suite: &EmulatedCheckSuite) -> Value {
        let (status, conclusion) = repository.checks.progress(suite);
        json!({
            "id": suite.id, "head_branch": branch_at(repository, &suite.head_sha), "head_sha": suite.head_sha,
            "status": status, "conclusion": conclusion, "app": self.maker_json(suite.by_app),
            "pull_requests": self.pulls_at(repository, &suite.head_sha),
        })
    }

    fn workflow_run_json(&self, repository: &EmulatedRepository, suite: &EmulatedCheckSuite) -> Value {
        let (status, conclusion) = repository.checks.progress(suite);
        json!({
            "id": suite.run, "name": "CI", "head_branch": branch_at(repository, &suite.head_sha),
            "head_sha": suite.head_sha, "status": status, "conclusion": conclusion,
            "run_attempt": suite.attempt, "pull_requests": self.pulls_at(repository, &suite.head_sha),
            "head_repository": {"id": repository.id},
        })
    }

    /// Events about checks and merge groups only reach Apps with the permission to read them.
    pub(crate) fn receives_event(&self, permission: &str) -> bool {
        self.app.permissions.get(permission).is_some_and(|level| *level >= PermissionLevel::Read)
    }

    pub(crate) fn emit_check_run(&mut self, repository: &str, id: u64, action: &str) {
        let Some(found) = self.repository(repository).filter(|_| self.receives_event("checks")) else {
            return;
        };
        let Some(run) = found.checks.run(id) else { return };
        let suite = found.checks.suite(run.suite).map(|suite| self.suite_json(found, suite));
        let about = with(self.check_run_json(found, run), json!({"check_suite": suite}));
        let by = if run.by_app { self.app.bot } else { found.owner };
        self.emit(repository, "check_run", Some(action), by, json!({"check_run": about}));
    }

    pub(crate) fn emit_suite(&mut self, repository: &str, id: u64) {
        let Some(found) = self.repository(repository) else { return };
        let Some(suite) = found.checks.suite(id) else { return };
        let (by_app, owner) = (suite.by_app, found.owner);
        let about = json!({"check_suite": self.suite_json(found, suite)});
        let workflow = json!({"workflow_run": self.workflow_run_json(found, suite)});
        if self.receives_event("checks") {
            self.emit(repository, "check_suite", Some("completed"), owner, about);
        }
        if !by_app && self.receives_event("actions") {
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
            .map(|(name, sha)| json!({"name": name, "commit": {"sha": sha}}))
            .collect();
        let about = json!({
            "id": status.id, "sha": status.sha, "context": status.context, "state": status.state,
            "description": status.description, "target_url": status.target_url, "branches": branches,
        });
        let by = found.owner;
        self.emit(repository, "status", None, by, about);
    }
}

fn branch_at(repository: &EmulatedRepository, sha: &str) -> Option<String> {
    let heads = repos::heads(&repository.git);
    // Prefers a work branch over the default branch if both are there.
    let here = |name: &&String| heads.get(*name).is_some_and(|head| head == sha);
    let mut names: Vec<&String> = heads.keys().filter(here).collect();
    names.sort_by_key(|name| **name == repository.default_branch);
    names.first().map(|name| (*name).clone())
}
