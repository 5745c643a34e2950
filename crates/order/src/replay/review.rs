//! The check `verifier`: a second agent judges the commit on its own checkout.

use super::escalation::sent_back;
use super::graph::StageFields;
use super::judge::{RoundCheck, RoundEnd, UnmadeCheck, not_verified};
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::feedback::{Feedback, Finding};
use crate::judge_answer;
use crate::moves::{AgentTask, AgentTaskWorkspace, Move, MoveKey, ReviewNote};
use crate::pipeline::{Check, MOST_QUESTIONS, Stage};
use crate::review_facts;
use crate::trace::{CandidateWork, RoleReview};

/// The template if a verifier's role names none.
const REVIEW: &str = "review";

/// The roles that judge a stage's rounds. Empty if the stage asks none.
fn asked_roles(stage: &Stage) -> &[String] {
    let is_asked = stage.checks.contains(&Check::Verifier) && stage.max_adversarial_rounds > 0;
    if is_asked { stage.verifier.roles() } else { &[] }
}

impl Replay<'_> {
    /// Judges the work by its verifiers. A review that could not be made is never a pass.
    pub(crate) fn judge_review(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        work: CandidateWork,
    ) -> Result<CandidateWork, RoundEnd> {
        if asked_roles(worker.stage).is_empty() {
            return Ok(work);
        }
        let reviews = match self.verify_all(worker, round, (work.patch.as_str(), Some(&work)))? {
            Ok(reviews) => reviews,
            Err(unmade) => {
                if let UnmadeCheck::Nonsense(_) = &unmade {
                    let position = self.position;
                    self.show_review(worker, round, &work, None)?;
                    self.position = position;
                }
                let (UnmadeCheck::NotPaid(because) | UnmadeCheck::Nonsense(because)) = &unmade;
                let candidate = Box::new(not_verified(work, because));
                return Err(RoundEnd::NotMade(unmade, Some(candidate)));
            }
        };
        let feedback = merged(&reviews);
        self.show_review(worker, round, &work, Some(&feedback))?;
        self.in_round(worker, round, |seen| {
            seen.reviews = reviews;
            seen.review = Some(feedback.clone());
            seen.commit = Some(work.commit.clone());
        });
        let work = CandidateWork { review: Some(feedback.clone()), ..work };
        match feedback.passed {
            true => Ok(work),
            false => Err(RoundEnd::sent_back(RoundCheck::Verifier, work, feedback, None)),
        }
    }

    /// The same for a stage whose result is its answer: a plan, an analysis.
    pub(crate) fn judge_answer(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        fields: StageFields,
    ) -> Result<StageFields, RoundEnd> {
        if asked_roles(worker.stage).is_empty() {
            return Ok(fields);
        }
        let answer = fields.first().map_or("", |(_, text)| text.as_str());
        let reviews = self.verify_all(worker, round, (answer, None))?;
        let reviews = reviews.map_err(|unmade| RoundEnd::NotMade(unmade, None))?;
        let feedback = merged(&reviews);
        self.in_round(worker, round, |seen| {
            seen.review = Some(feedback.clone());
            seen.reviews = reviews;
        });
        match feedback.passed {
            true => Ok(fields),
            false => Err(RoundEnd::failed(RoundCheck::Verifier, feedback)),
        }
    }

    /// Asks all verifiers in parallel, about work or about a text. Nothing is decided before each has finished, so
    /// speed makes no difference and every paid answer is used.
    fn verify_all(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        subject: (&str, Option<&CandidateWork>),
    ) -> Result<Result<Vec<RoleReview>, UnmadeCheck>, Suspension> {
        let roles = asked_roles(worker.stage);
        let begun = self.position;
        let mut position = begun;
        let (mut reviews, mut failures, mut under_way) = (Vec::new(), Vec::new(), Vec::new());
        let mut settled = None;
        for role in roles {
            // A verifier does not rest on what the others said.
            self.position = begun;
            let asked = self.verifier(worker, role, subject);
            let name = if roles.len() == 1 { "verify".to_owned() } else { format!("verify-{role}") };
            match self.verify(&asked, round, &name) {
                Ok(Ok(feedback)) => reviews.push(RoleReview { role: role.clone(), feedback }),
                Ok(Err(UnmadeCheck::Nonsense(said))) => failures.push(UnmadeCheck::Nonsense(format!(
                    "the review by {role} could not be completed: {said}"
                ))),
                Ok(Err(not_paid @ UnmadeCheck::NotPaid(_))) => failures.push(not_paid),
                Err(Suspension::Settled(settlement)) => drop(settled.get_or_insert(settlement)),
                Err(suspension) => under_way.push(suspension),
            }
            position = position.max(self.position);
        }
        self.position = position;
        match (under_way.len(), settled, failures.into_iter().min()) {
            (1, ..) => Err(under_way.remove(0)),
            (2.., ..) => Err(Suspension::SideBySide(under_way)),
            (0, Some(settlement), _) => Err(Suspension::Settled(settlement)),
            (0, None, Some(failure)) => Ok(Err(failure)),
            (0, None, None) => Ok(Ok(reviews)),
        }
    }

    /// Asks one verifier, and once more if its answer is unusable. The error says what was wrong with the last answer,
    /// or that the budget is spent.
    fn verify(
        &mut self,
        asked: &Worker<'_>,
        round: u32,
        name: &str,
    ) -> Result<Result<Feedback, UnmadeCheck>, Suspension> {
        let mut fault: Option<Feedback> = None;
        let mut in_vain = 0;
        for question in 1.. {
            let key = asked.key(round, &format!("{name}-{question}"));
            if self.was_asked_of_another(&key, &asked.task.place) {
                continue;
            }
            let task = AgentTask { round, rework: sent_back(fault.take()), ..asked.task.clone() };
            let run = match self.run_agent(&key, task, asked) {
                Ok((run, _)) => run,
                Err(Suspension::OverBudget { because }) => return Ok(Err(UnmadeCheck::NotPaid(because))),
                Err(suspension) => return Err(suspension),
            };
            // Use the schema from when it was asked, not today's.
            let mut forms = self.prefix.intended(&key).filter_map(|(_, intended)| {
                let Move::RunAgent(task) = intended else { return None };
                task.schema.as_ref()
            });
            let answer = run.complete_answer();
            match judge_answer::feedback(answer, &judge_answer::asked_in(forms.next_back())) {
                Ok(feedback) => return Ok(Ok(feedback)),
                Err(feedback) => {
                    in_vain += 1;
                    let feedback = run.fault_of(answer, feedback);
                    let said = feedback.summary.clone();
                    fault = Some(feedback);
                    // A `/retry` here is for the judge, because the work has done nothing wrong.
                    if in_vain >= MOST_QUESTIONS && self.signals.retried_after(self.position) {
                        in_vain = 0;
                    } else if in_vain >= MOST_QUESTIONS {
                        return Ok(Err(UnmadeCheck::Nonsense(said)));
                    }
                }
            }
        }
        Ok(Err(UnmadeCheck::Nonsense("it was asked too often".to_owned())))
    }

    /// Whether this key belongs to a review of another commit, from before a `/retry`.
    fn was_asked_of_another(&self, key: &MoveKey, place: &AgentTaskWorkspace) -> bool {
        let mut asked = self.prefix.intended(key);
        asked.any(|(_, intended)| matches!(intended, Move::RunAgent(task) if task.place != *place))
    }

    /// A separate comment for each review of a round, because a `/retry` may bring another commit.
    fn comment_key(&self, note: &ReviewNote) -> MoveKey {
        let kind = if note.feedback.is_some() { "comment" } else { "comment-not-made" };
        let round = note.round;
        let is_another = |key: &MoveKey| {
            let mut shown = self.prefix.intended(key);
            shown.any(
                |(_, intended)| matches!(intended, Move::ShowReview(shown) if shown.commit != note.commit),
            )
        };
        let mut key = MoveKey::within(&note.stage, format_args!("{round}/{kind}"));
        let mut number = 2;
        while is_another(&key) {
            key = MoveKey::within(&note.stage, format_args!("{round}/{kind}-{number}"));
            number += 1;
        }
        key
    }

    fn verifier<'s>(
        &self,
        worker: &Worker<'s>,
        role: &str,
        (judged, work): (&str, Option<&CandidateWork>),
    ) -> Worker<'s> {
        let (task, stage) = (&self.task, worker.stage);
        let command = self.journal.role(role).and_then(|role| role.review_command.clone());
        let tests = work.and_then(|work| work.tests.as_ref());
        let commit = work.map(|work| work.commit.clone()).or_else(|| self.head_for(stage));
        let arguments = vec![
            task.title.clone(),
            task.body.clone(),
            judged.to_owned(),
            tests.map_or_else(|| "No tests were run.".to_owned(), review_facts::of_tests),
            self.reviews_so_far(stage, Some(role)),
        ];
        let asked = tests.map(review_facts::asked_about).unwrap_or_default();
        let place =
            commit.map_or(AgentTaskWorkspace::Workspace, |commit| AgentTaskWorkspace::Checkout { commit });
        worker.asks_role(
            (role, self.agent_for(role)),
            command.as_deref().unwrap_or(REVIEW),
            arguments,
            (place, judge_answer::feedback_schema(&asked)),
        )
    }

    /// The reviews of this stage so far, by all verifiers or one role, newest first.
    pub(super) fn reviews_so_far(&self, stage: &Stage, role: Option<&str>) -> String {
        let seen = self.trace.stages.iter().rfind(|known| known.name == stage.name);
        let mut text = String::new();
        for round in seen.iter().flat_map(|stage| stage.rounds.iter().rev()) {
            let own = round.reviews.iter().find(|review| Some(review.role.as_str()) == role);
            let Some(review) = own.map(|own| &own.feedback).or(round.review.as_ref()) else { continue };
            text.push_str(&format!("Round {}: {}\n", round.round, review.summary));
            for finding in &review.issues {
                let place = finding.location.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
                // A verifier gets its own words back. Other readers need the severity of each finding.
                let weight =
                    role.map_or_else(|| format!("{}: ", finding.severity.as_str()), |_| String::new());
                text.push_str(&format!("- {weight}{}{place}\n", finding.description));
            }
        }
        text
    }

    /// Comments on the pull request, if there is one. On failure the work continues.
    fn show_review(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        work: &CandidateWork,
        feedback: Option<&Feedback>,
    ) -> Result<(), Suspension> {
        let stage = worker.stage;
        let given = self.trace.pull.as_ref().filter(|_| self.trace.is_given && self.settings.verify.review);
        let pull = given.map(|given| given.number).or_else(|| self.pull_before(stage));
        let Some(pull) = pull else { return Ok(()) };
        let note = ReviewNote {
            pull,
            stage: stage.name.clone(),
            round,
            verifier: stage.verifier.to_string(),
            commit: work.commit.clone(),
            feedback: feedback.cloned(),
        };
        let key = self.comment_key(&note);
        let shown = self.observe(&key, Move::ShowReview(note));
        self.or_note(shown, |_| format!("The review of round {round} could not be put on the pull request."))
    }
}

/// All reviews as one: it passes if each of them passes, and each finding names its role. A single review stays as it
/// is.
fn merged(reviews: &[RoleReview]) -> Feedback {
    if let [only] = reviews {
        return only.feedback.clone();
    }
    let (passing, failing): (Vec<_>, Vec<_>) = reviews.iter().partition(|review| review.feedback.passed);
    let in_words = |review: &&RoleReview| format!("{}: {}", review.role, review.feedback.summary);
    let summaries: Vec<String> = failing.iter().chain(&passing).map(in_words).collect();
    let mut issues: Vec<Finding> = Vec::new();
    for RoleReview { role, feedback } in reviews {
        issues.extend(feedback.issues.iter().map(|finding| Finding {
            description: format!("{role}: {}", finding.description),
            ..finding.clone()
        }));
    }
    issues.sort_by_key(|finding| finding.severity);
    Feedback {
        passed: failing.is_empty(),
        score: reviews.iter().map(|review| review.feedback.score).fold(1.0, f64::min),
        summary: summaries.join(" "),
        issues,
        changed_tests: reviews.iter().flat_map(|review| review.feedback.changed_tests.clone()).collect(),
    }
}
