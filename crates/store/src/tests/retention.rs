//! Old data is deleted, needed data is kept.

use std::time::{Duration, Instant};

use chrono::TimeDelta;

use super::*;
use crate::artifact_files::MOST_IN_ROW;

pub(super) fn large(first: u8) -> Vec<u8> {
    let mut bytes = vec![b'x'; MOST_IN_ROW + 1];
    bytes[0] = first;
    bytes
}

async fn at_rest(store: &Store, order: OrderId) {
    let last = store.journal(order).await.unwrap().last_seq();
    let summary = OrderSummary { state: "verified".to_owned(), ..OrderSummary::default() };
    store.set_summary(order, &summary, Some(last)).await.unwrap();
}

pub(super) async fn open(store: &Store, issue: u64, at: DateTime<Utc>) -> OrderId {
    let input = opened(issue);
    let order = input.order;
    store.open_order(input, at, None).await.unwrap();
    order
}

pub(super) fn files(store: &Store) -> Vec<std::path::PathBuf> {
    let folders = std::fs::read_dir(artifact_folder(store)).into_iter().flatten().flatten();
    folders
        .flat_map(|folder| std::fs::read_dir(folder.path()).unwrap())
        .map(|file| file.unwrap().path())
        .collect()
}

#[tokio::test]
async fn bodies_of_deliveries_go_first_and_that_they_came_is_known_for_longer() {
    for home in homes().await {
        let store = &home.store;
        for (id, days) in [("waits", 100), ("old", 20), ("ancient", 150), ("refused", 20), ("young", 1)] {
            let received_at = now() - TimeDelta::days(days);
            store.save_delivery(NewDelivery { received_at, ..delivery(id) }).await.unwrap();
        }
        let ignored = DeliveryConclusion::Ignored { because: "nothing".to_owned() };
        for id in ["old", "ancient", "young"] {
            conclude(store, id, ignored.clone()).await;
        }
        let refused = DeliveryConclusion::Refused { because: "no".to_owned() };
        conclude(store, "refused", refused).await;

        assert_eq!(store.remove_delivery_bodies(now() - TimeDelta::days(14)).await.unwrap(), 3);
        assert_eq!(store.remove_deliveries(now() - TimeDelta::days(104)).await.unwrap(), 1);
        // A second run finds nothing.
        assert_eq!(store.remove_delivery_bodies(now() - TimeDelta::days(14)).await.unwrap(), 0);

        let waiting = store.pending_deliveries(0, 10).await.unwrap();
        assert_eq!(waiting.len(), 1, "what nobody has handled stays, however old it is");
        assert_eq!(waiting[0].body, delivery("waits").body);
        assert_eq!(store.save_delivery(delivery("old")).await.unwrap(), DeliverySaveOutcome::Seen);
        assert_eq!(store.save_delivery(delivery("ancient")).await.unwrap(), DeliverySaveOutcome::New);
        // It is sent again after a fix.
        assert_eq!(store.save_delivery(delivery("refused")).await.unwrap(), DeliverySaveOutcome::New);
        let waiting = store.pending_deliveries(0, 10).await.unwrap();
        assert!(waiting.iter().all(|waiting| waiting.body == delivery("waits").body), "with its body");
    }
}

#[tokio::test]
async fn artifacts_of_orders_at_rest_are_removed_and_those_of_any_other_order_stay() {
    for home in homes().await {
        let store = &home.store;
        let old = now() - TimeDelta::days(100);
        let rests = open(store, 1, old).await;
        let works = open(store, 2, old).await;
        let woken = open(store, 3, old).await;
        let young = open(store, 4, now()).await;
        for order in [rests, works, woken, young] {
            store.put_artifact(order, "small", "text/plain", b"small").await.unwrap();
        }
        at_rest(store, rests).await;
        at_rest(store, woken).await;
        store.signal(woken, retry(), old).await.unwrap();
        at_rest(store, young).await;
        let before = now() - TimeDelta::days(90);

        assert_eq!(store.remove_artifacts(before).await.unwrap(), 1);

        assert!(matches!(store.artifact(rests, "small").await, Err(StoreError::NotFound { .. })));
        assert!(store.artifacts(rests).await.unwrap().is_empty());
        for order in [works, woken, young] {
            assert_eq!(store.artifact(order, "small").await.unwrap().content, b"small");
            assert!(!store.has_rested_since(order, before).await.unwrap());
        }
        assert!(store.has_rested_since(rests, before).await.unwrap());
        assert!(!store.journal(rests).await.unwrap().entries().is_empty(), "its journal stays");
    }
}

