//! What happens when a check runs out: an agent diagnoses, a person is asked, or the stage ends.

use std::ops::ControlFlow;

use super::judge::RoundCheck;
use super::signal_log::ResumeCommand;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::bounds::LONGEST_DOCUMENT;
use crate::feedback::Feedback;
use crate::judge_answer;
use crate::moves::{AgentTask, AgentTaskWorkspace, Diagnosis, DiagnosisDecision, Rework};
use crate::pipeline::{Escalation, MOST_QUESTIONS};
use crate::trace::{CandidateWork, RoundTrace};

/// The result of a worker's rounds.
#[expect(clippy::large_enum_variant, reason = "one at a time, and taken apart at once")]
pub(crate) enum WorkerOutcome<T> {
    Passed(T),
    /// A person decided on the best round.
    Decided {
        work: Box<CandidateWork>,
        /// Who accepted it as it is. `None` if people dropped the statements against it.
        approved_by: Option<String>,
    },
    GivenUp {
        because: String,
        /// The best round, for a person.
        best: Option<CandidateWork>,
        /// Whether a person must look at it.
        to_person: bool,
    },
}

/// Why a set of rounds ended.
pub(crate) struct CheckExhaustion {
    pub(crate) because: String,
    /// Which check ran out. `None` if a check could not be made.
    pub(crate) by: Option<RoundCheck>,
}

impl CheckExhaustion {
    pub(crate) fn not_made(because: String) -> Self {
        Self { because, by: None }
    }

    /// Whether another agent's advice could help. It cannot if the judge is at fault.
    fn can_be_guided(&self) -> bool {
        // A second weakening of the tests is for a person.
        self.by.is_some_and(|by| by != RoundCheck::Tampering)
    }
}

impl Replay<'_> {
    /// Decides how the worker's rounds end, or starts another set of them, with or without guidance.
    pub(crate) fn escalate<T>(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        exhausted: &CheckExhaustion,
        best: Option<&CandidateWork>,
        guided: bool,
    ) -> Result<ControlFlow<WorkerOutcome<T>, Option<Diagnosis>>, Suspension> {
        let mut because = exhausted.because.clone();
        match &worker.escalation {
            Escalation::Agent(role) if !guided && exhausted.can_be_guided() => {
                match self.diagnose(worker, role, round, best)? {
                    Ok(diagnosis) => match diagnosis.decision {
                        DiagnosisDecision::Guide => return Ok(ControlFlow::Continue(Some(diagnosis))),
                        DiagnosisDecision::Flag => {
                            because = format!("{because}. The {role} says: {}", diagnosis.diagnosis.trim());
                        }
                    },
                    Err(problem) => because = format!("{because}. The {role} could not say more: {problem}"),
                }
            }
            Escalation::Agent(role) if guided => {
                because = format!("{because}, also after the {role}'s guidance");
            }
            Escalation::Agent(_) | Escalation::HumanApproval | Escalation::None => {}
        }
        if let Some(released) = best.and_then(|work| self.without_dropped(work)) {
            return Ok(ControlFlow::Break(decided(released, None)));
        }
        // If there is nothing to approve, the approval was meant for another stage.
        let said = self.signals.commands_after(self.position).find_map(|word| match word {
            ResumeCommand::Retried { .. } => Some(ControlFlow::Continue(None)),
            ResumeCommand::Approved { by } => {
                best.map(|work| ControlFlow::Break(decided(work.clone(), Some(by))))
            }
            ResumeCommand::StatementDropped { .. } => None,
        });
        Ok(said.unwrap_or_else(|| {
            let to_person = worker.escalation != Escalation::None;
            ControlFlow::Break(WorkerOutcome::GivenUp { because, best: best.cloned(), to_person })
        }))
    }

    /// Shows the history and the best round to the escalation's agent. The error says why its answers are unusable.
    fn diagnose(
        &mut self,
        worker: &Worker<'_>,
        role: &str,
        round: u32,
        best: Option<&CandidateWork>,
    ) -> Result<Result<Diagnosis, String>, Suspension> {
        let commit = best.map(|work| work.commit.clone()).or_else(|| self.base.clone());
        let place =
            commit.map_or(AgentTaskWorkspace::Workspace, |commit| AgentTaskWorkspace::Checkout { commit });
        let seen = self.trace.stages.iter().rfind(|known| known.name == worker.task.stage);
        let rounds = seen.map(|stage| stage.rounds.clone()).unwrap_or_default();
        let output = rounds.iter().rev().find_map(|round| round.tests.as_ref()).map(|run| run.tail.clone());
        let arguments = vec![
            worker.task.stage.clone(),
            history(&rounds, best),
            best.map(|work| work.patch.clone()).unwrap_or_default(),
            output.unwrap_or_default(),
        ];
        let asked = worker.asks_role(
            (role, self.agent_for(role)),
            "diagnose",
            arguments,
            (place, judge_answer::diagnosis_schema()),
        );
        let said = self.ask_beside(&asked, (round, "diagnosis"), judge_answer::diagnosis)?;
        if let Ok(diagnosis) = &said {
            self.in_round(worker, round, |seen| seen.diagnosis = Some(diagnosis.clone()));
        }
        Ok(said)
    }

    /// Asks an agent about a round, and once more if the answer is unusable. The error says what was wrong with the
    /// last answer.
    pub(crate) fn ask_beside<T>(
        &mut self,
        asked: &Worker<'_>,
        (round, what): (u32, &str),
        read: impl Fn(&str) -> Result<T, Feedback>,
    ) -> Result<Result<T, String>, Suspension> {
        let mut fault: Option<Feedback> = None;
        for question in 1..=MOST_QUESTIONS {
            let key = asked.key(round, &format!("{what}-{question}"));
            let task = AgentTask { round: question, rework: sent_back(fault.take()), ..asked.task.clone() };
            let (run, _) = self.run_agent(&key, task, asked)?;
            let answer = run.complete_answer();
            match read(answer) {
                Ok(said) => return Ok(Ok(said)),
                Err(feedback) => fault = Some(run.fault_of(answer, feedback)),
            }
        }
        Ok(Err(fault.map_or_else(String::new, |feedback| feedback.summary)))
    }
}

