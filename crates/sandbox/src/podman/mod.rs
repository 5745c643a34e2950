//! The mode `podman`: namespaces of its own for every job, as in the mode `bubblewrap`, made by podman and crun.
//!
//! May know: what the mode `bubblewrap` may. Must never know: images, registries, podman's own storage; a job's root is
//! laid out by us.
//!
//! podman and all that it starts run in users, mounts and processes of their own that end with the process that we start.
//! podman alone would not do: its monitor lives on when podman is killed, and its storage when the job ended.

mod arguments;
mod first_process;
mod mounts;
mod stage;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::process::Pid;
use tokio::runtime::Handle;

use super::cgroup::{CgroupParent, JobCgroup};
use super::limit_watcher::LimitWatcher;
use super::limits::InheritedLimits as _;
use super::no_sandbox::exit;
use super::process::{ProcessCommand, SpawnedProcess};
use super::program::HostProgram;
use super::readable_paths::ReadablePaths;
use super::start::{STARTED_WITHIN, StderrTee, cleared};
use super::{
    EgressSocket, IsolationBackend, IsolationMode, Job, JobExit, JobLimits, SandboxError, SandboxNetwork,
    Sink, cgroup, copy_output, own_files, program, seccomp, spawner,
};
use first_process::{FirstProcess, is_harmless};
use journeyman_order::Exit;
use stage::PodmanStage;

/// What podman itself may use, beside the job.
const OF_PODMAN: JobLimits = JobLimits {
    processes: 256,
    memory: 512 << 20,
    largest_file: u64::MAX,
    open_files: u64::MAX,
    disk: u64::MAX,
};

/// podman, as it was found on this machine.
#[derive(Debug)]
pub(super) struct Podman {
    program: PathBuf,
    runtime: PathBuf,
    unshare: PathBuf,
    reads: ReadablePaths,
    groups: Option<CgroupParent>,
}

impl Podman {
    pub(super) fn new(reads: ReadablePaths, groups: Option<CgroupParent>) -> Result<Self, SandboxError> {
        let find = |name| {
            program::find(name, reads.search_path()).ok_or(SandboxError::PodmanMissing { program: name })
        };
        let [program, runtime, unshare] = [find("podman")?, find("crun")?, find("unshare")?];
        Ok(Self { program, runtime, unshare, reads, groups })
    }
}

#[async_trait::async_trait]
impl IsolationBackend for Podman {
    fn mode(&self) -> IsolationMode {
        IsolationMode::Podman
    }

    fn reads(&self) -> &ReadablePaths {
        &self.reads
    }

    fn describe(&self) -> String {
        let refused = seccomp::how_many();
        let counted = cgroup::told(self.groups.as_ref());
        format!(
            "podman and crun: user, PID, mount, network, IPC, UTS and cgroup namespaces of its own; no capabilities; \
             {refused} system calls refused; size and number of files bounded; \
             {counted}; disk watched; more programs are trusted than with bubblewrap"
        )
    }

    fn is_bounded(&self) -> bool {
        self.groups.is_some()
    }

    fn egress_socket(&self, serve: super::ListenerHandler) -> io::Result<EgressSocket> {
        Ok(EgressSocket::inside(serve))
    }

