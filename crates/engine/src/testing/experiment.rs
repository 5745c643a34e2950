//! The experiments around a commit's own run: tests of base and change on the code of base and change.
//! [`journeyman_verify::experiment`] says which runs are needed and what they come to.

use std::collections::BTreeSet;

use tokio::sync::OnceCell;

use super::baseline::CachedBaseline;
use super::change::{ChangeAnalysis, texts_of};
use super::checkout_run::{CheckoutRun, CheckoutRunSpec, RunPlace};
use super::examination::{batches, test_files};
use super::runner::{ExperimentRun, time_on_old_code};
use super::{CommandOutput, CommitTester, TestRunRequest, VerdictBasis};
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::comparison::RunnerName;
use journeyman_order::scrutiny::{Baseline, ChangedTest, DiedTest, LieVerdict, MutantTally, OldTests};
use journeyman_order::{CommitSha, ComparedBy, EffectError, Scrutiny};
use journeyman_verify::Overlay;
use journeyman_verify::examination::ProgramBatch;
use journeyman_verify::examples::{ExampleProgram, IssueExample, examples};
use journeyman_verify::experiment::{
    DeathOnOldCode, ExperimentMatrix, ExperimentName, ExperimentResult, KnownChange, compared, how_edited,
    matrix, verdict,
};

pub(super) struct ExperimentContext<'a> {
    pub(super) testing: &'a CommitTester,
    pub(super) ask: &'a TestRunRequest,
    pub(super) basis: &'a VerdictBasis,
    pub(super) change: ChangeAnalysis,
    pub(super) baseline: CachedBaseline,
    pub(super) took: Option<f64>,
    /// The issue's examples, and for each side a mark: what a run learns about its own is useless in the other.
    pub(super) shown: Vec<IssueExample>,
    pub(super) marks: [String; 2],
    pub(super) example_programs: OnceCell<[Option<ExampleProgram>; 2]>,
    /// The examiner's programs, for the base and for the change.
    pub(super) batches: [ProgramBatch<'a>; 2],
    pub(super) test_files: Vec<Overlay>,
    new_texts: OnceCell<Vec<(String, Vec<u8>)>>,
}

impl<'a> ExperimentContext<'a> {
    pub(super) fn new(
        testing: &'a CommitTester,
        ask: &'a TestRunRequest,
        basis: &'a VerdictBasis,
        change: ChangeAnalysis,
        baseline: CachedBaseline,
    ) -> Self {
        Self {
            testing,
            ask,
            basis,
            change,
            baseline,
            took: None,
            shown: examples(&ask.issue),
            marks: [(); 2].map(|()| uuid::Uuid::new_v4().simple().to_string()),
            example_programs: OnceCell::new(),
            batches: batches(ask.examination.as_ref()),
            test_files: test_files(ask.examination.as_ref()),
            new_texts: OnceCell::new(),
        }
    }

    pub(super) async fn new_texts(&self) -> Result<&[(String, Vec<u8>)], EffectError> {
        let read = || texts_of(self.testing, self.ask, &self.ask.commit, &[]);
        self.new_texts.get_or_try_init(read).await.map(Vec::as_slice)
    }

