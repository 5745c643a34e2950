//! Faults strike as told, and only as often.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::{Fault, FaultKind};

fn fault(path: &str, kind: FaultKind) -> Fault {
    Fault { method: Some("POST".to_owned()), path_contains: path.to_owned(), times: 1, kind }
}

#[tokio::test]
async fn an_answer_can_be_replaced_before_and_after_the_act() {
    let emulator = stage().await;
    emulator.open_issue(REPOSITORY, "ada", "t", "").await.expect("an issue");
    let token = full_token(&emulator).await;
    let say = async || {
        call(&emulator, "POST", "/repos/octo/calc/issues/1/comments", &token, json!({"body": "x"})).await.0
    };
    let comments = || emulator.issue(REPOSITORY, 1).map(|one| one.comments.len());
    let headers = vec![("Retry-After".to_owned(), "3".to_owned())];
    emulator.inject(fault("/comments", FaultKind::Status { code: 429, headers, body: String::new() }));
    assert_eq!((say().await, comments()), (429, Some(0)));
    emulator.inject(fault("/comments", FaultKind::AppliedThen(502)));
    assert_eq!((say().await, comments()), (502, Some(1)));
    assert_eq!((say().await, comments()), (201, Some(2)), "once is once");
    emulator.inject(fault("/comments", FaultKind::Delay(Duration::from_millis(300))));
    let began = Instant::now();
    assert_eq!(say().await, 201);
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[tokio::test]
async fn an_answer_can_be_lost_after_the_act() {
    let emulator = stage().await;
    emulator.open_issue(REPOSITORY, "ada", "t", "").await.expect("an issue");
    let token = full_token(&emulator).await;
    for (kind, done) in [(FaultKind::AppliedThenLost, 1), (FaultKind::Lost, 1)] {
        emulator.inject(fault("/comments", kind));
        let client = reqwest::Client::builder().user_agent("story").no_proxy().build().expect("a client");
        let url = format!("{}/repos/octo/calc/issues/1/comments", emulator.api_url());
        let lost = client.post(url).bearer_auth(&token).json(&json!({"body": "x"})).send().await;
        let error = lost.expect_err("no answer, not even its head");
        assert!(!error.is_timeout(), "cut, not hung: {error}");
        assert_eq!(emulator.issue(REPOSITORY, 1).map(|one| one.comments.len()), Some(done));
        assert_eq!(emulator.calls().last().map(|call| call.status), Some(None));
    }
    assert_eq!(call(&emulator, "GET", "/repos/octo/calc", &token, Value::Null).await.0, 200, "alive");
}

#[tokio::test]
async fn a_push_can_arrive_while_git_hears_nothing_of_it() {
    let emulator = stage().await;
    let folder = tempfile::tempdir().expect("a folder");
    let url = address(&emulator, "x-access-token", &full_token(&emulator).await);
    git(folder.path(), &["clone", "-q", &url, "."]).await;
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "x"]).await;
    emulator.inject(fault("git-receive-pack", FaultKind::AppliedThenLost));
    let (good, text) = git(folder.path(), &["push", "origin", "HEAD:refs/heads/fix"]).await;
    assert!(!good, "{text}");
    assert!(emulator.branch_head(REPOSITORY, "fix").is_some());
}

#[tokio::test]
async fn waiting_ends_with_news_or_says_what_did_not_come() {
    let emulator = stage().await;
    let opened = |emulator: &Emulator| emulator.issue(REPOSITORY, 1).map(|one| one.title);
    let error =
        emulator.wait_for("an issue", Duration::from_millis(50), opened).await.expect_err("nothing came");
    assert!(error.to_string().contains("an issue"));
    let (seen, _) = tokio::join!(emulator.wait_for("an issue", SOON, opened), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        emulator.open_issue(REPOSITORY, "ada", "late", "").await
    });
    assert_eq!(seen.ok().as_deref(), Some("late"));
}

#[tokio::test]
async fn a_dropped_emulator_is_gone_with_its_repositories() {
    let emulator = stage().await;
    let (origin, git) = (emulator.origin(), emulator.git_dir(REPOSITORY).expect("the folder"));
    assert!(git.is_dir());
    drop(emulator);
    let gone = async {
        while git.exists() || reqwest::get(&origin).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, gone).await.expect("it ends");
    let emulator = stage().await;
    let origin = emulator.origin();
    emulator.stop().await;
    assert!(reqwest::get(&origin).await.is_err(), "stopped when told so");
}
