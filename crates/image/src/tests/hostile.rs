//! Layers that try to escape or are too large, and registries that send other content.

use std::path::{Path, PathBuf};

use super::{listed, pulled, settings, store};
use crate::{ImageFault, ImageSettings, ImageSize, ImageStore};
use journeyman_test_support::archives::{
    MANIFEST, TestArchive, TestImage, TestLayer, described, digest_of, gzip,
};
use journeyman_test_support::local_registry::LocalRegistry;

/// An image on disk, as skopeo writes it.
fn lay_out(folder: &Path, layers: Vec<TestArchive>) {
    let image = TestImage::new(layers.into_iter().map(TestLayer::gzip).collect());
    let layout = folder.join("layout");
    let blobs = layout.join("blobs/sha256");
    std::fs::create_dir_all(&blobs).unwrap();
    for blob in image.blobs.iter().chain([&image.manifest]) {
        std::fs::write(blobs.join(digest_of(blob).trim_start_matches("sha256:")), blob).unwrap();
    }
    let entry = described(MANIFEST, &image.manifest);
    let entry = entry.trim_end_matches('}');
    let name = r#""annotations":{"org.opencontainers.image.ref.name":"image"}"#;
    let index = format!(r#"{{"schemaVersion":2,"manifests":[{entry},{name}}}]}}"#);
    std::fs::write(layout.join("index.json"), index).unwrap();
    std::fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
}

/// An image's folder, with another folder beside it that must not change.
fn place() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let place = tempfile::tempdir_in("/var/tmp").unwrap();
    let (own, outside) = (place.path().join("own"), place.path().join("outside"));
    std::fs::create_dir_all(own.join("image")).unwrap();
    std::fs::create_dir_all(outside.join("folder")).unwrap();
    for file in ["kept", "folder/x"] {
        std::fs::write(outside.join(file), "kept").unwrap();
    }
    (place, own, outside)
}

#[tokio::test]
async fn whatever_layers_say_nothing_outside_is_touched() {
    let seconds = |outside: &str| {
        [
            TestArchive::new().file("out/kept", "mine"),
            TestArchive::new().symlink("out/kept", "x"),
            TestArchive::new().file("out/.wh.kept", ""),
            TestArchive::new().file("out/.wh..wh..opq", ""),
            TestArchive::new().file("out/folder/.wh..wh..opq", ""),
            TestArchive::new().file("out/.wh...", ""),
            TestArchive::new().hard_link("mine", "out/kept").file("mine", "mine"),
            TestArchive::new().file("there", "x").hard_link("out/kept", "there"),
            TestArchive::new().entry(b'5', b"out/folder", b"", 0o777, b""),
            TestArchive::new().entry(b'5', b"out", b"", 0o777, b""),
            TestArchive::new().file("../../../outside/kept", "mine"),
            TestArchive::new().file("../../../outside/.wh.kept", ""),
            TestArchive::new().hard_link("mine", "../../../outside/kept").file("mine", "mine"),
            TestArchive::new().hard_link("mine", &format!("{outside}/kept")).file("mine", "mine"),
            TestArchive::new().symlink(".", outside).file("kept", "mine"),
            TestArchive::new().symlink("/", outside).file("kept", "mine"),
            // umoci 0.4.7 deletes the folder above the root.
            TestArchive::new().file(".wh...", ""),
            TestArchive::new().file(".wh..", ""),
        ]
    };
    let (kept, _, outside) = place();
    let before = listed(&outside);
    drop(kept);
    for way in 0..3 {
        for second in 0..seconds("").len() {
            let (_place, own, outside) = place();
            let outside_name = outside.display().to_string();
            let to = match way {
                0 => outside_name.clone(),
                1 => "../../../outside".to_owned(),
                _ => format!("/proc/self/root{outside_name}"),
            };
            let base = TestArchive::new().file("folder/x", "x").symlink("out", &to);
            lay_out(&own, vec![base, seconds(&outside_name).into_iter().nth(second).unwrap()]);
            let name = "x".parse().unwrap();
            // umoci may either refuse it or unpack it inside.
            let _ = settings().unpack(&name, &own, &|| Ok(())).await;
            assert_eq!(listed(&outside), before, "{way} {second}");
        }
    }
}

