//! Layers that want out, or too much.

use proptest::prelude::*;

use super::layers::TestRoot;
use crate::unpack::LayerProblem;
use crate::{ImageDigest, ImageLimits};
use journeyman_test_support::archives::{TestArchive, gzip, zstd};

#[test]
fn names_that_lead_upwards_are_refused() {
    for name in ["../outside/kept", "a/../../outside/kept", "/../outside/kept", "a/..", ".."] {
        for kind in *b"01257" {
            let root = TestRoot::new();
            let archive =
                TestArchive::new().file("there", "x").entry(kind, name.as_bytes(), b"there", 0o644, b"");
            assert!(root.refusal(&[archive.bytes()]).contains("leads upwards"), "{name}");
        }
    }
    let root = TestRoot::new();
    let archive = TestArchive::new().hard_link("passwd", "../../../../../../etc/passwd");
    assert!(root.refusal(&[archive.bytes()]).contains("leads upwards"));
}

#[test]
fn an_absolute_name_begins_at_the_images_root() {
    let root = TestRoot::new();
    let name = format!("{}/kept", root.outside());
    root.lay(&[TestArchive::new().file(&name, "mine").bytes()]).unwrap();
    assert_eq!(std::fs::read_to_string(root.root.join(&name[1..])).unwrap(), "mine");
}

/// Links that would lead to the folder outside if anybody followed them as the host does.
fn ways_out(root: &TestRoot) -> Vec<String> {
    let outside = root.outside().to_owned();
    vec![
        outside.clone(),
        "../outside".to_owned(),
        format!("../../../../../../../../..{outside}"),
        "./x/../../outside".to_owned(),
        "/proc/self/root".to_owned(),
        "/proc/self/cwd".to_owned(),
    ]
}

#[test]
fn what_lies_below_a_link_that_leads_out_is_contained_or_refused() {
    let root = TestRoot::new();
    for way in ways_out(&root) {
        for second in [
            TestArchive::new().file("out/kept", "mine"),
            TestArchive::new().folder("out/folder"),
            TestArchive::new().symlink("out/kept", "x"),
            TestArchive::new().file("out/.wh.kept", ""),
            TestArchive::new().file("out/.wh..wh..opq", ""),
            TestArchive::new().file("out/folder/.wh..wh..opq", ""),
            TestArchive::new().hard_link("mine", "out/kept"),
            TestArchive::new().file("there", "x").hard_link("out/kept", "there"),
            TestArchive::new().entry(b'5', b"out/folder", b"", 0o777, b""),
        ] {
            // With and without something inside that the link can mean.
            for inside in [root.outside(), "none"] {
                let root = TestRoot::new();
                let base = TestArchive::new().file(&format!("{inside}/folder/x"), "x").symlink("out", &way);
                match root.lay(&[base.clone().bytes(), second.clone().bytes()]) {
                    Ok(()) | Err(LayerProblem::Refused(_)) => {}
                    other => panic!("{way}: {other:?}"),
                }
                let root = TestRoot::new();
                let both = TestArchive::from_entries(&[base, second.clone()]);
                match root.lay(&[both.bytes()]) {
                    Ok(()) | Err(LayerProblem::Refused(_)) => {}
                    other => panic!("{way}: {other:?}"),
                }
            }
        }
    }
}

#[test]
fn a_link_is_replaced_and_not_written_through() {
    let root = TestRoot::new();
    let kept = format!("{}/kept", root.outside());
    let archive = TestArchive::new()
        .symlink("a", &kept)
        .file("a", "mine")
        .symlink("b", &kept)
        .hard_link("c", "b")
        .file("c", "mine");
    root.lay(&[archive.bytes()]).unwrap();
    assert_eq!(std::fs::read_to_string(root.root.join("a")).unwrap(), "mine");
    assert_eq!(std::fs::read_to_string(root.root.join("c")).unwrap(), "mine");
    // A folder's mode is not set through a link either.
    let root = TestRoot::new();
    let archive = TestArchive::new().symlink("a", root.outside()).entry(b'5', b"a", b"", 0o777, b"");
    root.lay(&[archive.bytes()]).unwrap();
    assert!(std::fs::symlink_metadata(root.root.join("a")).unwrap().is_dir());
}

