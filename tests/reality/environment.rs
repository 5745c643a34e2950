//! `journeyman environment` on local repositories: its output, the files it writes, and its exit code.

use std::fs;
use std::path::PathBuf;

use journeyman::config::repository_settings;
use serde_json::Value;
use tempfile::TempDir;

use super::program::{Ended, Running, journeyman};

/// A setup that creates what the tests need and prints a line each time it runs.
const SETTINGS: &str = "setup: echo installing; echo 42 > expected\ntest: sh test.sh\n";
const TEST: &str = "echo 1..2; echo ok 1 - begins\n\
    if [ \"$(cat answer)\" = \"$(cat expected)\" ]; then echo ok 2 - adds; else echo not ok 2 - adds; exit 1; fi\n";

struct Repository {
    folder: TempDir,
}

impl Repository {
    fn new(files: &[(&str, &str)]) -> Self {
        let repository = Self { folder: TempDir::new().expect("a folder") };
        git2::Repository::init(repository.at("sample")).expect("a repository");
        repository.commit(files);
        repository
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let file = self.at("sample").join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }

    fn commit(&self, files: &[(&str, &str)]) {
        files.iter().for_each(|(path, text)| self.write(path, text));
        let repository = git2::Repository::open(self.at("sample")).expect("a repository");
        let mut index = repository.index().expect("an index");
        for (path, _) in files {
            index.add_path(path.as_ref()).expect("a file");
        }
        index.write().expect("the index");
        let tree = repository.find_tree(index.write_tree().expect("a tree")).expect("a tree");
        let who = git2::Signature::new("Ada", "ada@example.org", &git2::Time::new(0, 0)).expect("a name");
        let parent = repository.head().ok().map(|head| head.peel_to_commit().expect("a commit"));
        let parents: Vec<_> = parent.iter().collect();
        repository.commit(Some("HEAD"), &who, &who, "Files", &tree, &parents).expect("a commit");
    }

    async fn look(&self, more: &[&str]) -> Ended {
        let mut arguments = vec!["environment", "--repo", "sample"];
        arguments.extend(more);
        let mut command = journeyman(self.folder.path(), &arguments);
        command.env("XDG_CACHE_HOME", self.at("cache"));
        Running::start(command).end().await
    }

    /// The output, without what differs between runs.
    fn told(&self, ended: &Ended) -> String {
        let folder = self.folder.path().canonicalize().expect("the folder");
        let text = ended.printed.replace(&folder.display().to_string(), "…");
        let text = text.replace(&self.folder.path().display().to_string(), "…");
        let times = regex::Regex::new(r"\d+\.\d s\b").expect("a pattern");
        let commit = regex::Regex::new(r"at [0-9a-f]{10}").expect("a pattern");
        commit.replace(&times.replace_all(&text, "N s"), "at COMMIT").into_owned()
    }
}

