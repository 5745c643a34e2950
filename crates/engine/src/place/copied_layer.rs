//! A layer copied over what is there, where the system mounts none.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

/// Threads that copy one layer.
const MOST_COPIERS: usize = 4;
/// Folders of a layer.
const MOST_FOLDERS: usize = 1_000_000;
/// Bytes that stay free on the disk.
const KEPT_FREE: u64 = 256 << 20;
/// Bytes of a file that is read as a whole.
const SMALL: u64 = 1 << 18;

/// Lays a copy of a layer over what is there, with the modes and times that its files and folders have: tools go by them.
/// Blocks are shared where the file system can. What is no file, folder or link is left out.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let (folders, next) = (lay_folders(from, to)?, AtomicUsize::new(0));
    let linked = Mutex::default();
    let work = || {
        let mut copier = FileCopier { bytes: Vec::new(), shares_nothing: false, linked: &linked };
        while let Some((folder, is_new)) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            copier.copy_files(&from.join(folder), &to.join(folder), *is_new)?;
        }
        Ok(())
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(MOST_COPIERS);
    thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let ended = |other: ScopedJoinHandle<'_, io::Result<()>>| {
            other.join().unwrap_or_else(|_| Err(io::Error::other("a thread that copies died")))
        };
        let own = work();
        others.into_iter().map(ended).fold(own, Result::and)
    })?;
    // Last, since what is written in a folder changes its time, and it may not be writable. The first is not the layer's.
    folders.iter().skip(1).rev().try_for_each(|(folder, _)| {
        let found = fs::metadata(from.join(folder))?;
        let here = to.join(folder);
        fs::File::open(&here)?.set_modified(found.modified()?)?;
        fs::set_permissions(&here, modes(&found))
    })
}

fn modes(found: &fs::Metadata) -> fs::Permissions {
    fs::Permissions::from_mode(found.permissions().mode() & 0o7777)
}

/// Makes the folders of a layer. Says each, with whether it was not there before.
fn lay_folders(from: &Path, to: &Path) -> io::Result<Vec<(PathBuf, bool)>> {
    let mut folders = vec![(PathBuf::new(), false)];
    let mut at = 0;
    while let Some((folder, _)) = folders.get(at).cloned() {
        at += 1;
        for entry in fs::read_dir(from.join(&folder))? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            if folders.len() == MOST_FOLDERS {
                return Err(too_many(MOST_FOLDERS));
            }
            let path = folder.join(entry.file_name());
            let here = to.join(&path);
            let is_new = match fs::create_dir(&here) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let is_other = !fs::symlink_metadata(&here)?.is_dir();
                    if is_other {
                        fs::remove_file(&here)?;
                        fs::create_dir(&here)?;
                    } else {
                        fs::set_permissions(&here, fs::Permissions::from_mode(0o700))?;
                    }
                    is_other
                }
                made => made.map(|()| true)?,
            };
            folders.push((path, is_new));
        }
    }
    Ok(folders)
}

/// Where a file of several names was copied first, by its device and number.
type LinkedFiles = Mutex<HashMap<(u64, u64), PathBuf>>;

/// Copies files into folders.
struct FileCopier<'a> {
    bytes: Vec<u8>,
    /// The file system was asked to share blocks, and does not.
    shares_nothing: bool,
    linked: &'a LinkedFiles,
}

impl FileCopier<'_> {
    /// All but the folders in it.
    fn copy_files(&mut self, from: &Path, to: &Path, is_new: bool) -> io::Result<()> {
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                continue;
            }
            let here = to.join(entry.file_name());
            if !is_new {
                remove_whatever(&here)?;
            }
            if kind.is_symlink() {
                symlink(fs::read_link(entry.path())?, &here)?;
            } else if kind.is_file() {
                self.copy_file(&entry.path(), &here)?;
            }
        }
        Ok(())
    }

    fn copy_file(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let source = fs::File::open(from)?;
        let found = source.metadata()?;
        let linked = self.linked;
        // Held until the first is there.
        let mut others = (found.nlink() > 1).then(|| linked.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(others) = &mut others {
            match others.entry((found.dev(), found.ino())) {
                Entry::Occupied(first) => return fs::hard_link(first.get(), to),
                Entry::Vacant(none) => drop(none.insert(to.to_owned())),
            }
        }
        let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        if self.shares_nothing || rustix::fs::ioctl_ficlone(&copy, &source).is_err() {
            self.shares_nothing = true;
            // Blocks that are shared take none.
            require_room(to, found.blocks().saturating_mul(512), KEPT_FREE)?;
            if found.len() <= SMALL {
                self.bytes.clear();
                (&source).read_to_end(&mut self.bytes)?;
                (&copy).write_all(&self.bytes)?;
            } else {
                copy_data(&source, &copy, found.len())?;
            }
        }
        copy.set_modified(found.modified()?)?;
        copy.set_permissions(modes(&found))
    }
}

/// That somebody left more than can be looked through, which comes again with every try.
pub(super) fn too_many(most: usize) -> io::Error {
    let said = format!("there are more than {most} files or folders in it");
    io::Error::new(io::ErrorKind::FileTooLarge, said)
}

/// A copy of a file takes room once more, also where all names were one file's before.
fn require_room(at: &Path, needed: u64, kept: u64) -> io::Result<()> {
    let told = rustix::fs::statvfs(at.parent().unwrap_or(at))?;
    if told.f_bavail.saturating_mul(told.f_frsize) >= needed.saturating_add(kept) {
        return Ok(());
    }
    let said = format!("{} MiB more would leave less than {} MiB free on the disk", needed >> 20, kept >> 20);
    Err(io::Error::new(io::ErrorKind::StorageFull, said))
}

