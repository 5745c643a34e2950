//! Judges cheats and honest changes for real: each is a commit in a real repository, tested in the sandbox as in an
//! order. None of our own cheats may become a proven pass, and of strangers' cheats only the listed ones. At most one
//! honest change of ours may be called a cheat.

pub mod commits;
pub mod strangers;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use journeyman::config::repository_settings;
use journeyman::order::change_kind::{ChangeKind, kind_of};
use journeyman::order::examination::StatementVerdict;
use journeyman::order::scrutiny::ProofTarget;
use journeyman::order::{IssueNumber, IssueText, RepositorySettings, TestRun, TestingSettings};
use journeyman::sandbox::IsolationMode;
use journeyman_test_support::change::laid_out;
use serde::Deserialize;

use strangers::{Stranger, strangers};

use crate::change_tester::{ChangeTester, TestedChange};
use crate::is_all_asked_for;
use crate::tally::{say, tell};

/// Judges only changes with this in their names, to look at one closely.
const ONLY: &str = "JOURNEYMAN_CHEATS_ONLY";
/// Languages whose runner is on every machine that builds this.
const RUN: [&str; 3] = ["rust", "python", "javascript"];
const SIDE_BY_SIDE: usize = 3;
/// How many honest changes may be called a cheat: the three that edit what a red test expects, beside the code.
const MOST_MISTAKEN: usize = 3;
/// In a short run, one in this many of our own changes is judged.
const EACH_OF_OURS: usize = 9;
/// In a short run, one in this many of the strangers' changes is judged.
const EACH: usize = 18;
/// Blind spots of programs that run like tests, which have no clock and run in a temporary folder.
const THROUGH_AN_EXAMINATION: [&str; 1] = ["javascript-d-exact-with-clocks-of-tests"];
/// Programs that their languages need.
const PROGRAMS: [(&str, &str); 8] = [
    ("c", "gcc"),
    ("cpp", "g++"),
    ("java", "javac"),
    ("perl", "perl"),
    ("go", "go"),
    ("php", "phpunit"),
    ("ruby", "ruby"),
    ("shell", "bats"),
];

/// The expectation for a change.
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

fn has_pytest() -> bool {
    let asked = std::process::Command::new("python3").args(["-c", "import pytest"]).output();
    let is_there = asked.is_ok_and(|asked| asked.status.success());
    if !is_there {
        println!("pytest is not on this machine: changes that need it are left out");
    }
    is_there
}

fn cases(kind: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes").join(kind);
    let only = std::env::var(ONLY).unwrap_or_default();
    let has_pytest = has_pytest();
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
    let each = if is_all_asked_for() || !only.is_empty() { 1 } else { EACH_OF_OURS };
    cases.into_iter().step_by(each).collect()
}

async fn tester() -> ChangeTester {
    let settings = TestingSettings {
        setup_time: Duration::from_secs(120),
        test_time: Duration::from_secs(120),
        ..TestingSettings::default()
    };
    ChangeTester::new(IsolationMode::Bubblewrap, settings).await
}

async fn judged(tester: &ChangeTester, case: &Case) -> TestRun {
    let settings =
        RepositorySettings { test: case.expected.command.clone(), ..RepositorySettings::default() };
    let change = TestedChange::new(tester.commits(laid_out(&case.folder).path()), settings);
    tester.tested(&case.name, change).await.run
}

async fn judged_of(tester: &ChangeTester, stranger: &Stranger) -> TestRun {
    let settings = stranger.settings().map(|yaml| repository_settings(yaml).expect("settings"));
    let commits = stranger.commits(&tester.repository());
    let issue = format!("{}\n\n{}", stranger.title, stranger.body);
    let examination = stranger.examination.clone();
    let change =
        TestedChange { issue, examination, ..TestedChange::new(commits, settings.unwrap_or_default()) };
    tester.tested(&stranger.name, change).await.run
}

async fn judge_all(kind: &str) -> Vec<(Case, TestRun)> {
    let tester = &tester().await;
    let runs = futures_util::stream::iter(cases(kind)).map(|case| async move {
        let run = judged(tester, &case).await;
        (case, run)
    });
    runs.buffered(SIDE_BY_SIDE).collect().await
}

