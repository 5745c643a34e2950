//! Folders that a job, an agent or a repository may have written, taken away with all that is in them.
//!
//! May know: folders and their modes. Must never know: whose they are.
//!
//! Whoever wrote there is not trusted: folders may lie in one another deeper than a path can be long, or than there are
//! descriptors and stack. So nothing descends: what lies in a folder's folder is moved up until it lies in the first one.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

/// Removes whatever is at a path, following no link; nothing there is fine. Folders that were made unreadable or unwritable,
/// as some tools do with their caches, are opened up first.
///
/// # Errors
/// When something stays.
pub fn remove_all(path: &Path) -> io::Result<()> {
    let found = match statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(error) if is_gone(error) => return Ok(()),
        found => found?,
    };
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Ok(unless_gone(unlinkat(CWD, path, AtFlags::empty()))?);
    }
    let Some(top) = open(CWD, path)? else { return Ok(()) };
    TopFolder { top, moved: Vec::new(), names: 0 }.empty()?;
    Ok(unless_gone(unlinkat(CWD, path, AtFlags::REMOVEDIR))?)
}

/// The folder that is removed, while all that lies deeper is moved up into it.
struct TopFolder {
    top: OwnedFd,
    /// Folders that were moved up and are there still, by their new names.
    moved: Vec<u64>,
    /// New names that were given.
    names: u64,
}

impl TopFolder {
    fn empty(&mut self) -> rustix::io::Result<()> {
        // Again until a look finds nothing: what is removed meanwhile can hide what comes after it.
        loop {
            let (mut entries, mut is_empty) = (Dir::read_from(&self.top)?, true);
            while let Some(name) = next(&mut entries)? {
                is_empty = false;
                if remove_file(&self.top, &name)? {
                    continue;
                }
                self.remove_folder(&name)?;
                while let Some(name) = self.moved.pop() {
                    self.remove_folder(&new_name(name))?;
                }
            }
            if is_empty {
                return Ok(());
            }
        }
    }

    /// Removes a folder that lies right here, and moves up those that lie in it.
    fn remove_folder(&mut self, name: &CStr) -> rustix::io::Result<()> {
        if remove_empty(&self.top, name)? {
            return Ok(());
        }
        let Some(folder) = open(&self.top, name)? else { return Ok(()) };
        loop {
            let (mut entries, mut was_empty) = (Dir::read_from(&folder)?, true);
            while let Some(inner) = next(&mut entries)? {
                was_empty = false;
                if !remove_file(&folder, &inner)? && !remove_empty(&folder, &inner)? {
                    self.move_up(&folder, &inner)?;
                }
            }
            if remove_empty(&self.top, name)? {
                return Ok(());
            }
            if was_empty {
                return Err(Errno::NOTEMPTY);
            }
        }
    }

    fn move_up(&mut self, from: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
        let mut is_open = false;
        loop {
            self.names += 1;
            match renameat(from, name, &self.top, new_name(self.names)) {
                Ok(()) => {
                    self.moved.push(self.names);
                    return Ok(());
                }
                // Something has that name.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                // Whoever moves a folder writes where it leads to.
                Err(Errno::ACCESS) if !is_open => {
                    is_open = true;
                    open_up(from, name)?;
                }
                Err(error) if is_gone(error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

fn new_name(number: u64) -> CString {
    // Digits have no zero byte among them.
    CString::new(number.to_string()).unwrap_or_default()
}

fn next(entries: &mut Dir) -> rustix::io::Result<Option<CString>> {
    while let Some(entry) = entries.read() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            return Ok(Some(entry.file_name().to_owned()));
        }
    }
    Ok(None)
}

/// Removes what is no folder. Whether there is nothing of that name any more.
fn remove_file(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => Ok(false),
        removed => unless_gone(removed).map(|()| true),
    }
}

/// Removes a folder in which there is nothing. Whether there is nothing of that name any more.
fn remove_empty(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<bool> {
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        removed => unless_gone(removed).map(|()| true),
    }
}

fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR)
}

fn unless_gone(removed: rustix::io::Result<()>) -> rustix::io::Result<()> {
    match removed {
        Err(Errno::NOENT) => Ok(()),
        removed => removed,
    }
}

/// A folder whose entries can be removed; none where there is none any more.
fn open<P: Arg + Copy>(beside: impl AsFd, name: P) -> rustix::io::Result<Option<OwnedFd>> {
    let beside = beside.as_fd();
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat(beside, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {
            open_up(beside, name)?;
            openat(beside, name, flags, Mode::empty())
        }
        opened => opened,
    };
    let folder = match opened {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    if !Mode::from_raw_mode(fstat(&folder)?.st_mode).contains(Mode::RWXU) {
        fchmod(&folder, Mode::RWXU)?;
    }
    Ok(Some(folder))
}

/// Gives us all rights in a folder that we cannot open. By what was looked at, and never through a link.
fn open_up<P: Arg>(beside: impl AsFd, name: P) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(beside, name, flags, Mode::empty())?;
    rustix::fs::chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), Mode::RWXU)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::mkdirat;

    use super::*;

    /// Makes so many folders in one another, which no path leads to.
    fn nest(at: &Path, deep: usize) {
        fs::create_dir(at).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut folder = openat(CWD, at, flags, Mode::empty()).unwrap();
        for _ in 0..deep {
            mkdirat(&folder, c"1", Mode::RWXU).unwrap();
            rustix::fs::openat(&folder, c"file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
            folder = openat(&folder, c"1", flags, Mode::empty()).unwrap();
        }
    }

    #[test]
    fn twenty_thousand_folders_in_one_another_are_removed_on_a_small_stack() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("deep");
        nest(&folder, 20_000);
        let removed = || {
            std::thread::Builder::new().stack_size(128 << 10).spawn({
                let folder = folder.clone();
                move || remove_all(&folder)
            })
        };
        removed().unwrap().join().unwrap().unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        removed().unwrap().join().unwrap().unwrap();
    }

    #[test]
    fn names_that_are_taken_and_folders_that_nobody_may_enter_are_no_hindrance() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("taken");
        for path in ["1/1/1", "1/2/3", "2/1/1/1", "3", "4/1/7", "a/b/c/d"] {
            fs::create_dir_all(folder.join(path)).unwrap();
            fs::write(folder.join(path).join("5"), "").unwrap();
        }
        fs::write(folder.join("6"), "a file that has the name of a folder that is moved").unwrap();
        for path in ["a/b/c", "a/b", "1/1", "1", ""] {
            fs::set_permissions(folder.join(path), fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove_all(&folder).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_links_lead_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let [folder, outside] = ["folder", "outside"].map(|name| place.path().join(name));
        fs::create_dir_all(folder.join("in/deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        for link in ["link", "in/link", "in/deep/link"] {
            symlink(&outside, folder.join(link)).unwrap();
        }
        remove_all(&folder).unwrap();
        symlink(&outside, &folder).unwrap();
        remove_all(&folder).unwrap();
        assert!(!folder.is_symlink() && outside.join("kept").is_file());
        remove_all(&outside.join("kept")).unwrap();
        assert!(!outside.join("kept").exists());
    }
}
