//! The mode `none`: the same job without isolation. Its process group is killed with it, and its control group if one
//! can be created.

use std::path::Path;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};

use super::copy_output::ProcessOutcome;
use super::limit_watcher::LimitWatcher;
use super::{
    IsolationBackend, Job, JobResult, SandboxError, SandboxNetwork, Sink, cgroup, copy_output, limits,
    program, spawner,
};
use journeyman_order::Exit;

/// Kills the group when the job ends or its future is dropped. A process that left the group survives, unless a control
/// group contains it too.
struct ProcessGroup(Option<Pid>);

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // An error means that the group is already gone.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Runs a checked job until its process group has ended, also if the future is dropped.
pub(super) async fn run(
    backend: &IsolationBackend,
    mut job: Job,
    sink: &mut dyn Sink,
) -> Result<JobResult, SandboxError> {
    let begun = Instant::now();
    if !job.relocations.is_empty() {
        return Err(SandboxError::BadJob("without a sandbox, folders are seen where they are".to_owned()));
    }
    if job.root.is_some() || job.joins.is_some() {
        return Err(SandboxError::BadJob(
            "without a sandbox a job sees the system and its network".to_owned(),
        ));
    }
    let temporary = job.home.join("tmp");
    std::fs::create_dir_all(&temporary)
        .map_err(|source| SandboxError::io(format!("make the folder {temporary:?}"), source))?;
    let started = program::locate(&job, &backend.reads)?;
    let mut command = spawner::command(&started);
    command
        .args(job.program.iter().skip(1))
        .current_dir(&job.directory)
        .envs(backend.reads.own_environment().all(&job.home, &temporary, &job.search))
        .envs(&job.environment)
        .process_group(0);
    spawner::piped(&mut command, !job.stdin.is_empty());
    limits::inherited_by(&job.limits, &mut command);
    let group = cgroup::entered(backend.groups.as_ref(), &job.limits, &mut command)?;
    match std::mem::replace(&mut job.network, SandboxNetwork::None) {
        SandboxNetwork::Gateway(socket) => {
            socket.open_on_this_host().map_err(|source| SandboxError::io("listen on the loopback", source))?
        }
        SandboxNetwork::None | SandboxNetwork::Host => {}
    }
    let mut child = spawner::spawn(command).await.map_err(|error| SandboxError::NotStarted {
        program: Path::new(&started).to_owned(),
        said: error.to_string(),
    })?;
    let number = child.id().and_then(|id| i32::try_from(id).ok());
    let leader = ProcessGroup(number.and_then(Pid::from_raw));
    let reached = LimitWatcher::over(&job).reached(group.as_ref());
    let pumped = copy_output::pump(&mut child, &job.stdin, sink, job.timeout, job.most_output, reached)
        .await
        .map_err(|source| SandboxError::io("wait for a process", source))?;
    drop(leader);
    let exit = exit(&pumped);
    let limit = cgroup::ended(group, &pumped).await.or_else(|| limits::told_by(&job.limits, exit));
    Ok(JobResult { exit, duration: begun.elapsed(), output_cut: pumped.output_cut, limit })
}

/// How a process ended, from its exit status.
pub(super) fn exit(pumped: &ProcessOutcome) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    let Some(status) = pumped.status else {
        return if pumped.limit.is_some() { Exit::Signal(Signal::KILL.as_raw()) } else { Exit::TimedOut };
    };
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}