#[tokio::test]
async fn a_large_artifact_is_a_file_that_goes_when_no_row_names_it_any_more() {
    let home = homes().await.remove(0);
    let store = &home.store;
    let order = open(store, 1, now()).await;
    let info = store.put_artifact(order, "stream", "text/plain", &large(b'a')).await.unwrap();
    store.put_artifact(order, "same", "text/plain", &large(b'a')).await.unwrap();
    store.put_artifact(order, "small", "text/plain", b"small").await.unwrap();
    let one = files(store);
    assert_eq!(one.len(), 1, "two of the same are one file");
    assert!(one[0].ends_with(format!("{}.gz", info.sha256)));
    assert!(one[0].metadata().unwrap().len() < 1_000, "it is compressed");
    assert_eq!(store.artifact(order, "stream").await.unwrap().content, large(b'a'));
    assert_eq!(store.artifacts(order).await.unwrap().len(), 3);

    store.put_artifact(order, "stream", "text/plain", &large(b'b')).await.unwrap();
    store.put_artifact(order, "same", "text/plain", b"small now").await.unwrap();
    assert_eq!(files(store).len(), 2);
    assert_eq!(store.sweep_artifact_files().await.unwrap(), 1);
    assert_eq!(store.artifact(order, "stream").await.unwrap().content, large(b'b'));
    assert_eq!(store.artifact(order, "same").await.unwrap().content, b"small now");

    let [file] = &files(store)[..] else { panic!("one file is left") };
    std::fs::write(file, b"not what was written").unwrap();
    let broken = store.artifact(order, "stream").await.unwrap_err();
    assert!(matches!(&broken, StoreError::Broken { .. }), "{broken}");
    std::fs::remove_file(file).unwrap();
    let gone = store.artifact(order, "stream").await.unwrap_err();
    assert!(matches!(&gone, StoreError::NotFound { .. }), "{gone}");
}

#[tokio::test]
async fn a_database_that_lost_most_of_what_was_in_it_gives_the_room_back() {
    let home = homes().await.remove(0);
    let store = &home.store;
    for number in 0..40 {
        let new = NewDelivery { body: noise(100_000), ..delivery(&format!("large-{number}")) };
        store.save_delivery(new).await.unwrap();
        let ignored = DeliveryConclusion::Ignored { because: String::new() };
        conclude(store, &format!("large-{number}"), ignored).await;
    }
    let length = || std::fs::metadata(home.url.trim_start_matches("sqlite://")).unwrap().len();
    store.compact().await.unwrap();
    let before = length();
    assert!(before > 4_000_000, "{before}");
    store.remove_delivery_bodies(now() + TimeDelta::days(1)).await.unwrap();
    store.compact().await.unwrap();
    assert!(length() < 1_000_000, "{}", length());
}

