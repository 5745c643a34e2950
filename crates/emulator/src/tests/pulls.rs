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
    assert_eq!((status, &body["draft"], &body["head"]["label"]), (201, &json!(true), &json!("octo:fix")));
    let (status, body) = open("octo:fix", "main").await;
    assert_eq!(status, 422);
    assert_eq!(body["errors"][0]["message"], "A pull request already exists for octo:fix.");
    assert_eq!(body["status"], "422");
    let (_, list) =
        call(&emulator, "GET", "/repos/octo/calc/pulls?head=octo:fix&state=all", &token, Value::Null).await;
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    let (_, list) =
        call(&emulator, "GET", "/repos/octo/calc/pulls?head=octo:other&state=all", &token, Value::Null).await;
    assert_eq!(list, json!([]));
}

#[tokio::test]
async fn octocrab_opens_one_and_graphql_makes_it_ready() {
    let emulator = stage().await;
    let sha = branch_with_fix(&emulator, "fix").await;
    let client = installation(&emulator);
    let pull =
        client.pulls("octo", "calc").create("Fix", "fix", "main").draft(true).send().await.expect("opened");
    assert_eq!((pull.draft, pull.head.sha.as_str(), pull.commits), (Some(true), sha.as_str(), Some(1)));
    let id = pull.node_id.expect("a node id");
    let query = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) \
                 { pullRequest { isDraft } } }";
    let done: Value = client.graphql(&json!({"query": query, "variables": {"id": id}})).await.expect("ready");
    assert_eq!(done["markPullRequestReadyForReview"]["pullRequest"]["isDraft"], false);
    assert!(!emulator.pulls(REPOSITORY)[0].draft);
    let back = format!(
        "mutation {{ convertPullRequestToDraft(input: {{pullRequestId: \"{id}\"}}) {{ pullRequest {{ id }} }} }}"
    );
    let _: Value = client.graphql(&json!({"query": back})).await.expect("a draft again");
    assert!(emulator.pulls(REPOSITORY)[0].draft);
    let token = full_token(&emulator).await;
    let enterprise = reqwest::Client::builder().user_agent("story").no_proxy().build().expect("a client");
    let request = enterprise.post(format!("{}/api/graphql", emulator.origin())).bearer_auth(&token);
    let answer =
        request.json(&json!({"query": query, "variables": {"id": id}})).send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 200);
    assert!(!emulator.pulls(REPOSITORY)[0].draft, "GraphQL also lives where Enterprise Server has it");
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
    let client = installation(&emulator);
    let body = format!("Adds instead.\n\nCloses #{issue}.");
    let pull =
        client.pulls("octo", "calc").create("Fix", "fix", "main").body(body).send().await.expect("opened");
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
    assert!(
        emulator.review(REPOSITORY, pull.number, "journeyman[bot]", ReviewState::Approved, "").await.is_err()
    );
    emulator.review(REPOSITORY, pull.number, "ada", ReviewState::Approved, "Good.").await.expect("a review");
    let commit = emulator.merge(REPOSITORY, pull.number, "octo").await.expect("merged");
    assert_eq!(emulator.branch_head(REPOSITORY, "main"), Some(commit.clone()));
    assert_eq!(emulator.pulls(REPOSITORY)[0].merged, Some(commit));
    assert_eq!(emulator.issue(REPOSITORY, issue).map(|one| one.state), Some(EmulatedIssueState::Closed));
    assert_eq!(emulator.file(REPOSITORY, "main", "src/sum.py"), Some(b"x = 1\n".to_vec()));
    assert!(emulator.merge(REPOSITORY, pull.number, "octo").await.is_err(), "once is enough");
}
