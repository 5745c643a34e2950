//! Effects as data: what to do, under which name, and what was observed.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::agent_run::AgentRun;
use super::artifact::ArtifactRules;
use super::conversation::{
    AnswerNote, BranchUpdateMethod, CheckRunState, CommentRef, CommentTarget, NoticeComment, PullSnapshot,
    Reaction, ThreadReply,
};
pub use super::effect_name::MoveKey;
use super::environment_report::EnvironmentReport;
use super::feedback::{Feedback, Finding};
use super::ids::{BranchName, CommitSha, Person, PullNumber, TreeSha};
use super::pipeline::{FeedbackMode, Pipeline};
use super::role::Role;
use super::settings::RepositorySettings;
use super::task::{TaskAttachment, TaskComments};
use super::test_run::TestRun;

/// An effect. Executing it twice is harmless.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "wherever one is kept it is boxed")]
pub enum Move {
    /// Ask GitHub whether this person has write access to the repository.
    Authorize {
        person: Person,
    },
    /// Fetch the base branch and read the repository's settings from it.
    Prepare,
    RunAgent(AgentTask),
    /// Find files in the agent's work tree, from inside its sandbox.
    FindFiles {
        glob: String,
    },
    /// Import the commit that the agent pushed, through the airlock.
    Import {
        /// The branch that the agent should have pushed.
        branch: BranchName,
        /// The commit that the work starts from.
        base: CommitSha,
    },
    Commit {
        tree: TreeSha,
        parent: CommitSha,
        /// The second parent of a merge commit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merges: Option<CommitSha>,
        message: String,
        date: DateTime<Utc>,
    },
    RunTests {
        commit: CommitSha,
    },
    /// Write the files of a code artifact, commit them and push them to the agent's origin, as the agent would do.
    WriteArtifact {
        /// The run that answered with the artifact.
        answer: MoveKey,
        branch: BranchName,
        /// The artifact's id, for the commit message.
        artifact: String,
    },
    /// Store texts as artifacts of the order.
    Archive {
        stage: String,
        parts: Vec<(String, String)>,
    },
    /// Post the result of a review round on the pull request.
    ShowReview(ReviewNote),
    /// Push the commit and check that the remote has it.
    Push {
        branch: BranchName,
        commit: CommitSha,
        /// The commit that the branch must be at; `None` if the branch must not exist yet.
        lease: Option<CommitSha>,
    },
    /// Open the pull request, or find the one already opened.
    OpenPull {
        branch: BranchName,
        title: String,
        /// The agent's description of the change; the evidence is added from the journal.
        summary: String,
    },
    /// Update the pull request's text and, once everything is verified, take it out of draft.
    FinishPull {
        pull: PullNumber,
        title: String,
        summary: String,
        ready: bool,
    },
    /// Update the issue's status comment and labels from the journal.
    ShowStatus {
        revision: u64,
    },
    /// Check for everything that would stop the work later, before paying for any.
    Preflight,
    /// Read the issue again: its title, its text, and the comments that belong to the task.
    ReadIssue,
    /// Prepare the environment of the commit that the work starts from, and run its tests there.
    PrepareEnvironment,
    /// Read the pull request's conversation and the state of its checks.
    ReadPull {
        pull: PullNumber,
        /// The commit that we pushed last; its checks are read.
        head: CommitSha,
    },
    /// Fetch the commit of somebody else's pull request.
    FetchChange {
        head: CommitSha,
    },
    /// Fetch a commit that somebody pushed to our branch.
    TakeIn {
        branch: BranchName,
        head: CommitSha,
    },
    /// Merge the base branch into ours or rebase onto it, in our own repository.
    UpdateBranch {
        head: CommitSha,
        how: BranchUpdateMethod,
        date: DateTime<Utc>,
    },
    /// Reply to review threads of the pull request, and resolve the settled ones.
    AnswerThreads {
        pull: PullNumber,
        replies: Vec<ThreadReply>,
    },
    RequestReview {
        pull: PullNumber,
        reviewers: Vec<Person>,
    },
    /// Post on the pull request what happened to requests made outside of threads.
    ShowAnswer(AnswerNote),
    React {
        comment: CommentRef,
        reaction: Reaction,
    },
    /// Post a notice once, in its own comment.
    Say {
        on: CommentTarget,
        saying: NoticeComment,
    },
    /// Update the check run on a commit from the journal.
    ShowCheck {
        head: CommitSha,
        state: CheckRunState,
    },
    /// Rerun the failing jobs on a commit.
    RerunJobs {
        head: CommitSha,
        jobs: Vec<u64>,
    },
    /// Remove our labels from the issue and, if configured, delete the branch.
    Tidy {
        /// The branch to delete, if it is still at this commit.
        branch: Option<(BranchName, CommitSha)>,
    },
}