#[test]
fn the_root_stays_the_root() {
    for kind in *b"012" {
        for name in ["", ".", "/", "./"] {
            let root = TestRoot::new();
            let archive =
                TestArchive::new().file("there", "x").entry(kind, name.as_bytes(), b"there", 0o644, b"");
            let reason = root.refusal(&[archive.bytes()]);
            assert!(reason.contains("takes the place of the root"), "{reason}");
        }
    }
    for name in [".wh..", ".wh...", ".wh.", "a/.wh..", "a/.wh..."] {
        let root = TestRoot::new();
        let reason = root.refusal(&[
            TestArchive::new().file("a/x", "x").bytes(),
            TestArchive::new().file(name, "").bytes(),
        ]);
        assert!(reason.contains("removes what no layer can remove"), "{reason}");
    }
    let root = TestRoot::new();
    let empty =
        TestArchive::new().file(".wh..wh..opq", "").entry(b'5', b"./", b"", 0o000, b"").file("new", "x");
    root.lay(&[TestArchive::new().file("a/x", "x").bytes(), empty.bytes()]).unwrap();
    assert_eq!(root.listed(), "new 644 \"x\"");
}

#[test]
fn links_in_circles_and_to_nothing_are_refused() {
    let cases = [
        TestArchive::new().symlink("a", "b").symlink("b", "a").file("a/x", "x"),
        TestArchive::new().symlink("a", "none").file("a/x", "x"),
        TestArchive::new().file("a", "x").file("a/x", "x"),
        TestArchive::new().hard_link("a", "none"),
        TestArchive::new().hard_link("a", "none/none"),
        TestArchive::new().folder("a").hard_link("b", "a"),
        TestArchive::new().hard_link("a", "."),
        TestArchive::new().symlink("a", ""),
        TestArchive::new().folder("a").file("a/x", "x").hard_link("a", "a/x"),
        TestArchive::new().file(&"n".repeat(256), "x"),
        TestArchive::new().entry(b'0', b"", b"", 0o644, b"x"),
        TestArchive::new().entry(b'V', b"volume", b"", 0o644, b"x"),
        TestArchive::new().symlink("a", &"t".repeat(5000)),
    ];
    let reasons: Vec<String> =
        cases.into_iter().map(|case| TestRoot::new().refusal(&[case.bytes()])).collect();
    insta::assert_snapshot!(reasons.join("\n"), @r"
    `a/x` in it lies below `a`, whose links lead in circles
    `a/x` in it lies below `a`, a link that leads nowhere
    `a/x` in it lies below `a`, which is no folder
    `a` in it is a second name of `none`, which is not there
    `a` in it is a second name of `none/none`, which is not there
    `b` in it is a second name of `a`, which is no file
    `a` in it is a second name of the root
    `a` in it is a link to nothing
    `a` in it is a second name of `a/x`, which is not there
    the name `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn…` in a layer is longer than names of files are
    `` in it takes the place of the root
    `volume` in it is of a kind that archives of layers do not have
    `a` in it is longer than names of files are
    ");
}

#[test]
fn folders_in_folders_have_an_end_also_through_links() {
    let deep = |under: &str| format!("{under}{}", "d/".repeat(100));
    let mut archive = TestArchive::new().folder(&deep("")).symlink("l0", &deep(""));
    for at in 0..20 {
        let (from, to) = (format!("l{at}/"), format!("l{}", at + 1));
        archive = archive.folder(&deep(&from)).symlink(&to, &deep(&from));
    }
    let root = TestRoot::new();
    let reason = root.refusal(&[archive.bytes()]);
    assert!(reason.contains("more than 128 folders deep"), "{reason}");
    let root = TestRoot::new();
    assert!(root.refusal(&[TestArchive::new().folder(&"d/".repeat(129)).bytes()]).contains("deeper than"));
}

#[test]
fn what_is_too_large_is_refused_before_it_is_unpacked() {
    let limits =
        ImageLimits { unpacked_bytes: 1 << 20, file_bytes: 1 << 19, entries: 100, ..ImageLimits::default() };
    let many =
        |count: usize| (0..count).fold(TestArchive::new(), |archive, at| archive.folder(&format!("f{at}")));
    let large = "x".repeat(1 << 18);
    let cases: [(&str, Vec<Vec<u8>>); 5] = [
        ("files, folders and links", vec![many(101).bytes()]),
        ("files, folders and links", vec![many(60).bytes(), many(60).bytes()]),
        ("a file of", vec![TestArchive::new().file("x", &"x".repeat((1 << 19) + 1)).bytes()]),
        (
            "unpack to more",
            vec![
                (0..5).fold(TestArchive::new(), |archive, at| archive.file(&at.to_string(), &large)).bytes(),
            ],
        ),
        // Zeros behind the archive's end.
        ("unpack to more", vec![[TestArchive::new().bytes(), vec![0; 2 << 20]].concat()]),
    ];
    for (named, layers) in cases {
        let root = TestRoot::with_limits(limits);
        match root.lay(&layers) {
            Err(LayerProblem::TooLarge(what)) => assert!(what.contains(named), "{named}: {what}"),
            other => panic!("{named}: {other:?}"),
        }
        assert_eq!(root.listed(), "");
    }
    TestRoot::with_limits(limits).lay(&[many(99).bytes()]).unwrap();
}

#[test]
fn a_small_layer_that_unpacks_to_gigabytes_is_refused() {
    let limits = ImageLimits { unpacked_bytes: 8 << 20, ..ImageLimits::default() };
    let bomb = TestArchive::new().header(b'0', b"zeros", b"", 0o644, 1 << 30).broken_off();
    let bomb = [bomb, vec![0; 16 << 20]].concat();
    for sent in [gzip(&bomb), zstd(&bomb), gzip(&gzip(&bomb))] {
        let root = TestRoot::with_limits(limits);
        let outcome = root.lay_sent(&[(sent, ImageDigest::of(&bomb))]);
        assert!(matches!(outcome, Err(LayerProblem::TooLarge(_) | LayerProblem::Refused(_))), "{outcome:?}");
        assert_eq!(root.listed(), "");
    }
    // A file of holes: nearly nothing in the archive, and as much as it says on the disk.
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::GNUSparse);
    header.as_mut_bytes()[..1].copy_from_slice(b"x");
    let gnu = header.as_gnu_mut().unwrap();
    gnu.set_real_size(1 << 40);
    gnu.sparse[0].set_offset(1 << 40);
    gnu.sparse[0].set_length(0);
    header.set_size(0);
    header.set_cksum();
    let root = TestRoot::with_limits(limits);
    let outcome = root.lay(&[[header.as_bytes().to_vec(), vec![0; 1024]].concat()]);
    assert!(matches!(outcome, Err(LayerProblem::TooLarge(_))), "{outcome:?}");
}

