//! Tests of the emulator itself, with the real git and plain HTTP.

mod apps;
mod checks;
mod git;
mod pages;
mod pulls;
mod reviews;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use super::{Emulator, EmulatorOptions, RepositorySource, keys};

pub(super) const APP: u64 = 4242;
pub(super) const REPOSITORY: &str = "octo/calc";

pub(super) fn keys() -> &'static keys::AppKeys {
    static KEYS: OnceLock<keys::AppKeys> = OnceLock::new();
    KEYS.get_or_init(|| keys::generate().expect("a key pair"))
}

pub(super) fn files(list: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    list.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

/// An emulator with the repository `octo/calc` and an App.
pub(super) async fn stage() -> Emulator {
    let secret = SecretString::from("It's a Secret to Everybody");
    let options = EmulatorOptions::local(APP, keys().public_pem.clone(), secret);
    let emulator = Emulator::start(options).await.expect("the emulator starts");
    let source = RepositorySource::Files(files(&[
        ("README.md", "# calc\n"),
        ("src/sum.py", "def add(a, b):\n    return a - b\n"),
        ("run.sh", "#!/bin/sh\n"),
    ]));
    emulator.create_repository(REPOSITORY, source).await.expect("the repository is made");
    emulator
}

pub(super) fn jwt(claims: &Value, algorithm: Algorithm) -> String {
    let key = EncodingKey::from_rsa_pem(keys().private_pem.expose_secret().as_bytes()).expect("the key");
    jsonwebtoken::encode(&Header::new(algorithm), claims, &key).expect("a token")
}

pub(super) fn app_token() -> String {
    let now = chrono::Utc::now().timestamp();
    jwt(&json!({"iss": APP, "iat": now - 60, "exp": now + 540}), Algorithm::RS256)
}

/// The answer to a request for a token, restricted by the body.
pub(super) async fn ask_token(emulator: &Emulator, body: &Value) -> (u16, Value) {
    let path = format!("/app/installations/{}/access_tokens", emulator.installation_id());
    call(emulator, "POST", &path, &app_token(), body.clone()).await
}

/// An installation token, restricted by the body.
pub(super) async fn token(emulator: &Emulator, body: &Value) -> String {
    let (_, made) = ask_token(emulator, body).await;
    made["token"].as_str().expect("the token's text").to_owned()
}

/// The App opens a pull request from `fix` to `main`.
pub(super) async fn open_pull(emulator: &Emulator, draft: bool) -> Value {
    let body = json!({"title": "Fix", "head": "fix", "base": "main", "draft": draft});
    let token = full_token(emulator).await;
    let (status, pull) = call(emulator, "POST", "/repos/octo/calc/pulls", &token, body).await;
    assert_eq!(status, 201, "{pull}");
    pull
}

pub(super) async fn full_token(emulator: &Emulator) -> String {
    token(emulator, &json!({})).await
}

pub(super) async fn call(
    emulator: &Emulator,
    method: &str,
    path: &str,
    token: &str,
    body: Value,
) -> (u16, Value) {
    let client = reqwest::Client::builder().user_agent("story").no_proxy().build().expect("a client");
    let method = method.parse().expect("a method");
    let mut request = client.request(method, format!("{}{path}", emulator.api_url())).bearer_auth(token);
    if !body.is_null() {
        request = request.json(&body);
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    (status, response.json().await.unwrap_or(Value::Null))
}

/// Runs the real git; returns success and output.
pub(super) async fn git(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let done = tokio::process::Command::new("git")
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::var("PATH").expect("PATH"))
        .env("HOME", directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(arguments)
        .output()
        .await
        .expect("git runs");
    let text = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    (done.status.success(), text)
}

/// A repository's address for git.
pub(super) fn git_url(emulator: &Emulator, repository: &str) -> String {
    format!("{}/{repository}.git", emulator.origin())
}

/// The repository's address with a token in it, as only a test would write it.
pub(super) fn address(emulator: &Emulator, user: &str, token: &str) -> String {
    git_url(emulator, REPOSITORY).replace("http://", &format!("http://{user}:{token}@"))
}

pub(super) async fn branch_with_fix(emulator: &Emulator, branch: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let url = address(emulator, "x-access-token", &full_token(emulator).await);
    for arguments in [
        &["clone", "-q", url.as_str(), "."][..],
        &["checkout", "-q", "-B", branch],
        &["commit", "-q", "--allow-empty", "-m", "Fix the sum"],
        &["push", "-q", "origin", branch],
    ] {
        let (good, text) = git(folder.path(), arguments).await;
        assert!(good, "git {arguments:?}: {text}");
    }
    emulator.branch_head(REPOSITORY, branch).expect("the branch")
}
