//! The threads of reviews: where on a diff each stands, what is said in it, whether it is settled.

use super::{EmulatedComment, EmulatedIssue, EmulatedPull, EmulatedRepository};
use crate::lines;

/// A thread of a review, on a line of a file as the branch has it.
#[derive(Debug, Clone)]
pub(crate) struct EmulatedReviewThread {
    pub id: u64,
    pub path: String,
    /// The line that it was begun on.
    pub line: u64,
    /// The head of the branch when it was begun.
    pub commit: String,
    /// The piece of the diff that it was begun on, down to its line.
    pub hunk: String,
    pub resolved_by: Option<u64>,
    pub comments: Vec<EmulatedComment>,
}

impl EmulatedReviewThread {
    /// Its line now: one that no later commit touched is followed, as long as the diff still has it. None: it is outdated.
    pub(crate) fn current_line(&self, repository: &EmulatedRepository, pull: &EmulatedPull) -> Option<u64> {
        let line = lines::follow(&repository.git, &self.commit, &pull.head_sha, &self.path, self.line)?;
        let diff = (pull.base_sha.as_str(), pull.head_sha.as_str());
        lines::hunk(&repository.git, diff, &self.path, line).map(|_| line)
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
    ) -> Option<(&EmulatedIssue, &EmulatedReviewThread, &EmulatedComment)> {
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
