//! Rare answers of GitHub, and how they are read.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{MentionMatcher, ThreadAnswer};
use crate::error::ErrorKind;
use crate::tests::scripted::{ScriptedReply, ScriptedServer, ok, refused};
use journeyman_order::conversation::{
    CommentAuthor, Mergeability, PointResolution, PullRemarkSource, PullSnapshotState, ThreadReply,
};
use journeyman_order::{OrderId, PullNumber, UserId};

const SHA: &str = "0123456789012345678901234567890123456789";

fn us() -> MentionMatcher<'static> {
    MentionMatcher { slug: "journeyman", mentions: &|text: &str| text.contains("@journeyman") }
}

fn pull(state: &str, mergeable: Value, mergeable_state: &str) -> Value {
    json!({
        "number": 7, "html_url": "", "node_id": "", "title": "", "head": {"ref": "b", "sha": SHA},
        "base": {"ref": "main"}, "state": state, "merged_at": null, "mergeable": mergeable,
        "mergeable_state": mergeable_state,
    })
}

/// A GitHub with this pull request, these reviews and comments, and these threads.
async fn github(pull: Value, reviews: Value, comments: Value, threads: Value) -> ScriptedServer {
    ScriptedServer::start(move |seen| {
        let path = seen.call.split('?').next().unwrap_or_default();
        match path {
            "POST /api/graphql" => ok(json!({"data": {"repository": {"pullRequest": {"reviewThreads": {
                "pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": threads.clone(),
            }}}}})),
            _ if path.ends_with("/reviews") => ok(reviews.clone()),
            _ if path.ends_with("/comments") => ok(comments.clone()),
            _ if path.ends_with("/pulls/7") => ok(pull.clone()),
            _ => ScriptedReply::Json(404, json!({"message": "Not Found"})),
        }
    })
    .await
}

#[tokio::test]
async fn what_stands_in_the_way_of_git_is_told_from_everything_else() {
    for (state, mergeable, said, expected) in [
        ("open", json!(true), "clean", Mergeability::Cleanly),
        ("open", json!(true), "blocked", Mergeability::Cleanly),
        ("open", json!(true), "unstable", Mergeability::Cleanly),
        ("open", json!(true), "draft", Mergeability::Cleanly),
        ("open", json!(true), "behind", Mergeability::Behind),
        ("open", json!(false), "dirty", Mergeability::Conflicts),
        ("open", json!(false), "draft", Mergeability::Conflicts),
        ("open", json!(null), "dirty", Mergeability::Conflicts),
        ("open", json!(null), "unknown", Mergeability::Unknown),
        ("closed", json!(null), "unknown", Mergeability::Unknown),
    ] {
        let server = github(pull(state, mergeable.clone(), said), json!([]), json!([]), json!([])).await;
        let talk = server.github.pull_conversation(&server.at, PullNumber(7), &us()).await.unwrap();
        assert_eq!(talk.mergeable, expected, "{mergeable} {said}");
        let asked =
            server.count("GET /repos/octo/hello/pulls/7") - server.count("GET /repos/octo/hello/pulls/7/");
        let is_asked_again = state == "open" && expected == Mergeability::Unknown;
        assert_eq!(asked, if is_asked_again { 5 } else { 1 }, "{state} {mergeable} {said}");
    }
    let mut merged = pull("closed", Value::Null, "unknown");
    merged["merged_at"] = json!("2026-01-01T00:00:00Z");
    let server = github(merged, json!([]), json!([]), json!([])).await;
    let talk = server.github.pull_conversation(&server.at, PullNumber(7), &us()).await.unwrap();
    assert_eq!(talk.state, PullSnapshotState::Merged);
}

#[tokio::test]
async fn whose_word_it_is_and_whether_it_still_stands() {
    let user = |login: &str, kind: &str| json!({"login": login, "id": login.len(), "type": kind});
    let review = |id: u64, by: Value, state: &str, body: &str| {
        json!({"id": id, "user": by, "state": state, "body": body,
               "submitted_at": format!("2026-01-01T00:00:{id:02}Z")})
    };
    let reviews = json!([
        review(1, user("mona", "User"), "CHANGES_REQUESTED", "First."),
        review(2, user("anna", "User"), "CHANGES_REQUESTED", ""),
        review(3, user("mona", "User"), "COMMENTED", ""),
        review(4, user("mona", "User"), "APPROVED", "Fine, but @journeyman mind the docs"),
        review(5, user("lint[bot]", "Bot"), "COMMENTED", "style"),
        review(6, user("journeyman[bot]", "Bot"), "COMMENTED", "our own answer"),
        review(7, user("bo", "User"), "DISMISSED", "@journeyman never mind"),
        review(8, user("bo", "User"), "PENDING", "not said yet"),
        review(9, Value::Null, "CHANGES_REQUESTED", "by somebody who has left"),
    ]);
    let comments = json!([
        {"id": 30, "user": user("mona", "User"), "body": "@journeyman?", "created_at": "2026-01-01T00:00:03Z"},
        {"id": 31, "user": user("mona", "User"), "body": "/retry @journeyman", "created_at": "2026-01-01T00:00:04Z"},
        {"id": 32, "user": user("mona", "User"), "body": null, "created_at": "2026-01-01T00:00:05Z"},
        {"id": 33, "user": user("JOURNEYMAN[bot]", "Bot"), "body": "@journeyman", "created_at": "2026-01-01T00:00:06Z"},
    ]);
    let server = github(pull("open", json!(true), "clean"), reviews, comments, json!([])).await;
    let talk = server.github.pull_conversation(&server.at, PullNumber(7), &us()).await.unwrap();
    let seen: Vec<(PullRemarkSource, bool)> = talk
        .remarks
        .iter()
        .map(|remark| (remark.source, matches!(remark.by, CommentAuthor::Person(_))))
        .collect();
    let of = |id, asks_for_changes| PullRemarkSource::Review { id, asks_for_changes };
    assert_eq!(
        seen,
        [
            (of(1, false), true),
            (of(2, true), true),
            (PullRemarkSource::Comment { id: 30 }, true),
            (of(4, false), true),
            (of(5, false), false),
            (of(9, true), false),
        ]
    );
}

