//! Comments and roles.

use serde_json::{Value, json};

use super::*;
use crate::RepositoryRole;

#[tokio::test]
async fn a_comment_of_the_app_says_so() {
    let emulator = stage().await;
    let number = emulator.open_issue(REPOSITORY, "ada", "t", "").await.expect("an issue");
    let token = full_token(&emulator).await;
    let path = format!("/repos/octo/calc/issues/{number}/comments");
    let (_, ours) = call(&emulator, "POST", &path, &token, json!({"body": "x"})).await;
    assert_eq!(ours["performed_via_github_app"]["id"], APP);
    emulator.comment(REPOSITORY, number, "ada", "mine").await.expect("a comment");
    let (_, list) = call(&emulator, "GET", &path, &token, Value::Null).await;
    assert_eq!(list[1]["performed_via_github_app"], Value::Null);
    let one = format!("/repos/octo/calc/issues/comments/{}", ours["id"]);
    assert_eq!(call(&emulator, "DELETE", &one, &token, Value::Null).await.0, 204);
    assert_eq!(call(&emulator, "GET", &one, &token, Value::Null).await.0, 404);
    let long = json!({"body": "ü".repeat(65_537)});
    assert_eq!(call(&emulator, "POST", &path, &token, long).await.0, 422);
    assert_eq!(call(&emulator, "POST", &path, &token, json!({"body": "ü".repeat(65_536)})).await.0, 201);
}

#[tokio::test]
async fn roles_are_told_as_github_maps_them() {
    let emulator = stage().await;
    let token = full_token(&emulator).await;
    for (login, role, permission) in [
        ("wendy", RepositoryRole::Write, "write"),
        ("max", RepositoryRole::Maintain, "write"),
        ("tom", RepositoryRole::Triage, "read"),
        ("nina", RepositoryRole::None, "none"),
    ] {
        emulator.set_permission(REPOSITORY, login, role).expect("a role");
        let id = emulator.add_user(login);
        let path = format!("/repos/octo/calc/collaborators/{login}/permission");
        let (status, body) = call(&emulator, "GET", &path, &token, Value::Null).await;
        assert_eq!((status, body["permission"].as_str()), (200, Some(permission)));
        assert_eq!(body["user"]["id"], id);
    }
    emulator.add_user("passer-by");
    for (login, permission) in [("octo", "admin"), ("passer-by", "read")] {
        let path = format!("/repos/octo/calc/collaborators/{login}/permission");
        assert_eq!(call(&emulator, "GET", &path, &token, Value::Null).await.1["permission"], permission);
    }
}
