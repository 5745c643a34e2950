//! From the program to a verified pull request with only a browser, in the steps of docs/QUICKSTART.md. Also takes its
//! screenshots.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::setup::{Setup, github, settings};
use crate::browser::Browser;
use crate::world::{MAINTAINER, REPOSITORY};

const DEADLINE: Duration = Duration::from_secs(120);

/// The steps that a person takes.
struct Steps {
    browser: Browser,
    pictures: PathBuf,
    taken: Vec<&'static str>,
    /// Buttons pressed so far.
    presses: usize,
    shown: Vec<String>,
}

impl Steps {
    fn step(&mut self, what: &'static str) {
        self.taken.push(what);
    }

    /// Takes a screenshot of the page when the person has to act.
    fn show(&mut self, name: &str) {
        self.browser.size(1280, 800);
        self.browser.dark(false);
        let name = format!("quickstart-{}-{name}", self.taken.len());
        self.browser.picture_in(&self.pictures, &name);
        self.shown.push(name);
    }

    fn press(&mut self, selector: &str) {
        self.presses += 1;
        self.browser.follow(selector);
    }
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// The folder for screenshots; the docs' own if they are to be updated.
fn pictures() -> PathBuf {
    match std::env::var_os("JOURNEYMAN_UPDATE_DOCS") {
        Some(_) => docs().join("images"),
        None => Path::new(env!("CARGO_TARGET_TMPDIR")).join("quickstart"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_steps_lead_from_the_program_to_a_verified_pull_request() {
    let Some(browser) = tokio::task::block_in_place(Browser::start) else { return };
    let github = github().await;
    let place = tempfile::Builder::new().prefix("journeyman-story-").tempdir().unwrap();
    // A person with Claude Code needs no such file: it names the scripted agent.
    let file = settings(place.path(), "home/.config/journeyman");
    let home = place.path().join("home");
    let mut steps = Steps { browser, pictures: pictures(), taken: Vec::new(), presses: 0, shown: Vec::new() };
    let log = place.path().join("setup.log");
    let (setup, dashboard, token) = tokio::task::block_in_place(|| {
        // `make build` or install.sh has already installed the program.
        steps.step("Get the program");
        steps.step("Run `journeyman setup`, and name the App");
        let mut command = Command::new(env!("CARGO_BIN_EXE_journeyman"));
        command.arg("setup").current_dir(&home).env("HOME", &home).env_remove("XDG_CONFIG_HOME");
        let setup = Setup::run(command, &log);
        steps.browser.open(&setup.page);
        steps.browser.fill("[name=github]", &github.origin());
        steps.browser.fill("[name=name]", "Journeyman of Octo");
        steps.show("app");
        steps.press("main form button");

        steps.step("Create it on GitHub");
        steps.show("create");
        steps.press("main form button");
        assert!(steps.browser.text().contains("Create GitHub App"), "{}", steps.browser.text());
        steps.press("form button");

        steps.step("Install it on repositories");
        steps.show("install");
        let install = steps.browser.eval("document.querySelector('main a.button').href");
        steps.presses += 1;
        steps.browser.open(install.as_str().unwrap());
        steps.press("form button");
        // The page that waits is in the other tab.
        steps.browser.open(&setup.page);

        steps.step("Give the agent's key, and start the server");
        steps.browser.until("document.querySelector('[name=key]')");
        steps.browser.fill("[name=key]", "sk-of-the-agent");
        steps.show("key");
        steps.press("main form button");
        steps.browser.until("document.querySelector('.checks')");
        assert!(steps.browser.text().contains("Nothing has to be fixed"), "{}", steps.browser.text());
        steps.show("checks");
        steps.press("form[action=serve] button");
        steps.browser.until("document.querySelector('main pre')");
        assert!(steps.browser.text().contains("Journeyman is ready"), "{}", steps.browser.text());
        steps.show("ready");
        let token = steps.browser.eval("document.querySelector('main pre').innerText");
        let dashboard = steps.browser.eval("document.querySelector('main a.button').href");
        (setup, dashboard.as_str().unwrap().to_owned(), token.as_str().unwrap().trim().to_owned())
    });
    assert!(file.exists() && !home.join("journeyman.toml").exists());

    let issue = github.open_issue(REPOSITORY, MAINTAINER, "The answer is wrong", "It says 41, not 42.").await;
    let issue = issue.unwrap();
    tokio::task::block_in_place(|| {
        steps.step("Put the label on an issue");
        let page = format!("{}/{REPOSITORY}/issues/{issue}", github.origin());
        steps.browser.open(&page);
        steps.browser.eval(&format!(
            "fetch('/_as', {{method: 'POST', body: new URLSearchParams({{login: '{MAINTAINER}', back: '/'}})}})"
        ));
        steps.browser.open(&page);
        steps.browser.fill("[name=label]", "journeyman");
        steps.show("label");
        steps.press("form[action$='/label'] button");
    });

    let begun = Instant::now();
    let is_done = || {
        let labels = github.issue(REPOSITORY, issue).map(|seen| seen.labels).unwrap_or_default();
        labels.iter().any(|label| label == "journeyman:done")
    };
    let is_complete = |head: &str| {
        let runs = github.check_runs(REPOSITORY, head);
        !runs.is_empty() && runs.iter().all(|run| run.conclusion.is_some())
    };
    let pull = loop {
        match github.pulls(REPOSITORY).into_iter().find(|pull| !pull.draft && is_done()) {
            // The check run is written last.
            Some(pull) if is_complete(&pull.head_sha) => break pull,
            Some(_) | None => {
                assert!(begun.elapsed() < DEADLINE, "{}", std::fs::read_to_string(&log).unwrap())
            }
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    };
    assert!(pull.issue.body.contains("Verified"), "{}", pull.issue.body);
    tokio::task::block_in_place(|| {
        let number = pull.issue.number;
        steps.browser.open(&format!("{}/{REPOSITORY}/pull/{number}", github.origin()));
        steps.show("pull-request");
        steps.browser.open(&dashboard);
        steps.browser.fill("[name=token]", &token);
        steps.press("main form button");
        steps.browser.eval("document.querySelector('a[href^=\"/orders/\"]').click()");
        steps.browser.until("document.querySelector('.steps')");
        // The last writes to GitHub are still in progress.
        steps.browser.until("!document.body.innerText.includes('Waits for')");
        steps.show("dashboard");
    });

    assert_eq!((steps.taken.len(), steps.presses), (6, 9), "{:?}", steps.taken);
    let page = std::fs::read_to_string(docs().join("QUICKSTART.md")).unwrap();
    for (number, step) in (1..).zip(&steps.taken) {
        assert!(page.contains(&format!("## {number}. {step}\n")), "{step}: {page}");
    }
    for name in &steps.shown {
        assert!(page.contains(&format!("](images/{name}.png)")), "{name}: {page}");
        assert!(docs().join(format!("images/{name}.png")).exists(), "{name}");
    }
    drop(setup);
    github.stop().await;
}
