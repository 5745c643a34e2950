//! The conversation on GitHub as data: what was read on a pull request, and what is to be said.

use serde::{Deserialize, Serialize};

use super::ids::{CommitSha, IssueNumber, Person, PullNumber};

/// What stands on a pull request, read at one moment. Sizes are limited by whoever reads; texts are as people wrote
/// them, and hostile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullSnapshot {
    pub head: CommitSha,
    pub state: PullSnapshotState,
    pub mergeable: Mergeability,
    /// Review threads that are not resolved, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<PullReviewThread>,
    /// What reviews say beside their threads, and comments on the pull request itself, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<PullRemark>,
    /// The checks of others on the commit that was asked about.
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
    /// It would merge, but the base branch asks for branches that are up to date.
    Behind,
    Unknown,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullReviewThread {
    /// Its id in GraphQL.
    pub id: String,
    pub path: String,
    /// The line in the head's version of the file; none when it is gone there or the thread is about the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The line that it was written on, when the head is another commit now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_line: Option<u64>,
    /// The piece of the diff that it was written on.
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
    /// A bot, or an account that is gone.
    Other,
}

/// What somebody wrote on the pull request outside of threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PullRemark {
    pub source: PullRemarkSource,
    pub by: CommentAuthor,
    pub names_us: bool,
    /// What it says; a review's can be empty.
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullRemarkSource {
    Review {
        id: u64,
        /// Whether it asks for changes and that still stands.
        asks_for_changes: bool,
    },
    Comment {
        id: u64,
    },
}

/// How the checks of others stand on a commit: check runs that are not ours, and commit statuses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChecksSnapshot {
    /// How many are done and content, or of no account.
    pub passed: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<String>,
    /// Those that failed here and not on the base.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<FailingJob>,
    /// The names of those that failed on the base, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing_on_base: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FailingJob {
    pub name: String,
    /// The job's id in GitHub Actions, where it is one and can be run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    #[serde(default)]
    pub url: String,
    /// What it says of itself in a line or two.
    #[serde(default)]
    pub summary: String,
    /// What it says of lines: `path:line: message`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<String>,
    /// The end of its log; empty where there is none to be had.
    #[serde(default)]
    pub log: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchUpdateMethod {
    #[default]
    Merge,
    /// By a new commit on the base branch's head. Only where every commit on the branch is ours.
    Rebase,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadReply {
    /// The thread's id in GraphQL.
    pub thread: String,
    /// The numeric id of the last comment that this answers: it is not said again while that is the last.
    pub answers: u64,
    pub done: PointResolution,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointResolution {
    /// This commit addresses it, and every check passed on it: the thread is resolved.
    In(CommitSha),
    /// Nothing was changed for it; the text says why. The thread stays open.
    Nothing,
    /// This commit was pushed and every check passed on it; whether it answers this, the agent did not say. The thread
    /// stays open.
    Unsaid(CommitSha),
    /// It was tried in vain; the text says how. The thread stays open.
    InVain,
}

/// What became of what was asked for outside of threads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerNote {
    pub pull: PullNumber,
    /// The which-th answer to people this is, from 1.
    pub answer: u32,
    pub points: Vec<AnsweredPoint>,
    pub commit: Option<CommitSha>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweredPoint {
    /// Who asked: a login, a check's name.
    pub by: String,
    /// What, cut to a line or two.
    pub asked: String,
    pub done: PointResolution,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentRef {
    /// On an issue or a pull request.
    Issue(u64),
    /// In a review's thread.
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

/// What is said once, in a comment of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "saying", rename_all = "snake_case")]
pub enum NoticeComment {
    Help,
    UnknownCommand {
        /// The word, of small letters and hyphens.
        word: String,
    },
    /// How it stands, in a line, with where to read more.
    Status,
    NotNow {
        word: String,
        because: String,
    },
    /// The label was put on again and changed nothing, because there is an open pull request.
    PullIsOpen {
        pull: PullNumber,
        because: String,
    },
    /// Only people with write access can command; said at most once on an issue, and only where that is wished.
    NoRight,
    Plan {
        /// The which-th plan this is, from 1.
        round: u32,
        text: String,
    },
    /// What the plan leaves to people, before code is written.
    Questions {
        questions: Vec<String>,
        #[serde(default)]
        more: usize,
        /// Whether there is no sense in going on without an answer.
        blocking: bool,
    },
    /// The issue changed after code was begun: the order goes on with its text as it was.
    TextKept {
        /// A comment was added, rather than the issue edited.
        comment: bool,
    },
    /// What the stages came to, of an order that ends without a pull request.
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
    /// Not verified, and nothing to blame the work for; or a person accepted it as it is.
    Neutral,
    Failure,
    Cancelled,
    /// Another commit took the place of this one before anything was concluded of it.
    Superseded,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRunOutput {
    /// Plain text, at most 100 characters.
    pub title: String,
    /// Markdown, at most 65,535 characters.
    pub summary: String,
    /// The weightiest first, no more than there are findings.
    pub annotations: Vec<CheckAnnotation>,
}

/// What is said of a line. Plain text: GitHub does not read Markdown there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckAnnotation {
    /// The file, one that the change touches.
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
