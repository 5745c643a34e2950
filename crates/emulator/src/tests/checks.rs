//! Check runs, jobs, statuses and rules, told as GitHub tells them.

use serde_json::{Value, json};

use super::*;
use crate::{CheckConclusion, EmulatedAnnotation};

async fn post(emulator: &Emulator, path: &str, body: Value) -> (u16, Value) {
    let token = full_token(emulator).await;
    call(emulator, "POST", &format!("/repos/{REPOSITORY}/{path}"), &token, body).await
}

async fn get(emulator: &Emulator, path: &str) -> (u16, Value) {
    let token = full_token(emulator).await;
    call(emulator, "GET", &format!("/repos/{REPOSITORY}/{path}"), &token, Value::Null).await
}

fn sent_events(emulator: &Emulator, event: &str) -> Vec<(Option<String>, Value)> {
    let of_event = emulator.deliveries().into_iter().filter(|one| one.event == event);
    of_event.map(|one| (one.action, serde_json::from_str(&one.payload).expect("json"))).collect()
}

#[tokio::test]
async fn a_check_run_is_made_found_and_changed() {
    let emulator = stage().await;
    let head = emulator.branch_head(REPOSITORY, "main").expect("a head");
    let annotation = json!({"path": "src/sum.py", "start_line": 2, "end_line": 2,
        "annotation_level": "failure", "message": "minus"});
    let body = json!({
        "name": "journeyman", "head_sha": head, "status": "in_progress", "external_id": "o-1",
        "output": {"title": "At work", "summary": "**so far**", "annotations": [annotation]},
        "actions": [{"label": "Retry", "description": "Again", "identifier": "retry"}],
    });
    let (status, made) = post(&emulator, "check-runs", body).await;
    assert_eq!((status, &made["status"], &made["conclusion"]), (201, &json!("in_progress"), &Value::Null));
    assert_eq!((&made["app"]["id"], &made["output"]["annotations_count"]), (&json!(APP), &json!(1)));
    let id = made["id"].as_u64().expect("an id");
    let (_, list) =
        get(&emulator, &format!("commits/main/check-runs?check_name=journeyman&app_id={APP}")).await;
    assert_eq!((&list["total_count"], &list["check_runs"][0]["id"]), (&json!(1), &json!(id)));
    let (_, none) = get(&emulator, &format!("commits/{head}/check-runs?app_id=15368")).await;
    assert_eq!(none, json!({"total_count": 0, "check_runs": []}));
    let token = full_token(&emulator).await;
    let path = format!("/repos/{REPOSITORY}/check-runs/{id}");
    let body = json!({"conclusion": "success", "output": {"title": "t", "summary": "s", "annotations": [annotation]}});
    let (status, changed) = call(&emulator, "PATCH", &path, &token, body).await;
    assert_eq!(
        (status, &changed["status"], &changed["conclusion"]),
        (200, &json!("completed"), &json!("success"))
    );
    let (_, annotations) = get(&emulator, &format!("check-runs/{id}/annotations?per_page=1&page=2")).await;
    assert_eq!(annotations[0]["message"], "minus", "annotations are added, never replaced");
    let actions: Vec<Option<String>> =
        sent_events(&emulator, "check_run").into_iter().map(|one| one.0).collect();
    assert_eq!(actions, [Some("created".to_owned()), Some("completed".to_owned())]);
    emulator.remove_permission("checks");
    assert_eq!(post(&emulator, "check-runs", json!({"name": "x", "head_sha": head})).await.0, 403);
}

