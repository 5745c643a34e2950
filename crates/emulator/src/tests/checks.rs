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
async fn a_check_run_is_made_found_changed_and_pressed() {
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
    emulator.press_button(REPOSITORY, id, "retry", "octo").expect("pressed");
    assert!(emulator.press_button(REPOSITORY, id, "approve", "octo").is_err(), "there is no such button");
    let actions: Vec<Option<String>> =
        sent_events(&emulator, "check_run").into_iter().map(|one| one.0).collect();
    let [created, completed, pressed] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(
        [created, completed, pressed].map(|one| one.as_deref()),
        [Some("created"), Some("completed"), Some("requested_action")]
    );
    let (_, payload) = sent_events(&emulator, "check_run").pop().expect("the last");
    assert_eq!(payload["requested_action"]["identifier"], "retry");
    assert_eq!(payload["sender"]["login"], "octo");
}

#[tokio::test]
async fn what_is_over_githubs_limits_is_refused() {
    let emulator = stage().await;
    let head = emulator.branch_head(REPOSITORY, "main").expect("a head");
    let run = |more: Value| {
        let mut body = json!({"name": "journeyman", "head_sha": head});
        body.as_object_mut().expect("fields").extend(more.as_object().expect("fields").clone());
        body
    };
    let annotation =
        json!({"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"});
    let button = json!({"label": "Retry", "description": "Again", "identifier": "retry"});
    let long = "x".repeat(65_536);
    for (what, more) in [
        ("a status without its conclusion", json!({"status": "completed"})),
        ("a conclusion that only GitHub sets", json!({"conclusion": "stale"})),
        ("a summary too long", json!({"output": {"title": "t", "summary": long}})),
        ("no summary", json!({"output": {"title": "t"}})),
        (
            "51 annotations",
            json!({"output": {"title": "t", "summary": "s", "annotations": vec![annotation; 51]}}),
        ),
        ("four buttons", json!({"actions": vec![button; 4]})),
        (
            "a label too long",
            json!({"actions": [{"label": "x".repeat(21), "description": "d", "identifier": "i"}]}),
        ),
    ] {
        assert_eq!(post(&emulator, "check-runs", run(more)).await.0, 422, "{what}");
    }
    let (status, _) = post(&emulator, "check-runs", json!({"name": "x", "head_sha": "f".repeat(40)})).await;
    assert_eq!(status, 422, "a commit that is not there");
    emulator.remove_permission("checks");
    assert_eq!(post(&emulator, "check-runs", run(json!({}))).await.0, 403);
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
async fn statuses_are_combined_by_context() {
    let emulator = stage().await;
    let head = emulator.branch_head(REPOSITORY, "main").expect("a head");
    let state = async || get(&emulator, &format!("commits/{head}/status")).await.1["state"].clone();
    assert_eq!(state().await, "pending", "without any");
    let ci = emulator.ci(REPOSITORY);
    ci.status(&head, "jenkins", "failure").expect("set");
    ci.status(&head, "other", "success").expect("set");
    assert_eq!(state().await, "failure");
    ci.status(&head, "jenkins", "success").expect("set");
    assert_eq!(state().await, "success");
    assert!(ci.status(&head, "x", "great").is_err());
    assert_eq!(sent_events(&emulator, "status").len(), 3);
    assert_eq!(sent_events(&emulator, "status")[0].1["branches"][0]["name"], "main");
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
    assert_eq!(get(&emulator, "branches/free").await.1["protected"], true);
    assert_eq!(get(&emulator, "branches/mine/x").await.0, 404);

    emulator.archive(REPOSITORY).expect("archived");
    let (_, facts) = call(&emulator, "GET", &format!("/repos/{REPOSITORY}"), &token, Value::Null).await;
    assert_eq!(facts["archived"], true);
    let (good, text) = git(folder.path(), &["push", "-q", "origin", "free:other"]).await;
    assert!(!good && text.contains("403"), "{text}");
}

#[tokio::test]
async fn the_pull_requests_page_shows_checks_and_their_buttons() {
    let emulator = stage().await;
    let sha = branch_with_fix(&emulator, "fix").await;
    let body = json!({"title": "Fix", "head": "fix", "base": "main"});
    let (_, pull) = post(&emulator, "pulls", body).await;
    let annotation = json!({"path": "src/sum.py", "start_line": 2, "end_line": 2,
        "annotation_level": "failure", "message": "a <minus>"});
    let body = json!({
        "name": "journeyman", "head_sha": sha, "conclusion": "failure",
        "output": {"title": "Not verified", "summary": "**3** of 4 <script>", "annotations": [annotation]},
        "actions": [{"label": "Retry", "description": "Again", "identifier": "retry"}],
    });
    let (_, run) = post(&emulator, "check-runs", body).await;
    emulator.ci(REPOSITORY).status(&sha, "jenkins", "pending").expect("set");
    let address = format!("{}/octo/calc/pull/{}", emulator.origin(), pull["number"]);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let show = async |acting: &str| {
        let request = client.get(&address).header("cookie", format!("acting={acting}"));
        request.send().await.expect("an answer").text().await.expect("text")
    };
    let text = show("octo").await;
    for part in
        ["Not verified", "<strong>3</strong> of 4", "src/sum.py:2", "a &#60;minus&#62;", "jenkins: pending"]
    {
        assert!(text.contains(part), "{part} is missing");
    }
    assert!(!text.contains("4 <script>"), "what it says is not taken for HTML");
    assert!(text.contains(r#"value="retry""#));
    emulator.add_user("reader");
    assert!(!show("reader").await.contains(r#"value="retry""#), "buttons are for people with write access");
    let press = async |acting: &str| {
        let request = client
            .post(format!("{address}/press"))
            .header("origin", emulator.origin())
            .header("cookie", format!("acting={acting}"))
            .header("content-type", "application/x-www-form-urlencoded");
        request
            .body(format!("check={}&identifier=retry", run["id"]))
            .send()
            .await
            .expect("an answer")
            .status()
    };
    assert_eq!(press("reader").await.as_u16(), 403);
    assert_eq!(press("octo").await.as_u16(), 200);
    let (action, payload) = sent_events(&emulator, "check_run").pop().expect("heard");
    assert_eq!((action.as_deref(), &payload["sender"]["login"]), (Some("requested_action"), &json!("octo")));
}
