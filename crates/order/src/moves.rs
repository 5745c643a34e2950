//! Effects as data: what to do, under what name, and what was observed of it.

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

/// An effect. Carrying one out twice is harmless.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "move", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "wherever one is kept it is boxed")]
pub enum Move {
    /// Ask GitHub whether this person may write to the repository.
    Authorize {
        person: Person,
    },
    /// Fetch the base branch and read the repository's settings from it.
    Prepare,
    RunAgent(AgentTask),
    /// Look for files in the agent's work tree, from inside its sandbox.
    FindFiles {
        glob: String,
    },
    /// Take the commit that the agent pushed out through the airlock.
    Import {
        /// The branch that it should have pushed.
        branch: BranchName,
        /// The commit that the work starts from.
        base: CommitSha,
    },
    Commit {
        tree: TreeSha,
        parent: CommitSha,
        /// Its second parent, where it merges.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        merges: Option<CommitSha>,
        message: String,
        date: DateTime<Utc>,
    },
    RunTests {
        commit: CommitSha,
    },
    /// Write the files of a code artifact, commit them and push them to the agent's origin, as the agent would.
    WriteArtifact {
        /// The run whose answer holds the artifact.
        answer: MoveKey,
        branch: BranchName,
        /// The artifact's id, for the commit message.
        artifact: String,
    },
    /// Keep texts as artifacts of the order.
    Archive {
        stage: String,
        /// Name and text of each.
        parts: Vec<(String, String)>,
    },
    /// Say on the pull request what a round of review came to.
    ShowReview(ReviewNote),
    /// Push the commit and ask the remote whether it is there.
    Push {
        branch: BranchName,
        commit: CommitSha,
        /// Only if the branch is here now; none: only if it does not exist.
        lease: Option<CommitSha>,
    },
    /// Open the pull request, or find it opened.
    OpenPull {
        branch: BranchName,
        title: String,
        /// What the agent says of the change; how it was verified is added from the journal.
        summary: String,
    },
    /// Bring the pull request's text up to date and, when all is verified, take it out of draft.
    FinishPull {
        pull: PullNumber,
        title: String,
        summary: String,
        ready: bool,
    },
    /// Bring the status comment and the labels on the issue up to date with the journal.
    ShowStatus {
        revision: u64,
    },
    /// Find everything that would stop the work after it was paid for.
    Preflight,
    /// Read the issue again: its title, its text, and the comments that belong to the task.
    ReadIssue,
    /// Prepare the environment of the commit that the work starts from, and run its tests there.
    PrepareEnvironment,
    /// Read what is said on the pull request and how its checks stand.
    ReadPull {
        pull: PullNumber,
        /// The commit that we pushed last, for the checks on it.
        head: CommitSha,
    },
    /// Fetch what somebody pushed to our branch.
    TakeIn {
        branch: BranchName,
        head: CommitSha,
    },
    /// Bring the base branch into ours, in a repository of our own.
    UpdateBranch {
        head: CommitSha,
        how: BranchUpdateMethod,
        date: DateTime<Utc>,
    },
    /// Answer threads of the pull request's reviews, and resolve those that are settled.
    AnswerThreads {
        pull: PullNumber,
        replies: Vec<ThreadReply>,
    },
    RequestReview {
        pull: PullNumber,
        reviewers: Vec<Person>,
    },
    /// Say on the pull request what became of what was asked for outside of threads.
    ShowAnswer(AnswerNote),
    React {
        comment: CommentRef,
        reaction: Reaction,
    },
    /// Say one thing once, in a comment of its own.
    Say {
        on: CommentTarget,
        saying: NoticeComment,
    },
    /// Bring the check run on a commit up to date with the journal.
    ShowCheck {
        head: CommitSha,
        state: CheckRunState,
    },
    /// Have the failing jobs on a commit run once more.
    RerunJobs {
        head: CommitSha,
        jobs: Vec<u64>,
    },
    /// Take our labels off the issue and, where that is wished, the branch away.
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
    /// The stage that it is for, or the operation: `classify`, `commit_message` …
    pub stage: String,
    pub agent: String,
    pub round: u32,
    /// The command template's name, without a slash.
    pub command: String,
    pub arguments: Vec<String>,
    pub rework: Option<Rework>,
    /// The session to go on with, where the runtime can.
    pub session: Option<String>,
    /// The branch that has to be checked out, once there is one.
    pub branch: Option<BranchName>,
    pub timeout_seconds: u64,
    /// The role that it plays; its system prompt and tools are in the journal.
    #[serde(default)]
    pub role: String,
    /// What it is given besides its arguments, by name. Data.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// The comments on the issue that belong to its task. Data.
    #[serde(default, skip_serializing_if = "TaskComments::is_empty")]
    pub comments: TaskComments,
    /// What was attached to the issue and to these comments. Data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<TaskAttachment>,
    /// What its answer has to look like, where that is JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<serde_json::Value>,
    /// The run before it in this stage: a runtime without memory is told its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<MoveKey>,
    #[serde(default)]
    pub place: AgentTaskWorkspace,
    /// What its answer is for, beyond itself.
    #[serde(default)]
    pub answers: AgentAnswerFormat,
    /// The commit that its work tree begins with; none: the base. Another than before is a new work tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<CommitSha>,
    /// What its artifact is held to; none for other answers, and in journals from before it was written down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Box<ArtifactRules>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum AgentTaskWorkspace {
    /// In the order's one work tree, which it may change.
    #[default]
    Workspace,
    /// In a checkout of this commit that it may only read, with a home of its own.
    Checkout { commit: CommitSha },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentAnswerFormat {
    #[default]
    Freely,
    /// A code artifact: a runtime without tools is shown the tree and the files that are named.
    CodeArtifact,
}

/// What a round of review came to, for the pull request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewNote {
    pub pull: PullNumber,
    pub stage: String,
    pub round: u32,
    /// Who judged: the verifier's role.
    pub verifier: String,
    pub commit: CommitSha,
    /// What was said; none when the review could not be made.
    pub feedback: Option<Feedback>,
}

