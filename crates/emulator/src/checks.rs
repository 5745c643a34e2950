//! Check runs, the suites they come in, and commit statuses: what is kept of them, and what happens when one changes.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::reply::EmulatedApiError;
use super::state::EmulatorState;

/// The App of GitHub Actions, as GitHub itself numbers it.
pub(crate) const ACTIONS_APP: u64 = 15_368;

/// Whose a check run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckRunMaker {
    /// The App that is tested.
    App,
    /// GitHub Actions: the check run is a job.
    Actions,
}

/// How far a check run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckRunProgress {
    Queued,
    Running,
    Completed(CheckConclusion),
}

/// What a check run came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckConclusion {
    /// A person has to do something.
    ActionRequired,
    /// Stopped before its end.
    Cancelled,
    Failure,
    /// Neither good nor bad.
    Neutral,
    Success,
    /// It was not wanted.
    Skipped,
    /// Its time was up.
    TimedOut,
}

impl CheckRunProgress {
    /// The `status` of the API.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "in_progress",
            Self::Completed(_) => "completed",
        }
    }

    pub(crate) fn conclusion(self) -> Option<CheckConclusion> {
        match self {
            Self::Queued | Self::Running => None,
            Self::Completed(conclusion) => Some(conclusion),
        }
    }
}

impl CheckConclusion {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "action_required" => Self::ActionRequired,
            "cancelled" => Self::Cancelled,
            "failure" => Self::Failure,
            "neutral" => Self::Neutral,
            "success" => Self::Success,
            "skipped" => Self::Skipped,
            "timed_out" => Self::TimedOut,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ActionRequired => "action_required",
            Self::Cancelled => "cancelled",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Success => "success",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed_out",
        }
    }

    fn is_fine(self) -> bool {
        matches!(self, Self::Success | Self::Neutral | Self::Skipped)
    }
}

/// What a check run says of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedAnnotation {
    pub path: String,
    pub start_line: u64,
    pub end_line: u64,
    /// `notice`, `warning` or `failure`.
    pub level: String,
    /// Its heading; may be empty.
    pub title: String,
    pub message: String,
}

impl EmulatedAnnotation {
    /// A failure on one line.
    pub fn failure(path: &str, line: u64, message: &str) -> Self {
        Self {
            path: path.to_owned(),
            start_line: line,
            end_line: line,
            level: "failure".to_owned(),
            title: String::new(),
            message: message.to_owned(),
        }
    }
}

/// A button on a check run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRunAction {
    /// What stands on it.
    pub label: String,
    /// What it does, in words.
    pub description: String,
    /// What the webhook names it.
    pub identifier: String,
}

/// What a check run says.
#[derive(Debug, Clone, Default)]
pub(crate) struct EmulatedCheckOutput {
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<EmulatedAnnotation>,
}

#[derive(Debug, Clone)]
pub(crate) struct EmulatedCheckRun {
    pub id: u64,
    pub suite: u64,
    pub maker: CheckRunMaker,
    pub name: String,
    pub head_sha: String,
    pub progress: CheckRunProgress,
    pub external_id: String,
    pub details_url: Option<String>,
    pub started_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
    pub output: EmulatedCheckOutput,
    pub actions: Vec<CheckRunAction>,
    /// What a job printed; none for a check run that is no job, or one whose log has been deleted.
    pub log: Option<String>,
    /// Which attempt of its workflow run it belongs to, from 1.
    pub attempt: u64,
}

/// All check runs of one maker on one commit.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedCheckSuite {
    pub id: u64,
    pub maker: CheckRunMaker,
    pub head_sha: String,
    /// The id of the workflow run behind it.
    pub run: u64,
    pub attempt: u64,
    pub created_at: DateTime<Utc>,
}

/// A commit status, as CI systems without an App set it.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedCommitStatus {
    pub id: u64,
    pub sha: String,
    pub context: String,
    pub state: String,
    pub description: Option<String>,
    pub target_url: Option<String>,
    pub creator: u64,
    pub at: DateTime<Utc>,
}

/// Everything that checks a repository's commits.
#[derive(Debug, Default)]
pub(crate) struct EmulatedChecks {
    pub runs: Vec<EmulatedCheckRun>,
    pub suites: Vec<EmulatedCheckSuite>,
    pub statuses: Vec<EmulatedCommitStatus>,
    /// Addresses of logs that were handed out: the secret in it, the job, until when.
    pub signed: Vec<(String, u64, DateTime<Utc>)>,
}

impl EmulatedChecks {
    pub(crate) fn run(&self, id: u64) -> Option<&EmulatedCheckRun> {
        self.runs.iter().find(|run| run.id == id)
    }

    pub(crate) fn suite(&self, id: u64) -> Option<&EmulatedCheckSuite> {
        self.suites.iter().find(|suite| suite.id == id)
    }

    /// The newest of each name, as `filter=latest` has them.
    pub(crate) fn latest<'a>(
        &'a self,
        suite: &'a EmulatedCheckSuite,
    ) -> impl Iterator<Item = &'a EmulatedCheckRun> {
        let of_suite = || self.runs.iter().filter(|run| run.suite == suite.id);
        of_suite().filter(move |run| !of_suite().any(|other| other.name == run.name && other.id > run.id))
    }

    /// How a suite stands: as its runs do.
    pub(crate) fn progress(&self, suite: &EmulatedCheckSuite) -> CheckRunProgress {
        let mut worst: Option<CheckConclusion> = None;
        for run in self.latest(suite) {
            match run.progress {
                CheckRunProgress::Queued | CheckRunProgress::Running => return CheckRunProgress::Running,
                CheckRunProgress::Completed(conclusion) => {
                    if worst.is_none_or(CheckConclusion::is_fine) {
                        worst = Some(conclusion);
                    }
                }
            }
        }
        worst.map_or(CheckRunProgress::Queued, CheckRunProgress::Completed)
    }

    /// The newest status of each context on a commit, the newest first.
    pub(crate) fn statuses_of(&self, sha: &str) -> Vec<&EmulatedCommitStatus> {
        let mut latest: Vec<&EmulatedCommitStatus> = Vec::new();
        for status in self.statuses.iter().rev().filter(|status| status.sha == sha) {
            if !latest.iter().any(|known| known.context == status.context) {
                latest.push(status);
            }
        }
        latest
    }
}

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
        let suite = EmulatedCheckSuite {
            id,
            maker,
            head_sha: sha.to_owned(),
            run,
            attempt: 1,
            created_at: Utc::now(),
        };
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
        let (id, now) = (self.new_id(), Utc::now());
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
            started_at: now,
            completed_at: new.progress.conclusion().map(|_| now),
            output: EmulatedCheckOutput::default(),
            actions: Vec::new(),
            log: None,
            attempt,
        };
        fill(&mut run);
        self.require_repository_mut(repository)?.checks.runs.push(run);
        self.emit_check_run(repository, id, "created", None, json!({}));
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
        run.completed_at = run.progress.conclusion().map(|_| run.completed_at.unwrap_or_else(Utc::now));
        if before.conclusion().is_none() && run.progress.conclusion().is_some() {
            self.completed(repository, id);
        }
        Ok(())
    }

    /// A check run has ended; when it was the last of its suite, so has the suite, and the workflow run behind it.
    fn completed(&mut self, repository: &str, id: u64) {
        self.emit_check_run(repository, id, "completed", None, json!({}));
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
            at: Utc::now(),
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
