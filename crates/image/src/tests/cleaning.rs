//! Unused images are deleted, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{digest, pulled, quiet, resolved, store};
use crate::{ImageDigest, ImageStore};
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer};
use journeyman_test_support::local_registry::LocalRegistry;

const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

fn image(name: &str) -> TestImage {
    // Read-only folders, and links that point outside.
    let archive = TestArchive::new()
        .entry(b'5', b"shut", b"", 0o500, b"")
        .file("shut/name", name)
        .symlink("out", "../../../..");
    TestImage::new(vec![TestLayer::gzip(archive)])
}

/// Makes everything look last used two months ago.
fn grow_old(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_name() != "root" && !entry.path().is_symlink() {
            if entry.path().is_dir() {
                grow_old(&entry.path());
            }
            let file = std::fs::File::open(entry.path()).unwrap();
            file.set_modified(SystemTime::now() - MONTH - MONTH).unwrap();
        }
    }
}

async fn removed(store: &ImageStore, keep: &[&ImageDigest]) -> Vec<ImageDigest> {
    let keep: BTreeSet<ImageDigest> = keep.iter().map(|digest| (*digest).clone()).collect();
    store.remove_unused(&keep, MONTH).await.unwrap()
}

#[tokio::test]
async fn what_nobody_has_used_for_long_is_removed_unless_it_is_kept_or_in_use() {
    let registry = LocalRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let (old, kept, used, young) = (image("old"), image("kept"), image("used"), image("young"));
    let mut names = Vec::new();
    for (tag, image) in [("old", &old), ("kept", &kept), ("used", &used), ("young", &young)] {
        names.push(registry.push("x", tag, image).await);
    }
    drop(pulled(&store, &names[0]).await.unwrap());
    drop(pulled(&store, &names[1]).await.unwrap());
    let in_use = pulled(&store, &names[2]).await.unwrap();
    grow_old(&folder.path().join("store"));
    drop(pulled(&store, &names[3]).await.unwrap());

    assert_eq!(store.bytes(), 3 + 4 + 4 + 5);
    assert_eq!(removed(&store, &[&digest(&kept)]).await, [digest(&old)]);
    assert!(in_use.path.join("shut/name").exists());
    assert_eq!(removed(&store, &[]).await, [digest(&kept)]);
    drop(in_use);
    assert_eq!(removed(&store, &[]).await, [digest(&used)]);
    // Nothing of them remains, and they can be pulled again. A use resets an image's age.
    assert_eq!(store.bytes(), 5);
    assert_eq!(std::fs::read_dir(folder.path().join("store/partial")).unwrap().count(), 0);
    pulled(&store, &names[0]).await.unwrap();
    grow_old(&folder.path().join("store"));
    pulled(&store, &names[0]).await.unwrap();
    assert_eq!(removed(&store, &[]).await, [digest(&young)]);
}

#[tokio::test]
async fn what_a_crash_left_is_not_taken_for_whole_and_goes() {
    let registry = LocalRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let (store, base) = (store(folder.path()), folder.path().join("store"));
    let image = image("x");
    let name = resolved(&store, &registry.push("x", "1", &image).await).await.unwrap();
    // Half a root, half a download, and an image with a half-written record.
    let left = base.join("partial").join(digest(&image).file_name());
    let half = base.join("images").join(digest(&image).file_name());
    for place in [left.join("image/root/old"), left.join("layout/blobs/sha256"), half.join("root/old")] {
        std::fs::create_dir_all(place).unwrap();
    }
    std::fs::write(left.join("image/image.json"), "{}").unwrap();
    std::fs::write(left.join("layout/blobs/sha256/half"), "x").unwrap();
    std::fs::write(half.join("image.json"), "{\"config\":{").unwrap();
    let root = store.root(&name, quiet()).await.unwrap();
    assert!(!root.path.join("old").exists() && root.path.join("shut/name").exists() && !left.exists());

    std::fs::create_dir_all(left.join("image/root/a")).unwrap();
    removed(&store, &[]).await;
    assert!(left.exists());
    drop(root);
    grow_old(&base);
    removed(&store, &[]).await;
    assert!(!left.exists());
}
