//! The real git against the emulator, over HTTP.

use serde_json::json;

use super::*;
use crate::{Caller, RepositoryRole};

async fn clone(emulator: &Emulator, url: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let (good, text) = git(folder.path(), &["clone", "-q", url, "."]).await;
    assert!(good, "{text} {:?}", emulator.calls());
    folder
}

async fn commit_and_push(folder: &tempfile::TempDir, url: &str, branch: &str) -> (bool, String) {
    std::fs::write(folder.path().join("new.txt"), "new\n").expect("a file");
    git(folder.path(), &["checkout", "-q", "-B", branch]).await;
    git(folder.path(), &["add", "."]).await;
    git(folder.path(), &["commit", "-q", "--allow-empty", "-m", "More"]).await;
    git(folder.path(), &["push", url, branch]).await
}

#[tokio::test]
async fn a_push_needs_a_token_that_may_write_here() {
    let emulator = stage().await;
    emulator
        .create_repository("octo/other", RepositorySource::Files(files(&[("a", "a")])))
        .await
        .expect("made");
    let folder = clone(&emulator, &git_url(&emulator, REPOSITORY)).await;
    let reading = token(&emulator, &json!({"permissions": {"contents": "read"}})).await;
    let elsewhere = token(&emulator, &json!({"repositories": ["other"]})).await;
    let writing =
        token(&emulator, &json!({"repositories": ["calc"], "permissions": {"contents": "write"}})).await;
    for (why, url, status) in [
        ("without a token", git_url(&emulator, REPOSITORY), 401),
        ("an unknown token", address(&emulator, "x-access-token", "ghs_unknown"), 401),
        ("another name than x-access-token", address(&emulator, "ada", &writing), 401),
        ("a token that may only read", address(&emulator, "x-access-token", &reading), 403),
        ("a token for another repository", address(&emulator, "x-access-token", &elsewhere), 404),
    ] {
        let (good, text) = commit_and_push(&folder, &url, "fix").await;
        assert!(!good, "{why}: {text}");
        assert_eq!(emulator.calls().last().and_then(|call| call.status), Some(status), "{why}: {text}");
    }
    let bearer = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("{}/info/refs?service=git-receive-pack", git_url(&emulator, REPOSITORY));
    let answer = bearer.get(url).bearer_auth(&writing).send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 401);
    assert_eq!(
        answer.headers().get("www-authenticate").and_then(|it| it.to_str().ok()),
        Some("Basic realm=\"GitHub\"")
    );
    assert_eq!(emulator.branch_head(REPOSITORY, "fix"), None);

    let (good, text) = commit_and_push(&folder, &address(&emulator, "x-access-token", &writing), "fix").await;
    assert!(good, "{text}");
    let (_, head) = git(folder.path(), &["rev-parse", "HEAD"]).await;
    assert_eq!(emulator.branch_head(REPOSITORY, "fix").as_deref(), Some(head.trim()));
}

#[tokio::test]
async fn a_private_repository_is_for_those_who_were_let_in() {
    let emulator = stage().await;
    emulator.make_private(REPOSITORY).expect("private");
    emulator.set_permission(REPOSITORY, "wendy", RepositoryRole::Write).expect("a role");
    let folder = tempfile::tempdir().expect("a folder");
    let (good, _) = git(folder.path(), &["clone", "-q", &git_url(&emulator, REPOSITORY), "."]).await;
    assert!(!good);
    let stranger = emulator.personal_token("stranger");
    let (good, _) =
        git(folder.path(), &["clone", "-q", &address(&emulator, "stranger", &stranger), "."]).await;
    assert!(!good);
    let url = address(&emulator, "wendy", &emulator.personal_token("wendy"));
    let folder = clone(&emulator, &url).await;
    let (good, text) = commit_and_push(&folder, &url, "main").await;
    assert!(good, "{text}");
    assert_eq!(
        emulator.calls().last().map(|call| call.caller.clone()),
        Some(Caller::Person("wendy".to_owned()))
    );
}

