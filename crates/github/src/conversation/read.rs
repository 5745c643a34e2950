//! Reads a pull request as a whole: its state, its threads, and comments outside of threads.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use super::limits::TextBudget;
use super::wire::{MentionMatcher, by_rest};
use crate::endpoints::InstalledRepository;
use crate::error::Result;
use crate::identity::UserWire;
use crate::permissions::TokenPermissions;
use crate::pulls::PullRequestWire;
use crate::queries::CommentWire;
use crate::service::GitHub;
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::conversation::{
    ChecksSnapshot, CommentAuthor, Mergeability, PullRemark, PullRemarkSource, PullSnapshot,
    PullSnapshotState,
};
use journeyman_order::{CommentCommand, CommitSha, PullNumber};

#[derive(Deserialize)]
struct PullReviewWire {
    id: u64,
    user: Option<UserWire>,
    body: Option<String>,
    state: String,
    submitted_at: Option<DateTime<Utc>>,
}

impl GitHub {
    /// Reads all possible requests on a pull request, without the state of checks. Texts are untrusted and of limited
    /// size.
    ///
    /// Returns at most [`MOST_LISTED`] unresolved threads, each with its first and last ten comments, and at most
    /// [`MOST_LISTED`] remarks, the newest texts outside of threads that may request something. Remarks are reviews
    /// with a text or that request changes, except approvals that do not mention us; and comments that mention us and
    /// are not commands. None are ours.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when it does not exist.
    pub async fn pull_conversation(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        us: &MentionMatcher<'_>,
    ) -> Result<PullSnapshot> {
        let mut room = TextBudget::default();
        let threads = self.review_threads(at, pull, us, &mut room).await?;
        let remarks = self.remarks(at, pull, us, &mut room).await?;
        // Last, so that the head includes anything pushed while the rest was read.
        let wire = self.weighed(at, pull).await?;
        Ok(PullSnapshot {
            state: wire.state(),
            mergeable: wire.mergeable(),
            head: wire.head.sha,
            threads,
            remarks,
            checks: ChecksSnapshot::default(),
        })
    }

    /// A pull request's head, whether it is open, and whether it merges: all from one request.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when it does not exist.
    pub async fn pull_standing(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
    ) -> Result<(CommitSha, PullSnapshotState, Mergeability)> {
        let wire = self.weighed(at, pull).await?;
        Ok((wire.head.sha.clone(), wire.state(), wire.mergeable()))
    }

    /// The pull request, polled for a while until GitHub knows whether it merges: the first request after a push starts
    /// that computation.
    async fn weighed(&self, at: &InstalledRepository, pull: PullNumber) -> Result<PullRequestWire> {
        let mut wire = self.pull_wire(at, pull).await?;
        for part in [4, 2, 1, 1] {
            if wire.state() != PullSnapshotState::Open || wire.mergeable() != Mergeability::Unknown {
                break;
            }
            tokio::time::sleep(self.0.backoff.first / part).await;
            wire = self.pull_wire(at, pull).await?;
        }
        Ok(wire)
    }

    async fn remarks(
        &self,
        at: &InstalledRepository,
        pull: PullNumber,
        us: &MentionMatcher<'_>,
        room: &mut TextBudget,
    ) -> Result<Vec<PullRemark>> {
        let reviews: Vec<PullReviewWire> =
            self.list(at, TokenPermissions::ReadPulls, &at.route(&format!("/pulls/{pull}/reviews"))).await?;
        let comments: Vec<CommentWire> = self
            .list(at, TokenPermissions::ReadPulls, &at.route(&format!("/issues/{pull}/comments")))
            .await?;
        let mut all = of_reviews(reviews, us);
        all.extend(comments.into_iter().filter_map(|comment| of_comment(comment, us)));
        all.sort_by_key(|(at, _)| *at);
        let newest = all.split_off(all.len().saturating_sub(MOST_LISTED));
        let cut =
            |(_, remark): (DateTime<Utc>, PullRemark)| PullRemark { body: room.body(&remark.body), ..remark };
        Ok(newest.into_iter().map(cut).collect())
    }
}

/// The texts of reviews outside of their threads, with timestamps.
fn of_reviews(reviews: Vec<PullReviewWire>, us: &MentionMatcher<'_>) -> Vec<(DateTime<Utc>, PullRemark)> {
    let mut remarks: Vec<(DateTime<Utc>, PullRemark)> = Vec::new();
    for review in reviews {
        let by = by_rest(review.user, us);
        let body = review.body.unwrap_or_default();
        let names_us = us.is_mentioned_in(&body);
        let asks_for_changes = match review.state.as_str() {
            "CHANGES_REQUESTED" => true,
            // An approving or dismissed reviewer no longer requests changes.
            "APPROVED" | "DISMISSED" => {
                let same = |remark: &&mut (DateTime<Utc>, PullRemark)| {
                    by != CommentAuthor::Other && remark.1.by == by
                };
                for (_, remark) in remarks.iter_mut().filter(same) {
                    if let PullRemarkSource::Review { asks_for_changes, .. } = &mut remark.source {
                        *asks_for_changes = false;
                    }
                }
                if !names_us || review.state == "DISMISSED" {
                    continue;
                }
                false
            }
            "COMMENTED" => false,
            // Pending: not submitted yet.
            _ => continue,
        };
        if by == CommentAuthor::Us || (body.trim().is_empty() && !asks_for_changes) {
            continue;
        }
        let source = PullRemarkSource::Review { id: review.id, asks_for_changes };
        remarks.push((review.submitted_at.unwrap_or_default(), PullRemark { source, by, names_us, body }));
    }
    remarks
}

fn of_comment(comment: CommentWire, us: &MentionMatcher<'_>) -> Option<(DateTime<Utc>, PullRemark)> {
    let by = by_rest(comment.writer.user, us);
    let body = comment.body.unwrap_or_default();
    let is_said_otherwise = by == CommentAuthor::Us || CommentCommand::of(&body) != CommentCommand::None;
    (!is_said_otherwise && us.is_mentioned_in(&body)).then(|| {
        let source = PullRemarkSource::Comment { id: comment.id };
        (comment.created_at, PullRemark { source, by, names_us: true, body })
    })
}
