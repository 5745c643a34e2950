//! A sandboxed job's own user, host name, files of `/etc` and folders in memory, however the sandbox is built.
//!
//! May know: jobs. Must never know: how these are mounted.

use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::MemfdFlags;

use super::Job;
use super::root::MountPoint;

/// Not root: some agents refuse to work as root, and nothing inside needs it.
pub(super) const ID: &str = "1000";
/// A job's own folders in memory; each may take one part in this many of the job's memory.
pub(super) const TEMPORARY: [(&str, u64); 3] = [("/tmp", 4), ("/var/tmp", 8), ("/dev/shm", 8)];
/// Files that list users, hosts and name servers.
pub(super) const PASSWD: &str = "/etc/passwd";
pub(super) const GROUP: &str = "/etc/group";
pub(super) const HOSTS: &str = "/etc/hosts";
pub(super) const RESOLV: &str = "/etc/resolv.conf";
pub(super) fn users(job: &Job) -> String {
    let (name, home) = (&job.user.name, job.inside(&job.home));
    format!("root:x:0:0::/:/bin/false\n{name}:x:{ID}:{ID}::{}:/bin/sh\n", home.display())
}

/// `/etc/hosts` for a job that is not in the machine's network.
pub(super) fn hosts(job: &Job) -> String {
    let names = job.joins.iter().flat_map(|network| &network.names);
    let names: String = names.map(|name| format!(" {name}")).collect();
    let own = &job.user.host;
    format!("127.0.0.1 localhost {own}{names}\n::1 localhost {own}\n")
}

pub(super) fn groups(job: &Job) -> String {
    format!("root:x:0:\n{}:x:{ID}:\n", job.user.name)
}

/// Mount points in a job's own root.
pub(super) fn mount_points(job: &Job) -> Vec<(PathBuf, MountPoint)> {
    let folders = TEMPORARY.iter().map(|(at, _)| *at).chain(["/run", "/proc", "/dev"]);
    let folders = folders.filter(|at| !at.starts_with("/dev/")).map(|at| (at.into(), MountPoint::Folder));
    let files = [PASSWD, GROUP, HOSTS, RESOLV].map(|at| (at.into(), MountPoint::File));
    let mounts = job.mounts.iter().map(|mount| &mount.path).chain([&job.home]).map(|path| {
        let point = if path.is_file() { MountPoint::File } else { MountPoint::Folder };
        (job.inside(path), point)
    });
    folders.chain(files).chain(mounts).collect()
}

/// Creates the job's home, private to its user.
pub(super) fn make_home(home: &Path) -> io::Result<()> {
    if let Some(parent) = home.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(home) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// An unnamed file for a process that inherits it.
pub(super) fn in_memory(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file.into())
}
