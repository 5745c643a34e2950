//! Large artifacts as compressed files, named by digest and written to disk before a row refers to them.
//!
//! With SQLite they are beside the database, which keeps it small and fast, and move with it. With PostgreSQL the
//! store's caller chooses the folder.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};
use tokio::sync::RwLock;

use super::pool::read;
use super::{Store, StoreError};

/// Anything larger goes into a file.
pub(super) const MOST_IN_ROW: usize = 64 << 10;

#[derive(Debug, Clone)]
pub(super) struct ArtifactFiles {
    pub(super) folder: PathBuf,
    /// Writers share it until their row exists; the sweep of files without rows takes it exclusively.
    pub(super) turn: Arc<RwLock<()>>,
}

impl ArtifactFiles {
    /// The files of an SQLite database.
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

    /// Writes a file; it is on disk on return.
    pub(super) async fn write(&self, sha256: &str, content: &[u8]) -> Result<(), StoreError> {
        let (path, content) = (self.path(sha256), content.to_vec());
        let at = path.clone();
        blocking(move || write_now(&path, &content)).await.map_err(|error| {
            StoreError::unavailable(format!("cannot write the artifact {}: {error}", at.display()))
        })
    }

    /// A file's bytes, and whether they match its digest.
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

fn write_now(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    make_private(folder)?;
    let mut compressed = GzEncoder::new(tempfile::NamedTempFile::new_in(folder)?, Compression::default());
    compressed.write_all(content)?;
    let file = compressed.finish()?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    File::open(folder)?.sync_all()
}

/// Makes a private folder, because artifacts contain agents' output about private repositories. Syncs its parents.
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
    /// With large artifacts of PostgreSQL in this folder. Those of SQLite are beside its file.
    #[must_use]
    pub fn keeping_files_in(mut self, folder: &Path) -> Self {
        if self.kind() == "postgres" {
            self.files = Some(ArtifactFiles::within(folder.to_owned()));
        }
        self
    }

    /// Deletes files without a row, left by replaced or deleted artifacts or by a killed server. Returns the number of
    /// deleted files.
    pub async fn sweep_artifact_files(&self) -> Result<usize, StoreError> {
        let Some(files) = &self.files else { return Ok(0) };
        let _nobody_writes = files.turn.write().await;
        let rows: Vec<(String,)> =
            read!(self, fetch_all, "SELECT DISTINCT sha256 FROM artifacts WHERE in_file")?;
        let named: BTreeSet<String> = rows.into_iter().map(|(sha256,)| format!("{sha256}.gz")).collect();
        let folder = files.folder.clone();
        blocking(move || remove_all_but(&named, &folder))
            .await
            .map_err(|error| StoreError::unavailable(format!("cannot sweep artifacts: {error}")))
    }
}

fn remove_all_but(named: &BTreeSet<String>, folder: &Path) -> io::Result<usize> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    let mut removed = 0;
    for entry in entries {
        let (name, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
        if path.is_dir() {
            removed += remove_all_but(named, &path)?;
        } else if !name.to_str().is_some_and(|name| named.contains(name)) {
            match std::fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(error) => {
                    tracing::warn!(file = %path.display(), "an artifact that nothing names stays: {error}");
                }
            }
        }
    }
    Ok(removed)
}
