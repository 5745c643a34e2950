//! The experiment: tests of base and change on the code of base and change, all at the same path, in parallel if the
//! machine has room.
//! [`journeyman_verify::experiment`] judges the runs.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::sync::OnceCell;

use super::baseline::CachedBaseline;
use super::change::{ChangeAnalysis, texts_of};
use super::checkout_run::{CheckoutRun, CheckoutRunSpec, RunPlace};
use super::{CommandOutput, CommitTester, TestRunRequest, VerdictBasis};
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::comparison::RunnerName;
use journeyman_order::scrutiny::{Baseline, ChangedTest, DiedTest, LieVerdict, MutantTally, OldTests};
use journeyman_order::{
    CommitSha, ComparisonVerdict, EffectError, Exit, Proof, Scrutiny, TestCaseStatus, TestReport,
};
use journeyman_verify as verify;
use journeyman_verify::Overlay;
use journeyman_verify::experiment::{
    ExperimentCell, ExperimentMatrix, ExperimentResult, died, evidence_of, how_edited, is_of, judge,
    lie_told, may_be_flaky_there, not_loaded,
};

/// Retries without the base's test files that do not load.
const MOST_TRIES: usize = 3;
/// How often to rerun the change's tests while different tests fail each time.
const MOST_RERUNS: usize = 3;
/// A run on the base's code counts as endless after this multiple of the time with the change.
const TIMES_AS_LONG: f64 = 5.0;
const AT_LEAST: Duration = Duration::from_secs(20);

pub(super) struct ExperimentContext<'a> {
    pub(super) testing: &'a CommitTester,
    pub(super) ask: &'a TestRunRequest,
    pub(super) basis: &'a VerdictBasis,
    pub(super) change: ChangeAnalysis,
    pub(super) baseline: CachedBaseline,
    pub(super) took: Option<f64>,
    new_texts: OnceCell<Vec<(String, Vec<u8>)>>,
}

pub(super) struct OldTestsRun {
    pub(super) ran: CheckoutRun,
    pub(super) overlays: Vec<Overlay>,
    unloaded: Vec<String>,
}

/// Why a run on the base's code died or did not end.
pub(super) enum OldCodeDeath {
    Alive,
    Found(Option<DiedTest>),
    NotFound,
    /// The runner cannot select a single test.
    OfAll(DiedTest),
}

#[derive(Clone, Copy, Default)]
struct OldRuns<'a> {
    tests: Option<&'a OldTestsRun>,
    tests_again: &'a [CheckoutRun],
    code: Option<&'a OldTestsRun>,
}

impl<'a> ExperimentContext<'a> {
    pub(super) fn new(
        testing: &'a CommitTester,
        ask: &'a TestRunRequest,
        basis: &'a VerdictBasis,
        change: ChangeAnalysis,
        baseline: CachedBaseline,
    ) -> Self {
        Self { testing, ask, basis, change, baseline, took: None, new_texts: OnceCell::new() }
    }

    pub(super) async fn new_texts(&self) -> Result<&[(String, Vec<u8>)], EffectError> {
        let read = || texts_of(self.testing, self.ask, &self.ask.commit, &[]);
        self.new_texts.get_or_try_init(read).await.map(Vec::as_slice)
    }

    /// Runs the base's tests on the change's code in parallel with the change's own run, if there is room.
    pub(super) async fn old_tests_early(&self) -> Result<Option<OldTestsRun>, EffectError> {
        let is_idle = self.baseline.kept && self.basis.checkouts.is_parallel;
        wanted(is_idle && !self.change.sides.test_paths.is_empty(), self.old_tests()).await
    }

    async fn old_tests(&self) -> Result<OldTestsRun, EffectError> {
        self.loading("-old-tests", &self.ask.commit, &self.change.sides.old_tests, None).await
    }

