//! Large artifacts as files: compressed, called by their digests, on the disk before a row names them.
//!
//! They lie beside a database of SQLite, which stays small and quick that way, and go where it goes. Those of PostgreSQL
//! lie where the store is told.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use super::pool::read;
use super::{Store, StoreError};

/// What is larger lies in a file.
pub(super) const MOST_IN_ROW: usize = 64 << 10;
/// A file that no row names may be one that is just being written.
const YOUNG: Duration = Duration::from_secs(60 * 60);

#[derive(Debug, Clone)]
pub(super) struct ArtifactFiles {
    pub(super) folder: PathBuf,
    /// Held where a file becomes young, and where one is looked at and removed because it is not.
    turn: Arc<Mutex<()>>,
}

impl ArtifactFiles {
    /// Those of a database of SQLite.
    pub(super) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".artifacts");
        Self::within(folder.into())
    }

    pub(super) fn within(folder: PathBuf) -> Self {
        Self { folder, turn: Arc::default() }
    }

    pub(super) fn path(&self, sha256: &str) -> PathBuf {
        self.folder.join(sha256.get(..2).unwrap_or_default()).join(format!("{sha256}.gz"))
    }

    /// Writes one, if it is not there as it should be. When this has returned, it is on the disk.
    pub(super) async fn write(&self, sha256: &str, content: &[u8]) -> Result<(), StoreError> {
        let (files, path, content) = (self.clone(), self.path(sha256), content.to_vec());
        let at = path.clone();
        blocking(move || files.write_now(&path, &content)).await.map_err(|error| {
            StoreError::unavailable(format!("cannot write the artifact {}: {error}", at.display()))
        })
    }

    fn write_now(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let folder = path.parent().unwrap_or(path);
        if !(self.make_young(path)? && holds(path, content)) {
            make_private(folder)?;
            let mut compressed =
                GzEncoder::new(tempfile::NamedTempFile::new_in(folder)?, Compression::default());
            compressed.write_all(content)?;
            let file = compressed.finish()?;
            file.as_file().sync_all()?;
            let _turn = self.take_turn();
            file.persist(path)?;
        }
        File::open(folder)?.sync_all()
    }

    /// So that nobody takes it away before the row is there. Whether there is one.
    fn make_young(&self, path: &Path) -> io::Result<bool> {
        let _turn = self.take_turn();
        match File::options().append(true).open(path) {
            Ok(there) => there.set_modified(SystemTime::now()).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes a file, if it is there and not young. Whether it did.
    fn remove_old(&self, path: &Path, age: Duration) -> io::Result<bool> {
        let _turn = self.take_turn();
        let removed = is_older(std::fs::metadata(path), age).and_then(|is_old| match is_old {
            true => std::fs::remove_file(path).map(|()| true),
            false => Ok(false),
        });
        removed.or_else(unless_gone)
    }

    fn take_turn(&self) -> impl Drop + '_ {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of one, and whether they have its digest.
    pub(super) async fn read(&self, sha256: &str) -> Result<(Vec<u8>, bool), StoreError> {
        let (path, expected) = (self.path(sha256), sha256.to_owned());
        let at = path.clone();
        let read = blocking(move || {
            let mut content = Vec::new();
            GzDecoder::new(File::open(&path)?).read_to_end(&mut content)?;
            let is_whole = hex::encode(Sha256::digest(&content)) == expected;
            Ok((content, is_whole))
        });
        read.await.map_err(|error| {
            let what = format!("the file {}", at.display());
            if error.kind() == io::ErrorKind::NotFound {
                StoreError::not_found(what)
            } else if is_damage(&error) {
                StoreError::broken(what, error)
            } else {
                StoreError::unavailable(format!("cannot read {what}: {error}"))
            }
        })
    }
}

fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
    )
}

/// Whether these bytes are in the file. What cannot be read is written again.
fn holds(path: &Path, content: &[u8]) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut there = Vec::with_capacity(content.len() + 1);
    let most = content.len() as u64 + 1;
    GzDecoder::new(file).take(most).read_to_end(&mut there).is_ok() && there == content
}

fn is_older(found: io::Result<Metadata>, age: Duration) -> io::Result<bool> {
    Ok(found?.modified()?.elapsed().is_ok_and(|since| since >= age))
}

/// Somebody else removed it, or gave it its name.
fn unless_gone<T: Default>(error: io::Error) -> io::Result<T> {
    if error.kind() == io::ErrorKind::NotFound { Ok(T::default()) } else { Err(error) }
}

/// They hold what agents said about private repositories. A folder that was made is named on the disk, too.
fn make_private(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    for folder in folder.ancestors().skip(1).take(2).filter(|folder| *folder != Path::new("")) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

impl Store {
    /// The same, with large artifacts of PostgreSQL in this folder. Those of SQLite lie beside its file.
    #[must_use]
    pub fn keeping_files_in(mut self, folder: &Path) -> Self {
        if self.kind() == "postgres" {
            self.files = Some(ArtifactFiles::within(folder.to_owned()));
        }
        self
    }

    /// Removes files that no row names: what is left of an artifact that was replaced or removed, or of a server that was
    /// killed before it wrote the row. Says how many.
    pub async fn sweep_artifact_files(&self) -> Result<usize, StoreError> {
        self.sweep_files_older_than(YOUNG).await
    }

    pub(super) async fn sweep_files_older_than(&self, age: Duration) -> Result<usize, StoreError> {
        let Some(files) = self.files.clone() else { return Ok(0) };
        let unavailable =
            |error: io::Error| StoreError::unavailable(format!("cannot sweep artifacts: {error}"));
        // First the files, then the rows: what is written meanwhile is in neither list, or is young.
        let folder = files.folder.clone();
        let old = blocking(move || files_older_than(&folder, age)).await.map_err(unavailable)?;
        let rows: Vec<(String,)> =
            read!(self, fetch_all, "SELECT DISTINCT sha256 FROM artifacts WHERE in_file")?;
        let named: BTreeSet<String> = rows.into_iter().map(|(sha256,)| format!("{sha256}.gz")).collect();
        let is_named = |file: &Path| {
            file.file_name().and_then(|name| name.to_str()).is_some_and(|name| named.contains(name))
        };
        let orphans: Vec<PathBuf> = old.into_iter().filter(|file| !is_named(file)).collect();
        let removed = blocking(move || {
            let is_removed = |file: &&PathBuf| {
                files.remove_old(file, age).unwrap_or_else(|error| {
                    tracing::warn!(file = %file.display(), "an artifact that nothing names stays: {error}");
                    false
                })
            };
            Ok(orphans.iter().filter(is_removed).count())
        });
        removed.await.map_err(unavailable)
    }
}

fn files_older_than(folder: &Path, age: Duration) -> io::Result<Vec<PathBuf>> {
    let mut old = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) => return unless_gone(error),
        Ok(entries) => entries,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            old.extend(files_older_than(&entry.path(), age)?);
        } else if is_older(entry.metadata(), age).or_else(unless_gone)? {
            old.push(entry.path());
        }
    }
    Ok(old)
}
