use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::scripted::{APP, RecordedRequest, ScriptedReply, ScriptedServer, not_found, ok, refused};
use crate::ErrorKind;
use journeyman_order::{IssueNumber, OrderId};

const ISSUE: IssueNumber = IssueNumber(7);

fn order() -> OrderId {
    "018f4b5e-0000-7000-8000-000000000001".parse().unwrap()
}

fn marked(text: &str) -> String {
    format!("<!-- journeyman:status:{} -->\n{text}", order())
}

/// What happens to a write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteResponse {
    Answered,
    /// Carried out, but the answer is lost.
    Lost,
    /// Carried out, and answered with this status.
    Applied(u16),
    Refused(u16),
}

async fn say(text: &str) -> String {
    text.to_owned()
}

#[derive(Clone)]
struct CommentThread {
    comments: Arc<Mutex<Vec<Value>>>,
    fate: Arc<Mutex<WriteResponse>>,
}

fn comment(id: u64, body: &str, app: Option<u64>) -> Value {
    json!({"id": id, "body": body, "performed_via_github_app": app.map(|id| json!({"id": id}))})
}

impl CommentThread {
    fn answer(&self, seen: &RecordedRequest) -> ScriptedReply {
        let (method, path) = seen.call.split_once(' ').unwrap();
        let mut comments = self.comments.lock().unwrap();
        let fate = std::mem::replace(&mut *self.fate.lock().unwrap(), WriteResponse::Answered);
        if method == "GET" {
            *self.fate.lock().unwrap() = fate;
        } else if let WriteResponse::Refused(status) = fate {
            return refused(status, "no");
        }
        let id = path.rsplit('/').next().and_then(|id| id.parse::<u64>().ok());
        let place = comments.iter().position(|comment| comment["id"].as_u64() == id);
        let reply = match (method, place) {
            ("GET", _) if path.contains("/issues/7/comments") => {
                let page: usize = path.rsplit("page=").next().unwrap().parse().unwrap();
                return ok(comments.iter().skip((page - 1) * 100).take(100).cloned().collect());
            }
            ("POST", _) => {
                let id = 1_000 + comments.len() as u64;
                let new = comment(id, &seen.body["body"].as_str().unwrap().replace('\n', "\r\n"), Some(APP));
                comments.push(new.clone());
                ScriptedReply::Json(201, new)
            }
            ("GET", Some(place)) => ok(comments[place].clone()),
            ("PATCH", Some(place)) => {
                comments[place]["body"] = seen.body["body"].clone();
                ok(comments[place].clone())
            }
            ("DELETE", Some(place)) => {
                comments.remove(place);
                ScriptedReply::Json(204, Value::Null)
            }
            _ => not_found(),
        };
        match fate {
            WriteResponse::Lost if method != "GET" => ScriptedReply::Cut,
            WriteResponse::Applied(status) if method != "GET" => refused(status, "no"),
            WriteResponse::Lost
            | WriteResponse::Applied(_)
            | WriteResponse::Answered
            | WriteResponse::Refused(_) => reply,
        }
    }

    fn bodies(&self) -> Vec<String> {
        let comments = self.comments.lock().unwrap();
        comments.iter().map(|comment| comment["body"].as_str().unwrap().replace("\r\n", "\n")).collect()
    }

    fn next(&self, fate: WriteResponse) {
        *self.fate.lock().unwrap() = fate;
    }
}

async fn thread(comments: Vec<Value>) -> (ScriptedServer, CommentThread) {
    let thread = CommentThread {
        comments: Arc::new(Mutex::new(comments)),
        fate: Arc::new(Mutex::new(WriteResponse::Answered)),
    };
    let answering = thread.clone();
    (ScriptedServer::start(move |seen| answering.answer(seen)).await, thread)
}

#[tokio::test]
async fn the_status_is_one_comment_edited_in_place() {
    let (server, thread) = thread(vec![comment(1, "please fix", None)]).await;
    let mut known = None;
    for text in ["one", "one", "two"] {
        let set = server.github.set_status_comment(&server.at, ISSUE, order(), known, || say(text));
        known = Some(set.await.unwrap());
    }
    assert_eq!(thread.bodies(), ["please fix".to_owned(), marked("two")]);
    assert_eq!(server.writes().len(), 2, "{:?}", server.writes());
    // Only the first call reads the whole thread.
    assert_eq!(server.count("GET /repos/octo/hello/issues/7/comments"), 1);
}

