//! Reviews: comments on lines, what becomes of them, and who gets events.

use serde_json::{Value, json};

use super::*;
use crate::ReviewState;

/// A pull request that changes the sum; returns the installation's token and its number.
async fn pull(emulator: &Emulator) -> (String, u64) {
    let changed = "def add(a, b):\n    # a sum\n    return a + b\n";
    push(emulator, "fix", changed).await;
    let token = full_token(emulator).await;
    let body = json!({"title": "Fix", "head": "fix", "base": "main"});
    let (status, made) = call(emulator, "POST", "/repos/octo/calc/pulls", &token, body).await;
    assert_eq!(status, 201, "{made}");
    (token, made["number"].as_u64().expect("a number"))
}

async fn push(emulator: &Emulator, branch: &str, sum: &str) -> String {
    let files = [("src/sum.py".to_owned(), Some(sum.as_bytes().to_vec()))];
    emulator.push_commit(REPOSITORY, branch, "ada", "By hand", files.into()).await.expect("a commit")
}

async fn graphql(emulator: &Emulator, token: &str, query: &str, variables: Value) -> Value {
    let body = json!({"query": query, "variables": variables});
    let (status, answer) = call(emulator, "POST", "/graphql", token, body).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 50, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { ...where first: comments(first: 1) { nodes { ...said } } last: comments(last: 1) { nodes { body } } }
    }
  } }
}
fragment where on PullRequestReviewThread { id path line originalLine isResolved }
fragment said on PullRequestReviewComment {
  fullDatabaseId body diffHunk viewerDidAuthor
  author { __typename login ... on User { databaseId } }
  pullRequestReview { fullDatabaseId }
}";

async fn threads(emulator: &Emulator, token: &str, number: u64) -> Vec<Value> {
    let variables = json!({"owner": "octo", "name": "calc", "number": number});
    let answer = graphql(emulator, token, THREADS, variables).await;
    assert_eq!(answer["errors"], Value::Null, "{answer}");
    let nodes = &answer["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"];
    nodes.as_array().expect("threads").clone()
}

#[tokio::test]
async fn what_is_said_of_lines_follows_them_until_they_change() {
    let emulator = stage().await;
    let (token, number) = pull(&emulator).await;
    let notes = [("src/sum.py", 3, "Why not sum()?"), ("src/sum.py", 2, "Says nothing.")];
    let verdict = (ReviewState::ChangesRequested, "Nearly.");
    let review = emulator.review_lines(REPOSITORY, number, "mona", verdict, &notes).await.expect("a review");
    let seen = threads(&emulator, &token, number).await;
    let first = &seen[0]["first"]["nodes"][0];
    assert_eq!(
        first["diffHunk"],
        "@@ -1,2 +1,3 @@\n def add(a, b):\n-    return a - b\n+    # a sum\n+    return a + b"
    );
    assert_eq!(
        first["author"],
        json!({"__typename": "User", "login": "mona", "databaseId": emulator.add_user("mona")})
    );
    assert_eq!(first["pullRequestReview"], json!({"fullDatabaseId": review.to_string()}));
    assert_eq!(seen[0]["line"], json!(3));

    // Adds a line above the first, and changes a word in the second.
    push(&emulator, "fix", "import sys\ndef add(a, b):\n    # the sum\n    return a + b\n").await;
    let seen = threads(&emulator, &token, number).await;
    assert_eq!((&seen[0]["line"], &seen[0]["originalLine"]), (&json!(4), &json!(3)));
    assert_eq!((&seen[1]["line"], &seen[1]["originalLine"]), (&Value::Null, &json!(2)));

    let outside = emulator.comment_on_line(REPOSITORY, number, "mona", ("README.md", 1, "x")).await;
    assert!(outside.is_err(), "not in the diff");
    let empty = emulator.review(REPOSITORY, number, "mona", ReviewState::Commented, " ").await;
    assert!(empty.is_err(), "there is nothing in it");
    let own = emulator.review(REPOSITORY, number, "journeyman[bot]", ReviewState::Approved, "").await;
    assert!(own.expect_err("one's own").to_string().contains("approve your own"));
}
