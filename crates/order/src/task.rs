//! The task as a person reads it: the title, its text and the comments that belong to it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::words::words;

/// A comment on the issue that belongs to the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskComment {
    pub by: String,
    pub right: CommentRight,
    pub at: DateTime<Utc>,
    /// Its text, bounded and with possible secrets removed.
    pub body: String,
}

/// Why a comment belongs to the task, according to GitHub.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommentRight {
    Author,
    Writer,
    /// Neither: the repository's settings admit everybody's comments.
    Other,
}

words!(CommentRight::words {
    Author: "who opened the issue",
    Writer: "who has write access",
    Other: "without write access"
});

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskComments {
    /// The newest comments, oldest first.
    pub kept: Vec<TaskComment>,
    /// How many older ones did not fit.
    #[serde(default)]
    pub left_out: usize,
}

impl TaskComments {
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.left_out == 0
    }
}

/// A file attached to the issue, or to a comment that belongs to the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskAttachment {
    /// Our own: a number, the sanitized original name, and the extension of its type.
    pub name: String,
    pub by: String,
    #[serde(flatten)]
    pub content: AttachmentContent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "content", rename_all = "snake_case")]
pub enum AttachmentContent {
    /// Its bytes are an artifact of the order.
    Kept { kind: AttachmentKind, sha256: String, size: u64 },
    /// It is not part of the task.
    LeftOut { because: String },
}

/// An attachment's type, by its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    Png,
    Jpeg,
    Gif,
    Webp,
    Text,
}

words!(AttachmentKind::media_type {
    Png: "image/png",
    Jpeg: "image/jpeg",
    Gif: "image/gif",
    Webp: "image/webp",
    Text: "text/plain; charset=utf-8"
});

words!(AttachmentKind::words {
    Png: "a picture (PNG)",
    Jpeg: "a picture (JPEG)",
    Gif: "a picture (GIF)",
    Webp: "a picture (WebP)",
    Text: "a text"
});

impl TaskAttachment {
    /// The name of the artifact with its bytes; `None` if it was left out.
    pub fn artifact(&self) -> Option<String> {
        match &self.content {
            AttachmentContent::Kept { sha256, .. } => Some(Self::artifact_name(sha256)),
            AttachmentContent::LeftOut { .. } => None,
        }
    }

    /// The name of the artifact whose bytes have this digest.
    pub fn artifact_name(sha256: &str) -> String {
        format!("attachment-{sha256}")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskText {
    pub title: String,
    pub body: String,
    pub comments: TaskComments,
    pub attachments: Vec<TaskAttachment>,
}
