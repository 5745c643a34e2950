//! One test run: checks out a commit, overlays files, sets it up, runs its tests and reads the results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::checkout::{CheckoutPlace, files_named};
use super::{CommandOutput, CommitTester, VerdictBasis, blocking, remove};
use crate::command::{CommandOptions, FinishedCommand, run_command, to_reach};
use crate::effect_error::disk;
use crate::environment::{
    Environment, EnvironmentOwner, EnvironmentProgress, EnvironmentRequest, Preparation, RunningServices,
    ServiceFailure, TreePurpose,
};
use crate::place::EnvironmentPlace;
use journeyman_environment::{EnvironmentPlan, SetupNetwork};
use journeyman_gateway::EgressPolicy;
use journeyman_order::bounds::MOST_ITEMS;
use journeyman_order::comparison::RunnerName;
use journeyman_order::network::NetworkRecord;
use journeyman_order::test_path::is_of_tests;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{CommitSha, EffectError, Exit, TestReport, TestVerdict, TestingSettings, UserPlace};
use journeyman_verify::experiment::ExperimentCell;
use journeyman_verify::{Overlay, OverlayAction, TestInvocation, ran_any};
use journeyman_workspace::SourceTree;

/// Where a run writes its report if asked for one. It is in the home, so the checkout stays unchanged.
const OWN_REPORT: &str = "journeyman-report.xml";
/// Where Python keeps what it compiles; also in the home.
const COMPILED_PYTHON: &str = ".cache/compiled-python";

#[derive(Clone)]
pub(super) struct CheckoutRunSpec<'a> {
    /// Tells outputs of one verdict apart, such as `-base`; empty for the commit's own. Invisible in the sandbox.
    pub(super) what: &'a str,
    /// What runs, for people who wait for it.
    pub(super) words: &'a str,
    pub(super) commit: &'a CommitSha,
    pub(super) overlays: Vec<Overlay>,
    pub(super) plan: &'a EnvironmentPlan,
    /// The selected tests and the runner that names them. `None`: all tests.
    pub(super) only: Option<(&'a [String], Option<&'a RunnerName>)>,
    /// Whether it runs without any sign of continuous integration.
    pub(super) is_elsewhere: bool,
    /// Runs as this user's program, without the repository's tests and without asking a runner. `None`: as tests run.
    pub(super) as_user: Option<&'a UserPlace>,
    /// The tests' timeout. `None`: as in the settings.
    pub(super) time: Option<Duration>,
}

#[derive(Default)]
pub(super) struct CheckoutRun {
    pub(super) setup: Option<FinishedCommand>,
    pub(super) setup_network: SetupNetwork,
    /// `None` if the setup failed or there is no test command.
    pub(super) test: Option<FinishedCommand>,
    /// Runs of the tests in whose place it was made, such as with options that the runner did not know.
    pub(super) earlier: Vec<CommandRun>,
    pub(super) reading: TestReport,
    pub(super) rewritten: Vec<String>,
    /// Folders tested separately whose command ran no test.
    pub(super) without_tests: Vec<String>,
    pub(super) is_selected: bool,
    pub(super) invocation: Option<TestInvocation>,
}

pub(super) struct PreparedCheckout {
    pub(super) place: EnvironmentPlace,
    pub(super) source: SourceTree,
    pub(super) environment: BTreeMap<String, String>,
    /// The environment and the services last as long as this.
    _environment: Arc<Environment>,
    services: Option<RunningServices>,
}

impl<'a> CheckoutRunSpec<'a> {
    pub(super) fn all(what: &'a str, commit: &'a CommitSha, plan: &'a EnvironmentPlan) -> Self {
        Self {
            what,
            words: "",
            commit,
            overlays: Vec::new(),
            plan,
            only: None,
            is_elsewhere: false,
            as_user: None,
            time: None,
        }
    }
}

