//! Control groups: the kernel counts and limits a job's processes and memory, if this server may create groups.
//!
//! It supports version 2 if `memory` and `pids` are delegated to us, and version 1 if its hierarchies are writable.
//! Each server locks its own folder of groups. A server that finds an unlocked folder deletes it and kills everything
//! in it, so that nothing of a killed server survives.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::Command;
use tokio::runtime::Handle;

use super::copy_output::ProcessOutcome;
use super::{ExceededLimit, JobLimits, SandboxError};

/// Prefix of the group folders, for finding abandoned ones.
const PREFIX: &str = "journeyman-";
/// The group for this server itself if its original group must contain groups instead of processes.
const SERVER: &str = "server.journeyman";
/// Why the kernel enforces no limits, for people.
const NO_GROUPS: &str = "since no cgroup can be written here (a systemd unit needs `Delegate=memory pids` and \
    no ProtectControlGroups=)";
/// The processes were already killed; this is for an overloaded machine.
const GONE_AFTER: Duration = Duration::from_secs(5);

/// Version of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupVersion {
    One,
    Two,
}

impl CgroupVersion {
    /// The file through which a single-threaded process enters a group. The kernel moves single threads without waiting
    /// for all process starts on the machine, which takes 7 ms.
    fn entrance(self) -> &'static str {
        match self {
            Self::One => "tasks",
            Self::Two => "cgroup.procs",
        }
    }
}

impl fmt::Display for CgroupVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::One => "cgroup v1",
            Self::Two => "cgroup v2",
        })
    }
}

/// This server's group folders, one per hierarchy: two in version 1, one in version 2.
#[derive(Debug)]
pub(super) struct CgroupParent {
    version: CgroupVersion,
    folders: Vec<CgroupFolder>,
    made: AtomicU64,
}

#[derive(Debug)]
struct CgroupFolder {
    path: PathBuf,
    _lock: File,
}

impl CgroupParent {
    /// Creates this server's folders and clears abandoned ones. `None` if it cannot create groups.
    pub(super) fn of_this_machine() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        second(&mounts, &own).or_else(|| {
            let bases = ["pids", "memory"].map(|controller| place(&mounts, &own, controller));
            let [Some(pids), Some(memory)] = bases else { return None };
            Self::in_folders(CgroupVersion::One, &[pids, memory]).ok()
        })
    }

    fn in_folders(version: CgroupVersion, bases: &[PathBuf]) -> io::Result<Self> {
        let mut folders = Vec::new();
        for base in bases {
            sweep(base);
            let made = CgroupFolder::make(base);
            if made.is_err() {
                folders.iter().for_each(|folder: &CgroupFolder| clear(&folder.path, Duration::ZERO));
            }
            folders.push(made?);
        }
        let groups = Self { version, folders, made: AtomicU64::new(0) };
        if version == CgroupVersion::Two {
            for folder in &groups.folders {
                enable(&folder.path)?;
            }
        }
        Ok(groups)
    }

    /// A group for one job.
    pub(super) fn group(&self, limits: &JobLimits) -> io::Result<JobCgroup> {
        let name = format!("job-{}", self.made.fetch_add(1, Ordering::Relaxed));
        let paths: Vec<_> = self.folders.iter().map(|folder| folder.path.join(&name)).collect();
        let mut group = JobCgroup { version: self.version, paths, entrances: Vec::new(), limits: *limits };
        for path in &group.paths {
            fs::create_dir(path)?;
        }
        group.bound()?;
        for path in &group.paths {
            group.entrances.push(File::options().write(true).open(path.join(self.version.entrance()))?);
        }
        Ok(group)
    }
}

impl Drop for CgroupParent {
    fn drop(&mut self) {
        for folder in &self.folders {
            clear(&folder.path, Duration::from_secs(1));
        }
    }
}

impl CgroupFolder {
    fn make(base: &Path) -> io::Result<Self> {
        // Another server may delete the folder before we lock it.
        for _ in 0..8 {
            let path = base.join(format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()));
            fs::create_dir(&path)?;
            let Ok(lock) = File::open(&path) else { continue };
            flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            if fs::metadata(&path).is_ok_and(|now| lock.metadata().is_ok_and(|ours| ours.ino() == now.ino()))
            {
                return Ok(Self { path, _lock: lock });
            }
        }
        Err(io::Error::other("a new control group was taken away each time"))
    }
}

/// A job's group, in each hierarchy. Dropping it kills everything inside.
#[derive(Debug)]
pub(super) struct JobCgroup {
    version: CgroupVersion,
    paths: Vec<PathBuf>,
    /// The files through which a single-threaded process enters.
    entrances: Vec<File>,
    limits: JobLimits,
}

