//! A layer copied over what is there, where the system mounts none.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

/// Threads that copy one layer.
const MOST_COPIERS: usize = 4;
/// Bytes of a file that is read as a whole.
const SMALL: u64 = 1 << 18;

/// Lays a copy of a layer over what is there, with the times that its files have: tools go by them. Blocks are shared where
/// the file system can. What is no file, folder or link is left out.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let (folders, next) = (lay_folders(from, to)?, AtomicUsize::new(0));
    let work = || {
        let mut copier = FileCopier::default();
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
    })
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
            let path = folder.join(entry.file_name());
            let here = to.join(&path);
            let is_new = match fs::create_dir(&here) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let is_other = !fs::symlink_metadata(&here)?.is_dir();
                    if is_other {
                        fs::remove_file(&here)?;
                        fs::create_dir(&here)?;
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

/// Copies files into folders.
#[derive(Default)]
struct FileCopier {
    bytes: Vec<u8>,
    /// The file system was asked to share blocks, and does not.
    shares_nothing: bool,
}

impl FileCopier {
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
        let mode = found.permissions().mode() & 0o777;
        let copy = OpenOptions::new().write(true).create_new(true).mode(mode | 0o600).open(to)?;
        if self.shares_nothing || rustix::fs::ioctl_ficlone(&copy, &source).is_err() {
            self.shares_nothing = true;
            if found.len() <= SMALL {
                self.bytes.clear();
                (&source).read_to_end(&mut self.bytes)?;
                (&copy).write_all(&self.bytes)?;
            } else {
                io::copy(&mut &source, &mut &copy)?;
            }
        }
        copy.set_modified(found.modified()?)?;
        copy.set_permissions(fs::Permissions::from_mode(mode))
    }
}

/// Removes a file, a link or a folder with what is in it, if one is there.
pub(super) fn remove_whatever(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => journeyman_workspace::remove_all(path).map_err(io::Error::other),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    }
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
}
