//! Pull requests: opened, changed, made ready, merged.

use serde_json::{Value, json};

use super::*;
use crate::{EmulatedIssueState, ReviewState};

#[tokio::test]
async fn a_pull_request_is_refused_as_github_refuses_it() {
    let emulator = stage().await;
    let token = full_token(&emulator).await;
    let open = async |head: &str, base: &str| {
        let body = json!({"title": "Fix", "head": head, "base": base, "body": "", "draft": true});
        call(&emulator, "POST", "/repos/octo/calc/pulls", &token, body).await
    };
    let (status, body) = open("fix", "main").await;
    assert_eq!(
        (status, &body["errors"][0]["field"], &body["errors"][0]["code"]),
        (422, &json!("head"), &json!("invalid"))
    );
    branch_with_fix(&emulator, "fix").await;
    let (status, body) = open("fix", "nope").await;
    assert_eq!((status, &body["errors"][0]["field"]), (422, &json!("base")));
    let (status, body) = open("main", "main").await;
    assert_eq!(status, 422);
    assert_eq!(body["errors"][0]["message"], "No commits between main and main");
    let (status, body) = open("fix", "main").await;
    assert_eq!((status, &body["draft"], &body["head"]["ref"]), (201, &json!(true), &json!("fix")));
    let (status, body) = open("octo:fix", "main").await;
    assert_eq!(status, 422);
    assert_eq!(body["errors"][0]["message"], "A pull request already exists for octo:fix.");
    assert_eq!(body["status"], "422");
    let (_, list) = call(&emulator, "GET", "/repos/octo/calc/pulls?head=octo:fix", &token, Value::Null).await;
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    let (_, list) =
        call(&emulator, "GET", "/repos/octo/calc/pulls?head=octo:other", &token, Value::Null).await;
    assert_eq!(list, json!([]));
}

#[tokio::test]
async fn graphql_makes_one_ready() {
    let emulator = stage().await;
    let sha = branch_with_fix(&emulator, "fix").await;
    let pull = open_pull(&emulator, true).await;
    assert_eq!((&pull["draft"], &pull["head"]["sha"]), (&json!(true), &json!(sha)));
    let query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) \
                 { pullRequest { isDraft } } }";
    let token = full_token(&emulator).await;
    let body = json!({"query": query, "variables": {"id": pull["node_id"]}});
    let (_, done) = call(&emulator, "POST", "/graphql", &token, body).await;
    assert_eq!(done["data"]["markPullRequestReadyForReview"]["pullRequest"], json!({"isDraft": false}));
    assert!(!emulator.pulls(REPOSITORY)[0].draft);
    for query in [
        "{ viewer { login } }",
        "mutation { markPullRequestReadyForReview(input: {pullRequestId: \"PR_1\"}) { clientMutationId } }",
    ] {
        let (status, body) = call(&emulator, "POST", "/graphql", &token, json!({"query": query})).await;
        assert_eq!(status, 200);
        assert!(body["errors"][0]["message"].is_string(), "{body}");
    }
}

#[tokio::test]
async fn a_push_moves_the_head_and_a_merge_closes_the_issue() {
    let emulator = stage().await;
    let issue = emulator.open_issue(REPOSITORY, "ada", "Sum is wrong", "").await.expect("an issue");
    branch_with_fix(&emulator, "fix").await;
    let pull = open_pull(&emulator, false).await["number"].as_u64().expect("a number");
    let body = format!("Adds instead.\n\nCloses #{issue}.");
    emulator.edit(REPOSITORY, pull, "ada", None, Some(&body)).await.expect("an edit");
    let sha = emulator
        .push_commit(
            REPOSITORY,
            "fix",
            "ada",
            "By hand",
            [("src/sum.py".to_owned(), Some(b"x = 1\n".to_vec()))].into(),
        )
        .await
        .expect("a person's commit");
    assert_eq!(emulator.pulls(REPOSITORY)[0].head_sha, sha);
    assert!(emulator.review(REPOSITORY, pull, "journeyman[bot]", ReviewState::Approved, "").await.is_err());
    emulator.review(REPOSITORY, pull, "ada", ReviewState::Approved, "Good.").await.expect("a review");
    let commit = emulator.merge(REPOSITORY, pull, "octo").await.expect("merged");
    assert_eq!(emulator.branch_head(REPOSITORY, "main"), Some(commit.clone()));
    assert_eq!(emulator.pulls(REPOSITORY)[0].merged, Some(commit));
    assert_eq!(emulator.issue(REPOSITORY, issue).map(|one| one.state), Some(EmulatedIssueState::Closed));
    assert_eq!(emulator.file(REPOSITORY, "main", "src/sum.py"), Some(b"x = 1\n".to_vec()));
    assert!(emulator.merge(REPOSITORY, pull, "octo").await.is_err(), "once is enough");
}
