//! What the experiments around a commit share, and a run that was made for one of them.

use tokio::sync::OnceCell;

use super::baseline::CachedBaseline;
use super::change::{ChangeAnalysis, texts_of};
use super::checkout_run::CheckoutRun;
use super::{CommandOutput, EffectError, VerdictBasis};
use journeyman_order::UserPlace;
use journeyman_order::examination::{ExaminerStatement, IssueExamination};
use journeyman_order::scrutiny::{MutantTally, VerdictRun};
use journeyman_order::test_run::CommandRun;
use journeyman_verify::examination::ProgramBatch;
use journeyman_verify::examples::{ExampleProgram, IssueExample, examples};
use journeyman_verify::experiment::{FinishedRun, PlannedRun};
use journeyman_verify::{Overlay, OverlayAction};

pub(super) struct ExperimentContext<'a> {
    pub(super) basis: &'a VerdictBasis<'a>,
    pub(super) change: ChangeAnalysis,
    pub(super) baseline: CachedBaseline,
    /// The issue's examples, and for each side a mark: what a run learns about its own is useless in the other.
    pub(super) shown: Vec<IssueExample>,
    pub(super) marks: [String; 2],
    pub(super) example_programs: OnceCell<[Option<ExampleProgram>; 2]>,
    pub(super) neighbour_programs: OnceCell<[Option<ExampleProgram>; 2]>,
    /// The examiner's programs, for the base and for the change.
    pub(super) batches: [ProgramBatch<'a>; 2],
    /// Where they run, and the issue's examples.
    pub(super) user_place: UserPlace,
    pub(super) test_files: Vec<Overlay>,
    pub(super) new_texts: OnceCell<Vec<(String, Vec<u8>)>>,
}

impl<'a> ExperimentContext<'a> {
    pub(super) fn new(basis: &'a VerdictBasis<'a>, change: ChangeAnalysis, baseline: CachedBaseline) -> Self {
        let examination = basis.ask.examination.as_ref();
        let user_place = UserPlace::draw(random_number);
        Self {
            basis,
            change,
            baseline,
            shown: examples(&basis.ask.issue),
            marks: [(); 2].map(|()| uuid::Uuid::new_v4().simple().to_string()),
            example_programs: OnceCell::new(),
            neighbour_programs: OnceCell::new(),
            batches: batches(examination, &user_place),
            user_place,
            test_files: test_files(examination),
            new_texts: OnceCell::new(),
        }
    }

    pub(super) async fn new_texts(&self) -> Result<&[(String, Vec<u8>)], EffectError> {
        let read = || texts_of(self.basis, &self.basis.ask.commit, &[]);
        self.new_texts.get_or_try_init(read).await.map(Vec::as_slice)
    }
}

/// A run that was made for a row.
pub(super) struct ExperimentRun {
    pub(super) planned: PlannedRun,
    /// `None` if there is nothing that could run, or no time for it.
    pub(super) ran: Option<CheckoutRun>,
    /// Runs in whose place it was made, and those of mutants.
    pub(super) earlier: Vec<CommandRun>,
    pub(super) unloaded: Vec<String>,
    /// Of the row of mutants.
    pub(super) mutants: Option<MutantTally>,
}

impl ExperimentRun {
    pub(super) fn finished(&self) -> FinishedRun<'_> {
        let PlannedRun { row, only, overlays, lies, is_left_out, .. } = &self.planned;
        let made = match &self.ran {
            Some(ran) => FinishedRun {
                is_selected: ran.is_selected,
                ..FinishedRun::whole(row.name, ran.cell(), ran.seconds())
            },
            None => FinishedRun::not_made(row.name),
        };
        FinishedRun { only, overlays, unloaded: &self.unloaded, lies, is_left_out: *is_left_out, ..made }
    }

    pub(super) fn outputs(&self) -> impl Iterator<Item = CommandOutput> + '_ {
        self.ran.iter().flat_map(CheckoutRun::outputs)
    }

    pub(super) fn command(&self) -> Option<CommandRun> {
        Some(self.ran.as_ref()?.test.as_ref()?.run.clone())
    }

    /// Every run of it, as it is recorded.
    pub(super) fn recorded(&self) -> impl Iterator<Item = VerdictRun> + '_ {
        let runs = self.earlier.iter().chain(self.ran.iter().flat_map(CheckoutRun::commands));
        let name = self.planned.name();
        runs.map(move |run| recorded(&name, run))
    }
}

/// A run under the name of its output.
pub(super) fn recorded(what: &str, run: &CommandRun) -> VerdictRun {
    VerdictRun::of(&format!("tests{what}"), run)
}

/// How often each program runs on base and change: as usual, in other surroundings, from a package, and on the base as
/// usual again. What differs between two runs on the base in the same surroundings says nothing.
const TIMES: [u32; 2] = [4, 3];

/// The examiner's programs, as they run on base and change.
fn batches<'a>(examination: Option<&'a IssueExamination>, place: &UserPlace) -> [ProgramBatch<'a>; 2] {
    TIMES.map(|times| {
        let statements = examination.into_iter().flat_map(|examination| &examination.statements);
        let each = statements.flat_map(ExaminerStatement::printing).map(|program| (program, times));
        ProgramBatch::new(each.collect(), place, random_number)
    })
}

fn random_number() -> u32 {
    uuid::Uuid::new_v4().as_fields().0
}

/// The examiner's test files.
fn test_files(examination: Option<&IssueExamination>) -> Vec<Overlay> {
    let statements = examination.into_iter().flat_map(|examination| &examination.statements);
    let files = statements.flat_map(ExaminerStatement::test_files);
    let written = files.map(|file| Overlay {
        path: file.file.clone(),
        action: OverlayAction::Write(file.source.clone().into_bytes()),
    });
    written.collect()
}
