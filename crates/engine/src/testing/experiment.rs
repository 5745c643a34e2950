//! The experiments around a commit's own run: tests of base and change on the code of base and change.
//! [`journeyman_verify::experiment`] says which runs are needed and what they come to.

use std::collections::BTreeSet;

use super::CommandOutput;
use super::change::texts_of;
use super::checkout_run::CheckoutRun;
use super::context::{ExperimentContext, ExperimentRun, recorded};
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::comparison::RunnerName;
use journeyman_order::scrutiny::{
    Baseline, ChangedTest, FalsifiedExpectation, LieDetector, MutantTally, OldTests, VerdictRun,
};
use journeyman_order::{ComparedBy, EffectError, Scrutiny, UserPlace};
use journeyman_verify::examples::ran_in;
use journeyman_verify::experiment::{
    DeathOnOldCode, Edit, ExperimentName, ExperimentResult, KnownChange, KnownSoFar, Lie, compared,
    find_lies, how_edited, lie_findings, verdict, without_result,
};

impl<'a> ExperimentContext<'a> {
    pub(super) fn of_change(&self, ran: &CheckoutRun) -> KnownChange<'_> {
        let [programs, _] = &self.batches;
        KnownChange {
            sides: &self.change.sides,
            edited: &self.change.edited_tests,
            new_words: &self.change.new_words,
            own_words: &self.change.own_words,
            unread: &self.change.unread,
            is_rewritten: !self.rewritten(ran).is_empty(),
            is_examined: self.basis.ask.examination.is_some(),
            has_programs: !programs.is_empty(),
            test_files: &self.test_files,
            has_examples: !self.shown.is_empty(),
            has_neighbours: !self.change.tested_calls.is_empty(),
        }
    }

    pub(super) async fn experiment(
        &self,
        ran: &CheckoutRun,
        outputs: &mut Vec<CommandOutput>,
    ) -> Result<Scrutiny, EffectError> {
        let mut runs: Vec<ExperimentRun> = Vec::new();
        Box::pin(self.run_due(ran, &mut runs, None)).await?;
        let judgement = verdict(&self.known(ran, &runs, None));
        let texts = match judgement.is_good() {
            true => Some((self.test_texts(&runs).await?, self.new_texts().await?)),
            false => None,
        };
        let lies = texts
            .as_ref()
            .map(|([old, base], new)| find_lies(&self.known(ran, &runs, None), &judgement, [old, new, base]));
        Box::pin(self.run_due(ran, &mut runs, lies.as_ref())).await?;
        let known = self.known(ran, &runs, lies.as_ref());
        let judgement = verdict(&known);
        let died = match &compared(&known).1 {
            DeathOnOldCode::Found(_, death) => death.iter().cloned().collect(),
            DeathOnOldCode::OfAll(death) => vec![death.clone()],
            DeathOnOldCode::Alive
            | DeathOnOldCode::Suspected(_)
            | DeathOnOldCode::PassesAlone(_)
            | DeathOnOldCode::NotFound => Vec::new(),
        };
        let of = |name: ExperimentName| runs.iter().filter(move |run| run.planned.row.name == name);
        let last = |name: ExperimentName| of(name).next_back();
        outputs.extend(runs.iter().filter(|run| run.planned.row.is_kept).flat_map(ExperimentRun::outputs));
        let mut baseline = Baseline {
            commit: self.basis.ask.base.clone(),
            test: self.baseline.test.clone(),
            counts: self.baseline.reading.counts,
            kept: self.baseline.kept,
        };
        // Tests that are not named are red on the base only as a whole.
        let is_green = |run: &&ExperimentRun| {
            run.finished().cell.is_green() && judgement.comparison.by != ComparedBy::Test
        };
        if let Some(green) = of(ExperimentName::FixedBase).find(is_green) {
            outputs.extend(green.outputs());
            baseline = Baseline {
                counts: green.finished().cell.reading.counts,
                test: green.command(),
                kept: false,
                ..baseline
            };
        }
        let (old_tests, old_code) = (
            last(ExperimentName::OldTests),
            last(ExperimentName::OldCodeWhole).or_else(|| last(ExperimentName::OldCode)),
        );
        let found = lie_findings(&known);
        let of_lies = || {
            let groups = found.iter().flat_map(|found| &found.runs);
            groups.flat_map(|group| runs.iter().filter(move |run| group.contains(&run.planned.row.name)))
        };
        outputs.extend(of_lies().flat_map(ExperimentRun::outputs));
        let commands = of_lies().filter_map(ExperimentRun::command).collect();
        let lies = found.as_ref().map(|found| LieDetector {
            said: found.said.clone(),
            told: found.told.iter().map(|(lie, noticed)| falsified(lie, *noticed)).collect(),
            runs: commands,
        });
        let mutants = last(ExperimentName::Mutants).and_then(|run| run.mutants.clone());
        let untried = || MutantTally::untried("the change had not passed by then");
        let (examples, unanswered) = self.answered(&known);
        Ok(Scrutiny {
            baseline,
            base_setup: None,
            changed_tests: self.changed_tests(&judgement, &known),
            comparison: judgement.comparison,
            judged: judgement.judged,
            reruns: of(ExperimentName::Again).filter_map(ExperimentRun::command).collect(),
            old_tests: old_tests.map(|old| OldTests {
                laid: self.change.sides.test_paths.clone(),
                unloaded: old.unloaded.clone(),
                counts: old.finished().cell.reading.counts,
                test: old.command(),
                against: Vec::new(),
            }),
            against: judgement.against,
            proof: judgement.proof,
            old_code: old_code.and_then(ExperimentRun::command),
            died,
            lies,
            examples,
            unanswered,
            neighbours: self.neighbours(&known),
            examination: self.examined(&known),
            user_place: self.seen_user_place(&runs, &known),
            unnamed_inputs: self.unnamed_inputs().await?,
            rewritten: self.rewritten(ran),
            touches_code: self.change.sides.code_differs,
            dependencies: self.change.dependencies.clone(),
            only_dependencies: self.change.only_dependencies,
            packages: self.change.packages.clone(),
            mutants: Some(mutants.unwrap_or_else(untried)),
            weakenings: self.change.remarks.clone(),
            runs: self.baseline_run().chain(runs.iter().flat_map(ExperimentRun::recorded)).collect(),
            without_result: without_result(&known),
        })
    }

    /// Where calls and the examiner's programs ran.
    fn seen_user_place(&self, runs: &[ExperimentRun], known: &KnownSoFar<'_>) -> Option<UserPlace> {
        let is_program = |run: &ExperimentRun| {
            matches!(run.planned.row.edit, Edit::Programs | Edit::Examples | Edit::Neighbours)
        };
        let has_run = runs.iter().any(|run| is_program(run) && run.ran.is_some());
        if !has_run || !self.basis.testing.environments.can_relocate() {
            return None;
        }
        let [_, after] = &self.batches;
        let outputs = known.last(ExperimentName::Statements).map(|run| after.outputs(run.cell.output));
        let outputs: Vec<_> = outputs.into_iter().flatten().flatten().collect();
        let [_, mark] = &self.marks;
        let of_calls = [ExperimentName::Examples, ExperimentName::Neighbours].into_iter();
        let of_calls = of_calls.filter_map(|name| Some(ran_in(known.last(name)?.cell.output, mark)));
        let all = outputs.iter().map(|ran| (ran.on_terminal, ran.is_later)).chain(of_calls);
        let (on_terminal, is_later) = all.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1));
        let packed = outputs.iter().find(|ran| ran.exit == Some(0) && !ran.packed_by.is_empty());
        let packed_by = packed.map(|ran| ran.packed_by.clone()).unwrap_or_default();
        Some(UserPlace { on_terminal, is_later, packed_by, ..self.user_place.clone() })
    }

    /// The run of the base, unless it was made before.
    fn baseline_run(&self) -> impl Iterator<Item = VerdictRun> + '_ {
        let run = self.baseline.test.iter().filter(move |_| !self.baseline.kept);
        run.map(|run| recorded(ExperimentName::Base.as_str(), run))
    }

    /// Tracked files that are written while the tests of the change run, though not while those of the base do.
    fn rewritten(&self, ran: &CheckoutRun) -> Vec<String> {
        let before: BTreeSet<&String> = self.baseline.rewritten.iter().collect();
        ran.rewritten.iter().filter(|path| !before.contains(path)).take(MOST_LISTED).cloned().collect()
    }

    /// The test files of the change with those of the base, as far as they load, and of the base.
    async fn test_texts(&self, runs: &[ExperimentRun]) -> Result<[Vec<(String, Vec<u8>)>; 2], EffectError> {
        let old_tests = runs.iter().rfind(|run| run.planned.row.name == ExperimentName::OldTests);
        let overlays = old_tests.map_or(&[][..], |run| run.planned.overlays.as_slice());
        let (old, base, _) = tokio::try_join!(
            texts_of(self.basis, &self.basis.ask.commit, overlays),
            texts_of(self.basis, &self.basis.ask.base, &[]),
            self.new_texts(),
        )?;
        Ok([old, base])
    }

    pub(super) fn named_by(&self) -> Option<&RunnerName> {
        self.baseline.reading.cases.as_ref().map(|cases| &cases.named_by)
    }

    /// Tests of the base that the change altered, by the runs and by their texts, with the old and the new text.
    fn changed_tests(&self, judgement: &ExperimentResult, known: &KnownSoFar<'_>) -> Vec<ChangedTest> {
        let mut changed = judgement.changed.clone();
        for edited in &self.change.edited_tests {
            match changed.iter_mut().find(|test| edited.is(&test.test)) {
                Some(test) => {
                    (test.old, test.new) = (edited.old.clone(), edited.new.clone());
                    test.removed = edited.is_removed() && known.change.cell.status(&test.test).is_none();
                }
                None if edited.is_edited => changed.push(edited.as_changed(how_edited(edited, known))),
                None => {}
            }
        }
        changed.sort_by_key(|test| (!test.how.is_of_behaviour(), test.test.clone()));
        changed.truncate(MOST_LISTED);
        changed
    }
}

fn falsified(lie: &Lie, noticed: bool) -> FalsifiedExpectation {
    FalsifiedExpectation {
        path: lie.path.clone(),
        line: lie.line,
        test: lie.test.clone(),
        was: lie.was.clone(),
        now: lie.now.clone(),
        noticed,
        reworded: lie.is_reworded,
    }
}
