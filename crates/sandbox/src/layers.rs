//! Folders made of layers: what a job sees as one folder is read-only layers of ours with a writable one on top, so that
//! nothing is copied for a run and nothing that a run writes is anybody else's.
//!
//! May know: overlay mounts in a user namespace of the job's own. Must never know: what lies in a layer.
//!
//! The mounts are made by the process that becomes bubblewrap, in namespaces that end with it. bubblewrap has no
//! such option in the versions that are installed, and the system asks for no more rights than bubblewrap needs.

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

/// Layers of one stack below the writable one. The system has a limit too, and a higher one.
pub const MOST_LAYERS: usize = 16;

/// Layers that are seen as one folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerStack {
    /// Where they are seen: the job's home, one of its mounts, or what is its root; an empty folder.
    pub at: PathBuf,
    /// What is never written, the uppermost first; at least one, at most [`MOST_LAYERS`].
    pub lower: Vec<PathBuf>,
    /// Where everything goes that the job writes. What was removed of a lower layer is a whiteout there.
    pub upper: PathBuf,
    /// The kernel's own, an empty folder on the file system of `upper`.
    pub work: PathBuf,
}

/// Has the process make these folders of their layers, for itself and all that it starts.
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

/// What a new namespace is told of its users: who in it is the one that made it.
pub(super) struct OwnUser {
    user: String,
    group: String,
}

impl OwnUser {
    /// Whoever made it is who he was.
    pub(super) fn of_this_process() -> Self {
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        Self { user: format!("{user} {user} 1"), group: format!("{group} {group} 1") }
    }
}

/// By a process that has just made such a namespace.
pub(super) fn tell_own_user(own: &OwnUser) -> io::Result<()> {
    // Until this is denied, an ordinary user may not map a group.
    tell(c"/proc/self/setgroups", "deny")?;
    tell(c"/proc/self/uid_map", &own.user)?;
    tell(c"/proc/self/gid_map", &own.group)
}

/// Has a new process that is no program yet users and mounts of its own.
#[allow(unsafe_code)]
fn enter_own_namespaces(own: &OwnUser) -> io::Result<()> {
    // SAFETY: this is a process of one thread that is no program yet, and nothing here relies on its namespaces.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }?;
    tell_own_user(own)
}

/// Writes a word into one of the kernel's files.
fn tell(file: &CStr, what: &str) -> io::Result<()> {
    let file = open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, what.as_bytes())?;
    Ok(())
}

/// One stack, in words that need no memory in the new process.
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

    /// Layers are named by descriptors, opened where the mount is made: paths may hold what stands for something in the
    /// options, and may be longer than these.
    fn mount(&self) -> io::Result<()> {
        // Attributes as ordinary users may write them; nothing is redirected by what a layer says of itself.
        let mut text = [0; 1_024];
        // The last byte stays zero.
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