impl Move {
    pub fn questions(&self) -> Option<&[String]> {
        if let Self::Say { saying: NoticeComment::Questions { questions, .. }, .. } = self {
            return Some(questions);
        }
        None
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentTask {
    /// The stage or operation, such as `classify` or `commit_message`.
    pub stage: String,
    pub agent: String,
    pub round: u32,
    /// The command template's name, without a slash.
    pub command: String,
    pub arguments: Vec<String>,
    pub rework: Option<Rework>,
    /// The session to resume, if the runtime supports it.
    pub session: Option<String>,
    /// The branch to check out, once there is one.
    pub branch: Option<BranchName>,
    pub timeout_seconds: u64,
    /// The agent's role; its system prompt and tools are in the journal.
    #[serde(default)]
    pub role: String,
    /// Named inputs besides the arguments. Data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// The issue's comments that belong to the task. Data.
    #[serde(default, skip_serializing_if = "TaskComments::is_empty")]
    pub comments: TaskComments,
    /// The attachments of the issue and of these comments. Data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<TaskAttachment>,
    /// The schema of a JSON answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<serde_json::Value>,
    /// The previous run in this stage: a runtime without memory gets its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<MoveKey>,
    #[serde(default)]
    pub place: AgentTaskWorkspace,
    /// How the answer is used.
    #[serde(default)]
    pub answers: AgentAnswerFormat,
    /// The commit that the work tree starts from; `None`: the base. A different commit means a new work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommitSha>,
    /// The rules for the artifact; `None` for other answers and in older journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Box<ArtifactRules>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum AgentTaskWorkspace {
    /// In the order's only work tree, which it may change.
    #[default]
    Workspace,
    /// In a read-only checkout of this commit, with its own home.
    Checkout { commit: CommitSha },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentAnswerFormat {
    #[default]
    Freely,
    /// A code artifact: a runtime without tools gets the tree and the named files in its prompt.
    CodeArtifact,
}

/// The result of a review round, for the pull request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewNote {
    pub pull: PullNumber,
    pub stage: String,
    pub round: u32,
    /// The verifier's role.
    pub verifier: String,
    pub commit: CommitSha,
    /// The verifier's feedback; `None` if the review could not run.
    pub feedback: Option<Feedback>,
}

/// What the worker learns when a check sends it back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rework {
    /// The number of this worker run within its stage, from 1. `/retry` and guidance restart it at 1.
    pub attempt: u32,
    /// The highest possible number, if the check that failed last keeps failing.
    pub of: u32,
    pub feedback: Vec<Feedback>,
    /// The end of the failing test run's output.
    pub test_output: Option<String>,
    pub failing_tests: Vec<String>,
    /// The person's text after `/retry`.
    pub guidance: Option<String>,
    /// The escalation agent's advice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    #[serde(default)]
    pub mode: FeedbackMode,
}

/// The escalation agent's answer about a stage whose checks ran out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    pub decision: DiagnosisDecision,
    pub diagnosis: String,
    /// Instructions for the worker; empty with a flag.
    #[serde(default)]
    pub guidance: String,
}

