//! Issues, comments, labels, roles and files.

use serde_json::{Value, json};

use super::*;
use crate::{Caller, RepositoryRole};

#[tokio::test]
async fn octocrab_reads_an_issue_comments_and_labels_it() {
    let emulator = stage().await;
    let number =
        emulator.open_issue(REPOSITORY, "ada", "Sum is wrong", "it subtracts").await.expect("an issue");
    let client = installation(&emulator);
    let issues = client.issues("octo", "calc");
    let issue = issues.get(number).await.expect("the issue");
    assert_eq!((issue.title.as_str(), issue.user.login.as_str()), ("Sum is wrong", "ada"));
    let comment = issues.create_comment(number, "On it.").await.expect("a comment");
    assert_eq!((comment.user.login.as_str(), comment.user.r#type.as_str()), ("journeyman[bot]", "Bot"));
    issues.update_comment(comment.id, "Done.").await.expect("an edit");
    let labels = issues.add_labels(number, &["journeyman:working".to_owned()]).await.expect("a label");
    assert_eq!(labels.len(), 1);
    issues.remove_label(number, "journeyman:working").await.expect("the label goes");
    assert!(issues.remove_label(number, "journeyman:working").await.is_err(), "it is gone");
    let seen = emulator.issue(REPOSITORY, number).expect("the issue");
    assert!(seen.labels.is_empty());
    assert_eq!(seen.comments.first().map(|one| one.body.as_str()), Some("Done."));
    assert!(
        emulator.repository_labels(REPOSITORY).contains(&"journeyman:working".to_owned()),
        "made in passing"
    );
    let first = emulator.calls().into_iter().find(|call| call.path.ends_with("/comments")).expect("recorded");
    assert_eq!((first.status, first.caller), (Some(201), Caller::Installation));
    assert!(first.user_agent.contains("octocrab") && first.body.contains("On it."));
    assert_eq!(first.headers.get("content-type").map(String::as_str), Some("application/json"));
    assert_eq!(first.headers.get("authorization").map(String::as_str), Some("Bearer"), "and no token");
}

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
async fn comments_come_in_pages_that_link_to_each_other() {
    let emulator = stage().await;
    let number = emulator.open_issue(REPOSITORY, "ada", "t", "").await.expect("an issue");
    for at in 1..=7 {
        emulator.comment(REPOSITORY, number, "ada", &format!("comment {at}")).await.expect("a comment");
    }
    let client = installation(&emulator);
    let page = client
        .issues("octo", "calc")
        .list_comments(number)
        .per_page(3)
        .page(2u32)
        .send()
        .await
        .expect("a page");
    let bodies: Vec<_> = page.items.iter().filter_map(|one| one.body.clone()).collect();
    assert_eq!(bodies, ["comment 4", "comment 5", "comment 6"]);
    assert_eq!(page.number_of_pages(), Some(3));
    let next = page.next.expect("a third page").to_string();
    assert!(
        next.starts_with(&emulator.api_url()) && next.contains("page=3") && next.contains("per_page=3"),
        "{next}"
    );
    let last = client
        .issues("octo", "calc")
        .list_comments(number)
        .per_page(3)
        .page(3u32)
        .send()
        .await
        .expect("last");
    assert_eq!((last.items.len(), last.next), (1, None));
}

#[tokio::test]
async fn roles_are_told_in_both_of_githubs_ways() {
    let emulator = stage().await;
    let token = full_token(&emulator).await;
    for (login, role, permission, name) in [
        ("wendy", RepositoryRole::Write, "write", "write"),
        ("max", RepositoryRole::Maintain, "write", "maintain"),
        ("tom", RepositoryRole::Triage, "read", "triage"),
        ("nina", RepositoryRole::None, "none", "none"),
    ] {
        emulator.set_permission(REPOSITORY, login, role).expect("a role");
        let id = emulator.add_user(login);
        let path = format!("/repos/octo/calc/collaborators/{login}/permission");
        let (status, body) = call(&emulator, "GET", &path, &token, Value::Null).await;
        assert_eq!(status, 200);
        assert_eq!((body["permission"].as_str(), body["role_name"].as_str()), (Some(permission), Some(name)));
        assert_eq!(body["user"]["id"], id);
    }
    emulator.add_user("passer-by");
    for (login, permission) in [("octo", "admin"), ("passer-by", "read")] {
        let path = format!("/repos/octo/calc/collaborators/{login}/permission");
        assert_eq!(call(&emulator, "GET", &path, &token, Value::Null).await.1["permission"], permission);
    }
    emulator.rename_user("wendy", "wendy-new");
    for (login, status) in [("nobody", 404), ("wendy", 404), ("wendy-new", 200)] {
        let path = format!("/repos/octo/calc/collaborators/{login}/permission");
        assert_eq!(call(&emulator, "GET", &path, &token, Value::Null).await.0, status, "{login}");
    }
}

#[tokio::test]
async fn files_are_read_raw_and_as_json() {
    let emulator = stage().await;
    let client = installation(&emulator);
    let content =
        client.repos("octo", "calc").get_content().path("src/sum.py").r#ref("main").send().await.expect("it");
    let text = content.items.first().and_then(|one| one.decoded_content()).expect("text");
    assert_eq!(text, "def add(a, b):\n    return a - b\n");
    let raw = client.repos("octo", "calc").raw_file("main".to_owned(), "README.md").await.expect("raw");
    assert_eq!(raw.status().as_u16(), 200);
    let token = full_token(&emulator).await;
    for (path, status) in [
        ("/repos/octo/calc/contents/nothing.txt", 404),
        ("/repos/octo/calc/contents/README.md?ref=no-branch", 404),
        ("/repos/octo/calc/contents/src", 200),
        ("/repos/octo/calc/git/ref/heads/main", 200),
        ("/repos/octo/calc/git/ref/heads/nope", 404),
        ("/repos/octo/calc/labels/bug", 200),
        ("/repos/octo/calc/labels/journeyman%3Aworking", 404),
        ("/nowhere", 404),
    ] {
        assert_eq!(call(&emulator, "GET", path, &token, Value::Null).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn a_request_needs_a_user_agent_a_token_and_json() {
    let emulator = stage().await;
    let url = format!("{}/repos/octo/calc", emulator.api_url());
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let bare = client.get(&url).bearer_auth(full_token(&emulator).await).send().await.expect("an answer");
    assert_eq!(bare.status().as_u16(), 403);
    let nobody = client.get(&url).header("user-agent", "x").send().await.expect("an answer");
    assert_eq!(nobody.status().as_u16(), 401);
    assert!(nobody.headers().contains_key("x-github-request-id"));
    assert!(nobody.headers().contains_key("x-ratelimit-remaining"));
    let body: Value = nobody.json().await.expect("json");
    assert_eq!(body["status"], "401");
    let broken = client
        .post(format!("{}/repos/octo/calc/labels", emulator.api_url()))
        .header("user-agent", "x")
        .bearer_auth(full_token(&emulator).await)
        .body("{")
        .send()
        .await
        .expect("an answer");
    assert_eq!(broken.status().as_u16(), 400);
}