impl CheckoutRun {
    /// What its commands printed. A setup that ran for an earlier order prints nothing now.
    pub(super) fn outputs(&self) -> impl Iterator<Item = CommandOutput> + '_ {
        let setup = self.setup.iter().filter(|ended| !ended.output.text.is_empty());
        setup.chain(&self.test).map(|ended| ended.output.clone())
    }

    pub(super) fn network(&self) -> BTreeMap<String, NetworkRecord> {
        let told = |what: &str, ended: &Option<FinishedCommand>| {
            let record = ended.as_ref().and_then(|ended| ended.network.clone())?;
            (record != NetworkRecord::default()).then(|| (what.to_owned(), record))
        };
        told("setup", &self.setup).into_iter().chain(told("tests", &self.test)).collect()
    }

    fn of_folder(mut self, folder: &str) -> Self {
        if self.cell().verdict() == Some(TestVerdict::NoTests) {
            self.without_tests.push(folder.to_owned());
        }
        self
    }

    fn joined(self, next: Self) -> Self {
        let mut rewritten = [self.rewritten, next.rewritten].concat();
        rewritten.sort();
        rewritten.dedup();
        rewritten.truncate(MOST_ITEMS);
        let (test, setup) = match (self.test, next.test) {
            // Later folders reuse what the first one installed.
            (Some(one), Some(other)) => (Some(one.joined(other)), self.setup.or(next.setup)),
            // The setup names a folder that could not be tested.
            _ => (None, next.setup),
        };
        let without_tests = [self.without_tests, next.without_tests].concat();
        let earlier = [self.earlier, next.earlier].concat();
        let (is_selected, invocation) = (false, None);
        Self { test, earlier, setup, rewritten, without_tests, is_selected, invocation, ..next }
    }

    /// Every run of the tests.
    pub(super) fn commands(&self) -> impl Iterator<Item = &CommandRun> + '_ {
        self.earlier.iter().chain(self.test.iter().map(|ended| &ended.run))
    }

    pub(super) fn seconds(&self) -> f64 {
        self.test.as_ref().map_or(0.0, |ended| ended.run.duration_seconds)
    }

    pub(super) fn cell(&self) -> ExperimentCell<'_> {
        ExperimentCell {
            exit: self.test.as_ref().map(|ended| ended.run.exit),
            reading: &self.reading,
            output: self.last_output(),
        }
    }

    pub(super) fn last_output(&self) -> &str {
        self.test.as_ref().or(self.setup.as_ref()).map_or("", |ended| &ended.output.text)
    }

    /// The end of the last output, for people and agents.
    pub(super) fn tail(&self) -> String {
        let fails = self.test.as_ref().is_some_and(|ended| ended.run.exit != Exit::Code(0));
        match fails {
            true => journeyman_verify::failing_tail(self.last_output()),
            false => journeyman_verify::tail(self.last_output()),
        }
    }
}

/// Users get no repository, and ours would tell where the code is.
const REPOSITORY: &str = ".git";

/// The code as users get it. Cargo refuses a crate that lacks a test which its manifest lists.
/// Returns also the folders in which only tests were.
fn without_tests(mut source: SourceTree) -> (SourceTree, Vec<PathBuf>) {
    let lists_tests = |manifest: &&Path| {
        let text = manifest.file_name().filter(|name| *name == "Cargo.toml").and(manifest.to_str());
        let text = text.and_then(|path| source.read(path));
        text.is_some_and(|text| String::from_utf8_lossy(&text).contains("[[test]]"))
    };
    let listing: Vec<PathBuf> =
        source.paths().filter(lists_tests).filter_map(Path::parent).map(Path::to_owned).collect();
    let is_left_out = |path: &Path| {
        path.to_str().is_some_and(is_of_tests) && !listing.iter().any(|folder| path.starts_with(folder))
    };
    let tests: Vec<PathBuf> = source.paths().filter(|path| is_left_out(path)).map(Path::to_owned).collect();
    source.retain(|path| !is_left_out(path));
    let mut emptied: Vec<PathBuf> = tests
        .iter()
        .filter_map(|path| path.ancestors().skip(1).filter(|folder| !source.has_folder(folder)).last())
        .map(Path::to_owned)
        .collect();
    emptied.sort();
    emptied.dedup();
    (source, emptied)
}