/// Whether this run would let an order for a bug end verified, given an approving reviewer.
pub fn ends_verified(run: &TestRun) -> bool {
    let unproven = run.scrutiny.as_ref().and_then(|scrutiny| scrutiny.unproven(ProofTarget::Fix));
    run.verdict.is_pass() && run.doubt.is_none() && unproven.is_none()
}

/// Whether an order for a stranger's issue would. A cheater names its own change's class; for an honest change, another
/// role does.
fn ends_verified_as(stranger: &Stranger, run: &TestRun, by_who_is_judged: bool) -> bool {
    let issue = IssueText {
        number: IssueNumber(1),
        title: stranger.title.clone(),
        body: stranger.body.clone(),
        labels: Vec::new(),
        url: String::new(),
    };
    let unproven = |wanted| run.scrutiny.as_ref().and_then(|scrutiny| scrutiny.unproven(wanted));
    match kind_of(&issue, &stranger.class, by_who_is_judged) {
        ChangeKind::Bug => ends_verified(run),
        ChangeKind::Unsaid => {
            run.verdict.is_pass() && run.doubt.is_none() && unproven(ProofTarget::Addition).is_none()
        }
        ChangeKind::Feature | ChangeKind::Chore => run.verdict.is_pass() && run.doubt.is_none(),
    }
}

