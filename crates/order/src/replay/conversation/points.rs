//! What people and checks ask for, point by point: review threads and texts, comments that name us, advice, failing
//! checks, a conflicting base branch.

use super::branch::BaseUpdateOutcome;
use super::{ConversationState, MOST_CI_ROUNDS};
use crate::bounds::LONGEST_NAME;
use crate::conversation::{
    CommentAuthor, FailingJob, PullRemark, PullRemarkSource, PullReviewThread, PullSnapshot,
};
use crate::ids::CommitSha;
use crate::replay::Replay;
use crate::replay::signal_log::{PullEvent, PullEventKind};
use crate::settlement::Settlement;
use crate::signal::Requester;
use crate::signal::ReviewVerdict;

/// The most points for one round. The next round answers the rest.
const MOST_POINTS: usize = 60;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct FeedbackPoint {
    /// `p1`, `p2` …
    pub(super) id: String,
    /// Who asks: a login, or the name of a check.
    pub(super) by: String,
    /// The full request, for the worker.
    pub(super) asked: String,
    /// The request in one line, for the table of answers.
    pub(super) in_short: String,
    pub(super) source: PointSource,
}

/// Where a point comes from, and therefore where it is answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PointSource {
    Thread {
        id: String,
        last: u64,
    },
    Remark,
    Asked,
    Check,
    /// Needs a commit; words are not enough.
    Base,
}

impl Replay<'_> {
    /// Everything that is asked for now. `ours` is the head, if the checks ran on it.
    pub(super) fn points(
        &self,
        reading: &PullSnapshot,
        batch: &[&PullEvent],
        talk: &ConversationState,
        moved: &BaseUpdateOutcome,
        ours: Option<&CommitSha>,
    ) -> Vec<FeedbackPoint> {
        let mut points = Vec::new();
        points.extend(reading.threads.iter().filter_map(|thread| of_thread(thread, talk)));
        points.extend(reading.remarks.iter().filter_map(|remark| of_remark(remark, batch, talk)));
        points.extend(batch.iter().filter_map(|occasion| {
            let PullEventKind::Asked { by, guidance } = &occasion.kind else { return None };
            self.of_command(by, guidance.as_deref())
        }));
        if let Some(head) = ours {
            let is_answered = talk.ci_answered.contains(head) || talk.ci_rounds >= MOST_CI_ROUNDS;
            let waits = self.settings.ci.rerun && !talk.rerun.contains(head);
            // Failures are reported early if there is other work. On their own, they wait until all checks finish.
            let is_complete = reading.checks.pending.is_empty() || !points.is_empty();
            if self.settings.ci.answer && self.pushed_by_us(head) && is_complete && !is_answered && !waits {
                points.extend(reading.checks.failing.iter().map(of_job));
            }
        }
        points.extend(of_base(moved));
        points.truncate(MOST_POINTS);
        for (number, point) in (1..).zip(&mut points) {
            point.id = format!("p{number}");
        }
        points
    }

    fn of_command(&self, by: &Requester, guidance: Option<&str>) -> Option<FeedbackPoint> {
        let settled = Settlement::Finished { pull: None };
        let wrong = self.verdict(Some(&settled)).objection();
        // A bare `/retry` is about known problems. Without any, there is nothing to do.
        let asked = match (guidance, wrong) {
            (Some(guidance), Some(wrong)) => format!("{guidance}\n\nStill wrong: {wrong}"),
            (Some(guidance), None) => guidance.to_owned(),
            (None, Some(wrong)) => format!("Mend what is still wrong: {wrong}"),
            (None, None) => return None,
        };
        Some(point(by.to_string(), asked.clone(), &asked, PointSource::Asked))
    }
}

fn point(by: String, asked: String, short: &str, source: PointSource) -> FeedbackPoint {
    FeedbackPoint { id: String::new(), by, asked, in_short: in_short(short), source }
}

