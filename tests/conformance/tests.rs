//! Checks that violations are found, and that valid requests pass.

use chrono::Utc;
use journeyman::emulator::{ApiCall, Caller, Emulator, EmulatorOptions, keys};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{breaches, complaints};

/// A request as Journeyman's client makes it.
fn call(method: &str, path: &str, body: Option<Value>) -> ApiCall {
    let headers = [
        ("accept", "application/vnd.github+json"),
        ("authorization", "Bearer"),
        ("content-type", "application/json"),
        ("x-github-api-version", "2022-11-28"),
    ];
    ApiCall {
        at: Utc::now(),
        method: method.to_owned(),
        path: format!("/api{path}"),
        caller: Caller::Installation,
        user_agent: "journeyman".to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect(),
        body: body.map(|body| body.to_string()).unwrap_or_default(),
        status: Some(200),
    }
}

/// A request and, if it is invalid, part of the expected complaint.
fn hold(method: &str, path: &str, body: Option<Value>, wrong: Option<&str>) {
    let told = complaints(&call(method, path, body.clone()));
    let holds = match wrong {
        None => told.is_empty(),
        Some(words) => told.len() == 1 && told[0].contains(words),
    };
    assert!(holds, "{method} {path} {body:?}: {told:#?}, and not {wrong:?}");
}

const REPO: &str = "/v3/repos/acme/answers";

#[test]
fn requests_as_github_documents_them_are_right() {
    for (method, path, body) in [
        ("GET", "", None),
        ("GET", "/issues/7/comments?per_page=100&page=2", None),
        ("PATCH", "/issues/comments/7", Some(json!({"body": "Done."}))),
        ("POST", "/issues/7/labels", Some(json!({"labels": ["bug"]}))),
        ("DELETE", "/issues/7/labels/in%20work", None),
        // A title may be null; a field with several types needs one of them.
        ("PATCH", "/issues/7", Some(json!({"title": 7, "milestone": null, "state": "closed"}))),
        // A path with several segments, escaped or not.
        ("GET", "/contents/.github/journeyman.yml?ref=main", None),
        ("GET", "/contents/.github%2Fjourneyman.yml", None),
        ("GET", "/commits/feature/answer/check-runs?filter=latest", None),
        // Composed of a whole and its parts.
        ("PATCH", "/check-runs/7", Some(json!({"conclusion": "success", "status": "completed"}))),
        (
            "POST",
            "/check-runs",
            Some(json!({"name": "tests", "head_sha": "0", "status": "in_progress",
                "started_at": "2026-01-01T00:00:00Z", "output": {"title": "t", "summary": "s"}})),
        ),
        ("POST", "/issues/7/reactions", Some(json!({"content": "eyes"}))),
    ] {
        hold(method, &format!("{REPO}{path}"), body, None);
    }
}

