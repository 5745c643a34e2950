//! A journal that this version cannot read: what becomes of its order, of its issue, and of the others. And one of an older
//! version, which it can read.

use std::time::Duration;

use chrono::Utc;
use journeyman::emulator::{EmulatedIssueState, Emulator};
use journeyman::order::OrderId;
use journeyman::store::OrderFilter;
use serde_json::Value;

use crate::world::{MAINTAINER, REPOSITORY, Story, WELL, World};

const SLOWLY: &str = "
- stage: implement
  think: 300
  usd: 0.05
  run: |
    echo 42 > answer
    git commit -q -a -m 'Give the right answer' && git push -q origin HEAD || true
";

/// What is done to the journal of an order while no server runs, and what the issue then says.
const DAMAGES: [(&str, &str, &str); 3] = [
    (
        "an entry is half there",
        "UPDATE journal SET event = substr(event, 1, length(event) / 2) WHERE seq = 3 AND order_id = ",
        "entry 3: EOF while parsing",
    ),
    (
        "a newer version opened it",
        "UPDATE journal SET event = json_set(event, '$.format', 99) WHERE seq = 1 AND order_id = ",
        "it has format 99, and this Journeyman reads formats up to",
    ),
    (
        "an entry is missing",
        "DELETE FROM journal WHERE seq = 3 AND order_id = ",
        "entry 4 stands where 3 belongs",
    ),
];

async fn state(world: &World, order: OrderId) -> (String, bool) {
    let row = world.store.order(order).await.expect("its row is there");
    (row.state, row.active)
}