#[tokio::test]
async fn threads_are_told_with_what_is_left_of_their_lines() {
    let said = |id: u64, author: Value| {
        json!({"fullDatabaseId": id.to_string(), "body": "x", "viewerDidAuthor": false, "author": author,
               "pullRequestReview": {"fullDatabaseId": "3000000000"}})
    };
    let thread = |id: &str, line: Value, side: &str, comments: Value| {
        json!({
            "id": id, "isResolved": false, "path": "a.rs", "line": line,
            "originalLine": 9, "diffSide": side,
            "begun": {"nodes": [{"diffHunk": "@@ -1 +1 @@"}]},
            "first": {"nodes": comments}, "last": {"nodes": comments},
        })
    };
    let person = json!({"__typename": "User", "login": "mona", "databaseId": 4});
    let threads = json!([
        thread(
            "B",
            Value::Null,
            "RIGHT",
            json!([said(3_000_000_002, json!({"__typename": "Bot", "login": "journeyman"}))])
        ),
        thread("A", json!(9), "RIGHT", json!([null, said(3_000_000_001, person.clone())])),
        thread("C", Value::Null, "LEFT", json!([said(3_000_000_003, Value::Null)])),
        null,
        thread(
            "D",
            json!(9),
            "LEFT",
            json!([said(3_000_000_004, json!({"__typename": "Mannequin", "login": "m"}))])
        ),
    ]);
    let server = github(pull("open", json!(true), "clean"), json!([]), json!([]), threads).await;
    let talk = server.github.pull_conversation(&server.at, PullNumber(7), &us()).await.unwrap();
    let seen: Vec<_> =
        talk.threads.iter().map(|one| (one.id.as_str(), one.line, one.original_line)).collect();
    assert_eq!(
        seen,
        [
            ("A", Some(9), None),
            ("B", None, Some(9)),
            // A removed line is not in the head.
            ("C", None, Some(9)),
            ("D", None, Some(9)),
        ]
    );
    let by: Vec<&CommentAuthor> = talk.threads.iter().map(|one| &one.comments[0].by).collect();
    assert!(matches!(by[0], CommentAuthor::Person(person) if person.id == UserId(4)), "{by:?}");
    assert_eq!(by[1..], [&CommentAuthor::Us, &CommentAuthor::Other, &CommentAuthor::Other]);
    assert_eq!(talk.threads[0].comments.len(), 1, "the first and the last are the same here");
    assert_eq!(talk.threads[0].comments[0].review, Some(3_000_000_000), "beyond 32 bits");
}

#[tokio::test]
async fn an_answer_that_was_refused_or_lost_and_is_there_all_the_same_is_not_said_again() {
    for (status, is_carried_out, writes) in
        [(401, true, 1), (403, true, 1), (502, true, 1), (401, false, 2), (403, false, 2)]
    {
        let answers: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (said, answered) = (Arc::clone(&answers), Mutex::new(0));
        let server = ScriptedServer::start(move |seen| {
            let mut said = said.lock().unwrap();
            if seen.call == "POST /api/graphql" {
                return ok(json!({"data": {"node": {
                    "isResolved": false, "pullRequest": {"number": 7},
                    "first": {"nodes": [{"fullDatabaseId": "11"}]}, "last": {"nodes": *said},
                }}}));
            }
            assert!(seen.call.ends_with("/pulls/7/comments/11/replies"), "{}", seen.call);
            let mut answered = answered.lock().unwrap();
            *answered += 1;
            if *answered > 1 || is_carried_out {
                said.push(json!({"body": seen.body["body"], "viewerDidAuthor": true}));
            }
            if *answered == 1 { refused(status, "no") } else { ok(json!({})) }
        })
        .await;
        let reply = ThreadReply {
            thread: "T".into(),
            answers: 12,
            done: PointResolution::Nothing,
            text: "No.".into(),
        };
        let order = OrderId("018f4b5e-0000-7000-8000-000000000001".parse().unwrap());
        let answer = ThreadAnswer { order, reply: &reply, body: "No." };
        let said = server.github.answer_thread(&server.at, PullNumber(7), &answer).await;
        if status == 502 {
            // The effect runs again and finds its answer.
            assert_eq!(said.unwrap_err().kind, ErrorKind::Unavailable { retry_after: None });
            server.github.answer_thread(&server.at, PullNumber(7), &answer).await.unwrap();
        } else {
            said.unwrap();
        }
        let tried = server.writes().iter().filter(|call| call.ends_with("/replies")).count();
        assert_eq!((answers.lock().unwrap().len(), tried), (1, writes), "{status}");
    }
}
