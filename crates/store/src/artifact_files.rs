//! Large artifacts as files: compressed, called by their digests, on the disk before a row names them.
//!
//! They lie beside a database of SQLite, which stays small and quick that way, and go where it goes. Those of PostgreSQL
//! lie where the store is told.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::pool::reading;
use super::{Store, StoreError};

/// What is larger lies in a file.
pub(super) const MOST_IN_ROW: usize = 64 << 10;
/// A file that no row names may be one that is just being written.
const YOUNG: Duration = Duration::from_secs(60 * 60);

/// The folder of the files.
#[derive(Debug, Clone)]
pub(super) struct ArtifactFiles(pub(super) PathBuf);

impl ArtifactFiles {
    /// Those of a database of SQLite.
    pub(super) fn beside(database: &Path) -> Self {
        let mut folder = database.as_os_str().to_owned();
        folder.push(".artifacts");
        Self(folder.into())
    }

    pub(super) fn path(&self, sha256: &str) -> PathBuf {
        self.0.join(sha256.get(..2).unwrap_or_default()).join(format!("{sha256}.gz"))
    }

    /// Writes one, if it is not there. When this has returned, it is on the disk.
    pub(super) async fn write(&self, sha256: &str, content: &[u8]) -> Result<(), StoreError> {
        let (path, content) = (self.path(sha256), content.to_vec());
        let at = path.clone();
        blocking(move || write(&path, &content)).await.map_err(|error| {
            StoreError::unavailable(format!("cannot write the artifact {}: {error}", at.display()))
        })
    }

    /// The bytes of one.
    pub(super) async fn read(&self, sha256: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.path(sha256);
        let at = path.clone();
        let read = blocking(move || {
            let mut content = Vec::new();
            GzDecoder::new(File::open(&path)?).read_to_end(&mut content)?;
            Ok(content)
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

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Ok(there) = File::options().append(true).open(path) {
        // Young again, so that nobody takes it away before the row is there.
        return there.set_modified(SystemTime::now());
    }
    let folder = path.parent().unwrap_or(path);
    make_private(folder)?;
    let mut compressed = GzEncoder::new(tempfile::NamedTempFile::new_in(folder)?, Compression::default());
    compressed.write_all(content)?;
    let file = compressed.finish()?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
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
            self.files = Some(ArtifactFiles(folder.to_owned()));
        }
        self
    }

    /// Where large artifacts lie as files; none where they are all in the database.
    pub fn artifact_folder(&self) -> Option<&Path> {
        self.files.as_ref().map(|files| files.0.as_path())
    }

    /// Removes files that no row names: what is left of an artifact that was replaced or removed, or of a server that was
    /// killed before it wrote the row. Says how many.
    ///
    /// # Errors
    /// When the store cannot be read, or the files cannot be removed.
    pub async fn sweep_artifact_files(&self) -> Result<usize, StoreError> {
        self.sweep_files_older_than(YOUNG).await
    }

    pub(super) async fn sweep_files_older_than(&self, age: Duration) -> Result<usize, StoreError> {
        let Some(ArtifactFiles(folder)) = self.files.clone() else { return Ok(0) };
        let unavailable =
            |error: io::Error| StoreError::unavailable(format!("cannot sweep artifacts: {error}"));
        // First the files, then the rows: what is written meanwhile is in neither list, or is young.
        let old = blocking(move || files_older_than(&folder, age)).await.map_err(unavailable)?;
        let rows: Vec<(String,)> = reading!(&self.pools, pool => {
            sqlx::query_as("SELECT DISTINCT sha256 FROM artifacts WHERE in_file").fetch_all(pool)
        })?;
        let named: BTreeSet<String> = rows.into_iter().map(|(sha256,)| format!("{sha256}.gz")).collect();
        let is_named = |file: &PathBuf| {
            file.file_name().and_then(|name| name.to_str()).is_some_and(|name| named.contains(name))
        };
        let orphans: Vec<PathBuf> = old.into_iter().filter(|file| !is_named(file)).collect();
        let count = orphans.len();
        let removed = blocking(move || orphans.iter().try_for_each(std::fs::remove_file));
        removed.await.map_err(unavailable)?;
        Ok(count)
    }
}

fn files_older_than(folder: &Path, age: Duration) -> io::Result<Vec<PathBuf>> {
    let mut old = Vec::new();
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(old),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            old.extend(files_older_than(&entry.path(), age)?);
        } else if entry.metadata()?.modified()?.elapsed().is_ok_and(|since| since >= age) {
            old.push(entry.path());
        }
    }
    Ok(old)
}
