//! One run of the tests: a commit is checked out, files are laid over it, it is set up, and its tests are run and read.

use std::collections::BTreeMap;
use std::path::Path;

use super::checkout::{CheckoutPool, TestCheckout, python_tests, read_within};
use super::command::{CommandOptions, FinishedCommand, for_setup};
use super::overlay::lay;
use super::tracked::TrackedFiles;
use super::{CommandOutput, CommitTester, TestRunRequest, blocking, is_good, remove};
use crate::effect_error::soon;
use crate::job::{make_folder, readable, writable};
use journeyman_order::comparison::TestRunnerName;
use journeyman_order::network::NetworkRecord;
use journeyman_order::{CommitSha, EffectError, TestReport};
use journeyman_verify::experiment::{self, ExperimentCell};
use journeyman_verify::{Overlay, ReportingCommand, TestPlan};

/// A JUnit report that is larger is not read.
const LARGEST_REPORT: u64 = 16 * 1024 * 1024;
/// Where a run that is asked for a report writes it; in its home, so that the checkout stays as it is.
const OWN_REPORT: &str = "journeyman-report.xml";
/// Where Python is to keep what it compiles; in its home, too.
const COMPILED_PYTHON: &str = ".cache/compiled-python";

/// One run of the tests: on which commit, and with what laid over it.
#[derive(Clone)]
pub(super) struct CheckoutRunSpec<'a> {
    /// Tells the outputs of one verdict apart, such as `-base`; the commit's own has none. Nothing in the sandbox shows it.
    pub(super) what: &'a str,
    pub(super) commit: &'a CommitSha,
    pub(super) overlays: Vec<Overlay>,
    pub(super) plan: &'a TestPlan,
    /// The tests that are asked for, and who names them; none: all.
    pub(super) only: Option<(&'a [String], Option<TestRunnerName>)>,
    /// Variables for the tests; an empty one takes away what they would have.
    pub(super) environment: BTreeMap<String, String>,
}

/// What came of one checkout: its setup, its tests, and what was read of them.
pub(super) struct CheckoutRun {
    pub(super) setup: Option<FinishedCommand>,
    /// None where the setup failed, or there is no test command.
    pub(super) test: Option<FinishedCommand>,
    pub(super) reading: TestReport,
    /// Tracked files that are others after the tests.
    pub(super) rewritten: Vec<String>,
    /// Whether only the tests that were asked for were run.
    pub(super) is_selected: bool,
    /// How all of them are run.
    reporting: Option<ReportingCommand>,
}

/// A checkout in which the tests can be run.
pub(super) struct PreparedCheckout {
    tracked: TrackedFiles,
    /// Variables that keep out what is not of the source.
    pub(super) environment: BTreeMap<String, String>,
}

impl PreparedCheckout {
    fn of(tree: &Path, in_home: String) -> std::io::Result<Self> {
        Ok(Self::with(TrackedFiles::of(tree)?, tree, in_home))
    }

    /// Compiled Python is made of the source that is there, and not taken from what was committed or put beside it. Elsewhere
    /// that would compile Python's own library for each run.
    fn with(tracked: TrackedFiles, tree: &Path, in_home: String) -> Self {
        let compiled = tracked.has_compiled_python(tree).then(|| ("PYTHONPYCACHEPREFIX".to_owned(), in_home));
        Self { tracked, environment: compiled.into_iter().collect() }
    }
}

/// What came of a test command.
pub(super) struct TestCommandResult {
    pub(super) ended: FinishedCommand,
    pub(super) reading: TestReport,
    /// Whether only the tests that were asked for were run.
    pub(super) is_selected: bool,
    reporting: ReportingCommand,
}

impl CheckoutRun {
    /// Whether a run of these tests alone can be had.
    pub(super) fn can_select(&self, named_by: Option<TestRunnerName>, names: &[String]) -> bool {
        self.reporting.as_ref().is_some_and(|asked| experiment::select(asked, named_by, names, &[]).is_some())
    }

