//! What people can do in reviews: comment on lines, reply, resolve, request.

use serde_json::json;

use super::{check_body, check_words};
use crate::clock;
use crate::lines;
use crate::reply::{ActResult, EmulatedApiError};
use crate::state::{EmulatedReview, EmulatedReviewThread, EmulatorState, RepositoryRole, ReviewState};

/// A comment on a line of the branch.
#[derive(Debug, Clone)]
pub(crate) struct NewReviewComment {
    pub path: String,
    pub line: u64,
    pub body: String,
}

/// A review to submit.
pub(crate) struct NewReview {
    pub state: ReviewState,
    pub body: String,
    pub comments: Vec<NewReviewComment>,
}

const COMMENT: &str = "PullRequestReviewComment";

impl EmulatorState {
    /// Submits a review, all or nothing, and returns its id.
    pub(crate) fn review(
        &mut self,
        repository: &str,
        number: u64,
        author: u64,
        new: NewReview,
    ) -> ActResult<u64> {
        let kind = "PullRequestReview";
        check_body(kind, &new.body)?;
        let thread = self.thread(repository, number)?;
        if thread.pull.is_none() {
            return Err(EmulatedApiError::not_found());
        }
        if thread.author == author && new.state != ReviewState::Commented {
            let what = if new.state == ReviewState::Approved { "approve" } else { "request changes on" };
            let errors = vec![json!(format!("Can not {what} your own pull request"))];
            return Err(EmulatedApiError { errors, ..EmulatedApiError::new(422, "Unprocessable Entity") });
        }
        let empty = new.body.trim().is_empty() && new.comments.is_empty();
        if empty && new.state != ReviewState::Approved {
            return Err(EmulatedApiError::invalid(kind, "body", "missing_field"));
        }
        let begun = new.comments.iter().map(|one| self.begin_thread(repository, number, one));
        let begun = begun.collect::<Result<Vec<_>, _>>()?;
        let review = self.add_review(repository, number, author, new.state, &new.body)?;
        let mut said = Vec::new();
        for (mut thread, one) in begun.into_iter().zip(new.comments) {
            let comment = self.new_comment(Some(review), author, &one.body);
            said.push(comment.id);
            (thread.id, thread.comments) = (self.new_id(), vec![comment]);
            self.pull_mut(repository, number)?.review_threads.push(thread);
        }
        self.emit_review(repository, number, review, author);
        for comment in said {
            self.emit_review_comment(repository, comment, author);
        }
        Ok(review)
    }

    fn add_review(
        &mut self,
        repository: &str,
        number: u64,
        author: u64,
        state: ReviewState,
        body: &str,
    ) -> ActResult<u64> {
        let (id, now) = (self.new_id(), clock::now());
        let pull = self.pull_mut(repository, number)?;
        let commit = pull.head_sha.clone();
        pull.reviews.push(EmulatedReview { id, author, state, body: body.to_owned(), commit, at: now });
        // The author's review is no longer pending.
        pull.requested.retain(|asked| *asked != author);
        self.thread_mut(repository, number)?.remarked(now);
        Ok(id)
    }

    /// Creates an empty thread. Its line must be in the diff.
    fn begin_thread(
        &self,
        repository: &str,
        number: u64,
        new: &NewReviewComment,
    ) -> ActResult<EmulatedReviewThread> {
        check_words(COMMENT, &new.body)?;
        let found = self.require_repository(repository)?;
        let pull = self.thread(repository, number)?.pull.as_ref().ok_or_else(EmulatedApiError::not_found)?;
        let diff = (pull.base_sha.as_str(), pull.head_sha.as_str());
        let hunk = lines::hunk(&found.git, diff, &new.path, new.line).ok_or_else(|| {
            let message = "pull_request_review_thread.line must be part of the diff".to_owned();
            EmulatedApiError::custom(COMMENT, message)
        })?;
        Ok(EmulatedReviewThread {
            id: 0,
            path: new.path.clone(),
            line: new.line,
            commit: pull.head_sha.clone(),
            hunk,
            resolved_by: None,
            comments: Vec::new(),
        })
    }

