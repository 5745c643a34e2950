use serde_json::{Value, json};

use super::scripted::{ScriptedServer, not_found, ok, refused};
use crate::{ErrorKind, IssueKind, IssueState};
use journeyman_order::{InstallationId, IssueNumber, Person, UserId};

#[tokio::test]
async fn the_installation_is_asked_for_in_the_apps_name() {
    let server = ScriptedServer::start(|seen| {
        assert_eq!(seen.authorization.split('.').count(), 3);
        if seen.call == "GET /repos/octo/hello/installation" { ok(json!({"id": 5})) } else { not_found() }
    })
    .await;
    assert_eq!(server.github.installation(&server.at.repository).await, Ok(InstallationId(5)));
    let error = server.github.installation(&"octo/other".parse().unwrap()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains("octo/other"), "{error}");
}

#[tokio::test]
async fn who_we_are_is_asked_in_the_apps_name() {
    let server = ScriptedServer::start(|seen| {
        assert_eq!(seen.authorization.split('.').count(), 3);
        assert_eq!(seen.call, "GET /app");
        ok(json!({"id": 15, "slug": "journeyman-of-acme", "name": "Journeyman of Acme", "owner": {"login": "acme"}}))
    })
    .await;
    let identity = server.github.identity().await.unwrap();
    assert_eq!((identity.id, identity.slug.as_str()), (15, "journeyman-of-acme"));
}

#[tokio::test]
async fn an_issue_is_read_with_what_may_be_missing() {
    let server = ScriptedServer::start(|seen| {
        let mut issue = json!({
            "number": 7, "title": "Sum is wrong", "body": null, "html_url": "http://x/7",
            "user": null, "state": "closed", "labels": [{"name": "journeyman", "color": "x"}],
        });
        if seen.call.ends_with("/8") {
            issue["pull_request"] = json!({});
            issue["user"] = json!({"login": "ann", "id": 3});
        }
        ok(issue)
    })
    .await;
    let issue = server.github.issue(&server.at, IssueNumber(7)).await.unwrap();
    assert_eq!((issue.text.body.as_str(), issue.author), ("", None));
    assert_eq!((issue.state, issue.kind), (IssueState::Closed, IssueKind::Issue));
    assert_eq!(issue.labels, ["journeyman"]);
    let pull = server.github.issue(&server.at, IssueNumber(8)).await.unwrap();
    assert_eq!(pull.kind, IssueKind::PullRequest);
    assert_eq!(pull.author, Some(Person { login: "ann".to_owned(), id: UserId(3) }));
}

#[tokio::test]
async fn rights_are_compared_by_id_and_closed_when_unknown() {
    let server = ScriptedServer::start(|seen| {
        let login = seen.call.rsplit('/').nth(1).unwrap_or_default();
        let answer = |permission: &str, id: u64| {
            ok(json!({"permission": permission, "user": {"login": "x", "id": id}}))
        };
        match login {
            "admin" => answer("admin", 1),
            "writer" => answer("write", 1),
            "reader" => answer("read", 1),
            "taken" => answer("admin", 999),
            "new" => answer("something-new", 1),
            "silent" => ok(json!({"permission": "admin"})),
            "broken" => refused(500, "oops"),
            "robot%5Bbot%5D" | "..%2F..%2Fx" => answer("write", 1),
            _ => not_found(),
        }
    })
    .await;
    let may = async |login: &str| {
        let person = Person { login: login.to_owned(), id: UserId(1) };
        server.github.can_write(&server.at, &person).await.map_err(|error| error.kind)
    };
    for (login, answer) in [
        ("admin", Ok(true)),
        ("writer", Ok(true)),
        ("reader", Ok(false)),
        ("taken", Ok(false)),
        ("new", Ok(false)),
        ("nobody", Ok(false)),
        ("silent", Err(ErrorKind::Unexpected)),
        ("broken", Err(ErrorKind::Unavailable { retry_after: None })),
        ("robot[bot]", Ok(true)),
        ("../../x", Ok(true)),
    ] {
        assert_eq!(may(login).await, answer, "{login}");
    }
}

#[tokio::test]
async fn a_file_is_read_and_what_is_none_is_told_apart() {
    let file =
        |content: &str, encoding: &str| ok(json!({"type": "file", "encoding": encoding, "content": content}));
    let server = ScriptedServer::start(move |seen| match seen.call.as_str() {
        "GET /repos/octo/hello/contents/.github/journeyman.yml?ref=main" => {
            file("dGVz\ndDogeA==\n", "base64")
        }
        "GET /repos/octo/hello/contents/a%20b%3F?ref=feat%2Fx" => file("eA==", "base64"),
        "GET /repos/octo/hello/contents/big?ref=main" => file("", "none"),
        "GET /repos/octo/hello/contents/bad?ref=main" => file("!!", "base64"),
        "GET /repos/octo/hello/contents/folder?ref=main" => ok(json!([{"type": "file"}])),
        "GET /repos/octo/hello/contents/module?ref=main" => ok(json!({"type": "submodule"})),
        _ => not_found(),
    })
    .await;
    let read = async |path: &str, git_ref: &str| {
        server.github.file(&server.at, path, git_ref).await.map_err(|error| error.kind)
    };
    assert_eq!(read(".github/journeyman.yml", "main").await, Ok(Some(b"test: x".to_vec())));
    assert_eq!(read("a b?", "feat/x").await, Ok(Some(b"x".to_vec())));
    for none in ["folder", "module", "missing"] {
        assert_eq!(read(none, "main").await, Ok(None), "{none}");
    }
    assert_eq!(read("big", "main").await, Err(ErrorKind::Invalid));
    assert_eq!(read("bad", "main").await, Err(ErrorKind::Unexpected));
    for outside in ["../x", "/etc/passwd", "a//b", "a/./b", ""] {
        assert_eq!(read(outside, "main").await, Err(ErrorKind::Invalid), "{outside}");
    }
}

#[tokio::test]
async fn a_page_of_a_proxy_is_no_answer() {
    let server = ScriptedServer::start(|_| ok(Value::String("sign in first".to_owned()))).await;
    let error = server.github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unexpected);
}