    pub(super) fn of_change(&self) -> KnownChange<'_> {
        let [programs, _] = &self.batches;
        KnownChange {
            sides: &self.change.sides,
            edited: &self.change.edited_tests,
            new_words: &self.change.new_words,
            unread: &self.change.unread,
            is_examined: self.ask.examination.is_some(),
            has_programs: !programs.is_empty(),
            test_files: &self.test_files,
            has_examples: !self.shown.is_empty(),
        }
    }

    pub(super) async fn experiment(
        &self,
        ran: &CheckoutRun,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<Scrutiny, EffectError> {
        let runs = Box::pin(self.run_experiments(ran)).await?;
        let of = |name: ExperimentName| runs.iter().filter(move |run| run.row.name == name);
        let last = |name: ExperimentName| of(name).next_back();
        outputs.extend(runs.iter().filter(|run| run.row.is_kept).flat_map(ExperimentRun::outputs));
        let known = self.known(ran, &runs);
        let (mut judgement, died) = (verdict(&known), &compared(&known).1);
        let mut baseline = self.baseline.shown(self.ask);
        // Tests that are not named are red on the base only as a whole.
        let is_green =
            |run: &&CheckoutRun| run.cell().is_green() && judgement.comparison.by != ComparedBy::Test;
        if let Some(green) = of(ExperimentName::FixedBase).filter_map(|run| run.ran.as_ref()).find(is_green) {
            outputs.extend(green.outputs());
            baseline = Baseline {
                counts: green.reading.counts,
                test: green.test.as_ref().map(|ended| ended.run.clone()),
                kept: false,
                ..baseline
            };
        }
        let (old_tests, old_code) = (
            last(ExperimentName::OldTests),
            last(ExperimentName::OldCodeWhole).or_else(|| last(ExperimentName::OldCode)),
        );
        let mut lies = None;
        if judgement.is_good() {
            lies = Some(self.detect(ran, (old_tests, old_code), &mut judgement, outputs).await?);
        }
        let before: BTreeSet<&String> = self.baseline.rewritten.iter().collect();
        let rewritten: Vec<String> =
            ran.rewritten.iter().filter(|path| !before.contains(path)).take(MOST_LISTED).cloned().collect();
        let is_bent = lies.as_ref().is_some_and(|lies| lies.said == LieVerdict::Unnoticed);
        let is_good = judgement.is_good() && !is_bent && rewritten.is_empty();
        let mutants = match is_good {
            true => self.mutants(&judgement, ran).await?,
            false => MutantTally::untried("the change had not passed by then"),
        };
        let (examples, unanswered) = self.answered(&known);
        Ok(Scrutiny {
            baseline,
            base_setup: None,
            changed_tests: self.changed_tests(&judgement, &matrix(&known)),
            comparison: judgement.comparison,
            judged: judgement.judged,
            reruns: of(ExperimentName::Again).filter_map(ExperimentRun::command).collect(),
            old_tests: old_tests.map(|old| OldTests {
                laid: self.change.sides.test_paths.clone(),
                unloaded: old.unloaded.clone(),
                counts: old.ran.as_ref().and_then(|ran| ran.reading.counts),
                test: old.command(),
                against: Vec::new(),
            }),
            against: judgement.against,
            proof: judgement.proof,
            old_code: old_code.and_then(ExperimentRun::command),
            died: death_of(died).into_iter().cloned().collect(),
            lies,
            examples,
            unanswered,
            examination: self.examined(&known),
            unnamed_inputs: self.unnamed_inputs().await?,
            rewritten,
            touches_code: self.change.sides.code_differs,
            dependencies: self.change.dependencies.clone(),
            mutants: Some(mutants),
            weakenings: self.change.remarks.clone(),
        })
    }

    pub(super) async fn run_at(
        &self,
        what: &str,
        commit: &CommitSha,
        overlays: Vec<Overlay>,
        only: Option<&[String]>,
        at: RunPlace,
    ) -> Result<CheckoutRun, EffectError> {
        let only = only.map(|names| (names, self.named_by()));
        // An endless run on the base's code does not get the full timeout.
        let took = self.took.filter(|_| *commit == self.ask.base);
        let time = took.map(|took| time_on_old_code(took, self.testing.settings.test_time));
        let plan = &self.basis.plan;
        let all = CheckoutRunSpec { overlays, at, time, ..CheckoutRunSpec::all(what, commit, plan) };
        self.run_selected(CheckoutRunSpec { only, ..all }).await
    }

    pub(super) fn named_by(&self) -> Option<&RunnerName> {
        self.baseline.reading.cases.as_ref().map(|cases| &cases.named_by)
    }

    /// Tests of the base that the change altered, by the runs and by their texts, with the old and the new text.
    fn changed_tests(&self, judgement: &ExperimentResult, matrix: &ExperimentMatrix<'_>) -> Vec<ChangedTest> {
        let mut changed = judgement.changed.clone();
        for edited in &self.change.edited_tests {
            match changed.iter_mut().find(|known| edited.is(&known.test)) {
                Some(known) => {
                    (known.old, known.new) = (edited.old.clone(), edited.new.clone());
                }
                None if edited.is_edited => changed.push(edited.as_changed(how_edited(edited, matrix))),
                None => {}
            }
        }
        changed.sort_by_key(|test| (!test.how.is_of_behaviour(), test.test.clone()));
        changed.truncate(MOST_LISTED);
        changed
    }
}

fn death_of(died: &DeathOnOldCode) -> Option<&DiedTest> {
    match died {
        DeathOnOldCode::Found(_, death) => death.as_ref(),
        DeathOnOldCode::OfAll(death) => Some(death),
        DeathOnOldCode::Alive
        | DeathOnOldCode::Suspected(_)
        | DeathOnOldCode::PassesAlone(_)
        | DeathOnOldCode::NotFound => None,
    }
}

pub(super) async fn wanted<T>(
    is_wanted: bool,
    run: impl Future<Output = Result<T, EffectError>>,
) -> Result<Option<T>, EffectError> {
    match is_wanted {
        true => run.await.map(Some),
        false => Ok(None),
    }
}
