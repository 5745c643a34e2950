//! `journeyman serve` with an emulated GitHub: one repository, one person and one issue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use journeyman::emulator::{Emulator, EmulatorOptions, PullView, RepositoryRole, RepositorySource, keys};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{Ended, PATIENCE, Running, journeyman};
use crate::conformance;

pub const REPOSITORY: &str = "acme/sums";
const PERSON: &str = "alice";
const SECRET: &str = "the-webhook-secret-of-this-story";
const TOKEN: &str = "a-token-for-this-story-only";

pub struct World {
    pub github: Emulator,
    pub issue: u64,
    program: Running,
    address: String,
    folder: TempDir,
}

impl World {
    /// Starts everything; the issue has no label yet. `environment` holds additional variables for the server.
    pub async fn start(
        agents: &str,
        environment: &[(&str, &str)],
        files: &[(&str, &str)],
        issue: (&str, &str),
    ) -> Self {
        let serve = |folder: &Path| {
            let mut command = journeyman(folder, &["serve"]);
            command.envs(environment.iter().copied());
            command
        };
        Self::start_by(serve, agents, files, issue).await
    }

    /// The same with another command, created in the server's folder. `FOLDER` in `agents` is that folder.
    pub async fn start_by(
        serve: impl FnOnce(&Path) -> Command,
        agents: &str,
        files: &[(&str, &str)],
        issue: (&str, &str),
    ) -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let keys = keys::generate().expect("keys");
        let options = EmulatorOptions::local(7, keys.public_pem.clone(), SecretString::from(SECRET));
        let github = Emulator::start(options).await.expect("GitHub, emulated");
        let files: BTreeMap<String, Vec<u8>> =
            files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        github.create_repository(REPOSITORY, RepositorySource::Files(files)).await.expect("a repository");
        github.add_user(PERSON);
        github.set_permission(REPOSITORY, PERSON, RepositoryRole::Write).expect("permission");
        let issue = github.open_issue(REPOSITORY, PERSON, issue.0, issue.1).await.expect("an issue");

        let key = folder.path().join("app.pem");
        write_private(&key, keys.private_pem.expose_secret());
        let agents = agents.replace("FOLDER", &folder.path().display().to_string());
        let settings = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\napi_token = \"{TOKEN}\"\n\
             [github]\napi_url = \"{}\"\napp_id = 7\nprivate_key_path = \"app.pem\"\n\
             webhook_secret = \"{SECRET}\"\n{agents}",
            github.api_url()
        );
        write_private(&folder.path().join("journeyman.toml"), &settings);
        let mut program = Running::start(serve(folder.path()));
        let address = program
            .hears("an address to listen on", |said| {
                let (_, rest) = said.split_once("listening on http://")?;
                rest.split_once(',').map(|(address, _)| format!("http://{address}"))
            })
            .await;
        github.set_webhook_url(&format!("{address}/webhook"));
        Self { github, issue, program, address, folder }
    }

    /// A person with write access adds the label.
    pub async fn label(&self) {
        self.github.label(REPOSITORY, self.issue, "journeyman", PERSON).await.expect("the label goes on");
    }

    /// Waits for something on GitHub.
    pub async fn sees<T>(&self, what: &str, look: impl FnMut(&Emulator) -> Option<T>) -> T {
        match self.github.wait_for(what, PATIENCE, look).await {
            Ok(seen) => seen,
            Err(error) => {
                let issue = self.github.issue(REPOSITORY, self.issue);
                panic!("{error:#}\n{}\n{issue:#?}\n{:#?}", self.program.said(), self.steps().await)
            }
        }
    }

    /// Waits for a pull request that is ready for review.
    pub async fn ready_pull(&self) -> PullView {
        self.sees("a pull request that is ready", |github| {
            github.pulls(REPOSITORY).into_iter().find(|pull| !pull.draft)
        })
        .await
    }

    /// Waits until the status comment contains this, and returns all of it.
    pub async fn status_that_says(&self, words: &str) -> String {
        let issue = self.issue;
        self.sees(words, |github| {
            let comments = github.issue(REPOSITORY, issue)?.comments;
            comments.into_iter().map(|comment| comment.body).find(|body| body.contains(words))
        })
        .await
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until the server has printed this.
    pub async fn hears(&mut self, words: &str) {
        self.program.hears(words, |said| said.contains(words).then_some(())).await;
    }

    /// The server's output so far.
    pub fn said(&self) -> String {
        self.program.said()
    }

    /// Gets a path of the REST API.
    pub async fn ask(&self, path: &str) -> Value {
        let request = reqwest::Client::new().get(format!("{}{path}", self.address)).bearer_auth(TOKEN);
        let answer = request.send().await.expect("an answer").error_for_status().expect("a good one");
        answer.json().await.expect("JSON")
    }

    /// The steps of the only order.
    pub async fn steps(&self) -> Vec<Value> {
        let orders = self.ask("/api/v1/work-orders").await;
        let id = orders["work_orders"][0]["id"].as_str().unwrap_or_else(|| panic!("{orders:#}")).to_owned();
        let steps = self.ask(&format!("/api/v1/work-orders/{id}/steps")).await;
        steps["steps"].as_array().unwrap_or_else(|| panic!("{steps:#}")).clone()
    }

    /// Files in the server's folder, database and data included, that contain this text.
    pub fn files_that_hold(&self, text: &str) -> Vec<PathBuf> {
        let mut folders = vec![self.folder.path().to_owned()];
        let mut found = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let entry = entry.expect("an entry");
                let kind = entry.file_type().expect("its kind");
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_file() {
                    let bytes = std::fs::read(entry.path()).expect("a file");
                    if bytes.windows(text.len()).any(|part| part == text.as_bytes()) {
                        found.push(entry.path());
                    }
                }
            }
        }
        found
    }

    /// Sends SIGTERM like a service manager, and checks that all requests conformed to GitHub's descriptions.
    pub async fn stop(self) -> Ended {
        conformance::assert_conforming(&self.github);
        self.program.interrupt(rustix::process::Signal::TERM);
        self.program.end().await
    }
}

pub fn write_private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
}
