//! Backs up and restores a server's state in one file: the SQLite database, large artifacts, and the receipt key.
//!
//! May know: where the settings put these. Must never know: what is in the database.
//!
//! Not included is what can be fetched or made again: mirrors, environments, images, work trees.

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
/// Name prefix of what a killed backup or restore leaves behind.
const UNFINISHED: &str = ".journeyman-unfinished-";

/// What a backup contains, or what was restored from one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupReport {
    /// Size of the database.
    pub bytes: u64,
    pub artifacts: usize,
    /// Artifacts that the database names but that are missing or damaged.
    pub missing: usize,
    pub has_key: bool,
    /// Where the previous state was moved.
    pub put_aside: Option<PathBuf>,
}

/// Writes a backup, even while a server runs. The file appears when it is complete and replaces one of the same name.
///
/// # Errors
/// If the store is not SQLite or cannot be read, or the file cannot be written.
pub async fn back_up(settings: &Settings, file: &Path) -> anyhow::Result<BackupReport> {
    let files = files(settings)?;
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    };
    // The rename would replace a device or a link instead of writing to it.
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

/// Restores a backup to where the settings put a server's state. Existing state is moved aside if `puts_aside` is set.
///
/// # Errors
/// If a server runs there, if there is state that may not be moved aside, or if the backup is incomplete.
pub async fn restore(settings: &Settings, file: &Path, puts_aside: bool) -> anyhow::Result<BackupReport> {
    let files = files(settings)?;
    // Create nothing if the backup does not exist.
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
    // On the same file system, so that the last step is only a rename.
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
            // The database comes last: a server starts with everything or with nothing.
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

/// The files of the state.
fn files(settings: &Settings) -> anyhow::Result<DatabaseFiles> {
    DatabaseFiles::of(settings.store.url.expose_secret()).with_context(|| {
        format!(
            "store.url is no file of SQLite. Back PostgreSQL up with `pg_dump`, and with it these of data.dir: {0}/{ARTIFACTS} \
             and {0}/{KEY_FILE}. To restore, use `pg_restore` or `psql`, and put these back",
            settings.data.dir.display()
        )
    })
}

/// Moves the existing database aside under one new base name, because SQLite finds its companion files by name.
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
    // The log goes with its database: a crash at any moment leaves both here or both there.
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

/// A name for the moved state that no earlier one uses.
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

/// Puts the backup's key in place and keeps a different existing key beside it.
fn restore_key(from: &Path, to: &Path) -> anyhow::Result<()> {
    let key = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|there| there == key) {
        return Ok(());
    }
    if to.exists() {
        let aside = |before: &str| to.with_extension(format!("before-{before}.pem"));
        std::fs::rename(to, aside(&unused(|before| !aside(before).exists())))?;
    }
    // It may be on another file system, so copy it, private to the user from the start.
    let folder = to.parent().unwrap_or(to);
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut written, &key)?;
    written.as_file().sync_all()?;
    written.persist(to)?;
    Ok(())
}
