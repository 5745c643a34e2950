//! One checkout, what is laid over it, and the commands that run in it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::lay::lay;
use super::tracked::Tracked;
use super::{Ask, MOST_KEPT, Output, Testing, blocking, is_good, remove};
use crate::door::{self, OpenDoor};
use crate::job::{Recorded, Recorder, make_folder, readable, short_job, succeed, writable};
use crate::trouble::{never, soon};
use journeyman_gateway::Access;
use journeyman_order::comparison::Runner;
use journeyman_order::network::Record;
use journeyman_order::test_run::CommandRun;
use journeyman_order::{CommitSha, Reading, Trouble};
use journeyman_sandbox::{Job, Limits, Mode, Mount, Network, Relocation};
use journeyman_verify::experiment::{self, Cell};
use journeyman_verify::{Overlay, Reporting, TestPlan};
use journeyman_workspace::Workspaces;

/// Runs of one verdict that happen at the same time, at most: each has a checkout of its own.
const MOST_SIDE_BY_SIDE: usize = 4;
/// What of a command's output is read.
const MOST_OUTPUT: u64 = 256 * 1024 * 1024;
/// A JUnit report that is larger is not read.
const LARGEST_REPORT: u64 = 16 * 1024 * 1024;

/// Where a run that is asked for a report writes it; in its home, so that the checkout stays as it is.
const OWN_REPORT: &str = "journeyman-report.xml";
/// Where Python is to keep what it compiles; in its home, too.
const COMPILED_PYTHON: &str = ".cache/compiled-python";
/// A file of the checkout that is larger says nothing of how tests are run.
const LARGEST_MANIFEST: u64 = 1 << 20;
/// Files of a checkout that are looked at for tests.
const MOST_LOOKED_AT: usize = 50_000;

/// A fresh checkout and a home of its own. Whoever runs in it sees it at the same path as all runs of the verdict do.
pub(super) struct Place {
    folder: PathBuf,
    pub(super) tree: PathBuf,
    pub(super) home: PathBuf,
    relocation: Option<Relocation>,
    _turn: OwnedSemaphorePermit,
}

impl Place {
    fn at(folder: PathBuf, inside: PathBuf, turn: OwnedSemaphorePermit) -> Self {
        let (tree, home) = (folder.join("tree"), folder.join("home"));
        let relocation =
            (folder != inside).then(|| Relocation { host: folder.clone(), inside: inside.clone() });
        Self { folder, tree, home, relocation, _turn: turn }
    }

    /// Where a file of the home is seen.
    fn seen(&self, in_home: &str) -> String {
        let inside = self.relocation.as_ref().map_or(&self.folder, |relocation| &relocation.inside);
        inside.join("home").join(in_home).display().to_string()
    }
}

/// Where the runs of one verdict happen: as many side by side as there are processors, up to some.
#[derive(Debug)]
pub(super) struct Places {
    turns: Arc<Semaphore>,
    most: usize,
    are_told_apart: bool,
}

impl Places {
    /// Without walls all runs happen in one folder, since nobody can be shown it at another path.
    pub(super) fn for_mode(mode: Mode) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let (most, are_told_apart) = match mode {
            Mode::Bubblewrap => (processors.min(MOST_SIDE_BY_SIDE), true),
            Mode::None => (1, false),
        };
        Self { turns: Arc::new(Semaphore::new(most)), most, are_told_apart }
    }

    /// Whether two runs happen at the same time.
    pub(super) fn are_side_by_side(&self) -> bool {
        self.are_told_apart && self.most > 1
    }

    /// A place with nothing in it, once there is one.
    pub(super) async fn empty(&self, ask: &Ask) -> Result<Place, Trouble> {
        let turn = self.turns.clone().acquire_owned().await;
        let turn = turn.map_err(|_| never("nobody hands out places any more".to_owned()))?;
        let inside = ask.folder.join("run");
        let folder = match self.are_told_apart {
            // Its name can be read inside, among the mounts: it says nothing.
            true => ask.folder.join(uuid::Uuid::new_v4().simple().to_string()),
            false => inside.clone(),
        };
        remove(&folder).await?;
        Ok(Place::at(folder, inside, turn))
    }
}

