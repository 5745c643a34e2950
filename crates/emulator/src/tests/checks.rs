//! Rules, reported as GitHub does.

use serde_json::{Value, json};

use super::*;

async fn get(emulator: &Emulator, path: &str) -> (u16, Value) {
    let token = full_token(emulator).await;
    call(emulator, "GET", &format!("/repos/{REPOSITORY}/{path}"), &token, Value::Null).await
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
    emulator.add_rule(REPOSITORY, ("free", "deletion"), Value::Null, false).expect("a rule");
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
