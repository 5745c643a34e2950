//! What stands between us and GitHub has pages of its own.

use serde_json::json;

use super::scripted::{ScriptedReply, ScriptedServer};
use crate::ErrorKind;
use journeyman_order::conversation::{CommentRef, Reaction};
use journeyman_order::{Person, PullNumber, UserId};

const PAGE: &[(&str, &str)] = &[("content-type", "text/html; charset=utf-8")];

#[tokio::test]
async fn a_page_for_people_is_no_answer_of_githubs() {
    for status in [200, 403, 404, 410] {
        let server =
            ScriptedServer::start(move |_| ScriptedReply::With(status, PAGE, json!("<html>Sign in</html>")))
                .await;
        let (github, at) = (&server.github, &server.at);
        let mona = Person { login: "mona".into(), id: UserId(4) };
        let told = [
            // That would be a no, a file that is not there, and a reaction that was seen.
            github.can_write(at, &mona).await.map(drop),
            github.file(at, "settings.yml", "main").await.map(drop),
            github.react(at, CommentRef::Issue(3), Reaction::Eyes).await,
            github.request_review(at, PullNumber(7), &["mona"]).await,
        ];
        for told in told {
            let error = told.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unavailable { retry_after: None }, "{status}: {error}");
            assert!(error.message.contains("if a proxy stands between"), "{error}");
        }
        // Reads are tried thrice, and writes once.
        assert_eq!((server.count("GET "), server.writes().len()), (6, 2), "{status}");
    }
}
