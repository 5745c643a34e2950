//! Makes the runs that the table of experiments asks for, side by side as far as the machine has room, until it asks
//! for no more. All of them see the same path.
//!
//! May know: how a row is laid, selected and run. Must never know: when a run is needed, what the runs come to.

use std::time::Duration;

use futures_util::future::try_join_all;

use super::checkout_run::{CheckoutRun, CheckoutRunSpec, RunPlace};
use super::experiment::ExperimentContext;
use super::{CommandOutput, EffectError};
use journeyman_environment::PlannedTest;
use journeyman_order::CommitSha;
use journeyman_order::test_run::CommandRun;
use journeyman_verify::Overlay;
use journeyman_verify::experiment::{
    Edit, Experiment, ExperimentName, FinishedRun, KnownSoFar, PlannedRun, Side, WhichTests, died, due,
    left_out,
};

/// Retries without the base's test files that do not load.
const MOST_TRIES: usize = 3;
/// A run on the base's code counts as endless after this multiple of the time with the change.
const TIMES_AS_LONG: f64 = 5.0;
const AT_LEAST: Duration = Duration::from_secs(20);

/// A run that was made for a row.
pub(super) struct ExperimentRun {
    pub(super) row: &'static Experiment,
    /// `None` if there is nothing that could run.
    pub(super) ran: Option<CheckoutRun>,
    only: Vec<String>,
    pub(super) overlays: Vec<Overlay>,
    pub(super) unloaded: Vec<String>,
}

/// A program that runs in place of the tests.
pub(super) struct ProgramInstead {
    pub(super) command: String,
    pub(super) overlays: Vec<Overlay>,
    /// What it is, for people.
    pub(super) source: &'static str,
}

impl ExperimentRun {
    fn finished(&self) -> FinishedRun<'_> {
        let Some(ran) = &self.ran else { return FinishedRun::not_made(self.row.name) };
        FinishedRun {
            only: &self.only,
            is_selected: ran.is_selected,
            overlays: &self.overlays,
            unloaded: &self.unloaded,
            ..FinishedRun::whole(self.row.name, ran.cell(), ran.seconds())
        }
    }

    pub(super) fn outputs(&self) -> impl Iterator<Item = CommandOutput> + '_ {
        self.ran.iter().flat_map(CheckoutRun::outputs)
    }

    pub(super) fn command(&self) -> Option<CommandRun> {
        Some(self.ran.as_ref()?.test.as_ref()?.run.clone())
    }
}

