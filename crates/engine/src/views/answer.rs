//! Views of what is said in comments of their own: rounds of review, and answers to commands.

use super::{headline, pages};
use journeyman_github::render::{FindingFollowUp, NoticeView, ReviewCommentView};
use journeyman_order::conversation::NoticeComment;
use journeyman_order::moves::ReviewNote;
use journeyman_order::next::OrderProjection;
use journeyman_order::trace::StageState;
use journeyman_order::{Finding, Journal, JournalEvent, Move};

/// What is said once.
pub(crate) fn notice<'a>(
    journal: &Journal,
    survey: &OrderProjection,
    saying: &'a NoticeComment,
) -> NoticeView<'a> {
    let running = survey
        .trace
        .stages
        .iter()
        .rfind(|stage| survey.next.settled.is_none() && stage.state == StageState::Running);
    let standing = match running {
        Some(stage) => {
            let round = stage.rounds.last().map_or(1, |round| round.round);
            format!("{}: {}, round {round}", headline(survey), stage.name)
        }
        None => headline(survey),
    };
    NoticeView { notice: saying, headline: standing, issue: journal.opened().issue.url.clone() }
}

/// A round of review, with what became of its findings as far as the journal tells.
pub(crate) fn review<'a>(
    journal: &Journal,
    survey: &OrderProjection,
    note: &'a ReviewNote,
) -> ReviewCommentView<'a> {
    let next = reviews(journal, &note.stage).find(|other| other.round > note.round);
    let issues = note.feedback.as_ref().map(|feedback| feedback.issues.as_slice()).unwrap_or_default();
    let fate = |finding: &Finding| match next.and_then(|next| Some((next, next.feedback.as_ref()?))) {
        None => FindingFollowUp::Unknown,
        Some((next, feedback)) if feedback.issues.iter().any(|other| is_same(finding, other)) => {
            FindingFollowUp::RaisedAgain(next.commit.clone())
        }
        Some((next, _)) => FindingFollowUp::NotRaisedAgain(next.commit.clone()),
    };
    let rounds = survey.trace.stages.iter().rfind(|stage| stage.name == note.stage);
    let answered = rounds.into_iter().flat_map(|stage| &stage.rounds).find(|round| {
        let is_next = next.is_none_or(|next| round.round <= next.round);
        round.round > note.round && is_next && round.agent.is_some()
    });
    ReviewCommentView {
        note,
        follow_ups: issues.iter().map(fate).collect(),
        answer: answered.filter(|_| next.is_some()).and_then(|round| round.result.clone()),
        pages: pages(journal),
    }
}

/// Earlier rounds of the same review, the oldest first: what became of their findings may be known by now.
pub(crate) fn earlier_reviews<'a>(journal: &'a Journal, note: &ReviewNote) -> Vec<&'a ReviewNote> {
    let round = note.round;
    reviews(journal, &note.stage).filter(|other| other.round < round).collect()
}

/// The rounds of review that were told on the pull request, by round: of one that a `/retry` repeated, the last.
fn reviews<'a>(journal: &'a Journal, stage: &str) -> impl Iterator<Item = &'a ReviewNote> {
    let mut notes: Vec<&ReviewNote> = Vec::new();
    for entry in journal.entries() {
        let JournalEvent::Intended { r#move, .. } = &entry.event else { continue };
        let Move::ShowReview(note) = &**r#move else { continue };
        if note.stage == stage {
            notes.retain(|known| known.round != note.round);
            notes.push(note);
        }
    }
    notes.sort_by_key(|note| note.round);
    notes.into_iter()
}

/// Whether a reviewer means the same: reviewers are told to repeat what still stands, and lines move.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let file = |finding: &Finding| {
        let place = finding.location.as_deref()?;
        Some(place.split(':').next().unwrap_or(place).trim().to_owned())
    };
    one.description.trim() == other.description.trim()
        || (one.category == other.category && file(one).is_some() && file(one) == file(other))
}
