//! A server's state in one file, and back: the database of SQLite, large artifacts, and the key that signs receipts.
//!
//! May know: where the settings say that these lie. Must never know: what is in the database.
//!
//! What is fetched or made again is not in it: mirrors, environments, images, work trees.

mod archive;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::Utc;
use secrecy::ExposeSecret as _;

use super::{holder, lock_folder};
use crate::attest::KEY_FILE;
use crate::config::Settings;
use crate::store::{DatabaseFiles, FileLock};
use archive::{pack, sync_folders, unpack};

const DATABASE: &str = "journeyman.db";
const ARTIFACTS: &str = "artifacts";
/// What a backup or restore that was killed leaves begins so.
const UNFINISHED: &str = ".journeyman-unfinished-";

/// What a backup holds, or what was restored of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupReport {
    /// Of the database.
    pub bytes: u64,
    pub artifacts: usize,
    /// Named by the database, and not there, or not as they were written.
    pub missing: usize,
    pub has_key: bool,
    /// Where what was there before lies now.
    pub put_aside: Option<PathBuf>,
}

/// Writes a backup. A server may run meanwhile. The file is there when it is whole, in the place of one of that name.
///
/// # Errors
/// When the store is not SQLite, or cannot be read, or the file cannot be written.
pub async fn back_up(settings: &Settings, file: &Path) -> anyhow::Result<BackupReport> {
    let files = files(settings)?;
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    // A device or a link would be replaced, and not written to.
    if std::fs::symlink_metadata(file).is_ok_and(|there| !there.is_file()) {
        bail!("{} is there, and is no file that a backup could take the place of", file.display());
    }
    let is_there = files.database.try_exists().with_context(|| {
        format!(
            "{} (store.url) cannot be looked at: let the user that runs this command enter its folder",
            files.database.display()
        )
    });
    if !is_there? {
        bail!(
            "there is no database to back up: {} (store.url) is not there: name the settings of the server with \
             --config, and set the variables that it is started with",
            std::path::absolute(&files.database)?.display()
        );
    }
    let work = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&folder);
    let work = work.with_context(|| format!("cannot write into {}", folder.display()))?;
    let copy = work.path().join(DATABASE);
    let named = files.copy(&copy).await;
    let named = named.with_context(|| format!("the database cannot be copied into {}", folder.display()))?;
    let (key, file) = (settings.data.dir.join(KEY_FILE), file.to_owned());
    tokio::task::spawn_blocking(move || {
        let archive = tempfile::Builder::new().prefix("backup-").tempfile_in(work.path())?;
        let (archive, report) = pack(archive, &copy, (&files, &named), &key)?;
        archive.as_file().sync_all()?;
        archive.persist(&file)?;
        File::open(&folder)?.sync_all()?;
        anyhow::Ok(report)
    })
    .await?
    .context("the backup could not be written")
}

/// Puts a backup where the settings say that a server's state lies. What is there already is put aside, if that is wanted.
///
/// # Errors
/// When a server runs there, when something is there and not to be put aside, or when the file is no whole backup.
pub async fn restore(settings: &Settings, file: &Path, puts_aside: bool) -> anyhow::Result<BackupReport> {
    let files = files(settings)?;
    // Nothing is made for a backup that is not there.
    File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let data = settings.data.dir.clone();
    let holder = holder();
    let place = files.database.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    let _data = lock_folder(&data, &holder).await?;
    let _database = FileLock::take(files.lock.clone(), &holder, "the database").await?;
    if files.database.exists() && !puts_aside {
        bail!(
            "{} is there already (store.url): `--force` puts it aside, and the backup in its place",
            files.database.display()
        );
    }
    // Beside its place: what is whole there is only renamed.
    let work = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(place);
    let work = work.with_context(|| format!("cannot write into {}", place.display()))?;
    let (archive, place) = (file.to_owned(), place.to_owned());
    let (work, unpacked) = tokio::task::spawn_blocking(move || {
        let unpacked = unpack(&archive, work.path())?;
        anyhow::Ok((work, unpacked))
    })
    .await??;
    let named = DatabaseFiles::beside(&work.path().join(DATABASE)).named().await;
    let named = named.with_context(|| format!("{} is no whole backup of Journeyman's", file.display()))?;
    tokio::task::spawn_blocking(move || {
        let report = unpacked.keep_whole(work.path(), &named)?;
        let put_aside = put_aside(&files)?;
        let put_in_place = || {
            let artifacts = work.path().join(ARTIFACTS);
            if artifacts.exists() {
                sync_folders(&artifacts)?;
                std::fs::rename(&artifacts, &files.artifacts)?;
            }
            if report.has_key {
                restore_key(&work.path().join(KEY_FILE), &data.join(KEY_FILE))?;
            }
            // Last: a server starts with all of it, or with nothing.
            std::fs::rename(work.path().join(DATABASE), &files.database)?;
            anyhow::Ok(File::open(&place)?.sync_all()?)
        };
        let what_was = put_aside.as_ref().map(|aside| format!("; what was there is {}", aside.display()));
        put_in_place().with_context(|| {
            format!("the backup cannot be put in its place{}", what_was.unwrap_or_default())
        })?;
        anyhow::Ok(BackupReport { put_aside, ..report })
    })
    .await?
}