#[test]
fn what_the_rest_api_does_not_describe_is_found() {
    let check = |more: Value| {
        let mut body = json!({"name": "tests", "head_sha": "0"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        Some(body)
    };
    for (method, path, body, wrong) in [
        ("GET", "/isues/7", None, "there is no such route"),
        ("GET", "/contents", None, "there is no such route"),
        ("PUT", "/issues/7", None, r#"there is no PUT on this route, only {"get", "patch"}"#),
        ("GET", "/issues/seven", None, "issue_number: \"seven\" is not of type \"integer\""),
        ("GET", "/issues?asignee=mona", None, "the query has no parameter \"asignee\""),
        ("GET", "/issues?per_page=all", None, "per_page: \"all\" is not of type \"integer\""),
        ("GET", "/issues?state=shut", None, "state: \"shut\" is not one of"),
        ("GET", "/issues?page=1&page=2", None, "\"page\" stands in the query twice"),
        ("GET", "/issues/7", Some(json!({})), "it takes no body"),
        ("POST", "/issues/7/comments", None, "it lacks a body"),
        ("POST", "/issues/7/comments", Some(json!({})), "\"body\" is a required property"),
        ("POST", "/issues/7/comments", Some(json!({"body": 7})), "the body/body: 7 is not of type"),
        ("POST", "/issues/7/comments", Some(json!({"body": "x", "text": "x"})), "'text' was unexpected"),
        ("POST", "/issues/7/reactions", Some(json!({"content": "applause"})), "\"applause\" is not one of"),
        // Nested: in an object, in a list's item, and beside the parts of a composed schema.
        (
            "POST",
            "/check-runs",
            check(json!({"output": {"title": "t"}})),
            "\"summary\" is a required property",
        ),
        (
            "POST",
            "/check-runs",
            check(json!({"output": {"title": "t", "summary": "s", "tail": ""}})),
            "the body/output: Additional properties are not allowed ('tail'",
        ),
        (
            "POST",
            "/check-runs",
            check(json!({"actions": [{"label": "l", "description": "d", "identifier": "i", "icon": "x"}]})),
            "the body/actions/0: Additional properties are not allowed ('icon'",
        ),
        ("POST", "/check-runs", check(json!({"started_at": "today"})), "\"today\" is not a \"date-time\""),
        ("PATCH", "/check-runs/7", Some(json!({"status": "queued", "state": "x"})), "'state' was unexpected"),
        ("GET", "/installation", None, "an installation's token does not open this operation"),
    ] {
        hold(method, &format!("{REPO}{path}"), body, Some(wrong));
    }
    hold("GET", "/v4/repos/acme/answers", None, Some("the REST API is under /api/v3/"));
}

#[test]
fn what_the_graphql_schema_does_not_know_is_found() {
    let ready = |variable: &str, field: &str| {
        format!(
            "mutation($id: {variable}) {{ markPullRequestReadyForReview(input: {{pullRequestId: $id}}) \
             {{ pullRequest {{ {field} }} }} }}"
        )
    };
    let id = json!({"id": "PR_1"});
    for (query, variables, wrong) in [
        (ready("ID!", "isDraft"), id.clone(), None),
        ("{ viewer { login } }".to_owned(), json!({}), None),
        (ready("ID!", "id closer"), id.clone(), Some("does not have a field `closer`")),
        (ready("ID", "isDraft"), id.clone(), Some("$id of type ID stands for pullRequestId of type ID!")),
        (ready("ID!", "isDraft"), json!({}), Some("id")),
        (ready("ID!", "isDraft"), json!({"id": true}), Some("id")),
        (
            ready("ID!", "isDraft"),
            json!({"id": "PR_1", "is": 1}),
            Some("the document has no variable \"is\""),
        ),
        ("{ viewer { login }".to_owned(), json!({}), Some("syntax error")),
        ("query A { viewer { id } } query B { viewer { id } }".to_owned(), json!({}), Some("which of its")),
    ] {
        hold("POST", "/graphql", Some(json!({"query": query, "variables": variables})), wrong);
    }
    hold("POST", "/graphql", Some(json!({"queries": "{ viewer { id } }"})), Some("unknown field `queries`"));
    hold("GET", "/graphql", Some(json!({})), Some("GraphQL is asked with POST"));
}

#[tokio::test]
async fn what_reached_an_emulator_is_looked_at_once_and_told_together() {
    let key = keys::generate().expect("a key pair").public_pem;
    let github =
        Emulator::start(EmulatorOptions::local(1, key, SecretString::from("x"))).await.expect("it starts");
    assert!(breaches(&github).is_empty());
    let client = reqwest::Client::builder().no_proxy().user_agent("somebody").build().expect("a client");
    for path in ["/isues/1", "/isues/1", "/isues/2", "/isues/3", "/isues/4", "/issues/5"] {
        let request = client.get(format!("{}/repos/acme/answers{path}", github.api_url())).bearer_auth("x");
        let request = request.header("accept", "application/vnd.github+json");
        request.header("x-github-api-version", "2022-11-28").send().await.expect("an answer");
    }
    let of = |number: u32| format!("GET /api/v3/repos/acme/answers/isues/{number}");
    let told = format!("{}, {}, {} and 1 more: there is no such route", of(1), of(2), of(3));
    assert_eq!(breaches(&github), [told], "issue 5 is one that GitHub would look for");
}

/// Future requests must be covered too, so every operation is tried.
#[test]
fn a_field_that_nobody_knows_is_found_in_every_operation() {
    let all: Value = serde_json::from_str(&super::fetched("openapi.json")).expect("JSON");
    let mut held = 0;
    for (path, methods) in all["paths"].as_object().expect("paths") {
        for method in methods.as_object().expect("methods").keys() {
            let body = Some(json!({"unheard": 1}));
            let told = complaints(&call(&method.to_uppercase(), &format!("/v3{path}"), body));
            // Two operations accept no JSON.
            let finds = ["unheard", "it takes no body", "its body is not JSON"];
            let found = told.iter().any(|what| finds.iter().any(|find| what.contains(find)));
            assert!(found, "{method} {path}: {told:?}");
            held += 1;
        }
    }
    assert!(held > 1_000, "{held} operations");
}
