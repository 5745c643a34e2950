//! Layers, one over the other, as tools make them.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tempfile::TempDir;

use super::listed;
use crate::unpack::{self, LayerCounts, LayerProblem, RootTree};
use crate::{ImageDigest, ImageLimits};
use journeyman_test_support::archives::TestArchive;

/// A root, and beside it a folder that no layer may touch.
pub(super) struct TestRoot {
    place: TempDir,
    pub(super) root: PathBuf,
    outside: PathBuf,
    limits: ImageLimits,
}

impl TestRoot {
    pub(super) fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let [root, outside] = ["root", "outside"].map(|name| place.path().join(name));
        std::fs::create_dir_all(outside.join("folder")).unwrap();
        std::fs::create_dir(&root).unwrap();
        for name in ["kept", "folder/kept"] {
            std::fs::write(outside.join(name), "kept").unwrap();
        }
        Self { place, root, outside, limits: ImageLimits::default() }
    }

    pub(super) fn with_limits(limits: ImageLimits) -> Self {
        Self { limits, ..Self::new() }
    }

    /// The folder that no layer may touch, as layers would call it.
    pub(super) fn outside(&self) -> &str {
        self.outside.to_str().unwrap()
    }

    pub(super) fn lay(&self, layers: &[Vec<u8>]) -> Result<(), LayerProblem> {
        let layers: Vec<(Vec<u8>, ImageDigest)> =
            layers.iter().map(|layer| (layer.clone(), ImageDigest::of(layer))).collect();
        self.lay_sent(&layers)
    }

    /// Lays layers as they are sent, with the digests that they should have. Fails where anything outside changed.
    pub(super) fn lay_sent(&self, layers: &[(Vec<u8>, ImageDigest)]) -> Result<(), LayerProblem> {
        let before = stamped(&self.outside);
        let outcome = self.lay_now(layers);
        assert_eq!(stamped(&self.outside), before, "something outside was touched");
        let beside = std::fs::read_dir(self.place.path()).unwrap().flatten();
        for entry in beside {
            let name = entry.file_name().into_string().unwrap();
            assert!(
                ["root", "outside"].contains(&name.as_str()) || name.starts_with("layer-"),
                "{name} was made"
            );
        }
        outcome
    }

    fn lay_now(&self, layers: &[(Vec<u8>, ImageDigest)]) -> Result<(), LayerProblem> {
        let (counts, stop) = (LayerCounts::new(self.limits), AtomicBool::new(false));
        let mut scanned = Vec::new();
        for (at, (layer, diff_id)) in layers.iter().enumerate() {
            let path = self.place.path().join(format!("layer-{at}"));
            std::fs::write(&path, layer).unwrap();
            scanned.push((unpack::scan(&path, diff_id, &counts, &stop)?, path));
        }
        let mut tree = RootTree::new(&self.root)?;
        for (layer, path) in &scanned {
            unpack::apply(path, layer, &mut tree, &stop, &|_| {})?;
        }
        Ok(())
    }

    /// Lays one layer after the other, also when some are refused. Fails where anything outside changed.
    pub(super) fn lay_all(&self, layers: &[Vec<u8>]) {
        let before = stamped(&self.outside);
        let (counts, stop) = (LayerCounts::new(self.limits), AtomicBool::new(false));
        let mut tree = RootTree::new(&self.root).unwrap();
        let path = self.place.path().join("layer-0");
        for layer in layers {
            std::fs::write(&path, layer).unwrap();
            let scanned = unpack::scan(&path, &ImageDigest::of(layer), &counts, &stop);
            match scanned.and_then(|scanned| unpack::apply(&path, &scanned, &mut tree, &stop, &|_| {})) {
                Ok(()) | Err(LayerProblem::Refused(_)) => {}
                Err(other) => panic!("{other:?}"),
            }
            assert_eq!(stamped(&self.outside), before, "something outside was touched");
        }
        assert_eq!(std::fs::read_dir(self.place.path()).unwrap().count(), 3, "something was made");
    }

    pub(super) fn listed(&self) -> String {
        listed(&self.root)
    }

    /// What a refusal says.
    pub(super) fn refusal(&self, layers: &[Vec<u8>]) -> String {
        match self.lay(layers) {
            Err(LayerProblem::Refused(reason)) => reason,
            other => panic!("{other:?}\n{}", self.listed()),
        }
    }
}

