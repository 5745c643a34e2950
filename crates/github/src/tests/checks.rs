use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::scripted::{APP, RecordedRequest, ScriptedReply, ScriptedServer, ok, refused};
use crate::OrderCheckRun;
use journeyman_order::conversation::{AnnotationLevel, CheckAnnotation, CheckRunOutput, CheckRunState};
use journeyman_order::{CommitSha, OrderId};

fn order() -> OrderId {
    "018f4b5e-0000-7000-8000-000000000001".parse().unwrap()
}

/// One request that gets a refusal, whether it is carried out or not.
#[derive(Debug, Clone, Copy)]
struct RefusedRequest {
    method: &'static str,
    status: u16,
    is_carried_out: bool,
}

/// The check runs of a commit, and their annotations, which can only be added.
#[derive(Clone, Default)]
struct CommitChecks {
    runs: Arc<Mutex<Vec<Value>>>,
    annotations: Arc<Mutex<Vec<Value>>>,
    refused: Arc<Mutex<Option<RefusedRequest>>>,
}

impl CommitChecks {
    fn answer(&self, seen: &RecordedRequest) -> ScriptedReply {
        let (method, path) = seen.call.split_once(' ').unwrap();
        let refusal = self.refused.lock().unwrap().take_if(|one| one.method == method);
        if let Some(RefusedRequest { status, is_carried_out: false, .. }) = refusal {
            return refused(status, "no");
        }
        let (mut runs, mut annotations) = (self.runs.lock().unwrap(), self.annotations.lock().unwrap());
        if method == "GET" && path.contains("/annotations") {
            let page: usize = path.rsplit("page=").next().unwrap().parse().unwrap();
            return ok(annotations.iter().skip((page - 1) * 100).take(100).cloned().collect());
        }
        if method == "GET" {
            return ok(json!({"check_runs": *runs}));
        }
        annotations.extend(seen.body["output"]["annotations"].as_array().unwrap().iter().cloned());
        let id = path.rsplit('/').next().and_then(|id| id.parse().ok()).unwrap_or(runs.len() as u64 + 1);
        let run = json!({
            "id": id, "status": seen.body["status"], "conclusion": seen.body["conclusion"],
            "external_id": seen.body["external_id"], "app": {"id": APP}, "output": {
                "title": seen.body["output"]["title"], "summary": seen.body["output"]["summary"],
                "annotations_count": annotations.len(),
            },
        });
        runs.retain(|one| one["id"] != run["id"]);
        runs.push(run.clone());
        refusal.map_or_else(|| ok(run), |refusal| refused(refusal.status, "no"))
    }

    /// The state of each run, in order of creation.
    fn states(&self) -> Vec<Value> {
        self.runs.lock().unwrap().iter().map(|run| run["status"].clone()).collect()
    }
}

/// Shows a check run while one request is refused; returns the number of writes.
async fn shown(checks: &CommitChecks, state: CheckRunState, lines: u64, refusal: RefusedRequest) -> usize {
    *checks.refused.lock().unwrap() = Some(refusal);
    let answering = checks.clone();
    let server = ScriptedServer::start(move |seen| answering.answer(seen)).await;
    let annotation = |line| CheckAnnotation {
        path: "sums.py".to_owned(),
        line,
        level: AnnotationLevel::Warning,
        title: "major".to_owned(),
        message: format!("number {line}"),
    };
    let text = CheckRunOutput {
        title: "At work".to_owned(),
        summary: "The first round.".to_owned(),
        annotations: (0..lines).map(annotation).collect(),
    };
    let head: CommitSha = "0123456789012345678901234567890123456789".parse().unwrap();
    let run = OrderCheckRun { head: &head, order: order(), state, text: &text, details: None, buttons: &[] };
    let mut shown = server.github.show_check(&server.at, run).await;
    if refusal.status == 502 {
        assert!(shown.is_err(), "its answer is lost: {refusal:?}");
        shown = server.github.show_check(&server.at, run).await;
    }
    assert_eq!(shown, Ok(()), "{refusal:?}");
    server.writes().len()
}

#[tokio::test]
async fn a_check_run_that_was_refused_or_lost_and_is_there_all_the_same_is_not_made_again() {
    for (status, is_carried_out, writes) in
        [(401, true, 1), (403, true, 1), (502, true, 1), (401, false, 2), (403, false, 2)]
    {
        let refusal = RefusedRequest { method: "POST", status, is_carried_out };
        let checks = CommitChecks::default();
        assert_eq!(shown(&checks, CheckRunState::InProgress, 0, refusal).await, writes, "{refusal:?}");
        assert_eq!(checks.states(), ["in_progress"], "{refusal:?}");

        // A completed one is not mistaken for the newly started one.
        let over = json!({"id": 1, "status": "completed", "conclusion": "failure", "external_id": order(),
            "app": {"id": APP}, "output": {"title": "Not verified", "summary": ""}});
        checks.runs.lock().unwrap().splice(.., [over]);
        assert_eq!(shown(&checks, CheckRunState::InProgress, 0, refusal).await, writes, "{refusal:?}");
        assert_eq!(checks.states(), ["completed", "in_progress"], "{refusal:?}");
    }
}

#[tokio::test]
async fn annotations_that_were_refused_or_lost_and_are_there_all_the_same_are_not_added_again() {
    for (status, is_carried_out, writes) in
        [(401, true, 3), (403, true, 3), (502, true, 3), (401, false, 4), (403, false, 4)]
    {
        let refusal = RefusedRequest { method: "PATCH", status, is_carried_out };
        let checks = CommitChecks::default();
        // Fifty at a time: the second of three requests is refused.
        assert_eq!(shown(&checks, CheckRunState::Failure, 120, refusal).await, writes, "{refusal:?}");
        let annotations = checks.annotations.lock().unwrap();
        let lines: Vec<u64> = annotations.iter().map(|one| one["start_line"].as_u64().unwrap()).collect();
        assert_eq!(lines, (0..120).collect::<Vec<u64>>(), "{refusal:?}");
    }
}
