//! What a job may use of the machine, and how the part of it that every process inherits is set.

use std::fmt;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use journeyman_order::Exit;

/// What a job may use of the machine. In which way each is held is said by [`super::Sandbox::describe_isolation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobLimits {
    /// Processes at once, each thread counted.
    pub processes: u32,
    /// Bytes of memory of all its processes, its temporary files included.
    pub memory: u64,
    /// Bytes of any one file.
    pub largest_file: u64,
    /// Files that one process may hold open.
    pub open_files: u64,
    /// Bytes in its home and in all that it may write, with what was there before it. An empty file counts as a
    /// block, since inodes run out too.
    pub disk: u64,
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Enough for an agent that compiles and for the tests of a large project.
impl Default for JobLimits {
    fn default() -> Self {
        Self { processes: 4_096, memory: 8 * GIB, largest_file: 8 * GIB, open_files: 16_384, disk: 32 * GIB }
    }
}

impl JobLimits {
    /// For git, and for what only looks: nothing that should ever be large.
    pub fn small() -> Self {
        Self { processes: 512, memory: 2 * GIB, ..Self::default() }
    }

    /// Has the process and all that it starts be under the limits that the system keeps for each process by itself.
    #[allow(unsafe_code)]
    pub(super) fn inherited_by(&self, command: &mut Command) {
        // One byte, not none: a core of no size is still piped to a handler of the host's, where it has one.
        let each =
            [(Resource::Core, 1), (Resource::Fsize, self.largest_file), (Resource::Nofile, self.open_files)]
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
        // SAFETY: between fork and exec only setrlimit is called, which is async-signal-safe; nothing is allocated.
        unsafe { command.pre_exec(set) };
    }

    /// The limit that a job's end itself tells of: SIGXFSZ, by itself or as a shell and bubblewrap tell it.
    pub(super) fn told_by(&self, exit: Exit) -> Option<ExceededLimit> {
        let too_large = match exit {
            Exit::Code(code) => code == 128 + libc::SIGXFSZ,
            Exit::Signal(signal) => signal == libc::SIGXFSZ,
            Exit::TimedOut => false,
        };
        too_large.then_some(ExceededLimit::LargestFile(self.largest_file))
    }
}

/// The limit that a job ran into, with what it was.
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

/// As the rest of a sentence about a job: "the tests … ".
impl fmt::Display for ExceededLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Processes(most) => write!(out, "wanted more than {most} processes and threads at once"),
            Self::Memory(most) => write!(out, "wanted more than {} of memory", ByteSize(*most)),
            Self::LargestFile(most) => write!(out, "wanted a file of more than {}", ByteSize(*most)),
            Self::Disk(most) => write!(out, "wanted more than {} of disk", ByteSize(*most)),
        }
    }
}

struct ByteSize(u64);

impl fmt::Display for ByteSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes % GIB == 0 => write!(out, "{} GiB", bytes / GIB),
            bytes => write!(out, "{} MiB", bytes.div_ceil(MIB)),
        }
    }
}