/// What a worker is told when it is sent back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rework {
    /// Which of the worker's runs begins, counted within its stage; from 1, also after `/retry` and guidance.
    pub attempt: u32,
    /// How many there can be, if the check that failed last keeps failing.
    pub of: u32,
    pub feedback: Vec<Feedback>,
    /// The end of the failing test run.
    pub test_output: Option<String>,
    pub failing_tests: Vec<String>,
    /// What a person said with `/retry`.
    pub guidance: Option<String>,
    /// What the escalation's agent advises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    #[serde(default)]
    pub mode: FeedbackMode,
}

/// What an agent says of a stage whose checks ran out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Diagnosis {
    pub decision: DiagnosisDecision,
    pub diagnosis: String,
    /// What the worker is to do; empty with a flag.
    #[serde(default)]
    pub guidance: String,
}

/// What is to happen with a stage whose checks ran out.
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
        /// The first file's text, when there is exactly one.
        content: Option<String>,
    },
    /// Of [`Move::Import`]: a tree that may be published.
    Imported {
        /// The commit that the agent pushed; never published itself.
        pushed: CommitSha,
        tree: TreeSha,
        /// The agent's message made harmless; none when it is unusable.
        message: Option<String>,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
        /// What may be published and people should know: manifests, lockfiles, programs.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        warnings: Vec<Finding>,
    },
    /// Of [`Move::Import`]: nothing that could be taken. Of [`Move::Commit`] and [`Move::RunTests`]: what was taken is lost.
    NothingPushed {
        because: String,
    },
    /// Of [`Move::Import`]: the tree may not be published.
    ImportRefused(Feedback),
    Committed {
        commit: CommitSha,
        /// What it changes, as a unified diff, cut at 60,000 characters with a line that says so.
        #[serde(default)]
        patch: String,
    },
    Tested(Box<TestRun>),
    ArtifactWritten,
    Archived {
        artifacts: Vec<String>,
    },
    ReviewShown,
    /// Of [`Move::Push`]: the remote was asked, and has it.
    Pushed,
    /// Of [`Move::Push`]: the branch is not where the lease expected it, and is not ours to overwrite.
    BranchTaken {
        /// Where it is; none when it is gone.
        at: Option<CommitSha>,
    },
    /// Of [`Move::Push`]: the server does not take the commit, by a rule of the repository above all.
    PushDeclined {
        /// In the server's words, with what the rules for the branch ask for.
        because: String,
    },
    PullOpened {
        number: PullNumber,
        url: String,
    },
    PullFinished,
    StatusShown {
        /// GitHub's id of the comment; none in journals from before it was kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        comment: Option<u64>,
    },
    Preflighted {
        /// What stands in the way, each with what to do about it; none: nothing.
        problems: Vec<String>,
        /// What does not stand in the way and should be known.
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
        /// The commit, which is the branch's head.
        commit: CommitSha,
        tree: TreeSha,
        /// Paths that differ from the base, sorted, at most a thousand.
        changed: Vec<String>,
        /// What it changes against the base, as a unified diff that may be cut.
        patch: String,
    },
    /// Of [`Move::UpdateBranch`]: a commit that has the base branch in it.
    BranchUpdated {
        /// The base branch's head, which is in it now.
        base: CommitSha,
        commit: CommitSha,
        tree: TreeSha,
        changed: Vec<String>,
        patch: String,
    },
    UpToDate,
    /// Of [`Move::UpdateBranch`]: people or agents have to decide.
    Conflicted {
        base: CommitSha,
        /// A commit of ours, never published, whose files hold the conflicts between markers.
        marked: CommitSha,
        paths: Vec<String>,
    },
    /// Of any move that only tells GitHub something: it stands there.
    Done,
    /// Of [`Move::RunAgent`]: a budget beyond the order's own is spent, and nothing was started.
    BudgetSpent {
        /// Which, how much of it is spent, and when there is more.
        because: String,
    },
    /// Of any: it could not be done.
    Trouble(EffectError),
}

/// Of [`Move::Prepare`]: what the order works with, as its repository says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreparedRepository {
    /// The head of the branch that the work starts from.
    pub base: CommitSha,
    /// That of the default branch, where it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<CommitSha>,
    /// `.github/journeyman.yml`.
    pub settings: RepositorySettings,
    pub pipeline: Option<Pipeline>,
    /// Roles that the repository has in place of ours.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Role>,
    /// The command templates that the repository's own pipeline and roles name.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub commands: BTreeSet<String>,
    /// The first lines of the last commits on the base, newest first, at most fifty: how titles are written here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    #[serde(default, skip_serializing_if = "TaskComments::is_empty")]
    pub comments: TaskComments,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<TaskAttachment>,
    /// The repository's template of a pull request's text, cut at 10,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// Why an effect could not be made. Never the fault of the work itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectError {
    /// What happened, and what a person can do about it. Holds no secret.
    pub message: String,
    /// Whether the same may succeed later; if so, not before this.
    pub retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "retry", rename_all = "snake_case")]
pub enum Retry {
    /// Soon, with growing pauses.
    Soon,
    /// Not before this many seconds have passed, as we were told.
    After { seconds: u64 },
    /// When the other side is there again, which may take hours.
    Outage,
    /// Not by itself: a person has to mend something first.
    Never,
}
