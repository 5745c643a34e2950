//! The mode `bubblewrap`: separate namespaces for every job.

mod arguments;
mod status;

use std::io::{self, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};
use tokio::runtime::Handle;

use super::cgroup::JobCgroup;
use super::limit_watcher::LimitWatcher;
use super::no_sandbox::exit;
use super::program::HostProgram;
use super::{
    IsolationBackend, Job, JobResult, JobUser, SandboxError, SandboxNetwork, Sink, cgroup, copy_output,
    interfaces, layers, limits, own_files, program, seccomp, spawner,
};
use arguments::{InheritedFiles, arguments};
use journeyman_order::Exit;
use status::StatusPipe;

/// How long an abandoned sandbox may take to exit by itself.
const LAST_CHANCE: Duration = Duration::from_secs(2);
/// A start takes a tenth of a second; this is for an overloaded machine. A silent bubblewrap gets no more time.
const STARTED_WITHIN: Duration = Duration::from_secs(if cfg!(test) { 15 } else { 60 });
/// The kernel normally clears a PID namespace at once after its first process; this is for an overloaded machine.
const CLEARED_AFTER: Duration = Duration::from_secs(10);
/// How much output of a failed start goes into the error, from its end.
const SAID: usize = 2_000;
/// The first program inside. bubblewrap ties the sandbox to us with `PR_SET_PDEATHSIG`, but only after its setup: if we
/// were killed in those milliseconds, the job would keep running. So a process inside holds one end of a pipe whose
/// other end only we have, and kills everything when ours closes. It has no parent in the job, so a job that waits for
/// all its children does not wait for it.
///
/// The same pipe starts the job with a line once everything around it is ready. The process limit is set here, where
/// only the job's own processes count; shells call it `-p` or `-u`.
const LIFELINE: &str = r#"
lifeline=$1 processes=$2; shift 2
read -r _ <"/proc/self/fd/$lifeline" || exit 1
ulimit -p "$processes" 2>/dev/null || ulimit -u "$processes" || exit 1
( { read -r _; kill -KILL -1; } <"/proc/self/fd/$lifeline" >/dev/null 2>&1 & )
exec "$@"
"#;

/// The name and the command of a machine's first process.
const FIRST: [&str; 2] = ["systemd", "/sbin/init"];

/// Describes the isolation of a job, for people.
pub(super) fn describe(counted: &str) -> String {
    let refused = seccomp::how_many();
    format!(
        "bubblewrap: user, PID, mount, network, IPC, UTS and cgroup namespaces of its own; no capabilities; \
         {refused} system calls refused; size and number of files bounded; {counted}; disk watched"
    )
}

/// Runs a checked job until all its processes have ended, also if the future is dropped.
pub(super) async fn run(
    bubblewrap: &Path,
    backend: &IsolationBackend,
    mut job: Job,
    sink: &mut dyn Sink,
) -> Result<JobResult, SandboxError> {
    let begun = Instant::now();
    let program = program::locate(&job, &backend.reads)?;
    let prepared = |source| SandboxError::io("prepare a sandbox", source);
    own_files::make_home(&job.home)
        .map_err(|source| SandboxError::io(format!("make {:?}", job.home), source))?;
    let (status, told) = io::pipe().map_err(prepared)?;
    let (held, lifeline) = io::pipe().map_err(prepared)?;
    let mut files = InheritedFiles::default();
    let of_host = HostProgram::of(&program, &job, &backend.reads);
    let arguments =
        arguments(&program, of_host.as_ref(), &backend.reads, &job, &mut files).map_err(prepared)?;
    let arguments = files.hold("arguments", &arguments).map_err(prepared)?;
    let (mut command, _link) = first_program(bubblewrap, &job.user).map_err(prepared)?;
    command.arg("--args").arg(arguments).arg("--json-status-fd").arg(told.as_raw_fd().to_string());
    command.args(["--", "/bin/sh", "-c", LIFELINE, "sh"]).arg(held.as_raw_fd().to_string());
    command.arg(job.limits.processes.to_string());
    match of_host {
        Some(HostProgram { command: started, .. }) => command.args(started),
        None => command.arg(&program),
    };
    command.args(job.program.iter().skip(1));
    // bubblewrap's own environment is readable inside, as /proc/1/environ.
    command.current_dir("/");
    spawner::piped(&mut command, !job.stdin.is_empty());
    files.open.extend([told.into(), held.into()]);
    spawner::inherit(&mut command, files.open);
    limits::inherited_by(&job.limits, &mut command);
    let group = cgroup::entered(backend.groups.as_ref(), &job.limits, &mut command)?;
    if let Some(network) = &job.joins {
        network.joined_by(&mut command);
    }
    let stacks = job.layers.iter().chain(job.root.iter().map(|root| &root.layers));
    layers::mounted_by(&mut command, stacks).map_err(|source| SandboxError::io("lay layers", source))?;
    let status = StatusPipe::new(status).map_err(prepared)?;

    let not_started = |said: String| SandboxError::NotStarted { program: program.clone(), said };
    // In its own task: a job cancelled during its start must be ended carefully too.
    let starting = tokio::spawn(async move {
        let child = spawner::spawn(command).await?;
        Ok::<_, io::Error>(BubblewrapProcess {
            child: Some(child),
            lifeline: Some(lifeline),
            status: Some(status),
            group,
            runtime: Handle::current(),
        })
    });
    let too_slow = |_| SandboxError::TooSlow { program: "bwrap", within: STARTED_WITHIN };
    let started = tokio::time::timeout(STARTED_WITHIN, starting).await.map_err(too_slow)?;
    let started = started.unwrap_or_else(|error| Err(io::Error::other(error)));
    let mut running = started.map_err(|error| not_started(error.to_string()))?;
    let network = std::mem::replace(&mut job.network, SandboxNetwork::None);
    let first =
        tokio::time::timeout(STARTED_WITHIN, running.begin(network, &job.user)).await.map_err(too_slow)?;
    let first = first.map_err(prepared)?;
    let Some(child) = &mut running.child else { return Err(not_started("it is gone".to_owned())) };
    let mut tee = StderrTee { sink, last: Vec::new() };
    let reached = LimitWatcher::over(&job).with_first(first).reached(running.group.as_ref());
    let pumped = copy_output::pump(child, &job.stdin, &mut tee, job.timeout, job.most_output, reached)
        .await
        .map_err(|source| SandboxError::io("wait for a sandbox", source))?;
    let told = running.status.as_mut().map(StatusPipe::now).unwrap_or_default();
    let group = running.group.take();
    drop(running);
    let said = String::from_utf8_lossy(&tee.last).trim().to_owned();
    if let Some(first) = told.first_process {
        cleared(first).await;
    }
    let exit = exit(&pumped);
    let limit = cgroup::ended(group, &pumped).await.or_else(|| limits::told_by(&job.limits, exit));
    match exit {
        Exit::Code(_) if !told.started && limit.is_none() => Err(not_started(said)),
        Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => {
            Ok(JobResult { exit, duration: begun.elapsed(), output_cut: pumped.output_cut, limit })
        }
    }
}

