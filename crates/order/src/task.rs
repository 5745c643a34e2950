//! The task as a person reads it: the title, its text and the comments on it that belong to the task.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A comment on the issue that belongs to the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskComment {
    /// The login of who wrote it.
    pub by: String,
    pub right: CommentRight,
    /// When it was written.
    pub at: DateTime<Utc>,
    /// Its text, bounded and without what looks like a secret.
    pub body: String,
}

/// Why a comment belongs to the task, as GitHub was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentRight {
    /// They opened the issue.
    Author,
    /// They have write access to the repository.
    Writer,
    /// Neither: the repository's settings let everybody's comments in.
    Other,
}

impl CommentRight {
    /// As an agent is told it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Author => "who opened the issue",
            Self::Writer => "who has write access",
            Self::Other => "without write access",
        }
    }
}

/// The comments that belong to the task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskComments {
    /// The newest, the oldest of them first.
    pub kept: Vec<TaskComment>,
    /// How many older ones there was no room for.
    #[serde(default)]
    pub left_out: usize,
}

impl TaskComments {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.left_out == 0
    }
}

/// What an order works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskText {
    pub title: String,
    pub body: String,
    pub comments: TaskComments,
}
