//! Checks every request of Journeyman's against GitHub's own descriptions: the OpenAPI document and the public GraphQL
//! schema from `make fetch`. Nothing here is specific to a route, so new requests are covered automatically.
//!
//! The descriptions say what GitHub accepts. Fields that they do not name count as errors, because GitHub silently
//! ignores them. Responses and required permissions are not checked here.

mod description;
mod graphql;
mod operation;
mod schema;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use journeyman::emulator::{ApiCall, Caller, Emulator};

/// The REST API version of the description. Another version needs another description.
const API_VERSION: &str = "2022-11-28";

/// What GitHub accepts although its description does not say so: part of the path, part of the complaint, and the
/// evidence.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "/replies",
        "an installation's token does not open this operation",
        "the description marks replies to review comments as closed to Apps, while the same comment made with \
         in_reply_to is open to them, and Apps reply in threads this way every day",
    ),
    (
        "/repositories/",
        "there is no such route",
        "GitHub redirects from a repository's former name to this one by its id, and reads follow it there",
    ),
];

/// What is wrong with Journeyman's requests to an emulator, each problem with its requests.
pub fn breaches(github: &Emulator) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut breaches: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for call in github.calls() {
        // Identical requests, as in polling, are checked once.
        if is_ours(&call) && seen.insert((call.method.clone(), call.path.clone(), call.body.clone())) {
            for complaint in complaints(&call) {
                breaches.entry(complaint).or_default().push(format!("{} {}", call.method, call.path));
            }
        }
    }
    let told = breaches.into_iter().map(|(complaint, mut of)| {
        let more = of.split_off(of.len().min(3)).len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}: {complaint}", of.join(", "))
    });
    told.collect()
}

/// Fails if Journeyman sent anything that GitHub's descriptions do not allow.
pub fn assert_conforming(github: &Emulator) {
    let breaches = breaches(github);
    assert!(breaches.is_empty(), "GitHub does not describe what was sent to it:\n{}", breaches.join("\n"));
}

/// Requests of the App and anonymous ones. People's requests come from the stories, except those made for a signed-in
/// person.
fn is_ours(call: &ApiCall) -> bool {
    let is_person = matches!(call.caller, Caller::Person(_));
    call.path.starts_with("/api/") && (!is_person || call.user_agent == "journeyman")
}

fn complaints(call: &ApiCall) -> Vec<String> {
    let found = match call.path.strip_prefix("/api/graphql") {
        Some("") => graphql::complaints(call),
        _ => operation::complaints(call),
    };
    let mut found: Vec<String> = found.into_iter().chain(of_headers(call)).collect();
    found.retain(|what| {
        !EXCEPTIONS.iter().any(|(path, known, _)| call.path.contains(path) && what.contains(known))
    });
    found
}

/// Checks the headers that every request must have.
fn of_headers(call: &ApiCall) -> Vec<String> {
    let header = |name: &str| call.headers.get(name).map_or("", String::as_str);
    let mut wrong = Vec::new();
    if call.user_agent.is_empty() {
        wrong.push("no User-Agent: GitHub refuses that".to_owned());
    }
    if !header("accept").starts_with("application/vnd.github") {
        wrong.push(format!("Accept is {:?}, not application/vnd.github+json or the like", header("accept")));
    }
    if !header("authorization").eq_ignore_ascii_case("bearer") {
        wrong.push(format!("the scheme of Authorization is {:?}, not Bearer", header("authorization")));
    }
    if !call.body.is_empty() && !header("content-type").starts_with("application/json") {
        wrong.push(format!("Content-Type is {:?}, not application/json", header("content-type")));
    }
    let version = header("x-github-api-version");
    if version != API_VERSION {
        wrong.push(format!("X-GitHub-Api-Version is {version:?}, not {API_VERSION}"));
    }
    wrong
}

/// The text of one of GitHub's descriptions.
fn fetched(name: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(".cache/github").join(name);
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}: run `make fetch`", path.display()))
}
