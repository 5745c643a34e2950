//! bubblewrap's arguments: namespaces, mounts and variables.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::own_files::{self, GROUP, HOSTS, ID, PASSWD, RESOLV, TEMPORARY};
use crate::program::HostProgram;
use crate::readable_paths::ReadablePaths;
use crate::{Job, MountAccess, SandboxNetwork, program, seccomp};

/// bubblewrap's arguments without the program's own. They contain variables, so they go through a descriptor, never
/// through a command line.
pub(super) fn arguments(
    program: &Path,
    of_host: Option<&HostProgram>,
    reads: &ReadablePaths,
    job: &Job,
    files: &mut InheritedFiles,
) -> io::Result<Vec<u8>> {
    let mut all = BubblewrapArguments::default();
    all.add(["--unshare-all", "--unshare-user", "--unshare-cgroup", "--uid", ID, "--gid", ID]);
    all.add(["--disable-userns"]);
    all.add(["--cap-drop", "ALL"]);
    all.add(["--hostname", job.user.host.as_str(), "--die-with-parent", "--new-session"]);
    all.add([OsStr::new("--seccomp"), &files.hold("seccomp", seccomp::filter()?)?]);
    if let Some(root) = &job.root {
        root.make_mount_points(own_files::mount_points(job))?;
        all.bind_at("--bind", &root.layers.at, Path::new("/"));
        all.add(["--tmpfs", "/run"]);
    }
    all.add(["--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/var"]);
    // These folders are in memory.
    for (at, part) in TEMPORARY {
        let size = (job.limits.memory / part).to_string();
        all.add(["--size", &size, "--perms", "1777", "--tmpfs", at]);
    }
    all.add(["--remount-ro", "/dev"]);
    // The kernel lets a root server's job write root's files in /proc, the settings of the whole machine, even without
    // capabilities. Nor may it write the memory of the process that reports the exit code.
    all.add(["--remount-ro", "/proc"]);
    let besides = match job.root {
        Some(_) => program::ProgramMounts::default(),
        None => program::program_mounts(program, job, reads),
    };
    if job.root.is_none() {
        for (at, target) in reads.links() {
            all.add([OsStr::new("--symlink"), target.as_os_str(), at.as_os_str()]);
        }
        for path in reads.shown().iter().chain(&besides.shown) {
            match files.small(path)? {
                Some(descriptor) => all.copied(path, descriptor),
                None => all.bind("--ro-bind-try", path),
            }
        }
        for (path, rest) in reads.replaced() {
            let rest = files.hold("settings", &rest)?;
            all.add([OsStr::new("--ro-bind-data"), &rest, path.as_os_str()]);
        }
    }
    for path in of_host.iter().flat_map(|program| &program.shown) {
        all.bind_at("--ro-bind", path, &HostProgram::seen(path));
    }
    let has_own_root = job.root.is_some();
    all.file(PASSWD, files.hold("passwd", own_files::users(job).as_bytes())?, has_own_root);
    all.file(GROUP, files.hold("group", own_files::groups(job).as_bytes())?, has_own_root);
    match job.network {
        SandboxNetwork::None | SandboxNetwork::Gateway(_) => {
            all.file(HOSTS, files.hold("hosts", own_files::hosts(job).as_bytes())?, has_own_root);
            if job.joins.is_some() {
                all.add(["--share-net"]);
            }
        }
        SandboxNetwork::Host => {
            all.add(["--share-net"]);
            all.bind("--ro-bind-try", Path::new(HOSTS));
            all.bind("--ro-bind-try", Path::new(RESOLV));
        }
    }
    for (path, access) in job.own_mounts() {
        match access {
            MountAccess::ReadOnly => all.bind_at("--ro-bind", path, &job.inside(path)),
            MountAccess::ReadWrite => all.bind_at("--bind", path, &job.inside(path)),
        }
    }
    if let Some((at, target)) = &besides.link {
        all.add([OsStr::new("--symlink"), target.as_os_str(), at.as_os_str()]);
    }
    // A job may write into its own root.
    if job.root.is_none() {
        all.add(["--remount-ro", "/"]);
    }
    all.add([OsStr::new("--chdir"), job.inside(&job.directory).as_os_str()]);
    for (name, value) in job.variables(reads) {
        all.add([OsStr::new("--setenv"), name.as_ref(), &value]);
    }
    Ok(all.0)
}

/// Arguments, each terminated by a zero byte.
#[derive(Default)]
struct BubblewrapArguments(Vec<u8>);

impl BubblewrapArguments {
    fn add<A: AsRef<OsStr>, const N: usize>(&mut self, arguments: [A; N]) {
        for argument in arguments {
            self.0.extend_from_slice(argument.as_ref().as_bytes());
            self.0.push(0);
        }
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.bind_at(how, path, path);
    }

    fn bind_at(&mut self, how: &str, path: &Path, at: &Path) {
        self.add([OsStr::new(how), path.as_os_str(), at.as_os_str()]);
    }

    /// Adds a file. In the job's own root it is mounted, so that the root's file is not overwritten.
    fn file(&mut self, at: &str, descriptor: OsString, has_own_root: bool) {
        match has_own_root {
            true => self.add([OsStr::new("--ro-bind-data"), &descriptor, at.as_ref()]),
            false => self.copied(Path::new(at), descriptor),
        }
    }

    /// Copies into memory, because bubblewrap reads the list of all mounts for every mount.
    fn copied(&mut self, at: &Path, descriptor: OsString) {
        self.add(["--perms", "0644", "--file"]);
        self.add([&descriptor, at.as_os_str()]);
    }
}

/// Most bytes of a file to copy into a sandbox.
const LARGEST_COPIED: u64 = 256 << 10;

/// Unnamed files that only this sandbox's bubblewrap inherits.
#[derive(Default)]
pub(super) struct InheritedFiles {
    pub(super) open: Vec<OwnedFd>,
}

impl InheritedFiles {
    /// A small file below `/etc`, opened for copying; `None` if it should be mounted instead.
    fn small(&mut self, path: &Path) -> io::Result<Option<OsString>> {
        let is_small = |found: &std::fs::Metadata| found.is_file() && found.len() <= LARGEST_COPIED;
        if !path.starts_with("/etc") || !std::fs::metadata(path).is_ok_and(|found| is_small(&found)) {
            return Ok(None);
        }
        let Ok(file) = std::fs::File::open(path) else { return Ok(None) };
        let number = file.as_raw_fd().to_string();
        self.open.push(file.into());
        Ok(Some(number.into()))
    }

    /// Puts bytes into a memory file and returns its descriptor's number.
    pub(super) fn hold(&mut self, name: &str, bytes: &[u8]) -> io::Result<OsString> {
        let file = own_files::in_memory(name, bytes)?;
        let number = file.as_raw_fd().to_string();
        self.open.push(file);
        Ok(number.into())
    }
}
