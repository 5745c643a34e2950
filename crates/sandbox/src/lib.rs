//! The sandbox for what we run on behalf of others: agents, setup and test commands, and git in the agent's repository.
//!
//! May know: processes, namespaces, the machine's toolchains, and [`journeyman_order`]'s description of a process's
//! end. Must never know: orders, repositories, agents, credentials. The job lists what it may see.
//!
//! Rules for every job in the mode `bubblewrap`:
//! - It sees only the system's programs and toolchains, read-only, or an image instead of them, its mounts, and its
//!   home. Paths are the same inside and outside, so that the mode `none` runs the same job.
//! - It starts with an empty environment, and its variables never appear on a command line, which is public.
//! - When it ends, everything it started ends: nothing survives a PID namespace.
//! - It cannot create namespaces, mounts or kernel objects, or change settings of the machine.
//! - Its use of resources is limited, and the limit that it reached is reported.
//! - Without a network it reaches at most one address, where we listen on its own loopback.

mod bubblewrap;
mod cgroup;
mod copy_output;
mod credential_files;
mod disk;
mod egress;
mod error;
mod home_file;
mod interfaces;
mod job;
mod layers;
mod limit_watcher;
mod limits;
mod no_sandbox;
mod own_files;
mod program;
mod readable_paths;
mod root;
mod seccomp;
mod shared_network;
mod spawner;
mod toolchains;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use egress::EgressSocket;
pub use error::SandboxError;
pub use home_file::write_in_home;
pub use job::{
    CollectedOutput, Job, JobResult, JobUser, Mount, MountAccess, Relocation, SandboxNetwork, Sink,
};
pub use journeyman_order::{IsolationMode, JobLimits};
pub use layers::{LayerStack, MOST_LAYERS};
pub use limits::ExceededLimit;
pub use program::RootTrial;
pub use root::{JobRoot, ProgramOwner};
pub use shared_network::SharedNetwork;

use cgroup::CgroupParent;
use journeyman_metrics::metrics;
use journeyman_order::Exit;
use readable_paths::ReadablePaths;

/// Runs jobs in a sandbox. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    backend: Arc<IsolationBackend>,
    /// Upper limits for every job.
    limits: JobLimits,
}

/// What jobs need on this machine.
#[derive(Debug)]
struct IsolationBackend {
    /// The path of bubblewrap; `None` in the mode `none`.
    bubblewrap: Option<PathBuf>,
    /// Paths that every job sees.
    reads: ReadablePaths,
    groups: Option<CgroupParent>,
}

impl Sandbox {
    /// Examines the machine once: its toolchains, and whether bubblewrap is installed and may create namespaces.
    /// `extra_reads` are further files and folders that every job may read.
    ///
    /// # Errors
    /// Says what to install or enable. There is no fallback: [`IsolationMode::None`] must be chosen explicitly.
    pub async fn new(mode: IsolationMode, extra_reads: Vec<PathBuf>) -> Result<Self, SandboxError> {
        let reads = ReadablePaths::of_this_machine(extra_reads)?;
        Self::with(mode, reads, CgroupParent::of_this_machine()).await
    }

    async fn with(
        mode: IsolationMode,
        reads: ReadablePaths,
        groups: Option<CgroupParent>,
    ) -> Result<Self, SandboxError> {
        spawner::keep_what_was_inherited()
            .map_err(|source| SandboxError::io("look at the open files of this process", source))?;
        let bubblewrap = match mode {
            IsolationMode::None => None,
            IsolationMode::Bubblewrap => {
                Some(program::find("bwrap", reads.search_path()).ok_or(SandboxError::Missing)?)
            }
        };
        let backend = Arc::new(IsolationBackend { bubblewrap, reads, groups });
        let sandbox = Self { backend, limits: JobLimits::default() };
        sandbox.check().await?;
        Ok(sandbox)
    }

    /// Sets other limits: [`Sandbox::limits`] for jobs of agents, setups and tests, and the maximum for all jobs.
    #[must_use]
    pub fn limited_to(self, limits: JobLimits) -> Self {
        Self { limits, ..self }
    }

    /// The limits of the largest jobs.
    pub fn limits(&self) -> JobLimits {
        self.limits
    }

    /// The isolation mode. Every receipt shows it.
    pub fn mode(&self) -> IsolationMode {
        match self.backend.bubblewrap {
            Some(_) => IsolationMode::Bubblewrap,
            None => IsolationMode::None,
        }
    }

    /// Describes the isolation on this machine in one line, for people.
    pub fn describe_isolation(&self) -> String {
        let counted = |otherwise| cgroup::told(self.backend.groups.as_ref(), otherwise);
        match self.mode() {
            IsolationMode::Bubblewrap => bubblewrap::describe(&counted("watched")),
            IsolationMode::None => {
                let counted = counted("not bounded");
                format!("none: no isolation; size and number of files bounded; {counted}; disk watched")
            }
        }
    }

    /// Whether jobs are isolated and their memory and processes are limited, not only monitored.
    pub fn is_bounded(&self) -> bool {
        self.backend.bubblewrap.is_some() && self.backend.groups.is_some()
    }

