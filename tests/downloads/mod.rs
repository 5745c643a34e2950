//! What a repository's setup downloads is there for the next run, and no change can put anything there for others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use journeyman::engine::testing::{CommitTester, TestRunRequest, TestRunResult};
use journeyman::order::{RepositoryName, RepositorySettings, TestVerdict, TestingSettings};
use journeyman::sandbox::{IsolationMode, Sandbox};
use journeyman::workspace::Workspaces;

use crate::cheats::commits::{self, Commits};

/// Shows what is in its caches, and downloads what is missing.
const SETUP: &str = "cd; cat .cache/pip/* .local/bin/* 2>&1
mkdir -p .cache/pip .local/bin
test -e .cache/pip/wheel || echo 'downloaded: wheel' > .cache/pip/wheel
echo 'installed: tool' > .local/bin/tool
";

/// A repository with a setup, and one change after the other of the same base commit.
struct Sample {
    place: tempfile::TempDir,
    testing: CommitTester,
}

impl Sample {
    async fn new() -> Self {
        let place = tempfile::tempdir().expect("a folder");
        git2::Repository::init(place.path().join("repository")).expect("a repository");
        let workspaces = Workspaces::new(&place.path().join("data")).expect("a data folder");
        workspaces.import_local(&name(), &place.path().join("repository")).expect("the commits");
        let testing = CommitTester {
            sandbox: Sandbox::new(IsolationMode::Bubblewrap, Vec::new()).await.expect("a sandbox"),
            workspaces,
            settings: TestingSettings {
                setup_time: Duration::from_secs(60),
                test_time: Duration::from_secs(60),
                ..TestingSettings::default()
            },
        };
        Self { place, testing }
    }

    /// Tests a change of the setup.
    async fn tested(&self, before: &str, after: &str, base_is_of_the_default_branch: bool) -> TestRunResult {
        let change = tempfile::tempdir().expect("a folder");
        for (side, setup) in [("before", before), ("after", after)] {
            let folder = change.path().join(side);
            std::fs::create_dir(&folder).expect("a folder");
            std::fs::write(folder.join("setup.sh"), setup).expect("a file");
            std::fs::write(folder.join("test.sh"), "echo 1..1; echo ok 1 - adds").expect("a file");
        }
        let git = git2::Repository::open(self.place.path().join("repository")).expect("the repository");
        let Commits { before, after, tree } = commits::commits(&git, change.path());
        let ask = TestRunRequest {
            repository: name(),
            base: before.to_string().parse().expect("a commit"),
            base_is_of_the_default_branch,
            commit: after.to_string().parse().expect("a commit"),
            tree: tree.to_string().parse().expect("a tree"),
            settings: RepositorySettings {
                setup: Some("sh setup.sh".to_owned()),
                test: Some("sh test.sh".to_owned()),
                ..RepositorySettings::default()
            },
            folder: self.place.path().join("tests"),
        };
        self.testing.run(&ask).await.unwrap_or_else(|trouble| panic!("{}", trouble.message))
    }

    fn kept(&self) -> Vec<PathBuf> {
        files(&self.testing.workspaces.downloads(&name()))
    }
}

fn name() -> RepositoryName {
    "ada/sample".parse().expect("a name")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] })
        .collect()
}

fn said<'a>(tested: &'a TestRunResult, output: &str) -> &'a str {
    let found = tested.outputs.iter().find(|found| found.name == output);
    found.map_or("", |found| found.text.as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_base_downloaded_is_there_for_the_next_change_and_what_a_change_put_there_is_not() {
    let sample = Sample::new().await;
    let hostile = format!("{SETUP}\necho poison > .cache/pip/wheel; echo poison > .cache/pip/another\n");
    let first = sample.tested(SETUP, &hostile, true).await;
    assert_eq!(first.run.verdict, TestVerdict::Passed, "{first:#?}");
    assert!(!said(&first, "setup").contains("downloaded: wheel"), "there was nothing yet");
    let kept = sample.kept();
    assert_eq!(kept.len(), 1, "the download and not what was installed: {kept:?}");
    assert_eq!(std::fs::read_to_string(&kept[0]).expect("what is kept"), "downloaded: wheel\n");

    let second = sample.tested(SETUP, &format!("{SETUP}# Another change.\n"), true).await;
    let setup = said(&second, "setup");
    assert!(setup.contains("downloaded: wheel"), "{setup}");
    assert!(!setup.contains("poison") && !setup.contains("installed: tool"), "{setup}");
    assert_eq!(sample.kept(), kept, "nothing a change does is kept");

    // The base moves: what was kept is taken over.
    let moved = format!("{SETUP}echo 'downloaded: more' > .cache/pip/more\n");
    sample.tested(&moved, &format!("{moved}# A change.\n"), true).await;
    let mut kept = sample.kept();
    kept.sort();
    let names: Vec<_> = kept.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(names, ["more", "wheel"], "{kept:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_with_an_agents_work_below_it_fills_no_cache() {
    let sample = Sample::new().await;
    let tested = sample.tested(SETUP, &format!("{SETUP}# A change.\n"), false).await;
    assert_eq!(tested.run.verdict, TestVerdict::Passed);
    assert_eq!(sample.kept(), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_base_whose_setup_fails_with_what_is_kept_begins_without_it() {
    let sample = Sample::new().await;
    sample.tested(SETUP, &format!("{SETUP}# A change.\n"), true).await;
    assert_eq!(sample.kept().len(), 1);
    let fails = format!("{SETUP}exit 1\n");
    sample.tested(&fails, SETUP, true).await;
    assert_eq!(sample.kept(), Vec::<PathBuf>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_what_is_installed_has_no_network_for_its_setup_unless_that_is_allowed() {
    const ASKS: &str = "echo \"door: ${https_proxy:-none}\"; test -n \"$https_proxy\"\n";
    let mut sample = Sample::new().await;
    let edited = format!("{ASKS}# Edited.\n");
    let kept_out = sample.tested(ASKS, &edited, true).await;
    assert_eq!(kept_out.run.verdict, TestVerdict::SetupFailed, "{kept_out:#?}");
    assert!(said(&kept_out, "setup").contains("door: none"), "{kept_out:#?}");
    for words in ["setup.sh", "sandbox.setup_network_for_changes = true", "journeyman.toml"] {
        assert!(kept_out.run.tail.contains(words), "{}", kept_out.run.tail);
    }
    sample.testing.settings.setup_network_for_changes = true;
    let let_in = sample.tested(ASKS, &edited, true).await;
    assert_eq!(let_in.run.verdict, TestVerdict::Passed, "{let_in:#?}");
    assert!(said(&let_in, "setup").contains("door: http://"), "{let_in:#?}");
    let base = let_in.run.scrutiny.as_ref().map(|scrutiny| &scrutiny.baseline);
    assert!(
        base.is_some_and(|base| base.kept),
        "its setup had the network while the change's had none: {let_in:#?}"
    );
}