#[tokio::test]
async fn whoever_gives_room_back_while_a_backup_reads_keeps_nobody_waiting() {
    let home = homes().await.remove(0);
    let store = &home.store;
    let new = NewDelivery { body: noise(1_000_000), ..delivery("large") };
    store.save_delivery(new).await.unwrap();
    let log = format!("{}-wal", home.url.trim_start_matches("sqlite://"));
    let length = || std::fs::metadata(&log).unwrap().len();
    // A backup reads a snapshot from its beginning.
    let pool = sqlx::SqlitePool::connect(&home.url).await.unwrap();
    let mut reading = pool.begin().await.unwrap();
    sqlx::query("SELECT COUNT(*) FROM deliveries").fetch_all(&mut *reading).await.unwrap();
    store.save_delivery(delivery("since")).await.unwrap();

    let begun = Instant::now();
    let (compacted, saved) = tokio::join!(store.compact(), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        store.save_delivery(delivery("meanwhile")).await
    });

    compacted.unwrap();
    saved.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(length() > 1_000_000, "the log stays while somebody reads it");

    reading.rollback().await.unwrap();
    store.compact().await.unwrap();
    assert_eq!(length(), 0, "the next time it is given back");
}

#[tokio::test]
async fn a_copy_is_the_database_of_one_moment_and_names_its_large_artifacts() {
    let home = homes().await.remove(0);
    let store = &home.store;
    let order = open(store, 1, now()).await;
    let info = store.put_artifact(order, "stream", "text/plain", &large(b'a')).await.unwrap();
    let files = DatabaseFiles::of(&home.url).unwrap();
    assert_eq!(files.artifacts, artifact_folder(store));
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("copy.db");

    let named = files.copy(&into).await.unwrap();
    store.signal(order, retry(), now()).await.unwrap();

    let [name] = &named[..] else { panic!("one artifact, and not {named:?}") };
    assert!(name.ends_with(format!("{}.gz", info.sha256)) && files.artifacts.join(name).exists());
    let copy = Store::open(&format!("sqlite://{}", into.display())).await.unwrap();
    assert_eq!(copy.journal(order).await.unwrap().entries().len(), 1, "as it was at that moment");
    assert_eq!(store.journal(order).await.unwrap().entries().len(), 2);
    assert_eq!(DatabaseFiles::of("postgres://db/j"), None);
    assert_eq!(DatabaseFiles::of("sqlite::memory:"), None);
}

#[tokio::test]
async fn of_orders_that_have_rested_for_long_nothing_stays_unless_their_pull_requests_are_open() {
    for home in homes().await {
        let store = &home.store;
        let old = now() - TimeDelta::days(400);
        let [merged, open_still, without, works, woken] = [
            open(store, 1, old).await,
            open(store, 2, old).await,
            open(store, 3, old).await,
            open(store, 4, old).await,
            open(store, 5, old).await,
        ];
        let young = open(store, 6, now()).await;
        for (order, state, pull) in [
            (merged, "merged", Some(11)),
            (open_still, "verified", Some(12)),
            (without, "refused", None),
            (woken, "merged", Some(15)),
            (young, "merged", Some(16)),
        ] {
            store.put_artifact(order, "small", "text/plain", b"small").await.unwrap();
            let last = store.journal(order).await.unwrap().last_seq();
            let pull = pull.map(PullNumber);
            let summary = OrderSummary { state: state.to_owned(), pull, ..OrderSummary::default() };
            store.set_summary(order, &summary, Some(last)).await.unwrap();
        }
        let by = Requester::ApiToken;
        store.signal(woken, Signal { by, kind: SignalKind::IssueClosed }, old).await.unwrap();
        let before = now() - TimeDelta::days(365);

        let mut forgotten = Vec::new();
        let mut after = None;
        while let Some(order) = store.forgettable_orders(before, after).await.unwrap().first().copied() {
            assert!(store.forget_order(order, before).await.unwrap());
            forgotten.push(order);
            after = Some(order);
        }

        assert_eq!(forgotten, [merged, without]);
        for order in forgotten {
            assert!(matches!(store.order(order).await, Err(StoreError::NotFound { .. })));
            assert!(matches!(store.journal(order).await, Err(StoreError::NotFound { .. })));
            assert!(!store.forget_order(order, before).await.unwrap(), "a second time there is nothing");
        }
        for order in [open_still, works, woken, young] {
            assert!(!store.journal(order).await.unwrap().entries().is_empty());
            assert!(!store.forget_order(order, before).await.unwrap(), "whoever asks");
        }
    }
}
