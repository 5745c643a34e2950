//! Creates, changes and reruns check runs and commit statuses.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::reply::{ActResult, EmulatedApiError};
use crate::state::EmulatorState;
use crate::state::checks::{EmulatedAnnotation, EmulatedCheckRun, EmulatedCheckSuite, EmulatedCommitStatus};

/// The most annotations in one request.
const MOST_ANNOTATIONS: usize = 50;

fn invalid(what: impl std::fmt::Display) -> EmulatedApiError {
    EmulatedApiError::new(422, format!("Invalid request.\n\n{what}"))
}

/// Sets a field if the request contains it.
fn put<T: DeserializeOwned>(place: &mut T, said: &Value) -> ActResult<()> {
    if let Some(new) = serde_json::from_value(said.clone()).map_err(invalid)? {
        *place = new;
    }
    Ok(())
}

impl EmulatedCheckRun {
    /// Applies a request. Annotations are appended; everything else is replaced.
    pub(crate) fn say(&mut self, body: &Value) -> ActResult<()> {
        let output = &body["output"];
        let mut more: Vec<EmulatedAnnotation> = Vec::new();
        put(&mut more, &output["annotations"])?;
        if more.len() > MOST_ANNOTATIONS {
            return Err(invalid(format!("No more than {MOST_ANNOTATIONS} items are allowed.")));
        }
        self.annotations.extend(more);
        put(&mut self.title, &output["title"])?;
        put(&mut self.summary, &output["summary"])?;
        put(&mut self.details_url, &body["details_url"])?;
        put(&mut self.external_id, &body["external_id"])?;
        put(&mut self.actions, &body["actions"])?;
        if !body["status"].is_null() {
            self.conclusion = None;
        }
        put(&mut self.status, &body["status"])?;
        put(&mut self.conclusion, &body["conclusion"])?;
        if self.conclusion.is_some() {
            self.status = "completed".to_owned();
        }
        Ok(())
    }
}

impl EmulatorState {
    /// The suite of this kind of App on a commit, created if missing, with its attempt.
    fn ensure_suite(&mut self, repository: &str, by_app: bool, sha: &str) -> ActResult<(u64, u64)> {
        let found = self.require_repository(repository)?;
        let known = found.checks.suites.iter().find(|suite| suite.by_app == by_app && suite.head_sha == sha);
        if let Some(suite) = known {
            return Ok((suite.id, suite.attempt));
        }
        let (id, run) = (self.new_id(), self.new_id());
        let suite = EmulatedCheckSuite { id, by_app, head_sha: sha.to_owned(), run, attempt: 1 };
        self.require_repository_mut(repository)?.checks.suites.push(suite);
        Ok((id, 1))
    }

    /// Stores a check run and returns its id; a new one gets its id here.
    pub(crate) fn put_check(&mut self, repository: &str, mut run: EmulatedCheckRun) -> ActResult<u64> {
        let is_new = run.id == 0;
        if is_new {
            (run.suite, run.attempt) = self.ensure_suite(repository, run.by_app, &run.head_sha)?;
            run.id = self.new_id();
        }
        let (id, is_over) = (run.id, run.conclusion.is_some());
        let runs = &mut self.require_repository_mut(repository)?.checks.runs;
        let was_over = match runs.iter_mut().find(|known| known.id == id) {
            Some(known) => std::mem::replace(known, run).conclusion.is_some(),
            None => {
                runs.push(run);
                false
            }
        };
        if is_new {
            self.emit_check_run(repository, id, "created");
        }
        if is_over && !was_over {
            self.completed(repository, id);
            self.advance_merge_queue(repository)?;
        }
        Ok(id)
    }

    /// A check run has completed; the last of its suite also completes the suite and its workflow run.
    fn completed(&mut self, repository: &str, id: u64) {
        self.emit_check_run(repository, id, "completed");
        let Some(found) = self.repository(repository) else { return };
        let Some(suite) = found.checks.run(id).and_then(|run| found.checks.suite(run.suite)) else { return };
        if found.checks.progress(suite).1.is_some() {
            let suite = suite.id;
            self.emit_suite(repository, suite);
        }
    }

    /// Sets a CI system's commit status.
    pub(crate) fn set_status(&mut self, repository: &str, status: EmulatedCommitStatus) -> ActResult<()> {
        let id = status.id;
        self.require_repository_mut(repository)?.checks.statuses.push(status);
        self.emit_status(repository, id);
        Ok(())
    }

    /// Reruns a job: a new check run of the same name in the workflow run's next attempt.
    pub(crate) fn rerun_job(&mut self, repository: &str, job: u64) -> ActResult<()> {
        let found = self.require_repository(repository)?;
        let run = found.checks.run(job).filter(|run| !run.by_app);
        let (suite, name) =
            run.map(|run| (run.suite, run.name.clone())).ok_or_else(EmulatedApiError::not_found)?;
        self.next_attempt(repository, suite, &[name])
    }

    /// Reruns all failed jobs of a workflow run.
    pub(crate) fn rerun_failed(&mut self, repository: &str, run: u64) -> ActResult<()> {
        let checks = &self.require_repository(repository)?.checks;
        let suite = checks.suites.iter().find(|suite| !suite.by_app && suite.run == run);
        let suite = suite.ok_or_else(EmulatedApiError::not_found)?;
        let failed = |run: &&EmulatedCheckRun| run.conclusion.is_some_and(|one| !one.is_fine());
        let names: Vec<String> = checks.latest(suite).filter(failed).map(|run| run.name.clone()).collect();
        self.next_attempt(repository, suite.id, &names)
    }

    fn next_attempt(&mut self, repository: &str, suite: u64, names: &[String]) -> ActResult<()> {
        let checks = &mut self.require_repository_mut(repository)?.checks;
        let known = checks.suite(suite).ok_or_else(EmulatedApiError::not_found)?;
        if checks.progress(known).1.is_none() {
            return Err(EmulatedApiError::new(403, "This workflow run is already running"));
        }
        let head_sha = known.head_sha.clone();
        if let Some(known) = checks.suites.iter_mut().find(|known| known.id == suite) {
            known.attempt += 1;
        }
        for name in names {
            self.put_check(repository, EmulatedCheckRun::queued(false, name, head_sha.clone()))?;
        }
        Ok(())
    }
}
