//! Each language has a sample: a small repository with a bug. Its right fix is verified. A fix that weakens a test is
//! not, nor is one whose test proves nothing. docs/ENVIRONMENTS.md has a table of what these verdicts show. With
//! `JOURNEYMAN_UPDATE_DOCS=1` set, the rows and the table are written anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use journeyman::config::repository_settings;
use journeyman::engine::EnvironmentSurvey;
use journeyman::order::scrutiny::{LieVerdict, TestChange};
use journeyman::order::{ComparedBy, Proof, ProofGrade, RepositorySettings, TestRun, TestingSettings};
use journeyman::sandbox::IsolationMode;
use journeyman::verify::TestInvocation;
use journeyman_test_support::change::laid_over;
use serde::Deserialize;

use crate::change_tester::{ChangeTester, TestedChange};
use crate::cheats::ends_verified;
use crate::is_all_asked_for;

const SAMPLES: &str = "crates/languages/samples";
const PAGE: &str = "docs/ENVIRONMENTS.md";
/// For all verdicts on a sample. Most take seconds, a build with Gradle minutes.
const DEADLINE: Duration = Duration::from_secs(540);
/// What a row says yes or no to.
const COLUMNS: [&str; 6] =
    ["setup", "names", "selection", "added_failing_test", "falsified_expectations", "mutants"];

/// A test for each sample, by its folder's name.
macro_rules! samples {
    ($($name:ident),* $(,)?) => {
        const TESTED: &[&str] = &[$(stringify!($name)),*];

        mod a_language_is_verified {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::is_judged(stringify!($name)).await;
                }
            )*
        }
    };
}

samples!(
    c, dotnet, elixir, go, java_gradle, java_maven, javascript_node, php, python, python_unittest,
    ruby_minitest, ruby_rspec, rust,
);

/// A sample's `sample.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    /// The language, and what runs its tests.
    name: String,
    /// Programs, and paths that may end in a star.
    needs: Vec<String>,
    /// Debian's packages that have them. `scripts/deps.sh` installs them.
    packages: Vec<String>,
    /// Whether `make test` leaves the sample out, so that its row stays as it was recorded.
    #[serde(default)]
    recorded: bool,
    /// Its row.
    shown: BTreeMap<String, bool>,
}

struct Sample {
    folder: PathBuf,
    facts: Facts,
}

fn path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of)
}

fn file(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn is_updating() -> bool {
    std::env::var_os("JOURNEYMAN_UPDATE_DOCS").is_some()
}

fn is_there(need: &str) -> bool {
    let Some((folder, name)) = need.rsplit_once('/') else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        return std::env::split_paths(&path).any(|folder| folder.join(need).is_file());
    };
    match name.strip_suffix('*') {
        None => Path::new(need).exists(),
        Some(start) => {
            let mut names =
                fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.any(|name| name.to_string_lossy().starts_with(start))
        }
    }
}

/// All samples, by the name of their folder.
fn all() -> Vec<Sample> {
    let folders =
        fs::read_dir(path(SAMPLES)).expect("the samples").map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = folders.collect();
    folders.sort();
    folders.into_iter().map(Sample::read).collect()
}

