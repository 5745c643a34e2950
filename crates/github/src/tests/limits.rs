use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scripted::{
    APP, RecordedRequest, ScriptedReply, ScriptedServer, limited_github_at, not_found, ok,
};
use crate::{ErrorKind, GitHub, InstalledRepository, WriteLimits};
use journeyman_order::{InstallationId, IssueNumber, OrderId};

const ISSUE: IssueNumber = IssueNumber(7);
const INTERVAL: Duration = Duration::from_millis(300);

fn order() -> OrderId {
    "018f4b5e-0000-7000-8000-000000000001".parse().unwrap()
}

fn status(text: &str) -> Value {
    let body = format!("<!-- journeyman:status:{} -->\n{text}", order());
    json!({"id": 900, "body": body, "performed_via_github_app": {"id": APP}})
}

/// An issue whose status comment has this text.
fn issue(seen: &RecordedRequest, says: &str) -> ScriptedReply {
    match seen.call.split_once(' ').unwrap() {
        ("GET", path) if path.contains("/comments?") => ok(json!([status(says)])),
        ("GET", path) if path.ends_with("/issues/comments/900") => ok(status(says)),
        ("POST" | "PATCH", _) => ScriptedReply::Json(201, status("written")),
        _ => not_found(),
    }
}

fn paced(server: &ScriptedServer) -> GitHub {
    let limits = WriteLimits { interval: INTERVAL, ..WriteLimits::NONE };
    limited_github_at(&format!("{}/api/v3", server.origin), limits)
}

#[tokio::test]
async fn a_status_says_what_is_known_when_its_turn_comes() {
    let server = ScriptedServer::start(|seen| issue(seen, "begun")).await;
    let github = paced(&server);
    let known = AtomicUsize::new(0);
    // The news come during the first comments, after the status edit has asked for its turn.
    let says = || async { format!("news {}", known.load(Ordering::SeqCst)) };
    let edit = github.set_status_comment(&server.at, ISSUE, order(), None, says);
    let talk = async {
        for news in 1..=3 {
            github.comment(&server.at, ISSUE, &format!("answer:{news}"), "yes").await.unwrap();
            known.store(news, Ordering::SeqCst);
        }
    };
    let first = github.comment(&server.at, ISSUE, "answer:0", "yes");
    let (first, edit, ()) = tokio::join!(first, edit, talk);
    first.and(edit).unwrap();
    let edits = server.requests().into_iter().filter(|seen| seen.call.starts_with("PATCH "));
    let edits: Vec<String> = edits.map(|seen| seen.body["body"].as_str().unwrap().to_owned()).collect();
    let last = server.writes().iter().rposition(|call| call.starts_with("PATCH ")).unwrap();
    assert_eq!(edits.len(), 1);
    assert_eq!(
        last,
        server.writes().len() - 1,
        "all that is more important comes first: {:?}",
        server.writes()
    );
    assert!(edits[0].ends_with("news 2") || edits[0].ends_with("news 3"), "{edits:?}");
}

#[tokio::test]
async fn what_github_asks_of_one_call_holds_for_all_writes_of_the_installation() {
    const ASKED: Duration = Duration::from_secs(2);
    for limited in ["GET", "POST"] {
        let strikes = Arc::new(AtomicUsize::new(0));
        let server = {
            let strikes = Arc::clone(&strikes);
            ScriptedServer::start(move |seen| {
                let is_struck = seen.call.starts_with(limited) && seen.call.contains("/issues/7");
                if is_struck && strikes.fetch_add(1, Ordering::SeqCst) == 0 {
                    let message = json!({"message": "You have exceeded a secondary rate limit"});
                    // A read waits it out within its three tries; so do the writes of others.
                    return ScriptedReply::With(403, &[("retry-after", "2")], message);
                }
                issue(seen, "begun")
            })
            .await
        };
        let other = InstalledRepository { installation: InstallationId(6), ..server.at.clone() };
        let begun = Instant::now();
        let struck = async {
            let told = server.github.comment(&server.at, ISSUE, "answer:0", "yes").await;
            let kinds = told.map_err(|error| error.kind);
            match limited {
                "GET" => assert_eq!(kinds, Ok(())),
                _ => assert_eq!(kinds, Err(ErrorKind::Unavailable { retry_after: Some(ASKED) })),
            }
            Instant::now()
        };
        let after = async {
            while strikes.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            server.github.comment(&other, IssueNumber(8), "answer:1", "yes").await.unwrap();
            let others = begun.elapsed();
            server.github.comment(&server.at, ISSUE, "answer:2", "yes").await.unwrap();
            (others, begun.elapsed())
        };
        let (_, (others, ours)) = tokio::join!(struck, after);
        assert!(others < ASKED / 2, "another installation waits: {others:?}");
        assert!(ours >= ASKED, "{limited}: written after {ours:?}");
    }
}
