//! A lock file for one process at a time, with the holder's name inside.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::StoreError;

/// A process that is shutting down releases the lock within this time, so that one server can follow another.
const PATIENCE: Duration = Duration::from_secs(5);
const GLANCE: Duration = Duration::from_millis(100);
/// Longest name of a holder.
const LONGEST_NAME: u64 = 500;

/// A lock held until it is dropped or its process ends.
#[derive(Debug)]
pub struct FileLock {
    _file: File,
}

impl FileLock {
    /// The present holder of a lock; `None` if it is free.
    pub fn holder(path: &Path) -> Option<String> {
        let file = File::open(path).ok()?;
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let mut holder = Vec::new();
        file.take(LONGEST_NAME).read_to_end(&mut holder).ok()?;
        Some(String::from_utf8_lossy(&holder).trim().to_owned())
    }

    /// Takes the lock and writes the holder's name into the file. Waits for a holder that is shutting down.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if another process holds it, with its name, or if the file is unusable.
    pub async fn take(path: PathBuf, holder: &str, what: &str) -> Result<Self, StoreError> {
        let cannot = |error: std::io::Error| {
            StoreError::unavailable(format!("cannot lock {}: {error}", path.display()))
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let begun = Instant::now();
        let mut file = options.open(&path).map_err(cannot)?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    tokio::time::sleep(GLANCE).await;
                }
                Err(TryLockError::WouldBlock) => {
                    let mut holder = Vec::new();
                    let _unknown = file.take(LONGEST_NAME).read_to_end(&mut holder);
                    return Err(StoreError::unavailable(format!(
                        "another Journeyman has {what} ({}): {}",
                        path.display(),
                        String::from_utf8_lossy(&holder).trim()
                    )));
                }
            }
        }
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| writeln!(file, "{holder}"));
        written.map_err(cannot)?;
        Ok(Self { _file: file })
    }
}