/// Of one command: what its output is called, whether it has a network, how long it may take.
pub(super) struct How {
    pub(super) name: String,
    /// What it may reach; none: nothing.
    pub(super) access: Option<Access>,
    pub(super) timeout: Duration,
    pub(super) environment: BTreeMap<String, String>,
}

/// A command that was run, and the end of what it printed.
pub(super) struct Ended {
    pub(super) run: CommandRun,
    output: Output,
    /// Whether the output's start is missing.
    is_cut: bool,
    /// None where it had no network to do something with.
    network: Option<Record>,
}

impl Ended {
    /// The end of what it printed.
    pub(super) fn printed(&self) -> &str {
        &self.output.text
    }

    /// With as much of the output's end as is kept, once it was read.
    fn shortened(mut self) -> Self {
        let text = &mut self.output.text;
        let from = text.floor_char_boundary(text.len().saturating_sub(MOST_KEPT));
        *text = text.split_off(from);
        self
    }
}

/// One run of the tests: on which commit, and with what laid over it.
#[derive(Clone)]
pub(super) struct Run<'a> {
    /// Tells the outputs of one verdict apart, such as `-base`; the commit's own has none. Nothing in the sandbox shows it.
    pub(super) what: &'a str,
    pub(super) commit: &'a CommitSha,
    pub(super) overlays: Vec<Overlay>,
    pub(super) plan: &'a TestPlan,
    /// The tests that are asked for, and who names them; none: all.
    pub(super) only: Option<(&'a [String], Option<Runner>)>,
    /// Variables for the tests; an empty one takes away what they would have.
    pub(super) environment: BTreeMap<String, String>,
}

/// What came of one checkout: its setup, its tests, and what was read of them.
pub(super) struct Ran {
    pub(super) setup: Option<Ended>,
    /// None where the setup failed, or there is no test command.
    pub(super) test: Option<Ended>,
    pub(super) reading: Reading,
    /// Tracked files that are others after the tests.
    pub(super) rewritten: Vec<String>,
    /// Whether only the tests that were asked for were run.
    pub(super) is_selected: bool,
    /// How all of them are run.
    asked: Option<Reporting>,
}

/// A checkout in which the tests can be run.
pub(super) struct Ready {
    tracked: Tracked,
    /// Variables that keep out what is not of the source.
    pub(super) environment: BTreeMap<String, String>,
}

impl Ready {
    fn of(tree: &Path, in_home: String) -> std::io::Result<Self> {
        Ok(Self::with(Tracked::of(tree)?, tree, in_home))
    }

    /// Compiled Python is made of the source that is there, and not taken from what was committed or put beside it. Elsewhere
    /// that would compile Python's own library for each run.
    fn with(tracked: Tracked, tree: &Path, in_home: String) -> Self {
        let compiled = tracked.has_compiled_python(tree).then(|| ("PYTHONPYCACHEPREFIX".to_owned(), in_home));
        Self { tracked, environment: compiled.into_iter().collect() }
    }
}

/// What came of a test command.
pub(super) struct Tests {
    pub(super) ended: Ended,
    pub(super) reading: Reading,
    /// Whether only the tests that were asked for were run.
    pub(super) is_selected: bool,
    asked: Reporting,
}

impl Ran {
    /// Whether a run of these tests alone can be had.
    pub(super) fn can_select(&self, named_by: Option<Runner>, names: &[String]) -> bool {
        self.asked.as_ref().is_some_and(|asked| experiment::select(asked, named_by, names, &[]).is_some())
    }

