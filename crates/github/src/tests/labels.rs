use std::sync::Mutex;

use serde_json::json;

use super::scripted::{ScriptedReply, ScriptedServer, not_found, ok};
use crate::OrderLabel;
use journeyman_order::IssueNumber;

const ISSUE: IssueNumber = IssueNumber(7);

/// An issue with labels, in a repository without other labels.
async fn with_labels(labels: &[&str]) -> ScriptedServer {
    let on = Mutex::new(labels.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let known = Mutex::new(Vec::<String>::new());
    ScriptedServer::start(move |seen| {
        let mut on = on.lock().unwrap();
        let (method, path) = seen.call.split_once(' ').unwrap();
        let path = path.strip_prefix("/repos/octo/hello").unwrap().replace("%3A", ":");
        match (method, path.split('?').next().unwrap()) {
            ("GET", "/issues/7/labels") => ok(on.iter().map(|name| json!({"name": name})).collect()),
            ("GET", label) if known.lock().unwrap().iter().any(|name| label.ends_with(name)) => ok(json!({})),
            ("GET", _) => not_found(),
            ("POST", "/labels") => {
                assert!(seen.body["color"].is_string() && seen.body["description"].is_string());
                known.lock().unwrap().push(seen.body["name"].as_str().unwrap().to_owned());
                ScriptedReply::Json(201, json!({}))
            }
            ("POST", "/issues/7/labels") => {
                on.push(seen.body["labels"][0].as_str().unwrap().to_owned());
                ok(on.iter().map(|name| json!({"name": name})).collect())
            }
            ("DELETE", gone) => {
                on.retain(|name| !gone.ends_with(name.to_lowercase().as_str()));
                ok(json!([]))
            }
            _ => ScriptedReply::Cut,
        }
    })
    .await
}

#[tokio::test]
async fn exactly_one_of_our_labels_is_on_and_others_stay() {
    let server = with_labels(&["bug", "journeyman"]).await;
    for label in [OrderLabel::Working, OrderLabel::NeedsHuman, OrderLabel::NeedsHuman, OrderLabel::None] {
        server.github.set_order_label(&server.at, ISSUE, label).await.unwrap();
    }
    let base = "/repos/octo/hello";
    assert_eq!(
        server.writes(),
        [
            format!("POST {base}/labels"),
            format!("POST {base}/issues/7/labels"),
            format!("POST {base}/labels"),
            format!("POST {base}/issues/7/labels"),
            format!("DELETE {base}/issues/7/labels/journeyman%3Aworking"),
            format!("DELETE {base}/issues/7/labels/journeyman%3Aneeds-human"),
        ]
    );
}

#[tokio::test]
async fn a_label_written_in_capitals_is_the_same_label() {
    let server = with_labels(&["Journeyman:Done"]).await;
    server.github.set_order_label(&server.at, ISSUE, OrderLabel::Done).await.unwrap();
    assert!(server.writes().is_empty());
}
