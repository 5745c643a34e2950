//! The folder that an image's root becomes. Nothing outside it is ever read, made, changed or removed.
//!
//! May know: one folder, by its descriptor. Must never know: archives.
//!
//! Layers bring symbolic links, and later layers bring files below them, as `/lib -> usr/lib` and `lib/x`. So links
//! have to be followed, and each could lead anywhere. The kernel follows them for us, with this folder as the root of
//! everything (`openat2` with `RESOLVE_IN_ROOT`): a way out does not exist, for absolute links, `..` and races too.
//! Only the folder above an entry is found so; the entry itself is made, replaced and removed by its one name in it,
//! without following anything. Nothing that exists is ever opened for writing.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Timespec, Timestamps, fchmod, fstat, futimens,
    linkat, mkdirat, openat, openat2, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::LayerProblem;
use super::path::{DEEPEST, EntryPath};

/// The kernel may ask for another try while something else on the machine is renamed.
const MOST_TRIES: usize = 1_000;
/// What is left of a mode: no program gets rights from an image.
const FILE_MODE: u32 = 0o777;
const FOLDER_MODE: u32 = 0o1777;

/// A root that is being made.
pub(crate) struct RootTree {
    root: OwnedFd,
    /// How deep each folder lies, by inode. A path does not tell: a link in it leads anywhere inside.
    depths: HashMap<u64, usize>,
    bytes: u64,
}

impl RootTree {
    /// An empty root in a folder that is there, is empty, and that nobody else touches.
    pub(crate) fn new(folder: &Path) -> Result<Self, LayerProblem> {
        let root =
            openat(CWD, folder, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?;
        fchmod(&root, Mode::from(0o755))?;
        let mut depths = HashMap::new();
        depths.insert(fstat(&root)?.st_ino, 0);
        Ok(Self { root, depths, bytes: 0 })
    }

    /// Bytes of the files that were written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Waits until all of it is on the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.root)?)
    }

    pub(super) fn add_folder(&mut self, path: &EntryPath, mode: u32) -> Result<(), LayerProblem> {
        let mode = Mode::from(mode & FOLDER_MODE | 0o700);
        let Some((parent, name)) = path.split() else {
            // The root: readable for everybody, whatever its archive says.
            return Ok(());
        };
        let parent = self.folder(&parent)?;
        let kind = kind_of(&parent, name)?;
        if kind.is_some_and(|kind| kind != FileType::Directory) {
            unlinkat(&parent, os(name), AtFlags::empty())?;
        }
        let folder = if kind == Some(FileType::Directory) {
            open_folder(parent.as_fd(), name)?
        } else {
            self.make_folder(parent.as_fd(), name)?
        };
        Ok(fchmod(&folder, mode)?)
    }

    pub(super) fn add_file(
        &mut self,
        path: &EntryPath,
        mode: u32,
        modified: u64,
        size: u64,
        data: &mut dyn Read,
    ) -> Result<(), LayerProblem> {
        let (parent, name) = self.place(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&parent, os(name), flags, Mode::from(0o600)).map_err(of_name)?;
        let mut file = File::from(file);
        let written = copy(data, &mut file)?;
        if written != size {
            return Err(LayerProblem::Refused("breaks off".to_owned()));
        }
        self.bytes = self.bytes.saturating_add(written);
        fchmod(&file, Mode::from(mode & FILE_MODE | 0o400))?;
        // Interpreters compare compiled files with the time of their source.
        let modified = Timespec { tv_sec: i64::try_from(modified).unwrap_or(i64::MAX), tv_nsec: 0 };
        futimens(&file, &Timestamps { last_access: modified, last_modification: modified })?;
        Ok(())
    }

    /// A link is kept as it is: where it leads is decided by whoever follows it, and here nobody does.
    pub(super) fn add_symlink(&mut self, path: &EntryPath, target: &[u8]) -> Result<(), LayerProblem> {
        let (parent, name) = self.place(path)?;
        symlinkat(os(target), &parent, os(name)).map_err(of_name)
    }

