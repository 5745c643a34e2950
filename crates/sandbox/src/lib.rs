//! The walls around what we run for others: agents, setup and test commands, and git in the agent's repository.
//!
//! May know: processes, namespaces, the machine's toolchains, [`journeyman_order`]'s way to say how a process ended.
//! Must never know: orders, repositories, agents, credentials. What a job may see is written in the job.
//!
//! Rules that every job is under, in the mode `bubblewrap`:
//! - It sees the system's programs and toolchains read-only, or an image instead of them, the mounts it names, its home,
//!   and nothing else.
//!   Paths are the same inside and outside, so that the mode `none` runs the same job.
//! - It starts from an empty environment, and its variables never stand on a command line, which all may read.
//! - Its end is the end of everything it started: a PID namespace has no survivors.
//! - It makes no namespace, mount or kernel object of its own, and writes no setting of the machine's.
//! - What it may use of the machine is bounded, and which bound it reached is told.
//! - Without a network it reaches at most one address on its own loopback, at which we listen.

mod bubblewrap;
mod cgroup;
mod copy_output;
mod credential_files;
mod disk;
mod egress;
mod error;
mod home_file;
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
pub use job::{CollectedOutput, Job, JobResult, Mount, MountAccess, Relocation, SandboxNetwork, Sink};
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

/// Runs jobs behind walls. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    backend: Arc<IsolationBackend>,
    /// What no job goes over, whatever it was given.
    limits: JobLimits,
}

/// What jobs are run with on this machine.
#[derive(Debug)]
struct IsolationBackend {
    /// What makes the walls; none in the mode `none`.
    bubblewrap: Option<PathBuf>,
    /// What is shown to every job.
    reads: ReadablePaths,
    groups: Option<CgroupParent>,
}

impl Sandbox {
    /// Looks at the machine once: which toolchains there are and whether what makes the walls is installed and may make its
    /// namespaces. `extra_reads` are files and folders that every job may read besides.
    ///
    /// # Errors
    /// Says what to install or to enable. There is no fallback: [`IsolationMode::None`] has to be asked for by name.
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

    /// With other limits than the default: [`Sandbox::limits`] for jobs of agents, setups and tests, and no job above.
    #[must_use]
    pub fn limited_to(self, limits: JobLimits) -> Self {
        Self { limits, ..self }
    }

    /// What the largest jobs may use of the machine.
    pub fn limits(&self) -> JobLimits {
        self.limits
    }

    /// Which walls these are. Said on every receipt.
    pub fn mode(&self) -> IsolationMode {
        match self.backend.bubblewrap {
            Some(_) => IsolationMode::Bubblewrap,
            None => IsolationMode::None,
        }
    }

    /// What holds a job on this machine, in a line for people.
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

    /// Whether there are walls, and a job's memory and processes are bounded, and not only watched.
    pub fn is_bounded(&self) -> bool {
        self.backend.bubblewrap.is_some() && self.backend.groups.is_some()
    }

    /// A socket for one job's [`SandboxNetwork::Gateway`]. Before the job begins, `serve` is given what listens there, set not
    /// to block; who connects is the job. As long as that is open, the job's network stays.
    ///
    /// # Errors
    /// In the mode `none`, when there is no free port.
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

    /// A network for several jobs, in which these names lead to its loopback.
    ///
    /// # Errors
    /// When the system makes none, and in the mode `none`.
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

    /// Runs a job to its end and hands `sink` what it prints. When this returns, and soon after the future is dropped,
    /// everything that the job started has been killed (in the mode `none` without control groups: what stayed in its
    /// process group).
    ///
    /// # Errors
    /// When the job could not be started. A job that was started and failed is not an error.
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

    /// Whether jobs can be run now: the walls are tried before anything is trusted to them.
    ///
    /// # Errors
    /// Says what to install or to enable.
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

    /// Whether jobs can be given folders made of layers that lie in this folder: the kernel has to allow it, and the
    /// file system. It is tried.
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

    /// Whether a program would be found, before anything is run. One that lies in a job's own folders is not looked at.
    pub fn has(&self, named: &str) -> bool {
        match named.starts_with('/') {
            true => program::is_program(named.as_ref()),
            false => named.contains('/') || self.locate(named).is_some(),
        }
    }

    /// How to find out whether a program of this machine's can be started in a root of a job's own.
    ///
    /// # Errors
    /// When there is no such program.
    pub fn root_trial(&self, program: &Path) -> Result<RootTrial, SandboxError> {
        let found = match program.to_str().filter(|name| !name.contains('/')) {
            Some(name) => self.locate(name),
            None => program.exists().then(|| program.to_owned()),
        };
        let found = found.ok_or_else(|| SandboxError::NoProgram { program: program.to_owned() })?;
        Ok(RootTrial::of(&found, &self.backend.reads))
    }

    /// Where the program of this name is that jobs would start.
    pub fn locate(&self, name: &str) -> Option<PathBuf> {
        program::find(name, self.backend.reads.search_path())
    }

    /// The variables for a program of this machine that is started outside of the walls, only to say which it is: those of
    /// jobs, with the machine's own home. This process's others may be secrets.
    pub fn host_environment(&self) -> Vec<(String, OsString)> {
        let home = std::env::var_os("HOME").unwrap_or_else(|| "/".into());
        self.backend.reads.own_environment().all(Path::new(&home), &std::env::temp_dir(), &[])
    }
}
