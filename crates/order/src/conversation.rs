//! The conversation on GitHub as data: what we read on a pull request, and what we post.

use serde::{Deserialize, Serialize};

use super::ids::{CommitSha, IssueNumber, Person, PullNumber};

/// A pull request, read at one moment. The reader limits sizes. Texts are as people wrote them, and hostile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullSnapshot {
    pub head: CommitSha,
    pub state: PullSnapshotState,
    pub mergeable: Mergeability,
    /// Unresolved review threads, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<PullReviewThread>,
    /// Reviews' own texts, and comments on the pull request itself, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<PullRemark>,
    /// Other apps' checks on the requested commit.
    #[serde(default)]
    pub checks: ChecksSnapshot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullSnapshotState {
    Open,
    Closed,
    Merged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mergeability {
    Cleanly,
    Conflicts,
    /// It could merge, but the base branch requires branches to be up to date.
    Behind,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullReviewThread {
    /// The GraphQL id.
    pub id: String,
    pub path: String,
    /// The line in the head's version of the file; `None` if the line is gone or the thread is about the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The line that it was written on, if the head has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_line: Option<u64>,
    /// The diff hunk that it was written on.
    pub diff_hunk: String,
    pub comments: Vec<PullReviewThreadComment>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullReviewThreadComment {
    pub id: u64,
    /// The review that it came with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<u64>,
    pub by: CommentAuthor,
    #[serde(default)]
    pub names_us: bool,
    pub body: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentAuthor {
    Us,
    Person(Person),
    /// A bot, or a deleted account.
    Other,
}

/// What somebody wrote on the pull request outside of threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullRemark {
    pub source: PullRemarkSource,
    pub by: CommentAuthor,
    pub names_us: bool,
    /// The text; a review's can be empty.
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullRemarkSource {
    Review {
        id: u64,
        /// Whether it requests changes and still applies.
        asks_for_changes: bool,
    },
    Comment {
        id: u64,
    },
}

/// Other apps' checks on a commit: check runs that are not ours, and commit statuses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChecksSnapshot {
    /// How many succeeded, or ended without counting against the commit.
    pub passed: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// Checks that fail here but not on the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<FailingJob>,
    /// Names of the checks that fail on the base, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing_on_base: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FailingJob {
    pub name: String,
    /// The job's id, if it is a GitHub Actions job that can be rerun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    #[serde(default)]
    pub url: String,
    /// Its own summary, in a line or two.
    #[serde(default)]
    pub summary: String,
    /// Its annotations: `path:line: message`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<String>,
    /// The end of its log; empty if no log is available.
    #[serde(default)]
    pub log: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchUpdateMethod {
    #[default]
    Merge,
    /// By a new commit on the base branch's head. Only if every commit on the branch is ours.
    Rebase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReply {
    /// The thread's GraphQL id.
    pub thread: String,
    /// The numeric id of the last comment that this answers. While it stays the last one, we do not reply again.
    pub answers: u64,
    pub done: PointResolution,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointResolution {
    /// This commit addresses it and passed every check, so the thread is resolved.
    In(CommitSha),
    /// No change was needed; the text says why. The thread stays open.
    Nothing,
    /// This commit was pushed and passed every check, but the agent did not say whether it addresses this. The thread
    /// stays open.
    Unsaid(CommitSha),
    /// The attempt failed; the text says how. The thread stays open.
    InVain,
}

/// The results of requests made outside of threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerNote {
    pub pull: PullNumber,
    /// The number of this answer to people, from 1.
    pub answer: u32,
    pub points: Vec<AnsweredPoint>,
    pub commit: Option<CommitSha>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredPoint {
    /// Who asked: a login, or a check's name.
    pub by: String,
    /// The request, cut to a line or two.
    pub asked: String,
    pub done: PointResolution,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentRef {
    /// On an issue or a pull request.
    Issue(u64),
    /// In a review thread.
    Review(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    Eyes,
    Rocket,
    Confused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentTarget {
    Issue(IssueNumber),
    Pull(PullNumber),
}

/// A notice that is posted once, in its own comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "saying", rename_all = "snake_case")]
pub enum NoticeComment {
    Help,
    UnknownCommand {
        /// The word, in lower-case letters and hyphens.
        word: String,
    },
    /// The order's state in one line, with a link to more.
    Status,
    NotNow {
        word: String,
        because: String,
    },
    /// The label was added again and changed nothing, because there is an open pull request.
    PullIsOpen {
        pull: PullNumber,
        because: String,
    },
    /// Only people with write access can command. Posted at most once on an issue, and only if configured.
    NoRight,
    Plan {
        /// The number of this plan, from 1.
        round: u32,
        text: String,
    },
    /// The plan's questions to people, before code is written.
    Questions {
        questions: Vec<String>,
        #[serde(default)]
        more: usize,
        /// Whether the work cannot continue without an answer.
        blocking: bool,
    },
    /// The issue changed after coding began: the order continues with the earlier text.
    TextKept {
        /// Whether a comment was added, rather than the issue edited.
        comment: bool,
    },
    /// The stages' results, for an order that ends without a pull request.
    Results,
    PullClosed {
        pull: PullNumber,
        merged: bool,
        by: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckRunState {
    InProgress,
    Success,
    /// Not verified through no fault of the work, or accepted as it is by a person.
    Neutral,
    Failure,
    Cancelled,
    /// Another commit replaced this one before its check run had a conclusion.
    Superseded,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRunOutput {
    /// Plain text, at most 100 characters.
    pub title: String,
    /// Markdown, at most 65,535 characters.
    pub summary: String,
    /// Most severe first, at most one for each finding.
    pub annotations: Vec<CheckAnnotation>,
}

/// An annotation on a line. Plain text: GitHub does not render Markdown there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckAnnotation {
    /// A file that the change touches.
    pub path: String,
    pub line: u64,
    pub level: AnnotationLevel,
    pub title: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AnnotationLevel {
    Failure,
    Warning,
    Notice,
}
