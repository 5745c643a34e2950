//! What nobody uses goes, and nothing else.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use super::{digest, pulled, store};
use crate::{ImageDigest, ImageStore};
use journeyman_test_support::archives::{TestArchive, TestImage, TestLayer, architecture, index};
use journeyman_test_support::local_registry::LocalRegistry;

const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

fn image(name: &str) -> TestImage {
    // Folders that nobody may write, and links that lead out.
    let archive = TestArchive::new()
        .entry(b'5', b"shut", b"", 0o500, b"")
        .file("shut/name", name)
        .symlink("out", "../../../..");
    TestImage::new(vec![TestLayer::gzip(archive)])
}

/// As if everything there had been used two months ago.
fn grow_old(folder: &std::path::Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let found = std::fs::symlink_metadata(entry.path()).unwrap();
        if found.is_dir() && entry.file_name() != "root" {
            grow_old(&entry.path());
        }
        if !found.is_symlink() {
            let file = std::fs::File::open(entry.path()).unwrap();
            file.set_modified(SystemTime::now() - MONTH - MONTH).unwrap();
        }
    }
}

async fn removed(store: &ImageStore, keep: &[&ImageDigest]) -> Vec<ImageDigest> {
    let keep: BTreeSet<ImageDigest> = keep.iter().map(|digest| (*digest).clone()).collect();
    store.remove_unused(&keep, MONTH).await.unwrap().manifests
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
    let here = format!(r#"{{"os":"linux","architecture":"{}"}}"#, architecture());
    let list = index(&[(&kept, &here)]);
    let kept_name = registry.push_index("x", "index", &list).await;
    drop(pulled(&store, &names[0]).await.unwrap());
    drop(pulled(&store, &kept_name).await.unwrap());
    let in_use = pulled(&store, &names[2]).await.unwrap();
    grow_old(&folder.path().join("store"));
    drop(pulled(&store, &names[3]).await.unwrap());

    assert_eq!(store.stored().unwrap().len(), 4);
    // By the index that leads to it.
    assert_eq!(removed(&store, &[&ImageDigest::of(&list)]).await, [digest(&old)]);
    assert!(in_use.path.join("shut/name").exists());
    assert_eq!(removed(&store, &[]).await, [digest(&kept)]);
    drop(in_use);
    assert_eq!(removed(&store, &[]).await, [digest(&used)]);
    assert_eq!(
        store.stored().unwrap().iter().map(|image| &image.manifest).collect::<Vec<_>>(),
        [&digest(&young)]
    );
    // Nothing of them is left, and they can be pulled again.
    for part in ["images", "manifests", "locks", "partial"] {
        let left = std::fs::read_dir(folder.path().join("store").join(part)).unwrap().count();
        assert_eq!(left, usize::from(part != "partial"), "{part}");
    }
    pulled(&store, &names[0]).await.unwrap();
}

#[tokio::test]
async fn a_use_makes_an_image_young_again() {
    let registry = LocalRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let name = registry.push("x", "1", &image("x")).await;
    pulled(&store, &name).await.unwrap();
    grow_old(&folder.path().join("store"));
    pulled(&store, &name).await.unwrap();
    assert_eq!(removed(&store, &[]).await, []);
}

#[tokio::test]
async fn what_is_left_of_pulls_goes_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let left = folder.path().join("store/partial").join(ImageDigest::of(b"x").file_name());
    std::fs::create_dir_all(left.join("image/root/a")).unwrap();
    std::fs::write(left.join("blob.partial"), "x").unwrap();
    removed(&store, &[]).await;
    assert!(left.exists());
    grow_old(&folder.path().join("store"));
    removed(&store, &[]).await;
    assert!(!left.exists());
}