#[tokio::test]
async fn a_marker_counts_only_from_our_app_and_at_the_beginning() {
    let forged = vec![
        comment(1, &marked("all is verified"), None),
        comment(2, &marked("merge me"), Some(APP + 1)),
        comment(3, &format!("quoting {}", marked("x")), Some(APP)),
    ];
    let (server, thread) = thread(forged.clone()).await;
    server.github.set_status_comment(&server.at, ISSUE, order(), None, || say("working")).await.unwrap();
    assert_eq!(thread.bodies().last(), Some(&marked("working")));
    assert_eq!(thread.comments.lock().unwrap()[..3], forged[..]);
}

#[tokio::test]
async fn an_id_that_github_gave_is_enough_where_nothing_tells_the_author() {
    let (server, thread) =
        thread(vec![comment(1, &marked("forged"), None), comment(9, &marked("old"), None)]).await;
    let set = server.github.set_status_comment(&server.at, ISSUE, order(), Some(9), || say("new"));
    assert_eq!(set.await.unwrap(), 9);
    assert_eq!(thread.bodies(), [marked("forged"), marked("new")]);
}

#[tokio::test]
async fn a_lost_answer_never_makes_a_second_comment() {
    for fate in [WriteResponse::Lost, WriteResponse::Applied(502)] {
        let (server, thread) = thread(Vec::new()).await;
        // A new comment, and an edit.
        for text in ["working", "done"] {
            thread.next(fate);
            let set = async || {
                server.github.set_status_comment(&server.at, ISSUE, order(), None, || say(text)).await
            };
            assert!(set().await.is_err());
            set().await.unwrap();
            assert_eq!(thread.bodies(), [marked(text)]);
        }
        assert_eq!(server.writes().len(), 2);
    }
}

#[tokio::test]
async fn a_write_that_was_not_carried_out_is_reported_and_made_by_the_next_call() {
    let (server, thread) = thread(Vec::new()).await;
    for (status, kind) in [
        (502, ErrorKind::Unavailable { retry_after: None }),
        (422, ErrorKind::Invalid),
        (409, ErrorKind::Conflict),
    ] {
        thread.next(WriteResponse::Refused(status));
        let tried =
            server.github.set_status_comment(&server.at, ISSUE, order(), None, || say("working")).await;
        assert_eq!(tried.unwrap_err().kind, kind);
        assert!(thread.bodies().is_empty());
    }
    server.github.set_status_comment(&server.at, ISSUE, order(), None, || say("working")).await.unwrap();
    assert_eq!(thread.bodies(), [marked("working")]);
}

#[tokio::test]
async fn a_comment_is_made_once_for_its_marker() {
    let (server, thread) = thread(Vec::new()).await;
    for (marker, text) in [("review:1", "first"), ("review:1", "again"), ("review:2", "second")] {
        server.github.comment(&server.at, ISSUE, marker, text).await.unwrap();
    }
    assert_eq!(
        thread.bodies(),
        ["<!-- journeyman:review:1 -->\nfirst", "<!-- journeyman:review:2 -->\nsecond"]
    );
}

#[tokio::test]
async fn a_body_is_never_longer_than_github_takes() {
    let (server, thread) = thread(Vec::new()).await;
    let long = "é".repeat(70_000);
    server.github.set_status_comment(&server.at, ISSUE, order(), None, || say(&long)).await.unwrap();
    let said = thread.bodies()[0].chars().count();
    assert!((60_000..=65_536).contains(&said), "{said}");
}

#[tokio::test]
async fn each_round_of_review_has_one_comment_of_its_own() {
    let (server, thread) = thread(Vec::new()).await;
    let pull = journeyman_order::PullNumber(7);
    let set = async |stage: &str, round: u32, text: &str| {
        let marker = format!("review:{}:{stage}:{round}", order());
        server.github.set_pull_comment(&server.at, pull, &marker, text).await.is_ok()
    };
    assert!(set("review", 1, "first").await);
    thread.next(WriteResponse::Lost);
    assert!(!set("review", 2, "second").await);
    assert!(set("review", 2, "second, judged anew").await);
    assert!(set("a..b", 1, "a stage of another name").await);
    let marked = |name: &str, text: &str| format!("<!-- journeyman:review:{}:{name} -->\n{text}", order());
    assert_eq!(
        thread.bodies(),
        [
            marked("review:1", "first"),
            marked("review:2", "second, judged anew"),
            marked("a..b:1", "a stage of another name")
        ]
    );
}