impl JobCgroup {
    fn bound(&self) -> io::Result<()> {
        let JobLimits { processes, memory, .. } = self.limits;
        let all = |name: &str, value: &str| -> io::Result<()> {
            for path in self.paths.iter().filter(|path| path.join(name).exists()) {
                fs::write(path.join(name), value)?;
            }
            Ok(())
        };
        let (processes, memory) = (processes.to_string(), memory.to_string());
        let needed = match self.version {
            CgroupVersion::One => [("pids.max", &processes), ("memory.limit_in_bytes", &memory)],
            CgroupVersion::Two => [("pids.max", &processes), ("memory.max", &memory)],
        };
        for (name, value) in needed {
            if !self.paths.iter().any(|path| path.join(name).exists()) {
                return Err(io::Error::other(format!("a new control group has no {name}")));
            }
            all(name, value)?;
        }
        // Only in some kernels: limit memory plus swap, disable swap, kill the whole group together.
        all("memory.memsw.limit_in_bytes", &memory)?;
        all("memory.swap.max", "0")?;
        all("memory.oom.group", "1")
    }

    /// Makes the process start in the group, so that none of its children is ever outside.
    #[allow(unsafe_code)]
    pub(super) fn entered_by(&self, command: &mut Command) -> io::Result<()> {
        let entrances = self.entrances.iter().map(File::try_clone).collect::<io::Result<Vec<_>>>()?;
        let enter = move || -> io::Result<()> {
            for entrance in &entrances {
                // Zero means the writing process.
                rustix::io::write(entrance, b"0")?;
            }
            Ok(())
        };
        // SAFETY: only write is called.
        unsafe { command.pre_exec(enter) };
        Ok(())
    }

    /// The limit that was reached, if any.
    pub(super) fn reached(&self) -> Option<ExceededLimit> {
        let counted = |file: &str, what: &str| {
            let texts = self.paths.iter().filter_map(|path| fs::read_to_string(path.join(file)).ok());
            texts.into_iter().any(|text| {
                let mut words = text.lines().filter_map(|line| line.split_once(' '));
                words.any(|(name, count)| name == what && count.trim() != "0")
            })
        };
        let memory = match self.version {
            CgroupVersion::One => "memory.oom_control",
            CgroupVersion::Two => "memory.events",
        };
        if counted(memory, "oom_kill") {
            return Some(ExceededLimit::Memory(self.limits.memory));
        }
        counted("pids.events", "max").then_some(ExceededLimit::Processes(self.limits.processes))
    }

    /// Kills everything in the group and deletes it.
    pub(super) async fn end(mut self) {
        removed(std::mem::take(&mut self.paths)).await;
    }
}

impl Drop for JobCgroup {
    fn drop(&mut self) {
        let paths = std::mem::take(&mut self.paths);
        if paths.is_empty() {
            return;
        }
        paths.iter().for_each(|path| kill_all(path));
        // Without a runtime the server is exiting: the next one cleans up.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(removed(paths));
        }
    }
}

/// A group for a job, if groups can be created. The job's first process starts in it.
pub(super) fn entered(
    groups: Option<&CgroupParent>,
    limits: &JobLimits,
    command: &mut Command,
) -> Result<Option<JobCgroup>, SandboxError> {
    let make = |groups: &CgroupParent| {
        let group = groups.group(limits)?;
        group.entered_by(command)?;
        Ok(group)
    };
    groups.map(make).transpose().map_err(|source| SandboxError::io("make a control group", source))
}

/// How processes and memory are limited, for people; `otherwise` applies without groups.
pub(super) fn told(groups: Option<&CgroupParent>, otherwise: &str) -> String {
    match groups.map(|groups| groups.version) {
        Some(version) => format!("processes and memory bounded by {version}"),
        None => format!("processes and memory {otherwise}, {NO_GROUPS}"),
    }
}

/// The limit that the job reached, after killing the rest of it.
pub(super) async fn ended(group: Option<JobCgroup>, pumped: &ProcessOutcome) -> Option<ExceededLimit> {
    let Some(group) = group else { return pumped.limit };
    let reached = group.reached();
    group.end().await;
    pumped.limit.or(reached)
}

