//! What podman finds when it begins: users, mounts and a folder in memory of its own, made by the process that becomes it.
//!
//! May know: mounts. Must never know: what podman does with them.
//!
//! Everything that podman keeps of a job lies in that folder, and so ends with the job, however that ends. The folder hides
//! the control groups of the machine, in which crun would look for more than it may have.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, mkdir, open, symlink};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind_recursive};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::layers::{OverlayMount, OwnUser, enter_own_namespaces, tell};
use crate::process::ProcessCommand;
use crate::{LayerStack, MountAccess};

/// Where the folder is: a place that every machine has, and that no job is shown.
const PLACE: &str = "/sys/fs/cgroup";
const SIZE: &str = "size=64m,mode=700";
/// Where newer versions of podman want to lock what is root's.
const LOCKS: &str = "/run/lock";

/// What is prepared, in the order in which it is.
pub(super) struct PodmanStage {
    steps: Vec<StageStep>,
    bound: usize,
}

/// One thing to make, in words that need no memory once the process is forked.
enum StageStep {
    Memory {
        at: CString,
        options: CString,
        must_be: bool,
    },
    Folder(CString),
    File(CString, Vec<u8>),
    Link {
        at: CString,
        target: CString,
    },
    Layers(OverlayMount),
    Terminals(CString),
    /// With all that is mounted below it.
    Bound {
        host: CString,
        at: CString,
        access: MountAccess,
    },
}

impl PodmanStage {
    pub(super) fn new() -> io::Result<Self> {
        let memory = |at: &str, must_be| {
            Ok::<_, io::Error>(StageStep::Memory { at: named(at)?, options: named(SIZE)?, must_be })
        };
        Ok(Self { steps: vec![memory(LOCKS, false)?, memory(PLACE, true)?], bound: 0 })
    }

    /// The path of something in the folder.
    pub(super) fn path(name: impl AsRef<Path>) -> PathBuf {
        Path::new(PLACE).join(name)
    }

    /// A folder in it, whose parents are there or not.
    pub(super) fn folder(&mut self, name: impl AsRef<Path>) -> io::Result<PathBuf> {
        let mut path = PathBuf::from(PLACE);
        for part in name.as_ref() {
            path.push(part);
            self.steps.push(StageStep::Folder(named(&path)?));
        }
        Ok(path)
    }

    pub(super) fn file(&mut self, name: &str, bytes: impl Into<Vec<u8>>) -> io::Result<PathBuf> {
        let path = Self::path(name);
        self.steps.push(StageStep::File(named(&path)?, bytes.into()));
        Ok(path)
    }

    pub(super) fn link(&mut self, name: &Path, target: &Path) -> io::Result<()> {
        self.folder(name.parent().unwrap_or(Path::new("")))?;
        self.steps.push(StageStep::Link { at: named(Self::path(name))?, target: named(target)? });
        Ok(())
    }

    /// Layers, seen where they say.
    pub(super) fn layers(&mut self, stack: &LayerStack) -> io::Result<()> {
        self.steps.push(StageStep::Layers(OverlayMount::of(stack)?));
        Ok(())
    }

    /// Terminals of the job's own.
    pub(super) fn terminals(&mut self) -> io::Result<PathBuf> {
        let path = self.folder("pts")?;
        self.steps.push(StageStep::Terminals(named(&path)?));
        Ok(path)
    }

    /// Something of the host's that a job sees, under a path without anything that stands for something else. Nothing in it
    /// is a device or gives rights, and what may not be written cannot be: crun sees to that at the uppermost of several
    /// mounts only, and older ones not even there. To a namespace below this one all of it is locked.
    pub(super) fn bound(&mut self, host: &Path, access: MountAccess) -> io::Result<PathBuf> {
        let name = format!("bound-{}", self.bound);
        self.bound += 1;
        let at = if host.is_file() { self.file(&name, "")? } else { self.folder(&name)? };
        self.steps.push(StageStep::Bound { host: named(host)?, at: named(&at)?, access });
        Ok(at)
    }

    /// Has the process begin here, as a root that has the rights of this process and no more, and end with it.
    #[allow(unsafe_code)]
    pub(super) fn entered_by(self, command: &mut ProcessCommand) {
        let root = OwnUser::as_root();
        let make = move || -> io::Result<()> {
            enter_own_namespaces(&root)?;
            // One for the job, and none in that.
            tell(c"/proc/sys/user/max_user_namespaces", "1")?;
            self.steps.iter().try_for_each(StageStep::make)?;
            set_parent_process_death_signal(Some(Signal::KILL))?;
            Ok(())
        };
        // SAFETY: only system calls are made, with arguments made before.
        unsafe { command.before_exec(make) };
    }
}

fn named(path: impl AsRef<Path>) -> io::Result<CString> {
    Ok(CString::new(path.as_ref().as_os_str().as_bytes())?)
}

impl StageStep {
    fn make(&self) -> io::Result<()> {
        let harmless = MountFlags::NODEV | MountFlags::NOSUID;
        match self {
            Self::Memory { at, options, must_be } => {
                match mount(c"tmpfs", at.as_c_str(), c"tmpfs", harmless, options.as_c_str()) {
                    Err(Errno::NOENT | Errno::NOTDIR) if !must_be => {}
                    made => made?,
                }
            }
            Self::Folder(at) => match mkdir(at.as_c_str(), Mode::from(0o755)) {
                Err(Errno::EXIST) => {}
                made => made?,
            },
            Self::File(at, bytes) => {
                let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                let file = open(at.as_c_str(), flags, Mode::from(0o644))?;
                let mut left = bytes.as_slice();
                while !left.is_empty() {
                    let written = rustix::io::write(&file, left)?;
                    left = left.get(written..).unwrap_or_default();
                }
            }
            Self::Link { at, target } => symlink(target.as_c_str(), at.as_c_str())?,
            Self::Layers(stack) => stack.mount()?,
            Self::Terminals(at) => {
                let options = c"newinstance,ptmxmode=0666,mode=0620";
                let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
                mount(c"devpts", at.as_c_str(), c"devpts", flags, options)?;
            }
            Self::Bound { host, at, access } => {
                mount_bind_recursive(host.as_c_str(), at.as_c_str())?;
                let harmless = libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID;
                match access {
                    MountAccess::ReadOnly => restrict(at, harmless | libc::MOUNT_ATTR_RDONLY)?,
                    MountAccess::ReadWrite => restrict(at, harmless)?,
                }
            }
        }
        Ok(())
    }
}

/// Has a mount and all below it be like this, and whatever else they are already.
#[allow(unsafe_code)]
fn restrict(at: &CStr, how: u64) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: how, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: both pointers are to what lives until the call is over, and the size is that of the second.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            at.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