    async fn run(&self, mut job: Job, sink: &mut dyn Sink) -> Result<JobExit, SandboxError> {
        let program = program::locate(&job, &self.reads)?;
        let prepared = |source| SandboxError::io("prepare a sandbox", source);
        own_files::make_home(&job.home)
            .map_err(|source| SandboxError::io(format!("make {:?}", job.home), source))?;
        let of_host = HostProgram::of(&program, &job, &self.reads);
        let mut stage = PodmanStage::new().map_err(prepared)?;
        let arguments = arguments::arguments(&program, of_host, &self.reads, &job, &self.runtime, &mut stage)
            .map_err(prepared)?;
        let mut command = ProcessCommand::new(&self.unshare);
        // The namespace of processes ends with its first one, which is podman, and that with the process that we start.
        command.args(["--pid", "--fork", "--kill-child", "--mount-proc", "--"]).arg(&self.program);
        command.args(arguments);
        command.envs(arguments::environment(&self.reads)).input(!job.stdin.is_empty()).output();
        let around = cgroup::entered(self.groups.as_ref(), &OF_PODMAN, &mut command)?;
        let group = cgroup::awaiting(self.groups.as_ref(), &job.limits)?;
        if let Some(network) = &job.joins {
            network.joined_by(&mut command);
        }
        stage.entered_by(&mut command);
        // Of two of the same name the later counts.
        let variables: BTreeMap<_, _> = job.variables(&self.reads).into_iter().collect();
        let given = variables.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let first = FirstProcess::handed_by(&mut command, given).map_err(prepared)?;

        let not_started = |said: String| SandboxError::NotStarted { program: program.clone(), said };
        let started = spawner::spawn(command).await;
        let child = started.map_err(|error| not_started(error.to_string()))?;
        let mut running = PodmanProcess {
            child: Some(child),
            first: Some(first),
            group,
            around,
            podman: None,
            runtime: Handle::current(),
        };
        let network = std::mem::replace(&mut job.network, SandboxNetwork::None);
        let begun = tokio::time::timeout(STARTED_WITHIN, running.begin(network)).await;
        let begun = begun.map_err(|_| SandboxError::TooSlow { program: "podman", within: STARTED_WITHIN })?;
        let first = begun.map_err(|error| not_started(error.to_string()))?;
        let Some(child) = &mut running.child else { return Err(not_started("it is gone".to_owned())) };
        let mut tee = StderrTee::new(sink);
        let reached = LimitWatcher::over(&job).with_first(first).reached(running.group.as_ref());
        let pumped = copy_output::pump(child, &job.stdin, &mut tee, job.timeout, job.most_output, reached)
            .await
            .map_err(|source| SandboxError::io("wait for a sandbox", source))?;
        let group = running.group.take();
        if let Some(podman) = running.podman {
            cleared(podman).await;
        }
        drop(running);
        let exit = exit(&pumped);
        let limit = cgroup::ended(group, &pumped).await.or_else(|| job.limits.told_by(exit));
        match exit {
            Exit::Code(_) if first.is_none() && limit.is_none() => Err(not_started(tee.said())),
            Exit::Code(_) | Exit::Signal(_) | Exit::TimedOut => {
                Ok(JobExit { exit, output_cut: pumped.output_cut, limit })
            }
        }
    }
}

/// A sandbox that ends when this is dropped.
struct PodmanProcess {
    child: Option<SpawnedProcess>,
    first: Option<FirstProcess>,
    /// podman itself: the first process of a namespace, which counts as ended only when all others in it have.
    podman: Option<Pid>,
    group: Option<JobCgroup>,
    /// What makes the walls is bounded too, with all that it starts until the job's first process is known.
    around: Option<JobCgroup>,
    runtime: Handle,
}

impl PodmanProcess {
    /// Waits until the walls are there, opens the door, where there is one, and then lets the job begin. Answers with the
    /// first process inside; none, when podman ended before it made one, and has said why.
    async fn begin(&mut self, network: SandboxNetwork) -> io::Result<Option<Pid>> {
        let Some(held) = &mut self.first else { return Ok(None) };
        let Some(first) = held.status.first().await? else { return Ok(None) };
        let started = self.child.as_ref().and_then(SpawnedProcess::id);
        let podman = started.and_then(|started| child_above(first, started));
        // Its number could be anybody's by now.
        self.podman = Some(podman.ok_or_else(|| io::Error::other("the first process is gone"))?);
        is_harmless(first)?;
        if let Some(group) = &mut self.group {
            group.take(first)?;
        }
        match network {
            SandboxNetwork::Gateway(door) => door.open_inside(first).await?,
            SandboxNetwork::None | SandboxNetwork::Host => {}
        }
        held.lifeline.write_all(b"\n")?;
        Ok(Some(first))
    }
}

impl Drop for PodmanProcess {
    fn drop(&mut self) {
        let (groups, podman) = ((self.group.take(), self.around.take()), self.podman);
        drop(self.first.take());
        if let Some(mut child) = self.child.take() {
            self.runtime.spawn(async move {
                // An error says that it has ended.
                drop(child.kill().await);
                if let Some(podman) = podman {
                    cleared(podman).await;
                }
                drop(groups);
            });
        }
    }
}

/// Which child of the process that we started has this one below it.
fn child_above(mut process: Pid, started: Pid) -> Option<Pid> {
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.as_raw_nonzero())).ok()?;
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()?;
        if parent == started.as_raw_nonzero().get() {
            return Some(process);
        }
        process = Pid::from_raw(parent).filter(|parent| !parent.is_init())?;
    }
}