impl Sample {
    fn read(folder: PathBuf) -> Self {
        let path = folder.join("sample.toml");
        let facts =
            toml::from_str(&file(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { folder, facts }
    }

    /// Why it is not judged here, if it is not.
    fn skipped(&self) -> Option<String> {
        let Facts { needs, packages, recorded, .. } = &self.facts;
        if *recorded && !is_all_asked_for() {
            return Some(
                "its row is recorded; JOURNEYMAN_TEST_ALL=1 judges it where its programs are".to_owned(),
            );
        }
        let missing = needs.iter().find(|need| !is_there(need))?;
        let packages = if packages.is_empty() { "none".to_owned() } else { packages.join(", ") };
        Some(format!("{missing} is not there; Debian packages that bring it: {packages}"))
    }

    fn settings(&self) -> RepositorySettings {
        match fs::read(self.folder.join("before/.github/journeyman.yml")) {
            Ok(yaml) => repository_settings(&yaml).expect("settings"),
            Err(_) => RepositorySettings::default(),
        }
    }

    /// One of its changes.
    fn change(&self, tester: &ChangeTester, name: &str) -> TestedChange {
        let place = laid_over(&self.folder.join("before"), &self.folder.join(name));
        let issue = file(&self.folder.join("issue.md"));
        TestedChange { issue, ..TestedChange::new(tester.commits(place.path()), self.settings()) }
    }

    /// The verdicts on its changes, and what they show.
    async fn judge(&self) -> BTreeMap<String, bool> {
        let settings = TestingSettings {
            setup_time: Duration::from_secs(120),
            test_time: Duration::from_secs(60),
            // On a busy machine the first mutant alone takes long.
            mutant_time: Duration::from_secs(60),
            keep: 1 << 30,
            ..TestingSettings::default()
        };
        let tester = ChangeTester::new(IsolationMode::Bubblewrap, settings).await;
        let name = &self.facts.name;
        let base = tester.surveyed("base", self.change(&tester, "fix")).await;
        assert_eq!(base.report.problem, None, "{name}: {}", base.tail);
        let command =
            tester.planned("base", self.change(&tester, "fix")).await.test.expect("a test command").command;
        let fix = tester.tested("fix", self.change(&tester, "fix")).await.run;
        assert!(is_verified(&fix), "{name}: its right fix is verified: {fix:#?}");
        for wrong in ["weakened", "wrong"] {
            let run = tester.tested(wrong, self.change(&tester, wrong)).await.run;
            assert!(!is_verified(&run), "{name}, {wrong}: a wrong fix is not verified: {run:#?}");
        }
        self.shown(&fix, self.selects(&command, &base))
    }

    /// Whether the runner can run one of the tests alone.
    fn selects(&self, command: &str, base: &EnvironmentSurvey) -> bool {
        let Some(cases) = &base.reading.cases else { return false };
        let one: Vec<String> = cases.tests.keys().take(1).cloned().collect();
        let read = |path: &str| fs::read(self.folder.join("before").join(path)).ok();
        let invocation = TestInvocation::new(command, None, &read, "report.xml");
        invocation.select(Some(&cases.named_by), &one, &[]).is_some()
    }

    /// The row that the verdict on the right fix shows.
    fn shown(&self, fix: &TestRun, selects: bool) -> BTreeMap<String, bool> {
        let scrutiny = fix.scrutiny.as_ref().expect("it is compared with the base");
        let settings = self.settings();
        let proof = scrutiny.proof.as_ref();
        let is_by_test = matches!(proof, Some(Proof::Proven { by: ProofGrade::Test | ProofGrade::Case, .. }));
        let lies = scrutiny.lies.as_ref();
        let row = [
            settings.setup.is_none() && settings.test.is_none(),
            scrutiny.comparison.by == ComparedBy::Test,
            selects,
            is_by_test,
            lies.is_some_and(|lies| lies.said == LieVerdict::Noticed),
            scrutiny.mutants.as_ref().is_some_and(|mutants| mutants.caught > 0),
        ];
        COLUMNS.into_iter().map(str::to_owned).zip(row).collect()
    }

    /// Writes its row.
    fn record(&self, shown: &BTreeMap<String, bool>) {
        let path = self.folder.join("sample.toml");
        let text = file(&path);
        let (facts, _) = text.split_once("[shown]").expect("a row");
        let row: String = COLUMNS.iter().map(|column| format!("{column} = {}\n", shown[*column])).collect();
        fs::write(&path, format!("{facts}[shown]\n{row}")).expect("it can be written");
    }

    /// Its row of the page's table.
    fn row(&self) -> String {
        let Facts { name, shown, recorded, .. } = &self.facts;
        let cells = COLUMNS.iter().map(|column| if shown[*column] { "yes" } else { "no" });
        let seen = if *recorded { "recorded" } else { "by `make test`" };
        format!("| {name} | {} | {seen} |", cells.collect::<Vec<_>>().join(" | "))
    }
}

/// Whether an order for the issue would end verified, if no reviewer says that the issue wants a test of the base to
/// fail.
fn is_verified(run: &TestRun) -> bool {
    let mut changed = run.scrutiny.iter().flat_map(|scrutiny| &scrutiny.changed_tests);
    let is_proven = run.scrutiny.as_ref().is_some_and(|s| matches!(s.proof, Some(Proof::Proven { .. })));
    ends_verified(run) && is_proven && changed.all(|test| test.how != TestChange::FailsAsItWas)
}

async fn is_judged(test: &str) {
    let sample = Sample::read(path(SAMPLES).join(test.replace('_', "-")));
    let name = &sample.facts.name;
    if let Some(why) = sample.skipped() {
        println!("SKIPPED: {name}: {why}");
        return;
    }
    let judged = tokio::time::timeout(DEADLINE, sample.judge()).await;
    let shown = judged.unwrap_or_else(|_| panic!("{name}: the verdicts take longer than {DEADLINE:?}"));
    if is_updating() {
        sample.record(&shown);
        return;
    }
    assert_eq!(
        sample.facts.shown, shown,
        "{name}: its row differs: run with JOURNEYMAN_UPDATE_DOCS=1, twice"
    );
}

#[test]
fn every_sample_is_judged_and_says_what_it_shows() {
    let tested: BTreeSet<String> = TESTED.iter().map(|name| name.replace('_', "-")).collect();
    let name = |sample: &Sample| sample.folder.file_name().expect("a name").to_string_lossy().into_owned();
    let there: BTreeSet<String> = all().iter().map(name).collect();
    assert_eq!(there, tested, "each folder of {SAMPLES} has its test in tests/languages.rs");
    let columns = BTreeSet::from(COLUMNS);
    for sample in all() {
        let shown: BTreeSet<&str> = sample.facts.shown.keys().map(String::as_str).collect();
        assert_eq!(shown, columns, "{}", sample.facts.name);
        for part in ["before", "fix", "weakened", "wrong", "issue.md"] {
            assert!(sample.folder.join(part).exists(), "{}: {part}", sample.facts.name);
        }
    }
}

/// The page with the current table.
fn page() -> String {
    let before = file(&path(PAGE));
    let titles = COLUMNS.map(|column| column.replace('_', " ")).join(" | ");
    let head = format!("| language | {titles} | seen |");
    let begins = before.lines().position(|line| line.starts_with("| language |")).expect("the table");
    let after = begins + before.lines().skip(begins).take_while(|line| line.starts_with('|')).count();
    let ruler = format!("|{}", "---|".repeat(COLUMNS.len() + 2));
    let mut rows: Vec<String> = all().iter().map(Sample::row).collect();
    rows.sort_by_key(|row| row.to_lowercase());
    let lines = before.lines().take(begins).map(str::to_owned).chain([head, ruler]).chain(rows);
    lines.chain(before.lines().skip(after).map(str::to_owned)).map(|line| line + "\n").collect()
}

#[test]
fn the_table_of_the_page_is_what_the_samples_show() {
    let page = page();
    if is_updating() {
        fs::write(path(PAGE), &page).expect("it can be written");
    }
    assert!(file(&path(PAGE)) == page, "{PAGE} differs from the samples: run with JOURNEYMAN_UPDATE_DOCS=1");
}
