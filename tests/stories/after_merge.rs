//! A pull request that was verified and merged is reverted, or turns the default branch red. The statistics and the
//! order's page show it; the receipt stays unchanged.

use std::collections::BTreeMap;

use serde_json::json;

use crate::world::{API_TOKEN, Ended, MAINTAINER, OUTSIDER, REPOSITORY, Story, WELL, World};

/// A person signed in with the token.
struct Reader {
    client: reqwest::Client,
    cookie: String,
}

impl Reader {
    async fn of(world: &World) -> Self {
        let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let client = client.build().expect("a client");
        let form = json!({"token": API_TOKEN});
        let signed = client.post(format!("{}/sign-in", world.address())).form(&form).send().await;
        let signed = signed.expect("an answer");
        let cookie = signed.headers()["set-cookie"].to_str().expect("text");
        let cookie = cookie.split(';').next().expect("a pair").to_owned();
        Self { client, cookie }
    }

    async fn page(&self, world: &World, path: &str) -> String {
        let asked = self.client.get(format!("{}{path}", world.address())).header("cookie", &self.cookie);
        let answer = asked.send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        answer.text().await.expect("a body")
    }

    /// The latest week's figure.
    async fn false_greens(&self, world: &World) -> String {
        let page = self.page(world, "/statistics").await;
        let cell = page.split("data-name=\"False greens\">").nth(1).and_then(|rest| rest.split('<').next());
        cell.unwrap_or_else(|| panic!("there is no such figure: {page}")).to_owned()
    }
}

async fn merged() -> (World, Ended, u64, String, Reader) {
    let world = Story::of(WELL).labeled().await;
    let ended = world.settled_as("verified").await;
    let pull = world.pull().issue.number;
    let merge = world.github.merge(REPOSITORY, pull, MAINTAINER).await.expect("it is ready");
    world.quiet().await;
    let reader = Reader::of(&world).await;
    assert_eq!(reader.false_greens(&world).await, "0 of 1");
    (world, ended, pull, merge, reader)
}

fn answer(text: &str) -> BTreeMap<String, Option<Vec<u8>>> {
    BTreeMap::from([("answer".to_owned(), Some(text.as_bytes().to_vec()))])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_verified_and_merged_and_then_reverted_is_a_false_green_once_and_a_claim_elsewhere_is_none()
{
    let (world, ended, pull, merge, reader) = merged().await;
    let order = format!("/orders/{}", ended.order);
    let receipt = format!("/api/v1/work-orders/{}/receipt", ended.order);

    // Anyone who may comment can claim it, and so can a commit on another branch than the default one.
    let claim = format!("This reverts commit {merge}.\nReverts {REPOSITORY}#{pull}");
    world.github.comment(REPOSITORY, world.issue, OUTSIDER, &claim).await.expect("it is said");
    world
        .github
        .push_commit(REPOSITORY, "elsewhere", MAINTAINER, &format!("Try\n\n{claim}"), answer("40\n"))
        .await
        .expect("it is pushed");
    world.quiet().await;
    assert_eq!(reader.false_greens(&world).await, "0 of 1");
    assert!(!reader.page(&world, &order).await.contains("after merge"));
    let before = world.api("GET", &receipt, None).await;
    assert_eq!(before.0, 200);

    // This is git's wording; it may use an abbreviated SHA.
    let message = format!("Revert \"Give the right answer\"\n\nThis reverts commit {}.", &merge[..9]);
    let by = world
        .github
        .push_commit(REPOSITORY, "main", MAINTAINER, &message, answer("41\n"))
        .await
        .expect("it is pushed");
    world.quiet().await;
    assert_eq!(reader.false_greens(&world).await, "1 of 1");
    let page = reader.page(&world, &order).await;
    assert!(page.contains(&format!("Reverted after merge: by {by}, as its message says")), "{page}");
    let deliveries = reader.page(&world, "/deliveries").await;
    assert!(deliveries.contains("noted of an order whose pull request is merged"), "{deliveries}");

    // The same delivery again, and its content in another one.
    let pushed = world.github.deliveries().into_iter().rev().find(|one| one.event == "push");
    let pushed = pushed.expect("it was delivered");
    world.github.redeliver(&pushed.guid).await.expect("it is there");
    let other = "5d0c4b3a-0000-4000-8000-00000000beef";
    assert_eq!(world.deliver(other, "push", pushed.payload.as_bytes()).await, 202);
    world.quiet().await;
    assert_eq!(reader.false_greens(&world).await, "1 of 1");
    assert_eq!(reader.page(&world, &order).await.matches("Reverted after merge").count(), 1);
    assert_eq!(world.api("GET", &receipt, None).await, before, "the receipt stands as it was");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_that_fails_on_the_merge_commit_and_githubs_own_revert_are_told_and_count_as_one_order() {
    let (world, ended, pull, merge, reader) = merged().await;
    let ci = world.github.ci(REPOSITORY);
    ci.pass_job(&merge, "build").expect("it is there");
    world.quiet().await;
    assert_eq!(reader.false_greens(&world).await, "0 of 1");
    ci.fail_job(&merge, "test <b>", "it is red\n", Vec::new()).expect("it is there");
    world.quiet().await;
    assert_eq!(reader.false_greens(&world).await, "1 of 1");

    // As GitHub's button does it: a branch, a pull request that names the other, and its merge.
    world
        .github
        .push_commit(REPOSITORY, "revert", MAINTAINER, "Take it back", answer("41\n"))
        .await
        .expect("it is pushed");
    let token = world.github.personal_token(MAINTAINER);
    let asked = reader.client.post(format!("{}/repos/{REPOSITORY}/pulls", world.github.api_url()));
    let body = format!("Reverts {REPOSITORY}#{pull}");
    let form = json!({"title": "Revert it", "head": "revert", "base": "main", "body": body});
    let opened = asked.bearer_auth(&token).header("User-Agent", "a person").json(&form).send().await;
    let opened: serde_json::Value = opened.expect("an answer").json().await.expect("JSON");
    let number = opened["number"].as_u64().unwrap_or_else(|| panic!("{opened}"));
    world.quiet().await;
    let page = reader.page(&world, &format!("/orders/{}", ended.order)).await;
    assert!(!page.contains("Reverted after merge"), "it is not merged yet: {page}");
    world.github.merge(REPOSITORY, number, MAINTAINER).await.expect("it can be merged");
    world.quiet().await;

    assert_eq!(reader.false_greens(&world).await, "1 of 1");
    let page = reader.page(&world, &format!("/orders/{}", ended.order)).await;
    assert!(page.contains("Failed after merge: "), "{page}");
    let said = format!("Reverted after merge: by pull request #{number}, as its text says");
    assert!(page.contains(&said) && !page.contains("test <b>"), "{page}");
    world.end().await;
}
