use std::sync::Mutex;

use serde_json::{Value, json};

use super::scripted::{ScriptedReply, ScriptedServer, not_found, ok, refused};
use crate::{ErrorKind, NewPullRequest};
use journeyman_order::conversation::PullSnapshotState;
use journeyman_order::{BranchName, IssueNumber, PullNumber};

const SHA: &str = "0123456789012345678901234567890123456789";

fn branch() -> BranchName {
    BranchName::for_issue(IssueNumber(7), "fix", 1)
}

fn wire(number: u64, branch: &str, repository: &str) -> Value {
    json!({
        "number": number, "html_url": format!("http://x/pull/{number}"), "node_id": format!("PR_{number}"),
        "title": "Fix it", "body": "old", "draft": true, "state": "open", "merged_at": null,
        "head": {"ref": branch, "sha": SHA, "repo": {"full_name": repository}}, "base": {"ref": "main"},
    })
}

fn ours() -> Value {
    wire(12, branch().as_str(), "octo/hello")
}

fn new(branch: &BranchName) -> NewPullRequest<'_> {
    NewPullRequest { head: branch, base: "main", title: "Fix it", body: "Closes #7", draft: true }
}

#[tokio::test]
async fn it_is_opened_as_a_draft_from_our_branch() {
    let server = ScriptedServer::start(|seen| {
        if seen.call.starts_with("GET") { ok(json!([])) } else { ScriptedReply::Json(201, ours()) }
    })
    .await;
    let pull = server.github.open_pull(&server.at, new(&branch())).await.unwrap();
    assert_eq!((pull.number, pull.draft, pull.state), (PullNumber(12), true, PullSnapshotState::Open));
    assert_eq!(pull.head_sha.as_str(), SHA);
    let seen = server.requests();
    let posted = seen.iter().find(|seen| seen.call == "POST /repos/octo/hello/pulls").unwrap();
    assert_eq!(posted.body["head"], json!("journeyman/issue-7-fix"));
    assert_eq!(posted.body["title"], json!("Fix it"));
    assert_eq!(posted.body["draft"], json!(true));
    assert!(
        server.count("GET /repos/octo/hello/pulls?state=open&head=octo%3Ajourneyman%2Fissue-7-fix&") == 1
    );
}

#[tokio::test]
async fn one_that_is_there_is_adopted_and_another_is_not() {
    let server = ScriptedServer::start(|_| ok(json!([ours()]))).await;
    let pull = server.github.open_pull(&server.at, new(&branch())).await.unwrap();
    assert_eq!(pull.number, PullNumber(12));
    assert!(server.writes().is_empty());

    // A filter that GitHub does not understand is ignored: it returns all open ones.
    let server = ScriptedServer::start(|seen| {
        let fork = wire(3, branch().as_str(), "mallory/hello");
        if seen.call.starts_with("GET") {
            ok(json!([wire(2, "main", "octo/hello"), fork]))
        } else {
            ok(ours())
        }
    })
    .await;
    assert_eq!(server.github.open_pull(&server.at, new(&branch())).await.unwrap().number, PullNumber(12));
}

#[tokio::test]
async fn a_second_one_is_never_opened() {
    for status in [0, 422, 502] {
        let opened = Mutex::new(false);
        let server = ScriptedServer::start(move |seen| {
            let mut opened = opened.lock().unwrap();
            if seen.call.starts_with("GET") {
                return ok(if *opened { json!([ours()]) } else { json!([]) });
            }
            *opened = true;
            match status {
                0 => ScriptedReply::Cut,
                _ => refused(status, "A pull request already exists for octo:journeyman/issue-7-fix."),
            }
        })
        .await;
        assert!(server.github.open_pull(&server.at, new(&branch())).await.is_err(), "{status}");
        let pull = server.github.open_pull(&server.at, new(&branch())).await.unwrap();
        assert_eq!(pull.number, PullNumber(12), "{status}");
        assert_eq!(server.writes().len(), 1);
    }
}