#[tokio::test]
async fn a_job_fails_has_a_log_and_is_run_again() {
    let emulator = stage().await;
    let head = emulator.branch_head(REPOSITORY, "main").expect("a head");
    let ci = emulator.ci(REPOSITORY);
    ci.start_job(&head, "test").expect("begun");
    ci.pass_job(&head, "lint").expect("passed");
    assert!(sent_events(&emulator, "check_suite").is_empty(), "one is still at work");
    let failure = EmulatedAnnotation::failure("src/sum.py", 2, "wrong");
    let job = ci.fail_job(&head, "test", "FAILED test_add", vec![failure]).expect("failed");
    let (action, suite) = sent_events(&emulator, "check_suite").pop().expect("the suite has ended");
    assert_eq!(
        (action.as_deref(), &suite["check_suite"]["conclusion"]),
        (Some("completed"), &json!("failure"))
    );
    assert_eq!(suite["check_suite"]["head_branch"], "main");
    let (_, run) = sent_events(&emulator, "workflow_run").pop().expect("so has the workflow run");
    assert_eq!(run["workflow_run"]["conclusion"], "failure");

    let url = format!("{}/repos/{REPOSITORY}/actions/jobs/{job}/logs", emulator.api_url());
    let client = reqwest::Client::builder().user_agent("story").no_proxy();
    let client = client.redirect(reqwest::redirect::Policy::none()).build().expect("a client");
    let token = full_token(&emulator).await;
    let there = client.get(url).bearer_auth(&token).send().await.expect("an answer");
    assert_eq!(there.status().as_u16(), 302);
    let location = there.headers()["location"].to_str().expect("text").to_owned();
    let with_token = client.get(&location).bearer_auth(&token).send().await.expect("an answer");
    assert_eq!(with_token.status().as_u16(), 400, "a signed address takes no credentials");
    let log = client.get(&location).send().await.expect("an answer").text().await.expect("text");
    assert!(log.contains("Z FAILED test_add\r\n"), "{log}");

    let (status, _) = post(&emulator, &format!("actions/jobs/{job}/rerun"), json!({})).await;
    assert_eq!(status, 201);
    let (status, _) = post(&emulator, &format!("actions/jobs/{job}/rerun"), json!({})).await;
    assert_eq!(status, 403, "it is running already");
    let again = ci.pass_job(&head, "test").expect("passed");
    assert_ne!(again, job);
    let (_, job) = get(&emulator, &format!("actions/jobs/{again}")).await;
    assert_eq!(job["run_attempt"], 2);
    let (_, latest) = get(&emulator, &format!("commits/{head}/check-runs")).await;
    let names: Vec<&Value> =
        latest["check_runs"].as_array().expect("a list").iter().map(|run| &run["id"]).collect();
    assert_eq!((names.len(), names[0]), (2, &json!(again)), "only the newest of each name");
    let runs = emulator.check_runs(REPOSITORY, &head);
    assert_eq!(runs.last().and_then(|run| run.conclusion), Some(CheckConclusion::Success));
}

#[tokio::test]
async fn rules_are_told_and_hold_for_pushes() {
    let emulator = stage().await;
    emulator.forbid_branches(REPOSITORY, "work/**").expect("forbidden");
    emulator.add_rule(REPOSITORY, ("signed/*", "required_signatures"), Value::Null, false).expect("a rule");
    emulator.add_rule(REPOSITORY, ("mine/*", "creation"), Value::Null, true).expect("a rule");
    let (_, rules) = get(&emulator, "rules/branches/work/issue-1").await;
    let kinds: Vec<&Value> = rules.as_array().expect("rules").iter().map(|rule| &rule["type"]).collect();
    assert_eq!(kinds, ["creation", "update"]);
    assert_eq!(get(&emulator, "rules/branches/free").await.1, json!([]));
    let (_, mine) = get(&emulator, "rules/branches/mine/x").await;
    let (_, ruleset) = get(&emulator, &format!("rulesets/{}", mine[0]["ruleset_id"])).await;
    assert_eq!(ruleset["current_user_can_bypass"], "always");

    let url = address(&emulator, "x-access-token", &full_token(&emulator).await);
    let folder = tempfile::tempdir().expect("a folder");
    assert!(git(folder.path(), &["clone", "-q", &url, "."]).await.0);
    for (branch, expected) in [("work/a/b", "GH013"), ("signed/x", "GH013"), ("mine/x", ""), ("free", "")] {
        assert!(git(folder.path(), &["checkout", "-q", "-B", branch]).await.0);
        assert!(git(folder.path(), &["commit", "-q", "--allow-empty", "-m", branch]).await.0);
        let (good, text) = git(folder.path(), &["push", "-q", "origin", branch]).await;
        assert_eq!(good, expected.is_empty(), "{branch}: {text}");
        assert!(text.contains(expected), "{text}");
    }
    emulator.protect_branches(REPOSITORY, "free").expect("protected");
    let token = full_token(&emulator).await;
    let delete = async |branch: &str| {
        let path = format!("/repos/{REPOSITORY}/git/refs/heads/{branch}");
        call(&emulator, "DELETE", &path, &token, Value::Null).await.0
    };
    assert_eq!(delete("free").await, 422);
    assert_eq!(delete("mine/x").await, 204);
    assert_eq!(delete("mine/x").await, 422, "it is gone");

    emulator.archive(REPOSITORY).expect("archived");
    let (_, facts) = call(&emulator, "GET", &format!("/repos/{REPOSITORY}"), &token, Value::Null).await;
    assert_eq!(facts["archived"], true);
    let (good, text) = git(folder.path(), &["push", "-q", "origin", "free:other"]).await;
    assert!(!good && text.contains("403"), "{text}");
}
