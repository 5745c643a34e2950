//! The examiner: what it says about the issue before any change, and the second reading of statements that fail.

use super::escalation::WorkerOutcome;
use super::graph::{StageFields, StageResult};
use super::judge::{RoundCheck, RoundEnd};
use super::plan::{QUESTIONS, a_person_says};
use super::signal_log::PlanDecision;
use super::worker::Worker;
use super::{Replay, Suspension};
use crate::agent_run::AgentRun;
use crate::change_kind::{ChangeKind, kind_of};
use crate::checks;
use crate::examination::{
    ExaminationRun, IssueExamination, SecondReading, StatementRun, reading_schema, schema, second_reading,
};
use crate::feedback::{Category, Feedback, Finding, Severity};
use crate::moves::AgentTaskWorkspace;
use crate::pipeline::{Escalation, MOST_QUESTIONS, Stage};
use crate::plan_questions::PlanQuestions;
use crate::settings::ExaminationPolicy;
use crate::test_run::TestRun;
use crate::trace::{CandidateWork, PendingApproval, StageState};

/// The template if an examiner's stage names none, and the template of the second reading.
const EXAMINE: &str = "examine";
const READ_AGAIN: &str = "examine_again";
/// The examiner's role if no stage of the pipeline names one.
const EXAMINER: &str = "examiner";

impl Replay<'_> {
    /// The kind of change that the issue asks for.
    pub(crate) fn change_kind(&self) -> ChangeKind {
        let (class, by_who_is_judged) = self.class();
        kind_of(&self.journal.opened().issue, class, by_who_is_judged)
    }

    /// An examiner that fails stops nothing. The change is not examined, and a note says so.
    pub(crate) fn examine_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let is_wanted = match (self.settings.examine, self.change_kind()) {
            (ExaminationPolicy::Never, _) | (_, ChangeKind::Chore) => false,
            (ExaminationPolicy::Bugs, kind) => kind != ChangeKind::Feature,
            (ExaminationPolicy::Changes, _) => true,
        };
        let Some(base) = self.base.clone().filter(|_| is_wanted) else {
            return Ok(StageResult {
                fields: contradictions_field(&IssueExamination::default()),
                ..StageResult::without_result(StageState::Skipped)
            });
        };
        let mut worker = self.worker(stage, &stage.name)?;
        if stage.command.is_none() {
            EXAMINE.clone_into(&mut worker.task.command);
        }
        worker.task.agent = self.examiner_agent(&worker.task.role);
        worker.task.place = AgentTaskWorkspace::Checkout { commit: base };
        worker.task.schema = Some(schema());
        worker.most_runs = MOST_QUESTIONS;
        worker.escalation = Escalation::None;
        let begun = self.position;
        let rounds = self.rounds(&worker, |replay, round, run| {
            let answer = run.map(AgentRun::complete_answer).unwrap_or_default();
            let examined = IssueExamination::parse(answer).map_err(|fault| match run {
                Some(run) => run.fault_of(answer, fault),
                None => fault,
            });
            match examined {
                Ok(examination) => replay.ask_about_contradictions(&worker, round, examination),
                Err(feedback) if round < MOST_QUESTIONS => Err(RoundEnd::invalid_output(feedback)),
                Err(feedback) => Ok(Err(feedback.summary)),
            }
        });
        let because = match rounds {
            Ok(WorkerOutcome::Passed(Ok(examination))) => {
                return Ok(StageResult::passed(contradictions_field(&examination), None));
            }
            Ok(WorkerOutcome::Passed(Err(because))) => because,
            Ok(WorkerOutcome::GivenUp { because, .. }) => because,
            Ok(WorkerOutcome::Decided { .. }) => "a person had the work go on without".to_owned(),
            Err(Suspension::Settled(settled)) => settled.because().unwrap_or_default().to_owned(),
            Err(suspension) => return Err(suspension),
        };
        // A `/retry` that reruns the examiner also counts for the stages after it.
        self.position = begun;
        self.trace.note(format!("The issue was not examined: {because}."));
        Ok(StageResult::passed(contradictions_field(&IssueExamination::default()), None))
    }

    /// If tests of the base contradict the issue, a person decides before anything is written.
    fn ask_about_contradictions(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        examination: IssueExamination,
    ) -> Result<Result<IssueExamination, String>, RoundEnd> {
        let against = examination.contradictions.iter().filter(|found| found.tests_against_issue);
        let asked: Vec<String> =
            against.map(|found| format!("{}. Which of them is right?", found.sentence())).collect();
        // The code of somebody else's pull request is written already.
        let asked = if self.journal.opened().change.is_some() { Vec::new() } else { asked };
        let Some(saying) = self.questions(worker, round, PlanQuestions::blocked_by(asked)) else {
            return Ok(Ok(examination));
        };
        match self.put_to_people(&worker.key(round, QUESTIONS), saying, PendingApproval::Answers)? {
            (_, PlanDecision::Approved) => Ok(Ok(examination)),
            (said, PlanDecision::Again { guidance }) => {
                self.position = self.position.max(*said);
                Err(a_person_says(guidance.as_deref().unwrap_or("examine it again")))
            }
        }
    }

    /// The examiner's agent: the configured one, or else another than the author of the change, if there is one.
    fn examiner_agent(&self, role: &str) -> String {
        let is_chosen = self.trace.request.agent().is_some()
            || self.settings.agents.contains_key(role)
            || self.journal.role(role).is_some_and(|role| role.runtime.is_some());
        let own = self.agent_for(role);
        if is_chosen {
            return own;
        }
        let makers = self.pipeline.stages.iter().filter(|stage| stage.writes_tree());
        match makers.filter_map(|stage| stage.agent.as_deref()).next_back() {
            Some(maker) => self.agent_beside(&self.agent_for(maker)).unwrap_or(own),
            None => own,
        }
    }

    /// Another agent of this order, if there is one.
    fn agent_beside(&self, agent: &str) -> Option<String> {
        let roles = self.pipeline.stages.iter().flat_map(Stage::roles).map(|(_, role)| self.agent_for(role));
        roles.into_iter().find(|other| other != agent)
    }

    /// Judges a test run by the statements. An agent that knows neither answer reads failing ones again. Without a
    /// second reading, the first one counts.
    pub(crate) fn judge_statements(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        work: CandidateWork,
        tests: &mut TestRun,
    ) -> Result<CandidateWork, RoundEnd> {
        let examined = tests.scrutiny.as_mut().and_then(|scrutiny| scrutiny.examination.as_mut());
        let Some(examination) = examined else { return Ok(work) };
        if examination.failing().next().is_some() {
            match self.read_again(worker, round, examination)? {
                Ok(readings) => examination.dispute(&readings),
                Err(because) => {
                    self.trace.note(format!(
                        "A statement that does not hold was not read a second time: {because}."
                    ));
                }
            }
        }
        let Some(mut feedback) = statements_feedback(examination) else { return Ok(work) };
        let is_red = !tests.verdict.is_pass();
        if is_red {
            feedback.issues.extend(checks::of_tests(tests).feedback.issues);
        }
        let work = CandidateWork { tests: Some(tests.clone()), ..work };
        Err(RoundEnd::sent_back(RoundCheck::Statements, work, feedback, is_red.then(|| tests.clone())))
    }

    /// The work, if people have dropped every statement that fails on it. Its other test results still count.
    pub(crate) fn without_dropped(&mut self, work: &CandidateWork) -> Option<CandidateWork> {
        let mut tests =
            work.tests.clone().filter(|tests| tests.verdict.is_pass() && tests.doubt.is_none())?;
        let run = tests.scrutiny.as_mut()?.examination.as_mut()?;
        let mut last = None;
        for (seq, number, by) in self.signals.dropped_after(self.position) {
            if run.drop_statement(number, by) {
                last = Some(seq);
            }
        }
        let is_free = run.failing().next().is_none();
        let seq = last.filter(|_| is_free)?;
        self.position = self.position.max(seq);
        let mut work = work.clone();
        let at = work.tested_at;
        self.tested(&mut work, &tests, at);
        Some(work)
    }

    /// The second reading of failing statements, or why there is none.
    fn read_again(
        &mut self,
        worker: &Worker<'_>,
        round: u32,
        run: &ExaminationRun,
    ) -> Result<Result<Vec<SecondReading>, String>, Suspension> {
        let (Some(base), Some(examination)) = (self.base.clone(), self.journal.examination()) else {
            return Ok(Err("the statements are not known any more".to_owned()));
        };
        let role = self
            .pipeline
            .examiner()
            .and_then(|stage| stage.agent.clone())
            .unwrap_or_else(|| EXAMINER.to_owned());
        let first = self.examiner_agent(&role);
        let agent = self.agent_beside(&first).unwrap_or(first);
        let arguments = vec![self.task.title.clone(), self.task.body.clone(), examination.questions(run)];
        let mut asked = worker.asks_role(
            (&role, agent),
            READ_AGAIN,
            arguments,
            (AgentTaskWorkspace::Checkout { commit: base }, reading_schema()),
        );
        // The second reader knows only the issue and the base, not the plan.
        asked.task.inputs.clear();
        match self.ask_beside(&asked, (round, "reading"), second_reading) {
            Err(Suspension::OverBudget { because }) => Ok(Err(because)),
            Err(Suspension::Settled(settled)) => Ok(Err(settled.because().unwrap_or_default().to_owned())),
            read => read,
        }
    }
}

