//! Reviews: what is said of lines, what becomes of it, and who hears of it.

use serde_json::{Value, json};

use super::*;
use crate::{RepositoryRole, ReviewState};

/// A pull request that changes the sum; the installation's token and its number.
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
fragment where on PullRequestReviewThread { id path line originalLine isOutdated isResolved }
fragment said on PullRequestReviewComment {
  fullDatabaseId body diffHunk viewerDidAuthor
  author { __typename login ... on User { databaseId } }
  originalCommit { oid } pullRequestReview { fullDatabaseId }
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
    let head = emulator.branch_head(REPOSITORY, "fix").expect("the branch");
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
    assert_eq!(first["originalCommit"]["oid"], json!(head));
    assert_eq!(first["pullRequestReview"], json!({"fullDatabaseId": review.to_string()}));
    assert_eq!((&seen[0]["line"], &seen[0]["isOutdated"]), (&json!(3), &json!(false)));

    // A line above the first, and another word in the second.
    push(&emulator, "fix", "import sys\ndef add(a, b):\n    # the sum\n    return a + b\n").await;
    let seen = threads(&emulator, &token, number).await;
    assert_eq!((&seen[0]["line"], &seen[0]["originalLine"]), (&json!(4), &json!(3)));
    assert_eq!(
        (&seen[1]["line"], &seen[1]["originalLine"], &seen[1]["isOutdated"]),
        (&Value::Null, &json!(2), &json!(true))
    );

    let outside = emulator.comment_on_line(REPOSITORY, number, "mona", ("README.md", 1, "x")).await;
    assert!(outside.is_err(), "not in the diff");
    let empty = emulator.review(REPOSITORY, number, "mona", ReviewState::Commented, " ").await;
    assert!(empty.is_err(), "there is nothing in it");
    let own = emulator.review(REPOSITORY, number, "journeyman[bot]", ReviewState::Approved, "").await;
    assert!(own.expect_err("one's own").to_string().contains("approve your own"));
}

#[tokio::test]
async fn threads_are_answered_and_settled_with_the_right_to_write() {
    let emulator = stage().await;
    let (token, number) = pull(&emulator).await;
    let said =
        emulator.comment_on_line(REPOSITORY, number, "mona", ("src/sum.py", 3, "?")).await.expect("said");
    let replies = format!("/repos/octo/calc/pulls/{number}/comments/{said}/replies");
    let (status, reply) = call(&emulator, "POST", &replies, &token, json!({"body": "!"})).await;
    assert_eq!(status, 201);
    let to_reply = format!("/repos/octo/calc/pulls/{number}/comments/{}/replies", reply["id"]);
    assert_eq!(
        call(&emulator, "POST", &to_reply, &token, json!({"body": "!"})).await.0,
        422,
        "no reply to a reply"
    );
    let nowhere = format!("/repos/octo/calc/pulls/{number}/comments/1/replies");
    assert_eq!(call(&emulator, "POST", &nowhere, &token, json!({"body": "!"})).await.0, 404);
    emulator.reply_in_thread(REPOSITORY, number, said, "mona", "Ah.").await.expect("an answer");

    let thread = threads(&emulator, &token, number).await.remove(0);
    assert_eq!(thread["last"]["nodes"][0]["body"], "Ah.");
    let resolve =
        "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id isResolved } } }";
    let id = thread["id"].clone();
    let narrow = super::token(&emulator, &json!({"permissions": {"pull_requests": "write"}})).await;
    let answer = graphql(&emulator, &narrow, resolve, json!({"id": id})).await;
    assert_eq!(answer["errors"][0]["type"], "FORBIDDEN", "without contents: {answer}");
    let answer = graphql(&emulator, &token, resolve, json!({"id": id})).await;
    assert_eq!(answer["data"]["resolveReviewThread"]["thread"], json!({"id": id, "isResolved": true}));
    let answer = graphql(&emulator, &token, resolve, json!({"id": "PRRT_1"})).await;
    assert_eq!(answer["errors"][0]["type"], "NOT_FOUND");
    assert!(emulator.pulls(REPOSITORY)[0].threads[0].resolved);
    emulator.resolve_thread(REPOSITORY, said, "mona", false).await.expect("open again");
    assert!(!emulator.pulls(REPOSITORY)[0].threads[0].resolved);

    let events: Vec<String> = emulator
        .deliveries()
        .iter()
        .map(|one| format!("{}.{}", one.event, one.action.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(
        events,
        [
            "push.-",
            "pull_request.opened",
            "pull_request_review.submitted",
            "pull_request_review_comment.created",
            "pull_request_review.submitted",
            "pull_request_review_comment.created",
            "pull_request_review.submitted",
            "pull_request_review_comment.created",
        ]
    );
}

#[tokio::test]
async fn comments_are_reacted_to_once_and_folded_away() {
    let emulator = stage().await;
    let (token, number) = pull(&emulator).await;
    let comment = emulator.comment(REPOSITORY, number, "mona", "/retry").await.expect("a comment");
    let line =
        emulator.comment_on_line(REPOSITORY, number, "mona", ("src/sum.py", 3, "?")).await.expect("said");
    for path in [format!("issues/comments/{comment}"), format!("pulls/comments/{line}")] {
        let path = format!("/repos/octo/calc/{path}/reactions");
        let react =
            async |content: &str| call(&emulator, "POST", &path, &token, json!({"content": content})).await;
        assert_eq!(react("eyes").await.0, 201, "{path}");
        assert_eq!(react("eyes").await.0, 200);
        assert_eq!(react("shrug").await.0, 422);
    }
    let seen = emulator.issue(REPOSITORY, number).expect("it").comments.remove(0);
    assert_eq!(seen.reactions, [("journeyman[bot]".to_owned(), "eyes".to_owned())]);
    let gone = "/repos/octo/calc/issues/comments/1/reactions";
    assert_eq!(call(&emulator, "POST", gone, &token, json!({"content": "eyes"})).await.0, 404);

    let fold = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }";
    let answer = graphql(&emulator, &token, fold, json!({"id": format!("IC_{comment}")})).await;
    assert_eq!(
        answer["data"]["minimizeComment"]["minimizedComment"],
        json!({"isMinimized": true}),
        "{answer}"
    );
    let asked = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { id isMinimized } } }";
    let answer = graphql(&emulator, &token, asked, json!({"ids": [format!("IC_{comment}")]})).await;
    assert_eq!(answer["data"]["nodes"], json!([{"id": format!("IC_{comment}"), "isMinimized": true}]));
    assert_eq!(
        emulator.issue(REPOSITORY, number).expect("it").comments[0].minimized.as_deref(),
        Some("outdated")
    );
}