    /// A socket for one job's [`SandboxNetwork::Gateway`]. Before the job begins, `serve` receives a non-blocking
    /// listener; only the job can connect. While that is open, the job's network stays.
    ///
    /// # Errors
    /// In the mode `none`, if there is no free port.
    pub fn egress_socket(
        &self,
        serve: impl FnOnce(TcpListener) + Send + Sync + 'static,
    ) -> Result<EgressSocket, SandboxError> {
        match self.mode() {
            IsolationMode::Bubblewrap => Ok(EgressSocket::inside(Box::new(serve))),
            IsolationMode::None => EgressSocket::on_this_host(Box::new(serve))
                .map_err(|source| SandboxError::io("listen on the loopback", source)),
        }
    }

    /// A network for several jobs, in which these names resolve to its loopback.
    ///
    /// # Errors
    /// If the system cannot create one, and in the mode `none`.
    pub async fn shared_network(&self, names: Vec<String>) -> Result<SharedNetwork, SandboxError> {
        match self.mode() {
            IsolationMode::Bubblewrap => SharedNetwork::new(names)
                .await
                .map_err(|source| SandboxError::io("make a network for several jobs", source)),
            IsolationMode::None => {
                Err(SandboxError::BadJob("without a sandbox there is no network of jobs' own".to_owned()))
            }
        }
    }

    /// Runs a job to its end and passes its output to `sink`. On return, or soon after the future is dropped,
    /// everything that the job started has been killed. In the mode `none` without control groups, only its process
    /// group is.
    ///
    /// # Errors
    /// If the job could not start. A job that started and failed is not an error.
    pub async fn run(&self, mut job: Job, sink: &mut dyn Sink) -> Result<JobResult, SandboxError> {
        job.check()?;
        job.limits = job.limits.at_most(self.limits);
        let ran = match &self.backend.bubblewrap {
            Some(bubblewrap) => bubblewrap::run(bubblewrap, &self.backend, job, sink).await,
            None => no_sandbox::run(&self.backend, job, sink).await,
        };
        metrics().sandbox_started(ran.is_ok());
        ran
    }

    /// Tests whether jobs can run now, by running one.
    ///
    /// # Errors
    /// Says what to install or enable.
    pub async fn check(&self) -> Result<(), SandboxError> {
        if self.mode() == IsolationMode::None {
            return Ok(());
        }
        let place = tempfile::tempdir().map_err(|source| {
            SandboxError::io(
                format!("make a temporary folder in {:?} (TMPDIR)", std::env::temp_dir()),
                source,
            )
        })?;
        match self.try_job(Job::probe(place.path())).await {
            Err(SandboxError::NotStarted { said, .. }) => Err(SandboxError::Unusable { said }),
            tried => tried,
        }
    }

    /// Tests whether jobs can use layers in this folder; the kernel and the file system must support it.
    ///
    /// # Errors
    /// Says why not.
    pub async fn check_layers(&self, folder: &Path) -> Result<(), SandboxError> {
        if self.mode() == IsolationMode::None {
            return Err(SandboxError::Unusable { said: "the mode `none` makes no mounts".to_owned() });
        }
        let made = |source| SandboxError::io("make a folder of layers", source);
        std::fs::create_dir_all(folder).map_err(made)?;
        let place = tempfile::tempdir_in(folder).map_err(made)?;
        let [home, lower, upper, work] =
            ["home", "lower", "upper", "work"].map(|name| place.path().join(name));
        for folder in [&home, &lower, &upper, &work] {
            std::fs::create_dir(folder).map_err(made)?;
        }
        std::fs::write(lower.join("gone"), "").map_err(made)?;
        let mut job = Job::probe(&home);
        job.program = ["rm", "gone"].map(Into::into).to_vec();
        job.layers = vec![LayerStack { at: home, lower: vec![lower], upper, work }];
        self.try_job(job).await
    }

    async fn try_job(&self, job: Job) -> Result<(), SandboxError> {
        let mut said = CollectedOutput::default();
        let ended = self.run(job, &mut said).await?;
        if ended.exit == Exit::Code(0) {
            return Ok(());
        }
        let said = format!("{}: {}", ended.exit, String::from_utf8_lossy(&said.stderr).trim());
        Err(SandboxError::Unusable { said })
    }

    /// Whether a program can be found, without running it. Programs in a job's own folders are not checked.
    pub fn has(&self, named: &str) -> bool {
        match named.starts_with('/') {
            true => program::is_program(named.as_ref()),
            false => named.contains('/') || self.locate(named).is_some(),
        }
    }

    /// How to test whether one of this machine's programs can start in a job's own root.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn root_trial(&self, program: &Path) -> Result<RootTrial, SandboxError> {
        let found = match program.to_str().filter(|name| !name.contains('/')) {
            Some(name) => self.locate(name),
            None => program.exists().then(|| program.to_owned()),
        };
        let found = found.ok_or_else(|| SandboxError::NoProgram { program: program.to_owned() })?;
        Ok(RootTrial::of(&found, &self.backend.reads))
    }

    /// The path of the program that jobs would start under this name.
    pub fn locate(&self, name: &str) -> Option<PathBuf> {
        program::find(name, self.backend.reads.search_path())
    }

    /// Variables for running a program of this machine outside the sandbox, only to ask its version: those of jobs,
    /// with the machine's own home. Other variables of this process may be secrets.
    pub fn host_environment(&self) -> Vec<(String, OsString)> {
        let home = std::env::var_os("HOME").unwrap_or_else(|| "/".into());
        self.backend.reads.own_environment().all(Path::new(&home), &std::env::temp_dir(), &[])
    }
}