/// The comments of ours on an issue, without their markers.
fn said(world: &World, issue: u64) -> Vec<String> {
    let issue = world.github.issue(REPOSITORY, issue).expect("the issue is there");
    let own = issue.comments.into_iter().filter(|comment| comment.author == crate::world::look::BOT);
    own.map(|comment| comment.body.split_once('\n').expect("a marker").1.to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_whose_journal_cannot_be_read_ends_with_a_word_and_its_issue_is_free() {
    for (what, damage, because) in crate::all_or_first(&DAMAGES, 2) {
        let mut world = Story::of(SLOWLY).labeled().await;
        world.until_begun("implement/1/agent").await;
        let broken = world.latest_order().await.expect("it is at work");
        let second = world.github.open_issue(REPOSITORY, MAINTAINER, "Another wrong answer", "").await;
        let second = second.expect("an issue");
        world.github.label(REPOSITORY, second, "journeyman", MAINTAINER).await.expect("it is there");
        world.until("the second order", |journal, _| (journal.opened().order != broken).then_some(())).await;
        let sound = world.latest_order().await.expect("it is at work");
        world.stop_bot().await;
        world.sql(&format!("{damage} '{broken}'")).await;
        world.sql(&format!("UPDATE orders SET updated_at = 0 WHERE id = '{broken}'")).await;
        let begun = Utc::now();
        world.start_bot().await;
        world.quiet().await;

        assert_eq!(state(&world, broken).await, ("unreadable".to_owned(), false), "{what}");
        let is_old = world.store.has_rested_since(broken, begun).await.expect("the store can be read");
        assert!(!is_old, "what is kept of it is kept as long as of any other: {what}");
        assert_eq!(
            state(&world, sound).await,
            ("verified".to_owned(), false),
            "the other one goes on: {what}"
        );
        let words = said(&world, world.issue);
        let [words] = &words[..] else { panic!("{what}: {words:?}") };
        assert!(words.contains(&format!("Journeyman cannot read this order any more: {because}")), "{words}");
        assert!(words.ends_with("Remove the label and put it on again to start over."), "{words}");
        assert_eq!(world.labels(), ["journeyman", "journeyman:needs-human"], "{what}");
        let (status, shown) = world.api("GET", &format!("/api/v1/work-orders/{broken}"), None).await;
        assert_eq!((status, shown["state"].as_str()), (200, Some("unreadable")), "{shown}");

        world.rescript(WELL);
        world.unlabel().await;
        world.label().await;
        let again = world.settled().await;
        assert!(![broken, sound].contains(&again.order));
        assert_eq!(again.word(), "verified", "{what}: {}", again.because());
        assert_eq!(world.labels(), ["journeyman", "journeyman:done"], "{what}");
        let orders = world.orders().await.len();
        world.stop_bot().await;
        world.start_bot().await;
        world.quiet().await;
        assert_eq!(world.orders().await.len(), orders, "{what}");
        assert_eq!(said(&world, world.issue).len(), 2, "one word of each order: {what}");
        world.end().await;
    }
}

/// Its pull request is nobody's any more: it stays as it is, and the new order says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pull_request_of_an_order_that_cannot_be_read_is_named_and_another_is_opened() {
    let mut world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let first = world.pull();
    world.stop_bot().await;
    world.sql(&format!("{} '{}'", DAMAGES[0].1, ended.order)).await;
    world.start_bot().await;
    // Nobody looks at an order at rest, until somebody has a word about it.
    world.comment(MAINTAINER, "/status").await;
    world.quiet().await;
    assert_eq!(state(&world, ended.order).await, ("unreadable".to_owned(), false));

    world.unlabel().await;
    world.label().await;
    let again = world.settled().await;
    assert_eq!(again.word(), "verified", "{}", again.because());
    let pulls: Vec<_> = world.pulls().into_iter().map(|pull| (pull.head, pull.issue.state)).collect();
    assert_eq!(
        pulls,
        [
            (first.head.clone(), EmulatedIssueState::Open),
            (format!("{}-2", first.head), EmulatedIssueState::Open)
        ]
    );
    let told = said(&world, world.issue).concat();
    let note = "- Pull request `#2` is open, and the record of its order cannot be read: this order starts over, on a new \
                branch.";
    assert!(told.contains(note), "{told}");
    let rows = world.store.orders(&OrderFilter { limit: 10, ..OrderFilter::default() }).await;
    assert_eq!(rows.expect("the store can be read").len(), 2);
    world.end().await;
}

/// What an older version wrote until it was in the middle of an order, but for what differs from one GitHub to the next.
fn older_journal(world: &World, base: &str) -> (OrderId, Vec<String>) {
    let kept = include_str!("../../crates/order/journals/2026-11-24/what_is_merged_is_put_in_order.jsonl");
    let opened =
        world.github.deliveries().into_iter().find(|one| one.event == "issues").expect("it was opened");
    let facts: Value = serde_json::from_str(&opened.payload).expect("a delivery is JSON");
    let is_before = |entry: &Value| !entry["key"].as_str().is_some_and(|key| key.starts_with("plan/1/"));
    let mut entries: Vec<Value> = kept
        .lines()
        .map(|line| serde_json::from_str(line).expect("an entry"))
        .take_while(is_before)
        .collect();
    let first = &mut entries[0];
    assert!(first.get("format").is_none(), "it is from before its form was written down");
    let order = first["order"].as_str().expect("its id").parse().expect("an id");
    first["repository_id"] = facts["repository"]["id"].clone();
    first["installation"] = facts["installation"]["id"].clone();
    let old_base =
        entries.iter().find_map(|entry| entry["outcome"]["base"].as_str()).expect("prepared").to_owned();
    let lines = entries.into_iter().map(|mut entry| {
        let fields = entry.as_object_mut().expect("an object");
        fields.retain(|key, _| !matches!(key.as_str(), "seq" | "at"));
        entry.to_string().replace(&old_base, base)
    });
    (order, lines.collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_an_older_version_was_in_the_middle_of_is_gone_on_with() {
    let mut world = Story::of(WELL).begin().await;
    let first = |github: &Emulator| (!github.deliveries().is_empty()).then_some(());
    world.github.wait_for("the issue", Duration::from_secs(30), first).await.expect("it was opened");
    world.stop_bot().await;
    let (order, entries) = older_journal(&world, &world.git(&["rev-parse", "main"]));
    let now = chrono::Utc::now().timestamp_micros();
    let repository = serde_json::from_str::<Value>(&entries[0]).expect("an entry")["repository_id"].clone();
    world
        .sql(&format!(
            "INSERT INTO orders (id, repository, repository_id, issue, state, active, opened_at, updated_at, last_seq, \
             rested_seq) VALUES ('{order}', '{REPOSITORY}', {repository}, {}, 'plan, round 1', TRUE, {now}, {now}, {}, 0)",
            world.issue,
            entries.len()
        ))
        .await;
    for (seq, entry) in (1..).zip(&entries) {
        let event = entry.replace('\'', "''");
        let values = format!("'{order}', {seq}, {now}, '{event}'");
        world.sql(&format!("INSERT INTO journal (order_id, seq, at, event) VALUES ({values})")).await;
    }
    let known = world.look(order).await.0.entries().len();
    world.start_bot().await;
    let ended = world.settled().await;

    assert_eq!((ended.order, ended.word()), (order, "verified"), "{}", ended.because());
    let went_on = &ended.moves()[..];
    assert!(
        !went_on.iter().any(|name| name.starts_with("environment/")),
        "not what was never begun: {went_on:?}"
    );
    let runs = |stage: &str| ended.runs_of(stage);
    assert_eq!((runs("classify"), runs("branch"), runs("plan"), runs("implement")), (1, 1, 1, 1));
    assert!(ended.journal.entries().len() > known);
    assert!(!world.pull().draft);
    assert_eq!(world.labels(), ["journeyman:done"]);
    world.end().await;
}
