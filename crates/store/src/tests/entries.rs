//! Entries whose writers say which one they know as the last.

use std::time::Duration;

use tokio::time::timeout;

use super::commit_order::{HeldCommits, PATIENCE};
use super::*;
use journeyman_order::JournalEntry;

fn intent(name: &str) -> JournalEvent {
    JournalEvent::Intended { key: MoveKey(name.to_owned()), r#move: Box::new(Move::Prepare) }
}

async fn an_order(store: &Store) -> OrderId {
    let input = opened(1);
    let order = input.order;
    store.open_order(input, now(), None).await.unwrap();
    order
}

#[tokio::test]
async fn who_does_not_know_the_last_entry_writes_none() {
    for TestStore { store, .. } in homes().await {
        let order = an_order(&store).await;
        let after = async |last| {
            let written = store.append_after(order, last, intent("prepare"), now()).await.unwrap();
            written.map(|entry| entry.seq)
        };
        assert_eq!(after(1).await, Some(2));
        assert_eq!(after(1).await, None, "another was first");
        store.signal(order, retry(), now()).await.unwrap();
        assert_eq!(after(2).await, None, "so was a person");
        assert_eq!(after(4).await, None, "there is no such entry");
        assert_eq!(after(3).await, Some(4));
        assert_eq!(store.journal(order).await.unwrap().last_seq(), 4);

        let nobody = OrderId(uuid::Uuid::now_v7());
        let refused = store.append_after(nobody, 1, intent("prepare"), now()).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_know_the_same_last_entry_one_writes() {
    for TestStore { store, .. } in homes().await {
        let order = an_order(&store).await;
        let calls = (0..30).map(|number: u32| {
            let (store, event) = (store.clone(), intent(&format!("status/{number}")));
            tokio::spawn(async move { store.append_after(order, 1, event, now()).await.unwrap() })
        });
        let written: Vec<JournalEntry> =
            futures_util::future::join_all(calls).await.into_iter().filter_map(Result::unwrap).collect();
        assert_eq!(store.entries_after(order, 1).await.unwrap(), written);
        assert_eq!(written.len(), 1);
    }
}

/// The answer to a commit is lost. Its writer looks before it has reached the disk, finds nothing, and tries again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_still_under_way_is_waited_for_and_its_entry_is_not_written_twice() {
    for TestStore { store, url, _folder } in homes().await {
        let order = an_order(&store).await;
        let held = HeldCommits::of("an entry");
        let slow = Store::open_watched(&url, held.clone()).await.unwrap();
        let early = tokio::spawn(async move { slow.append_after(order, 1, intent("prepare"), now()).await });
        timeout(PATIENCE, held.reached.notified()).await.unwrap();
        assert!(store.entries_after(order, 1).await.unwrap().is_empty(), "nothing can be seen yet");

        let again = store.clone();
        let mut again =
            tokio::spawn(async move { again.append_after(order, 1, intent("prepare"), now()).await });
        let waits = timeout(Duration::from_millis(300), &mut again).await;
        assert!(waits.is_err(), "{waits:?}");
        held.goes_on.notify_one();

        let early = timeout(PATIENCE, early).await.unwrap().unwrap().unwrap();
        assert_eq!(timeout(PATIENCE, again).await.unwrap().unwrap().unwrap(), None, "{url}");
        assert_eq!(store.entries_after(order, 1).await.unwrap(), early.as_slice());
    }
}
