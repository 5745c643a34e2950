//! A job's resource limits, and setting those that processes inherit.

use std::fmt;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::process::Command;

use journeyman_order::{Exit, JobLimits};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Sets the limits that the system enforces per process, for the process and its children.
/// [`super::Sandbox::describe_isolation`] says how the others are enforced.
#[allow(unsafe_code)]
pub(super) fn inherited_by(limits: &JobLimits, command: &mut Command) {
    // One byte, not zero: a core of size zero is still piped to the host's handler, if it has one.
    let each =
        [(Resource::Core, 1), (Resource::Fsize, limits.largest_file), (Resource::Nofile, limits.open_files)]
            .map(|(resource, most)| {
                let most = getrlimit(resource).maximum.map_or(most, |now| now.min(most));
                (resource, Rlimit { current: Some(most), maximum: Some(most) })
            });
    let set = move || -> io::Result<()> {
        for (resource, limit) in &each {
            setrlimit(*resource, *limit)?;
        }
        Ok(())
    };
    // SAFETY: only setrlimit is called.
    unsafe { command.pre_exec(set) };
}

/// The limit that a job's exit reveals: SIGXFSZ, directly or as reported by a shell and bubblewrap.
pub(super) fn told_by(limits: &JobLimits, exit: Exit) -> Option<ExceededLimit> {
    let too_large = match exit {
        Exit::Code(code) => code == 128 + libc::SIGXFSZ,
        Exit::Signal(signal) => signal == libc::SIGXFSZ,
        Exit::TimedOut => false,
    };
    too_large.then_some(ExceededLimit::LargestFile(limits.largest_file))
}

/// The limit that a job reached, with its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededLimit {
    /// [`JobLimits::processes`].
    Processes(u32),
    /// [`JobLimits::memory`].
    Memory(u64),
    /// [`JobLimits::largest_file`].
    LargestFile(u64),
    /// [`JobLimits::disk`].
    Disk(u64),
}

impl ExceededLimit {
    /// The setting that changes it; `None` if it is fixed.
    pub fn setting(&self) -> Option<&'static str> {
        match self {
            Self::Memory(_) => Some("sandbox.memory_mib"),
            Self::Disk(_) => Some("sandbox.disk_mib"),
            Self::Processes(_) | Self::LargestFile(_) => None,
        }
    }
}

/// Completes a sentence about a job: "the tests … ".
impl fmt::Display for ExceededLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes(most) => write!(out, "wanted more than {most} processes and threads at once"),
            Self::Memory(most) => write!(out, "wanted more than {} of memory", size(*most)),
            Self::LargestFile(most) => write!(out, "wanted a file of more than {}", size(*most)),
            Self::Disk(most) => write!(out, "wanted more than {} of disk", size(*most)),
        }
    }
}

fn size(bytes: u64) -> String {
    match bytes % GIB {
        0 => format!("{} GiB", bytes / GIB),
        _ => format!("{} MiB", bytes.div_ceil(MIB)),
    }
}