#[tokio::test]
async fn rights_and_devices_are_dropped_and_everything_can_be_removed() {
    let registry = LocalRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let archive = TestArchive::new()
        .entry(b'0', b"su", b"", 0o6755, b"x")
        .entry(b'0', b"unreadable", b"", 0o000, b"x")
        .entry(b'5', b"shut", b"", 0o000, b"")
        .entry(b'5', b"tmp", b"", 0o1777, b"")
        .entry(b'6', b"fifo", b"", 0o644, b"")
        .entry(b'3', b"device", b"", 0o644, b"");
    let name = registry.push("x", "1", &TestImage::new(vec![TestLayer::gzip(archive)])).await;
    let root = pulled(&store(folder.path()), &name).await.unwrap();
    insta::assert_snapshot!(listed(&root.path), @r#"
    device 644 ""
    shut/ 700
    su 755 "x"
    tmp/ 1777
    unreadable 400 "x"
    "#);
}

#[tokio::test]
async fn what_is_too_large_is_refused_and_nothing_of_it_stays() {
    let registry = LocalRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let many = (0..150).fold(TestArchive::new(), |archive, at| archive.folder(&format!("f{at}")));
    let bomb = TestArchive::new().entry(b'0', b"zeros", b"", 0o644, &vec![0; 32 << 20]);
    let limited = ImageSettings {
        most_download: 1 << 20,
        most: ImageSize { bytes: 1 << 20, entries: 100 },
        ..settings()
    };
    let store = ImageStore::new(folder.path().join("store"), limited).unwrap();
    let padded = |bytes: &[u8]| [gzip(bytes), vec![0; 2 << 20]].concat();
    let large = TestLayer::of(TestArchive::new().file("x", "x").bytes(), padded);
    for (tag, layer) in [("many", TestLayer::gzip(many)), ("bomb", TestLayer::gzip(bomb)), ("large", large)] {
        let name = registry.push("x", tag, &TestImage::new(vec![layer])).await;
        let error = pulled(&store, &name).await.unwrap_err();
        // The lost disk space could belong to another process.
        assert!(matches!(error.fault(), ImageFault::Image | ImageFault::Temporary), "{error}");
        assert!(error.to_string().contains("is too large: at most "), "{tag}: {error}");
    }
    assert_eq!(store.bytes(), 0);
}

#[tokio::test]
async fn bytes_that_are_not_what_was_asked_for_are_refused() {
    let registry = LocalRegistry::start();
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    let image = TestImage::small();
    let name = registry.push("x", "1", &image).await;
    let pinned = format!("{}@{}", name.trim_end_matches(":1"), image.digest());
    for honest in image.blobs.iter().chain([&image.manifest]) {
        let file = registry.file_of(&digest_of(honest));
        let mut lie = honest.clone();
        let at = lie.len() - 3;
        lie[at] ^= 1;
        // The same manifest with different bytes.
        let lie = if honest == &image.manifest { [honest.as_slice(), b" "].concat() } else { lie };
        std::fs::write(&file, lie).unwrap();
        let error = pulled(&store, &pinned).await.unwrap_err();
        assert_eq!(error.fault(), ImageFault::Image, "{error}");
        std::fs::write(&file, honest).unwrap();
    }
    assert_eq!(store.bytes(), 0);
    pulled(&store, &pinned).await.unwrap();

    // A layer that differs from the configuration's.
    let layer =
        TestLayer { diff_id: digest_of(b"other"), ..TestLayer::gzip(TestArchive::new().file("x", "x")) };
    let name = registry.push("x", "2", &TestImage::new(vec![layer])).await;
    let error = pulled(&store, &name).await.unwrap_err();
    assert_eq!(error.fault(), ImageFault::Image);
    assert!(error.to_string().contains("diffid mismatch"), "{error}");
}

#[test]
fn documents_that_are_no_image_are_refused() {
    let (one, size) = (digest_of(b"x"), 1);
    let part = format!(r#"{{"digest":"{one}","size":{size}}}"#);
    let elsewhere = format!(r#"{{"digest":"{one}","size":{size},"Urls":["https://elsewhere.example/x"]}}"#);
    let cases = [
        ("{".to_owned(), "cannot be read"),
        (r#"{"schemaVersion":1}"#.to_owned(), "gave up in 2019"),
        (r#"{"schemaVersion":2}"#.to_owned(), "neither an image nor an index"),
        (
            format!(r#"{{"schemaVersion":2,"config":{part},"layers":[{part}],"manifests":[{part}]}}"#),
            "neither an image nor an index",
        ),
        (
            format!(r#"{{"schemaVersion":2,"config":{part},"layers":[{elsewhere}]}}"#),
            "a layer lies elsewhere",
        ),
        (
            format!(r#"{{"schemaVersion":2,"config":{{"digest":"sha256:../.."}},"layers":[{part}]}}"#),
            "is no sha256 digest",
        ),
    ];
    for (document, reason) in cases {
        let error = crate::manifest::document(document.as_bytes()).err().unwrap();
        assert!(error.contains(reason), "{document}: {error}");
    }
    let config = |env: &str| {
        let own = journeyman_test_support::archives::architecture();
        let text =
            format!(r#"{{"architecture":"{own}","os":"linux","config":{{"Env":["{env}","=x","Y"]}}}}"#);
        crate::manifest::config(text.as_bytes())
    };
    assert_eq!(config("X=a=b").unwrap().env, [("X".to_owned(), "a=b".to_owned())]);
    assert!(config("X=\\u0000--bind").unwrap_err().contains("holds a NUL"));
}