    /// Comments once on a line, as a review of its own; returns the comment's id.
    pub(crate) fn comment_on_line(
        &mut self,
        repository: &str,
        number: u64,
        author: u64,
        new: NewReviewComment,
    ) -> ActResult<u64> {
        let review = NewReview { state: ReviewState::Commented, body: String::new(), comments: vec![new] };
        let review = self.review(repository, number, author, review)?;
        let begun =
            |of: &EmulatedReviewThread| of.comments.first().is_some_and(|one| one.review == Some(review));
        let first = self.review_thread_mut(repository, begun)?.comments.first();
        first.map(|one| one.id).ok_or_else(EmulatedApiError::not_found)
    }

    /// Replies in a thread, as a review of its own; returns the comment's id. `to` must be the thread's first comment.
    pub(crate) fn reply(
        &mut self,
        repository: &str,
        number: u64,
        to: u64,
        author: u64,
        body: &str,
    ) -> ActResult<u64> {
        check_words(COMMENT, body)?;
        let (thread, found, _) = self
            .require_repository(repository)?
            .review_comment(to)
            .ok_or_else(EmulatedApiError::not_found)?;
        if thread.number != number {
            return Err(EmulatedApiError::not_found());
        }
        if found.comments.first().is_some_and(|first| first.id != to) {
            let message = "in_reply_to must be the first comment of its thread".to_owned();
            return Err(EmulatedApiError::custom(COMMENT, message));
        }
        let review = self.add_review(repository, number, author, ReviewState::Commented, "")?;
        let comment = self.new_comment(Some(review), author, body);
        let id = comment.id;
        let has_it = |one: &EmulatedReviewThread| one.comments.iter().any(|comment| comment.id == to);
        self.review_thread_mut(repository, has_it)?.comments.push(comment);
        self.emit_review(repository, number, review, author);
        self.emit_review_comment(repository, id, author);
        Ok(id)
    }

    /// Resolves a thread or reopens it.
    pub(crate) fn resolve(
        &mut self,
        repository: &str,
        thread: u64,
        resolved: bool,
        by: u64,
    ) -> ActResult<()> {
        self.review_thread_mut(repository, |one| one.id == thread)?.resolved_by = resolved.then_some(by);
        Ok(())
    }

    /// Requests reviews from people, all or none. The author is rejected, and so is anyone who is neither a
    /// collaborator nor a reviewer.
    pub(crate) fn request_review(
        &mut self,
        repository: &str,
        number: u64,
        logins: &[String],
        by: u64,
    ) -> ActResult<()> {
        let author = self.thread(repository, number)?.author;
        let reviewed: Vec<u64> =
            self.pull_mut(repository, number)?.reviews.iter().map(|one| one.author).collect();
        let mut asked = Vec::new();
        for login in logins {
            let account = self.account_by_login(login).map(|account| account.id);
            if account == Some(author) {
                return Err(unprocessable("Review cannot be requested from pull request author."));
            }
            let found = self.require_repository(repository)?;
            let known = |id: &u64| {
                let role = found.roles.get(id).copied().unwrap_or(RepositoryRole::None);
                role >= RepositoryRole::Read || reviewed.contains(id)
            };
            let account = account.filter(known).ok_or_else(|| {
                unprocessable(&format!(
                    "Reviews may only be requested from collaborators. One or more of the users or teams you \
                     specified is not a collaborator of the {repository} repository."
                ))
            })?;
            asked.push(account);
        }
        for account in asked {
            let requested = &mut self.pull_mut(repository, number)?.requested;
            if !requested.contains(&account) {
                requested.push(account);
                let more = json!({"requested_reviewer": self.user_json(account)});
                self.emit_thread(repository, number, "review_requested", by, more);
            }
        }
        Ok(())
    }

    fn review_thread_mut(
        &mut self,
        repository: &str,
        wanted: impl Fn(&EmulatedReviewThread) -> bool,
    ) -> ActResult<&mut EmulatedReviewThread> {
        let threads = self.require_repository_mut(repository)?.threads.values_mut();
        let mut all =
            threads.filter_map(|thread| thread.pull.as_mut()).flat_map(|pull| &mut pull.review_threads);
        all.find(|one| wanted(one)).ok_or_else(EmulatedApiError::not_found)
    }
}

fn unprocessable(message: &str) -> EmulatedApiError {
    EmulatedApiError::new(422, message)
}