/// A failed service, as the command that failed.
fn service_command(failure: &ServiceFailure, what: &str) -> FinishedCommand {
    let run = CommandRun {
        command: format!("services.{}", failure.name),
        exit: failure.exit.unwrap_or(Exit::TimedOut),
        duration_seconds: 0.0,
        output_sha256: hex::encode(Sha256::digest(failure.said.as_bytes())),
    };
    let text = format!("{}\n{failure}\n", failure.said.trim_end());
    let output = CommandOutput { name: format!("services{what}"), text };
    FinishedCommand { run, output, is_cut: false, limit: None, network: None }
}

impl VerdictBasis<'_> {
    /// Runs setup and tests in a fresh checkout. All runs of a verdict see the same paths, so none knows which it is.
    pub(super) async fn run_in_checkout(&self, run: CheckoutRunSpec<'_>) -> Result<CheckoutRun, EffectError> {
        let place = self.place().await?;
        let _shown = self.testing.environments.board.show(format!("tests: {}", run.words));
        let ran = Box::pin(self.run_in_each_folder(run, &place)).await;
        remove(&place.folder).await?;
        ran
    }

    /// Folders that are tested separately get separate checkouts.
    async fn run_in_each_folder(
        &self,
        run: CheckoutRunSpec<'_>,
        place: &CheckoutPlace,
    ) -> Result<CheckoutRun, EffectError> {
        let (mut all, mut reports): (Option<CheckoutRun>, _) = (None, Vec::new());
        for (folder, plan) in run.plan.in_each_folder() {
            if let Some(untested) = all.take_if(|all| all.test.is_none()) {
                return Ok(untested);
            }
            remove(&place.folder).await?;
            let own = CheckoutRunSpec { plan: &plan, only: None, ..run.clone() };
            let mut next = Box::pin(self.run_in(own, place)).await?.of_folder(folder);
            reports.push((folder, std::mem::take(&mut next.reading)));
            all = Some(match all {
                Some(all) => all.joined(next),
                None => next,
            });
        }
        let Some(mut all) = all else { return Box::pin(self.run_in(run, place)).await };
        all.reading = journeyman_verify::reports_together(reports);
        if let (Some(test), Some(command)) = (&mut all.test, run.plan.test_command()) {
            command.clone_into(&mut test.run.command);
        }
        Ok(all)
    }

    async fn run_in(
        &self,
        run: CheckoutRunSpec<'_>,
        place: &CheckoutPlace,
    ) -> Result<CheckoutRun, EffectError> {
        let (only, what, plan, is_elsewhere) = (run.only, run.what, run.plan, run.is_elsewhere);
        let as_user = run.as_user;
        let timeout = run.time.unwrap_or(self.testing.settings.test_time);
        let (ran, ready) = Box::pin(self.prepare(run, place)).await?;
        let Some(ready) = ready else { return Ok(ran) };
        let mut how = CommandOptions {
            name: format!("tests{what}"),
            access: self.for_tests()?,
            timeout,
            environment: ready.environment.clone(),
        };
        if is_elsewhere {
            how.environment.insert("CI".to_owned(), String::new());
        }
        if let Some(command) = plan.test_command() {
            let command = command.to_owned();
            self.testing.environments.progress.tell(EnvironmentProgress::TestsBegan { command });
        }
        if let (Some(_), Some(command)) = (as_user, plan.test_command()) {
            let ended = Box::pin(run_command(&self.testing.sandbox, &ready.place, command, how)).await?;
            return Ok(CheckoutRun { test: Some(ended.shortened()), ..ran });
        }
        let (tree, source) = (ready.place.tree.clone(), ready.source.clone());
        let marks = blocking(move || tree.marks(&source)).await?;
        let Some(tests) = self.testing.test((&ready, plan), only, how).await? else { return Ok(ran) };
        // A file written while tests run may have been restored since. Then the tested content is not the commit's.
        let changed = blocking(move || ready.place.tree.touched(&ready.source, &marks)).await?;
        let changed = changed.map_err(disk("look through a checkout"))?;
        let rewritten = changed.iter().take(MOST_ITEMS).map(|path| path.display().to_string()).collect();
        Ok(CheckoutRun { setup: ran.setup, setup_network: ran.setup_network, rewritten, ..tests })
    }

    /// A checkout with its overlays in its environment. `None` if the environment's setup failed.
    pub(super) async fn prepare(
        &self,
        run: CheckoutRunSpec<'_>,
        place: &CheckoutPlace,
    ) -> Result<(CheckoutRun, Option<PreparedCheckout>), EffectError> {
        let CheckoutRunSpec { what, commit, overlays, plan, as_user, .. } = run;
        let (testing, services) = (self.testing, &plan.services);
        let overlays = self.laid_over(*commit == self.ask.base, overlays);
        let (source, laid) = self.source(commit, overlays).await?;
        let of = (self.ask.repository.clone(), commit.clone());
        let owner = EnvironmentOwner::Folder(self.ask.environments.clone());
        let (files, inside) = (source.clone(), place.inside.clone());
        let own = EnvironmentRequest::of_base(&testing.settings, of, files, plan.clone(), owner, inside);
        let network = self.setup_network(commit, plan, &source).await?;
        let own = EnvironmentRequest { network, laid: laid.clone(), ..own };
        let version = own.version_tag.clone();
        let mut ran = CheckoutRun { setup_network: own.network.clone(), ..CheckoutRun::default() };
        let environment = match self.environment(own).await? {
            Preparation::Ready(environment) => environment,
            Preparation::Failed(failed) => {
                let mut failed = *failed;
                failed.output.name = format!("setup{what}");
                ran.setup = Some(failed);
                return Ok((ran, None));
            }
        };
        ran.setup = environment.record.setup.as_ref().map(|run| FinishedCommand {
            run: run.clone(),
            output: CommandOutput { name: format!("setup{what}"), text: environment.printed().to_owned() },
            is_cut: false,
            limit: None,
            network: environment.record.network.clone(),
        });
        let (folder, inside, own_plan) = (place.folder.clone(), place.inside.clone(), plan.clone());
        let (made_of, kept) = (Arc::clone(&environment), source);
        let is_of_user = as_user.is_some();
        let made = blocking(move || {
            let (source, mut hidden) = if is_of_user { without_tests(kept) } else { (kept, Vec::new()) };
            hidden.extend(is_of_user.then(|| PathBuf::from(REPOSITORY)));
            let of = (folder.as_path(), inside.as_path());
            let (place, changed) = made_of.place(&own_plan, &source, &laid, of, TreePurpose::Tests)?;
            place.tree.hide_all(&hidden)?;
            Ok::<_, std::io::Error>((place, changed, source))
        });
        let (seen, changed, source) = made.await?.map_err(disk("lay files over a checkout"))?;
        let (version, address) = (version.as_deref(), source.public_address());
        match environment.has_repository() {
            _ if is_of_user => {}
            true if changed.is_empty() => {}
            true => testing.environments.commit_for_tests(&seen, &changed, version, address.as_deref()).await,
            false => {
                let all: Vec<PathBuf> = source.paths().map(Path::to_owned).collect();
                testing.environments.commit_for_tests(&seen, &all, version, address.as_deref()).await;
            }
        }
        let seen = match as_user {
            Some(user) => seen.seen_by(user, plan),
            None => seen,
        };
        // Python compiles the present source instead of trusting committed `.pyc` files. Without such files this would
        // only recompile Python's own library for each run.
        let is_compiled = |path: &Path| path.extension().is_some_and(|kind| kind == "pyc");
        let compiled = source
            .paths()
            .any(is_compiled)
            .then(|| ("PYTHONPYCACHEPREFIX".to_owned(), seen.seen_in_home(COMPILED_PYTHON)));
        let lifetime = testing.settings.test_time.saturating_add(testing.settings.mutant_time);
        let services = match testing.environments.start_services(services, lifetime).await? {
            Ok(services) => services,
            Err(failure) => {
                ran.setup = Some(service_command(&failure, what));
                return Ok((ran, None));
            }
        };
        let network = services.as_ref().map(|services| services.network.clone());
        let ready = PreparedCheckout {
            place: EnvironmentPlace { network, ..seen },
            source,
            environment: compiled.into_iter().collect(),
            _environment: environment,
            services,
        };
        Ok((ran, Some(ready)))
    }

    async fn source(
        &self,
        commit: &CommitSha,
        overlays: Vec<Overlay>,
    ) -> Result<(SourceTree, Vec<PathBuf>), EffectError> {
        let (repository, commit) = (self.ask.repository.clone(), commit.clone());
        let origins = [self.ask.commit.clone(), self.ask.base.clone()];
        let laid_out = self.testing.git(move |workspaces| {
            let mut source = workspaces.source_tree(&repository, &commit)?;
            let files = overlays.iter().filter_map(|overlay| {
                let bytes = match &overlay.action {
                    OverlayAction::Write(bytes) => Some(bytes.as_slice()),
                    OverlayAction::Remove => None,
                    OverlayAction::OfBase | OverlayAction::OfChange => return None,
                };
                Some((Path::new(&overlay.path), bytes))
            });
            source.lay_all(files, &origins.each_ref())?;
            for (commit, action) in origins.iter().zip([OverlayAction::OfChange, OverlayAction::OfBase]) {
                let of_it = overlays.iter().filter(|overlay| overlay.action == action);
                source
                    .lay_as_in(commit, &of_it.map(|overlay| Path::new(&overlay.path)).collect::<Vec<_>>())?;
            }
            let laid = overlays.into_iter().map(|overlay| overlay.path.into()).collect();
            Ok((source, laid))
        });
        laid_out.await
    }

    /// Returns the base's environment if the change asks for the same. Only the base's own plan makes shared ones.
    async fn environment(&self, own: EnvironmentRequest) -> Result<Preparation, EffectError> {
        let environments = &self.testing.environments;
        let of_base = EnvironmentRequest::of_base(
            &self.testing.settings,
            (self.ask.repository.clone(), self.ask.base.clone()),
            self.base.clone(),
            self.before.clone(),
            self.ask.owner(),
            own.inside.clone(),
        );
        if environments.is_same(&own, &of_base) {
            match Box::pin(environments.prepare_built(&of_base)).await? {
                Preparation::Ready(shared) if shared.is_good_for(&own.source, &own.laid) => {
                    return Ok(Preparation::Ready(shared));
                }
                Preparation::Ready(_) => {}
                failed @ Preparation::Failed(_) => return Ok(failed),
            }
        } else if of_base.owner == EnvironmentOwner::Repository {
            // Its downloads are then available for the change.
            Box::pin(environments.prepare(&of_base)).await?;
        }
        Box::pin(environments.prepare(&own)).await
    }

    /// The hosts that a commit's setup may reach.
    async fn setup_network(
        &self,
        commit: &CommitSha,
        plan: &EnvironmentPlan,
        source: &SourceTree,
    ) -> Result<SetupNetwork, EffectError> {
        let Some(command) = plan.setup_command() else { return Ok(SetupNetwork::Hosts(Vec::new())) };
        let (repository, commit) = (self.ask.repository.clone(), commit.clone());
        let root = self.testing.git(move |workspaces| workspaces.root_files(&repository, &commit)).await?;
        let TestingSettings { setup_network, setup_network_for_changes, .. } = &self.testing.settings;
        let allowed = *setup_network_for_changes && !self.ask.is_of_a_fork;
        let edited: Vec<String> =
            source.difference(&self.base).iter().map(|path| path.display().to_string()).collect();
        let run: Vec<String> =
            edited.iter().filter(|path| self.edited_setup.contains(path)).cloned().collect();
        if !allowed && !run.is_empty() {
            return Ok(SetupNetwork::Edited(run));
        }
        // Anything that its author wrote may have led to another command.
        if self.ask.is_of_a_fork && plan.setup_command() != self.before.setup_command() {
            return Ok(SetupNetwork::Edited(edited));
        }
        Ok(journeyman_environment::setup_network(setup_network, &root, &command, &edited, allowed))
    }

    /// `None` unless the repository asks for it and the server's settings allow it.
    pub(super) fn for_tests(&self) -> Result<Option<EgressPolicy>, EffectError> {
        const SETTING: &str =
            "`network` in .github/journeyman.yml and sandbox.test_network in journeyman.toml";
        let (asked, settings) = (self.ask.settings.network.iter().flatten(), &self.testing.settings);
        let is_asked = |entry: &&String| asked.clone().any(|asked| asked == *entry);
        let allowed: Vec<String> = settings.test_network.iter().filter(is_asked).cloned().collect();
        if allowed.is_empty() {
            return Ok(None);
        }
        to_reach(&allowed, SETTING, settings).map(Some)
    }
}