/// Where the state lies.
fn files(settings: &Settings) -> anyhow::Result<DatabaseFiles> {
    DatabaseFiles::of(settings.store.url.expose_secret()).with_context(|| {
        format!(
            "store.url is no file of SQLite. Back PostgreSQL up with `pg_dump`, and with it these of data.dir: {0}/{ARTIFACTS} \
             and {0}/{KEY_FILE}. To restore, use `pg_restore` or `psql`, and put these back",
            settings.data.dir.display()
        )
    })
}

/// Puts away what is there, so that it is one database still: SQLite finds what belongs to it by its name.
fn put_aside(files: &DatabaseFiles) -> anyhow::Result<Option<PathBuf>> {
    let named = |base: &Path, ending: &str| {
        let mut name = base.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let moves = |before: &str| {
        let aside = named(&files.database, &format!(".before-{before}"));
        let moves =
            ["", "-wal", "-shm"].map(|ending| (named(&files.database, ending), named(&aside, ending)));
        let artifacts = (files.artifacts.clone(), DatabaseFiles::beside(&aside).artifacts);
        (aside, Vec::from_iter(moves.into_iter().chain([artifacts])))
    };
    let before = unused(|before| moves(before).1.iter().all(|(_, to)| !to.exists()));
    let (aside, moves) = moves(&before);
    let moves: Vec<_> = moves.into_iter().filter(|(from, _)| from.exists()).collect();
    let failed = |from: &Path| format!("cannot put {} aside", from.display());
    // Killed at any moment, all of the database is here or there: its log belongs to it.
    for (from, to) in moves.iter().filter(|(from, _)| from.is_file()) {
        std::fs::hard_link(from, to)
            .or_else(|_| std::fs::copy(from, to).map(drop))
            .with_context(|| failed(from))?;
    }
    for (from, to) in &moves {
        let gone = if from.is_file() { std::fs::remove_file(from) } else { std::fs::rename(from, to) };
        gone.with_context(|| failed(from))?;
    }
    Ok((!moves.is_empty()).then_some(aside))
}

/// A name for what is put aside now, that nothing has which was put aside before.
fn unused(is_free: impl Fn(&str) -> bool) -> String {
    let now = Utc::now().format("%Y%m%dT%H%M%SZ").to_string();
    let mut name = now.clone();
    for number in 2_u32.. {
        if is_free(&name) {
            break;
        }
        name = format!("{now}-{number}");
    }
    name
}

/// The key of the backup takes the place of another one, which is kept beside it.
fn restore_key(from: &Path, to: &Path) -> anyhow::Result<()> {
    let key = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|there| there == key) {
        return Ok(());
    }
    if to.exists() {
        let aside = |before: &str| to.with_extension(format!("before-{before}.pem"));
        std::fs::rename(to, aside(&unused(|before| !aside(before).exists())))?;
    }
    // Another file system, perhaps; readable by nobody else from the beginning.
    let folder = to.parent().unwrap_or(to);
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut written, &key)?;
    written.as_file().sync_all()?;
    written.persist(to)?;
    Ok(())
}
