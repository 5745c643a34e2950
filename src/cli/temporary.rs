//! The folder of a command that runs once: it is gone at the end with all that is in it. Where the process was killed before,
//! the next one removes it.
//!
//! May know: the folder of temporary files. Must never know: what lies there.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use tempfile::TempDir;

use crate::app::remove_all;

const PREFIX: &str = "journeyman-";
/// Held for as long as the process lives, however it ends.
const LOCK: &str = "lock";
/// With less, not even the journal of an order can be written.
const LEAST_ROOM: u64 = 1 << 20;

pub(super) struct TemporaryPlace {
    folder: TempDir,
    _lock: File,
}

impl TemporaryPlace {
    pub(super) fn make() -> std::io::Result<Self> {
        let all = std::env::temp_dir();
        remove_abandoned(&all);
        Self::make_in(&all)
    }

    fn make_in(all: &Path) -> std::io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(all)?;
        // It has its name once it is held: nobody finds it free before.
        let unnamed = folder.path().join("lock.new");
        let lock = File::create(&unnamed)?;
        lock.try_lock()?;
        std::fs::rename(&unnamed, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    /// Whether there is no room to work in.
    pub(super) fn is_full(&self) -> bool {
        rustix::fs::statvfs(self.path())
            .is_ok_and(|told| told.f_bavail.saturating_mul(told.f_frsize) < LEAST_ROOM)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for TemporaryPlace {
    fn drop(&mut self) {
        // A setup can have left folders that are not writable.
        if let Err(error) = remove_all(self.path()) {
            eprintln!("journeyman: {error}");
        }
    }
}

/// Those of our own user whose lock nobody holds.
fn remove_abandoned(all: &Path) {
    let own = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        let lock = if is_ours { File::open(entry.path().join(LOCK)) } else { continue };
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = remove_all(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let all = TempDir::new().unwrap();
        let at_work = TemporaryPlace::make_in(all.path()).unwrap();
        let killed = all.path().join("journeyman-killed");
        for other in ["journeyman-killed", "journeyman-of-another-kind", "other"] {
            fs::create_dir(all.path().join(other)).unwrap();
        }
        fs::write(killed.join(LOCK), "").unwrap();
        fs::write(all.path().join("other/lock"), "").unwrap();
        fs::create_dir(killed.join("unwritable")).unwrap();
        fs::write(killed.join("unwritable/file"), "").unwrap();
        fs::set_permissions(killed.join("unwritable"), fs::Permissions::from_mode(0o500)).unwrap();

        remove_abandoned(all.path());

        assert!(!killed.exists());
        assert!(at_work.path().join(LOCK).exists());
        assert!(all.path().join("journeyman-of-another-kind").exists() && all.path().join("other").exists());
        let own = at_work.path().to_owned();
        drop(at_work);
        assert!(!own.exists());
    }
}
