//! A server's state in one file, and back: the database of SQLite, large artifacts, and the key that signs receipts.
//!
//! May know: where the settings say that these lie. Must never know: what is in the database.
//!
//! What is fetched or made again is not in it: mirrors, environments, images, work trees.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};
use chrono::Utc;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use secrecy::ExposeSecret as _;

use super::{holder, lock_data};
use crate::attest::KEY_FILE;
use crate::config::Settings;
use crate::store::{DatabaseFiles, FileLock};

const DATABASE: &str = "journeyman.db";
const ARTIFACTS: &str = "artifacts";

/// What a backup holds, or what was restored of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupReport {
    /// Of the database.
    pub bytes: u64,
    pub artifacts: usize,
    /// Named by the database, and not there.
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
    let work = tempfile::Builder::new().prefix(".journeyman-backup-").tempdir_in(&folder);
    let work = work.with_context(|| format!("cannot write into {}", folder.display()))?;
    let copy = work.path().join(DATABASE);
    let named = files.copy(&copy).await?;
    let (key, file) = (settings.data.dir.join(KEY_FILE), file.to_owned());
    tokio::task::spawn_blocking(move || {
        let archive = tempfile::Builder::new().prefix("backup-").tempfile_in(work.path())?;
        let mut tar = tar::Builder::new(GzEncoder::new(archive, Compression::fast()));
        tar.append_path_with_name(&copy, DATABASE)?;
        let mut report = BackupReport {
            bytes: copy.metadata()?.len(),
            artifacts: 0,
            missing: 0,
            has_key: key.is_file(),
            put_aside: None,
        };
        for name in named {
            match File::open(files.artifacts.join(&name)) {
                Ok(mut artifact) => {
                    tar.append_file(Path::new(ARTIFACTS).join(&name), &mut artifact)?;
                    report.artifacts += 1;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => report.missing += 1,
                Err(error) => return Err(error.into()),
            }
        }
        if report.has_key {
            tar.append_path_with_name(&key, KEY_FILE)?;
        }
        let archive = tar.into_inner()?.finish()?;
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
    let data = settings.data.dir.clone();
    let holder = holder();
    let place = files.database.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    std::fs::create_dir_all(place).with_context(|| format!("cannot make {}", place.display()))?;
    let _data = lock_data(&data, &holder).await?;
    let _database = FileLock::take(files.lock.clone(), &holder, "the database").await?;
    if files.database.exists() && !puts_aside {
        bail!(
            "{} is there already (store.url): `--force` puts it aside, and the backup in its place",
            files.database.display()
        );
    }
    let (file, place) = (file.to_owned(), place.to_owned());
    tokio::task::spawn_blocking(move || {
        // Beside its place: what is whole there is only renamed.
        let work = tempfile::Builder::new().prefix(".journeyman-restore-").tempdir_in(&place)?;
        let report = unpack(&file, work.path())
            .with_context(|| format!("{} is no whole backup of Journeyman's", file.display()))?;
        let put_aside = put_aside(&files)?;
        let artifacts = work.path().join(ARTIFACTS);
        if artifacts.exists() {
            std::fs::rename(&artifacts, &files.artifacts)?;
        }
        if report.has_key {
            restore_key(&work.path().join(KEY_FILE), &data.join(KEY_FILE))?;
        }
        // Last: a server starts with all of it, or with nothing.
        std::fs::rename(work.path().join(DATABASE), &files.database)?;
        File::open(&place)?.sync_all()?;
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

/// Takes what a backup may hold, and nothing else, out of the archive.
fn unpack(file: &Path, into: &Path) -> anyhow::Result<BackupReport> {
    let mut report = BackupReport { bytes: 0, artifacts: 0, missing: 0, has_key: false, put_aside: None };
    let mut archive = tar::Archive::new(GzDecoder::new(File::open(file)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let parts: Vec<_> = name.components().collect();
        let is_plain = entry.header().entry_type().is_file()
            && parts.iter().all(|part| matches!(part, Component::Normal(_)));
        match name.to_str() {
            Some(DATABASE) if is_plain => report.bytes = entry.size(),
            Some(KEY_FILE) if is_plain => report.has_key = true,
            Some(_) if is_plain && parts.len() == 3 && name.starts_with(ARTIFACTS) => report.artifacts += 1,
            Some(_) | None => bail!("it holds {}, which no backup does", name.display()),
        }
        let path = into.join(&name);
        if let Some(folder) = path.parent() {
            make_private(folder)?;
        }
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut written = options.open(&path)?;
        io::copy(&mut entry, &mut written)?;
        written.sync_all()?;
    }
    if report.bytes == 0 {
        bail!("it holds no database");
    }
    Ok(report)
}

fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Renames what is there, so that it is one database still: SQLite finds what belongs to it by its name.
fn put_aside(files: &DatabaseFiles) -> anyhow::Result<Option<PathBuf>> {
    let named = |base: &Path, ending: &str| {
        let mut name = base.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let aside = named(&files.database, &format!(".before-{}", Utc::now().format("%Y%m%dT%H%M%SZ")));
    let beside = DatabaseFiles::beside(&aside);
    let mut is_any = false;
    let moves = ["-wal", "-shm", ""].map(|ending| (named(&files.database, ending), named(&aside, ending)));
    for (from, to) in moves.into_iter().chain([(files.artifacts.clone(), beside.artifacts)]) {
        if from.exists() {
            std::fs::rename(&from, &to).with_context(|| format!("cannot put {} aside", from.display()))?;
            is_any = true;
        }
    }
    Ok(is_any.then_some(aside))
}

/// The key of the backup takes the place of another one, which is kept beside it.
fn restore_key(from: &Path, to: &Path) -> anyhow::Result<()> {
    let key = std::fs::read(from)?;
    if std::fs::read(to).is_ok_and(|there| there == key) {
        return Ok(());
    }
    if to.exists() {
        std::fs::rename(
            to,
            to.with_extension(format!("before-{}.pem", Utc::now().format("%Y%m%dT%H%M%SZ"))),
        )?;
    }
    // Another file system, perhaps; readable by nobody else from the beginning.
    let folder = to.parent().unwrap_or(to);
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut written, &key)?;
    written.as_file().sync_all()?;
    written.persist(to)?;
    Ok(())
}
