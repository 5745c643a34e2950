//! The mode `bubblewrap`: namespaces of its own for every job.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::Deserialize;
use tokio::process::Child;
use tokio::runtime::Handle;

use super::reads::Reads;
use super::unwalled::exit;
use super::{Access, Job, Network, SandboxError, Sink, program, pump, spawner};
use crate::order::Exit;

/// Not root: some agents refuse to work as root, and nothing inside needs it.
const ID: &str = "1000";
/// After the end of its first process the kernel clears a PID namespace at once; this is for a machine that crawls.
const CLEARED_AFTER_MS: u32 = 10_000;
/// How long a sandbox that nobody waits for may take to end by itself.
const LAST_CHANCE: Duration = Duration::from_secs(2);
/// What is started first inside. bubblewrap ties the sandbox to us by `PR_SET_PDEATHSIG`, but only at the end of its
/// preparations: were we killed in those milliseconds, the job would run on with nobody to end it. So somebody
/// inside holds one end of a pipe whose other end only we have, and ends everything when that is gone. It is nobody's
/// child, so that a job that waits for all its children does not wait for it.
const LIFELINE: &str = r#"
lifeline=$1; shift
( { read -r _; kill -KILL -1; } <"/proc/self/fd/$lifeline" >/dev/null 2>&1 & )
exec "$@"
"#;
/// The end of what a failed start printed that goes into the error.
const SAID: usize = 2_000;

