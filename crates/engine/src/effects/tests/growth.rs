//! What lies where after a thousand orders and more: prints a table, and holds that it is flat in the end.
//!
//! The orders are not worked on. What they leave is written as an order leaves it: the journal in the sizes of the demo's (90
//! entries, 75 KB), deliveries as of a repository with CI (400 KB), a stream as of a real agent (1 MB). Time is told to the
//! housekeeping, which is the real one.

use std::path::Path;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::*;
use crate::Engine;
use journeyman_config::RetentionSettings;
use journeyman_order::CommitSha;
use journeyman_store::{DeliveryConclusion, NewDelivery, OrderSummary};
use journeyman_workspace::NewCommit;

const ORDERS_A_DAY: u32 = 10;
const DAYS: u32 = 425;
/// An order hears of its labels, comments, checks and pull request, and of much that means nothing.
const DELIVERIES: u32 = 30;
const DELIVERY_BYTES: usize = 13_000;
const ENTRIES: u32 = 90;
const ENTRY_BYTES: usize = 600;
/// Of the developer's run, and of the others and the test runs.
const STREAM_BYTES: usize = 1_000_000;
const SMALL_ARTIFACTS: u32 = 10;
const SMALL_BYTES: usize = 4_000;
/// Of a work tree, a home and what runs printed, in files of this size.
const FOLDER_FILES: u32 = 20;
const FOLDER_BYTES: usize = 20_000;

/// Text as agents and GitHub write it: it compresses well, and no two are the same.
fn text(seed: u64, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 100);
    let mut number = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while text.len() < bytes {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text +=
            &format!("{{\"type\":\"assistant\",\"text\":\"the line {number} of a file was looked at\"}}\n");
    }
    text
}

fn size(path: &Path) -> u64 {
    let Ok(found) = std::fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size(&entry.path())).sum()
}

/// Files have the time of this machine, and what is young is not swept.
fn age(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            age(&entry.path());
        } else {
            let file = std::fs::File::options().append(true).open(entry.path()).expect("a file");
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("a time");
        }
    }
}

async fn leave_an_order(world: &EffectsFixture, template: &OrderInput, number: u64, at: DateTime<Utc>) {
    let store = &world.parts.store;
    let order = OrderId(Uuid::now_v7());
    for one in 0..DELIVERIES {
        let guid: journeyman_order::DeliveryGuid = format!("{number}-{one}").parse().expect("a GUID");
        let body = text(number * 100 + u64::from(one), DELIVERY_BYTES).into_bytes();
        let new = NewDelivery {
            guid: guid.clone(),
            event: "check_run".to_owned(),
            action: None,
            body,
            received_at: at,
        };
        store.save_delivery(new).await.expect("it is kept");
        let nothing = DeliveryConclusion::Ignored { because: "it is about another branch".to_owned() };
        store.conclude_delivery(&guid, &nothing).await.expect("it is concluded");
    }
    let mut opened = OrderInput { order, ..template.clone() };
    opened.issue.number = IssueNumber(1_000 + number);
    store.open_order(opened, at, None).await.expect("an order");
    let base = world.journal().await.prepared().expect("prepared").base.clone();
    let patch = text(number, ENTRY_BYTES);
    for entry in 0..ENTRIES {
        let outcome = EffectOutcome::Committed { commit: base.clone(), patch: patch.clone() };
        let event =
            JournalEvent::Observed { key: key(&format!("work/{entry}/commit")), outcome: Box::new(outcome) };
        world.parts.journals.append(order, event, at).await.expect("it is written");
    }
    let stream = text(number, STREAM_BYTES);
    store
        .put_artifact(order, "work-1-agent.jsonl", "text/plain", stream.as_bytes())
        .await
        .expect("it is kept");
    for one in 0..SMALL_ARTIFACTS {
        let small = text(number + u64::from(one), SMALL_BYTES);
        let name = format!("small-{one}.log");
        store.put_artifact(order, &name, "text/plain", small.as_bytes()).await.expect("it is kept");
    }
    leave_files(world, order, &base, number);
    let last = world.parts.journals.journal(order).await.expect("a journal").last_seq();
    let summary = OrderSummary { state: "verified".to_owned(), ..OrderSummary::default() };
    store.set_summary(order, &summary, Some(last)).await.expect("it is at rest");
}

fn leave_files(world: &EffectsFixture, order: OrderId, base: &CommitSha, number: u64) {
    let (workspaces, name) = (&world.parts.workspaces, name());
    let work = workspaces.order_dirs(order).work;
    std::fs::create_dir_all(&work).expect("a folder");
    for file in 0..FOLDER_FILES {
        std::fs::write(work.join(file.to_string()), text(number, FOLDER_BYTES)).expect("a file");
    }
    let tree = workspaces.tree_of(&name, base).expect("a tree");
    let message = format!("The change {number}");
    let new = NewCommit {
        order,
        name: "work-1-commit",
        tree: &tree,
        parent: base,
        merges: None,
        message: &message,
        date: DateTime::UNIX_EPOCH,
    };
    workspaces.commit(&name, new).expect("a commit");
}

/// `TMPDIR=/dev/shm cargo nextest run --workspace --run-ignored all -E 'test(/flat_from_then_on/)' --no-capture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn what_is_kept_of_orders_is_flat_from_then_on() {
    let world = EffectsFixture::new().await;
    let day = |days: u64| Some(Duration::from_secs(days * 86_400));
    let mut parts = (*world.parts).clone();
    // The defaults of `[retention]`.
    parts.settings.retention =
        RetentionSettings { deliveries: day(14), artifacts: day(90), orders: day(30), journals: day(365) };
    let engine = Engine::new(parts);
    let template = world.journal().await.opened().clone();
    let begun = Utc::now();
    let data = world.place.path().join("data");
    println!(
        "| orders | database | its log | artifacts | order folders | commits | mirrors | KiB in all | a label, ms |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut in_all = Vec::new();
    for today in 0..DAYS {
        let now = begun + TimeDelta::days(i64::from(today));
        for one in 0..ORDERS_A_DAY {
            leave_an_order(&world, &template, u64::from(today * ORDERS_A_DAY + one), now).await;
        }
        age(world.parts.store.artifact_folder().expect("a folder"));
        assert_eq!(engine.housekeep(now).await.failed, Vec::<String>::new());
        if (today + 1) % 25 == 0 {
            let asked = std::time::Instant::now();
            let guid = format!("label-{today}").parse().expect("a GUID");
            let body = text(u64::from(today), DELIVERY_BYTES).into_bytes();
            let new = NewDelivery { guid, event: "issues".to_owned(), action: None, body, received_at: now };
            world.parts.store.save_delivery(new).await.expect("it is kept");
            let took = asked.elapsed().as_secs_f64() * 1e3;
            let database = world.place.path().join("journeyman.db");
            let beside = |ending: &str| size(Path::new(&format!("{}{ending}", database.display()))) / 1024;
            let of_data = |name: &str| size(&data.join(name)) / 1024;
            let kib = [
                beside(""),
                beside("-wal"),
                beside(".artifacts"),
                of_data("orders"),
                of_data("commits"),
                of_data("mirrors"),
            ];
            let all: u64 = kib.iter().sum();
            let columns = kib.map(|kib| kib.to_string()).join(" | ");
            println!("| {} | {columns} | {all} | {took:.1} |", (today + 1) * ORDERS_A_DAY);
            in_all.push(all);
        }
    }
    // After a year all that is to go goes.
    let [.., before, after] = in_all[..] else { panic!("days have passed") };
    assert!(after.saturating_sub(before) < before / 50, "{before} KiB, then {after} KiB");
}