/// What a file holds; its holes stay holes.
fn copy_data(source: &fs::File, copy: &fs::File, length: u64) -> io::Result<()> {
    copy.set_len(length)?;
    let mut at = 0;
    while at < length {
        let begin = match seek(source, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => break,
            found => found?,
        };
        at = seek(source, SeekFrom::Hole(begin))?;
        for file in [source, copy] {
            seek(file, SeekFrom::Start(begin))?;
        }
        io::copy(&mut source.take(at - begin), &mut &*copy)?;
    }
    Ok(())
}

/// Removes a file, a link or a folder with what is in it, if one is there.
pub(super) fn remove_whatever(path: &Path) -> io::Result<()> {
    journeyman_workspace::remove_all(path).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_layer_over_another_replaces_what_has_its_names_and_leaves_the_rest() {
        let place = tempfile::tempdir().unwrap();
        let [lower, upper, to] = ["lower", "upper", "to"].map(|name| place.path().join(name));
        for folder in
            ["lower/kept", "lower/file-now/in", "upper/folder-now", "upper/new/deep", "lower/linked"]
        {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        fs::write(lower.join("kept/old"), "old").unwrap();
        fs::write(lower.join("changed"), "before").unwrap();
        fs::write(lower.join("folder-now"), "a file").unwrap();
        fs::write(lower.join("file-now/in/x"), "x").unwrap();
        fs::write(upper.join("changed"), "after").unwrap();
        fs::write(upper.join("file-now"), "a file").unwrap();
        fs::write(upper.join("folder-now/y"), vec![7; 1 << 19]).unwrap();
        fs::write(upper.join("new/deep/run"), "#!/bin/sh").unwrap();
        fs::set_permissions(upper.join("new/deep/run"), fs::Permissions::from_mode(0o555)).unwrap();
        symlink("nowhere", upper.join("linked")).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::open(upper.join("changed")).unwrap().set_modified(old).unwrap();

        copy(&lower, &to).unwrap();
        copy(&upper, &to).unwrap();

        let text = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!([text("kept/old"), text("changed"), text("file-now")], ["old", "after", "a file"]);
        assert_eq!(fs::read(to.join("folder-now/y")).unwrap(), vec![7; 1 << 19]);
        assert_eq!(fs::read_link(to.join("linked")).unwrap(), Path::new("nowhere"));
        assert_eq!(fs::metadata(to.join("new/deep/run")).unwrap().permissions().mode() & 0o777, 0o555);
        assert_eq!(fs::metadata(to.join("changed")).unwrap().modified().unwrap(), old);
        assert_eq!(fs::read_to_string(lower.join("changed")).unwrap(), "before", "no layer is written");
    }

    #[test]
    fn folders_deeper_than_a_path_are_no_layer_and_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| place.path().join(name));
        fs::create_dir(&from).unwrap();
        let mut folder = fs::File::open(&from).unwrap();
        for _ in 0..3_000 {
            rustix::fs::mkdirat(&folder, "d", rustix::fs::Mode::RWXU).unwrap();
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
            folder = rustix::fs::openat(&folder, "d", flags, rustix::fs::Mode::empty()).unwrap().into();
        }
        // Told by its kind as what a job did: another try finds the same.
        assert_eq!(copy(&from, &to).unwrap_err().kind(), io::ErrorKind::InvalidFilename);
        for made in [&from, &to] {
            remove_whatever(made).unwrap();
            assert!(!made.exists());
        }
    }

    #[test]
    fn a_copy_that_would_fill_the_disk_is_not_begun() {
        let place = tempfile::tempdir().unwrap();
        let at = place.path().join("copy");
        require_room(&at, 1, 0).unwrap();
        for (needed, kept) in [(u64::MAX, 1), (1, u64::MAX), (1 << 60, 0)] {
            let refused = require_room(&at, needed, kept).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::StorageFull, "{refused}");
        }
    }

    #[test]
    fn folders_keep_their_modes_and_times_names_of_one_file_stay_so_and_holes_are_holes() {
        let place = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| place.path().join(name));
        fs::create_dir_all(from.join("cache/deep")).unwrap();
        fs::write(from.join("cache/deep/one"), "1").unwrap();
        fs::set_permissions(from.join("cache/deep/one"), fs::Permissions::from_mode(0o4755)).unwrap();
        fs::hard_link(from.join("cache/deep/one"), from.join("other")).unwrap();
        let sparse = fs::File::create(from.join("sparse")).unwrap();
        (&sparse).write_all(b"begin").unwrap();
        seek(&sparse, SeekFrom::Start(64 << 20)).unwrap();
        (&sparse).write_all(b"end").unwrap();
        sparse.set_len(65 << 20).unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::open(from.join("cache/deep")).unwrap().set_modified(old).unwrap();
        fs::set_permissions(from.join("cache/deep"), fs::Permissions::from_mode(0o555)).unwrap();

        // Over itself as well: what may not be written is replaced.
        copy(&from, &to).unwrap();
        copy(&from, &to).unwrap();

        let found = |path: &str| fs::metadata(to.join(path)).unwrap();
        assert_eq!(found("cache/deep").permissions().mode() & 0o7777, 0o555);
        assert_eq!(found("cache/deep").modified().unwrap(), old);
        assert_eq!(found("other").permissions().mode() & 0o7777, 0o4755);
        assert_eq!(found("other").ino(), found("cache/deep/one").ino());
        assert_eq!(fs::read(to.join("sparse")).unwrap(), fs::read(from.join("sparse")).unwrap());
        assert!(found("sparse").blocks() * 512 < 1 << 20, "{}", found("sparse").blocks());
        journeyman_workspace::remove_all(&to).unwrap();
    }
}