/// The best round, accepted by a person or freed by dropped statements.
pub(crate) fn decided<T>(work: CandidateWork, approved_by: Option<&str>) -> WorkerOutcome<T> {
    WorkerOutcome::Decided { work: Box::new(work), approved_by: approved_by.map(str::to_owned) }
}

/// What an agent gets after an unusable answer.
pub(crate) fn sent_back(fault: Option<Feedback>) -> Option<Rework> {
    fault.map(|feedback| Rework {
        attempt: 2,
        of: MOST_QUESTIONS,
        feedback: vec![feedback],
        ..Rework::default()
    })
}

/// The rounds of a stage as text, newest first.
pub(crate) fn history(rounds: &[RoundTrace], best: Option<&CandidateWork>) -> String {
    let mut text = String::new();
    for seen in rounds.iter().rev() {
        let is_best = best.is_some_and(|work| work.round == seen.round);
        text.push_str(&format!("Round {}{}\n", seen.round, if is_best { ", the best" } else { "" }));
        if let Some(counts) = seen.tests.as_ref().and_then(|run| run.counts) {
            text.push_str(&format!("  tests: {} passed, {} failed\n", counts.passed, counts.failed));
        }
        if let Some(feedback) = &seen.feedback {
            text.push_str(&format!("  {}\n", feedback.summary));
            for finding in feedback.issues.iter().take(10) {
                let place = finding.location.as_deref().map(|at| format!(" ({at})")).unwrap_or_default();
                text.push_str(&format!("  - {}{place}\n", finding.description));
            }
        }
        if text.len() > LONGEST_DOCUMENT {
            text = text.chars().take(LONGEST_DOCUMENT).collect();
            text.push_str("\n… earlier rounds are left out\n");
            break;
        }
    }
    text
}
