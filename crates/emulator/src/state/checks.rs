//! Stored check runs, their suites, and commit statuses.

use serde::{Deserialize, Serialize};

/// GitHub's own id for the App of GitHub Actions.
pub(crate) const ACTIONS_APP: u64 = 15_368;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckConclusion {
    /// A person must act.
    ActionRequired,
    /// Stopped before its end.
    Cancelled,
    Failure,
    /// Neither good nor bad.
    Neutral,
    Success,
    /// Not wanted.
    Skipped,
    TimedOut,
}

impl CheckConclusion {
    pub(crate) fn is_fine(self) -> bool {
        matches!(self, Self::Success | Self::Neutral | Self::Skipped)
    }
}

/// A check run's remark on lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmulatedAnnotation {
    pub path: String,
    pub start_line: u64,
    /// `notice`, `warning` or `failure`.
    #[serde(rename = "annotation_level")]
    pub level: String,
    pub message: String,
}

impl EmulatedAnnotation {
    /// A failure on one line.
    pub fn failure(path: &str, line: u64, message: &str) -> Self {
        Self {
            path: path.to_owned(),
            start_line: line,
            level: "failure".to_owned(),
            message: message.to_owned(),
        }
    }
}

/// A button on a check run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CheckRunAction {
    /// Its text.
    pub label: String,
    /// A description of what it does.
    pub description: String,
    /// Its name in the webhook.
    pub identifier: String,
}

/// A check run, as shown to people and as stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmulatedCheckRun {
    /// Its id, for a job of Actions also the job's id; 0 until it is stored.
    pub id: u64,
    pub(crate) suite: u64,
    /// Whether the App made it, rather than Actions.
    pub by_app: bool,
    pub name: String,
    pub(crate) head_sha: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// The result, once it is completed.
    pub conclusion: Option<CheckConclusion>,
    /// The id that its App gave it.
    pub external_id: String,
    /// The page it links to.
    pub details_url: Option<String>,
    pub title: String,
    pub summary: String,
    /// Remarks on lines.
    pub annotations: Vec<EmulatedAnnotation>,
    pub actions: Vec<CheckRunAction>,
    /// A job's output; `None` if the check run is no job.
    pub(crate) log: Option<String>,
    /// Its workflow run's attempt, from 1.
    pub(crate) attempt: u64,
}

impl EmulatedCheckRun {
    /// A check run that has not started.
    pub(crate) fn queued(by_app: bool, name: &str, head_sha: String) -> Self {
        Self { by_app, name: name.to_owned(), head_sha, status: "queued".to_owned(), ..Self::default() }
    }
}

/// All check runs of Actions, or of the App, on one commit.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedCheckSuite {
    pub id: u64,
    pub by_app: bool,
    pub head_sha: String,
    /// The id of the workflow run behind it.
    pub run: u64,
    pub attempt: u64,
}

/// A commit status, as CI systems without an App set it.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedCommitStatus {
    pub id: u64,
    pub sha: String,
    pub context: String,
    pub state: String,
    pub description: String,
    pub target_url: String,
}

/// Everything that checks a repository's commits.
#[derive(Debug, Default)]
pub(crate) struct EmulatedChecks {
    pub runs: Vec<EmulatedCheckRun>,
    pub suites: Vec<EmulatedCheckSuite>,
    pub statuses: Vec<EmulatedCommitStatus>,
}

impl EmulatedChecks {
    pub(crate) fn run(&self, id: u64) -> Option<&EmulatedCheckRun> {
        self.runs.iter().find(|run| run.id == id)
    }

    pub(crate) fn suite(&self, id: u64) -> Option<&EmulatedCheckSuite> {
        self.suites.iter().find(|suite| suite.id == id)
    }

    /// The newest run of each name, as for `filter=latest`.
    pub(crate) fn latest<'a>(
        &'a self,
        suite: &'a EmulatedCheckSuite,
    ) -> impl Iterator<Item = &'a EmulatedCheckRun> {
        let of_suite = || self.runs.iter().filter(|run| run.suite == suite.id);
        of_suite().filter(move |run| !of_suite().any(|other| other.name == run.name && other.id > run.id))
    }

    /// A suite's status and conclusion, derived from its runs.
    pub(crate) fn progress(&self, suite: &EmulatedCheckSuite) -> (&'static str, Option<CheckConclusion>) {
        let mut worst: Option<CheckConclusion> = None;
        for run in self.latest(suite) {
            let Some(conclusion) = run.conclusion else { return ("in_progress", None) };
            if worst.is_none_or(CheckConclusion::is_fine) {
                worst = Some(conclusion);
            }
        }
        (if worst.is_some() { "completed" } else { "queued" }, worst)
    }

    /// The newest status of each context on a commit, newest first.
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
