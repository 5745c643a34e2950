//! A folder for what is not whole yet. Whatever ends its process, whoever makes the next one beside it takes it away.
//!
//! Must never know: what is made in it.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

/// How the folders are called.
const NAME: &str = ".journeyman-unfinished-";
/// Held by whoever works in the folder.
const LOCK: &str = "lock";
/// A folder without a lock is one that is just being made, for no longer than this.
const YOUNG: Duration = Duration::from_secs(60 * 60);

/// Gone when it is dropped.
pub(super) struct WorkFolder {
    folder: TempDir,
    _lock: File,
}

impl WorkFolder {
    /// Makes one in this folder, and removes those there that nobody works in.
    pub(super) fn within(place: &Path) -> io::Result<Self> {
        remove_abandoned(place)?;
        loop {
            let folder = tempfile::Builder::new().prefix(NAME).tempdir_in(place)?;
            let name = folder.path().join(LOCK);
            // Whoever looks for abandoned ones may have taken it in between.
            let lock = match File::create_new(&name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock?,
            };
            if lock.try_lock().is_ok() && name.exists() {
                return Ok(Self { folder, _lock: lock });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

fn remove_abandoned(place: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(place)? {
        let entry = entry?;
        // Another one may be taking it away just now.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_ours = entry.file_name().to_string_lossy().starts_with(NAME) && is_folder;
        if !is_ours {
            continue;
        }
        let path = entry.path();
        let lock = File::options().write(true).open(path.join(LOCK));
        let is_abandoned = match &lock {
            Ok(lock) => lock.try_lock().is_ok(),
            Err(_) => {
                let made = entry.metadata().and_then(|folder| folder.modified());
                made.is_ok_and(|made| made.elapsed().is_ok_and(|since| since > YOUNG))
            }
        };
        if is_abandoned && let Err(error) = crate::workspace::remove_all(&path) {
            tracing::warn!(path = %path.display(), "what was left unfinished cannot be removed: {error}");
        }
    }
    Ok(())
}
