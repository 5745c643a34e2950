//! A damaged backup is refused before anything changes.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use journeyman::app::{back_up, restore};
use journeyman::config::Settings;
use secrecy::SecretString;
use tar::EntryType;

use crate::world::{Story, WELL, World};

const DATABASE: &str = "journeyman.db";

/// An entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    kind: EntryType,
    bytes: Vec<u8>,
}

fn file(name: &str, bytes: &[u8]) -> Member {
    Member { name: name.to_owned(), kind: EntryType::Regular, bytes: bytes.to_vec() }
}

fn members(backup: &[u8]) -> Vec<Member> {
    let mut archive = tar::Archive::new(GzDecoder::new(backup));
    let entries = archive.entries().expect("an archive").map(|entry| {
        let mut entry = entry.expect("a member");
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).expect("its bytes");
        let name = entry.path().expect("a name").to_str().expect("in UTF-8").to_owned();
        Member { name, kind: entry.header().entry_type(), bytes }
    });
    entries.collect()
}

/// Writes an archive with any names, as anyone can.
fn archive(members: &[Member]) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for Member { name, kind, bytes } in members {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o600);
        if *kind == EntryType::Regular {
            header.set_size(bytes.len() as u64);
        } else {
            header.set_size(0);
            header.set_link_name("/etc/passwd").expect("a link");
        }
        header.set_cksum();
        let bytes = if *kind == EntryType::Regular { &bytes[..] } else { &[] };
        tar.append(&header, bytes).expect("a member");
    }
    tar.into_inner().expect("an archive").finish().expect("compressed")
}

fn with(mut members: Vec<Member>, more: Member) -> Vec<u8> {
    members.push(more);
    archive(&members)
}

/// Changes the database in an archive.
fn with_database(mut members: Vec<Member>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut members.iter_mut().find(|member| member.name == DATABASE).expect("a database").bytes);
    archive(&members)
}

async fn changed_by_sql(members: Vec<Member>, statement: &'static str) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(DATABASE);
    let database = members.iter().find(|member| member.name == DATABASE).expect("a database");
    fs::write(&path, &database.bytes).expect("written");
    let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", path.display())).await.expect("it opens");
    sqlx::query(statement).execute(&pool).await.expect("changed");
    pool.close().await;
    with_database(members, |bytes| *bytes = fs::read(&path).expect("read"))
}

/// An order that has ended, with two large artifacts, and its backup.
async fn saved() -> (World, PathBuf) {
    let mut world = Story::of(WELL).labeled().await;
    let ended = world.settled_as("verified").await;
    for (name, byte) in [("one", b'1'), ("two", b'2')] {
        let content = vec![byte; 100_000];
        world.store.put_artifact(ended.order, name, "text/plain", &content).await.expect("kept");
    }
    world.stop_bot().await;
    let backup = world.data().with_file_name("saved").join("backup.tar.gz");
    fs::create_dir(backup.parent().expect("a folder")).expect("made");
    let report = back_up(world.settings(), &backup).await.expect("a backup");
    assert_eq!((report.artifacts, report.missing, report.has_key), (2, 0, true), "{report:?}");
    (world, backup)
}

/// The settings of a server that was never started.
fn elsewhere(world: &World, folder: &Path) -> Settings {
    let mut settings = world.settings().clone();
    settings.store.url = SecretString::from(format!("sqlite://{}", folder.join(DATABASE).display()));
    settings.data.dir = folder.join("data");
    settings
}

/// All files except locks.
fn listed(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() {
            found.extend(listed(&path));
        } else if !name.ends_with("lock") && !name.ends_with("-shm") {
            let bytes = fs::read(&path).unwrap_or_default();
            found.push((path, bytes));
        }
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_not_whole_is_refused_and_changes_nothing() {
    let (world, backup) = saved().await;
    let whole = fs::read(&backup).expect("a backup");
    let all = members(&whole);
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        bytes
    };
    let length = whole.len();
    // Not every bit matters: a run of zeros is the same wherever it is copied from.
    let says_something = |at: &usize| GzDecoder::new(&flipped(*at)[..]).read_to_end(&mut Vec::new()).is_err();
    let near = |at: usize| (at..length).find(says_something).expect("a bit that the sum is of");
    let newer = "INSERT INTO _sqlx_migrations SELECT 99, 'later', installed_on, success, checksum, execution_time \
                 FROM _sqlx_migrations WHERE version = 1";
    let damages = [
        ("nothing of it is left", Vec::new(), ""),
        ("it is cut in half", whole[..length / 2].to_vec(), ""),
        ("its sum is missing", whole[..length - 8].to_vec(), ""),
        ("a bit of its sum is another", flipped(length - 7), ""),
        ("a bit in its middle is another", flipped(near(length / 2)), ""),
        ("something is written behind it", [&whole[..], b"more"].concat(), "something follows its end"),
        ("its database is missing", archive(&all[1..]), "it holds no database"),
        (
            "a page of its database is another",
            with_database(all.clone(), |bytes| {
                let at = bytes.len() / 4096 / 2 * 4096;
                bytes[at..at + 4096].fill(0x5a);
            }),
            "the copy of a database",
        ),
        (
            "its database is a newer program's",
            changed_by_sql(all.clone(), newer).await,
            "it is of a newer Journeyman",
        ),
        ("it has two databases", with(all.clone(), all[0].clone()), "it holds journeyman.db twice"),
        ("it has a path upwards", with(all.clone(), file("../evil", b"x")), "it holds ../evil, which"),
        (
            "an artifact has a path upwards",
            with(all.clone(), file("artifacts/../../evil", b"x")),
            "it holds artifacts/../../evil, which",
        ),
        (
            "it has a link",
            with(all.clone(), Member { kind: EntryType::Symlink, ..file("artifacts/aa/b.gz", b"") }),
            "it holds artifacts/aa/b.gz, which",
        ),
        (
            "it has what no backup has",
            with(all.clone(), file("data/orders", b"x")),
            "it holds data/orders, which",
        ),
    ];
    let full = world.data().parent().expect("a folder").to_owned();
    let broken = full.join("saved/broken.tar.gz");
    for (what, damaged, says) in damages {
        fs::write(&broken, damaged).expect("written");
        let before = listed(&full);
        let empty = tempfile::tempdir().expect("a folder");
        for (settings, is_forced) in
            [(elsewhere(&world, empty.path()), false), (world.settings().clone(), true)]
        {
            let refused = restore(&settings, &broken, is_forced).await;
            let refused = format!("{:#}", refused.expect_err(what));
            assert!(refused.contains("is no whole backup of Journeyman's"), "{what}: {refused}");
            assert!(refused.contains(says), "{what}: {refused}");
        }
        assert_eq!(listed(empty.path()), [], "{what}");
        let is_the_same = listed(&full) == before;
        assert!(is_the_same, "{what}: the server's folder is as it was");
    }
    world.end().await;
}