    /// What its commands printed.
    pub(super) fn outputs(&self) -> impl Iterator<Item = CommandOutput> + '_ {
        self.setup.iter().chain(&self.test).map(|ended| ended.output.clone())
    }

    /// What its commands did with the network.
    pub(super) fn network(&self) -> BTreeMap<String, NetworkRecord> {
        let told = |what: &str, ended: &Option<FinishedCommand>| {
            let record = ended.as_ref().and_then(|ended| ended.network.clone())?;
            (record != NetworkRecord::default()).then(|| (what.to_owned(), record))
        };
        told("setup", &self.setup).into_iter().chain(told("tests", &self.test)).collect()
    }

    /// As a part of the experiment.
    pub(super) fn cell(&self) -> ExperimentCell<'_> {
        ExperimentCell {
            exit: self.test.as_ref().map(|ended| ended.run.exit),
            reading: &self.reading,
            output: self.last_output(),
        }
    }

    /// The output of the command that ran last.
    pub(super) fn last_output(&self) -> &str {
        self.test.as_ref().or(self.setup.as_ref()).map_or("", |ended| &ended.output.text)
    }
}

impl CommitTester {
    /// Checks a commit out, lays files over it, and runs setup and tests there. All runs of a verdict see the same paths,
    /// and nothing there tells which run it is.
    pub(super) async fn run_in_checkout(
        &self,
        ask: &TestRunRequest,
        places: &CheckoutPool,
        run: CheckoutRunSpec<'_>,
    ) -> Result<CheckoutRun, EffectError> {
        let place = places.acquire(ask).await?;
        let ran = self.run_in(ask, run, &place).await;
        remove(&place.folder).await?;
        ran
    }

    async fn run_in(
        &self,
        ask: &TestRunRequest,
        run: CheckoutRunSpec<'_>,
        place: &TestCheckout,
    ) -> Result<CheckoutRun, EffectError> {
        let only = run.only;
        let what = run.what;
        let plan = run.plan.clone();
        let environment = run.environment.clone();
        let (mut ran, ready) = self.prepare(ask, run, place).await?;
        let Some(PreparedCheckout { tracked, environment: mut for_tests }) = ready else { return Ok(ran) };
        for_tests.extend(environment);
        let how = CommandOptions {
            name: format!("tests{what}"),
            access: self.for_tests(ask)?,
            timeout: self.settings.test_time,
            environment: for_tests,
        };
        let Some(tests) = self.test(place, &plan, only, how).await? else { return Ok(ran) };
        let tree = place.tree.clone();
        ran.rewritten = blocking(move || tracked.differ(&tree)).await?;
        (ran.reading, ran.test) = (tests.reading, Some(tests.ended));
        (ran.is_selected, ran.reporting) = (tests.is_selected, Some(tests.reporting));
        Ok(ran)
    }

    /// A checkout with what is laid over it, after its setup; no files where that failed.
    pub(super) async fn prepare(
        &self,
        ask: &TestRunRequest,
        run: CheckoutRunSpec<'_>,
        place: &TestCheckout,
    ) -> Result<(CheckoutRun, Option<PreparedCheckout>), EffectError> {
        let CheckoutRunSpec { what, commit, overlays, plan, .. } = run;
        make_folder(&place.home)?;
        let is_the_base = *commit == ask.base && overlays.is_empty();
        let commit_of_place = commit;
        let (repository, commit, into) = (ask.repository.clone(), commit.clone(), place.tree.clone());
        self.git(move |workspaces| workspaces.checkout(&repository, &commit, &into)).await?;
        let laid: Vec<String> = journeyman_verify::overlay_paths(&overlays).collect();
        let tree = place.tree.clone();
        let in_home = place.seen(COMPILED_PYTHON);
        let ready =
            blocking(move || lay(&tree, &overlays).and_then(|()| PreparedCheckout::of(&tree, in_home)))
                .await?
                .map_err(|error| soon(format!("cannot lay files over a checkout: {error}")))?;
        self.make_repository(place).await;
        let mut ran = CheckoutRun {
            setup: None,
            test: None,
            reading: TestReport::default(),
            rewritten: Vec::new(),
            is_selected: false,
            reporting: None,
        };
        let Some(setup) = &plan.setup else { return Ok((ran, Some(ready))) };
        self.lay_downloads(ask, &place.home).await?;
        let network = self.setup_network(ask, commit_of_place, laid, setup).await?;
        let how = CommandOptions {
            name: format!("setup{what}"),
            access: for_setup(&network)?,
            timeout: self.settings.setup_time,
            environment: ready.environment.clone(),
        };
        let mut ended = self.command(place, setup, how).await?;
        let is_ready = is_good(&ended.run);
        if let Some(note) = network.note().filter(|_| !is_ready) {
            ended.output.text.push_str(&format!("\n{note}"));
        }
        ran.setup = Some(ended.shortened());
        match (is_the_base, is_ready) {
            (true, true) => self.keep_downloads(ask, &place.home).await?,
            (true, false) => self.forget_downloads(ask).await?,
            (false, _) => {}
        }
        if !is_ready {
            return Ok((ran, None));
        }
        // What is tested is the commit, whatever its setup made of it.
        let (tree, in_home) = (place.tree.clone(), place.seen(COMPILED_PYTHON));
        let ready = blocking(move || {
            ready.tracked.put_back(&tree).map(|()| PreparedCheckout::with(ready.tracked, &tree, in_home))
        })
        .await?
        .map_err(|error| soon(format!("cannot put back what the setup changed: {error}")))?;
        Ok((ran, Some(ready)))
    }

