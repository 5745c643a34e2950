//! The one loop: worker, checks, feedback, worker again, until it passes or a check runs out.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::escalation::{CheckExhaustion, WorkerOutcome, decided};
use super::fingerprint::FailureFingerprint;
use super::judge::{FailedRound, RoundCheck, RoundEnd, UnmadeCheck};
use super::plan::another_plan;
use super::text_updates::outdated;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::agent_run::AgentRun;
use crate::feedback::{Category, Feedback};
use crate::moves::{AgentTask, Diagnosis, MoveKey, Rework};
use crate::pipeline::{MOST_RUNS, StageStart};
use crate::trace::{CandidateWork, OpenFindings};

/// How many rounds of feedback a worker gets.
const MOST_FEEDBACK: usize = 5;

/// Counters that restart on `/retry` and on guidance.
#[derive(Default)]
struct Counters {
    failures: BTreeMap<RoundCheck, u32>,
    /// How often the worker has run.
    runs: u32,
    last: Option<FailureFingerprint>,
}

impl Replay<'_> {
    /// The loop. `judge` checks one run of the worker, or the existing work if the stage begins with its checks. A
    /// failure is passed to the next run.
    pub(crate) fn rounds<T>(
        &mut self,
        worker: &Worker<'_>,
        mut judge: impl FnMut(&mut Self, u32, Option<&AgentRun>) -> Result<T, RoundEnd>,
    ) -> Result<WorkerOutcome<T>, Suspension> {
        let mut counters = Counters::default();
        let mut history: Vec<Feedback> = self.found_before(worker).into_iter().collect();
        let mut best: Option<CandidateWork> = None;
        let mut reviewed: Option<OpenFindings> = None;
        let mut rework = (!history.is_empty()).then(|| Rework {
            of: MOST_RUNS,
            feedback: history.clone(),
            mode: worker.stage.feedback_mode,
            ..Rework::default()
        });
        // Each run continues the previous one's session and answer.
        let mut continued = worker.task.clone();
        let mut guided = false;
        let mut artifact_id: Option<String> = None;
        for round in 1.. {
            let mut said = None;
            let begins_with_checks = round == 1 && worker.begins_with == StageStart::Checks;
            let judged = if begins_with_checks {
                judge(self, round, None)
            } else {
                let key = worker.key(round, "agent");
                let other = self.other_plan(worker, round, &key);
                let judged = if other.as_ref().is_some_and(|other| !other.was_made) {
                    // The run was stopped, and nothing waits for it.
                    Err(RoundEnd::NotMade(UnmadeCheck::Nonsense(String::new()), None))
                } else {
                    let rework = self.with_advice(worker, (round, &key), rework.take());
                    // Attempts are numbered by the worker's runs.
                    let attempt = counters.runs + 1;
                    let rework = rework.map(|told| Rework { attempt, of: told.of.max(attempt), ..told });
                    let mut task = AgentTask { round, rework, ..continued.clone() };
                    self.with_new_text(&key, &mut task)?;
                    self.hold_artifact(&mut task, &mut artifact_id);
                    match self.run_agent(&key, task, worker) {
                        Ok((run, seq)) => {
                            self.last_run = self.last_run.max(seq);
                            counters.runs += 1;
                            if run.session_id.is_some() {
                                continued.session.clone_from(&run.session_id);
                            }
                            said.clone_from(&run.result);
                            // After a run that was cut off before it answered, continue from the one before it.
                            if run.result.is_some() {
                                continued.previous = Some(key);
                            }
                            self.in_round(worker, round, |seen| {
                                seen.agent = Some(worker.task.agent.clone());
                                seen.result.clone_from(&run.result);
                                seen.warnings.clone_from(&run.warnings);
                            });
                            if self.is_outdated(worker, round) {
                                let why = self.answered(worker, round).unwrap_or_else(outdated);
                                Err(RoundEnd::failed(RoundCheck::Person, why))
                            } else {
                                judge(self, round, Some(run))
                            }
                        }
                        Err(suspension) => Err(suspension.into()),
                    }
                };
                match other {
                    Some(other) if !other.was_made || self.position < other.said => {
                        self.position = self.position.max(other.said);
                        Err(another_plan(other.guidance))
                    }
                    Some(_) | None => judged,
                }
            };
            let exhausted = match judged {
                Ok(value) => return Ok(WorkerOutcome::Passed(value)),
                Err(RoundEnd::NotMade(unmade, candidate)) => {
                    let (UnmadeCheck::NotPaid(because) | UnmadeCheck::Nonsense(because)) = &unmade;
                    let feedback = Feedback::failed(Category::InvalidOutput, because.as_str());
                    // Show it in the round that it should have judged.
                    self.in_round(worker, round, |seen| seen.feedback = Some(feedback.clone()));
                    let open = reviewed.unwrap_or_else(|| OpenFindings::of(&feedback));
                    self.keep_better(&mut best, candidate.map(|work| *work), open);
                    match unmade {
                        UnmadeCheck::NotPaid(because) => return Ok(self.out_of_budget(because, best)),
                        UnmadeCheck::Nonsense(because) => Some(CheckExhaustion::not_made(because)),
                    }
                }
                Err(RoundEnd::Failed(failed)) => {
                    self.in_round(worker, round, |seen| seen.feedback = Some(failed.feedback.clone()));
                    if failed.by == RoundCheck::Verifier {
                        reviewed = Some(OpenFindings::of(&failed.feedback));
                    }
                    // Findings stay open until a reviewer looks again.
                    let open = reviewed.unwrap_or_else(|| OpenFindings::of(&failed.feedback));
                    self.keep_better(&mut best, failed.candidate.clone(), open);
                    history.insert(0, failed.feedback.clone());
                    history.truncate(MOST_FEEDBACK);
                    let (next, exhausted) = counters.count(worker, round, &failed, said);
                    rework =
                        Some(Rework { feedback: history.clone(), mode: worker.stage.feedback_mode, ..next });
                    exhausted
                }
                Err(RoundEnd::Suspended(Suspension::OverBudget { because })) => {
                    return Ok(self.out_of_budget(because, best));
                }
                Err(RoundEnd::Suspended(suspension)) => return Err(suspension),
            };
            let Some(exhausted) = exhausted else { continue };
            match self.escalate(worker, round, &exhausted, best.as_ref(), guided) {
                Ok(ControlFlow::Continue(diagnosis)) => {
                    guided = diagnosis.is_some();
                    // Keep the fingerprint: the same failure again, despite guidance, gets no further attempt.
                    let last = counters.last.take().filter(|_| guided);
                    counters = Counters { last, ..Counters::default() };
                    rework = Some(anew(worker, &exhausted, &history, rework.take(), diagnosis));
                }
                Ok(ControlFlow::Break(outcome)) => return Ok(outcome),
                Err(Suspension::OverBudget { because }) => return Ok(self.out_of_budget(because, best)),
                Err(suspension) => return Err(suspension),
            }
        }
        let because = "there are no more rounds".to_owned();
        Ok(WorkerOutcome::GivenUp { because, best, to_person: true })
    }

    /// Adds advice: from a `/retry` that no run has seen, or else from the request for the plan or the order.
    fn with_advice(
        &self,
        worker: &Worker<'_>,
        (round, key): (u32, &MoveKey),
        rework: Option<Rework>,
    ) -> Option<Rework> {
        let asked = || {
            let of_plan = self.advice_for_the_plan(worker, key);
            of_plan.or(self.trace.request.advice.as_deref().filter(|_| worker.hears_the_request))
        };
        let asked = || if round == 1 { asked() } else { None };
        let Some(advice) = self.signals.guidance_after(self.last_run).or_else(asked) else { return rework };
        let none = || Rework { of: MOST_RUNS, mode: worker.stage.feedback_mode, ..Rework::default() };
        Some(Rework { guidance: Some(advice.to_owned()), ..rework.unwrap_or_else(none) })
    }

    /// Keeps the existing work, whatever the stage escalates to: there is no budget to ask an agent.
    fn out_of_budget<T>(&self, because: String, best: Option<CandidateWork>) -> WorkerOutcome<T> {
        match (best, self.signals.approved_last_after(self.position)) {
            (Some(work), by @ Some(_)) => decided(work, by),
            (best, _) => WorkerOutcome::GivenUp { because, best, to_person: true },
        }
    }
}

