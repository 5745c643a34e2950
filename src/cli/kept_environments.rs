//! Environments that `run` keeps for the next run on the same repository, so that nothing is installed twice.
//!
//! May know: the user's cache folder. Must never know: what is in the environments.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use super::cache_folder;
use crate::app::name_by_place;

/// A folder of environments that no other run uses as long as this lives.
pub(super) struct KeptEnvironments {
    folder: PathBuf,
    _lock: File,
}

impl KeptEnvironments {
    /// The folder for a repository, below `data`, or below the user's cache folder.
    ///
    /// # Errors
    /// Why nothing can be kept, such as another run that is at work on the repository.
    pub(super) fn take(data: Option<&Path>, repository: &Path) -> anyhow::Result<Self> {
        let below = data.map(Path::to_owned).or_else(cache_folder);
        let below = below.ok_or_else(|| anyhow::anyhow!("neither HOME nor XDG_CACHE_HOME names a folder"))?;
        Self::take_in(below.join("run").join(name_by_place(repository)?))
    }

    fn take_in(folder: PathBuf) -> anyhow::Result<Self> {
        let failed = |error: std::io::Error| anyhow::anyhow!("{}: {error}", folder.display());
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let lock = File::create(folder.join("in-use")).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { folder, _lock: lock }),
            Err(TryLockError::WouldBlock) => anyhow::bail!("another run is at work on this repository"),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_at_a_time_has_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("sum-1");
        let first = KeptEnvironments::take_in(folder.clone()).unwrap();
        let busy = KeptEnvironments::take_in(folder.clone()).err().unwrap();
        assert_eq!(busy.to_string(), "another run is at work on this repository");
        drop(first);
        assert!(KeptEnvironments::take_in(folder).is_ok());
    }
}