fn sample() -> Repository {
    Repository::new(&[(".github/journeyman.yml", SETTINGS), ("test.sh", TEST), ("answer", "42\n")])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_what_it_took_and_that_the_tests_pass_is_told_in_words() {
    let repository = sample();
    repository.write("answer", "7, and not committed\n");
    let ended = repository.look(&[]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    insta::assert_snapshot!(repository.told(&ended), @"
        …/sample at COMMIT (master)
          1 file differs from this commit; what is not committed is not used

        Found
          source    `.github/journeyman.yml`, which has `setup`
          place     this machine's own system and toolchains, in a sandbox
          setup     echo installing; echo 42 > expected  (.github/journeyman.yml)
          test      sh test.sh  (.github/journeyman.yml)

        Setup
          ✔ echo installing; echo 42 > expected  (N s)

        Tests
          ✔ they pass in N s: 2 passed
        ");

    let again = repository.look(&[]).await;
    assert_eq!(again.code, Some(0), "{}", again.said);
    assert!(again.printed.contains("installed before"), "{}", again.printed);
    assert!(!again.said.contains("… echo installing"), "nothing is installed again: {}", again.said);
    assert!(again.said.contains("… sh test.sh"), "the tests run each time: {}", again.said);
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_that_fail_are_named() {
    let repository = sample();
    repository.commit(&[("answer", "41\n")]);
    let ended = repository.look(&[]).await;
    assert_eq!(ended.code, Some(4), "{}", ended.said);
    let told = repository.told(&ended);
    insta::assert_snapshot!(told.split_once("\nTests\n").expect("tests").1, @"
        ✘ 1 of 2 fail in N s
          │ adds
        The environment works. A change is verified only where the whole command passes: mend these tests, or name a `test`
        in .github/journeyman.yml that leaves them out, or accept: no_new_failures.
        ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setup_that_fails_is_told_with_the_line_that_says_why_and_what_to_change() {
    let repository = sample();
    let settings = "setup: |-\n  echo collecting roads\n  echo 'ERROR: no such package: roads' >&2\n  echo see the log\n  exit 3\ntest: sh test.sh\n";
    repository.commit(&[(".github/journeyman.yml", settings)]);
    let ended = repository.look(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let told = repository.told(&ended);
    insta::assert_snapshot!(told.split_once("\nSetup\n").expect("setup").1, @"
          ✘ echo collecting roads …  (exit code 3, N s)
            │ collecting roads
            │ ERROR: no such package: roads
            │ see the log

        Tests
          ✘ not run, since the setup failed
            │ ERROR: no such package: roads
          → Change `setup` in .github/journeyman.yml on the default branch, or what it installs.
          Once it succeeds, `sh test.sh` runs the tests.
        ");
}

#[tokio::test(flavor = "multi_thread")]
async fn tests_that_cannot_run_are_told_from_tests_that_fail() {
    let repository = sample();
    repository.commit(&[(".github/journeyman.yml", "test: no-such-runner --all\n")]);
    let ended = repository.look(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let told = repository.told(&ended);
    insta::assert_snapshot!(told.split_once("\nTests\n").expect("tests").1, @"
        ✘ The tests `no-such-runner --all` cannot run
          │ /usr/bin/sh: 2: no-such-runner: not found
        → Name what installs all that the tests need as `setup` in .github/journeyman.yml on the default branch; `journeyman environment --repo PATH --init` writes one to begin with.
        ");

    let repository = Repository::new(&[("notes.txt", "no tests here\n")]);
    let ended = repository.look(&[]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    let told = repository.told(&ended);
    insta::assert_snapshot!(told.split_once("\nFound\n").expect("what was found").1, @"
          source    nothing: no settings, no development container, and no manifest that is known
          place     this machine's own system and toolchains, in a sandbox

        Setup
          ✔ nothing to install

        Tests
          ✘ No tests were found
          → Name the command that runs the tests as `test` in .github/journeyman.yml: without tests, nothing that an agent does can be verified.
        ");
}

#[tokio::test(flavor = "multi_thread")]
async fn init_writes_a_file_that_says_the_same_and_never_overwrites_one() {
    let makefile = "test:\n\t@echo 1..1; echo ok 1\n";
    let repository = Repository::new(&[("Makefile", makefile)]);
    let ended = repository.look(&["--init"]).await;
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let told = repository.told(&ended);
    insta::assert_snapshot!(told.split_once("\nWrote ").expect("what was written").1, @"
        …/sample/.github/journeyman.yml:

            # How Journeyman prepares and tests this repository. It is read from the default branch.
            # Made by `journeyman environment --init` from make, found by `Makefile`.

            # Runs the tests, without network; its exit code decides.
            test: make test

          Adapt it, and commit it to the default branch: Journeyman reads it from there.
        ");
    let written = fs::read(repository.at("sample/.github/journeyman.yml")).expect("the file");
    let settings = repository_settings(&written).expect("settings");
    assert_eq!(settings.test.as_deref(), Some("make test"));

    let again = repository.look(&["--init"]).await;
    assert_eq!(again.code, Some(0), "{}", again.said);
    assert!(again.printed.contains(".github/journeyman.yml is one of them: commit it to have it used"));
    assert!(again.printed.contains("is there already, and was not changed"), "{}", again.printed);
    assert_eq!(fs::read(repository.at("sample/.github/journeyman.yml")).expect("the file"), written);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_init_writes_comes_to_the_same_environment_once_it_is_committed() {
    let manifest = r#"{"name": "sample", "version": "1.0.0", "dependencies": {"roads": "file:roads"},
        "scripts": {"test": "sh test.sh"}}"#;
    let lock = r#"{"name": "sample", "version": "1.0.0", "lockfileVersion": 3, "packages": {
        "": {"name": "sample", "version": "1.0.0", "dependencies": {"roads": "file:roads"}},
        "node_modules/roads": {"resolved": "roads", "link": true}, "roads": {"version": "1.0.0"}}}"#;
    let test = "echo 1..1; test -e node_modules/roads/package.json && echo ok 1 - adds\n";
    let repository = Repository::new(&[
        ("package.json", manifest),
        ("package-lock.json", lock),
        ("roads/package.json", r#"{"name": "roads", "version": "1.0.0"}"#),
        ("test.sh", test),
    ]);
    let document = |ended: &Ended| -> Value { serde_json::from_str(&ended.printed).expect("JSON") };
    let first = repository.look(&["--json", "--init"]).await;
    assert_eq!(first.code, Some(0), "{}", first.said);
    let first = document(&first);
    let written = first["init"]["text"].as_str().expect("the file").to_owned();
    assert!(written.contains("setup: npm ci"), "{written}");
    assert!(!written.contains("env:"), "what belongs to npm is set anyway: {written}");

    repository.commit(&[(".github/journeyman.yml", &written)]);
    let second = repository.look(&["--json"]).await;
    assert_eq!(second.code, Some(0), "{}", second.said);
    let second = document(&second);
    let commands = |document: &Value| {
        let setup = document["found"]["setup"].as_array().expect("a setup").clone();
        let setup: Vec<Value> = setup.into_iter().map(|setup| setup["command"].clone()).collect();
        (setup, document["found"]["test"]["command"].clone(), document["found"]["search_path"].clone())
    };
    assert_eq!(commands(&first), commands(&second));
    assert_eq!(first["found"]["variables"], second["found"]["variables"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn init_writes_nothing_where_a_link_leads() {
    let repository = Repository::new(&[("Makefile", "test:\n\t@echo 1..1; echo ok 1\n")]);
    fs::create_dir(repository.at("elsewhere")).expect("a folder");
    std::os::unix::fs::symlink(repository.at("elsewhere"), repository.at("sample/.github")).expect("a link");
    let ended = repository.look(&["--init"]).await;
    assert_eq!(ended.code, Some(1), "{}", ended.said);
    assert!(ended.said.contains("is a link"), "{}", ended.said);
    assert_eq!(fs::read_dir(repository.at("elsewhere")).expect("the folder").count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn as_json_it_is_one_document() {
    let repository = sample();
    repository.commit(&[("answer", "41\n")]);
    let ended = repository.look(&["--json", "--init"]).await;
    let document: Value = serde_json::from_str(&ended.printed).expect("standard output is JSON alone");
    assert_eq!((ended.code, &document["exit_code"]), (Some(4), &4.into()));
    assert_eq!(document["result"], "failed");
    assert_eq!(document["found"]["setup"][0]["because"], ".github/journeyman.yml");
    assert_eq!(document["setup"]["commands"][0]["exit_code"], 0);
    assert_eq!(document["setup"]["installed_before"], false);
    assert_eq!(document["tests"]["counts"]["failed"], 1, "{document:#}");
    assert_eq!(document["tests"]["failing"][0], "adds", "{document:#}");
    assert_eq!((&document["init"]["written"], &document["init"]["text"]), (&false.into(), &"".into()));
}
