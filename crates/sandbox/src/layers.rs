//! Folders made of layers: a job sees our read-only layers with a writable one on top as one folder. So a run copies
//! nothing, and its writes affect no other run.
//!
//! May know: overlay mounts in a job's own user namespace. Must never know: the content of a layer.
//!
//! The process that becomes bubblewrap makes the mounts, in namespaces that end with it. Installed versions of
//! bubblewrap have no option for overlays. This needs no more rights than bubblewrap.

use std::ffi::{CStr, CString};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{MountFlags, mount};
use rustix::process::{getegid, geteuid};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use tokio::process::Command;

/// Most layers below the writable one. The system's own limit is higher.
pub const MOST_LAYERS: usize = 16;

/// Layers that appear as one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerStack {
    /// The mount point: the job's home, one of its mounts, or its root; an empty folder.
    pub at: PathBuf,
    /// The read-only layers, uppermost first; from one to [`MOST_LAYERS`].
    pub lower: Vec<PathBuf>,
    /// The layer for everything that the job writes. A file deleted from a lower layer is a whiteout here.
    pub upper: PathBuf,
    /// The kernel's work folder: empty, on the file system of `upper`.
    pub work: PathBuf,
}

/// Makes the process mount these layers, for itself and its children.
#[allow(unsafe_code)]
pub(super) fn mounted_by<'a>(
    command: &mut Command,
    stacks: impl IntoIterator<Item = &'a LayerStack>,
) -> io::Result<()> {
    let mounts = stacks.into_iter().map(OverlayMount::of).collect::<io::Result<Vec<_>>>()?;
    if mounts.is_empty() {
        return Ok(());
    }
    let user = OwnUser::of_this_process();
    let make = move || -> io::Result<()> {
        enter_own_namespaces(&user)?;
        mounts.iter().try_for_each(OverlayMount::mount)
    };
    // SAFETY: only system calls are made, with arguments made before.
    unsafe { command.pre_exec(make) };
    Ok(())
}

/// The id maps of a new user namespace.
pub(super) struct OwnUser {
    user: String,
    group: String,
}

impl OwnUser {
    /// Maps the present user and group to themselves.
    pub(super) fn of_this_process() -> Self {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Self { user: format!("{user} {user} 1"), group: format!("{group} {group} 1") }
    }
}

/// Called by a process that has just created such a namespace.
pub(super) fn tell_own_user(own: &OwnUser) -> io::Result<()> {
    // Unprivileged users may map a group only after this is denied.
    tell(c"/proc/self/setgroups", "deny")?;
    tell(c"/proc/self/uid_map", &own.user)?;
    tell(c"/proc/self/gid_map", &own.group)
}

/// Gives a new process its own user and mount namespaces before it runs a program.
#[allow(unsafe_code)]
fn enter_own_namespaces(own: &OwnUser) -> io::Result<()> {
    // SAFETY: this is a process of one thread that is no program yet, and nothing here relies on its namespaces.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }?;
    tell_own_user(own)
}

/// Writes text into one of the kernel's files.
fn tell(file: &CStr, what: &str) -> io::Result<()> {
    let file = open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, what.as_bytes())?;
    Ok(())
}

/// One stack, prepared so that the new process allocates no memory.
struct OverlayMount {
    at: CString,
    lower: Vec<CString>,
    upper: CString,
    work: CString,
}

impl OverlayMount {
    fn of(stack: &LayerStack) -> io::Result<Self> {
        let named = |path: &Path| CString::new(path.as_os_str().as_bytes());
        Ok(Self {
            at: named(&stack.at)?,
            lower: stack.lower.iter().map(|layer| named(layer)).collect::<Result<_, _>>()?,
            upper: named(&stack.upper)?,
            work: named(&stack.work)?,
        })
    }

    /// Names layers by descriptors, because paths may contain special characters of mount options and may be too long.
    fn mount(&self) -> io::Result<()> {
        // `userxattr` is for unprivileged users; a layer's attributes must not redirect anything.
        let mut text = [0; 1_024];
        // Keeps a terminating zero byte.
        let mut options: &mut [u8] = &mut text[..1_023];
        let mut opened: [Option<OwnedFd>; MOST_LAYERS + 2] = [const { None }; MOST_LAYERS + 2];
        let layers = self.lower.iter().map(|layer| (":", layer));
        let writable = [(",upperdir=", &self.upper), (",workdir=", &self.work)];
        options.write_all(b"userxattr,lowerdir=")?;
        for (number, ((before, layer), held)) in layers.chain(writable).zip(&mut opened).enumerate() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = open(layer.as_c_str(), flags, Mode::empty())?;
            let before = if number == 0 { "" } else { before };
            write!(options, "{before}/proc/self/fd/{}", folder.as_raw_fd())?;
            *held = Some(folder);
        }
        let options = CStr::from_bytes_until_nul(&text).map_err(|_| io::ErrorKind::InvalidData)?;
        let flags = MountFlags::NODEV | MountFlags::NOSUID;
        Ok(mount(c"overlay", self.at.as_c_str(), c"overlay", flags, options)?)
    }
}