/// What lies there, with the times at which it was changed.
fn stamped(folder: &Path) -> Vec<(String, i64, i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    let lines = listed(folder);
    let paths =
        lines.lines().map(|line| folder.join(line.split(' ').next().unwrap())).chain([folder.to_owned()]);
    let stamp = |path: PathBuf| {
        let found = std::fs::symlink_metadata(&path).unwrap();
        (path.display().to_string(), found.ctime(), found.ctime_nsec(), i64::from(found.mode()))
    };
    paths.map(stamp).chain(lines.lines().map(|line| (line.to_owned(), 0, 0, 0))).collect()
}

#[test]
fn a_layer_removes_what_the_layers_below_have_and_nothing_of_its_own() {
    let base = TestArchive::new()
        .file("a/one", "old")
        .file("a/two", "old")
        .file("b/one", "old")
        .file("b/c/two", "old")
        .file("d", "old");
    // The marks stand behind what they do not concern.
    let second = TestArchive::new()
        .file("a/one", "new")
        .file("a/.wh.one", "")
        .file("a/.wh.two", "")
        .file("b/c/new", "new")
        .file("b/.wh..wh..opq", "")
        .file(".wh.d", "")
        .file(".wh.nothing", "")
        .file("none/.wh.nothing", "")
        .file("a/.wh..wh.aufs", "")
        .file("a/.wh..wh.plnk/x", "");
    let root = TestRoot::new();
    root.lay(&[base.bytes(), second.bytes()]).unwrap();
    insta::assert_snapshot!(root.listed(), @r#"
    a/ 755
    a/one 644 "new"
    b/ 755
    b/c/ 755
    b/c/new 644 "new"
    "#);
}

#[test]
fn one_kind_takes_the_place_of_another() {
    let base = TestArchive::new()
        .file("file-to-folder", "x")
        .file("folder-to-file/x", "x")
        .symlink("link-to-folder", "target")
        .file("target/kept", "x")
        .symlink("link-to-file", "target/kept")
        .file("folder-to-link/x", "x")
        .entry(b'5', b"folder", b"", 0o700, b"")
        .file("folder/kept", "x");
    let second = TestArchive::new()
        .folder("file-to-folder")
        .file("folder-to-file", "new")
        .folder("link-to-folder")
        .file("link-to-file", "new")
        .symlink("folder-to-link", "folder")
        .entry(b'5', b"folder", b"", 0o750, b"");
    let root = TestRoot::new();
    root.lay(&[base.bytes(), second.bytes()]).unwrap();
    insta::assert_snapshot!(root.listed(), @r#"
    file-to-folder/ 755
    folder-to-file 644 "new"
    folder-to-link -> folder
    folder/ 750
    folder/kept 644 "x"
    link-to-file 644 "new"
    link-to-folder/ 755
    target/ 755
    target/kept 644 "x"
    "#);
}

#[test]
fn links_inside_are_followed_inside() {
    let base = TestArchive::new()
        .folder("usr/lib")
        .symlink("lib", "usr/lib")
        .symlink("usr/lib64", "/lib")
        .symlink("up", "../../../../usr");
    let second = TestArchive::new()
        .file("lib/one", "1")
        .file("usr/lib64/two", "2")
        .file("up/lib/three", "3")
        .hard_link("lib64", "lib/one")
        .file("lib/.wh.none", "");
    let root = TestRoot::new();
    root.lay(&[base.bytes(), second.bytes()]).unwrap();
    insta::assert_snapshot!(root.listed(), @r#"
    lib -> usr/lib
    lib64 644 "1"
    up -> ../../../../usr
    usr/ 755
    usr/lib/ 755
    usr/lib/one 644 "1"
    usr/lib/three 644 "3"
    usr/lib/two 644 "2"
    usr/lib64 -> /lib
    "#);
}

#[test]
fn hard_links_are_one_file_and_a_change_of_one_name_leaves_the_other() {
    let base = TestArchive::new()
        .file("one", "1")
        .hard_link("two", "one")
        .hard_link("/three", "./two")
        .hard_link("one", "one")
        .symlink("link", "one")
        .hard_link("link-again", "link");
    let second = TestArchive::new()
        .file("two", "changed")
        .file("x/old", "old")
        .hard_link("three", "x/old")
        .hard_link("x", "one");
    let root = TestRoot::new();
    root.lay(&[base.bytes()]).unwrap();
    use std::os::unix::fs::MetadataExt;
    assert_eq!(std::fs::metadata(root.root.join("three")).unwrap().nlink(), 3);
    let root = TestRoot::new();
    root.lay(&[base_again(), second.bytes()]).unwrap();
    insta::assert_snapshot!(root.listed(), @r#"
    one 644 "1"
    three 644 "old"
    two 644 "changed"
    x 644 "1"
    "#);
}

fn base_again() -> Vec<u8> {
    TestArchive::new().file("one", "1").hard_link("two", "one").hard_link("three", "one").bytes()
}

#[test]
fn rights_that_a_program_would_get_are_dropped_and_folders_can_be_removed() {
    let archive = TestArchive::new()
        .entry(b'0', b"setuid", b"", 0o6755, b"x")
        .entry(b'0', b"sticky", b"", 0o1644, b"x")
        .entry(b'0', b"closed", b"", 0o000, b"x")
        .entry(b'5', b"shared", b"", 0o3777, b"")
        .entry(b'5', b"shut", b"", 0o000, b"")
        .file("shut/inside", "x")
        .entry(b'5', b"shut", b"", 0o055, b"");
    let root = TestRoot::new();
    root.lay(&[archive.bytes()]).unwrap();
    insta::assert_snapshot!(root.listed(), @r#"
    closed 400 "x"
    setuid 755 "x"
    shared/ 1777
    shut/ 755
    shut/inside 644 "x"
    sticky 644 "x"
    "#);
}

#[test]
fn what_only_root_could_make_is_left_out() {
    let mut archive = TestArchive::new();
    for kind in *b"346" {
        archive = archive.entry(kind, format!("dev/{}", char::from(kind)).as_bytes(), b"", 0o666, b"");
    }
    // A comment for the whole archive, and attributes of one file.
    let attribute = b"39 SCHILY.xattr.security.capability=abc\n";
    let archive = archive
        .entry(b'g', b"pax_global_header", b"", 0o666, b"13 comment=x\n")
        .header(b'x', b"attributes", b"", 0o644, attribute.len() as u64)
        .data(attribute)
        .file("dev/file", "x");
    let root = TestRoot::new();
    root.lay(&[archive.bytes()]).unwrap();
    insta::assert_snapshot!(root.listed(), @r#"
    dev/ 755
    dev/file 644 "x"
    "#);
}

#[test]
fn long_names_are_kept() {
    let long = format!("{}/{}", "d".repeat(200), "f".repeat(255));
    let target = "t/".repeat(300);
    let archive = TestArchive::new().file(&long, "x").symlink("link", &target).hard_link("again", &long);
    let root = TestRoot::new();
    root.lay(&[archive.bytes()]).unwrap();
    assert_eq!(std::fs::read_to_string(root.root.join(&long)).unwrap(), "x");
    assert_eq!(std::fs::read_link(root.root.join("link")).unwrap(), Path::new(&target));
    assert_eq!(std::fs::read_to_string(root.root.join("again")).unwrap(), "x");
}
