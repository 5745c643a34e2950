//! A complete verdict, compared with its plain test runs, started by hand in a work tree. Also the separate costs of
//! the base commit, the new tests on the old code, and all other experiments.

#[path = "../../tests/cheats/commits.rs"]
mod commits;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use journeyman::engine::testing::{CommitTester, TestRunRequest};
use journeyman::order::scrutiny::ProofTarget;
use journeyman::order::{PinnedImages, RepositoryName, RepositorySettings, TestVerdict, TestingSettings};
use journeyman::sandbox::{IsolationMode, Sandbox};
use journeyman::workspace::Workspaces;
use journeyman_test_support::change::laid_out;

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use commits::Commits;

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 5;
/// The runs of the comparison with the base commit: baseline, the change's own, red then green, and the base's tests on
/// the change's code.
const COMPARISON: [&str; 4] = ["tests-base", "tests", "tests-old-code", "tests-old-tests"];
/// A slow test, so that the suite takes measurable time.
const LONG_TEST: &str = "import unittest\n\n\nclass Long(unittest.TestCase):\n    def test_long(self):\n        \
    self.assertGreater(sum(number % 7 for number in range(30_000_000)), 0)\n";

/// A change on which a verdict is measured.
struct Sample {
    name: String,
    repository: PathBuf,
    commits: Commits,
    command: String,
}

/// Measures this repository's samples, or yours: `JOURNEYMAN_BENCH_CHANGE="FOLDER BASE COMMIT COMMAND…"`.
pub async fn measure() {
    if let Ok(own) = std::env::var("JOURNEYMAN_BENCH_CHANGE") {
        return verdict_of(&Sample::of(&own).expect("FOLDER BASE COMMIT COMMAND…")).await;
    }
    for (sample, name, command, long_test) in [
        ("python-fixes-with-test", "a fix with its test", "python3 -m unittest", None),
        (
            "python-fixes-with-test",
            "the same beside a long test",
            "python3 -m unittest",
            Some("tests/test_long.py"),
        ),
        ("rust-fixes-with-test", "a fix with its test", "cargo test", None),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let git = git2::Repository::init(folder.path().join("git")).expect("a repository");
        let honest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes/honest").join(sample);
        let change = laid_out(&honest);
        let change = change.path();
        for (side, test) in ["before", "after"].iter().flat_map(|side| long_test.map(|test| (side, test))) {
            std::fs::write(change.join(side).join(test), LONG_TEST).expect("a test");
        }
        let commits = commits::commits(&git, change);
        let (name, repository) = (name.to_owned(), folder.path().join("git"));
        verdict_of(&Sample { name, repository, commits, command: command.to_owned() }).await;
    }
}

impl Sample {
    fn of(words: &str) -> Option<Self> {
        let mut words = words.splitn(4, ' ');
        let repository = PathBuf::from(words.next()?);
        let git = git2::Repository::open(&repository).ok()?;
        let mut commit = || git.revparse_single(words.next()?).ok()?.peel_to_commit().ok();
        let (base, commit) = (commit()?, commit()?);
        let commits = Commits { before: base.id(), after: commit.id(), tree: commit.tree_id() };
        let name = format!("{} {:.10}", repository.file_name()?.display(), commits.after.to_string());
        Some(Self { name, repository: repository.clone(), commits, command: words.next()?.to_owned() })
    }
}

async fn verdict_of(sample: &Sample) {
    let Sample { name, repository: place, commits: Commits { before, after, tree }, command } = sample;
    heading(&format!("verdict: {name}, `{command}`"));
    let folder = tempfile::tempdir().expect("a folder");
    let repository: RepositoryName = "ada/sample".parse().expect("a name");
    let runs = Runs::default();
    let _told = tracing::subscriber::set_default(tracing_subscriber::registry().with(runs.clone()));
    let (mut plain, mut alone) = (Vec::new(), Vec::new());
    let (mut first, mut again) = (VerdictTimes::default(), VerdictTimes::default());
    for turn in 0..TIMES {
        let walls = Sandbox::new(IsolationMode::Bubblewrap, vec![]).await.expect("bubblewrap");
        plain.push(by_hand(sample, &walls, &folder.path().join(format!("tree-{turn}"))));
        let workspaces = Workspaces::new(&folder.path().join(format!("data-{turn}"))).expect("a folder");
        workspaces.import_local(&repository, place).expect("the commits");
        let testing = CommitTester::new(
            walls,
            workspaces,
            TestingSettings {
                setup_time: Duration::from_secs(120),
                test_time: Duration::from_secs(600),
                ..TestingSettings::default()
            },
        )
        .await
        .expect("a tester");
        let ask = |base: git2::Oid| TestRunRequest {
            repository: repository.clone(),
            base: base.to_string().parse().expect("a commit"),
            base_is_of_the_default_branch: true,
            commit: after.to_string().parse().expect("a commit"),
            tree: tree.to_string().parse().expect("a tree"),
            settings: RepositorySettings { test: Some(command.clone()), ..RepositorySettings::default() },
            issue: String::new(),
            examination: None,
            images: PinnedImages::default(),
            folder: folder.path().join("tests"),
            environments: folder.path().join("environments"),
        };
        let timed = async |base| {
            runs.forget();
            let begun = Instant::now();
            let run = testing.run(&ask(base)).await.expect("a verdict").run;
            assert_eq!(run.verdict, TestVerdict::Passed, "{}", run.tail);
            if let Some(scrutiny) = run.scrutiny {
                assert_eq!(scrutiny.unproven(ProofTarget::Fix), None, "{scrutiny:#?}");
            }
            begun.elapsed()
        };
        // A commit compared with itself is only run, nothing else.
        alone.push(timed(*after).await);
        let took = timed(*before).await;
        first.add(took, &runs);
        let took = timed(*before).await;
        again.add(took, &runs);
    }
    let (plain, _) = middle_and_tail(plain);
    line("by hand: the tests in a work tree", plain, "");
    let (alone, _) = middle_and_tail(alone);
    line("one run of the tests, checked out afresh", alone, &format!("{} by hand", ratio(alone, plain)));
    first.show("a verdict", plain);
    again.show("the same, the base's run kept", plain);
}

