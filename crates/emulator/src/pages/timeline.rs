//! The conversation on an issue or a pull request in chronological order, for its page.

use chrono::{DateTime, Utc};

use super::markdown;
use crate::diffs::DiffLine;
use crate::state::{
    EmulatedComment, EmulatedIssue, EmulatedPull, EmulatedReaction, EmulatedRepository, EmulatedReview,
    EmulatedReviewThread, EmulatorState, REACTIONS, ReviewState,
};

/// Lines of a diff to show above a comment.
const MOST_LINES: usize = 6;

/// One act or comment.
pub(crate) struct TimelineEntry {
    /// The target of links.
    pub anchor: String,
    pub verb: &'static str,
    pub class: &'static str,
    pub words: TimelineComment,
    /// A review's comments on lines.
    pub threads: Vec<TimelineThread>,
}

/// A person's text.
pub(crate) struct TimelineComment {
    pub author: String,
    pub bot: bool,
    pub at: DateTime<Utc>,
    pub edited: bool,
    pub html: String,
    /// Reactions, each with its count.
    pub reactions: Vec<(&'static str, usize)>,
}

/// A thread of a review.
pub(crate) struct TimelineThread {
    pub id: u64,
    /// The comment that replies refer to.
    pub first: u64,
    pub path: String,
    /// The place in the file.
    pub place: String,
    pub outdated: bool,
    pub resolved_by: Option<String>,
    pub lines: Vec<DiffLine>,
    pub comments: Vec<(u64, TimelineComment)>,
}

struct TimelineRenderer<'w> {
    world: &'w EmulatorState,
    repository: &'w EmulatedRepository,
}

impl TimelineRenderer<'_> {
    fn words(&self, author: u64, at: DateTime<Utc>, text: &str) -> TimelineComment {
        TimelineComment {
            author: self.world.login(author).to_owned(),
            bot: author == self.world.app.bot,
            at,
            edited: false,
            html: markdown::render(text, &self.repository.full_name),
            reactions: Vec::new(),
        }
    }

    fn comment(&self, one: &EmulatedComment) -> TimelineComment {
        TimelineComment {
            edited: one.updated_at != one.created_at,
            reactions: counted(&one.reactions),
            ..self.words(one.author, one.created_at, &one.body)
        }
    }

    fn said(&self, pull: &EmulatedPull, of: &EmulatedReviewThread) -> TimelineThread {
        let today = of.current_line(self.repository, pull);
        let place = match today {
            Some(line) => format!("line {line}"),
            None => format!("line {} of an earlier version", of.line),
        };
        let line = |text: &str| {
            let origin = text.chars().next().filter(|origin| ['+', '-', ' ', '@'].contains(origin));
            let text = if origin == Some('@') { text } else { text.get(1..).unwrap_or_default() };
            DiffLine { origin: origin.unwrap_or('@'), text: text.to_owned(), line: None }
        };
        let lines: Vec<DiffLine> = of.hunk.lines().map(line).collect();
        let hidden = lines.len().saturating_sub(MOST_LINES);
        TimelineThread {
            id: of.id,
            first: of.comments.first().map_or(0, |first| first.id),
            path: of.path.clone(),
            place,
            outdated: today.is_none(),
            resolved_by: of.resolved_by.map(|by| self.world.login(by).to_owned()),
            lines: lines.into_iter().skip(hidden).collect(),
            comments: of.comments.iter().map(|one| (one.id, self.comment(one))).collect(),
        }
    }

    /// A review with the threads it started; `None` if there is nothing to show, as for a reply.
    fn review(&self, pull: &EmulatedPull, review: &EmulatedReview) -> Option<TimelineEntry> {
        let (verb, class) = match review.state {
            ReviewState::Approved => ("approved these changes", "approved"),
            ReviewState::ChangesRequested => ("requested changes", "refused"),
            ReviewState::Commented => ("reviewed", ""),
        };
        let begun = |of: &&EmulatedReviewThread| {
            of.comments.first().is_some_and(|first| first.review == Some(review.id))
        };
        let threads: Vec<TimelineThread> =
            pull.review_threads.iter().filter(begun).map(|of| self.said(pull, of)).collect();
        let is_empty = review.state == ReviewState::Commented && review.body.is_empty() && threads.is_empty();
        (!is_empty).then(|| TimelineEntry {
            anchor: format!("pullrequestreview-{}", review.id),
            verb,
            class,
            words: self.words(review.author, review.at, &review.body),
            threads,
        })
    }
}

fn counted(given: &[EmulatedReaction]) -> Vec<(&'static str, usize)> {
    let count = |(content, sign): (&str, &'static str)| {
        (sign, given.iter().filter(|one| one.content == content).count())
    };
    REACTIONS.into_iter().map(count).filter(|(_, count)| *count > 0).collect()
}

pub(crate) fn entries(
    world: &EmulatorState,
    repository: &EmulatedRepository,
    thread: &EmulatedIssue,
) -> Vec<TimelineEntry> {
    let paper = TimelineRenderer { world, repository };
    let first = TimelineEntry {
        anchor: String::new(),
        verb: "opened this",
        class: "",
        words: paper.words(thread.author, thread.created_at, &thread.body),
        threads: Vec::new(),
    };
    let comments = thread.comments.iter().map(|one| TimelineEntry {
        anchor: format!("issuecomment-{}", one.id),
        verb: "commented",
        class: "",
        words: paper.comment(one),
        threads: Vec::new(),
    });
    let pulls = thread.pull.iter();
    let reviews = pulls.flat_map(|pull| pull.reviews.iter().filter_map(|one| paper.review(pull, one)));
    let mut all: Vec<TimelineEntry> = std::iter::once(first).chain(comments).chain(reviews).collect();
    all.sort_by_key(|entry| entry.words.at);
    all
}
