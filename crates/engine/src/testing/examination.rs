//! The examiner's statements on both codes. They were written before the change, without knowledge of it.

use super::EffectError;
use super::context::ExperimentContext;
use journeyman_order::TestCaseStatus;
use journeyman_order::examination::{
    ExaminationRun, ExaminerStatement, FailedAnswer, StatementKind, StatementProgram, StatementVerdict,
};
use journeyman_verify::examination::{ProgramOutput, judge_statement, together, unnamed_inputs};
use journeyman_verify::experiment::{ExperimentCell, ExperimentName, KnownSoFar, is_of, not_loaded, passes};

impl ExperimentContext<'_> {
    /// What the examiner's statements say about the change. `None` if nobody examined the issue, or the tests do not
    /// pass.
    pub(super) fn examined(&self, known: &KnownSoFar<'_>) -> Option<ExaminationRun> {
        let examination = self.basis.ask.examination.as_ref().filter(|_| passes(known))?;
        let printed = |name| known.last(name).map_or("", |run| run.cell.output);
        let [before, after] = &self.batches;
        let before = before.outputs(printed(ExperimentName::StatementsBase));
        let mut runs = before.into_iter().zip(after.outputs(printed(ExperimentName::Statements)));
        let cell = |name| known.last(name).map(|run| run.cell);
        let by_runner = cell(ExperimentName::StatementTestsBase).zip(cell(ExperimentName::StatementTests));
        let statements = (1..).zip(&examination.statements).map(|(number, statement)| {
            let own: Vec<(Vec<ProgramOutput>, Vec<ProgramOutput>)> =
                runs.by_ref().take(statement.printing().count()).collect();
            let mut judged = judge_statement(number, statement, &own, &self.basis.ask.issue);
            let by_runner = by_runner.iter().flat_map(|runs| {
                statement.test_files().map(|file| self.said_by_tests(known, statement, file, runs))
            });
            let by_programs = (!own.is_empty()).then_some(judged.said);
            judged.said = together(by_programs.into_iter().chain(by_runner));
            judged
        });
        Some(ExaminationRun { statements: statements.collect() })
    }

    pub(super) async fn unnamed_inputs(&self) -> Result<Vec<String>, EffectError> {
        let tests = self.new_texts().await?.iter().map(|(_, text)| String::from_utf8_lossy(text));
        let tests: Vec<_> = tests.collect();
        let statements = self.basis.ask.examination.iter().flat_map(|examination| &examination.statements);
        let programs = statements.flat_map(|statement| &statement.programs);
        let programs = programs.flat_map(|program| [program.source.as_str(), program.stdin.as_str()]);
        let texts: Vec<&str> = tests.iter().map(|text| &**text).chain(programs).collect();
        Ok(unnamed_inputs(&self.basis.ask.issue, &texts))
    }

    fn said_by_tests(
        &self,
        known: &KnownSoFar<'_>,
        statement: &ExaminerStatement,
        file: &StatementProgram,
        (before, after): &(ExperimentCell<'_>, ExperimentCell<'_>),
    ) -> StatementVerdict {
        let open = |because: &str| StatementVerdict::Unconfirmed { because: because.to_owned() };
        let baseline = known.baseline();
        let (Some(cases), Some(known)) = (&before.reading.cases, &baseline.reading.cases) else {
            return open("the runner does not name its tests");
        };
        let is_own = |name: &&String| match is_of(name, &file.file) {
            Some(is_of) => is_of,
            None => self.test_files.len() == 1 && !known.tests.contains_key(*name),
        };
        let own: Vec<_> = cases.tests.iter().filter(|(name, _)| is_own(name)).collect();
        let is_unloaded = || {
            let known = not_loaded(&baseline);
            not_loaded(before).iter().any(|what| !known.contains(what))
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
        let fails = |name: &&&String| after.status(name) != Some(TestCaseStatus::Passed);
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
