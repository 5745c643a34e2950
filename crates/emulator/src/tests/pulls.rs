//! Pull requests are rejected as on GitHub.

use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn a_pull_request_is_refused_as_github_refuses_it() {
    let emulator = stage().await;
    let token = full_token(&emulator).await;
    let open = async |head: &str, base: &str| {
        let body = json!({"title": "Fix", "head": head, "base": base, "body": "", "draft": true});
        call(&emulator, "POST", "/repos/octo/calc/pulls", &token, body).await
    };
    let (status, body) = open("fix", "main").await;
    assert_eq!(
        (status, &body["errors"][0]["field"], &body["errors"][0]["code"]),
        (422, &json!("head"), &json!("invalid"))
    );
    branch_with_fix(&emulator, "fix").await;
    let (status, body) = open("fix", "nope").await;
    assert_eq!((status, &body["errors"][0]["field"]), (422, &json!("base")));
    let (status, body) = open("main", "main").await;
    assert_eq!(status, 422);
    assert_eq!(body["errors"][0]["message"], "No commits between main and main");
    let (status, body) = open("fix", "main").await;
    assert_eq!((status, &body["draft"], &body["head"]["ref"]), (201, &json!(true), &json!("fix")));
    let (status, body) = open("octo:fix", "main").await;
    assert_eq!(status, 422);
    assert_eq!(body["errors"][0]["message"], "A pull request already exists for octo:fix.");
    assert_eq!(body["status"], "422");
    let (_, list) = call(&emulator, "GET", "/repos/octo/calc/pulls?head=octo:fix", &token, Value::Null).await;
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    let (_, list) =
        call(&emulator, "GET", "/repos/octo/calc/pulls?head=octo:other", &token, Value::Null).await;
    assert_eq!(list, json!([]));
}

#[tokio::test]
async fn the_merge_queue_merges_what_passes_and_makes_anew_what_is_behind_a_failure() {
    let emulator = stage().await;
    let token = full_token(&emulator).await;
    let mut pulls = Vec::new();
    for branch in ["one", "two"] {
        branch_with_fix(&emulator, branch).await;
        pulls.push(emulator.open_pull(REPOSITORY, "ada", (branch, "main"), (branch, "")).expect("it opens"));
    }
    let queued = |pull: u64| emulator.enqueue(REPOSITORY, pull, "ada").expect("it is queued");
    let (first, second) = (queued(pulls[0]), queued(pulls[1]));
    let conclude = async |head: &str, conclusion: &str| {
        let run = json!({"name": "journeyman", "head_sha": head, "conclusion": conclusion});
        assert_eq!(call(&emulator, "POST", "/repos/octo/calc/check-runs", &token, run).await.0, 201);
    };
    let told = || -> Vec<Value> {
        let all = emulator.deliveries().into_iter().filter(|one| one.event == "merge_group");
        all.map(|one| serde_json::from_str(&one.payload).expect("JSON")).collect()
    };
    conclude(&second, "success").await;
    assert_eq!(told().len(), 2, "it waits for the one before");
    conclude(&first, "failure").await;
    let events = told();
    let said: Vec<(&str, &str)> = events
        .iter()
        .map(|event| {
            (event["action"].as_str().unwrap_or_default(), event["reason"].as_str().unwrap_or_default())
        })
        .collect();
    let anew = [("destroyed", "dequeued"), ("destroyed", "invalidated"), ("checks_requested", "")];
    assert_eq!(said[2..], anew);
    let group = &events[4]["merge_group"];
    let base = emulator.branch_head(REPOSITORY, "main").expect("main");
    let name = format!("refs/heads/gh-readonly-queue/main/pr-{}-{base}", pulls[1]);
    assert_eq!((&group["head_ref"], &group["base_sha"]), (&json!(name), &json!(base)));

    let head = group["head_sha"].as_str().expect("a commit");
    assert_ne!(head, second);
    conclude(head, "neutral").await;
    assert_eq!(emulator.branch_head(REPOSITORY, "main").as_deref(), Some(head));
    let merged: Vec<Option<String>> =
        emulator.pulls(REPOSITORY).into_iter().map(|pull| pull.merged).collect();
    assert_eq!(merged, [None, Some(head.to_owned())]);
    assert!(emulator.branches(REPOSITORY).keys().all(|name| !name.starts_with("gh-readonly-queue/")));
    assert!(emulator.enqueue(REPOSITORY, pulls[1], "ada").is_err(), "it is merged");
}