/// Runs the change's tests by hand, with the same program as in a job.
fn by_hand(sample: &Sample, walls: &Sandbox, tree: &Path) -> Duration {
    let Sample { repository, commits, command, .. } = sample;
    let added = Command::new("git")
        .current_dir(repository)
        .args(["worktree", "add", "--quiet", "--detach"])
        .arg(tree)
        .arg(commits.after.to_string())
        .status();
    assert!(added.expect("git").success());
    let program = command.split_whitespace().next().and_then(|program| walls.locate(program));
    let folders = program.iter().filter_map(|program| Some(program.parent()?.to_owned()));
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&inherited))).expect("a path");
    let begun = Instant::now();
    let mut tests = Command::new("sh");
    tests.env("PATH", path);
    let ran =
        tests.args(["-c", command]).current_dir(tree).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(ran.expect("the tests").success());
    begun.elapsed()
}

/// Durations of verdicts on one change.
#[derive(Default)]
struct VerdictTimes {
    all: Vec<Duration>,
    /// Without the time in which only runs outside the comparison were active.
    comparison: Vec<Duration>,
    each: BTreeMap<String, Vec<Duration>>,
}

impl VerdictTimes {
    fn add(&mut self, took: Duration, runs: &Runs) {
        let runs = runs.0.lock().expect("the runs").clone();
        let is_of_comparison = |run: &&Run| COMPARISON.contains(&run.name.as_str());
        let busy = covered(runs.iter());
        self.all.push(took);
        self.comparison.push((took + covered(runs.iter().filter(is_of_comparison))).saturating_sub(busy));
        for run in runs {
            self.each.entry(run.name).or_default().push(run.end - run.begun);
        }
    }

    fn show(self, what: &str, plain: Duration) {
        let (all, comparison) = (middle_and_tail(self.all).0, middle_and_tail(self.comparison).0);
        let runs = |names: usize| format!("{names} runs, {} these by hand", ratio(all, plain * names as u32));
        let compared = self.each.keys().filter(|name| COMPARISON.contains(&name.as_str())).count();
        let note = format!("{compared} runs, {} these by hand", ratio(comparison, plain * compared as u32));
        line(&format!("{what}: compared with the base"), comparison, &note);
        line(&format!("{what}: with all experiments"), all, &runs(self.each.len()));
        for (name, took) in self.each {
            line(&format!("  {name}"), middle_and_tail(took).0, "");
        }
    }
}

/// How long at least one of them was active.
fn covered<'a>(runs: impl Iterator<Item = &'a Run>) -> Duration {
    let mut runs: Vec<&Run> = runs.collect();
    runs.sort_by_key(|run| run.begun);
    let (mut covered, mut until) = (Duration::ZERO, None);
    for run in runs {
        let begun = until.map_or(run.begun, |until: Instant| until.max(run.begun));
        covered += run.end.saturating_duration_since(begun);
        until = Some(until.map_or(run.end, |until| until.max(run.end)));
    }
    covered
}

#[derive(Clone)]
struct Run {
    name: String,
    begun: Instant,
    end: Instant,
}

/// The runs in the engine's log.
#[derive(Clone, Default)]
struct Runs(Arc<Mutex<Vec<Run>>>);

impl Runs {
    fn forget(&self) {
        self.0.lock().expect("the runs").clear();
    }
}

impl<S: tracing::Subscriber> Layer<S> for Runs {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let mut told = RunFields::default();
        event.record(&mut told);
        if let RunFields { name: Some(name), seconds: Some(seconds) } = told {
            let end = Instant::now();
            let run = Run { name, begun: end - Duration::from_secs_f64(seconds), end };
            self.0.lock().expect("the runs").push(run);
        }
    }
}

#[derive(Default)]
struct RunFields {
    name: Option<String>,
    seconds: Option<f64>,
}

impl Visit for RunFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "run" {
            self.name = Some(value.to_owned());
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if field.name() == "seconds" {
            self.seconds = Some(value);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn fmt::Debug) {}
}