#[tokio::test]
async fn a_local_repository_is_taken_over_with_all_its_history() {
    let emulator = stage().await;
    let source = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["init", "-q", "-b", "trunk"][..],
        &["commit", "-q", "--allow-empty", "-m", "one"],
        &["commit", "-q", "--allow-empty", "-m", "two"],
        &["branch", "side", "HEAD~1"],
        &["tag", "v1"],
    ] {
        assert!(git(source.path(), arguments).await.0, "{arguments:?}");
    }
    let from = |path: &std::path::Path| RepositorySource::Path(path.to_owned());
    emulator.create_repository("octo/local", from(source.path())).await.expect("imported");
    let (_, head) = git(source.path(), &["rev-parse", "HEAD"]).await;
    assert_eq!(emulator.branch_head("octo/local", "trunk").as_deref(), Some(head.trim()));
    assert_eq!(emulator.branches("octo/local").len(), 2);
    let token = full_token(&emulator).await;
    let (_, facts) = call(&emulator, "GET", "/repos/octo/local", &token, serde_json::Value::Null).await;
    assert_eq!(facts["default_branch"], "trunk");
    git(source.path(), &["checkout", "-q", "--detach", "side"]).await;
    git(source.path(), &["commit", "-q", "--allow-empty", "-m", "on no branch"]).await;
    emulator.create_repository("octo/detached", from(source.path())).await.expect("imported");
    let (_, detached) = git(source.path(), &["rev-parse", "HEAD"]).await;
    assert_eq!(emulator.branch_head("octo/detached", "main").as_deref(), Some(detached.trim()));
    let worktree = tempfile::tempdir().expect("a folder");
    let path = worktree.path().join("linked");
    let linked = ["worktree", "add", "-q", "-b", "linked", path.to_str().expect("UTF-8"), "v1"];
    assert!(git(source.path(), &linked).await.0);
    emulator
        .create_repository("octo/linked", from(&path))
        .await
        .expect("a linked worktree is a repository too");
    assert_eq!(emulator.branch_head("octo/linked", "linked").as_deref(), Some(head.trim()));
    let shallow = tempfile::tempdir().expect("a folder");
    let url = format!("file://{}", source.path().display());
    assert!(git(shallow.path(), &["clone", "-q", "--depth=1", "-b", "trunk", &url, "."]).await.0);
    emulator.create_repository("octo/shallow", from(shallow.path())).await.expect("a shallow one as well");
    assert_eq!(emulator.branch_head("octo/shallow", "trunk").as_deref(), Some(head.trim()));
    drop(source);
    clone(&emulator, &git_url(&emulator, "octo/local")).await;
    let empty = tempfile::tempdir().expect("a folder");
    let error =
        emulator.create_repository("octo/empty", from(empty.path())).await.expect_err("no repository");
    assert!(format!("{error:#}").contains(&empty.path().display().to_string()), "{error:#}");
}

#[tokio::test]
async fn a_workflow_is_not_pushed_without_the_permission_for_it() {
    let emulator = stage().await;
    let url = address(&emulator, "x-access-token", &full_token(&emulator).await);
    let folder = clone(&emulator, &url).await;
    std::fs::create_dir_all(folder.path().join(".github/workflows")).expect("a folder");
    std::fs::write(folder.path().join(".github/workflows/ci.yml"), "on: push\n").expect("a file");
    let (good, text) = commit_and_push(&folder, &url, "ci").await;
    assert!(!good && text.contains("without `workflows` permission"), "{text}");
    assert_eq!(emulator.branch_head(REPOSITORY, "ci"), None);
    let person = address(&emulator, "octo", &emulator.personal_token("octo"));
    let (good, text) = commit_and_push(&folder, &person, "ci").await;
    assert!(good, "{text}");
}
