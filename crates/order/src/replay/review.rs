//! The check `verifier`: a second agent, on a checkout of its own, judges the commit.

use super::best::blocking_findings;
use super::escalation::{complete_answer, sent_back};
use super::judge::{FailedRound, RoundCheck, RoundOutcome};
use super::work::not_verified;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::feedback::Feedback;
use crate::journal::JournalEvent;
use crate::judge_answer;
use crate::moves::{AgentTask, AgentTaskWorkspace, EffectOutcome, Move, MoveKey, ReviewNote};
use crate::pipeline::{Check, MOST_QUESTIONS, Stage};
use crate::review_facts;
use crate::trace::CandidateWork;

/// The template of a verifier whose role names none.
const REVIEW: &str = "review";

/// Why a verifier said nothing that counts.
enum ReviewFailure {
    /// What it answered is no feedback.
    Nonsense(String),
    /// There is no money to ask it.
    NotPaid(String),
}

/// The role that judges a stage's rounds, where one is asked at all.
fn asked_role(stage: &Stage) -> Option<&str> {
    let is_asked = stage.checks.contains(&Check::Verifier) && stage.max_adversarial_rounds > 0;
    stage.verifier.as_deref().filter(|_| is_asked)
}

impl Replay<'_> {
    /// What the verifier says of the work. A check that could not be made is never a pass.
    pub(crate) fn judge_review(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        work: CandidateWork,
    ) -> Result<RoundOutcome<CandidateWork>, Suspension> {
        let Some(role) = asked_role(stage) else { return Ok(RoundOutcome::Passed(work)) };
        let asked = self.verifier(stage, worker, role, Some(&work), &work.patch);
        match self.verify(&asked, worker, round)? {
            Ok(feedback) => {
                self.show_review(stage, round, role, &work, Some(&feedback))?;
                Ok(self.reviewed(stage, round, work, feedback))
            }
            Err(ReviewFailure::NotPaid(because)) => {
                Ok(RoundOutcome::NotPaid { candidate: Some(not_verified(work, &because)), because })
            }
            Err(ReviewFailure::Nonsense(said)) => {
                let position = self.position;
                self.show_review(stage, round, role, &work, None)?;
                self.position = position;
                let because = format!("the review by {role} could not be completed: {said}");
                Ok(RoundOutcome::NotMade { candidate: Some(not_verified(work, &because)), because })
            }
        }
    }

    /// The same for a stage whose result is its answer: a plan, an analysis.
    pub(crate) fn judge_answer(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        fields: Vec<(String, String)>,
    ) -> Result<RoundOutcome<Vec<(String, String)>>, Suspension> {
        let Some(role) = asked_role(stage) else { return Ok(RoundOutcome::Passed(fields)) };
        let answer = fields.first().map(|(_, text)| text.clone()).unwrap_or_default();
        let asked = self.verifier(stage, worker, role, None, &answer);
        match self.verify(&asked, worker, round)? {
            Ok(feedback) => {
                if let Some(seen) = self.trace.round(&stage.name, round) {
                    seen.review = Some(feedback.clone());
                }
                Ok(match feedback.passed {
                    true => RoundOutcome::Passed(fields),
                    false => RoundOutcome::failed(RoundCheck::Verifier, feedback),
                })
            }
            Err(ReviewFailure::NotPaid(because)) => Ok(RoundOutcome::NotPaid { candidate: None, because }),
            Err(ReviewFailure::Nonsense(said)) => {
                let because = format!("the review by {role} could not be completed: {said}");
                Ok(RoundOutcome::NotMade { candidate: None, because })
            }
        }
    }

    /// A verifier's answer. One that answers nonsense is sent back once; the error says what it answered then, or
    /// that it could not be paid for.
    fn verify(
        &mut self,
        asked: &Worker,
        worker: &Worker,
        round: u32,
    ) -> Result<Result<Feedback, ReviewFailure>, Suspension> {
        let mut fault: Option<Feedback> = None;
        let mut in_vain = 0;
        for question in 1.. {
            let key = worker.key(round, &format!("verify-{question}"));
            if self.was_asked_of_another(&key, &asked.place) {
                continue;
            }
            let task = AgentTask { round, rework: sent_back(fault.take()), ..asked.task() };
            let run = match self.run_agent(&key, task, asked) {
                Ok((run, _)) => run,
                Err(Suspension::OverBudget { because }) => return Ok(Err(ReviewFailure::NotPaid(because))),
                Err(halt) => return Err(halt),
            };
            match judge_answer::feedback(complete_answer(run)) {
                Ok(feedback) => return Ok(Ok(feedback)),
                Err(feedback) => {
                    in_vain += 1;
                    let said = feedback.summary.clone();
                    fault = Some(feedback);
                    // A person's `/retry` is for the judge here: the work has done nothing wrong.
                    if in_vain >= MOST_QUESTIONS && self.signals.retried_after(self.position) {
                        in_vain = 0;
                    } else if in_vain >= MOST_QUESTIONS {
                        return Ok(Err(ReviewFailure::Nonsense(said)));
                    }
                }
            }
        }
        Ok(Err(ReviewFailure::Nonsense("it was asked too often".to_owned())))
    }

    /// Whether this judge was asked about another commit, which a `/retry` has replaced since.
    fn was_asked_of_another(&self, key: &MoveKey, place: &AgentTaskWorkspace) -> bool {
        self.entries.iter().any(|entry| match &entry.event {
            JournalEvent::Intended { key: known, r#move } if known == key => {
                matches!(&**r#move, Move::RunAgent(task) if task.place != *place)
            }
            JournalEvent::Opened(_)
            | JournalEvent::Signaled { .. }
            | JournalEvent::Intended { .. }
            | JournalEvent::Observed { .. } => false,
        })
    }

    /// A comment of its own for each review of a round: a `/retry` may have brought another commit.
    fn comment_key(&self, stage: &Stage, note: &ReviewNote) -> MoveKey {
        let kind = if note.feedback.is_some() { "comment" } else { "comment-not-made" };
        let round = note.round;
        let is_another = |key: &MoveKey| {
            self.entries.iter().any(|entry| match &entry.event {
                JournalEvent::Intended { key: known, r#move } if known == key => {
                    matches!(&**r#move, Move::ShowReview(shown) if shown.commit != note.commit)
                }
                JournalEvent::Opened(_)
                | JournalEvent::Signaled { .. }
                | JournalEvent::Intended { .. }
                | JournalEvent::Observed { .. } => false,
            })
        };
        let mut key = MoveKey::within(&stage.name, format_args!("{round}/{kind}"));
        let mut number = 2;
        while is_another(&key) {
            key = MoveKey::within(&stage.name, format_args!("{round}/{kind}-{number}"));
            number += 1;
        }
        key
    }

    fn verifier(
        &self,
        stage: &Stage,
        worker: &Worker,
        role: &str,
        work: Option<&CandidateWork>,
        judged: &str,
    ) -> Worker {
        let issue = &self.journal.opened().issue;
        let command = self.journal.role(role).and_then(|role| role.review_command.clone());
        let tests = work.and_then(|work| work.tests.as_ref());
        let tests = tests.map(review_facts::of_tests);
        let arguments = vec![
            issue.title.clone(),
            issue.body.clone(),
            judged.to_owned(),
            tests.unwrap_or_else(|| "No tests were run.".to_owned()),
            self.earlier_reviews(stage),
        ];
        let commit = work.map(|work| work.commit.clone()).or_else(|| self.head_for(stage));
        let place =
            commit.map_or(AgentTaskWorkspace::Workspace, |commit| AgentTaskWorkspace::Checkout { commit });
        worker.asks_role(
            (role, self.agent_for(role)),
            command.as_deref().unwrap_or(REVIEW),
            arguments,
            (place, judge_answer::feedback_schema()),
        )
    }

    /// What the verifier said in earlier rounds of this stage, the newest first.
    fn earlier_reviews(&self, stage: &Stage) -> String {
        let seen = self.trace.stages.iter().rfind(|known| known.name == stage.name);
        let mut text = String::new();
        for round in seen.iter().flat_map(|stage| stage.rounds.iter().rev()) {
            let Some(review) = &round.review else { continue };
            text.push_str(&format!("Round {}: {}\n", round.round, review.summary));
            for finding in &review.issues {
                let place = finding.location.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
                text.push_str(&format!("- {}{place}\n", finding.description));
            }
        }
        text
    }

    fn reviewed(
        &mut self,
        stage: &Stage,
        round: u32,
        mut work: CandidateWork,
        feedback: Feedback,
    ) -> RoundOutcome<CandidateWork> {
        if let Some(seen) = self.trace.round(&stage.name, round) {
            seen.review = Some(feedback.clone());
            seen.reviewer.clone_from(&stage.verifier);
            seen.commit = Some(work.commit.clone());
        }
        work.review = Some(feedback.clone());
        work.open_findings = blocking_findings(&feedback);
        if feedback.passed {
            return RoundOutcome::Passed(work);
        }
        RoundOutcome::Failed(Box::new(FailedRound {
            by: RoundCheck::Verifier,
            tests: None,
            tree: Some(work.tree.clone()),
            candidate: Some(not_verified(work, &feedback.summary)),
            feedback,
        }))
    }

    /// A comment on the pull request, once there is one. Where it cannot be put, the work goes on.
    fn show_review(
        &mut self,
        stage: &Stage,
        round: u32,
        verifier: &str,
        work: &CandidateWork,
        feedback: Option<&Feedback>,
    ) -> Result<(), Suspension> {
        let Some(pull) = self.pull_before(stage) else { return Ok(()) };
        let note = ReviewNote {
            pull,
            stage: stage.name.clone(),
            round,
            verifier: verifier.to_owned(),
            commit: work.commit.clone(),
            feedback: feedback.cloned(),
        };
        let key = self.comment_key(stage, &note);
        match self.observe(&key, |_| Move::ShowReview(note)) {
            Ok(seen) if matches!(seen.outcome, EffectOutcome::ReviewShown) => Ok(()),
            Ok(_) => Err(self.mismatch(&key)),
            Err(Suspension::Settled(_)) => {
                self.trace.note(format!("The review of round {round} could not be put on the pull request."));
                Ok(())
            }
            Err(halt) => Err(halt),
        }
    }
}
