//! Large artifacts as files: complete or absent, whatever else uses their folder.

use super::retention::{files, large, open};
use super::*;

#[tokio::test]
async fn a_file_that_the_disk_has_damaged_is_written_again_when_the_same_bytes_are_kept_again() {
    let home = homes().await.remove(0);
    let store = &home.store;
    let order = open(store, 1, now()).await;
    store.put_artifact(order, "stream", "text/plain", &large(b'a')).await.unwrap();
    let [file] = &files(store)[..] else { panic!("one file") };
    let whole = std::fs::read(file).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&b""[..], b"not what was written", &whole[..whole.len() / 2], &flipped] {
        std::fs::write(file, damaged).unwrap();

        store.put_artifact(order, "again", "text/plain", &large(b'a')).await.unwrap();

        for name in ["stream", "again"] {
            assert_eq!(store.artifact(order, name).await.unwrap().content, large(b'a'), "{name}");
        }
    }
    assert_eq!(files(store).len(), 1, "and nothing beside it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_kept_again_while_the_old_is_swept_away_is_there() {
    let home = homes().await.remove(0);
    let store = &home.store;
    let order = open(store, 1, now()).await;
    for turn in 0..60 {
        for number in 0..8 {
            store.put_artifact(order, &format!("a{number}"), "text/plain", &large(number)).await.unwrap();
        }
        for number in 0..8 {
            store.put_artifact(order, &format!("a{number}"), "text/plain", b"small").await.unwrap();
        }
        let writes = (0..8).map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                store.put_artifact(order, &format!("a{number}"), "text/plain", &large(number)).await
            })
        });
        let writes: Vec<_> = writes.collect();
        store.sweep_artifact_files().await.unwrap();
        for write in writes {
            write.await.unwrap().unwrap();
        }
        for number in 0..8 {
            let kept = store.artifact(order, &format!("a{number}")).await;
            assert!(kept.is_ok(), "in turn {turn}: {kept:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_that_is_gone_already_does_not_keep_the_others() {
    let home = homes().await.remove(0);
    let store = &home.store;
    let folder = artifact_folder(store).join("ab");
    for _turn in 0..10 {
        std::fs::create_dir_all(&folder).unwrap();
        for number in 0..300 {
            let file = folder.join(format!("{number}.gz"));
            std::fs::write(&file, "nobody's").unwrap();
        }
        let other = store.clone();
        let other = tokio::spawn(async move { other.sweep_artifact_files().await });
        let swept = store.sweep_artifact_files().await.unwrap() + other.await.unwrap().unwrap();
        assert_eq!((swept, files(store).len()), (300, 0), "each counted by whoever removed it");
    }
}

#[tokio::test]
async fn of_a_large_artifact_the_end_is_read_and_a_damaged_one_is_named() {
    for home in homes().await {
        let store = &home.store;
        let order = open(store, 1, now()).await;
        let text: Vec<u8> = (0..60_000).flat_map(|number| format!("{number:07}\n").into_bytes()).collect();
        for length in [0, 1_000, 1_024, 1_025, 60_000, 70_000, 480_000] {
            let content = &text[..length];
            store.put_artifact(order, "stream", "text/plain", content).await.unwrap();
            let end = store.artifact_end(order, "stream", 1).await.unwrap();
            assert_eq!(end.content, &content[length.saturating_sub(1_024)..], "{length}");
            assert_eq!(end.left_out, length.saturating_sub(1_024) as u64, "{length}");
            assert_eq!(end.info.size, length as u64);
        }
        let none = store.artifact_end(order, "none", 1).await;
        assert!(matches!(none, Err(StoreError::NotFound { .. })), "{none:?}");
    }
    let home = homes().await.remove(0);
    let order = open(&home.store, 1, now()).await;
    home.store.put_artifact(order, "stream", "text/plain", &large(b'a')).await.unwrap();
    let [file] = &files(&home.store)[..] else { panic!("one file") };
    let whole = std::fs::read(file).unwrap();
    std::fs::write(file, &whole[..whole.len() - 5]).unwrap();
    let broken = home.store.artifact_end(order, "stream", 1).await;
    assert!(matches!(broken, Err(StoreError::Broken { .. })), "{broken:?}");
}