pub(super) async fn run(
    bwrap: &Path,
    reads: &Reads,
    job: Job,
    sink: &mut dyn Sink,
) -> Result<(Exit, bool), SandboxError> {
    let program = program::locate(&job, reads)?;
    let prepared = |source| SandboxError::io("prepare a sandbox", source);
    make_home(&job.home).map_err(|source| SandboxError::io(format!("make {:?}", job.home), source))?;
    let (status, told) = io::pipe().map_err(prepared)?;
    let (held, lifeline) = io::pipe().map_err(prepared)?;
    let mut files = Files::default();
    let arguments = arguments(&program, reads, &job, &mut files).map_err(prepared)?;
    let arguments = files.hold("arguments", &arguments).map_err(prepared)?;
    let mut command = Command::new(bwrap);
    command.arg("--args").arg(arguments).arg("--json-status-fd").arg(told.as_raw_fd().to_string());
    command.args(["--", "/bin/sh", "-c", LIFELINE, "sh"]).arg(held.as_raw_fd().to_string());
    command.arg(&program).args(job.program.iter().skip(1));
    // What bubblewrap itself is started with can be read inside, as /proc/1/environ.
    command.env_clear().current_dir("/");
    command.stdin(if job.stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    files.open.extend([told.into(), held.into()]);
    spawner::inherit(&mut command, files.open);

    let not_started = |said: String| SandboxError::NotStarted { program: program.clone(), said };
    // In a task of its own: one that is no longer wanted while it is being started has to be ended with care too.
    let starting = tokio::spawn(async move {
        let child = spawner::spawn(command).await?;
        Ok::<_, io::Error>(Running {
            child: Some(child),
            lifeline: Some(lifeline),
            status: Some(status),
            runtime: Handle::current(),
        })
    });
    let started = starting.await.unwrap_or_else(|error| Err(io::Error::other(error)));
    let mut running = started.map_err(|error| not_started(error.to_string()))?;
    let Some(child) = &mut running.child else { return Err(not_started("it is gone".to_owned())) };
    let mut tee = Tee { sink, last: Vec::new() };
    let pumped = pump::pump(child, &job.stdin, &mut tee, job.timeout, job.most_output)
        .await
        .map_err(|source| SandboxError::io("wait for a sandbox", source))?;
    let told = running.status.as_mut().map(Status::read).unwrap_or_default();
    drop(running);
    let said = String::from_utf8_lossy(&tee.last).trim().to_owned();
    if let Some(first) = told.first_process {
        cleared(first).await;
    }
    let ended = exit(pumped.status);
    match ended {
        Exit::Code(_) if !told.started => Err(not_started(said)),
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => Ok((ended, pumped.output_cut)),
    }
}

/// A sandbox that ends when this is dropped.
struct Running {
    child: Option<Child>,
    lifeline: Option<PipeWriter>,
    /// Open as long as the monitor may write to it: it would die of that too.
    status: Option<PipeReader>,
    runtime: Handle,
}

impl Drop for Running {
    fn drop(&mut self) {
        // First by the lifeline: the monitor, killed in the middle of its preparations, would leave half a sandbox
        // waiting for it. Only what does not end by that is killed from outside.
        drop(self.lifeline.take());
        if let Some(mut child) = self.child.take().filter(|child| child.id().is_some()) {
            let status = self.status.take();
            self.runtime.spawn(async move {
                if tokio::time::timeout(LAST_CHANCE, child.wait()).await.is_err() {
                    drop(child.kill().await);
                }
                drop(status);
            });
        }
    }
}

/// bubblewrap's arguments, but for the program's own. They hold the variables, so they go through a descriptor and
/// never stand on a command line.
fn arguments(program: &Path, reads: &Reads, job: &Job, files: &mut Files) -> io::Result<Vec<u8>> {
    let mut all = Arguments::default();
    all.add(["--unshare-all", "--unshare-user", "--uid", ID, "--gid", ID, "--cap-drop", "ALL"]);
    all.add(["--hostname", "journeyman", "--die-with-parent", "--new-session"]);
    all.add(["--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/var"]);
    all.add(["--perms", "1777", "--tmpfs", "/tmp", "--perms", "1777", "--tmpfs", "/var/tmp"]);
    for (at, target) in reads.links() {
        all.add([OsStr::new("--symlink"), target.as_os_str(), at.as_os_str()]);
    }
    let besides = program::besides(program, job, reads);
    for path in reads.shown().iter().chain(&besides.shown) {
        all.bind("--ro-bind-try", path);
    }
    let home = job.home.display();
    let users = format!("root:x:0:0::/:/bin/false\njourneyman:x:{ID}:{ID}::{home}:/bin/sh\n");
    let groups = format!("root:x:0:\njourneyman:x:{ID}:\n");
    all.file("/etc/passwd", files.hold("passwd", users.as_bytes())?);
    all.file("/etc/group", files.hold("group", groups.as_bytes())?);
    match job.network {
        Network::None => {
            let hosts = b"127.0.0.1 localhost journeyman\n::1 localhost journeyman\n";
            all.file("/etc/hosts", files.hold("hosts", hosts)?);
        }
        Network::Host => {
            all.add(["--share-net"]);
            all.bind("--ro-bind-try", Path::new("/etc/hosts"));
            all.bind("--ro-bind-try", Path::new("/etc/resolv.conf"));
        }
    }
    let mut mounts: Vec<(&Path, Access)> = vec![(&job.home, Access::ReadWrite)];
    mounts.extend(job.mounts.iter().map(|mount| (mount.path.as_path(), mount.access)));
    // Parents before what lies in them; of two at the same place the later counts.
    mounts.sort_by_key(|(path, _)| path.components().count());
    for (path, access) in mounts {
        match access {
            Access::ReadOnly => all.bind("--ro-bind", path),
            Access::ReadWrite => all.bind("--bind", path),
        }
    }
    if let Some((at, target)) = &besides.link {
        all.add([OsStr::new("--symlink"), target.as_os_str(), at.as_os_str()]);
    }
    all.add(["--remount-ro", "/"]);
    all.add([OsStr::new("--chdir"), job.directory.as_os_str()]);
    for (name, value) in reads.environment(&job.home, Path::new("/tmp")) {
        all.add([OsStr::new("--setenv"), name.as_ref(), &value]);
    }
    for (name, value) in &job.environment {
        all.add(["--setenv", name, value]);
    }
    Ok(all.0)
}

/// Arguments, each ended by a zero byte.
#[derive(Default)]
struct Arguments(Vec<u8>);

impl Arguments {
    fn add<A: AsRef<OsStr>, const N: usize>(&mut self, arguments: [A; N]) {
        for argument in arguments {
            self.0.extend_from_slice(argument.as_ref().as_bytes());
            self.0.push(0);
        }
    }

    fn bind(&mut self, how: &str, path: &Path) {
        self.add([OsStr::new(how), path.as_os_str(), path.as_os_str()]);
    }

    fn file(&mut self, at: &str, descriptor: OsString) {
        self.add([OsStr::new("--ro-bind-data"), &descriptor, at.as_ref()]);
    }
}

/// Files without a name, which only this sandbox's bubblewrap inherits.
#[derive(Default)]
struct Files {
    open: Vec<OwnedFd>,
}

impl Files {
    /// Keeps bytes in memory and says the descriptor's number.
    fn hold(&mut self, name: &str, bytes: &[u8]) -> io::Result<OsString> {
        let mut file = File::from(rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?);
        file.write_all(bytes)?;
        file.rewind()?;
        let number = file.as_raw_fd().to_string();
        self.open.push(file.into());
        Ok(number.into())
    }
}

fn make_home(home: &Path) -> io::Result<()> {
    if let Some(parent) = home.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match std::fs::DirBuilder::new().mode(0o700).create(home) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Hands output on and remembers the end of what was said on standard error, for a sandbox that never started.
struct Tee<'a> {
    sink: &'a mut dyn Sink,
    last: Vec<u8>,
}

impl Sink for Tee<'_> {
    fn stdout(&mut self, bytes: &[u8]) {
        self.sink.stdout(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.sink.stderr(bytes);
        let start = bytes.len().saturating_sub(SAID);
        self.last.extend_from_slice(bytes.get(start..).unwrap_or_default());
        let old = self.last.len().saturating_sub(SAID);
        self.last.drain(..old);
    }
}

/// What bubblewrap tells of the sandbox on its status descriptor.
#[derive(Default)]
struct Status {
    /// The first process of the namespace, by the host's number.
    first_process: Option<Pid>,
    /// Whether the program was started at all: only then bubblewrap tells its exit code.
    started: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct StatusLine {
    child_pid: Option<i32>,
    exit_code: Option<i32>,
}

impl Status {
    /// Reads what is there, and does not wait for more: something could hold the other end.
    fn read(pipe: &mut PipeReader) -> Self {
        let mut told = vec![0; 4_096];
        let length = match rustix::io::ioctl_fionbio(&*pipe, true) {
            Ok(()) => pipe.read(&mut told).unwrap_or(0),
            Err(_) => 0,
        };
        let mut status = Self::default();
        for line in serde_json::Deserializer::from_slice(told.get(..length).unwrap_or_default()).into_iter() {
            let Ok(StatusLine { child_pid, exit_code }) = line else { break };
            status.first_process = status.first_process.or(child_pid.and_then(Pid::from_raw));
            status.started |= exit_code.is_some();
        }
        status
    }
}

/// Waits until the namespace is empty. Its first process counts as ended only when all others in it have.
async fn cleared(first: Pid) {
    let Ok(descriptor) = pidfd_open(first, PidfdFlags::empty()) else { return };
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    for _ in 0..CLEARED_AFTER_MS {
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&now)) {
            Ok(0) => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(_) | Err(_) => return,
        }
    }
}
