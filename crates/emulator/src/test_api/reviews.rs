//! What people do in tests to a pull request under review.

use crate::Emulator;
use crate::mutations::reviews::{NewReview, NewReviewComment};
use crate::state::ReviewState;

/// A comment on a line: the file, the line at the head, the text.
pub type LineComment<'a> = (&'a str, u64, &'a str);

fn comment_of((path, line, text): &LineComment<'_>) -> NewReviewComment {
    NewReviewComment { path: (*path).to_owned(), line: *line, body: (*text).to_owned() }
}

impl Emulator {
    /// A person reviews a pull request as a whole; returns the review's id.
    pub async fn review(
        &self,
        repository: &str,
        pull: u64,
        by: &str,
        state: ReviewState,
        body: &str,
    ) -> anyhow::Result<u64> {
        self.review_lines(repository, pull, by, (state, body), &[]).await
    }

    /// A person reviews a pull request with comments on lines; returns the review's id. Each comment starts a thread.
    pub async fn review_lines(
        &self,
        repository: &str,
        pull: u64,
        by: &str,
        (state, body): (ReviewState, &str),
        notes: &[LineComment<'_>],
    ) -> anyhow::Result<u64> {
        let comments = notes.iter().map(comment_of).collect();
        let new = NewReview { state, body: body.to_owned(), comments };
        self.act(by, |world, by| world.review(repository, pull, by, new))
    }

    /// A person adds a single comment on a line, outside a larger review; returns the comment's id.
    pub async fn comment_on_line(
        &self,
        repository: &str,
        pull: u64,
        by: &str,
        note: LineComment<'_>,
    ) -> anyhow::Result<u64> {
        self.act(by, |world, by| world.comment_on_line(repository, pull, by, comment_of(&note)))
    }

    /// A person replies in a thread; returns the comment's id. `to` is any comment of the thread.
    pub async fn reply_in_thread(
        &self,
        repository: &str,
        pull: u64,
        to: u64,
        by: &str,
        text: &str,
    ) -> anyhow::Result<u64> {
        self.act(by, |world, by| {
            let thread = world.require_repository(repository)?.review_comment(to);
            let first = thread.and_then(|(_, of, _)| of.comments.first().map(|one| one.id)).unwrap_or(to);
            world.reply(repository, pull, first, by, text)
        })
    }

    /// A person resolves or reopens a thread, named by any comment in it.
    pub async fn resolve_thread(
        &self,
        repository: &str,
        comment: u64,
        by: &str,
        resolved: bool,
    ) -> anyhow::Result<()> {
        self.act(by, |world, by| {
            let thread =
                world.require_repository(repository)?.review_comment(comment).map(|(_, of, _)| of.id);
            world.resolve(repository, thread.unwrap_or(0), resolved, by)
        })
    }

    /// A person deletes a comment on an issue or a pull request.
    pub async fn delete_comment(&self, repository: &str, comment: u64, by: &str) -> anyhow::Result<()> {
        self.act(by, |world, by| world.delete_comment(repository, comment, by))
    }
}
