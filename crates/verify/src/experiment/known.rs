//! What is known of a change while its experiments run: what reading it says, and the finished runs.
//!
//! May know: runs and their reports. Must never know: which run is needed next, and what the runs come to.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::cell::ExperimentCell;
use super::died::DeathOnOldCode;
use super::edits::EditedTest;
use super::lie::Lie;
use super::result::ExperimentResult;
use super::sides::ChangeSplit;
use super::tellable::TellableLies;
use crate::invocation::TestInvocation;
use crate::overlay::Overlay;
use journeyman_order::{TestReport, TestVerdict};

/// What an experiment's runs are called in logs and artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExperimentName {
    Base,
    Change,
    Again,
    Examples,
    ExamplesBase,
    Statements,
    StatementsBase,
    StatementTests,
    StatementTestsBase,
    OldTests,
    OldTestsAgain,
    OldCode,
    OldConfiguration,
    BaseAgain,
    Alone,
    AloneOldCode,
    OldCodeWhole,
    OldData,
    FlakyBase,
    Flaky,
    FixedBase,
    Repeat,
    Lie,
    LieBase,
    Reworded,
    LieNew,
    RewordedNew,
    LieAny,
    LieAnyBase,
    LieSlight,
    RewordedAny,
    LieData,
    LieDataBase,
    Mutants,
    Neighbours,
    NeighboursBase,
}

impl ExperimentName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "-base",
            Self::Change => "",
            Self::Again => "-again",
            Self::Examples => "-examples",
            Self::ExamplesBase => "-examples-base",
            Self::Statements => "-statements",
            Self::StatementsBase => "-statements-base",
            Self::StatementTests => "-statements-tests",
            Self::StatementTestsBase => "-statements-tests-base",
            Self::OldTests => "-old-tests",
            Self::OldTestsAgain => "-old-tests-again",
            Self::OldCode => "-old-code",
            Self::OldConfiguration => "-old-configuration",
            Self::BaseAgain => "-base-again",
            Self::Alone => "-alone",
            Self::AloneOldCode => "-alone-old-code",
            Self::OldCodeWhole => "-old-code-whole",
            Self::OldData => "-old-data",
            Self::FlakyBase => "-flaky-base",
            Self::Flaky => "-flaky",
            Self::FixedBase => "-fixed-base",
            Self::Repeat => "-repeat",
            Self::Lie => "-lie",
            Self::LieNew => "-lie-new",
            Self::LieAny => "-lie-any",
            Self::LieSlight => "-lie-slight",
            Self::LieData => "-lie-data",
            Self::LieBase | Self::LieAnyBase | Self::LieDataBase => "-lie-base",
            Self::Reworded | Self::RewordedNew | Self::RewordedAny => "-reworded",
            Self::Mutants => "-mutants",
            Self::Neighbours => "-neighbours",
            Self::NeighboursBase => "-neighbours-base",
        }
    }

    /// The name of its run with this number, counted from 1.
    pub fn of_run(self, number: usize) -> String {
        const COUNTED: [ExperimentName; 9] = [
            ExperimentName::FlakyBase,
            ExperimentName::Flaky,
            ExperimentName::FixedBase,
            ExperimentName::Repeat,
            ExperimentName::Lie,
            ExperimentName::LieNew,
            ExperimentName::LieAny,
            ExperimentName::LieSlight,
            ExperimentName::LieData,
        ];
        match COUNTED.contains(&self) || number > 1 {
            true => format!("{}-{number}", self.as_str()),
            false => self.as_str().to_owned(),
        }
    }
}

/// What reading the change says, as far as experiments depend on it.
#[derive(Clone, Copy)]
pub struct KnownChange<'a> {
    pub sides: &'a ChangeSplit,
    /// The tests of the base whose text changed.
    pub edited: &'a [EditedTest],
    /// Words in the code of the change that occur nowhere in the base.
    pub new_words: &'a BTreeSet<String>,
    /// Words that the code of the change defines.
    pub own_words: &'a BTreeSet<String>,
    /// Files with tests of the base that cannot be put back, since they cannot be read.
    pub unread: &'a [String],
    /// Whether files of the commit are written while its tests run, though not on the base.
    pub is_rewritten: bool,
    /// Whether an examiner has read the issue.
    pub is_examined: bool,
    /// Whether the examiner wrote programs that print.
    pub has_programs: bool,
    /// The examiner's test files.
    pub test_files: &'a [Overlay],
    /// Whether the issue shows calls.
    pub has_examples: bool,
    /// Whether the change's tests call what it changes.
    pub has_neighbours: bool,
}

/// One finished run of an experiment.
#[derive(Clone, Copy)]
pub struct FinishedRun<'a> {
    pub name: ExperimentName,
    pub cell: ExperimentCell<'a>,
    pub seconds: f64,
    /// The tests that it was to run. Empty: all.
    pub only: &'a [String],
    /// Whether the runner ran only those.
    pub is_selected: bool,
    /// What was laid over the commit.
    pub overlays: &'a [Overlay],
    /// Test files that were left out, since they do not load.
    pub unloaded: &'a [String],
    /// The expectations that were made false, or spelled otherwise.
    pub lies: &'a [Lie],
    /// Whether it was not made, for lack of time.
    pub is_left_out: bool,
}

