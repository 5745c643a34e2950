//! A disk that is temporarily full.

use std::path::Path;
use std::process::Command;

use super::*;

/// Tells the second run of this test the folder of a file system of one megabyte.
const SMALL_DISK: &str = "JOURNEYMAN_TEST_SMALL_DISK";
const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_was_full_for_a_moment_takes_deliveries_as_soon_as_there_is_room() {
    if let Ok(disk) = std::env::var(SMALL_DISK) {
        return fill_and_clear(Path::new(&disk)).await;
    }
    let disk = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=1m,mode=700 journeyman \"$1\" || exit 77; shift; exec \"$@\"";
    let copy = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"])
        .arg(disk.path())
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("tests::full_disk::a_disk_that_was_full_for_a_moment_takes_deliveries_as_soon_as_there_is_room")
        .env(SMALL_DISK, disk.path())
        .output();
    match copy {
        Ok(copy) if copy.status.code() != Some(77) && !copy.stdout.is_empty() => {
            let said =
                String::from_utf8_lossy(&copy.stdout).into_owned() + &String::from_utf8_lossy(&copy.stderr);
            assert!(copy.status.success(), "{said}");
            assert!(said.contains("1 passed"), "{said}");
        }
        refused => println!("SKIPPED: no file system of its own: {refused:?}"),
    }
}

async fn fill_and_clear(disk: &Path) {
    let store = Store::open(&format!("sqlite://{}/journeyman.db", disk.display())).await.unwrap();
    store.save_delivery(delivery("before")).await.unwrap();
    store.check_writes().await.unwrap();

    let ballast = disk.join("ballast");
    let _as_much_as_fits = std::fs::write(&ballast, vec![0; 2 * MEBIBYTE]);
    // The write-ahead log has some space left, which is used first.
    let mut refused = None;
    for number in 0..64 {
        let large = NewDelivery { body: noise(64 * 1024), ..delivery(&format!("large-{number}")) };
        if let Err(error) = store.save_delivery(large).await {
            refused = Some(error);
            break;
        }
    }
    let refused = refused.expect("the disk is full");
    assert!(matches!(&refused, StoreError::Unavailable { .. }), "{refused}");
    let unwell = store.check_writes().await.unwrap_err();
    assert!(matches!(&unwell, StoreError::Unavailable { .. }), "{unwell}");

    std::fs::remove_file(&ballast).unwrap();
    store.save_delivery(delivery("after")).await.expect("there is room again");
    store.check_writes().await.expect("there is room again");
    assert!(store.pending_deliveries(0, 100).await.unwrap().iter().any(|one| one.guid == guid("after")));
}
