//! Folders that a job, an agent or a repository may have written, taken away with all that is in them.
//!
//! May know: folders and their modes. Must never know: whose they are.
//!
//! Whoever wrote there is not trusted: folders may lie in one another deeper than a path can be long, or than there are
//! descriptors and stack. So only the first of them are entered: what lies deeper is moved up until it lies in the last
//! of these. Nothing else is moved, since a new name may take room, and the disk may be full.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::path::Arg;

/// Folders in one another that are entered; each holds a descriptor meanwhile.
const DEEPEST: usize = 64;
/// How often one folder is looked through: somebody may write there still.
const MOST_LOOKS: u32 = 100;

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
    let top = OpenFolder::enter(CWD, path.into_c_str()?.into_owned())?;
    Ok(top.map_or(Ok(()), remove_with_contents)?)
}

/// A folder that is being emptied.
struct OpenFolder {
    /// Its name in the folder that it lies in.
    name: CString,
    entries: Dir,
    looks: u32,
}

impl OpenFolder {
    /// None where there is none any more.
    fn enter(beside: impl AsFd, name: CString) -> rustix::io::Result<Option<Self>> {
        let Some(folder) = open(beside, name.as_c_str())? else { return Ok(None) };
        Ok(Some(Self { name, entries: Dir::new(folder)?, looks: 1 }))
    }

    /// What is removed while a folder is looked through can hide what comes after it.
    fn look_again(&mut self) -> rustix::io::Result<()> {
        if self.looks == MOST_LOOKS {
            return Err(Errno::NOTEMPTY);
        }
        self.looks += 1;
        self.entries = Dir::read_from(self.entries.fd()?)?;
        Ok(())
    }
}

fn remove_with_contents(top: OpenFolder) -> rustix::io::Result<()> {
    let (mut entered, mut names) = (vec![top], 0);
    while let Some(mut folder) = entered.pop() {
        if let Some(name) = next(&mut folder.entries)? {
            let here = folder.entries.fd()?;
            let inner = if remove_file(here, &name)? || remove_empty(here, &name)? {
                None
            } else if entered.len() + 1 < DEEPEST {
                OpenFolder::enter(here, name)?
            } else {
                DeepestFolder { folder: here, waiting: VecDeque::new(), names: &mut names }.remove(&name)?;
                None
            };
            entered.push(folder);
            entered.extend(inner);
            continue;
        }
        let beside = match entered.last() {
            Some(outer) => outer.entries.fd()?,
            None => CWD,
        };
        if !remove_empty(beside, &folder.name)? {
            folder.look_again()?;
            entered.push(folder);
        }
    }
    Ok(())
}

/// The last folder that is entered, while all that lies deeper is moved up into it.
struct DeepestFolder<'a> {
    folder: BorrowedFd<'a>,
    /// Folders in it that are to be removed: by their new names, or that which lay there. With how often each was looked
    /// through.
    waiting: VecDeque<(Option<u64>, u32)>,
    /// New names that were given.
    names: &'a mut u64,
}