/// A run that could not be made: it shows nothing.
static NO_REPORT: TestReport =
    TestReport { counts: None, failing: Vec::new(), cases: None, programs: Vec::new(), unloaded: Vec::new() };

impl<'a> FinishedRun<'a> {
    /// A run of all tests with nothing laid over the commit.
    pub fn whole(name: ExperimentName, cell: ExperimentCell<'a>, seconds: f64) -> Self {
        Self {
            name,
            cell,
            seconds,
            only: &[],
            is_selected: false,
            overlays: &[],
            unloaded: &[],
            lies: &[],
            is_left_out: false,
        }
    }

    pub fn not_made(name: ExperimentName) -> Self {
        Self::whole(name, ExperimentCell { exit: None, reading: &NO_REPORT, output: "" }, 0.0)
    }
}

pub struct KnownSoFar<'a> {
    pub of_change: KnownChange<'a>,
    pub(super) base: FinishedRun<'a>,
    /// The change's own run.
    pub change: FinishedRun<'a>,
    /// How the change's own run was started.
    invocation: Option<&'a TestInvocation>,
    /// The finished runs but those of base and change.
    pub(super) runs: Vec<FinishedRun<'a>>,
    /// `None` until it is known what the pass rests on.
    pub(super) lies: Option<&'a TellableLies<'a>>,
    stable: Option<TestReport>,
    compared: OnceLock<(ExperimentResult, DeathOnOldCode)>,
}

impl<'a> KnownSoFar<'a> {
    pub fn new(
        of_change: KnownChange<'a>,
        [base, change]: [FinishedRun<'a>; 2],
        invocation: Option<&'a TestInvocation>,
        runs: Vec<FinishedRun<'a>>,
        lies: Option<&'a TellableLies<'a>>,
    ) -> Self {
        let again = runs.iter().find(|run| run.name == ExperimentName::BaseAgain);
        let stable = again.and_then(|again| with_stable_names(base.cell.reading, again.cell.reading));
        let compared = OnceLock::new();
        Self { of_change, base, change, invocation, runs, lies, stable, compared }
    }

    /// The tests of the base on the base, without those whose names are not the same in each run.
    pub fn baseline(&self) -> ExperimentCell<'_> {
        let reading = self.stable.as_ref().unwrap_or(self.base.cell.reading);
        ExperimentCell { reading, ..self.base.cell }
    }

    /// The verdict of the change's own run alone.
    pub(super) fn alone(&self) -> TestVerdict {
        self.change.cell.verdict().unwrap_or(TestVerdict::Failed)
    }

    pub fn all(&self, name: ExperimentName) -> impl Iterator<Item = &FinishedRun<'a>> {
        self.runs.iter().filter(move |run| run.name == name)
    }

    pub fn last(&self, name: ExperimentName) -> Option<&FinishedRun<'a>> {
        self.all(name).last()
    }

    pub fn is_made(&self, name: ExperimentName) -> bool {
        [self.base.name, self.change.name].contains(&name) || self.last(name).is_some()
    }

    /// The test command.
    pub(super) fn command(&self) -> String {
        self.invocation.map(TestInvocation::shown).unwrap_or_default()
    }

    /// Whether the runner can run these tests alone.
    pub(super) fn can_select(&self, names: &[String]) -> bool {
        let named_by = self.base.cell.reading.cases.as_ref().map(|cases| &cases.named_by);
        !self.are_of_programs(names)
            && self.invocation.is_some_and(|asked| asked.select(named_by, names, &[]).is_some())
    }

    /// Whether one of these is no test, but a program whose tests are not named: it runs only beside all others.
    pub(super) fn are_of_programs(&self, names: &[String]) -> bool {
        let of_run =
            |run: &FinishedRun<'_>| names.iter().any(|name| run.cell.reading.program(name).is_some());
        of_run(&self.base) || of_run(&self.change)
    }

    /// What the four runs come to: worked out once.
    pub(super) fn compared(
        &self,
        work_out: impl FnOnce() -> (ExperimentResult, DeathOnOldCode),
    ) -> &(ExperimentResult, DeathOnOldCode) {
        self.compared.get_or_init(work_out)
    }
}

/// The report without tests whose names change in another run of the same commit: by a time, or by a path.
fn with_stable_names(base: &TestReport, again: &TestReport) -> Option<TestReport> {
    let named = &again.cases.as_ref()?.tests;
    let mut base = base.clone();
    // Of a program that does not name its tests this time, nothing is known.
    let is_hidden = |name: &String| again.programs.iter().any(|program| program.has(name));
    base.cases.as_mut()?.tests.retain(|name, _| named.contains_key(name) || is_hidden(name));
    Some(base)
}
