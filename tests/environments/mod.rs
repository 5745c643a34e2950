//! What a setup creates is available to all runs in the same repository and created once. No change can put anything
//! there for others.

use std::path::{Path, PathBuf};
use std::time::Duration;

use journeyman::engine::testing::TestRunResult;
use journeyman::order::{RepositorySettings, TestVerdict, TestingSettings};
use journeyman::sandbox::IsolationMode;

use crate::change_tester::{ChangeTester, TestedChange, name, setup_and_test};

/// Prints its caches, and downloads what is missing. It installs into the checkout.
const SETUP: &str = "echo 'the setup ran'
cat $HOME/.cache/pip/* $HOME/.local/bin/* 2>&1
mkdir -p $HOME/.cache/pip $HOME/.local/bin .venv/bin
test -e $HOME/.cache/pip/wheel || echo 'downloaded: wheel' > $HOME/.cache/pip/wheel
echo 'installed: tool' > $HOME/.local/bin/tool
echo 'echo the tool' > .venv/bin/tool; chmod +x .venv/bin/tool
echo changed by the setup >> tracked
";

/// Uses what is installed, and damages it for later runs.
const TEST: &str = "sh .venv/bin/tool; cat tracked; cat $HOME/.cache/pip/* code; git log --oneline | wc -l; git status --short
echo 'echo poison' > .venv/bin/tool; echo poison > $HOME/.cache/pip/wheel; rm -r .venv/bin
echo 1..1; echo ok 1 - adds";

/// A repository with a setup, for several changes of the same base commit.
struct Sample(ChangeTester);

/// The files that differ between commits: those of the setup, and the code.
struct Files<'a> {
    setup: &'a str,
    code: &'a str,
}

impl<'a> Files<'a> {
    fn all(&self) -> [(&'a str, &'a str); 5] {
        [
            ("setup.sh", self.setup),
            ("test.sh", TEST),
            ("tracked", "tracked\n"),
            ("code", self.code),
            (".gitignore", ".venv\n"),
        ]
    }
}

impl Sample {
    async fn new(mode: IsolationMode) -> Self {
        Self::with(mode, |_| ()).await
    }

    async fn with(mode: IsolationMode, change: impl FnOnce(&mut TestingSettings)) -> Self {
        let mut settings = TestingSettings {
            setup_time: Duration::from_secs(60),
            test_time: Duration::from_secs(60),
            keep: 1 << 30,
            ..TestingSettings::default()
        };
        change(&mut settings);
        Self(ChangeTester::new(mode, settings).await)
    }

    /// Tests a change of one commit.
    async fn tested(&self, before: Files<'_>, after: Files<'_>) -> TestRunResult {
        self.tested_on(before, after, true).await
    }

    async fn tested_on(
        &self,
        before: Files<'_>,
        after: Files<'_>,
        base_is_of_the_default_branch: bool,
    ) -> TestRunResult {
        let (before, after) = (before.all(), after.all());
        let change = TestedChange {
            base_is_of_the_default_branch,
            ..TestedChange::new(self.0.commits_of(&before, &after), setup_and_test())
        };
        self.0.tested("one", change).await
    }

    /// Paths kept for all orders, relative to the environment's name.
    fn kept(&self, part: &str) -> Vec<String> {
        let shelf = self.0.testing.workspaces.environments(&name());
        let environments = std::fs::read_dir(shelf).into_iter().flatten().flatten();
        let mut kept: Vec<String> = environments
            .flat_map(|environment| {
                let root = environment.path().join(part);
                files(&root).into_iter().map(move |path| {
                    let below = path.strip_prefix(&root).expect("below").display().to_string();
                    format!("{below}: {}", std::fs::read_to_string(&path).unwrap_or_default().trim())
                })
            })
            .collect();
        // The registry configuration of package managers is not the setup's.
        kept.retain(|path| !path.starts_with(".m2/") && !path.starts_with(".gradle/"));
        kept.sort();
        kept
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name() != ".git")
        .flat_map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] })
        // An overlay's whiteout is not a file.
        .filter(|path| path.is_file())
        .collect()
}

fn said<'a>(tested: &'a TestRunResult, output: &str) -> &'a str {
    let found = tested.outputs.iter().find(|found| found.name == output);
    found.map_or("", |found| found.text.as_str())
}

fn plain(code: &str) -> Files<'_> {
    Files { setup: SETUP, code }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_environment_is_made_once_and_what_its_tests_write_there_nobody_else_sees() {
    for mode in [IsolationMode::Bubblewrap, IsolationMode::None] {
        let sample = Sample::new(mode).await;
        let first = sample.tested(plain("one\n"), plain("two\n")).await;
        assert_eq!(first.run.verdict, TestVerdict::Passed, "{mode}: {first:#?}");
        assert_eq!(first.run.setup.as_ref().map(|setup| setup.command.as_str()), Some("sh setup.sh"));
        let setups = |tested: &TestRunResult| {
            tested.outputs.iter().filter(|output| output.text.contains("the setup ran")).count()
        };
        let what = |code: &str| format!("the tool\ntracked\ndownloaded: wheel\n{code}\n1\n1..1\nok 1 - adds");
        assert_eq!(said(&first, "tests").trim(), what("two"), "{mode}");
        assert_eq!(said(&first, "tests-base").trim(), what("one"), "{mode}");

        // Another order: another change on another base, with the same dependencies.
        let second = sample.tested(plain("three\n"), plain("four\n")).await;
        assert_eq!(second.run.verdict, TestVerdict::Passed, "{mode}: {second:#?}");
        assert_eq!(said(&second, "tests").trim(), what("four"), "{mode}");
        if mode == IsolationMode::Bubblewrap {
            assert_eq!(setups(&second), 0, "nothing is installed: {second:#?}");
            assert_eq!(sample.kept("tree"), [".venv/bin/tool: echo the tool", "tracked: tracked"]);
            assert_eq!(
                sample.kept("home"),
                [".cache/pip/wheel: downloaded: wheel", ".local/bin/tool: installed: tool"]
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_change_installs_lies_on_what_the_base_downloaded_and_is_its_own() {
    let sample = Sample::new(IsolationMode::Bubblewrap).await;
    let hostile =
        format!("{SETUP}\necho poison > $HOME/.cache/pip/wheel; echo poison > $HOME/.cache/pip/more\n");
    let after = Files { setup: &hostile, code: "two\n" };
    let first = sample.tested(plain("one\n"), after).await;
    assert_eq!(first.run.verdict, TestVerdict::Passed, "{first:#?}");
    assert_eq!(said(&first, "setup").lines().nth(1), Some("downloaded: wheel"), "{first:#?}");
    assert!(!said(&first, "setup").contains("installed: tool"), "{first:#?}");
    assert!(said(&first, "tests").contains("poison\npoison"), "{first:#?}");
    let kept = [".cache/pip/wheel: downloaded: wheel", ".local/bin/tool: installed: tool"];
    assert_eq!(sample.kept("home"), kept, "nothing that a change does is kept");

    let more = format!("{SETUP}# Another change.\n");
    let second = sample.tested(plain("one\n"), Files { setup: &more, code: "two\n" }).await;
    let setup = said(&second, "setup");
    assert!(setup.contains("downloaded: wheel") && !setup.contains("poison"), "{setup}");

    // The base moves: the earlier downloads are the layer below the new ones.
    let moved = format!("{SETUP}echo 'downloaded: more' > $HOME/.cache/pip/more\n");
    let moved = || Files { setup: &moved, code: "one\n" };
    let third = sample.tested(moved(), Files { code: "two\n", ..moved() }).await;
    assert_eq!(third.run.verdict, TestVerdict::Passed, "{third:#?}");
    let added = sample.kept("home").into_iter().filter(|path| path.starts_with(".cache")).collect::<Vec<_>>();
    assert_eq!(added, [".cache/pip/more: downloaded: more", ".cache/pip/wheel: downloaded: wheel"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_with_an_agents_work_below_it_fills_nothing_that_others_use() {
    let sample = Sample::new(IsolationMode::Bubblewrap).await;
    let tested = sample.tested_on(plain("one\n"), plain("two\n"), false).await;
    assert_eq!(tested.run.verdict, TestVerdict::Passed);
    assert_eq!(sample.kept("home"), Vec::<String>::new());
    assert_eq!(sample.kept("tree"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_setup_makes_of_the_sources_is_made_of_each_commits_own() {
    let sample = Sample::new(IsolationMode::Bubblewrap).await;
    let builds = format!("{SETUP}cat code > built\n");
    let builds = |code: &'static str| (builds.clone(), code);
    let (base, change) = (builds("one\n"), builds("two\n"));
    let as_files = |(setup, code): &(String, &'static str)| (setup.clone(), *code);
    let ((before, one), (after, two)) = (as_files(&base), as_files(&change));
    let tested = sample.tested(Files { setup: &before, code: one }, Files { setup: &after, code: two }).await;
    assert_eq!(tested.run.verdict, TestVerdict::Passed, "{tested:#?}");
    assert!(said(&tested, "setup").contains("the setup ran"), "{tested:#?}");
    assert_eq!(sample.kept("tree"), [".venv/bin/tool: echo the tool", "built: one", "tracked: tracked"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_used_for_long_is_taken_away_once_there_is_too_much() {
    let sample = Sample::with(IsolationMode::Bubblewrap, |settings| settings.keep = 0).await;
    sample.tested(plain("one\n"), plain("two\n")).await;
    let other = "echo other > $HOME/.other; mkdir .venv; echo : > .venv/x\n";
    let other = |code: &'static str| Files { setup: other, code };
    let tested = sample.tested(other("one\n"), other("two\n")).await;
    assert_eq!(tested.run.verdict, TestVerdict::Passed, "{tested:#?}");
    // The one used last is based on the earlier downloads.
    assert_eq!(
        sample.kept("home"),
        [".cache/pip/wheel: downloaded: wheel", ".local/bin/tool: installed: tool", ".other: other"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_what_is_installed_has_no_network_for_its_setup_unless_that_is_allowed() {
    const ASKS: &str = "echo \"door: ${https_proxy:-none}\"; test -n \"$https_proxy\" && mkdir .venv .venv/bin\n\
                        echo : > .venv/bin/tool\n";
    let mut sample = Sample::new(IsolationMode::Bubblewrap).await;
    let edited = format!("{ASKS}# Edited.\n");
    let files = || (Files { setup: ASKS, code: "one\n" }, Files { setup: &edited, code: "one\n" });
    let (before, after) = files();
    let kept_out = sample.tested(before, after).await;
    let setup = said(&kept_out, "setup");
    assert!(setup.contains("door: none"), "{kept_out:#?}");
    for words in ["setup.sh", "sandbox.setup_network_for_changes = true", "journeyman.toml"] {
        assert!(setup.contains(words), "{setup}");
    }
    // Its code is tested anyway, but its installed files do not count as tested.
    assert_eq!(kept_out.run.verdict, TestVerdict::Passed, "{kept_out:#?}");
    insta::assert_snapshot!(kept_out.run.doubt.as_deref().unwrap_or_default(), @"the change edits setup.sh, and its own setup failed without a network, so that its tests ran with what the setup of the base installs; sandbox.setup_network_for_changes = true in journeyman.toml gives it one");
    sample.0.testing.settings.setup_network_for_changes = true;
    let (before, after) = files();
    let commits = sample.0.commits_of(&before.all(), &after.all());
    let of_a_fork = TestedChange { is_of_a_fork: true, ..TestedChange::new(commits, setup_and_test()) };
    let forked = sample.0.tested("one", of_a_fork).await;
    assert!(said(&forked, "setup").contains("door: none"), "{forked:#?}");
    let doubt = forked.run.doubt.as_deref().unwrap_or_default();
    assert!(doubt.ends_with("a change that may be a fork's gets none"), "{doubt}");
    let (before, after) = files();
    let let_in = sample.tested(before, after).await;
    assert_eq!(let_in.run.verdict, TestVerdict::Passed, "{let_in:#?}");
    assert!(said(&let_in, "setup").contains("door: http://"), "{let_in:#?}");
    let base = let_in.run.scrutiny.as_ref().map(|scrutiny| &scrutiny.baseline);
    assert!(
        base.is_some_and(|base| base.kept),
        "its setup had the network while the change's had none: {let_in:#?}"
    );
}

/// Tests with a tool that the setup installs.
const TESTED_BY_TOOL: &str = "sh .venv/bin/tool\n";
/// Installs a tool that checks the code.
const HONEST_TOOL: &str = "mkdir -p .venv/bin; cat > .venv/bin/tool <<'END'
echo 1..1; if grep -q mended code; then echo ok 1 - adds; else echo not ok 1 - adds; exit 1; fi
END
";

async fn tested_by_tool(after: [(&str, &str); 2]) -> TestRunResult {
    let sample = Sample::with(IsolationMode::Bubblewrap, |settings| {
        settings.setup_network_for_changes = true;
    })
    .await;
    let same = [("test.sh", TESTED_BY_TOOL), (".gitignore", ".venv\n")];
    let before = [&same[..], &[("setup.sh", HONEST_TOOL), ("code", "broken\n")]].concat();
    let after = [&same[..], &after].concat();
    let commits = sample.0.commits_of(&before, &after);
    sample.0.tested("one", TestedChange::new(commits, setup_and_test())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_whose_own_setup_makes_its_tests_pass_verifies_nothing() {
    let forged = "mkdir -p .venv/bin; echo 'echo 1..1; echo ok 1 - adds' > .venv/bin/tool\n";
    let tested = tested_by_tool([("setup.sh", forged), ("code", "still broken\n")]).await;
    insta::assert_snapshot!(tested.run.doubt.as_deref().unwrap_or_default(), @"the change edits setup.sh, and its tests were not seen to pass both with what its own setup installs and with what that of the base does");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_passes_with_its_own_setup_and_with_the_bases_is_not_doubted_for_it() {
    let edited = format!("{HONEST_TOOL}echo installed\n");
    let tested = tested_by_tool([("setup.sh", &edited), ("code", "mended\n")]).await;
    assert_eq!(tested.run.verdict, TestVerdict::Passed, "{tested:#?}");
    assert_eq!(tested.run.doubt, None);
    let fixed = tested.run.scrutiny.map(|scrutiny| scrutiny.comparison.fixed.names);
    assert_eq!(fixed, Some(vec!["adds".to_owned()]));
}

/// Installs the package that the crate depends on, where a registry's packages would be.
const INSTALLS: &str = "mkdir -p $HOME/packages/slow/src && cd $HOME/packages/slow &&
printf '[package]\\nname = \"slow\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n' > Cargo.toml &&
echo 'pub const TWO: i64 = 2;' > src/lib.rs && echo '{\"files\":{}}' > .cargo-checksum.json
";
const REGISTRY: &str = "[source.crates-io]\nreplace-with = \"home\"\n\
                        [source.home]\ndirectory = \"/workspace/home/packages\"\n";
const MANIFEST: &str = "[package]\nname = \"sample\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\
                        [dependencies]\nslow = \"1\"\n";

/// Tests a change that mends a sum of a crate.
async fn tested_crate(test: &str) -> TestRunResult {
    let sample = Sample::new(IsolationMode::Bubblewrap).await;
    let code = |sum: &str| {
        format!(
            "pub fn twice(one: i64) -> i64 {{\n    {sum}\n}}\n\n#[cfg(test)]\nmod tests {{\n    #[test]\n    \
             fn of_three() {{\n        assert_eq!(super::twice(3), 6);\n    }}\n}}\n"
        )
    };
    let [before, after] = ["slow::TWO + one", "slow::TWO * one"].map(code);
    let same = [
        ("setup.sh", INSTALLS),
        (".cargo/config.toml", REGISTRY),
        ("Cargo.toml", MANIFEST),
        (".gitignore", "Cargo.lock\ntarget\n"),
    ];
    let [before, after] =
        [&before, &after].map(|code| [&same[..], &[("src/lib.rs", code.as_str())]].concat());
    let commits = sample.0.commits_of(&before, &after);
    let settings = RepositorySettings { test: Some(test.to_owned()), ..setup_and_test() };
    let tested = sample.0.tested("one", TestedChange::new(commits, settings)).await;
    assert_eq!(tested.run.verdict, TestVerdict::Passed, "{tested:#?}");
    for run in ["tests-base", "tests"] {
        let said = said(&tested, run);
        assert!(said.contains("Compiling sample v1.0.0"), "{run}: {said}");
        assert!(!said.contains("Compiling slow"), "{run}: {said}");
    }
    assert!(said(&tested, "tests-base").contains("1 failed"), "{tested:#?}");
    tested
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependencies_are_built_once_and_each_run_compiles_the_repositorys_own_code() {
    let tested = tested_crate("cargo test --offline").await;
    let fixed = tested.run.scrutiny.map(|scrutiny| scrutiny.comparison.fixed.names);
    assert_eq!(fixed.map(|names| names.len()), Some(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_looks_older_than_the_bases_build_is_compiled() {
    tested_crate("touch -d 1990-01-01 src/lib.rs && cargo test --offline").await;
}