    /// The tests in a place that is prepared; none where there is no command.
    pub(super) async fn test(
        &self,
        place: &TestCheckout,
        plan: &TestPlan,
        only: Option<(&[String], Option<TestRunnerName>)>,
        mut how: CommandOptions,
    ) -> Result<Option<TestCommandResult>, EffectError> {
        let (tree, plan) = (place.tree.clone(), plan.clone());
        let own_report = place.seen(OWN_REPORT);
        let only = only.map(|(names, runner)| (names.to_vec(), runner));
        let (asked, selected) = blocking(move || {
            let asked =
                journeyman_verify::reporting_command(&plan, &|path| read_within(&tree, path), &own_report)?;
            let select = |(names, runner): (Vec<String>, Option<TestRunnerName>)| {
                let reads_all = matches!(runner, Some(TestRunnerName::Pytest | TestRunnerName::Junit));
                let files = if reads_all { python_tests(&tree) } else { Vec::new() };
                experiment::select(&asked, runner, &names, &files)
            };
            let selected = only.and_then(select);
            Some((asked, selected))
        })
        .await?
        .unzip();
        let Some(asked) = asked else { return Ok(None) };
        let selected = selected.flatten();
        let is_selected = selected.is_some();
        let whole = asked.clone();
        let asked = selected.unwrap_or(asked);
        if let Some(report) = &asked.junit {
            self.clear_report(place, report).await?;
        }
        how.environment.extend(asked.environment);
        let ended = self.command(place, &asked.command, how).await?;
        let report = match &asked.junit {
            Some(report) => self.read_report(place, report).await,
            None => None,
        };
        let (reading, ended) = blocking(move || {
            let (output, report) = (&ended.output.text, report.as_deref());
            let reading = match ended.is_cut {
                true => journeyman_verify::read_end(output, report),
                false => journeyman_verify::read(output, report),
            };
            (reading, ended.shortened())
        })
        .await?;
        Ok(Some(TestCommandResult { ended, reading, is_selected, reporting: whole }))
    }

    /// Many projects ask git for their version or their files: the checkout gets a repository of one commit, made in
    /// the sandbox. Where that fails the tests do without.
    async fn make_repository(&self, place: &TestCheckout) {
        // It lives as long as one run: nothing of it has to be small, or to outlast a crash.
        let script = "fast='-c core.fsync=none -c core.looseCompression=0 -c gc.auto=0'; \
                      git init -q && git $fast add -Af && git $fast -c user.name=Journeyman \
                      -c user.email=journeyman@invalid -c commit.gpgSign=false commit -q --no-verify \
                      -m 'The commit under test'";
        if let Err(trouble) = self.short(place, &["sh", "-c", script], writable(&place.tree)).await {
            tracing::info!("the checkout has no repository: {}", trouble.message);
        }
    }

    /// A report that was committed would be believed although no test wrote it.
    async fn clear_report(&self, place: &TestCheckout, report: &str) -> Result<(), EffectError> {
        self.short(place, &["rm", "-rf", "--", report], writable(&place.tree)).await.map(drop)
    }

    /// The report is read from inside the sandbox: the tests wrote it, and it may be a link.
    async fn read_report(&self, place: &TestCheckout, report: &str) -> Option<Vec<u8>> {
        let most = LARGEST_REPORT.to_string();
        self.short(place, &["head", "-c", &most, "--", report], readable(&place.tree)).await.ok()
    }
}
