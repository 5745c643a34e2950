//! Runs the examiner's statements on both codes. They were written before the change, without knowledge of it.

use super::checkout_run::{CheckoutRun, CheckoutRunSpec, RunPlace};
use super::experiment::ExperimentContext;
use super::{CommandOutput, EffectError};
use journeyman_environment::PlannedTest;
use journeyman_order::examination::{
    ExaminationRun, ExaminerStatement, FailedAnswer, IssueExamination, StatementKind, StatementProgram,
    StatementVerdict,
};
use journeyman_order::{CommitSha, TestCaseStatus};
use journeyman_verify::examination::{
    ProgramBatch, ProgramOutput, judge_statement, together, unnamed_inputs,
};
use journeyman_verify::experiment::{is_of, not_loaded};
use journeyman_verify::{Overlay, OverlayAction};

/// How often each program runs: what differs between runs says nothing.
const TIMES: u32 = 2;
const TIMES_RED: u32 = 3;

struct TestFileRuns {
    before: CheckoutRun,
    after: CheckoutRun,
    files: usize,
}

impl ExperimentContext<'_> {
    /// What the examiner's statements say about the change, and what their programs print. Empty if not examined.
    pub(super) async fn examine(&self) -> Result<(Option<ExaminationRun>, Vec<CommandOutput>), EffectError> {
        let Some(IssueExamination { statements, .. }) = &self.ask.examination else {
            return Ok((None, Vec::new()));
        };
        let programs = |times_red: u32| {
            let each = statements.iter().flat_map(move |statement| {
                let times = if statement.kind == StatementKind::Changes { times_red } else { TIMES };
                statement.printing().map(move |program| (program, times))
            });
            ProgramBatch::new(each.collect(), || uuid::Uuid::new_v4().simple().to_string())
        };
        let (before, after) = (programs(TIMES_RED), programs(TIMES));
        let (before, after, by_runner) = tokio::try_join!(
            self.run_programs("-statements-base", &self.ask.base, &before),
            self.run_programs("-statements", &self.ask.commit, &after),
            self.run_test_files(statements),
        )?;
        let mut outputs = [before.1, after.1].concat();
        let mut runs = before.0.into_iter().zip(after.0);
        let statements = (1..).zip(statements).map(|(number, statement)| {
            let own: Vec<(Vec<ProgramOutput>, Vec<ProgramOutput>)> =
                runs.by_ref().take(statement.printing().count()).collect();
            let mut judged = judge_statement(number, statement, &own, &self.ask.issue);
            let by_runner = by_runner.iter().flat_map(|runs| {
                statement.test_files().map(|file| self.said_by_tests(statement, file, runs))
            });
            let by_programs = (!own.is_empty()).then_some(judged.said);
            judged.said = together(by_programs.into_iter().chain(by_runner));
            judged
        });
        let run = ExaminationRun { statements: statements.collect() };
        outputs.extend(by_runner.iter().flat_map(|runs| runs.before.outputs().chain(runs.after.outputs())));
        Ok((Some(run), outputs))
    }

    pub(super) async fn unnamed_inputs(&self) -> Result<Vec<String>, EffectError> {
        let tests = self.new_texts().await?.iter().map(|(_, text)| String::from_utf8_lossy(text));
        let tests: Vec<_> = tests.collect();
        let statements = self.ask.examination.iter().flat_map(|examination| &examination.statements);
        let programs = statements.flat_map(|statement| &statement.programs);
        let programs = programs.flat_map(|program| [program.source.as_str(), program.stdin.as_str()]);
        let texts: Vec<&str> = tests.iter().map(|text| &**text).chain(programs).collect();
        Ok(unnamed_inputs(&self.ask.issue, &texts))
    }

    /// What programs print on a commit, run as a person would run them.
    async fn run_programs(
        &self,
        what: &str,
        commit: &CommitSha,
        batch: &ProgramBatch<'_>,
    ) -> Result<(Vec<Vec<ProgramOutput>>, Vec<CommandOutput>), EffectError> {
        if batch.is_empty() {
            return Ok(Default::default());
        }
        let mut plan = self.basis.plan.clone();
        plan.test = Some(PlannedTest::new(batch.command(), "the statements of the examiner"));
        plan.report = None;
        plan.folders = Vec::new();
        let spec = CheckoutRunSpec {
            overlays: batch.overlays(),
            at: RunPlace::Elsewhere,
            ..CheckoutRunSpec::all(what, commit, &plan)
        };
        let ran = self.testing.run_in_checkout(self.ask, self.basis, spec).await?;
        Ok((batch.outputs(ran.last_output()), ran.outputs().collect()))
    }

    /// Runs the base's tests together with the examiner's test files. `None` if it wrote none.
    async fn run_test_files(
        &self,
        statements: &[ExaminerStatement],
    ) -> Result<Option<TestFileRuns>, EffectError> {
        let files = statements.iter().flat_map(ExaminerStatement::test_files);
        let files: Vec<Overlay> = files
            .map(|file| Overlay {
                path: file.file.clone(),
                action: OverlayAction::Write(file.source.clone().into_bytes()),
            })
            .collect();
        if files.is_empty() {
            return Ok(None);
        }
        let beside = |tests: &[Overlay]| {
            let is_other = |overlay: &&Overlay| !files.iter().any(|file| file.path == overlay.path);
            tests.iter().filter(is_other).chain(&files).cloned().collect::<Vec<_>>()
        };
        // The change's tests are left out: they may use the same names, or decide which tests run.
        let old_tests = beside(&self.change.sides.old_tests);
        let (before, after) = tokio::try_join!(
            self.run_at("-statements-tests-base", &self.ask.base, beside(&[]), None, RunPlace::Here),
            self.run_at("-statements-tests", &self.ask.commit, old_tests, None, RunPlace::Elsewhere),
        )?;
        Ok(Some(TestFileRuns { before, after, files: files.len() }))
    }

    fn said_by_tests(
        &self,
        statement: &ExaminerStatement,
        file: &StatementProgram,
        runs: &TestFileRuns,
    ) -> StatementVerdict {
        let open = |because: &str| StatementVerdict::Unconfirmed { because: because.to_owned() };
        let (Some(cases), Some(known)) = (&runs.before.reading.cases, &self.baseline.reading.cases) else {
            return open("the runner does not name its tests");
        };
        let is_own = |name: &&String| match is_of(name, &file.file) {
            Some(is_of) => is_of,
            None => runs.files == 1 && !known.tests.contains_key(*name),
        };
        let own: Vec<_> = cases.tests.iter().filter(|(name, _)| is_own(name)).collect();
        let is_unloaded = || {
            let known = not_loaded(&self.baseline.cell());
            not_loaded(&runs.before.cell()).iter().any(|what| !known.contains(what))
        };
        let wanted: Vec<&String> = match statement.kind {
            StatementKind::Changes if is_unloaded() && !statement.is_new => {
                return open("its test file cannot be loaded on the base");
            }
            StatementKind::Changes => own
                .iter()
                .filter(|(_, status)| **status == TestCaseStatus::Failed)
                .map(|(name, _)| *name)
                .collect(),
            StatementKind::Stays if own.iter().any(|(_, status)| **status != TestCaseStatus::Passed) => {
                return open("its tests do not pass on the base");
            }
            StatementKind::Stays => own.iter().map(|(name, _)| *name).collect(),
        };
        if wanted.is_empty() {
            return open(if own.is_empty() {
                "its tests are not among those that run"
            } else {
                "it holds on the base already"
            });
        }
        let fails = |name: &&&String| runs.after.cell().status(name) != Some(TestCaseStatus::Passed);
        match wanted.iter().find(fails) {
            None => StatementVerdict::Holds,
            Some(name) => StatementVerdict::Fails(FailedAnswer {
                input: (**name).clone(),
                expected: "a pass".to_owned(),
                got: "a failure".to_owned(),
            }),
        }
    }
}
