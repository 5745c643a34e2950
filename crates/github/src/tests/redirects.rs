//! A renamed or moved repository redirects to its new place; a proxy may redirect anywhere.

use serde_json::{Value, json};

use super::scripted::{ScriptedReply, ScriptedServer, not_found, ok};
use crate::ErrorKind;
use journeyman_order::PullNumber;
use journeyman_order::conversation::{CommentRef, Reaction};

fn repository() -> Value {
    json!({"id": 1, "full_name": "octo/renamed", "default_branch": "main"})
}

fn led_to(status: u16, location: &str) -> ScriptedReply {
    let location: &'static str = location.to_owned().leak();
    ScriptedReply::With(status, vec![("location", location)].leak(), json!({"message": "Moved Permanently"}))
}

#[tokio::test]
async fn a_read_of_what_was_renamed_is_led_on_with_its_token() {
    for status in [301, 302, 307, 308] {
        let server = ScriptedServer::start(move |seen| match seen.call.as_str() {
            "GET /repos/octo/hello" => led_to(status, "/api/v3/repositories/1?by=id"),
            "GET /repositories/1?by=id" => led_to(status, "./2"),
            "GET /repositories/2" => ok(repository()),
            _ => not_found(),
        })
        .await;
        let found = server.github.repository(&server.at).await.unwrap();
        assert_eq!(found.name.to_string(), "octo/renamed", "{status}");
        let reads = server.requests().into_iter().filter(|seen| seen.call.starts_with("GET "));
        let tokens: Vec<String> = reads.map(|seen| seen.authorization).collect();
        assert_eq!(tokens, ["Bearer ghs_secret1"; 3], "{status}");
    }
}

#[tokio::test]
async fn no_token_goes_to_another_server_and_what_was_asked_there_is_no_answer() {
    let elsewhere = ScriptedServer::start(|_| ok(repository())).await;
    let there = format!("{}/api/v3/repositories/1", elsewhere.origin);
    let server = ScriptedServer::start(move |_| led_to(301, &there)).await;
    let error = server.github.repository(&server.at).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Forbidden, "{error}");
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_write_that_is_led_elsewhere_was_not_made() {
    for status in [301, 302, 303, 307, 308] {
        let server = ScriptedServer::start(move |seen| match seen.call.contains("/repositories/") {
            true => ok(json!({"id": 1})),
            false => led_to(status, "/api/v3/repositories/1/elsewhere"),
        })
        .await;
        let (github, at) = (&server.github, &server.at);
        let reacted = github.react(at, CommentRef::Issue(3), Reaction::Eyes).await;
        let asked = github.request_review(at, PullNumber(7), &["mona"]).await;
        for told in [reacted, asked] {
            assert_eq!(told.unwrap_err().kind, ErrorKind::Forbidden, "{status}");
        }
        assert_eq!(server.count("GET "), 0, "{status}");
        assert!(server.writes().iter().all(|call| !call.contains("/repositories/")), "{status}");
    }
}
