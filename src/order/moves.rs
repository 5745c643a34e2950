//! Effects as data: what to do, under what name, and what was observed of it.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::agent_run::AgentRun;
use super::feedback::Feedback;
use super::ids::{BranchName, CommitSha, Person, PullNumber, TreeSha};
use super::pipeline::Pipeline;
use super::settings::RepositorySettings;
use super::test_run::TestRun;

/// The name of an effect, such as `implement/2/tests`. Derived from the order's state alone, so that the same
/// effect has the same name whatever the moment of a crash.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MoveKey(pub String);

impl MoveKey {
    /// The name as a file's or an artifact's: `implement-2-tests`.
    pub fn file_name(&self) -> String {
        self.0.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
    }
}

impl fmt::Display for MoveKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// An effect. Carrying one out twice is harmless.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
pub enum Move {
    /// Ask GitHub whether this person may write to the repository.
    Authorize {
        /// Who.
        person: Person,
    },
    /// Fetch the base branch and read the repository's settings from it.
    Prepare,
    /// Run an agent.
    RunAgent(AgentTask),
    /// Look for files in the agent's work tree, from inside its sandbox.
    FindFiles {
        /// Which.
        glob: String,
    },
    /// Take the commit that the agent pushed out through the airlock.
    Import {
        /// The branch that it should have pushed.
        branch: BranchName,
        /// The commit that the work starts from.
        base: CommitSha,
    },
    /// Make the commit to publish.
    Commit {
        /// Its tree, as imported.
        tree: TreeSha,
        /// Its parent.
        parent: CommitSha,
        /// Its message.
        message: String,
        /// Its date.
        date: DateTime<Utc>,
    },
    /// Run the repository's tests on a commit.
    RunTests {
        /// The commit.
        commit: CommitSha,
    },
    /// Push the commit and ask the remote whether it is there.
    Push {
        /// To this branch.
        branch: BranchName,
        /// This commit.
        commit: CommitSha,
        /// Only if the branch is here now; none: only if it does not exist.
        lease: Option<CommitSha>,
    },
    /// Open the pull request, or find it opened.
    OpenPull {
        /// From this branch.
        branch: BranchName,
        /// Its title.
        title: String,
        /// What the agent says of the change; how it was verified is added from the journal.
        summary: String,
    },
    /// Bring the pull request's text up to date and, when all is verified, take it out of draft.
    FinishPull {
        /// Which.
        pull: PullNumber,
        /// Its title.
        title: String,
        /// What the agent says of the change.
        summary: String,
        /// Take it out of draft.
        ready: bool,
    },
    /// Bring the status comment and the labels on the issue up to date with the journal.
    ShowStatus {
        /// How many times there was news.
        revision: u64,
    },
}

/// What an agent is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentTask {
    /// The stage that it is for, or the operation: `classify`, `commit_message` …
    pub stage: String,
    /// The agent's name in the settings.
    pub agent: String,
    /// Which run for this stage this is, from 1.
    pub round: u32,
    /// The command template's name, without a slash.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// What was wrong with the rounds before; none in a first round.
    pub rework: Option<Rework>,
    /// The session to go on with, where the runtime can.
    pub session: Option<String>,
    /// The branch that has to be checked out, once there is one.
    pub branch: Option<BranchName>,
    /// Seconds that it may take.
    pub timeout_seconds: u64,
}

/// What a worker is told when it is sent back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rework {
    /// The attempt that begins; 1 when there is nothing but a person's guidance to tell.
    pub attempt: u32,
    /// How many there are.
    pub of: u32,
    /// What was wrong, newest first.
    pub feedback: Vec<Feedback>,
    /// The end of the failing test run.
    pub test_output: Option<String>,
    /// Failing tests by name.
    pub failing_tests: Vec<String>,
    /// What a person said with `/retry`.
    pub guidance: Option<String>,
}

/// What was observed of an effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Of [`Move::Authorize`].
    Authorized {
        /// Whether the person may write.
        allowed: bool,
    },
    /// Of [`Move::Prepare`].
    Prepared {
        /// The head of the default branch.
        base: CommitSha,
        /// `.github/journeyman.yml`.
        settings: Box<RepositorySettings>,
        /// The pipeline that the repository names, if it names one.
        pipeline: Option<Box<Pipeline>>,
    },
    /// Of [`Move::RunAgent`].
    AgentRan(Box<AgentRun>),
    /// Of [`Move::FindFiles`].
    FilesFound {
        /// Paths from the work tree's root, sorted, at most a hundred.
        files: Vec<String>,
        /// The first file's text, when there is exactly one.
        content: Option<String>,
    },
    /// Of [`Move::Import`]: a tree that may be published.
    Imported {
        /// The commit that the agent pushed; never published itself.
        pushed: CommitSha,
        /// Its tree.
        tree: TreeSha,
        /// The agent's message made harmless; none when it is unusable.
        message: Option<String>,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
    },
    /// Of [`Move::Import`]: nothing that could be taken.
    NothingPushed {
        /// What was found instead.
        because: String,
    },
    /// Of [`Move::Import`]: the tree may not be published.
    ImportRefused(Feedback),
    /// Of [`Move::Commit`].
    Committed {
        /// The commit to test and to publish.
        commit: CommitSha,
    },
    /// Of [`Move::RunTests`].
    Tested(Box<TestRun>),
    /// Of [`Move::Push`]: the remote was asked, and has it.
    Pushed,
    /// Of [`Move::Push`]: the branch is not where the lease expected it, and is not ours to overwrite.
    BranchTaken {
        /// Where it is; none when it is gone.
        at: Option<CommitSha>,
    },
    /// Of [`Move::OpenPull`].
    PullOpened {
        /// Its number.
        number: PullNumber,
        /// Its page.
        url: String,
    },
    /// Of [`Move::FinishPull`].
    PullFinished,
    /// Of [`Move::ShowStatus`].
    StatusShown,
    /// Of any: it could not be done.
    Trouble(Trouble),
}

/// Why an effect could not be made. Never the fault of the work itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// What happened, and what a person can do about it. Holds no secret.
    pub message: String,
    /// Whether the same may succeed later; if so, not before this.
    pub retry: Retry,
}

/// Whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "retry", rename_all = "snake_case")]
pub enum Retry {
    /// Soon, with growing pauses.
    Soon,
    /// Not before this many seconds have passed, as we were told.
    After {
        /// Seconds.
        seconds: u64,
    },
    /// Not by itself: a person has to mend something first.
    Never,
}
