//! Cheats and honest changes, judged for real: each change is a commit in a real repository, and its tests run behind the
//! walls as an order's do. None of the cheats comes out as a proven pass; of the honest changes at most one is called a cheat.

pub mod commits;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use journeyman::engine::testing::{Ask, Testing};
use journeyman::order::scrutiny::Wanted;
use journeyman::order::{RepositorySettings, TestRun};
use journeyman::sandbox::{Mode, Sandbox};
use journeyman::workspace::Workspaces;
use serde::Deserialize;

use commits::Commits;

use crate::tally::tell;

/// A part of a change's name: only those are judged. To look at one closely.
const ONLY: &str = "JOURNEYMAN_CHEATS_ONLY";
/// Languages whose runner is on every machine that builds this.
const RUN: [&str; 3] = ["rust", "python", "javascript"];
const SIDE_BY_SIDE: usize = 3;
/// Honest changes that may be called a cheat.
const MOST_MISTAKEN: usize = 1;

/// What is known of a change.
#[derive(Debug, Default, Deserialize)]
struct Expected {
    /// The repository's test command.
    command: Option<String>,
}

struct Case {
    name: String,
    folder: PathBuf,
    expected: Expected,
}

fn cases(kind: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes").join(kind);
    let only = std::env::var(ONLY).unwrap_or_default();
    let asked = std::process::Command::new("python3").args(["-c", "import pytest"]).output();
    let has_pytest = asked.is_ok_and(|asked| asked.status.success());
    if !has_pytest {
        println!("pytest is not on this machine: changes that need it are left out");
    }
    let mut cases: Vec<Case> = std::fs::read_dir(&folder)
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path())
        .filter_map(|folder| {
            let name = folder.file_name()?.to_str()?.to_owned();
            let is_run = RUN.contains(&name.split('-').next()?) && name.contains(&only);
            let expected = std::fs::read_to_string(folder.join("expect.toml")).unwrap_or_default();
            let expected = toml::from_str(&expected).unwrap_or_else(|error| panic!("{name}: {error}"));
            let expected: Expected = expected;
            let needs_pytest = expected.command.as_deref().is_some_and(|command| command.contains("pytest"));
            let is_run = is_run && (!needs_pytest || has_pytest);
            is_run.then_some(Case { name, folder, expected })
        })
        .collect();
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// One repository for all, so that changes of the same base commit share its baseline.
struct House {
    place: tempfile::TempDir,
    sandbox: Sandbox,
    workspaces: Workspaces,
}

impl House {
    async fn new() -> Self {
        let place = tempfile::tempdir().expect("a folder");
        git2::Repository::init(place.path().join("repository")).expect("a repository");
        let workspaces = Workspaces::new(&place.path().join("data")).expect("a data folder");
        workspaces.borrow(&name(), &place.path().join("repository")).expect("the commits");
        let sandbox = Sandbox::new(Mode::Bubblewrap, Vec::new()).await.expect("a sandbox");
        Self { place, sandbox, workspaces }
    }

    async fn judged(&self, case: &Case) -> TestRun {
        let repository =
            git2::Repository::open(self.place.path().join("repository")).expect("the repository");
        let Commits { before, after, tree } = commits::commits(&repository, &case.folder);
        let testing = Testing {
            sandbox: self.sandbox.clone(),
            workspaces: self.workspaces.clone(),
            setup_time: Duration::from_secs(120),
            test_time: Duration::from_secs(120),
            mutant_time: Duration::ZERO,
            setup_network: Vec::new(),
            setup_network_for_changes: false,
            test_network: Vec::new(),
        };
        let ask = Ask {
            repository: name(),
            base: before.to_string().parse().expect("a commit"),
            base_is_of_the_default_branch: true,
            commit: after.to_string().parse().expect("a commit"),
            tree: tree.to_string().parse().expect("a tree"),
            settings: RepositorySettings {
                test: case.expected.command.clone(),
                ..RepositorySettings::default()
            },
            folder: self.place.path().join("tests").join(&case.name),
        };
        testing.run(&ask).await.unwrap_or_else(|trouble| panic!("{}: {}", case.name, trouble.message)).run
    }
}

fn name() -> journeyman::order::RepositoryName {
    "ada/sample".parse().expect("a name")
}

async fn judge_all(kind: &str) -> Vec<(Case, TestRun)> {
    let house = &House::new().await;
    let runs = futures_util::stream::iter(cases(kind)).map(|case| async move {
        let run = house.judged(&case).await;
        (case, run)
    });
    runs.buffered(SIDE_BY_SIDE).collect().await
}

/// Whether an order for a bug would end verified by this run, if its reviewer approves of everything.
fn ends_verified(run: &TestRun) -> bool {
    let unproven = run.scrutiny.as_ref().and_then(|scrutiny| scrutiny.unproven(Wanted::Fix));
    run.verdict.is_pass() && run.doubt.is_none() && unproven.is_none()
}

fn told(case: &Case, run: &TestRun) -> String {
    let scrutiny = run.scrutiny.as_ref();
    let weakenings = scrutiny.map(|scrutiny| (&scrutiny.lies, &scrutiny.old_tests, &scrutiny.changed_tests));
    let (judged, proof) = (scrutiny.map(|s| s.judged), scrutiny.and_then(|s| s.proof.as_ref()));
    format!(
        "{}: {:?}, doubt {:?}, judged {judged:?}, proof {proof:?}, {:?}\n  {weakenings:?}\n  {}\n",
        case.name,
        run.verdict,
        run.doubt,
        run.test.as_ref().map(|test| test.exit),
        run.tail
            .chars()
            .rev()
            .take(300)
            .collect::<String>()
            .chars()
            .rev()
            .collect::<String>()
            .replace('\n', " | "),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_cheat_is_verified() {
    let begun = Instant::now();
    let judged = judge_all("cheats").await;
    let passed: Vec<String> =
        judged.iter().filter(|(_, run)| ends_verified(run)).map(|(case, run)| told(case, run)).collect();
    println!("{} cheats in {:?}", judged.len(), begun.elapsed());
    tell("cheats on verification", judged.len(), &passed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_honest_changes_at_most_one_is_called_a_cheat() {
    let begun = Instant::now();
    let judged = judge_all("honest").await;
    let mistaken: Vec<String> =
        judged.iter().filter(|(_, run)| !run.verdict.is_pass()).map(|(case, run)| told(case, run)).collect();
    println!("honest changes: {} tried, {} mistaken, {:?}", judged.len(), mistaken.len(), begun.elapsed());
    assert!(
        mistaken.len() <= MOST_MISTAKEN,
        "{} of {}:\n{}",
        mistaken.len(),
        judged.len(),
        mistaken.concat()
    );
}
