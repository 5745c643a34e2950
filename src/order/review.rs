//! The check `verifier`: a second agent, on a checkout of its own, judges the commit.

use super::best::of_weight;
use super::checks;
use super::escalation::{MOST_QUESTIONS, sent_back};
use super::feedback::Feedback;
use super::moves::{AgentTask, Move, Outcome, Place, ReviewNote};
use super::pipeline::{Check, Stage};
use super::rounds::{Failed, Judge, Judged};
use super::trace::Work;
use super::verdict;
use super::walk::{Halt, Walk};
use super::work::not_verified;
use super::worker::Worker;

/// The template of a verifier whose role names none.
const REVIEW: &str = "review";

impl Walk<'_> {
    /// What the verifier says of the work. One that answers nonsense is sent back once; then the check could not be
    /// made, which is never a pass.
    pub(super) fn judge_review(
        &mut self,
        stage: &Stage,
        worker: &Worker,
        round: u32,
        work: Work,
    ) -> Result<Judged<Work>, Halt> {
        let (Some(role), true) = (&stage.verifier, stage.checks.contains(&Check::Verifier)) else {
            return Ok(Judged::Passed(work));
        };
        if stage.max_adversarial_rounds == 0 {
            return Ok(Judged::Passed(work));
        }
        let asked = self.verifier(stage, worker, role, &work);
        let mut fault: Option<Feedback> = None;
        let mut asked_in_vain = 0;
        for question in 1.. {
            let key = worker.key(round, &format!("verify-{question}"));
            let task = AgentTask { round, rework: sent_back(fault.take()), ..asked.task() };
            let run = self.run_agent(&key, task, &asked)?;
            match verdict::feedback(run.result.as_deref().unwrap_or_default()) {
                Ok(feedback) => {
                    self.show_review(stage, round, role, &work, Some(&feedback))?;
                    return Ok(self.reviewed(stage, round, work, feedback));
                }
                Err(feedback) => {
                    fault = Some(feedback);
                    asked_in_vain += 1;
                }
            }
            if asked_in_vain >= MOST_QUESTIONS {
                // A person's `/retry` is for the judge here: the work has done nothing wrong.
                if self.heard.retried_after(self.position) {
                    asked_in_vain = 0;
                    continue;
                }
                let position = self.position;
                self.show_review(stage, round, role, &work, None)?;
                self.position = position;
                let said = fault.map_or_else(String::new, |feedback| feedback.summary);
                let because = format!("the review by {role} could not be made: {said}");
                return Ok(Judged::NotMade { candidate: Some(not_verified(work, &because)), because });
            }
        }
        Err(Halt::OverBudget { because: "the verifier was asked too often".to_owned() })
    }

    fn verifier(&self, stage: &Stage, worker: &Worker, role: &str, work: &Work) -> Worker {
        let issue = &self.journal.opened().issue;
        let command = self.journal.role(role).and_then(|role| role.review_command.clone());
        let tests = work.tests.as_ref().map(|tests| checks::of_tests(tests).feedback.summary);
        let arguments = vec![
            issue.title.clone(),
            issue.body.clone(),
            work.patch.clone(),
            tests.unwrap_or_else(|| "No tests were run.".to_owned()),
            self.earlier_reviews(stage),
        ];
        worker.asks_role(
            (role, self.agent_for(role)),
            command.as_deref().unwrap_or(REVIEW),
            arguments,
            (Place::Checkout { commit: work.commit.clone() }, verdict::feedback_schema()),
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

    fn reviewed(&mut self, stage: &Stage, round: u32, mut work: Work, feedback: Feedback) -> Judged<Work> {
        if let Some(seen) = self.trace.round(&stage.name, round) {
            seen.review = Some(feedback.clone());
            seen.commit = Some(work.commit.clone());
        }
        work.review = Some(feedback.clone());
        work.open_findings = of_weight(&feedback);
        if feedback.passed {
            return Judged::Passed(work);
        }
        Judged::Failed(Box::new(Failed {
            by: Judge::Verifier,
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
        work: &Work,
        feedback: Option<&Feedback>,
    ) -> Result<(), Halt> {
        let Some(pull) = self.trace.pull.as_ref().map(|pull| pull.number) else { return Ok(()) };
        let note = ReviewNote {
            pull,
            stage: stage.name.clone(),
            round,
            verifier: verifier.to_owned(),
            commit: work.commit.clone(),
            feedback: feedback.cloned(),
        };
        let kind = if feedback.is_some() { "comment" } else { "comment-not-made" };
        let key = super::moves::MoveKey(format!("{}/{round}/{kind}", stage.name));
        match self.observe(&key, |_| Move::ShowReview(note)) {
            Ok(seen) if matches!(seen.outcome, Outcome::ReviewShown) => Ok(()),
            Ok(_) => Err(self.mismatch(&key)),
            Err(Halt::Settled(_)) => {
                self.trace.note(format!("The review of round {round} could not be put on the pull request."));
                Ok(())
            }
            Err(halt) => Err(halt),
        }
    }
}