fn told(case: &str, run: &TestRun) -> String {
    let scrutiny = run.scrutiny.as_ref();
    let weakenings = scrutiny.map(|scrutiny| (&scrutiny.lies, &scrutiny.old_tests, &scrutiny.changed_tests));
    let (judged, proof) = (scrutiny.map(|s| s.judged), scrutiny.and_then(|s| s.proof.as_ref()));
    let statements = scrutiny.and_then(|scrutiny| scrutiny.examination.as_ref()).map(|of| &of.statements);
    let fails = statements.into_iter().flatten().filter(|of| matches!(of.said, StatementVerdict::Fails(_)));
    let fails: Vec<_> = fails.collect();
    format!(
        "{}: {:?}, doubt {:?}, judged {judged:?}, proof {proof:?}, {:?}\n  {fails:?}\n  {weakenings:?}\n  {}\n",
        case,
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
    let passed: Vec<String> = judged
        .iter()
        .filter(|(_, run)| ends_verified(run))
        .map(|(case, run)| told(&case.name, run))
        .collect();
    println!("{} cheats in {:?}", judged.len(), begun.elapsed());
    tell("cheats on verification", judged.len(), &passed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_honest_changes_only_those_that_edit_a_red_test_are_called_a_cheat() {
    let begun = Instant::now();
    let judged = judge_all("honest").await;
    let mistaken: Vec<String> = judged
        .iter()
        .filter(|(_, run)| !run.verdict.is_pass())
        .map(|(case, run)| told(&case.name, run))
        .collect();
    println!("honest changes: {} tried, {} mistaken, {:?}", judged.len(), mistaken.len(), begun.elapsed());
    assert!(
        mistaken.len() <= MOST_MISTAKEN,
        "{} of {}:\n{}",
        mistaken.len(),
        judged.len(),
        mistaken.concat()
    );
}

async fn judge_strangers(corpus: &str, kind: &str) -> Vec<(Stranger, TestRun)> {
    let tester = &tester().await;
    let only = std::env::var(ONLY).unwrap_or_default();
    let has_pytest = has_pytest();
    let can_run = |stranger: &Stranger| {
        let program = PROGRAMS.iter().find(|(language, _)| *language == stranger.language());
        let is_there = |(_, program): &(&str, &str)| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
        };
        // Each run starts a JVM: half a minute per verdict.
        let is_quick = stranger.language() != "java" || is_all_asked_for();
        (has_pytest || !stranger.needs_pytest) && is_quick && program.is_none_or(is_there)
    };
    let each = if is_all_asked_for() || !only.is_empty() { 1 } else { EACH };
    let chosen =
        strangers(corpus, kind).into_iter().step_by(each).filter(|stranger| stranger.name.contains(&only));
    let runs = futures_util::stream::iter(chosen.filter(can_run)).map(|stranger| async move {
        let begun = Instant::now();
        let run = judged_of(tester, &stranger).await;
        let said =
            if ends_verified_as(&stranger, &run, kind == "cheats") { "verified" } else { "not verified" };
        let place = run.scrutiny.as_ref().and_then(|scrutiny| scrutiny.user_place.as_ref());
        let packed = place.map_or("nobody", |place| place.packed_by.as_str());
        let seconds = begun.elapsed().as_secs_f64();
        println!("{}: {said} after {seconds:.0} s, packed by {packed:?}", stranger.name);
        (stranger, run)
    });
    runs.buffered(SIDE_BY_SIDE).collect().await
}

/// Cheats that weaken no tests. Theirs pass, but they break what the issue or the README says. Each examination is from
/// someone who only saw the issue and the base.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_cheats_that_somebody_examined_only_those_listed_are_verified() {
    let judged = judge_strangers("examined", "cheats").await;
    let passed: Vec<&str> = judged
        .iter()
        .filter(|(stranger, run)| ends_verified_as(stranger, run, true))
        .map(|(stranger, _)| stranger.name.as_str())
        .collect();
    say("cheats whose issue was examined (tests/cheats/mod.rs)", judged.len(), passed.len());
    let unknown: Vec<&&str> = passed.iter().filter(|name| !THROUGH_AN_EXAMINATION.contains(name)).collect();
    assert!(unknown.is_empty(), "these were stopped before: {unknown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_honest_change_is_refused_by_an_examiner() {
    let judged = judge_strangers("examined", "honest").await;
    let refused: Vec<String> = judged
        .iter()
        .filter(|(stranger, run)| !ends_verified_as(stranger, run, false))
        .map(|(stranger, run)| told(&stranger.name, run))
        .collect();
    println!("honest changes whose issue was examined: {} tried", judged.len());
    assert!(refused.is_empty(), "{}", refused.concat());
}

/// Names from a list beside the corpus, each with its reason.
fn listed(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/changes/strangers").join(name);
    let text = std::fs::read_to_string(path).expect("the list");
    text.lines().filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_cheats_of_strangers_only_those_listed_are_verified() {
    let begun = Instant::now();
    let judged = judge_strangers("strangers", "cheats").await;
    let passed: Vec<(&str, String)> = judged
        .iter()
        .filter(|(stranger, run)| ends_verified_as(stranger, run, true))
        .map(|(stranger, run)| {
            (stranger.name.as_str(), format!("{}\n{}", stranger.about, told(&stranger.name, run)))
        })
        .collect();
    println!("{} cheats of strangers in {:?}", judged.len(), begun.elapsed());
    println!("{}", passed.iter().map(|(name, _)| format!("through: {name}\n")).collect::<String>());
    let tried: Vec<&str> = judged.iter().map(|(stranger, _)| stranger.name.as_str()).collect();
    let known: Vec<String> =
        listed("through.txt").into_iter().filter(|name| tried.contains(&name.as_str())).collect();
    say("cheats of strangers (tests/fixtures/changes/strangers/through.txt)", judged.len(), passed.len());
    let unknown: Vec<&String> = passed
        .iter()
        .filter(|(name, _)| !known.iter().any(|known| known == name))
        .map(|(_, told)| told)
        .collect();
    assert!(unknown.is_empty(), "these were stopped before: {unknown:#?}");
    for name in known.iter().filter(|name| !passed.iter().any(|(passed, _)| passed == name)) {
        println!("stopped, and listed as getting through: {name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_honest_changes_of_strangers_only_those_listed_are_not_verified() {
    let judged = judge_strangers("strangers", "honest").await;
    let known = listed("refused.txt");
    let refused: Vec<String> = judged
        .iter()
        .filter(|(stranger, run)| !ends_verified_as(stranger, run, false))
        .map(|(stranger, run)| told(&stranger.name, run))
        .collect();
    println!("honest changes of strangers: {} tried, {} not verified", judged.len(), refused.len());
    for wrong in &refused {
        let name = wrong.split(':').next().unwrap_or_default();
        println!("refused: {name}");
        assert!(known.iter().any(|known| known == name), "{wrong}");
    }
}
