//! A pull request read as a whole: how it stands, what is said in threads and outside of them.

use std::fmt;

use serde::Deserialize;

use super::limits::{MOST_REMARKS, Room};
use super::threads::SeenThread;
use super::wire::{UserWire, by_rest};
use crate::error::Result;
use crate::facts::IssueState;
use crate::permissions::Permissions;
use crate::service::{At, GitHub};
use crate::transport::Request;
use journeyman_order::conversation::{Author, Mergeable, PullState, Remark, RemarkSource};
use journeyman_order::{CommitSha, FirstWord, PullNumber};

/// How we are called, and how it is told whether a text calls us.
pub struct Addressed<'a> {
    /// The App's name in addresses.
    pub slug: &'a str,
    /// Whether a text mentions us.
    pub named: &'a (dyn Fn(&str) -> bool + Send + Sync),
}

impl fmt::Debug for Addressed<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Addressed({})", self.slug)
    }
}

impl Addressed<'_> {
    pub(super) fn is(&self, slug: &str) -> bool {
        self.slug.eq_ignore_ascii_case(slug)
    }

    pub(super) fn is_named_in(&self, text: &str) -> bool {
        (self.named)(text)
    }
}

/// What stands on a pull request. Texts are foreign; their sizes are limited.
#[derive(Debug, Clone, PartialEq)]
pub struct PullTalk {
    /// The branch's head.
    pub head: CommitSha,
    /// Open, closed or merged.
    pub state: PullState,
    /// Whether it can be merged.
    pub mergeable: Mergeable,
    /// Threads that are not settled, the oldest first: at most a hundred, of each the first ten comments and the last
    /// ten.
    pub threads: Vec<SeenThread>,
    /// The last hundred texts outside of threads that may ask for something, the oldest first: of reviews, those that
    /// have a text or ask for changes, without approvals that do not name us; of comments, those that name us and are
    /// no command. None of ours.
    pub remarks: Vec<Remark>,
}

#[derive(Deserialize)]
struct PullWire {
    head: HeadWire,
    state: IssueState,
    merged_at: Option<String>,
    mergeable: Option<bool>,
    #[serde(default)]
    mergeable_state: String,
}

#[derive(Deserialize)]
struct HeadWire {
    sha: CommitSha,
}

#[derive(Deserialize)]
struct ReviewWire {
    id: u64,
    user: Option<UserWire>,
    body: Option<String>,
    state: String,
    submitted_at: Option<String>,
}

#[derive(Deserialize)]
struct CommentWire {
    id: u64,
    user: Option<UserWire>,
    body: Option<String>,
    created_at: String,
}

impl PullWire {
    fn state(&self) -> PullState {
        match (self.state, &self.merged_at) {
            (IssueState::Open, _) => PullState::Open,
            (IssueState::Closed, None) => PullState::Closed,
            (IssueState::Closed, Some(_)) => PullState::Merged,
        }
    }

    fn mergeable(&self) -> Mergeable {
        match (self.mergeable, self.mergeable_state.as_str()) {
            (Some(false), _) | (_, "dirty") => Mergeable::Conflicts,
            (None, _) | (_, "unknown") => Mergeable::Unknown,
            (Some(true), "behind") => Mergeable::Behind,
            // Whatever else is in the way, checks or reviews, is not git.
            (Some(true), _) => Mergeable::Cleanly,
        }
    }
}

impl GitHub {
    /// Reads everything that may be asked for on a pull request.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when there is none.
    pub async fn pull_talk(&self, at: &At, pull: PullNumber, us: &Addressed<'_>) -> Result<PullTalk> {
        let mut room = Room::default();
        let threads = self.review_threads(at, pull, us, &mut room).await?;
        let remarks = self.remarks(at, pull, us, &mut room).await?;
        // Last: whatever was pushed while the rest was read shows in the head.
        let wire = self.weighed(at, pull).await?;
        Ok(PullTalk {
            state: wire.state(),
            mergeable: wire.mergeable(),
            head: wire.head.sha,
            threads,
            remarks,
        })
    }

    /// The pull request, asked about again for a while as long as GitHub has not found out whether it merges: the
    /// first question after a push is what makes it look.
    async fn weighed(&self, at: &At, pull: PullNumber) -> Result<PullWire> {
        let request = Request::get(at.route(&format!("/pulls/{pull}")));
        let ask = async || self.call(at, Permissions::ReadPulls, &request).await?.json::<PullWire>();
        let mut wire = ask().await?;
        for part in [4, 2, 1, 1] {
            if wire.state() != PullState::Open || wire.mergeable() != Mergeable::Unknown {
                break;
            }
            self.part_of_a_pause(part).await;
            wire = ask().await?;
        }
        Ok(wire)
    }

    async fn remarks(
        &self,
        at: &At,
        pull: PullNumber,
        us: &Addressed<'_>,
        room: &mut Room,
    ) -> Result<Vec<Remark>> {
        let reviews: Vec<ReviewWire> =
            self.list(at, Permissions::ReadPulls, &at.route(&format!("/pulls/{pull}/reviews"))).await?;
        let comments: Vec<CommentWire> =
            self.list(at, Permissions::ReadPulls, &at.route(&format!("/issues/{pull}/comments"))).await?;
        let mut all: Vec<(String, Remark)> = of_reviews(reviews, us);
        all.extend(comments.into_iter().filter_map(|comment| of_comment(comment, us)));
        // Times of one form sort as texts.
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        let newest = all.split_off(all.len().saturating_sub(MOST_REMARKS));
        let cut = |(_, remark): (String, Remark)| Remark { body: room.body(&remark.body), ..remark };
        Ok(newest.into_iter().map(cut).collect())
    }
}

/// What reviews say beside their threads, with the times of it.
fn of_reviews(reviews: Vec<ReviewWire>, us: &Addressed<'_>) -> Vec<(String, Remark)> {
    let mut remarks: Vec<(String, Remark)> = Vec::new();
    for review in reviews {
        let by = by_rest(review.user, us);
        let body = review.body.unwrap_or_default();
        let names_us = us.is_named_in(&body);
        let asks_for_changes = match review.state.as_str() {
            "CHANGES_REQUESTED" => true,
            // Who approves, or was overruled, does not ask for changes any more.
            "APPROVED" | "DISMISSED" => {
                let same = |remark: &&mut (String, Remark)| by != Author::Other && remark.1.by == by;
                for (_, remark) in remarks.iter_mut().filter(same) {
                    if let RemarkSource::Review { asks_for_changes, .. } = &mut remark.source {
                        *asks_for_changes = false;
                    }
                }
                if !names_us || review.state == "DISMISSED" {
                    continue;
                }
                false
            }
            "COMMENTED" => false,
            // Pending: it is not said yet.
            _ => continue,
        };
        if by == Author::Us || (body.trim().is_empty() && !asks_for_changes) {
            continue;
        }
        let source = RemarkSource::Review { id: review.id, asks_for_changes };
        remarks.push((review.submitted_at.unwrap_or_default(), Remark { source, by, names_us, body }));
    }
    remarks
}

fn of_comment(comment: CommentWire, us: &Addressed<'_>) -> Option<(String, Remark)> {
    let by = by_rest(comment.user, us);
    let body = comment.body.unwrap_or_default();
    let is_said_otherwise = by == Author::Us || FirstWord::of(&body) != FirstWord::None;
    (!is_said_otherwise && us.is_named_in(&body)).then(|| {
        let source = RemarkSource::Comment { id: comment.id };
        (comment.created_at, Remark { source, by, names_us: true, body })
    })
}
