//! What each kind of stage does, from start to end.

use super::escalation::WorkerOutcome;
use super::graph::{StageFields, StageResult, named};
use super::judge::{RoundCheck, RoundEnd};
use super::publish::push_declined;
use super::work::CommitParents;
use super::{Replay, Suspension};
use crate::checks;
use crate::feedback::Feedback;
use crate::ids::BranchName;
use crate::moves::{EffectOutcome, Move, MoveKey};
use crate::pipeline::{Check, Escalation, Stage, StageKind, StageOutput, StageStart};
use crate::settlement::Settlement;
use crate::test_path::is_of_tests;
use crate::test_run::TestVerdict;
use crate::trace::{CandidateWork, StageChecksOutcome, StageState};

impl Replay<'_> {
    pub(crate) fn stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        // Work that a person accepted as it is gets no second judgement.
        let judges_only = stage.uses == StageKind::Tests || stage.begins_with == StageStart::Checks;
        let work = self.work_before(stage).filter(|work| judges_only && work.accepted.is_some());
        if work.is_some() {
            return Ok(StageResult { work, ..StageResult::without_result(StageState::Skipped) });
        }
        match stage.uses {
            StageKind::Agent => self.agent_stage(stage),
            StageKind::Examine => self.examine_stage(stage),
            StageKind::Branch => self.branch_stage(stage),
            StageKind::Tests => self.tests_stage(stage),
            StageKind::Verify => self.verify_stage(stage),
            StageKind::Publish => self.publish_stage(stage),
            StageKind::Ready => self.ready_stage(stage),
            StageKind::Archive => self.archive_stage(stage),
        }
    }

    /// A stage whose result is its agent's answer and push.
    fn agent_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let mut worker = self.worker(stage, &stage.name)?;
        let head = self.work_before(stage);
        if let (StageStart::Checks, Some(work)) = (stage.begins_with, &head) {
            // Another agent does not know the session.
            worker.task.session = work.session.clone().filter(|_| work.agent == worker.task.agent);
            worker.task.previous = Some(work.answer.clone());
        }
        // Words do not settle an objection to a commit. Without a new commit, the existing one is judged again.
        let judges_what_is_there = stage.begins_with == StageStart::Checks
            && stage.checks.contains(&Check::Verifier)
            && !stage.checks.contains(&Check::PushedCommit);
        if worker.begins_with == StageStart::Checks && head.is_none() {
            return Err(Suspension::failed(format!("stage {}: there is no work to judge", stage.name)));
        }
        if stage.checks.contains(&Check::PushedCommit) {
            worker.task.branch = Some(self.branch_or_default());
        }
        let rounds = self.rounds(&worker, |replay, round, run| {
            let (fields, made) = match run {
                Some(run) => {
                    let fields = replay.judge_output(&worker, round, run)?;
                    let made = match replay.start() {
                        Some(start) if stage.checks.contains(&Check::PushedCommit) => {
                            let onto = CommitParents { start: start.clone(), parent: start, merges: None };
                            Some(replay.judge_import(&worker, round, run, onto)?)
                        }
                        Some(_) | None => None,
                    };
                    (fields, made)
                }
                None => (Vec::new(), None),
            };
            let is_new = made.is_some();
            let there = || head.clone().filter(|_| run.is_none() || judges_what_is_there);
            let Some(work) = made.or_else(|| there().map(|work| CandidateWork { round, ..work })) else {
                let fields = replay.judge_answer(&worker, round, fields)?;
                let fields = replay.judge_plan(&worker, round, fields)?;
                return Ok((fields, None));
            };
            let work = replay.judge_tests(&worker, round, work)?;
            if is_new
                && replay.pull_before(stage).is_some()
                && let Err(declined) = replay.try_push(&work, None)?
            {
                return Err(push_declined(work, declined));
            }
            let work = replay.judge_review(&worker, round, work)?;
            Ok((fields, Some(work)))
        })?;
        let mut concluded = match rounds {
            WorkerOutcome::Passed((mut fields, work)) => {
                // An artifact lists its own tests, which is better than guessing by path. All else is what we observed.
                let names_tests = stage.output == Some(StageOutput::CodeArtifact);
                let seen = work.iter().flat_map(work_fields);
                fields.extend(seen.filter(|(field, _)| !(names_tests && field == "test_files")));
                StageResult::passed(fields, work)
            }
            WorkerOutcome::Decided { mut work, approved_by } => {
                let state = if approved_by.is_some() { StageState::Approved } else { StageState::Passed };
                self.accept_decided(&mut work, approved_by);
                if state == StageState::Approved || self.pull_before(stage).is_some() {
                    self.push(&work)?;
                }
                StageResult { state, ..StageResult::passed(work_fields(&work), Some(*work)) }
            }
            WorkerOutcome::GivenUp { because, best, to_person } => hand_on(stage, because, best, to_person),
        };
        if stage.checks.contains(&Check::Verifier) {
            concluded.fields.push(("findings".to_owned(), self.reviews_so_far(stage, None)));
        }
        Ok(concluded)
    }

    /// Tells the author of the work why its push was declined, as often as a check may fail. The reworked commit passes
    /// the same checks. If the commit stays the same, the push is retried, because a person may have changed the rule.
    pub(crate) fn declined_rounds(
        &mut self,
        stage: &Stage,
        work: CandidateWork,
        declined: Feedback,
    ) -> Result<Result<(BranchName, CandidateWork), Box<StageResult>>, Suspension> {
        let maker = self.before(stage).into_iter().rfind(|known| known.checks.contains(&Check::PushedCommit));
        let (Some(maker), Some(start)) = (maker, self.start()) else {
            return Err(Suspension::Settled(Settlement::Escalated { pull: None, because: declined.summary }));
        };
        let asked = Stage {
            name: stage.name.clone(),
            depends_on: stage.depends_on.clone(),
            begins_with: StageStart::Checks,
            ..maker.clone()
        };
        let mut worker = self.worker(&asked, &asked.name)?;
        worker.task.branch = Some(self.branch_or_default());
        worker.task.session = work.session.clone().filter(|_| work.agent == worker.task.agent);
        worker.task.previous = Some(work.answer.clone());
        let rounds = self.rounds(&worker, |replay, round, run| {
            let Some(run) = run else { return Err(push_declined(work.clone(), declined.clone())) };
            replay.judge_output(&worker, round, run)?;
            let onto = CommitParents { start: start.clone(), parent: start.clone(), merges: None };
            let (made, again) = match replay.judge_import(&worker, round, run, onto) {
                Err(end) if end.is_by(RoundCheck::PushedCommit) => (work.clone(), Some(round)),
                made => (made?, None),
            };
            let made = replay.judge_tests(&worker, round, made)?;
            let made = replay.judge_review(&worker, round, made)?;
            match replay.try_push(&made, again)? {
                Ok(branch) => Ok((branch, made)),
                Err(declined) => Err(push_declined(made, declined)),
            }
        })?;
        Ok(match rounds {
            WorkerOutcome::Passed(taken) => Ok(taken),
            WorkerOutcome::Decided { mut work, approved_by } => {
                self.accept_decided(&mut work, approved_by);
                Ok((self.push(&work)?, *work))
            }
            WorkerOutcome::GivenUp { because, best, to_person } => {
                Err(Box::new(hand_on(&asked, because, best, to_person)))
            }
        })
    }

    fn accept_decided(&mut self, work: &mut CandidateWork, approved_by: Option<String>) {
        if let Some(by) = approved_by {
            let because = with_its_own_fault(work, String::new());
            self.accept(work, by, because);
        }
    }

    /// The branch, or one named after the issue's title if no stage names it.
    pub(crate) fn branch_or_default(&mut self) -> BranchName {
        let named = self.trace.branch.clone();
        let branch = named.unwrap_or_else(|| self.new_branch(&self.journal.opened().issue.title));
        self.trace.branch = Some(branch.clone());
        branch
    }

    /// Runs the tests on the work as it is. No worker can be sent back.
    fn tests_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let mut work = self.work_needed(stage, "there is no commit to test")?;
        for again in 1.. {
            let key = MoveKey::within(&stage.name, format_args!("{again}/tests"));
            let seen = self.observe(&key, Move::RunTests { commit: work.commit.clone() })?;
            let EffectOutcome::Tested(tests) = seen.outcome else { return Err(self.mismatch(&key)) };
            let feedback = checks::of_tests(tests).feedback;
            if let Some(seen) = self.trace.round(&stage.name, again) {
                seen.commit = Some(work.commit.clone());
                seen.tests = Some((**tests).clone());
                seen.feedback = (!feedback.passed).then(|| feedback.clone());
            }
            self.tested(&mut work, tests, seen.seq);
            let fields = |work: &CandidateWork| {
                let mut fields = work_fields(work);
                fields.push(("verdict".to_owned(), tests.verdict.as_str().to_owned()));
                fields.push(("result".to_owned(), feedback.summary.clone()));
                fields
            };
            if matches!(tests.verdict, TestVerdict::Passed | TestVerdict::NoTests) {
                return Ok(StageResult::passed(fields(&work), Some(work)));
            }
            if self.signals.retried_after(self.position) {
                continue;
            }
            let because = feedback.summary.clone();
            work.checks = StageChecksOutcome::Failed { because: because.clone() };
            let word = self.signals.command_after(self.position);
            if let Some(by) = word.and_then(|word| word.approved_by()).map(str::to_owned) {
                self.accept(&mut work, by, because);
                self.push(&work)?;
                let concluded = StageResult::passed(fields(&work), Some(work));
                return Ok(StageResult { state: StageState::Approved, ..concluded });
            }
            let to_person = stage.escalate_on_exhaust != Escalation::None;
            return Ok(hand_on(stage, because, Some(work), to_person));
        }
        Err(Suspension::failed("the tests were run too often"))
    }

    /// Keeps the stage's inputs as artifacts, and the archiver's summary if there is one.
    fn archive_stage(&mut self, stage: &Stage) -> Result<StageResult, Suspension> {
        let worker = self.worker(stage, &stage.name)?;
        let mut parts: Vec<(String, String)> = worker.task.inputs.clone().into_iter().collect();
        let mut summary = String::new();
        if stage.agent.is_some() {
            let written = self.rounds(&worker, |replay, round, run| match run {
                Some(run) => replay.judge_output(&worker, round, run),
                None => Err(RoundEnd::invalid_output(Feedback::passed("nothing was written"))),
            })?;
            match written {
                WorkerOutcome::Passed(fields) => {
                    summary = fields.into_iter().next().map(|(_, text)| text).unwrap_or_default();
                }
                WorkerOutcome::Decided { .. } => {}
                WorkerOutcome::GivenUp { because, .. } => {
                    self.trace.note(format!("The archive has no summary: {because}."));
                }
            }
            parts.push(("summary".to_owned(), summary.clone()));
        }
        let archive = Move::Archive { stage: stage.name.clone(), parts };
        self.observe(&MoveKey::within(&stage.name, "archive"), archive)?;
        Ok(StageResult::passed(named([("result", summary)]), None))
    }
}

