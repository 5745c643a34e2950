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