async fn removed(paths: Vec<PathBuf>) {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(500);
    while !paths.iter().all(|path| is_removed(path)) && begun.elapsed() < GONE_AFTER {
        paths.iter().for_each(|path| kill_all(path));
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

fn is_removed(group: &Path) -> bool {
    match fs::remove_dir(group) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn kill_all(group: &Path) {
    // Newer kernels kill all at once, so no fork escapes.
    if fs::write(group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    for process in inside.lines().filter_map(|line| line.parse().ok()).filter_map(Pid::from_raw) {
        // An error means that it has ended already.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Kills everything in a folder of groups and deletes it.
fn clear(folder: &Path, within: Duration) {
    let begun = Instant::now();
    loop {
        let groups = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
        for group in groups.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            kill_all(&group.path());
            is_removed(&group.path());
        }
        if is_removed(folder) || begun.elapsed() >= within {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Deletes folders whose lock is free, because their server has ended.
fn sweep(base: &Path) {
    let entries = fs::read_dir(base).into_iter().flatten().filter_map(Result::ok);
    for folder in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        let Ok(lock) = File::open(folder.path()) else { continue };
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            clear(&folder.path(), Duration::from_secs(2));
        }
    }
}

/// A place for version 2 groups: in our own group if we are alone there, or beside it if it was prepared for that.
fn second(mounts: &str, own: &str) -> Option<CgroupParent> {
    let own = place(mounts, own, "")?;
    let knows = |folder: &Path, file: &str| {
        let known = fs::read_to_string(folder.join(file)).unwrap_or_default();
        ["memory", "pids"].iter().all(|needed| known.split_whitespace().any(|word| word == *needed))
    };
    if knows(&own, "cgroup.controllers") && (enable(&own).is_ok() || emptied(&own).is_ok()) {
        return CgroupParent::in_folders(CgroupVersion::Two, &[own]).ok();
    }
    let beside = own.parent().filter(|parent| knows(parent, "cgroup.subtree_control"))?;
    CgroupParent::in_folders(CgroupVersion::Two, &[beside.to_owned()]).ok()
}

fn enable(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("cgroup.subtree_control"), "+memory +pids")
}

/// Moves this process into its own subgroup, because a group with processes cannot contain groups with limits. Fails if
/// other processes are there, which we do not move.
fn emptied(folder: &Path) -> io::Result<()> {
    let inside = fs::read_to_string(folder.join("cgroup.procs"))?;
    let own = std::process::id().to_string();
    if inside.lines().any(|process| process != own) {
        return Err(io::Error::other("the group holds other processes too"));
    }
    let server = folder.join(SERVER);
    match fs::create_dir(&server) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    File::options().write(true).open(server.join("cgroup.procs"))?.write_all(own.as_bytes())?;
    enable(folder)
}

/// The folder of this process's group. An empty controller means version 2.
fn place(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|word| word == controller).then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split(' ');
        let (name, options) = (kind.next()?, kind.nth(1)?);
        let fits = match controller {
            "" => name == "cgroup2",
            _ => name == "cgroup" && options.split(',').any(|word| word == controller),
        };
        let mut place = place.split(' ').skip(3);
        let (root, at) = (place.next()?, place.next()?);
        let inside = Path::new(path).strip_prefix(root).ok().filter(|_| fits)?;
        let climbs = inside.components().any(|part| part == Component::ParentDir);
        (!climbs).then(|| Path::new(at).join(inside))
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const MOUNTS: &str = "\
30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
31 24 0:27 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
32 24 0:28 / /sys/fs/cgroup/cpu,pids rw,relatime - cgroup cgroup rw,cpu,pids\n";

    #[test]
    fn the_own_group_is_found_in_either_version() {
        let own = "5:memory:/docker/abc/x\n4:cpu,pids:/\n0::/system.slice/journeyman.service\n";
        let at = |controller| place(MOUNTS, own, controller);
        assert_eq!(at(""), Some("/sys/fs/cgroup/system.slice/journeyman.service".into()));
        assert_eq!(at("memory"), Some("/sys/fs/cgroup/memory/x".into()));
        assert_eq!(at("pids"), Some("/sys/fs/cgroup/cpu,pids/".into()));
        assert_eq!(at("blkio"), None);
        assert_eq!(place(MOUNTS, "5:memory:/docker/other\n0::/../x\n", "memory"), None, "not shown here");
        assert_eq!(place(MOUNTS, "0::/../x\n", ""), None, "outside of what is shown");
    }

    proptest::proptest! {
        #[test]
        fn no_text_leads_outside_of_what_is_shown(own in "(0::|1:pids:)(/|/[.a]{1,3}){0,6}", root in "(/|/a)") {
            let mounts = MOUNTS.replace("/ /sys", &format!("{root} /sys"));
            for controller in ["", "pids"] {
                let found = place(&mounts, &own, controller);
                proptest::prop_assert!(found.is_none_or(|path| !path.components().any(|part| part == Component::ParentDir)));
            }
        }
    }

    #[test]
    fn a_group_of_a_server_that_is_gone_is_swept_with_what_runs_in_it() {
        let Some(groups) = CgroupParent::of_this_machine() else {
            eprintln!("skipped: no control group can be made here");
            return;
        };
        let base = groups.folders[0].path.parent().unwrap().to_owned();
        let orphaned = base.join(format!("{PREFIX}{}", uuid::Uuid::new_v4().simple()));
        let job = orphaned.join("job-0");
        fs::create_dir(&orphaned).unwrap();
        let lock = File::open(&orphaned).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        fs::create_dir(&job).unwrap();
        let mut left = Command::new("sleep").arg("300").spawn().unwrap();
        fs::write(job.join("cgroup.procs"), left.id().to_string()).unwrap();
        sweep(&base);
        assert!(job.exists() && left.try_wait().unwrap().is_none(), "as long as its server lives");
        drop(lock);
        sweep(&base);
        assert!(!left.wait().unwrap().success());
        sweep(&base);
        assert!(!orphaned.exists());
        assert!(groups.folders.iter().all(|folder| folder.path.exists()), "that of a living server stays");
    }
}