#[tokio::test]
async fn a_refusal_is_reported_in_githubs_words() {
    let server = ScriptedServer::start(|seen| {
        if seen.call.starts_with("GET") {
            ok(json!([]))
        } else {
            refused(422, "No commits between main and x")
        }
    })
    .await;
    let error = server.github.open_pull(&server.at, new(&branch())).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.message.contains("No commits between"), "{error}");
}

#[tokio::test]
async fn where_there_are_no_drafts_it_is_opened_without() {
    let server = ScriptedServer::start(|seen| match seen.body["draft"].as_bool() {
        None => ok(json!([])),
        Some(true) => refused(422, "Draft pull requests are not supported in this repository."),
        Some(false) => {
            let mut pull = ours();
            pull["draft"] = json!(false);
            ScriptedReply::Json(201, pull)
        }
    })
    .await;
    assert!(!server.github.open_pull(&server.at, new(&branch())).await.unwrap().draft);
}

#[tokio::test]
async fn its_text_is_written_only_when_it_differs() {
    let server = ScriptedServer::start(|_| ok(ours())).await;
    let github = &server.github;
    github.update_pull(&server.at, PullNumber(12), None, "old").await.unwrap();
    github.update_pull(&server.at, PullNumber(12), Some("Fix it"), "old\n").await.unwrap();
    assert!(server.writes().is_empty());
    github.update_pull(&server.at, PullNumber(12), Some("Other"), "old").await.unwrap();
    assert_eq!(server.writes(), ["PATCH /repos/octo/hello/pulls/12"]);
}

/// A draft that becomes ready, or not, after this GraphQL answer.
async fn ready_after(answer: Value, works: bool) -> ScriptedServer {
    let ready = Mutex::new(false);
    ScriptedServer::start(move |seen| {
        let mut ready = ready.lock().unwrap();
        match seen.call.as_str() {
            "GET /repos/octo/hello/pulls/12" => {
                let mut pull = ours();
                pull["draft"] = json!(!*ready);
                ok(pull)
            }
            "POST /api/graphql" => {
                assert_eq!(seen.body["variables"]["id"], json!("PR_12"));
                *ready = works;
                ok(answer.clone())
            }
            _ => not_found(),
        }
    })
    .await
}

#[tokio::test]
async fn it_is_ready_when_github_shows_it_so() {
    let answer = json!({"data": {"markPullRequestReadyForReview": {"pullRequest": {"isDraft": false}}}});
    let server = ready_after(answer.clone(), true).await;
    let pull = server.github.pull(&server.at, PullNumber(12)).await.unwrap();
    server.github.mark_ready(&server.at, &pull).await.unwrap();
    server.github.mark_ready(&server.at, &pull).await.unwrap();
    assert_eq!(server.writes(), ["POST /api/graphql"]);
    let seen = server.requests();
    let token = seen.iter().rev().find(|seen| seen.call.ends_with("/access_tokens")).unwrap();
    assert_eq!(token.body["permissions"], json!({"contents": "write", "pull_requests": "write"}));

    let server = ready_after(answer, false).await;
    let error = server.github.mark_ready(&server.at, &pull).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unexpected);

    let refusal =
        json!({"data": null, "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible"}]});
    let server = ready_after(refusal, false).await;
    let error = server.github.mark_ready(&server.at, &pull).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Forbidden);
    assert!(error.message.contains("Contents: Read and write"), "{error}");
}

#[tokio::test]
async fn merged_and_closed_are_told_apart() {
    let server = ScriptedServer::start(|seen| {
        let mut pull = ours();
        pull["state"] = json!("closed");
        if seen.call.ends_with("/12") {
            pull["merged_at"] = json!("2026-01-01T00:00:00Z");
        }
        // The fork that it came from was deleted.
        pull["head"]["repo"] = Value::Null;
        ok(pull)
    })
    .await;
    assert_eq!(
        server.github.pull(&server.at, PullNumber(12)).await.unwrap().state,
        PullSnapshotState::Merged
    );
    let closed = server.github.pull(&server.at, PullNumber(13)).await.unwrap();
    assert_eq!(closed.state, PullSnapshotState::Closed);
    assert_eq!(server.github.mark_ready(&server.at, &closed).await.unwrap_err().kind, ErrorKind::Invalid);
}