impl DeepestFolder<'_> {
    /// Removes a folder that lies right here, with all that is in it.
    fn remove(&mut self, first: &CStr) -> rustix::io::Result<()> {
        self.waiting.push_back((None, 0));
        let mut failed = 0;
        while let Some((number, mut looks)) = self.waiting.pop_back() {
            let name = number.map_or_else(|| first.to_owned(), new_name);
            match self.remove_folder(&name, &mut looks) {
                Ok(()) => failed = 0,
                // What was moved already goes first, which makes room. Until none of all that wait can be removed.
                Err(error) if is_want_of_room(error) && failed <= self.waiting.len() => {
                    failed += 1;
                    self.waiting.push_front((number, looks));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes a folder that lies right here, and moves up those that lie in it.
    fn remove_folder(&mut self, name: &CStr, looks: &mut u32) -> rustix::io::Result<()> {
        if remove_empty(self.folder, name)? {
            return Ok(());
        }
        let Some(folder) = open(self.folder, name)? else { return Ok(()) };
        while *looks < MOST_LOOKS {
            *looks += 1;
            let (mut entries, mut hindrance) = (Dir::read_from(&folder)?, Ok(()));
            while let Some(inner) = next(&mut entries)? {
                if remove_file(&folder, &inner)? || remove_empty(&folder, &inner)? {
                    continue;
                }
                match self.move_up(&folder, &inner) {
                    // What else is there may go, and make room.
                    Err(error) if is_want_of_room(error) => hindrance = Err(error),
                    moved => moved?,
                }
            }
            hindrance?;
            if remove_empty(self.folder, name)? {
                return Ok(());
            }
        }
        Err(Errno::NOTEMPTY)
    }

    fn move_up(&mut self, from: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
        let mut is_open = false;
        loop {
            *self.names += 1;
            match renameat(from, name, self.folder, new_name(*self.names)) {
                Ok(()) => {
                    self.waiting.push_back((Some(*self.names), 0));
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
fn remove_file(folder: impl AsFd, name: &CStr) -> rustix::io::Result<bool> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => Ok(false),
        removed => unless_gone(removed).map(|()| true),
    }
}

/// Removes a folder in which there is nothing. Whether there is nothing of that name any more.
fn remove_empty(folder: impl AsFd, name: &CStr) -> rustix::io::Result<bool> {
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
        removed => unless_gone(removed).map(|()| true),
    }
}

/// Whether a folder cannot be moved because of where it would come to lie.
fn is_want_of_room(error: Errno) -> bool {
    matches!(error, Errno::NOSPC | Errno::DQUOT | Errno::XDEV | Errno::MLINK)
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
    use std::mem::MaybeUninit;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use rustix::fs::{inotify, mkdirat};

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
    fn folders_that_are_not_deep_are_not_moved_since_that_may_take_room() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("folder");
        for package in 0..200 {
            fs::create_dir_all(folder.join(format!("node_modules/{package}/lib/in"))).unwrap();
        }
        let seen = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
        for watched in [folder.clone(), folder.join("node_modules")] {
            inotify::add_watch(&seen, &watched, inotify::WatchFlags::MOVED_TO).unwrap();
        }
        let mut bytes = [MaybeUninit::uninit(); 1 << 12];
        let mut events = inotify::Reader::new(&seen, &mut bytes);
        let mut is_moved =
            || events.next().is_ok_and(|event| event.events().contains(inotify::ReadFlags::MOVED_TO));
        fs::rename(folder.join("node_modules/7"), folder.join("7")).unwrap();
        assert!(is_moved(), "what is moved is seen");
        remove_all(&folder).unwrap();
        assert!(!is_moved() && !folder.exists());
    }

    #[test]
    fn many_folders_that_lie_too_deep_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("wide");
        for deep in [DEEPEST - 2, DEEPEST - 1, DEEPEST, DEEPEST + 5] {
            nest(&folder, deep);
            let last = folder.join("1/".repeat(deep));
            for name in 0..300 {
                fs::create_dir_all(last.join(format!("{name}/in/3"))).unwrap();
                fs::write(last.join(format!("{name}/in/file")), "").unwrap();
            }
            remove_all(&folder).unwrap();
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_folder_that_never_becomes_empty_is_given_up() {
        let place = tempfile::tempdir().unwrap();
        nest(&place.path().join("folder"), 2);
        let name = CString::new(place.path().join("folder").into_os_string().into_encoded_bytes()).unwrap();
        let mut folder = OpenFolder::enter(CWD, name).unwrap().unwrap();
        for _ in 1..MOST_LOOKS {
            folder.look_again().unwrap();
            assert!(next(&mut folder.entries).unwrap().is_some());
        }
        assert_eq!(folder.look_again(), Err(Errno::NOTEMPTY));
        assert_eq!(io::Error::from(Errno::NOTEMPTY).kind(), io::ErrorKind::DirectoryNotEmpty);

        let (here, mut names, mut looks) = (folder.entries.fd().unwrap(), 0, MOST_LOOKS);
        let mut deepest = DeepestFolder { folder: here, waiting: VecDeque::new(), names: &mut names };
        assert_eq!(deepest.remove_folder(c"1", &mut looks), Err(Errno::NOTEMPTY));
        deepest.remove(c"1").unwrap();
        assert_eq!(fs::read_dir(place.path().join("folder")).unwrap().count(), 1, "the file");
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