#[tokio::test]
async fn who_can_review_is_asked_and_having_reviewed_is_asked_no_more() {
    let emulator = stage().await;
    let (token, number) = pull(&emulator).await;
    emulator.set_permission(REPOSITORY, "mona", RepositoryRole::Write).expect("a role");
    emulator.add_user("stranger");
    let path = format!("/repos/octo/calc/pulls/{number}/requested_reviewers");
    let ask =
        async |logins: Value| call(&emulator, "POST", &path, &token, json!({"reviewers": logins})).await;
    assert_eq!(ask(json!(["mona", "stranger"])).await.0, 422);
    assert_eq!(ask(json!(["journeyman[bot]"])).await.0, 422, "the author");
    assert!(emulator.pulls(REPOSITORY)[0].requested.is_empty());
    assert_eq!(ask(json!(["mona"])).await.0, 201);
    assert_eq!(emulator.pulls(REPOSITORY)[0].requested, ["mona"]);
    assert_eq!(ask(json!(["mona"])).await.0, 201);
    emulator
        .review(REPOSITORY, number, "mona", ReviewState::ChangesRequested, "No.")
        .await
        .expect("a review");
    assert!(emulator.pulls(REPOSITORY)[0].requested.is_empty());
    let (_, list) =
        call(&emulator, "GET", &format!("/repos/octo/calc/pulls/{number}/reviews"), &token, Value::Null)
            .await;
    assert_eq!((&list[0]["state"], &list[0]["body"]), (&json!("CHANGES_REQUESTED"), &json!("No.")));
    let asked =
        emulator.deliveries().iter().filter(|one| one.action.as_deref() == Some("review_requested")).count();
    assert_eq!(asked, 1, "once");
}

#[tokio::test]
async fn whether_it_merges_is_found_out_by_git_and_known_the_next_time() {
    let emulator = stage().await;
    let (token, number) = pull(&emulator).await;
    let path = format!("/repos/octo/calc/pulls/{number}");
    let look = async || {
        let (_, pull) = call(&emulator, "GET", &path, &token, Value::Null).await;
        (pull["mergeable"].clone(), pull["mergeable_state"].clone())
    };
    assert_eq!(look().await, (Value::Null, json!("unknown")));
    assert_eq!(look().await, (json!(true), json!("clean")));
    let files = [("other".to_owned(), Some(b"x".to_vec()))];
    emulator.push_commit(REPOSITORY, "main", "ada", "Beside it", files.into()).await.expect("a commit");
    assert_eq!(look().await, (Value::Null, json!("unknown")), "the base has moved");
    assert_eq!(look().await, (json!(true), json!("clean")));
    push(&emulator, "main", "def add(a, b):\n    return b + a\n").await;
    look().await;
    assert_eq!(look().await, (json!(false), json!("dirty")));
}
