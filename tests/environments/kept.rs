//! What is kept of an environment lies on a disk for weeks: what the disk lost of it is not tested with.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use journeyman::order::{TestVerdict, TestingSettings};
use journeyman::sandbox::IsolationMode;

use crate::change_tester::{ChangeTester, TestedChange, name, setup_and_test};

/// Installs in a folder of dependencies, downloads what is not there, and changes a file of the repository.
const SETUP: &str = "echo the setup ran; mkdir -p .venv; echo installed > .venv/tool; echo spoilt >> changed
mkdir -p $HOME/.cache/pip; test -e $HOME/.cache/pip/wheel || echo wheel > $HOME/.cache/pip/wheel
";
/// What tests see, beside the code of the change.
const SEEN: &str = "kept\nchanged\ninstalled\nwheel\n";

struct Sample(ChangeTester);

impl Sample {
    async fn new(mode: IsolationMode) -> Self {
        let settings = TestingSettings {
            setup_time: Duration::from_secs(60),
            test_time: Duration::from_secs(60),
            keep: 1 << 30,
            ..TestingSettings::default()
        };
        Self(ChangeTester::new(mode, settings).await)
    }

    /// Tests a change of the code: what its tests saw, and whether the setup ran for it.
    async fn tested(&self, setup: &str, code: &str) -> (String, bool) {
        let files = |code| {
            let test =
                "cat kept changed .venv/tool $HOME/.cache/pip/wheel code; echo 1..1; echo ok 1 - adds\n";
            // Nobody looks into what is compiled.
            let compiled = ("__pycache__/code.pyc", "compiled\n");
            [
                ("setup.sh", setup),
                ("test.sh", test),
                ("kept", "kept\n"),
                ("changed", "changed\n"),
                compiled,
                ("code", code),
            ]
        };
        let commits = self.0.commits_of(&files("before\n"), &files(code));
        let tested = self.0.tested("one", TestedChange::new(commits, setup_and_test())).await;
        assert_eq!(tested.run.verdict, TestVerdict::Passed, "{tested:#?}");
        let seen = tested.outputs.iter().find(|output| output.name == "tests");
        let seen = seen.and_then(|tests| tests.text.strip_suffix("1..1\nok 1 - adds\n")).unwrap_or_default();
        (seen.to_owned(), tested.outputs.iter().any(|output| output.text.contains("the setup ran")))
    }

    fn kept(&self) -> Vec<PathBuf> {
        let shelf = fs::read_dir(self.0.testing.workspaces.environments(&name())).expect("a folder");
        shelf.map(|entry| entry.expect("an entry").path()).collect()
    }

    /// Tests a change, has the disk do something, and tests two others, each by a process of its own.
    async fn damaged(&mut self, setup: &str, damage: impl Fn(&Path)) -> [bool; 2] {
        self.tested(setup, "1\n").await;
        let kept = self.kept();
        let [kept] = &kept[..] else { panic!("one environment: {kept:?}") };
        damage(kept);
        self.0.restart().await;
        let (seen, first) = self.tested(setup, "2\n").await;
        assert_eq!(seen, format!("{SEEN}2\n"));
        self.0.restart().await;
        let (seen, second) = self.tested(setup, "3\n").await;
        assert_eq!(seen, format!("{SEEN}3\n"));
        [first, second]
    }
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("a file");
}

fn write(path: &Path, text: &str) {
    assert!(path.exists());
    fs::write(path, text).expect("a file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_disk_lost_of_a_kept_environment_is_made_again_once_by_the_next_process() {
    let damages: [&dyn Fn(&Path); 5] = [
        &|kept| remove(&kept.join("checkout/kept")),
        &|kept| write(&kept.join("checkout/kept"), "kepu\n"),
        // The setup had changed it, so that it lies above the checkout.
        &|kept| write(&kept.join("tree/changed"), "changes\n"),
        &|kept| remove(&kept.join("tree/.venv/tool")),
        &|kept| remove(&kept.join("home/.cache/pip/wheel")),
    ];
    for damage in damages {
        let mut sample = Sample::new(IsolationMode::Bubblewrap).await;
        assert_eq!(sample.damaged(SETUP, damage).await, [true, false]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_whole_is_used_again_also_where_layers_are_copied_and_compiled_files_are_committed() {
    for mode in [IsolationMode::Bubblewrap, IsolationMode::None] {
        let mut sample = Sample::new(mode).await;
        assert_eq!(sample.damaged(SETUP, |_| ()).await, [false, false], "{mode}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_setup_made_of_the_sources_is_made_again_for_the_same_sources() {
    let setup = format!("{SETUP}cp kept made-of-it\n");
    let mut sample = Sample::new(IsolationMode::Bubblewrap).await;
    let of_sources = |kept: &Path| {
        let record = fs::read_to_string(kept.join("environment.json")).expect("a record");
        assert!(record.contains("\"is_of_sources\":\""), "{record}");
    };
    let (_, runs) = sample.tested(&setup, "1\n").await;
    assert!(runs);
    sample.kept().iter().for_each(|kept| of_sources(kept));
    for kept in sample.kept() {
        remove(&kept.join("checkout/kept"));
    }
    sample.0.restart().await;
    let (seen, _) = sample.tested(&setup, "2\n").await;
    assert_eq!(seen, format!("{SEEN}2\n"));
    for kept in sample.kept().iter().filter(|kept| kept.join("environment.json").exists()) {
        assert!(kept.join("checkout/kept").exists(), "nothing that is damaged is left to be found");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_that_lies_below_another_one_is_looked_at_too() {
    let sample = Sample::new(IsolationMode::Bubblewrap).await;
    sample.tested(SETUP, "1\n").await;
    let below = sample.kept();
    let more = format!("{SETUP}echo more > $HOME/.cache/pip/more\n");
    assert_eq!(sample.tested(&more, "2\n").await, (format!("{SEEN}2\n"), true));
    for below in below {
        remove(&below.join("home/.cache/pip/wheel"));
    }

    let mut sample = sample;
    sample.0.restart().await;

    assert_eq!(sample.tested(&more, "3\n").await, (format!("{SEEN}3\n"), true));
}
