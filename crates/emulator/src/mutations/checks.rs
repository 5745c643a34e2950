//! What happens to check runs and commit statuses: made, changed, run again.

use crate::reply::EmulatedApiError;
use crate::state::EmulatorState;
use crate::state::checks::{
    CheckRunMaker, CheckRunProgress, EmulatedCheckOutput, EmulatedCheckRun, EmulatedCheckSuite,
    EmulatedCommitStatus,
};

/// A check run to make.
pub(crate) struct NewCheckRun {
    pub maker: CheckRunMaker,
    pub name: String,
    pub head_sha: String,
    pub progress: CheckRunProgress,
}

impl EmulatorState {
    /// The suite of a maker on a commit, made when there is none.
    fn ensure_suite(
        &mut self,
        repository: &str,
        maker: CheckRunMaker,
        sha: &str,
    ) -> Result<u64, EmulatedApiError> {
        let found = self.require_repository(repository)?;
        let known = found.checks.suites.iter().find(|suite| suite.maker == maker && suite.head_sha == sha);
        if let Some(suite) = known {
            return Ok(suite.id);
        }
        let (id, run) = (self.new_id(), self.new_id());
        let suite = EmulatedCheckSuite { id, maker, head_sha: sha.to_owned(), run, attempt: 1 };
        self.require_repository_mut(repository)?.checks.suites.push(suite);
        Ok(id)
    }

    /// Makes a check run; its id. What it says is set by `fill`.
    pub(crate) fn create_check(
        &mut self,
        repository: &str,
        new: NewCheckRun,
        fill: impl FnOnce(&mut EmulatedCheckRun),
    ) -> Result<u64, EmulatedApiError> {
        let suite = self.ensure_suite(repository, new.maker, &new.head_sha)?;
        let id = self.new_id();
        let attempt =
            self.require_repository(repository)?.checks.suite(suite).map_or(1, |suite| suite.attempt);
        let mut run = EmulatedCheckRun {
            id,
            suite,
            maker: new.maker,
            name: new.name,
            head_sha: new.head_sha,
            progress: new.progress,
            external_id: String::new(),
            details_url: None,
            output: EmulatedCheckOutput::default(),
            actions: Vec::new(),
            log: None,
            attempt,
        };
        fill(&mut run);
        self.require_repository_mut(repository)?.checks.runs.push(run);
        self.emit_check_run(repository, id, "created");
        if new.progress.conclusion().is_some() {
            self.completed(repository, id);
        }
        Ok(id)
    }

    pub(crate) fn update_check(
        &mut self,
        repository: &str,
        id: u64,
        progress: Option<CheckRunProgress>,
        change: impl FnOnce(&mut EmulatedCheckRun),
    ) -> Result<(), EmulatedApiError> {
        let runs = &mut self.require_repository_mut(repository)?.checks.runs;
        let run = runs.iter_mut().find(|run| run.id == id).ok_or_else(EmulatedApiError::not_found)?;
        change(run);
        let before = run.progress;
        run.progress = progress.unwrap_or(before);
        if before.conclusion().is_none() && run.progress.conclusion().is_some() {
            self.completed(repository, id);
        }
        Ok(())
    }

    /// A check run has ended; when it was the last of its suite, so has the suite, and the workflow run behind it.
    fn completed(&mut self, repository: &str, id: u64) {
        self.emit_check_run(repository, id, "completed");
        let Some(found) = self.repository(repository) else { return };
        let Some(suite) = found.checks.run(id).and_then(|run| found.checks.suite(run.suite)) else { return };
        if found.checks.progress(suite).conclusion().is_some() {
            let suite = suite.id;
            self.emit_suite(repository, suite);
        }
    }

    /// A CI system says how a commit stands with it.
    pub(crate) fn set_status(
        &mut self,
        repository: &str,
        creator: u64,
        status: (&str, &str, &str),
        words: (Option<String>, Option<String>),
    ) -> Result<u64, EmulatedApiError> {
        let (sha, context, state) = status;
        if !matches!(state, "error" | "failure" | "pending" | "success") {
            return Err(EmulatedApiError::invalid("Status", "state", "invalid"));
        }
        let id = self.new_id();
        self.require_repository_mut(repository)?.checks.statuses.push(EmulatedCommitStatus {
            id,
            sha: sha.to_owned(),
            context: context.to_owned(),
            state: state.to_owned(),
            description: words.0,
            target_url: words.1,
            creator,
        });
        self.emit_status(repository, id);
        Ok(id)
    }

    /// Begins a job once more: a new check run of the same name, in the next attempt of its workflow run.
    pub(crate) fn rerun_job(&mut self, repository: &str, job: u64) -> Result<(), EmulatedApiError> {
        let found = self.require_repository(repository)?;
        let run = found.checks.run(job).filter(|run| run.maker == CheckRunMaker::Actions);
        let (suite, name) =
            run.map(|run| (run.suite, run.name.clone())).ok_or_else(EmulatedApiError::not_found)?;
        self.next_attempt(repository, suite, &[name])
    }

    /// Begins all failed jobs of a workflow run once more.
    pub(crate) fn rerun_failed(&mut self, repository: &str, run: u64) -> Result<(), EmulatedApiError> {
        let checks = &self.require_repository(repository)?.checks;
        let suite =
            checks.suites.iter().find(|suite| suite.maker == CheckRunMaker::Actions && suite.run == run);
        let suite = suite.ok_or_else(EmulatedApiError::not_found)?;
        let failed = |run: &&EmulatedCheckRun| run.progress.conclusion().is_some_and(|one| !one.is_fine());
        let names: Vec<String> = checks.latest(suite).filter(failed).map(|run| run.name.clone()).collect();
        self.next_attempt(repository, suite.id, &names)
    }

    fn next_attempt(
        &mut self,
        repository: &str,
        suite: u64,
        names: &[String],
    ) -> Result<(), EmulatedApiError> {
        let checks = &mut self.require_repository_mut(repository)?.checks;
        let known = checks.suite(suite).ok_or_else(EmulatedApiError::not_found)?;
        if checks.progress(known).conclusion().is_none() {
            return Err(EmulatedApiError::new(403, "This workflow run is already running"));
        }
        let head_sha = known.head_sha.clone();
        if let Some(known) = checks.suites.iter_mut().find(|known| known.id == suite) {
            known.attempt += 1;
        }
        for name in names {
            let (maker, name, head_sha) = (CheckRunMaker::Actions, name.clone(), head_sha.clone());
            let new = NewCheckRun { maker, name, head_sha, progress: CheckRunProgress::Queued };
            self.create_check(repository, new, |_| {})?;
        }
        Ok(())
    }
}