/// What to do with a stage whose checks ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosisDecision {
    /// One more set of rounds, with guidance.
    Guide,
    Flag,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum EffectOutcome {
    Authorized {
        allowed: bool,
    },
    Prepared(Box<PreparedRepository>),
    AgentRan(Box<AgentRun>),
    FilesFound {
        /// Paths from the work tree's root, sorted, at most a hundred.
        files: Vec<String>,
        /// The file's text, if there is exactly one file.
        content: Option<String>,
    },
    /// Of [`Move::Import`]: a tree that may be published.
    Imported {
        /// The agent's own commit; it is never published itself.
        pushed: CommitSha,
        tree: TreeSha,
        /// The agent's message, sanitized; `None` if it is unusable.
        message: Option<String>,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
        /// Publishable changes that people should know about: manifests, lockfiles, programs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Finding>,
    },
    /// Of [`Move::Import`]: nothing to import. Of [`Move::Commit`] and [`Move::RunTests`]: the import is lost.
    NothingPushed {
        because: String,
    },
    /// Of [`Move::Import`]: the tree may not be published.
    ImportRefused(Feedback),
    Committed {
        commit: CommitSha,
        /// The change as a unified diff, cut at 60,000 characters with a line that says so.
        #[serde(default)]
        patch: String,
    },
    Tested(Box<TestRun>),
    ArtifactWritten,
    Archived {
        artifacts: Vec<String>,
    },
    ReviewShown,
    /// Of [`Move::Push`]: the remote confirmed that it has the commit.
    Pushed,
    /// Of [`Move::Push`]: the branch differs from the lease, and we may not overwrite it.
    BranchTaken {
        /// The branch's commit; `None` if the branch is gone.
        at: Option<CommitSha>,
    },
    /// Of [`Move::Push`]: the server rejects the commit, usually by a rule of the repository.
    PushDeclined {
        /// The server's message, with the branch rules it refers to.
        because: String,
    },
    PullOpened {
        number: PullNumber,
        url: String,
    },
    PullFinished,
    StatusShown {
        /// GitHub's id of the comment; `None` in older journals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<u64>,
    },
    Preflighted {
        /// Problems that block the work, each with its fix.
        problems: Vec<String>,
        /// Problems that do not block the work but should be known.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<String>,
    },
    IssueRead {
        title: String,
        body: String,
        comments: TaskComments,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<TaskAttachment>,
    },
    EnvironmentPrepared(Box<EnvironmentReport>),
    PullRead(Box<PullSnapshot>),
    TakenIn {
        /// The commit at the branch's head.
        commit: CommitSha,
        tree: TreeSha,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
        /// The change against the base, as a unified diff that may be cut.
        patch: String,
    },
    ChangeFetched {
        tree: TreeSha,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
        /// The change against the base, as a unified diff that may be cut.
        patch: String,
    },
    /// Of [`Move::UpdateBranch`]: a commit that contains the base branch.
    BranchUpdated {
        /// The base branch's head that it contains.
        base: CommitSha,
        commit: CommitSha,
        tree: TreeSha,
        changed: Vec<String>,
        patch: String,
    },
    UpToDate,
    /// Of [`Move::UpdateBranch`]: people or agents have to resolve conflicts.
    Conflicted {
        base: CommitSha,
        /// Our commit with conflict markers in its files; it is never published.
        marked: CommitSha,
        paths: Vec<String>,
    },
    /// Of any move that only posts to GitHub: the content is there.
    Done,
    /// Of [`Move::RunAgent`]: a budget beyond the order's own is spent, so the agent was not started.
    BudgetSpent {
        /// Which budget, how much is spent, and when it resets.
        because: String,
    },
    /// Of any move: it failed.
    Trouble(EffectError),
}

/// Of [`Move::Prepare`]: the order's inputs, as the repository defines them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreparedRepository {
    /// The head of the branch that the work starts from.
    pub base: CommitSha,
    /// The head of the default branch, if that is a different one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<CommitSha>,
    /// `.github/journeyman.yml`.
    pub settings: RepositorySettings,
    pub pipeline: Option<Pipeline>,
    /// Roles of the repository that replace ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Role>,
    /// The command templates that the repository's pipeline and roles name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub commands: BTreeSet<String>,
    /// Subjects of the latest commits on the base, newest first, at most fifty: they show the title style.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    #[serde(default, skip_serializing_if = "TaskComments::is_empty")]
    pub comments: TaskComments,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<TaskAttachment>,
    /// The repository's pull request template, cut at 10,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// Why an effect failed. Never the fault of the work itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectError {
    /// What happened, and what a person can do about it. Contains no secret.
    pub message: String,
    /// Whether and when to retry.
    pub retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "retry", rename_all = "snake_case")]
pub enum Retry {
    /// Soon, with growing pauses.
    Soon,
    /// Not for this many seconds, as the other side asked.
    After { seconds: u64 },
    /// Once the other side is available again, which may take hours.
    Outage,
    /// Never: a person has to fix something first.
    Never,
}