/// The field for later stages: contradictions between issue, documentation and tests, but no statement.
fn contradictions_field(examination: &IssueExamination) -> StageFields {
    let lines: Vec<String> =
        examination.contradictions.iter().map(|found| format!("- {}", found.sentence())).collect();
    vec![("contradictions".to_owned(), lines.join("\n"))]
}

/// What the author is told: the sentence, one input, the expected and the actual result, but never the program. `None`
/// if nothing fails.
fn statements_feedback(run: &ExaminationRun) -> Option<Feedback> {
    let issues: Vec<Finding> = run
        .failing()
        .map(|(statement, _)| Finding {
            severity: Severity::Critical,
            category: Category::TestFailure,
            description: statement.sentence(),
            location: None,
            suggestion: Some(
                "Make the code do what the sentence says, for every input of its kind, and add a test of it. Where the \
                 sentence says something else, say so in your answer."
                    .to_owned(),
            ),
        })
        .collect();
    let first = issues.first()?.description.clone();
    let summary = match issues.len() {
        1 => first,
        many => format!("{many} statements do not hold, the first: {first}"),
    };
    let all = run.statements.iter().filter_map(StatementRun::is_for).count().max(1);
    let score = (all - issues.len().min(all)) as f64 / all as f64;
    Some(Feedback { issues, score, ..Feedback::failed(Category::TestFailure, summary) })
}