/// A thread that asks us for something in comments by reviewers that we have not answered.
fn of_thread(thread: &PullReviewThread, talk: &ConversationState) -> Option<FeedbackPoint> {
    let may = |by: &CommentAuthor| matches!(by, CommentAuthor::Person(person) if talk.reviewers.contains_key(&person.id));
    let since =
        thread.comments.iter().rposition(|comment| comment.by == CommentAuthor::Us).map_or(0, |at| at + 1);
    let open: Vec<_> = thread.comments.iter().skip(since).filter(|comment| may(&comment.by)).collect();
    let last = open.last()?;
    let is_asked = open.iter().any(|comment| {
        comment.names_us || comment.review.is_some_and(|review| talk.asking_reviews.contains(&review))
    });
    if since == 0 && !is_asked {
        return None;
    }
    let place = match (thread.line, thread.original_line) {
        (Some(line), _) => format!("{}, line {line}", thread.path),
        (None, Some(line)) => format!("{}, line {line} of an earlier version", thread.path),
        (None, None) => thread.path.clone(),
    };
    let mut asked = format!("On {place}:\n{}\n", thread.diff_hunk.trim_end());
    for comment in
        thread.comments.iter().filter(|comment| comment.by == CommentAuthor::Us || may(&comment.by))
    {
        asked.push_str(&format!("\n{} wrote:\n{}\n", name(&comment.by), comment.body.trim()));
    }
    let source = PointSource::Thread { id: thread.id.clone(), last: last.id };
    Some(point(name(&last.by), asked, &last.body, source))
}

/// The text of a review in this batch that asks for changes or names us, or a comment that names us.
fn of_remark(remark: &PullRemark, batch: &[&PullEvent], talk: &ConversationState) -> Option<FeedbackPoint> {
    let CommentAuthor::Person(by) = &remark.by else { return None };
    if !talk.reviewers.contains_key(&by.id) || remark.body.trim().is_empty() {
        return None;
    }
    let is_asked = batch.iter().any(|occasion| match (&occasion.kind, &remark.source) {
        (PullEventKind::Reviewed { review, verdict, .. }, PullRemarkSource::Review { id, .. }) => {
            review == id && (*verdict == ReviewVerdict::ChangesRequested || remark.names_us)
        }
        (PullEventKind::Remarked { comment, .. }, PullRemarkSource::Comment { id }) => {
            comment == id && remark.names_us
        }
        _ => false,
    });
    is_asked
        .then(|| point(by.login.clone(), remark.body.trim().to_owned(), &remark.body, PointSource::Remark))
}

fn of_job(job: &FailingJob) -> FeedbackPoint {
    let mut asked =
        format!("The repository's own check {:?} fails on the commit that was pushed.\n", job.name);
    for text in [&job.summary, &job.annotations.join("\n"), &job.log] {
        if !text.trim().is_empty() {
            asked.push_str(&format!("\n{}\n", text.trim()));
        }
    }
    point(job.name.clone(), asked, "it fails", PointSource::Check)
}

fn of_base(moved: &BaseUpdateOutcome) -> Option<FeedbackPoint> {
    let of_us = |asked: String, short: &str| {
        Some(point("the base branch".to_owned(), asked, short, PointSource::Base))
    };
    match moved {
        BaseUpdateOutcome::Conflict { paths, .. } => of_us(
            format!(
                "The branch that the pull request goes to has moved, and contradicts this one in these files:\n{}\n\n\
                 In your work tree they hold both versions between conflict markers (`<<<<<<<`, `=======`, \
                 `>>>>>>>`); everything else is merged already. Resolve each conflict so that both intents are kept, \
                 and leave no marker.",
                paths.join("\n")
            ),
            "it contradicts the branch",
        ),
        BaseUpdateOutcome::Red { because, .. } => of_us(
            format!(
                "The branch that the pull request goes to has moved. It is merged in your work tree, without a \
                 contradiction, but it is not pushed: {because}"
            ),
            "the checks fail once it is merged",
        ),
        BaseUpdateOutcome::AsItWas | BaseUpdateOutcome::BroughtIn | BaseUpdateOutcome::Overtaken => None,
    }
}

fn name(by: &CommentAuthor) -> String {
    match by {
        CommentAuthor::Us => "You".to_owned(),
        CommentAuthor::Person(person) => person.login.clone(),
        CommentAuthor::Other => "Somebody".to_owned(),
    }
}

/// The first line, shortened.
fn in_short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(LONGEST_NAME).collect();
    if short.len() < line.len() || text.trim().lines().count() > 1 {
        short.push('…');
    }
    short
}
