//! A journal that this version cannot read, because it is damaged or was written by a newer one: what becomes of its
//! order, of its issue, and of the others. And one of an older version, which it can read.

use std::time::{Duration, Instant};

use chrono::Utc;
use journeyman::emulator::{DeliveryAttempt, DeliveryResult, EmulatedIssueState, Emulator};
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

/// What is done to the journal of an order while nobody looks.
const DAMAGES: [(&str, &str); 2] = [
    (
        "an entry is half there",
        "UPDATE journal SET event = substr(event, 1, length(event) / 2) WHERE seq = 3 AND order_id = ",
    ),
    ("an entry is missing", "DELETE FROM journal WHERE seq = 3 AND order_id = "),
];

/// What a newer version does, how the journal looks to that version, and what this one says.
const NEWER: [(&str, &str, &str); 2] = [
    (
        "it opened it",
        "UPDATE journal SET event = json_set(event, '$.was', json_extract(event, '$.format'), '$.format', 99) \
         WHERE seq = 1 AND order_id = ",
        "UPDATE journal SET event = json_remove(json_set(event, '$.format', json_extract(event, '$.was')), '$.was') \
         WHERE seq = 1 AND order_id = ",
    ),
    (
        "it wrote on",
        "UPDATE journal SET event = json_set(event, '$.was', json_extract(event, '$.event'), '$.event', 'handed_on') \
         WHERE seq = 4 AND order_id = ",
        "UPDATE journal SET event = json_remove(json_set(event, '$.event', json_extract(event, '$.was')), '$.was') \
         WHERE seq = 4 AND order_id = ",
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
    for (what, damage) in crate::all_or_first(&DAMAGES, 2) {
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
        insta::allow_duplicates! {
            insta::assert_snapshot!(said(&world, world.issue).join("\n---\n"), @r"
            ### Ended: the record of this order cannot be read

            It is damaged, or was written by another version of Journeyman. Nothing more is done for this order.

            **What you can do**

            - Take the label off and add it again to start over.
            - Whoever runs the server finds the reason in its log.
            ");
        }
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

async fn until_unreadable(world: &World, order: OrderId, is_active: bool) {
    let begun = Instant::now();
    while state(world, order).await != ("unreadable".to_owned(), is_active) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", state(world, order).await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn until_said(world: &World, words: &str) {
    let begun = Instant::now();
    while !said(world, world.issue).concat().contains(words) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", said(world, world.issue));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_of_a_newer_version_waits_for_it_and_goes_on_when_the_older_one_was_started_by_mistake() {
    for (what, newer, as_it_knows_it) in crate::all_or_first(&NEWER, 2) {
        let mut world = Story::of(SLOWLY).labeled().await;
        world.until_begun("implement/1/agent").await;
        let order = world.latest_order().await.expect("it is at work");
        let labels = world.labels();
        world.stop_bot().await;
        world.sql(&format!("{newer} '{order}'")).await;

        for _twice in 0..2 {
            world.start_bot().await;
            until_unreadable(&world, order, true).await;
            until_said(&world, "### Waits").await;
            world.stop_bot().await;
        }

        insta::allow_duplicates! {
            insta::assert_snapshot!(said(&world, world.issue).join("\n---\n"), @r"
            ### Waits: this version of Journeyman cannot read the record of this order

            A newer version has written it, or it is damaged. Nothing is lost: the order goes on as soon as a version is started that can read it.

            **What you can do**

            - Whoever runs the server finds the reason in its log.
            - Take the label off if it is not to go on. Then the order ends, and the label can be added again to start over.
            ");
        }
        assert_eq!(world.labels(), labels, "{what}");
        world.sql(&format!("{as_it_knows_it} '{order}'")).await;
        world.start_bot().await;
        let ended = world.settled().await;
        assert_eq!((ended.order, ended.word()), (order, "verified"), "{what}: {}", ended.because());
        assert_eq!(world.orders().await.len(), 1);
        assert_eq!(world.labels(), ["journeyman", "journeyman:done"], "{what}");
        world.end().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_waits_for_a_newer_version_ends_when_its_label_is_taken_off() {
    let mut world = Story::of(SLOWLY).labeled().await;
    world.until_begun("implement/1/agent").await;
    let waits = world.latest_order().await.expect("it is at work");
    world.stop_bot().await;
    world.sql(&format!("{} '{waits}'", NEWER[1].1)).await;
    world.start_bot().await;
    until_unreadable(&world, waits, true).await;

    // Not at the word of whoever may comment.
    world.comment(crate::world::OUTSIDER, "/cancel").await;
    world.unlabel().await;
    world.quiet().await;

    assert_eq!(state(&world, waits).await, ("unreadable".to_owned(), false));
    assert!(
        said(&world, world.issue).concat().contains("### Ended: the record of this order cannot be read")
    );
    world.rescript(WELL);
    world.label().await;
    let again = world.settled().await;
    assert_ne!(again.order, waits);
    assert_eq!(again.word(), "verified", "{}", again.because());

    // The newer version leaves what was ended and begun anew.
    world.stop_bot().await;
    world.sql(&format!("{} '{waits}'", NEWER[1].2)).await;
    world.start_bot().await;
    world.quiet().await;
    assert_eq!(state(&world, waits).await, ("unreadable".to_owned(), false));
    assert_eq!((world.orders().await.len(), world.pulls().len()), (2, 1));
}

/// Its issue says that it ended: nothing begins to work there by itself when another version is started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_that_was_ended_because_it_could_not_be_read_stays_ended() {
    let mut world = Story::of(SLOWLY).labeled().await;
    world.until_begun("implement/1/agent").await;
    let order = world.latest_order().await.expect("it is at work");
    world.stop_bot().await;
    world.sql(&format!("{} '{order}'", NEWER[1].1)).await;
    world.start_bot().await;
    until_unreadable(&world, order, true).await;
    world.unlabel().await;
    until_unreadable(&world, order, false).await;
    world.quiet().await;
    let before = said(&world, world.issue);
    world.stop_bot().await;
    world.sql(&format!("{} '{order}'", NEWER[1].2)).await;

    world.start_bot().await;
    world.quiet().await;

    assert_eq!(state(&world, order).await, ("unreadable".to_owned(), false));
    assert_eq!(said(&world, world.issue), before);
    world.end().await;
}

/// What it said last is so still, and what it is told waits for the version that can answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_an_order_that_has_ended_an_older_version_says_nothing() {
    let mut world = Story::of(WELL).labeled().await;
    let ended = world.settled().await;
    assert_eq!(ended.word(), "verified", "{}", ended.because());
    let before = said(&world, world.issue);
    world.stop_bot().await;
    world.sql(&format!("{} '{}'", NEWER[1].1, ended.order)).await;
    world.start_bot().await;
    world.comment(MAINTAINER, "/help").await;
    let is_it =
        |one: &DeliveryAttempt| one.payload.contains("\"/help\"") && one.outcome != DeliveryResult::Queued;
    let heard = |github: &Emulator| github.deliveries().iter().any(is_it).then_some(());
    world
        .github
        .wait_for("the comment's delivery", Duration::from_secs(30), heard)
        .await
        .expect("it is told");
    let told =
        || async { world.store.pending_deliveries(0, 1).await.expect("the store can be read").is_empty() };
    while !told().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.stop_bot().await;
    assert_eq!(state(&world, ended.order).await, ("verified".to_owned(), false));
    assert_eq!(said(&world, world.issue), before);
    world.sql(&format!("{} '{}'", NEWER[1].2, ended.order)).await;

    world.start_bot().await;
    world.quiet().await;

    let after = said(&world, world.issue);
    assert_eq!((&after[0], after.len()), (&before[0], before.len() + 1), "the newer one answers");
    assert_eq!(world.labels(), ["journeyman", "journeyman:done"]);
    world.end().await;
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
    let words = said(&world, world.issue).concat();
    assert!(words.contains("Its pull request #2 stays as it is: take it over, or close it."), "{words}");

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