impl Counters {
    /// Counts a failure. Returns what the next attempt gets, and why there is none if the check ran out.
    fn count(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        failed: &FailedRound,
        answer: Option<String>,
    ) -> (Rework, Option<CheckExhaustion>) {
        let rework = Rework {
            of: MOST_RUNS,
            test_output: failed.tests.as_ref().map(|run| run.tail.clone()),
            failing_tests: failed.tests.as_ref().map(|run| run.failing.clone()).unwrap_or_default(),
            ..Rework::default()
        };
        if failed.by == RoundCheck::Person {
            *self = Self::default();
            return (rework, None);
        }
        let answer = answer.filter(|_| failed.by == RoundCheck::Output);
        let print = FailureFingerprint::of(failed, answer.as_deref());
        let is_same = self.last.as_ref().is_some_and(|before| print.is_same_as(before));
        self.last = Some(print);
        let failures = self.failures.entry(failed.by).or_default();
        *failures += 1;
        let (count, limit) = (*failures, worker.limit(failed.by));
        let most = worker.most_runs;
        let summary = &failed.feedback.summary;
        let because = if count >= limit {
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            Some(format!("{summary} (tried {times})"))
        } else if self.runs >= most {
            Some(format!("{summary} (all {most} attempts are used up)"))
        } else if is_same {
            Some(format!(
                "{summary} (rounds {} and {round} failed in the same way, so it was not tried again)",
                round.saturating_sub(1)
            ))
        } else {
            None
        };
        // How many runs this check allows in total from here on.
        let of = self.runs.saturating_add(limit.saturating_sub(count)).min(most);
        let rework = Rework { of, ..rework };
        if failed.tests.as_ref().is_some_and(|run| run.is_right_beside_red()) {
            let because = format!(
                "{summary}, and a test fails without the change and passes with it; `accept: no_new_failures` in \
                 .github/journeyman.yml accepts what failed before"
            );
            return (rework, Some(CheckExhaustion::not_made(because)));
        }
        if let Some(because) = failed.tests.as_ref().and_then(|run| run.kept_out()) {
            return (rework, Some(CheckExhaustion::not_made(format!("{summary}; {because}"))));
        }
        (rework, because.map(|because| CheckExhaustion { because, by: Some(failed.by) }))
    }
}

/// The first attempt of a new set, which still gets the earlier feedback.
fn anew(
    worker: &Worker<'_>,
    exhausted: &CheckExhaustion,
    history: &[Feedback],
    last: Option<Rework>,
    diagnosis: Option<Diagnosis>,
) -> Rework {
    let last = last.unwrap_or_default();
    let of = exhausted.by.map_or(MOST_RUNS, |judge| worker.limit(judge)).min(worker.most_runs);
    Rework { of, feedback: history.to_vec(), mode: worker.stage.feedback_mode, diagnosis, ..last }
}