    pub(super) fn add_hard_link(&mut self, path: &EntryPath, target: &EntryPath) -> Result<(), LayerProblem> {
        let missing = || LayerProblem::Refused(format!("is a second name of `{target}`, which is not there"));
        let Some((target_parent, target_name)) = target.split() else {
            return Err(LayerProblem::Refused("is a second name of the root".to_owned()));
        };
        let target_parent = self.existing(&target_parent)?.ok_or_else(missing)?;
        let found = match statat(&target_parent, os(target_name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Err(missing()),
            Err(error) => return Err(of_name(error)),
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile | FileType::Symlink => {}
            FileType::Directory
            | FileType::Fifo
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Socket
            | FileType::Unknown => {
                return Err(LayerProblem::Refused(format!(
                    "is a second name of `{target}`, which is no file"
                )));
            }
        }
        let (parent, name) = path.split().ok_or_else(is_the_root)?;
        let parent = self.folder(&parent)?;
        match statat(&parent, os(name), AtFlags::SYMLINK_NOFOLLOW) {
            // Removing the old name could remove the very file.
            Ok(there) if (there.st_dev, there.st_ino) == (found.st_dev, found.st_ino) => return Ok(()),
            Ok(_) => remove(parent.as_fd(), name)?,
            Err(Errno::NOENT) => {}
            Err(error) => return Err(of_name(error)),
        }
        match linkat(&target_parent, os(target_name), &parent, os(name), AtFlags::empty()) {
            Ok(()) => Ok(()),
            // It lay in the folder whose place the new name took.
            Err(Errno::NOENT) => Err(missing()),
            Err(error) => Err(of_name(error)),
        }
    }

    /// Removes what the layers below have under this name, if they have anything.
    pub(super) fn remove(&mut self, parent: &EntryPath, name: &[u8]) -> Result<(), LayerProblem> {
        let Some(parent) = self.existing(parent)? else { return Ok(()) };
        match kind_of(&parent, name)? {
            Some(_) => remove(parent.as_fd(), name),
            None => Ok(()),
        }
    }

    /// Removes what the layers below have in this folder.
    pub(super) fn remove_contents(&mut self, folder: &EntryPath) -> Result<(), LayerProblem> {
        let Some(folder) = self.existing(folder)? else { return Ok(()) };
        let folder =
            openat(&folder, c".", OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?;
        remove_all_in(&folder)
    }

    /// Where an entry goes, with nothing there.
    fn place<'p>(&mut self, path: &'p EntryPath) -> Result<(OwnedFd, &'p [u8]), LayerProblem> {
        let name = path.name().ok_or_else(is_the_root)?;
        let (parent, _) = path.split().ok_or_else(is_the_root)?;
        let parent = self.folder(&parent)?;
        if kind_of(&parent, name)?.is_some() {
            remove(parent.as_fd(), name)?;
        }
        Ok((parent, name))
    }

    /// Finds a folder and makes what of it is missing.
    fn folder(&mut self, path: &EntryPath) -> Result<OwnedFd, LayerProblem> {
        if let Some(found) = self.existing(path)? {
            return Ok(found);
        }
        let mut above = self.resolve(c".".to_bytes())?;
        for way in path.ways() {
            above = match self.existing(&way)? {
                Some(found) => found,
                None => {
                    let name = way.name().ok_or_else(is_the_root)?;
                    if kind_of(&above, name)?.is_some() {
                        return Err(LayerProblem::Refused(format!(
                            "lies below `{way}`, a link that leads nowhere"
                        )));
                    }
                    let made = self.make_folder(above.as_fd(), name)?;
                    fchmod(&made, Mode::from(0o755))?;
                    made
                }
            };
        }
        Ok(above)
    }

    /// Finds a folder; none where it, or a link on the way, leads to nothing.
    fn existing(&self, path: &EntryPath) -> Result<Option<OwnedFd>, LayerProblem> {
        match self.resolve(path.as_bytes()) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR) => {
                Err(LayerProblem::Refused(format!("lies below `{path}`, which is no folder")))
            }
            Err(Errno::LOOP) => {
                Err(LayerProblem::Refused(format!("lies below `{path}`, whose links lead in circles")))
            }
            Err(Errno::NOSYS) => Err(LayerProblem::Machine(io::ErrorKind::Unsupported.into())),
            Err(error) => Err(of_name(error)),
        }
    }

    /// The only place where links are followed.
    fn resolve(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
        for _ in 0..MOST_TRIES {
            match openat2(&self.root, os(path), flags, Mode::empty(), inside) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => return other,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Makes a folder in one that is there.
    fn make_folder(&mut self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, LayerProblem> {
        // A folder that is not known cannot be: all were made here. It counts as deepest.
        let depth = self.depths.get(&fstat(parent)?.st_ino).map_or(DEEPEST, |depth| depth + 1);
        if depth > DEEPEST {
            return Err(LayerProblem::Refused(format!("lies more than {DEEPEST} folders deep")));
        }
        mkdirat(parent, os(name), Mode::from(0o700)).map_err(of_name)?;
        let made = open_folder(parent, name)?;
        self.depths.insert(fstat(&made)?.st_ino, depth);
        Ok(made)
    }
}

fn os(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

fn is_the_root() -> LayerProblem {
    LayerProblem::Refused("takes the place of the root".to_owned())
}

/// Errors that only a name or a number of links can bring about are the layer's.
fn of_name(error: Errno) -> LayerProblem {
    match error {
        Errno::NAMETOOLONG => LayerProblem::Refused("is longer than names of files are".to_owned()),
        Errno::MLINK => LayerProblem::Refused("has more names than files have".to_owned()),
        Errno::ILSEQ => LayerProblem::Refused("has a name that this file system does not take".to_owned()),
        other => LayerProblem::Machine(other.into()),
    }
}

fn kind_of(parent: &OwnedFd, name: &[u8]) -> Result<Option<FileType>, LayerProblem> {
    match statat(parent, os(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(of_name(error)),
    }
}

fn open_folder(parent: BorrowedFd<'_>, name: &[u8]) -> Result<OwnedFd, LayerProblem> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, os(name), flags, Mode::empty()).map_err(of_name)
}

/// Removes a name, and where it is a folder all that is in it.
fn remove(parent: BorrowedFd<'_>, name: &[u8]) -> Result<(), LayerProblem> {
    match unlinkat(parent, os(name), AtFlags::empty()) {
        Ok(()) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(of_name(error)),
    }
    let folder = open_folder(parent, name)?;
    remove_all_in(&folder)?;
    Ok(unlinkat(parent, os(name), AtFlags::REMOVEDIR)?)
}

fn remove_all_in(folder: &OwnedFd) -> Result<(), LayerProblem> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_owned();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    for name in names {
        remove(folder.as_fd(), &name)?;
    }
    Ok(())
}

/// Errors of the source are the archive's, and it knows more of them.
fn copy(data: &mut dyn Read, into: &mut File) -> Result<u64, LayerProblem> {
    let mut buffer = [0_u8; 64 << 10];
    let mut written = 0_u64;
    loop {
        let read = match data.read(&mut buffer) {
            Ok(0) => return Ok(written),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(LayerProblem::Refused(format!("cannot be read: {error}"))),
        };
        into.write_all(buffer.get(..read).unwrap_or_default())?;
        written = written.saturating_add(read as u64);
    }
}
