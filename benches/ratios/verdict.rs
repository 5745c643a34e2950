//! A complete verdict, compared with one run of the tests, started by hand in a work tree. What a setup installs is there
//! before.

#[path = "../../tests/cheats/commits.rs"]
mod commits;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use journeyman::engine::testing::{CommitTester, TestRunRequest};
use journeyman::order::scrutiny::{ProofTarget, VerdictRun};
use journeyman::order::{RepositoryName, RepositorySettings, TestVerdict, TestingSettings};
use journeyman::sandbox::{IsolationMode, Sandbox};
use journeyman::workspace::Workspaces;
use journeyman_test_support::change::laid_out;

use commits::Commits;

use super::{heading, line, middle_and_tail, ratio};

const TIMES: usize = 3;
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

/// Measures this repository's samples, or yours, one a line: `JOURNEYMAN_BENCH_CHANGE="FOLDER BASE COMMIT COMMAND…"`.
pub async fn measure() {
    let mut measured = Vec::new();
    if let Ok(own) = std::env::var("JOURNEYMAN_BENCH_CHANGE") {
        for own in own.lines().filter(|own| !own.trim().is_empty()) {
            measured.push(verdict_of(&Sample::of(own.trim()).expect("FOLDER BASE COMMIT COMMAND…")).await);
        }
        return show_ratios(&measured);
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
        let (name, repository) = (format!("{name}, {command}"), folder.path().join("git"));
        let sample = Sample { name, repository, commits, command: command.to_owned() };
        measured.push(verdict_of(&sample).await);
    }
    show_ratios(&measured);
}

impl Sample {
    fn of(words: &str) -> Option<Self> {
        let mut words = words.splitn(4, ' ');
        let repository = PathBuf::from(words.next()?);
        let git = git2::Repository::open(&repository).ok()?;
        let mut commit = || git.revparse_single(words.next()?).ok()?.peel_to_commit().ok();
        let (base, commit) = (commit()?, commit()?);
        let commits = Commits { before: base.id(), after: commit.id() };
        let name = format!("{} {:.10}", repository.file_name()?.display(), commits.after.to_string());
        Some(Self { name, repository: repository.clone(), commits, command: words.next()?.to_owned() })
    }
}

/// What a verdict on a sample took, in medians.
struct VerdictTimes {
    name: String,
    by_hand: Duration,
    /// With a run of the base.
    first: Duration,
    /// With the base's run kept.
    kept: Duration,
}

async fn verdict_of(sample: &Sample) -> VerdictTimes {
    let Sample { name, repository: place, commits: Commits { before, after }, command } = sample;
    heading(&format!("verdict: {name}"));
    let folder = tempfile::tempdir().expect("a folder");
    let repository: RepositoryName = "ada/sample".parse().expect("a name");
    let (mut by_hand, mut alone) = (Vec::new(), Vec::new());
    let (mut first, mut kept) = (Vec::new(), Vec::new());
    let mut runs: BTreeMap<String, Vec<Duration>> = BTreeMap::new();
    for turn in 0..TIMES {
        let walls = Sandbox::new(IsolationMode::Bubblewrap, vec![]).await.expect("bubblewrap");
        by_hand.push(run_by_hand(sample, &walls, &folder.path().join(format!("tree-{turn}"))));
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
        let settings = RepositorySettings { test: Some(command.clone()), ..RepositorySettings::default() };
        let ask = |base: git2::Oid| {
            let commits = [base, *after].map(|commit| commit.to_string().parse().expect("a commit"));
            let asked = TestRunRequest::new(repository.clone(), commits, settings.clone(), folder.path());
            TestRunRequest { base_is_of_the_default_branch: true, ..asked }
        };
        let timed = async |base| -> (Duration, Vec<VerdictRun>) {
            let begun = Instant::now();
            let run = testing.run(&ask(base)).await.expect("a verdict").run;
            let took = begun.elapsed();
            assert_eq!(run.verdict, TestVerdict::Passed, "{}", run.tail);
            let Some(scrutiny) = run.scrutiny else { return (took, Vec::new()) };
            assert_eq!(scrutiny.unproven(ProofTarget::Fix), None, "{scrutiny:#?}");
            (took, scrutiny.runs)
        };
        // A commit compared with itself is only run, nothing else. The first time it is set up.
        timed(*after).await;
        alone.push(timed(*after).await.0);
        first.push(timed(*before).await.0);
        let (took, made) = timed(*before).await;
        kept.push(took);
        for run in made {
            runs.entry(run.name).or_default().push(Duration::from_secs_f64(run.duration_seconds));
        }
    }
    let [by_hand, alone, first, kept] = [by_hand, alone, first, kept].map(|all| middle_and_tail(all).0);
    line("by hand: the tests in a work tree", by_hand, "");
    line("one run of the tests, checked out afresh", alone, &format!("{} by hand", ratio(alone, by_hand)));
    line("a verdict", first, &format!("{} by hand", ratio(first, by_hand)));
    line("the same, the base's run kept", kept, &format!("{} by hand", ratio(kept, by_hand)));
    for (run, took) in runs {
        let note = if took.len() > TIMES { format!("{} of them", took.len() / TIMES) } else { String::new() };
        line(&format!("  {run}"), middle_and_tail(took).0, &note);
    }
    VerdictTimes { name: name.clone(), by_hand, first, kept }
}

/// How much longer each verdict takes than the tests by hand, and the median.
fn show_ratios(all: &[VerdictTimes]) {
    heading("verdict: times one run of the tests by hand, with a run of the base, and with that kept");
    for VerdictTimes { name, by_hand, first, kept } in all {
        println!("  {name:<44} {:>12} {:>12}", ratio(*first, *by_hand), ratio(*kept, *by_hand));
    }
    let middle = |of: fn(&VerdictTimes) -> Duration| {
        let mut ratios: Vec<f64> =
            all.iter().map(|times| of(times).as_secs_f64() / times.by_hand.as_secs_f64()).collect();
        ratios.sort_by(f64::total_cmp);
        let (below, above) = (ratios.get((ratios.len().max(1) - 1) / 2), ratios.get(ratios.len() / 2));
        format!("{:.1} times", below.zip(above).map_or(0.0, |(below, above)| (below + above) / 2.0))
    };
    println!("  {:<44} {:>12} {:>12}", "median", middle(|times| times.first), middle(|times| times.kept));
}

/// Runs the change's tests by hand, with the same program as in a job.
fn run_by_hand(sample: &Sample, walls: &Sandbox, tree: &Path) -> Duration {
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