impl CommitTester {
    /// Runs the tests in a checkout. `None` if there is no test command.
    pub(super) async fn test(
        &self,
        (ready, plan): (&PreparedCheckout, &EnvironmentPlan),
        only: Option<(&[String], Option<&RunnerName>)>,
        how: CommandOptions,
    ) -> Result<Option<CheckoutRun>, EffectError> {
        let place = &ready.place;
        let (tree, source, plan) = (place.tree.clone(), ready.source.clone(), plan.clone());
        let own_report = place.seen_in_home(OWN_REPORT);
        let only = only.map(|(names, runner)| (names.to_vec(), runner.cloned()));
        let asked = blocking(move || {
            let (command, read) = (plan.test_command()?, |path: &str| tree.read(path));
            let asked = TestInvocation::new(command, plan.report.as_deref(), &read, &own_report);
            let select = |(names, runner): (Vec<String>, Option<RunnerName>)| {
                let loads = asked.loads(runner.as_ref());
                let files = loads.map(|loads| files_named(&source, loads)).unwrap_or_default();
                asked.select(runner.as_ref(), &names, &files)
            };
            let selected = only.and_then(select);
            Some((asked, selected, command.to_owned()))
        });
        let Some((whole, selected, planned)) = asked.await? else { return Ok(None) };
        let is_selected = selected.is_some();
        let mut asked = selected.unwrap_or_else(|| whole.clone());
        let mut earlier = Vec::new();
        let (reading, mut ended) = loop {
            let (reading, ended) = self.test_once(place, &asked, how.clone()).await?;
            // What a runner does not know, it is not asked for again in this run.
            match asked.unasked(&ended.output.text) {
                Some(plain) if !ran_any(&reading) && ended.run.exit != Exit::Code(0) => {
                    earlier.push(CommandRun { command: asked.shown(), ..ended.run });
                    asked = plain;
                }
                _ => break (reading, ended.shortened()),
            }
        };
        // The command that a person can run again.
        ended.run.command = if whole.goes_into_several() { planned } else { asked.shown() };
        for failure in ready.services.iter().flat_map(RunningServices::ended) {
            ended.output.text.push_str(&format!(
                "\n{failure} while this command ran. It said:\n{}\n",
                journeyman_verify::tail(&failure.said)
            ));
        }
        let (test, invocation) = (Some(ended), Some(whole));
        Ok(Some(CheckoutRun { test, earlier, reading, is_selected, invocation, ..CheckoutRun::default() }))
    }

    /// Runs a test command once and reads its output and reports.
    async fn test_once(
        &self,
        place: &EnvironmentPlace,
        asked: &TestInvocation,
        mut how: CommandOptions,
    ) -> Result<(TestReport, FinishedCommand), EffectError> {
        for report in asked.reports() {
            self.clear_report(place, report).await?;
        }
        self.write_helpers(place, asked.helpers()).await?;
        let of_image = place.root.as_ref().map(|root| &root.of.variables);
        for (name, ours) in asked.environment() {
            let own = place.variables.get(&name).or_else(|| of_image?.get(&name)).map_or("", String::as_str);
            how.environment.insert(name, format!("{own} {ours}").trim().to_owned());
        }
        // Unpredictable: output after the mark belongs to another command.
        let mark = uuid::Uuid::new_v4().simple().to_string();
        let command = asked.shell(&mark);
        let ended = Box::pin(run_command(&self.sandbox, place, &command, how)).await?;
        let mut reports = Vec::new();
        for report in asked.reports() {
            reports.push(self.read_report(place, report).await);
        }
        let asked = asked.clone();
        blocking(move || (asked.read(&ended.output.text, &mark, &reports, ended.is_cut), ended)).await
    }
}