#[test]
fn names_and_attributes_without_end_take_no_memory() {
    for kind in *b"LKxg" {
        let bomb = TestArchive::new().header(kind, b"name", b"", 0o644, 1 << 30).broken_off();
        let bomb = gzip(&[bomb, vec![b'x'; 8 << 20]].concat());
        let root = TestRoot::new();
        let outcome = root.lay_sent(&[(bomb, ImageDigest::of(b""))]);
        let Err(LayerProblem::Refused(reason)) = outcome else { panic!("{outcome:?}") };
        // What is for the whole archive is passed over without being read into memory.
        let expected = if kind == b'g' { "EOF during skip" } else { "of names and attributes" };
        assert!(reason.contains(expected), "{}: {reason}", char::from(kind));
    }
}

#[test]
fn a_layer_that_breaks_off_or_is_another_makes_nothing() {
    let whole = TestArchive::new().file("a", &"x".repeat(10_000)).file("b", "y").bytes();
    let digest = ImageDigest::of(&whole);
    let zipped = gzip(&whole);
    let cases = [
        (whole[..700].to_vec(), ImageDigest::of(&whole[..700])),
        (whole[..300].to_vec(), ImageDigest::of(&whole[..300])),
        (zipped[..zipped.len() - 9].to_vec(), digest.clone()),
        (zipped[..zipped.len() / 2].to_vec(), digest.clone()),
        (TestArchive::new().file("a", "other").bytes(), digest.clone()),
        (b"not an archive, but long enough to be one".repeat(100), digest.clone()),
        ([zipped.clone(), b"more".to_vec()].concat(), digest.clone()),
        (Vec::new(), digest),
    ];
    let reasons = cases.into_iter().map(|(sent, diff_id)| {
        let root = TestRoot::new();
        let outcome = root.lay_sent(&[(sent, diff_id)]);
        assert_eq!(root.listed(), "");
        let Err(LayerProblem::Refused(reason)) = outcome else { panic!("{outcome:?}") };
        reason
    });
    insta::assert_snapshot!(reasons.collect::<Vec<_>>().join("\n"), @r"
    a layer cannot be read: unexpected EOF during skip
    a layer cannot be read: failed to read entire block
    a layer cannot be read: incomplete deflate stream
    a layer cannot be read: incomplete deflate stream
    a layer is not the one that its configuration names (sha256:cd4c1012bab3d0956a92ec3c88df16d438399d33ddcaee2654e18cbb7c352944 instead of sha256:9529802bd32b0a85b7701b00c112c06c66f048959758f07a0693cd952cc79a0c)
    a layer cannot be read: numeric field was not a number: enough t when getting cksum for not an archive, but long enough to be onenot an archive,…
    a layer cannot be read: unexpected end of file
    a layer is not the one that its configuration names (sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 instead of sha256:9529802bd32b0a85b7701b00c112c06c66f048959758f07a0693cd952cc79a0c)
    ");
}

#[test]
fn a_hundred_thousand_entries_are_no_trouble() {
    let archive = (0..100_000)
        .fold(TestArchive::new(), |archive, at| archive.symlink(&format!("{}/{at}", at % 100), "x"));
    let root = TestRoot::new();
    root.lay(&[archive.bytes()]).unwrap();
    assert_eq!(std::fs::read_dir(root.root.join("7")).unwrap().count(), 1_000);
}

#[derive(Debug, Clone)]
struct AnyEntry {
    kind: u8,
    name: Vec<&'static str>,
    target: AnyTarget,
    mode: u32,
}

#[derive(Debug, Clone)]
enum AnyTarget {
    /// One of the ways out, and a name behind it.
    Out(prop::sample::Index, &'static str),
    Inside(Vec<&'static str>),
}

/// Few names, so that entries meet one another.
fn any_entry() -> impl Strategy<Value = AnyEntry> {
    let part = || prop_oneof![8 => Just("a"), 8 => Just("b"), 3 => Just("folder"), 3 => Just("kept"), 1 => Just("outside")];
    let last = prop_oneof![16 => part(), 2 => Just(".wh.a"), 2 => Just(".wh.kept"), 2 => Just(".wh..wh..opq"), 1 => Just("..")];
    let name = (prop::collection::vec(part(), 0..3), last).prop_map(|(mut parts, last)| {
        parts.push(last);
        parts
    });
    let inside = prop_oneof![8 => part(), 3 => Just(".."), 1 => Just(".")];
    let target = prop_oneof![
        (any::<prop::sample::Index>(), prop_oneof![Just(""), Just("/folder"), Just("/kept")])
            .prop_map(|(way, behind)| AnyTarget::Out(way, behind)),
        prop::collection::vec(inside, 1..4).prop_map(AnyTarget::Inside),
    ];
    let kind =
        prop_oneof![3 => Just(b'0'), 3 => Just(b'5'), 5 => Just(b'2'), 2 => Just(b'1'), 1 => Just(b'3')];
    (kind, name, target, 0_u32..0o10000).prop_map(|(kind, name, target, mode)| AnyEntry {
        kind,
        name,
        target,
        mode,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Each entry is a layer of its own, so that one that is refused does not keep the others out.
    #[test]
    fn whatever_layers_say_nothing_outside_is_touched(entries in prop::collection::vec(any_entry(), 1..40)) {
        use std::os::unix::fs::PermissionsExt;
        let root = TestRoot::new();
        let ways = ways_out(&root);
        let layer = |entry: &AnyEntry| {
            let target = match &entry.target {
                AnyTarget::Out(way, behind) => format!("{}{behind}", way.get(&ways)),
                AnyTarget::Inside(parts) => parts.join("/"),
            };
            TestArchive::new().entry(entry.kind, entry.name.join("/").as_bytes(), target.as_bytes(), entry.mode, b"").bytes()
        };
        root.lay_all(&entries.iter().map(layer).collect::<Vec<_>>());
        for line in root.listed().lines().filter(|line| !line.contains(" -> ")) {
            let path = root.root.join(line.split(' ').next().unwrap());
            let mode = std::fs::symlink_metadata(&path).unwrap().permissions().mode();
            prop_assert_eq!(mode & 0o6000, 0, "{}", line);
        }
        std::fs::remove_dir_all(&root.root).unwrap();
    }

    /// Headers with any bytes and a checksum that fits: what no tool would write and every reader would accept.
    #[test]
    fn any_header_has_an_answer(changes in prop::collection::vec((0_usize..6, 0_usize..512, any::<u8>()), 1..6), ends in any::<bool>()) {
        let archive = TestArchive::new()
            .folder("a")
            .file("a/b", "x")
            .symlink("c", "a")
            .hard_link("d", "a/b")
            .file("c/.wh.b", "")
            .entry(b'x', b"pax", b"", 0o644, b"17 path=../../kept\n");
        let mut bytes = if ends { archive.file("e", "x").bytes() } else { archive.broken_off() };
        let headers: Vec<usize> = (0..bytes.len()).step_by(512).filter(|at| bytes[at + 257..].starts_with(b"ustar")).collect();
        for (header, at, byte) in changes {
            let begin = headers[header % headers.len()];
            bytes[begin + at] = byte;
            bytes[begin + 148..begin + 156].fill(b' ');
            let sum: u32 = bytes[begin..begin + 512].iter().map(|byte| u32::from(*byte)).sum();
            bytes[begin + 148..begin + 156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
        let root = TestRoot::new();
        match root.lay(&[bytes]) {
            Ok(()) | Err(LayerProblem::Refused(_) | LayerProblem::TooLarge(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}
