//! The mode `none`: the same job without walls. A process group of its own is all that ends with it.

use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use super::reads::Reads;
use super::{Job, SandboxError, Sink, program, pump, spawner};
use crate::order::Exit;

/// Kills the group when the job ends and when its future is dropped. A process that left the group lives on:
/// only a PID namespace has no survivors.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // An error says that the group is gone already, which is what we want.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

pub(super) async fn run(reads: &Reads, job: Job, sink: &mut dyn Sink) -> Result<(Exit, bool), SandboxError> {
    let temporary = job.home.join("tmp");
    std::fs::create_dir_all(&temporary)
        .map_err(|source| SandboxError::io(format!("make the folder {temporary:?}"), source))?;
    let started = program::locate(&job, reads)?;
    let mut command = Command::new(&started);
    command
        .args(job.program.iter().skip(1))
        .current_dir(&job.directory)
        .env_clear()
        .envs(reads.environment(&job.home, &temporary))
        .envs(&job.environment)
        .stdin(if job.stdin.is_empty() { Stdio::null() } else { Stdio::piped() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = spawner::spawn(command).await.map_err(|error| SandboxError::NotStarted {
        program: Path::new(&started).to_owned(),
        said: error.to_string(),
    })?;
    let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let pumped = pump::pump(&mut child, &job.stdin, sink, job.timeout, job.most_output)
        .await
        .map_err(|source| SandboxError::io("wait for a process", source))?;
    drop(group);
    Ok((exit(pumped.status), pumped.output_cut))
}

/// How a process ended, from what the system says of it.
pub(super) fn exit(status: Option<std::process::ExitStatus>) -> Exit {
    use std::os::unix::process::ExitStatusExt;
    let Some(status) = status else { return Exit::TimedOut };
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Code(-1),
    }
}