    /// What its commands printed.
    pub(super) fn outputs(&self) -> impl Iterator<Item = Output> + '_ {
        self.setup.iter().chain(&self.test).map(|ended| ended.output.clone())
    }

    /// What its commands did with the network.
    pub(super) fn network(&self) -> BTreeMap<String, Record> {
        let told = |what: &str, ended: &Option<Ended>| {
            let record = ended.as_ref().and_then(|ended| ended.network.clone())?;
            (record != Record::default()).then(|| (what.to_owned(), record))
        };
        told("setup", &self.setup).into_iter().chain(told("tests", &self.test)).collect()
    }

    /// As a part of the experiment.
    pub(super) fn cell(&self) -> Cell<'_> {
        Cell {
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

impl Testing {
    /// Checks a commit out, lays files over it, and runs setup and tests there. All runs of a verdict see the same paths,
    /// and nothing there tells which run it is.
    pub(super) async fn on(&self, ask: &Ask, places: &Places, run: Run<'_>) -> Result<Ran, Trouble> {
        let place = places.empty(ask).await?;
        let ran = self.in_place(ask, run, &place).await;
        remove(&place.folder).await?;
        ran
    }

    async fn in_place(&self, ask: &Ask, run: Run<'_>, place: &Place) -> Result<Ran, Trouble> {
        let only = run.only;
        let what = run.what;
        let plan = run.plan.clone();
        let environment = run.environment.clone();
        let (mut ran, ready) = self.prepare(ask, run, place).await?;
        let Some(Ready { tracked, environment: mut for_tests }) = ready else { return Ok(ran) };
        for_tests.extend(environment);
        let how = How {
            name: format!("tests{what}"),
            access: self.for_tests(ask)?,
            timeout: self.test_time,
            environment: for_tests,
        };
        let Some(tests) = self.test(place, &plan, only, how).await? else { return Ok(ran) };
        let tree = place.tree.clone();
        ran.rewritten = blocking(move || tracked.differ(&tree)).await?;
        (ran.reading, ran.test) = (tests.reading, Some(tests.ended));
        (ran.is_selected, ran.asked) = (tests.is_selected, Some(tests.asked));
        Ok(ran)
    }

    /// A checkout with what is laid over it, after its setup; no files where that failed.
    pub(super) async fn prepare(
        &self,
        ask: &Ask,
        run: Run<'_>,
        place: &Place,
    ) -> Result<(Ran, Option<Ready>), Trouble> {
        let Run { what, commit, overlays, plan, .. } = run;
        make_folder(&place.home)?;
        let is_the_base = *commit == ask.base && overlays.is_empty();
        let commit_of_place = commit;
        let (repository, commit, into) = (ask.repository.clone(), commit.clone(), place.tree.clone());
        self.git(move |workspaces| workspaces.checkout(&repository, &commit, &into)).await?;
        let laid: Vec<String> = journeyman_verify::laid(&overlays).collect();
        let tree = place.tree.clone();
        let in_home = place.seen(COMPILED_PYTHON);
        let ready = blocking(move || lay(&tree, &overlays).and_then(|()| Ready::of(&tree, in_home)))
            .await?
            .map_err(|error| soon(format!("cannot lay files over a checkout: {error}")))?;
        self.make_repository(place).await;
        let mut ran = Ran {
            setup: None,
            test: None,
            reading: Reading::default(),
            rewritten: Vec::new(),
            is_selected: false,
            asked: None,
        };
        let Some(setup) = &plan.setup else { return Ok((ran, Some(ready))) };
        self.lay_downloads(ask, &place.home).await?;
        let network = self.setup_network(ask, commit_of_place, laid, setup).await?;
        let how = How {
            name: format!("setup{what}"),
            access: for_setup(&network)?,
            timeout: self.setup_time,
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
            ready.tracked.put_back(&tree).map(|()| Ready::with(ready.tracked, &tree, in_home))
        })
        .await?
        .map_err(|error| soon(format!("cannot put back what the setup changed: {error}")))?;
        Ok((ran, Some(ready)))
    }

    /// The tests in a place that is prepared; none where there is no command.
    pub(super) async fn test(
        &self,
        place: &Place,
        plan: &TestPlan,
        only: Option<(&[String], Option<Runner>)>,
        mut how: How,
    ) -> Result<Option<Tests>, Trouble> {
        let (tree, plan) = (place.tree.clone(), plan.clone());
        let own_report = place.seen(OWN_REPORT);
        let only = only.map(|(names, runner)| (names.to_vec(), runner));
        let (asked, selected) = blocking(move || {
            let asked = journeyman_verify::reporting(&plan, &|path| read_within(&tree, path), &own_report)?;
            let select = |(names, runner): (Vec<String>, Option<Runner>)| {
                let reads_all = matches!(runner, Some(Runner::Pytest | Runner::Junit));
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
        Ok(Some(Tests { ended, reading, is_selected, asked: whole }))
    }

    /// Many projects ask git for their version or their files: the checkout gets a repository of one commit, made in
    /// the sandbox. Where that fails the tests do without.
    async fn make_repository(&self, place: &Place) {
        // It lives as long as one run: nothing of it has to be small, or to outlast a crash.
        let script = "fast='-c core.fsync=none -c core.looseCompression=0 -c gc.auto=0'; \
                      git init -q && git $fast add -Af && git $fast -c user.name=Journeyman \
                      -c user.email=journeyman@invalid -c commit.gpgSign=false commit -q --no-verify \
                      -m 'The commit under test'";
        if let Err(trouble) = self.short(place, &["sh", "-c", script], writable(&place.tree)).await {
            tracing::info!("the checkout has no repository: {}", trouble.message);
        }
    }

    async fn command(&self, place: &Place, command: &str, how: How) -> Result<Ended, Trouble> {
        let mut environment = how.environment;
        environment.entry("CI".to_owned()).or_insert_with(|| "true".to_owned());
        environment.retain(|_, value| !value.is_empty());
        let (door, network) = match how.access {
            Some(access) => {
                let (door, network) = OpenDoor::open(&self.sandbox, access)?;
                environment.extend(door.environment.iter().cloned());
                (Some(door), network)
            }
            None => (None, Network::None),
        };
        let mut recorder = Recorder::default();
        let job = Job {
            // Both streams in one pipe: a line that is torn between two names no test.
            program: ["sh", "-c", &format!("exec 2>&1\n{command}")].map(Into::into).to_vec(),
            directory: place.tree.clone(),
            environment,
            stdin: Vec::new(),
            home: place.home.clone(),
            mounts: vec![writable(&place.tree)],
            relocation: place.relocation.clone(),
            network,
            limits: Limits::default(),
            timeout: how.timeout,
            most_output: MOST_OUTPUT,
        };
        let ended = self.sandbox.run(job, &mut recorder).await?;
        let network = match door {
            Some(door) => Some(door.close().await),
            None => None,
        };
        let Recorded { text, is_cut, sha256 } = recorder.finish();
        let duration_seconds = ended.duration.as_secs_f64();
        let run = CommandRun {
            command: command.to_owned(),
            exit: ended.exit,
            duration_seconds,
            output_sha256: sha256,
        };
        Ok(Ended {
            run,
            output: Output { name: how.name, text },
            is_cut: is_cut || ended.output_cut,
            network,
        })
    }

    /// Where packages come from for a commit with these paths laid over it.
    async fn setup_network(
        &self,
        ask: &Ask,
        commit: &CommitSha,
        laid: Vec<String>,
        command: &str,
    ) -> Result<journeyman_verify::SetupNetwork, Trouble> {
        let (repository, base, commit) = (ask.repository.clone(), ask.base.clone(), commit.clone());
        let read = move |workspaces: Workspaces| {
            let root = workspaces.root_files(&repository, &commit)?;
            let changes = workspaces.changes(&repository, &base, &commit)?;
            Ok((root, changes.into_iter().map(|file| file.path).chain(laid).collect::<Vec<_>>()))
        };
        let (root, edited) = self.git(read).await?;
        let allowed = self.setup_network_for_changes;
        Ok(journeyman_verify::setup_network(&self.setup_network, &root, command, &edited, allowed))
    }

    /// Nothing, unless the repository asks for it and the server's settings allow it.
    pub(super) fn for_tests(&self, ask: &Ask) -> Result<Option<Access>, Trouble> {
        const SETTING: &str =
            "`network` in .github/journeyman.yml and sandbox.test_network in journeyman.toml";
        let asked = ask.settings.network.iter().flatten();
        let allowed: Vec<String> = self
            .test_network
            .iter()
            .filter(|entry| asked.clone().any(|asked| asked == *entry))
            .cloned()
            .collect();
        if allowed.is_empty() {
            return Ok(None);
        }
        to_reach(&allowed, SETTING)
    }

    /// A report that was committed would be believed although no test wrote it.
    async fn clear_report(&self, place: &Place, report: &str) -> Result<(), Trouble> {
        self.short(place, &["rm", "-rf", "--", report], writable(&place.tree)).await.map(drop)
    }

    /// The report is read from inside the sandbox: the tests wrote it, and it may be a link.
    async fn read_report(&self, place: &Place, report: &str) -> Option<Vec<u8>> {
        let most = LARGEST_REPORT.to_string();
        self.short(place, &["head", "-c", &most, "--", report], readable(&place.tree)).await.ok()
    }

    async fn short(&self, place: &Place, program: &[&str], tree: Mount) -> Result<Vec<u8>, Trouble> {
        let program = program.iter().map(Into::into).collect();
        let mut job = short_job(program, &place.tree, &place.home, vec![tree]);
        job.relocation.clone_from(&place.relocation);
        succeed(&self.sandbox, job, "a command in a checkout").await
    }
}

fn for_setup(network: &journeyman_verify::SetupNetwork) -> Result<Option<Access>, Trouble> {
    const SETTING: &str = "sandbox.setup_network in journeyman.toml";
    match network {
        journeyman_verify::SetupNetwork::Hosts(hosts) => to_reach(hosts, SETTING),
        journeyman_verify::SetupNetwork::Edited(_) => Ok(None),
    }
}

/// These hosts, and no model.
fn to_reach(hosts: &[String], setting: &str) -> Result<Option<Access>, Trouble> {
    Ok(Some(Access { names: door::names(hosts, setting)?, model: None, setting: setting.to_owned() }))
}

/// A file of a checkout; links are not followed, since its setup may have made some.
fn read_within(tree: &Path, path: &str) -> Option<Vec<u8>> {
    let mut place = tree.to_owned();
    for part in Path::new(path).components() {
        let Component::Normal(name) = part else { return None };
        place.push(name);
        if std::fs::symlink_metadata(&place).ok()?.is_symlink() {
            return None;
        }
    }
    let found = std::fs::symlink_metadata(&place).ok()?;
    (found.is_file() && found.len() <= LARGEST_MANIFEST).then(|| std::fs::read(&place).ok())?
}

/// The files of a checkout that pytest takes for tests by their names; of large checkouts the first. No link is followed.
fn python_tests(tree: &Path) -> Vec<String> {
    let is_test = |name: &str| {
        name.strip_suffix(".py").is_some_and(|stem| stem.starts_with("test_") || stem.ends_with("_test"))
    };
    let (mut found, mut open, mut looked_at) = (Vec::new(), vec![PathBuf::new()], 0);
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(tree.join(&folder)).into_iter().flatten().flatten() {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            looked_at += 1;
            let (Some(name), true) = (name.to_str(), looked_at <= MOST_LOOKED_AT) else { continue };
            let path = folder.join(name);
            // Environments and packages are not looked into by pytest either.
            if kind.is_dir() && !name.starts_with('.') && name != "node_modules" {
                open.push(path);
            } else if kind.is_file() && is_test(name) {
                found.extend(path.to_str().map(ToOwned::to_owned));
            }
        }
    }
    found
}
