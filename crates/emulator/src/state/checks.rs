//! Check runs, the suites they come in, and commit statuses: what is kept of them.

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

    pub(crate) fn is_fine(self) -> bool {
        matches!(self, Self::Success | Self::Neutral | Self::Skipped)
    }
}

/// What a check run says of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmulatedAnnotation {
    pub path: String,
    pub start_line: u64,
    /// `notice`, `warning` or `failure`.
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