/// bubblewrap, which is the first process that a job sees. In a user's place a link starts it, from this folder, because
/// the kernel shows the name that a process was started by.
fn first_program(bubblewrap: &Path, user: &JobUser) -> io::Result<(Command, Option<TempDir>)> {
    if user.is_default() {
        return Ok((spawner::command(bubblewrap), None));
    }
    let folder = tempfile::tempdir()?;
    let [name, shown] = FIRST;
    let link = folder.path().join(name);
    symlink(bubblewrap, &link)?;
    let mut command = spawner::command(link);
    command.arg0(shown);
    Ok((command, Some(folder)))
}

/// A sandbox that ends when this is dropped.
struct BubblewrapProcess {
    child: Option<Child>,
    lifeline: Option<PipeWriter>,
    /// Open while the monitor may write to it, which would otherwise kill it.
    status: Option<StatusPipe>,
    group: Option<JobCgroup>,
    runtime: Handle,
}

impl BubblewrapProcess {
    /// Opens the egress socket if there is one, then starts the job. Returns the first process of its namespace; `None`
    /// if bubblewrap exited before creating it and reported the reason.
    async fn begin(&mut self, network: SandboxNetwork, user: &JobUser) -> io::Result<Option<Pid>> {
        let Some(status) = &mut self.status else { return Ok(None) };
        let Some(first) = status.first_process().await? else { return Ok(None) };
        // Never in the host's own network. They are no wall: without them the job runs as well.
        if !matches!(network, SandboxNetwork::Host) && !user.is_default() {
            drop(interfaces::add(first, user).await);
        }
        match network {
            SandboxNetwork::Gateway(socket) => socket.open_inside(first).await?,
            SandboxNetwork::None | SandboxNetwork::Host => {}
        }
        if let Some(lifeline) = &mut self.lifeline {
            match lifeline.write_all(b"\n") {
                // It exited during its setup and has reported the reason.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                written => written?,
            }
        }
        Ok(Some(first))
    }
}

impl Drop for BubblewrapProcess {
    fn drop(&mut self) {
        // Close the lifeline first: killing the monitor during its setup would leave half a sandbox waiting for it. A
        // process that ignores this is killed from outside.
        drop(self.lifeline.take());
        let group = self.group.take();
        if let Some(mut child) = self.child.take().filter(|child| child.id().is_some()) {
            let status = self.status.take();
            self.runtime.spawn(async move {
                if tokio::time::timeout(LAST_CHANCE, child.wait()).await.is_err() {
                    drop(child.kill().await);
                }
                drop((status, group));
            });
        }
    }
}

/// Passes output on and keeps the end of standard error, for a sandbox that never started.
struct StderrTee<'a> {
    sink: &'a mut dyn Sink,
    last: Vec<u8>,
}

impl Sink for StderrTee<'_> {
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

/// Waits until the namespace is empty. Its first process ends only after all others in it.
#[allow(unsafe_code)]
async fn cleared(first: Pid) {
    let Ok(descriptor) = pidfd_open(first, PidfdFlags::NONBLOCK) else { return };
    // It becomes readable when the process ends.
    // SAFETY: it owns the descriptor, which stays the same and open as long as it lives.
    let ended = unsafe { AsyncFd::register_with_interest(descriptor, Interest::READABLE) };
    let Ok(ended) = ended else { return };
    drop(tokio::time::timeout(CLEARED_AFTER, ended.readable()).await);
}
