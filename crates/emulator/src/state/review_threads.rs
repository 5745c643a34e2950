//! The threads of reviews: where on a diff each stands, what is said in it, whether it is settled.

use chrono::{DateTime, Utc};

use super::reactions::EmulatedReaction;
use super::{EmulatedIssue, EmulatedPull, EmulatedRepository};
use crate::lines::{self, DiffSide};

/// A thread of a review.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedReviewThread {
    pub id: u64,
    pub path: String,
    /// None: it is about the file as a whole.
    pub location: Option<DiffLocation>,
    /// The head of the branch when it was begun.
    pub commit: String,
    /// The piece of the diff that it was begun on, down to its line.
    pub hunk: String,
    pub resolved_by: Option<u64>,
    pub comments: Vec<EmulatedReviewComment>,
}

/// Lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiffLocation {
    pub side: DiffSide,
    /// Where it begins, when it is more than one line.
    pub start: Option<u64>,
    pub line: u64,
    /// The line's place in the diff, counted from the first hunk's head.
    pub position: u64,
}

/// A comment in a thread.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedReviewComment {
    pub id: u64,
    pub review: u64,
    pub author: u64,
    pub body: String,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub reactions: Vec<EmulatedReaction>,
    pub minimized: Option<String>,
}

/// Where a thread stands on the diff of today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffPosition {
    /// It is about the file as a whole.
    File,
    Line {
        start: Option<u64>,
        line: u64,
        position: u64,
    },
    /// The lines were changed since, or the diff has them no more.
    Outdated,
}

impl EmulatedReviewThread {
    /// Where it stands now: a line that no later commit touched is followed, as long as the diff still has it.
    pub(crate) fn current_position(
        &self,
        repository: &EmulatedRepository,
        pull: &EmulatedPull,
    ) -> DiffPosition {
        let Some(place) = self.location else { return DiffPosition::File };
        let follow = |line: u64| match place.side {
            DiffSide::Left => Some(line),
            DiffSide::Right => lines::follow(&repository.git, &self.commit, &pull.head_sha, &self.path, line),
        };
        let Some(line) = follow(place.line) else { return DiffPosition::Outdated };
        let hunk =
            lines::hunk(&repository.git, (&pull.base_sha, &pull.head_sha), &self.path, place.side, line);
        match (hunk, place.start.map(follow)) {
            (None, _) | (_, Some(None)) => DiffPosition::Outdated,
            (Some(hunk), start) => {
                DiffPosition::Line { start: start.flatten(), line, position: hunk.position }
            }
        }
    }
}

impl EmulatedIssue {
    fn review_threads(&self) -> impl Iterator<Item = &EmulatedReviewThread> {
        self.pull.iter().flat_map(|pull| &pull.review_threads)
    }
}

impl EmulatedRepository {
    /// The pull request and the thread that have this comment.
    pub(crate) fn review_comment(
        &self,
        id: u64,
    ) -> Option<(&EmulatedIssue, &EmulatedReviewThread, &EmulatedReviewComment)> {
        self.threads.values().find_map(|thread| {
            thread.review_threads().find_map(|one| {
                let comment = one.comments.iter().find(|comment| comment.id == id)?;
                Some((thread, one, comment))
            })
        })
    }

    /// The pull request and its thread of this id.
    pub(crate) fn review_thread(&self, id: u64) -> Option<(&EmulatedIssue, &EmulatedReviewThread)> {
        self.threads.values().find_map(|thread| {
            let found = thread.review_threads().find(|one| one.id == id)?;
            Some((thread, found))
        })
    }
}
