//! Makes the runs that the table of experiments asks for, side by side as far as the machine has room, until it asks
//! for no more. All of them see the same path.
//!
//! May know: how a row is laid, selected and run. Must never know: when a run is needed, what the runs come to.

use std::time::Duration;

use futures_util::future::try_join_all;

use super::EffectError;
use super::checkout_run::{CheckoutRun, CheckoutRunSpec};
use super::context::{ExperimentContext, ExperimentRun};
use journeyman_environment::PlannedTest;
use journeyman_order::{CommitSha, TestCaseStatus};
use journeyman_verify::experiment::{
    Edit, Experiment, ExperimentName, FinishedRun, KnownSoFar, PlannedRun, Side, TellableLies, WhichTests,
    died, due, left_out,
};

/// Retries without the base's test files that do not load.
const MOST_TRIES: usize = 3;
/// Timeout of the calls that decide nothing.
const NEIGHBOUR_TIME: Duration = Duration::from_secs(20);

impl ExperimentContext<'_> {
    /// Makes runs until no more are needed.
    pub(super) async fn run_due(
        &self,
        own: &CheckoutRun,
        runs: &mut Vec<ExperimentRun>,
        lies: Option<&TellableLies<'_>>,
    ) -> Result<(), EffectError> {
        loop {
            let planned = due(&self.known(own, runs.as_slice(), lies));
            if planned.is_empty() {
                return Ok(());
            }
            let made = planned.into_iter().map(|planned| Box::pin(self.make(own, planned)));
            runs.extend(try_join_all(made).await?);
        }
    }

    pub(super) fn known<'k>(
        &'k self,
        own: &'k CheckoutRun,
        runs: &'k [ExperimentRun],
        lies: Option<&'k TellableLies<'k>>,
    ) -> KnownSoFar<'k> {
        let base = FinishedRun::whole(ExperimentName::Base, self.baseline.cell(), self.baseline.seconds());
        let change = FinishedRun::whole(ExperimentName::Change, own.cell(), own.seconds());
        let runs = runs.iter().map(ExperimentRun::finished).collect();
        KnownSoFar::new(self.of_change(own), [base, change], own.invocation.as_ref(), runs, lies)
    }

    async fn make(&self, own: &CheckoutRun, planned: PlannedRun) -> Result<ExperimentRun, EffectError> {
        let row = planned.row;
        let (earlier, unloaded) = (Vec::new(), Vec::new());
        let mut run = ExperimentRun { planned, ran: None, earlier, unloaded, mutants: None };
        if run.planned.is_left_out {
            return Ok(run);
        }
        let mut time = self.basis.testing.settings.test_time;
        let program = match row.edit {
            Edit::Nothing | Edit::OldData | Edit::TestFiles | Edit::Lies(_) | Edit::Reworded(_) => {
                let configuration = &self.change.sides.configuration;
                let (baseline, is_on_old_code) = (self.baseline.cell(), row.code == Side::Base);
                let mut tries = if row.leaves_out() { MOST_TRIES } else { 0 };
                loop {
                    let ran = self.run_row(&run.planned).await?;
                    let laid = &run.planned.overlays;
                    let out = left_out(&baseline, &ran.cell(), laid, configuration, is_on_old_code);
                    run.earlier.extend(run.ran.iter().flat_map(CheckoutRun::commands).cloned());
                    run.ran = Some(ran);
                    if tries == 0 || out.is_empty() {
                        return Ok(run);
                    }
                    tries -= 1;
                    run.planned.overlays.retain(|overlay| !out.contains(&overlay.path));
                    run.unloaded.extend(out.into_iter().filter(|path| !configuration.contains(path)));
                }
            }
            Edit::Mutants => {
                run.mutants = Some(self.mutants(&run.planned.only, own, &mut run.earlier).await?);
                return Ok(run);
            }
            Edit::Examples | Edit::Neighbours => {
                if matches!(row.edit, Edit::Neighbours) {
                    time = NEIGHBOUR_TIME;
                }
                self.call_program(row)
                    .await?
                    .map(|program| (PlannedTest::new(program.command, "calls of the code"), program.overlays))
            }
            Edit::Programs => {
                let batch = row.code.of(self.batches.each_ref());
                time = time.max(batch.time());
                let test = PlannedTest::new(batch.command(), "the statements of the examiner");
                Some((test, batch.overlays()))
            }
        };
        // A program runs in place of the tests.
        if let Some((test, overlays)) = program {
            let (name, mut plan) = (run.planned.name(), self.basis.plan.clone());
            (plan.test, plan.report, plan.folders) = (Some(test), None, Vec::new());
            let all = CheckoutRunSpec::all(&name, self.commit_of(row), &plan);
            let (words, as_user) = (run.planned.words.as_str(), Some(&self.user_place));
            let (is_elsewhere, time) = (row.is_elsewhere, Some(time));
            let spec = CheckoutRunSpec { words, overlays, is_elsewhere, as_user, time, ..all };
            run.ran = Some(self.basis.run_in_checkout(spec).await?);
        }
        Ok(run)
    }

    async fn run_row(&self, planned: &PlannedRun) -> Result<CheckoutRun, EffectError> {
        let PlannedRun { row, words, only, overlays, most_seconds, .. } = planned;
        let name = planned.name();
        let plan = row.setup.of([&self.basis.before, &self.basis.plan]);
        let spec = CheckoutRunSpec {
            words,
            overlays: overlays.clone(),
            only: (!only.is_empty()).then_some((only.as_slice(), self.named_by())),
            is_elsewhere: row.is_elsewhere,
            time: most_seconds
                .map(|most| Duration::from_secs_f64(most).min(self.basis.testing.settings.test_time)),
            ..CheckoutRunSpec::all(&name, self.commit_of(row), plan)
        };
        match row.only {
            WhichTests::Alone(_) => self.basis.run_in_checkout(spec).await,
            WhichTests::All | WhichTests::Selected(_) | WhichTests::These(_) => self.run_selected(spec).await,
        }
    }

    /// Runs the selected tests, or all if a run of some does not tell them apart.
    async fn run_selected(&self, spec: CheckoutRunSpec<'_>) -> Result<CheckoutRun, EffectError> {
        let all = CheckoutRunSpec { only: None, ..spec.clone() };
        let asked = spec.only.map_or(&[][..], |(names, _)| names);
        let ran = self.basis.run_in_checkout(spec).await?;
        let cell = ran.cell();
        // A selection that runs nothing is green, and a test that is selected may skip itself.
        let is_short =
            cell.is_green() && asked.iter().any(|name| cell.status(name) != Some(TestCaseStatus::Passed));
        // Jest omits files without selected tests but counts their tests, so its exit code would cover tests that
        // cannot be told apart. Run all of them instead.
        let is_untold = ran.reading.cases.is_none() && died(&cell).is_none();
        match ran.is_selected && (is_untold || is_short) {
            true => {
                let whole = self.basis.run_in_checkout(all).await?;
                let earlier = ran.commands().cloned().chain(whole.earlier).collect();
                Ok(CheckoutRun { earlier, ..whole })
            }
            false => Ok(ran),
        }
    }

    fn commit_of(&self, row: &Experiment) -> &CommitSha {
        row.code.of([&self.basis.ask.base, &self.basis.ask.commit])
    }
}
