//! Who works on an image: one who pulls or removes it, or any number who use it, in all processes on this machine.
//!
//! May know: one folder of lock files. Must never know: images. The kernel lets go when a process ends, however it
//! ends, so that no lock is ever left behind.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// Held until it is dropped.
#[derive(Debug)]
pub(crate) struct ImageLock {
    _file: File,
    path: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// To use what is there.
    Shared,
    /// To change what is there.
    Exclusive,
}

impl ImageLock {
    /// None where others hold it in a way that leaves no room.
    pub(crate) fn try_new(path: &Path, kind: LockKind) -> io::Result<Option<Self>> {
        let operation = match kind {
            LockKind::Shared => FlockOperation::NonBlockingLockShared,
            LockKind::Exclusive => FlockOperation::NonBlockingLockExclusive,
        };
        loop {
            let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(nofollow)
                .open(path)?;
            match flock(&file, operation) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            // Whoever removed the file while it was opened has left a lock that nobody else would find.
            let is_same = fs::symlink_metadata(path).is_ok_and(|there| {
                file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
            });
            if is_same {
                return Ok(Some(Self { _file: file, path: path.to_owned() }));
            }
        }
    }

    /// Removes the file; only for one that is held exclusively.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}
