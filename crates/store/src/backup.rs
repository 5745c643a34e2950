//! A consistent copy of an SQLite database, made while a server keeps writing.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::StoreError;
use super::artifact_files::ArtifactFiles;
use super::connections::{is_newer, newest_tables};

const AT_ONCE: usize = 64 << 10;

/// The files of an SQLite database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFiles {
    pub database: PathBuf,
    pub artifacts: PathBuf,
    /// Locked by the server that uses the database.
    pub lock: PathBuf,
}

impl DatabaseFiles {
    /// The files that `store.url` names; `None` for PostgreSQL or a database in memory.
    pub fn of(url: &str) -> Option<Self> {
        let is_in_memory = url.contains(":memory:") || url.contains("mode=memory");
        let is_file = url.starts_with("sqlite:") && !is_in_memory;
        let options = SqliteConnectOptions::from_str(url).ok().filter(|_| is_file)?;
        Some(Self::beside(options.get_filename()))
    }

    /// The files of the database at this path.
    pub fn beside(database: &Path) -> Self {
        // The lock must be the same for every link to the database.
        let mut lock = database.canonicalize().unwrap_or_else(|_| database.to_owned()).into_os_string();
        lock.push(".lock");
        let artifacts = ArtifactFiles::beside(database).folder;
        Self { database: database.to_owned(), artifacts, lock: lock.into() }
    }

    /// Copies the database into a new file and checks it. Returns its large artifacts as paths in
    /// [`DatabaseFiles::artifacts`]. The tables keep the version of the program that made them.
    pub async fn copy(&self, into: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let what = self.database.display();
        if !self.database.exists() {
            let because = "there is none: name the settings of the server, those of its environment included";
            return Err(StoreError::refused(format!("a copy of the database {what} (store.url)"), because));
        }
        let options = SqliteConnectOptions::new().filename(&self.database).read_only(true);
        let mut database = options.connect().await?;
        let target = into.to_str().ok_or_else(|| StoreError::refused("the copy", "its path is no UTF-8"))?;
        sqlx::query("VACUUM INTO $1").bind(target).execute(&mut database).await?;
        database.close().await?;

        Self::beside(into).named().await
    }

    /// Checks that an unused database is intact and not from a newer program, without changing it. Returns its large
    /// artifacts as paths in [`DatabaseFiles::artifacts`].
    ///
    /// # Errors
    /// [`StoreError::Broken`] names the problem.
    pub async fn named(&self) -> Result<Vec<PathBuf>, StoreError> {
        let broken = |because: &dyn std::fmt::Display| StoreError::broken("the copy of a database", because);
        let options = SqliteConnectOptions::new().filename(&self.database).immutable(true).read_only(true);
        match newest_tables(&options).await {
            Ok(version) if is_newer(version) => {
                return Err(broken(&"it is of a newer Journeyman, which has to be used here, too"));
            }
            Ok(_) => {}
            Err(error) => return Err(broken(&format!("it has no tables of Journeyman's ({error})"))),
        }
        let mut database = options.connect().await?;
        let found: String = sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut database).await?;
        if found != "ok" {
            return Err(broken(&found));
        }
        let of_artifacts = "SELECT COUNT(*) FROM pragma_table_info('artifacts') WHERE name = 'in_file'";
        let has_files: i64 = sqlx::query_scalar(of_artifacts).fetch_one(&mut database).await?;
        let named: Vec<String> = if has_files == 0 {
            Vec::new()
        } else {
            let named = "SELECT DISTINCT sha256 FROM artifacts WHERE in_file";
            sqlx::query_scalar(named).fetch_all(&mut database).await?
        };
        database.close().await?;
        let within = ArtifactFiles::within(PathBuf::new());
        Ok(named.iter().map(|sha256| within.path(sha256)).collect())
    }

    /// Whether an artifact's file, opened at its beginning, matches the digest in its name.
    pub fn is_whole(name: &Path, artifact: impl Read) -> bool {
        let (mut digest, mut artifact) = (Sha256::new(), GzDecoder::new(artifact));
        let mut bytes = vec![0; AT_ONCE];
        let is_read = loop {
            match artifact.read(&mut bytes) {
                Ok(0) => break true,
                Ok(length) => digest.update(bytes.get(..length).unwrap_or_default()),
                Err(_) => break false,
            }
        };
        let digest = hex::encode(digest.finalize());
        is_read && name.file_name().is_some_and(|name| name == format!("{digest}.gz").as_str())
    }
}