impl ExperimentContext<'_> {
    pub(super) async fn run_experiments(&self, own: &CheckoutRun) -> Result<Vec<ExperimentRun>, EffectError> {
        let mut runs: Vec<ExperimentRun> = Vec::new();
        loop {
            let planned = due(&self.known(own, &runs));
            if planned.is_empty() {
                return Ok(runs);
            }
            let made = planned.into_iter().map(|planned| Box::pin(self.make(planned)));
            runs.extend(try_join_all(made).await?);
        }
    }

    pub(super) fn known<'k>(&'k self, own: &'k CheckoutRun, runs: &'k [ExperimentRun]) -> KnownSoFar<'k> {
        let base = FinishedRun::whole(ExperimentName::Base, self.baseline.cell(), 0.0);
        let change = FinishedRun::whole(ExperimentName::Change, own.cell(), own.seconds());
        let runs = runs.iter().map(ExperimentRun::finished).collect();
        KnownSoFar::new(self.of_change(), [base, change], own.invocation.as_ref(), runs)
    }

    async fn make(&self, planned: PlannedRun) -> Result<ExperimentRun, EffectError> {
        let (what, row) = (planned.name(), planned.row);
        let PlannedRun { only, mut overlays, took, .. } = planned;
        let made = |ran, only, overlays, unloaded| ExperimentRun { row, ran, only, overlays, unloaded };
        let program = match row.edit {
            Edit::Nothing | Edit::OldData | Edit::TestFiles => {
                let mut unloaded: Vec<String> = Vec::new();
                let mut tries = if row.leaves_out { MOST_TRIES } else { 0 };
                loop {
                    let ran = self.run_row(row, &what, &only, &overlays, took).await?;
                    let configuration = &self.change.sides.configuration;
                    let is_on_old_code = row.code == Side::Base;
                    let baseline = self.baseline.cell();
                    let out = left_out(&baseline, &ran.cell(), &overlays, configuration, is_on_old_code);
                    if tries == 0 || out.is_empty() {
                        return Ok(made(Some(ran), only, overlays, unloaded));
                    }
                    tries -= 1;
                    overlays.retain(|overlay| !out.contains(&overlay.path));
                    unloaded.extend(out.into_iter().filter(|path| !configuration.contains(path)));
                }
            }
            Edit::Examples => self.example_program(row.code).await?,
            Edit::Programs => Some(self.statement_programs(row.code)),
        };
        let ran = match program {
            Some(program) => Some(self.run_program(row, &what, program).await?),
            None => None,
        };
        Ok(made(ran, only, overlays, Vec::new()))
    }

    async fn run_row(
        &self,
        row: &Experiment,
        what: &str,
        only: &[String],
        overlays: &[Overlay],
        took: Option<f64>,
    ) -> Result<CheckoutRun, EffectError> {
        let plan = match row.setup {
            Side::Base => &self.basis.before,
            Side::Change => &self.basis.plan,
        };
        let spec = CheckoutRunSpec {
            overlays: overlays.to_vec(),
            only: (!only.is_empty()).then_some((only, self.named_by())),
            at: place_of(row),
            time: took.map(|took| time_on_old_code(took, self.testing.settings.test_time)),
            ..CheckoutRunSpec::all(what, self.commit_of(row), plan)
        };
        match row.only {
            WhichTests::Alone(_) => self.testing.run_in_checkout(self.ask, self.basis, spec).await,
            WhichTests::All | WhichTests::Selected(_) => self.run_selected(spec).await,
        }
    }

    /// Runs the selected tests, or all if a run of some does not tell them apart.
    pub(super) async fn run_selected(&self, spec: CheckoutRunSpec<'_>) -> Result<CheckoutRun, EffectError> {
        let all = CheckoutRunSpec { only: None, ..spec.clone() };
        let ran = self.testing.run_in_checkout(self.ask, self.basis, spec).await?;
        // Jest omits files without selected tests but counts their tests, so its exit code would cover tests that
        // cannot be told apart. Run all of them instead.
        match ran.is_selected && ran.reading.cases.is_none() && died(&ran.cell()).is_none() {
            true => self.testing.run_in_checkout(self.ask, self.basis, all).await,
            false => Ok(ran),
        }
    }

    async fn run_program(
        &self,
        row: &Experiment,
        what: &str,
        program: ProgramInstead,
    ) -> Result<CheckoutRun, EffectError> {
        let mut plan = self.basis.plan.clone();
        plan.test = Some(PlannedTest::new(program.command, program.source));
        plan.report = None;
        plan.folders = Vec::new();
        let spec = CheckoutRunSpec {
            overlays: program.overlays,
            at: place_of(row),
            ..CheckoutRunSpec::all(what, self.commit_of(row), &plan)
        };
        self.testing.run_in_checkout(self.ask, self.basis, spec).await
    }

    fn commit_of(&self, row: &Experiment) -> &CommitSha {
        match row.code {
            Side::Base => &self.ask.base,
            Side::Change => &self.ask.commit,
        }
    }
}

/// How long a run on the base's code may take, given the time with the change.
pub(super) fn time_on_old_code(took: f64, most: Duration) -> Duration {
    AT_LEAST.max(Duration::from_secs_f64(took * TIMES_AS_LONG)).min(most)
}

fn place_of(row: &Experiment) -> RunPlace {
    if row.is_elsewhere { RunPlace::Elsewhere } else { RunPlace::Here }
}
