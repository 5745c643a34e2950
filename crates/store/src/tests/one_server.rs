//! Two servers on one database.

use std::time::Duration;

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_is_told_who_has_the_database_and_follows_when_that_one_ends() {
    for TestStore { store: first, url, _folder: folder } in homes().await {
        first.take("process 1 on alpha").await.unwrap();
        let second = Store::open(&url).await.unwrap();
        let refused = second.take("process 2 on beta").await.unwrap_err().to_string();
        assert!(refused.contains("process 1 on alpha"), "{refused}");
        first.save_delivery(delivery("one")).await.expect("it has the database still");
        if let Some(file) = DatabaseFiles::of(&url) {
            let link = folder.path().join("link.db");
            std::os::unix::fs::symlink(&file.database, &link).unwrap();
            let by_link = Store::open(&format!("sqlite://{}", link.display())).await.unwrap();
            let refused = by_link.take("process 3 on gamma").await.unwrap_err().to_string();
            assert!(refused.contains("process 1 on alpha"), "{refused}");
        }

        let followed = tokio::spawn(async move {
            second.take("process 2 on beta").await.unwrap();
            second
        });
        tokio::time::sleep(Duration::from_millis(200)).await;
        first.close().await;
        let second = followed.await.unwrap();
        second.save_delivery(delivery("two")).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_away_while_another_took_its_place_writes_nothing_any_more() {
    for TestStore { store: paused, url, _folder } in homes().await {
        paused.take("process 1 on alpha").await.unwrap();
        let input = opened(1);
        let order = input.order;
        paused.open_order(input, now(), None).await.unwrap();
        // The lock can be lost: its file is on another machine's disk, or the connection breaks.
        paused.pools.fence.release();
        let next = Store::open(&url).await.unwrap();
        next.take("process 2 on beta").await.unwrap();

        let event = JournalEvent::Signaled { signal: retry(), delivery: None };
        let refused = paused.append(order, event.clone(), now()).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Unavailable { .. }), "{refused}");
        assert!(refused.to_string().contains("process 2 on beta"), "{refused}");
        paused.save_delivery(delivery("late")).await.unwrap_err();
        paused.check_writes().await.unwrap_err();
        let by = tokio::time::timeout(Duration::from_secs(1), paused.lost()).await.unwrap();
        assert_eq!(by, "process 2 on beta");

        assert_eq!(next.journal(order).await.unwrap().last_seq(), 1, "nothing of the other's is there");
        next.append(order, event, now()).await.unwrap();
        next.check_writes().await.unwrap();
    }
}