/// How a stage ends after its rounds failed.
fn hand_on(stage: &Stage, because: String, best: Option<CandidateWork>, to_person: bool) -> StageResult {
    let because = match &best {
        Some(work) => with_its_own_fault(work, because),
        None => format!("stage {}: {because}", stage.name),
    };
    match (best, to_person) {
        (Some(mut work), true) => {
            work.checks = StageChecksOutcome::Failed { because: because.clone() };
            StageResult {
                state: StageState::Escalated,
                because: Some(Settlement::Escalated { pull: None, because }),
                ..StageResult::passed(work_fields(&work), Some(work))
            }
        }
        (None, _) if stage.checks.contains(&Check::PushedCommit) => {
            StageResult::failed(Settlement::Blocked { because })
        }
        (best, _) => {
            let checks = StageChecksOutcome::Failed { because: because.clone() };
            let work = best.map(|work| CandidateWork { checks, ..work });
            StageResult { work, ..StageResult::failed(Settlement::Failed { because }) }
        }
    }
}

/// The fields that a stage with work passes on, besides its answer.
pub(super) fn work_fields(work: &CandidateWork) -> StageFields {
    let tests = work.tests.as_ref().map(|tests| {
        let summary = checks::of_tests(tests).feedback.summary;
        let failing: String = tests.failing.iter().map(|name| format!("\nfails: {name}")).collect();
        format!("{summary}{failing}")
    });
    let review = work.review.as_ref().map(|review| review.summary.clone());
    let test_files: Vec<&str> =
        work.changed.iter().map(String::as_str).filter(|path| is_of_tests(path)).collect();
    named([
        ("changed", work.changed.join("\n")),
        ("test_files", test_files.join("\n")),
        ("commit", work.commit.to_string()),
        ("code", work.patch.clone()),
        ("final_code", work.patch.clone()),
        ("test_results", tests.unwrap_or_default()),
        ("verdict", review.unwrap_or_default()),
    ])
}

/// The best round is not always the last, so its own fault comes first.
fn with_its_own_fault(best: &CandidateWork, because: String) -> String {
    let StageChecksOutcome::Failed { because: own } = &best.checks else { return because };
    match because.is_empty() {
        true => own.clone(),
        false if because.starts_with(own.as_str()) => because,
        false => format!("round {} came closest: {own}. At the end: {because}", best.round),
    }
}
