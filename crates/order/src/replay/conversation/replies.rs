//! What is said once an answer is there: in every thread, in one comment for what was asked for elsewhere, in the pull
//! request's text, and by asking those who asked for changes to look again.

use std::collections::BTreeMap;

use super::points::{FeedbackPoint, PointSource};
use super::round::PointAnswer;
use super::{PullEvent, PullEventKind, answer_key};
use crate::conversation::{AnswerNote, AnsweredPoint, PointResolution, ThreadReply};
use crate::ids::{CommitSha, Person, PullNumber, UserId};
use crate::moves::{Move, MoveKey};
use crate::replay::{Replay, Suspension};
use crate::signal::ReviewVerdict;
use crate::trace::PullTrace;

impl Replay<'_> {
    pub(super) fn say_what_was_done(
        &mut self,
        answer: u32,
        pull: PullNumber,
        batch: &[&PullEvent],
        points: &[FeedbackPoint],
        answers: &[PointAnswer],
        commit: Option<&CommitSha>,
    ) -> Result<(), Suspension> {
        let said = |point: &FeedbackPoint| {
            let found = answers.iter().find(|answer| answer.is_for(point));
            let done = found.map_or(PointResolution::Nothing, |answer| answer.outcome(commit));
            (done, found.map(|answer| answer.text.clone()).unwrap_or_default())
        };
        self.say_to_each((answer, pull), points, commit, said)?;
        let reviewers = asked_for_changes(batch);
        if !reviewers.is_empty() {
            self.tell(&answer_key(answer, "request"), Move::RequestReview { pull, reviewers })?;
        }
        Ok(())
    }

    pub(super) fn say_to_each(
        &mut self,
        (answer, pull): (u32, PullNumber),
        points: &[FeedbackPoint],
        commit: Option<&CommitSha>,
        said: impl Fn(&FeedbackPoint) -> (PointResolution, String),
    ) -> Result<(), Suspension> {
        let mut replies = Vec::new();
        let mut others = Vec::new();
        for point in points {
            let (done, text) = said(point);
            match &point.source {
                PointSource::Thread { id, last } => {
                    replies.push(ThreadReply { thread: id.clone(), answers: *last, done, text });
                }
                PointSource::Remark | PointSource::Asked | PointSource::Check | PointSource::Base => {
                    let (by, asked) = (point.by.clone(), point.in_short.clone());
                    others.push(AnsweredPoint { by, asked, done, text });
                }
            }
        }
        // What was tried again is answered again.
        let how = commit.map_or("words", CommitSha::short);
        if !replies.is_empty() {
            let key = answer_key(answer, format_args!("threads/{how}"));
            self.tell(&key, Move::AnswerThreads { pull, replies })?;
        }
        if !others.is_empty() {
            let note = AnswerNote { pull, answer, points: others, commit: commit.cloned() };
            let key = answer_key(answer, format_args!("note/{how}"));
            self.tell(&key, Move::ShowAnswer(note))?;
        }
        Ok(())
    }

    /// The pull request's text says what holds now; what is verified is ready, what is not is left as it was.
    pub(super) fn bring_text_up_to_date(&mut self, key: &MoveKey) -> Result<(), Suspension> {
        let (Some(_), Some(pull)) = (&self.trace.work, self.trace.pull.clone()) else { return Ok(()) };
        // What has left its draft stays out of it: people are looking at it.
        let ready = self.verdict(None).leaves_draft();
        self.tell(key, pull.finish(ready))?;
        let ready = ready || pull.ready;
        self.trace.pull = Some(PullTrace { ready, ..pull });
        Ok(())
    }
}

/// Who asked for changes, each once.
fn asked_for_changes(batch: &[&PullEvent]) -> Vec<Person> {
    let mut people: BTreeMap<UserId, Person> = BTreeMap::new();
    for occasion in batch {
        if let PullEventKind::Reviewed { by, verdict: ReviewVerdict::ChangesRequested, .. } = &occasion.kind {
            people.insert(by.id, by.clone());
        }
    }
    people.into_values().collect()
}