    pub(super) async fn experiment(
        &self,
        ran: &CheckoutRun,
        early: Option<OldTestsRun>,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<Scrutiny, EffectError> {
        let sides = &self.change.sides;
        let alone = verify::verdict(&ran.cell().exit.unwrap_or(Exit::Code(-1)), ran.reading.counts.as_ref());
        let mut again: Vec<(Exit, TestReport)> = Vec::new();
        let (mut reruns, mut is_green_at_last) = (Vec::new(), false);
        // A rerun tells flaky tests from broken ones. If different tests fail each time, it is worth another rerun.
        if verify::may_be_flaky(&self.baseline.reading, &ran.reading, alone) {
            let mut failed = ran.reading.failing.clone();
            for number in 1..=MOST_RERUNS {
                let what = if number == 1 { "-again".to_owned() } else { format!("-again-{number}") };
                let rerun = self.run(&what, &self.ask.commit, Vec::new(), None).await?;
                outputs.extend(rerun.outputs());
                let (exit, is_green) = (rerun.cell().exit, rerun.cell().is_green());
                again.extend(exit.map(|exit| (exit, rerun.reading.clone())));
                let is_other = rerun.reading.failing != failed;
                failed.clone_from(&rerun.reading.failing);
                reruns.extend(rerun.test.map(|ended| ended.run));
                is_green_at_last |= is_green;
                if is_green || !is_other {
                    break;
                }
            }
        }
        // An ordinary failure is not worth the time. If the base fails the same way, the change's effect still matters.
        let is_as_red_as_before =
            || self.judged(ran, &again, OldRuns::default()).judged == ComparisonVerdict::PassedBesideRed;
        let passes = alone.is_pass() || is_green_at_last || is_as_red_as_before();
        let tests_differ = passes && !sides.test_paths.is_empty();
        let configuration_differs =
            passes && !sides.configuration.is_empty() && sides.test_paths.len() > sides.configuration.len();
        let concerned = self.concerned(ran);
        let old_tests = async {
            match early {
                Some(early) => Ok(early),
                None => self.old_tests().await,
            }
        };
        let (examples, examined, old_tests, mut old_code, old_configuration) = tokio::try_join!(
            // An examiner has read the examples and covers more than their text.
            wanted(passes && self.ask.examination.is_none(), self.examples()),
            wanted(passes, self.examine()),
            wanted(tests_differ, old_tests),
            wanted(
                tests_differ,
                self.loading("-old-code", &self.ask.base, &sides.new_tests, concerned.as_deref())
            ),
            wanted(configuration_differs, self.with_old_configuration()),
        )?;
        let (examination, printed) = examined.unwrap_or_default();
        let (examples, unanswered) = examples.unwrap_or_default();
        outputs.extend(printed);
        for loaded in [&old_tests, &old_code].into_iter().flatten() {
            outputs.extend(loaded.ran.outputs());
        }
        let mut old_again: Vec<CheckoutRun> = Vec::new();
        while let Some(old) = old_tests.as_ref().filter(|_| old_again.len() < MOST_RERUNS) {
            let known = OldRuns { tests: Some(old), tests_again: &old_again, code: None };
            if !may_be_flaky_there(&self.matrix(ran, &again, known)) {
                break;
            }
            let rerun = self.run("-old-tests-again", &self.ask.commit, old.overlays.clone(), None).await?;
            outputs.extend(rerun.outputs());
            old_again.push(rerun);
        }
        let tests = OldRuns { tests: old_tests.as_ref(), tests_again: &old_again, code: None };
        let mut judgement = self.judged(ran, &again, OldRuns { code: old_code.as_ref(), ..tests });
        let mut died_on_old_code = Vec::new();
        let (fixed, red) = evidence_of(&judgement);
        if judgement.judged.is_pass()
            && fixed.is_empty()
            && red.is_empty()
            && let Some(code) = &mut old_code
        {
            match self.look_for_death(ran, code, outputs).await? {
                OldCodeDeath::Alive => {}
                OldCodeDeath::Found(death) => {
                    died_on_old_code.extend(death);
                    judgement = self.judged(ran, &again, OldRuns { code: old_code.as_ref(), ..tests });
                }
                OldCodeDeath::OfAll(death) => died_on_old_code.push(death),
                OldCodeDeath::NotFound => {
                    let because = "the run of the change's tests on the old code died, and none of them does so by itself";
                    judgement.proof = Some(Proof::CannotTell { because: because.to_owned() });
                }
            }
        }
        let is_proven =
            matches!(&judgement.proof, Some(Proof::Proven { .. })) && judgement.against.is_empty();
        let is_selected = old_code.as_ref().is_some_and(|code| code.ran.is_selected);
        let is_open = judgement.comparison.fixed.is_empty() || !judgement.against.is_empty();
        if is_selected && !is_proven && is_open {
            // Any other test may fail there. A test that was red on the base and is green now needs no other proof,
            // unless something speaks against it.
            let whole = self.loading("-old-code-whole", &self.ask.base, &sides.new_tests, None).await?;
            outputs.extend(whole.ran.outputs());
            old_code = Some(whole);
            judgement = self.judged(ran, &again, OldRuns { code: old_code.as_ref(), ..tests });
        }
        if judgement.judged.is_pass() && !judgement.comparison.fixed.is_empty()
            // If no program differs, the data is the fix.
            && sides.source_differs
            && !sides.old_data.is_empty()
        {
            self.without_new_data(old_tests.as_ref(), &mut judgement, outputs).await?;
        }
        if let Some((said, told)) = old_configuration {
            judgement.against.extend(said);
            outputs.extend(told);
        }
        judgement.against.extend(self.change.unread.iter().map(|path| {
            format!("{path} holds tests of the base that cannot be put back, since the file cannot be read")
        }));
        let mut baseline = self.baseline.shown(self.ask);
        if judgement.is_good() {
            self.hold_flaky_against_base(ran, &mut judgement).await?;
            if let Some(green) = self.hold_fixed_against_base(ran, &mut judgement).await? {
                outputs.extend(green.outputs());
                baseline = Baseline {
                    counts: green.reading.counts,
                    test: green.test.map(|ended| ended.run),
                    kept: false,
                    ..baseline
                };
            }
        }
        if judgement.is_good() {
            self.repeat_evidence(ran, &mut judgement).await?;
        }
        let mut lies = None;
        if judgement.is_good() {
            let old = (old_tests.as_ref(), old_code.as_ref());
            lies = Some(self.detect(ran, old, &mut judgement, outputs).await?);
        }
        let known: BTreeSet<&String> = self.baseline.rewritten.iter().collect();
        let rewritten: Vec<String> =
            ran.rewritten.iter().filter(|path| !known.contains(path)).take(MOST_LISTED).cloned().collect();
        let matrix = self.matrix(ran, &again, OldRuns { tests_again: &old_again, ..tests });
        let changed_tests = self.changed_tests(&judgement, &matrix);
        let is_bent = lies.as_ref().is_some_and(|lies| lies.said == LieVerdict::Unnoticed);
        let is_good = judgement.is_good() && !is_bent && rewritten.is_empty();
        let mutants = match is_good {
            true => self.mutants(&judgement, ran).await?,
            false => MutantTally::untried("the change had not passed by then"),
        };
        Ok(Scrutiny {
            baseline,
            base_setup: None,
            comparison: judgement.comparison,
            judged: judgement.judged,
            reruns,
            old_tests: old_tests.map(|old| OldTests {
                laid: sides.test_paths.clone(),
                unloaded: old.unloaded,
                counts: old.ran.reading.counts,
                test: old.ran.test.map(|ended| ended.run),
                against: Vec::new(),
            }),
            against: judgement.against,
            proof: judgement.proof,
            old_code: old_code.and_then(|code| code.ran.test).map(|ended| ended.run),
            died: died_on_old_code,
            lies,
            examples,
            unanswered,
            examination,
            unnamed_inputs: self.unnamed_inputs().await?,
            changed_tests,
            rewritten,
            touches_code: sides.code_differs,
            dependencies: self.change.dependencies.clone(),
            mutants: Some(mutants),
            weakenings: self.change.remarks.clone(),
        })
    }

    /// Forgets tests whose names change in a second run of the base (a time, a path). Returns whether any did.
    pub(super) async fn forget_unstable_names(&mut self) -> Result<bool, EffectError> {
        let run = CheckoutRunSpec::all("-base-again", &self.ask.base, &self.basis.before);
        let again = self.testing.run_in_checkout(self.ask, self.basis, run).await?;
        let (Some(known), Some(again)) = (&mut self.baseline.reading.cases, again.reading.cases) else {
            return Ok(false);
        };
        let before = known.tests.len();
        known.tests.retain(|name, _| again.tests.contains_key(name));
        Ok(known.tests.len() < before)
    }

    pub(super) async fn run(
        &self,
        what: &str,
        commit: &CommitSha,
        overlays: Vec<Overlay>,
        only: Option<&[String]>,
    ) -> Result<CheckoutRun, EffectError> {
        self.run_at(what, commit, overlays, only, RunPlace::Here).await
    }

    pub(super) async fn run_at(
        &self,
        what: &str,
        commit: &CommitSha,
        overlays: Vec<Overlay>,
        only: Option<&[String]>,
        at: RunPlace,
    ) -> Result<CheckoutRun, EffectError> {
        let plan = &self.basis.plan;
        let only = only.map(|names| (names, self.named_by()));
        // An endless run on the base's code does not get the full timeout.
        let took = self.took.filter(|_| *commit == self.ask.base);
        let time = took.map(|took| time_on_old_code(took, self.testing.settings.test_time));
        let all = CheckoutRunSpec { overlays, at, time, ..CheckoutRunSpec::all(what, commit, plan) };
        let some = CheckoutRunSpec { only, ..all.clone() };
        let ran = self.testing.run_in_checkout(self.ask, self.basis, some).await?;
        // Jest omits files without selected tests but counts their tests, so its exit code would cover tests that
        // cannot be told apart. Run all of them instead.
        match ran.is_selected && ran.reading.cases.is_none() && died(&ran.cell()).is_none() {
            true => self.testing.run_in_checkout(self.ask, self.basis, all).await,
            false => Ok(ran),
        }
    }

    pub(super) fn named_by(&self) -> Option<&RunnerName> {
        self.baseline.reading.cases.as_ref().map(|cases| &cases.named_by)
    }

    /// Checks that the change's tests also pass with the base's test configuration, if they build with it.
    async fn with_old_configuration(&self) -> Result<(Option<String>, Vec<CommandOutput>), EffectError> {
        let sides = &self.change.sides;
        let is_configuration = |overlay: &&Overlay| sides.configuration.contains(&overlay.path);
        let overlays = sides.old_tests.iter().filter(is_configuration).cloned().collect();
        let ran = self.run("-old-configuration", &self.ask.commit, overlays, None).await?;
        let cell = ran.cell();
        let failing = ran.reading.cases.as_ref().map(|cases| {
            // New tests may need the new configuration. Tests that the base has may not.
            let known = |name: &String| {
                self.baseline.reading.cases.as_ref().is_some_and(|base| base.tests.contains_key(name))
            };
            cases.tests.iter().any(|(name, status)| *status == TestCaseStatus::Failed && known(name))
        });
        let is_red = failing.unwrap_or(matches!(cell.exit, Some(Exit::Code(code)) if code != 0));
        let against = (is_red && not_loaded(&cell).is_empty()).then(|| {
            format!(
                "with the configuration of the base commit the tests of the change do not pass; the change touches {}",
                sides.configuration.join(", ")
            )
        });
        Ok((against, ran.outputs().collect()))
    }

    /// The tests that the change adds or edits. `None` if other tests differ too or the runner cannot select them.
    fn concerned(&self, ran: &CheckoutRun) -> Option<Vec<String>> {
        let cases = ran.reading.cases.as_ref()?;
        let known = &self.baseline.reading.cases.as_ref()?.tests;
        let paths = &self.change.sides.test_paths;
        let has_own = |path: &String| cases.tests.keys().any(|name| is_of(name, path) == Some(true));
        let is_own = |name: &&String| {
            let is_new = !known.contains_key(*name);
            (is_new && paths.iter().any(|path| is_of(name, path) != Some(false)))
                || self.change.edited_tests.iter().any(|edited| edited.is(name))
        };
        let own: Vec<String> = cases.tests.keys().filter(is_own).cloned().collect();
        let is_all = paths.iter().all(has_own)
            && cases.tests.keys().all(|name| known.contains_key(name) || is_own(&name));
        (is_all && ran.can_select(self.named_by(), &own)).then_some(own)
    }

    /// Code has to fix a test: one that fails again with the base's data is not fixed.
    async fn without_new_data(
        &self,
        old_tests: Option<&OldTestsRun>,
        judgement: &mut ExperimentResult,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<(), EffectError> {
        let mut overlays = old_tests.map(|old| old.overlays.clone()).unwrap_or_default();
        overlays.extend(self.change.sides.old_data.iter().cloned());
        let ran = self.run("-old-data", &self.ask.commit, overlays, None).await?;
        outputs.extend(ran.outputs());
        let cell = ran.cell();
        let fixed = std::mem::take(&mut judgement.comparison.fixed);
        for name in &fixed.names {
            match lie_told(&cell, Some(name)) {
                Some(true) => judgement.comparison.by_data.add(name),
                Some(false) | None => judgement.comparison.fixed.add(name),
            }
        }
        Ok(())
    }

    /// Runs some tests on some code. If some do not load, runs those that do.
    async fn loading(
        &self,
        what: &str,
        commit: &CommitSha,
        overlays: &[Overlay],
        only: Option<&[String]>,
    ) -> Result<OldTestsRun, EffectError> {
        let mut overlays = overlays.to_vec();
        let mut unloaded: Vec<String> = Vec::new();
        for attempt in 1.. {
            let ran = self.run(what, commit, overlays.clone(), only).await?;
            let silent = not_loaded(&ran.cell());
            let loaded_before = not_loaded(&self.baseline.cell()).is_empty();
            // A run that names tests has loaded the others.
            let named_some = ran.reading.cases.is_some() && what.starts_with("-old-code");
            if silent.is_empty()
                || overlays.is_empty()
                || !loaded_before
                || attempt > MOST_TRIES
                || named_some
            {
                return Ok(OldTestsRun { ran, overlays, unloaded });
            }
            // Leave out the files that the output names, else the test configuration, else everything.
            let output = ran.last_output();
            let speaks_of =
                |path: &str| mentions(output, path) || silent.iter().any(|name| mentions(name, path));
            let is_configuration =
                |path: &str| self.change.sides.configuration.iter().any(|known| known == path);
            let those = |is_one: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
                let paths = overlays.iter().map(|overlay| overlay.path.clone());
                paths.filter(|path| is_one(path)).collect()
            };
            let mut left_out = those(&|path| speaks_of(path) && !is_configuration(path));
            if left_out.is_empty() {
                left_out = those(&is_configuration);
            }
            if left_out.is_empty() && what.starts_with("-old-code") {
                return Ok(OldTestsRun { ran, overlays, unloaded });
            }
            if left_out.is_empty() {
                left_out = those(&|_| true);
            }
            overlays.retain(|overlay| !left_out.contains(&overlay.path));
            unloaded.extend(left_out.into_iter().filter(|path| !is_configuration(path)));
        }
        Err(super::never("the tests of the base were tried too often".to_owned()))
    }

    fn judged(&self, ran: &CheckoutRun, again: &[(Exit, TestReport)], old: OldRuns<'_>) -> ExperimentResult {
        judge(&self.matrix(ran, again, old))
    }

    fn matrix<'m>(
        &'m self,
        ran: &'m CheckoutRun,
        again: &'m [(Exit, TestReport)],
        old: OldRuns<'m>,
    ) -> ExperimentMatrix<'m> {
        let sides = &self.change.sides;
        ExperimentMatrix {
            baseline: self.baseline.cell(),
            change: ran.cell(),
            again: again.iter().map(|(exit, reading)| of_rerun(*exit, reading)).collect(),
            old_tests: old.tests.map(|old| old.ran.cell()),
            old_tests_again: old.tests_again.iter().map(CheckoutRun::cell).collect(),
            old_code: old.code.map(|code| code.ran.cell()),
            old_code_unloaded: old.code.map_or(&[], |code| &code.unloaded),
            laid: &sides.test_paths,
            added: &sides.added,
            configuration: &sides.configuration,
            unloaded: old.tests.map_or(&[], |old| &old.unloaded),
            code_differs: sides.code_differs,
            edited: &self.change.edited_tests,
            new_words: &self.change.new_words,
        }
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

/// How long a run on the base's code may take, given the time with the change.
pub(super) fn time_on_old_code(took: f64, most: Duration) -> Duration {
    AT_LEAST.max(Duration::from_secs_f64(took * TIMES_AS_LONG)).min(most)
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

fn of_rerun(exit: Exit, reading: &TestReport) -> ExperimentCell<'_> {
    ExperimentCell { exit: Some(exit), reading, output: "" }
}

fn mentions(text: &str, path: &str) -> bool {
    let stem = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    text.contains(path) || (path.ends_with(".py") && text.contains(&stem.replace('/', ".")))
}
