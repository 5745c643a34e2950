//! The walls around what we run for others: agents, setup and test commands, and git in the agent's repository.
//!
//! May know: processes, namespaces, the machine's toolchains, [`crate::order`]'s way to say how a process ended.
//! Must never know: orders, repositories, agents, credentials. What a job may see is written in the job.
//!
//! Rules that every job is under, in the mode `bubblewrap`:
//! - It sees the system's programs and toolchains read-only, the mounts it names, its home, and nothing else.
//!   Paths are the same inside and outside, so that the mode `none` runs the same job.
//! - It starts from an empty environment, and its variables never stand on a command line, which all may read.
//! - Its end is the end of everything it started: a PID namespace has no survivors.

mod bubblewrap;
mod error;
mod job;
mod program;
mod pump;
mod reads;
mod spawner;
mod toolchains;
mod unwalled;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

pub use error::SandboxError;
pub use job::{Access, Collected, Ended, Job, Mode, Mount, Network, Sink};

use reads::Reads;

/// Runs jobs behind walls. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    walls: Arc<Walls>,
}

#[derive(Debug)]
enum Walls {
    Bubblewrap { program: PathBuf, reads: Reads },
    None { reads: Reads },
}

impl Sandbox {
    /// Looks at the machine once: which toolchains there are and, for [`Mode::Bubblewrap`], whether bubblewrap is
    /// installed and may make its namespaces. `extra_reads` are files and folders that every job may read besides.
    ///
    /// # Errors
    /// Says what to install or to enable. There is no fallback: [`Mode::None`] has to be asked for by name.
    pub async fn new(mode: Mode, extra_reads: Vec<PathBuf>) -> Result<Self, SandboxError> {
        spawner::keep_what_was_inherited()
            .map_err(|source| SandboxError::io("look at the open files of this process", source))?;
        let reads = Reads::of_this_machine(extra_reads)?;
        let walls = match mode {
            Mode::None => Walls::None { reads },
            Mode::Bubblewrap => {
                let program = program::find("bwrap", reads.search_path()).ok_or(SandboxError::Missing)?;
                Walls::Bubblewrap { program, reads }
            }
        };
        let sandbox = Self { walls: Arc::new(walls) };
        if mode == Mode::Bubblewrap {
            sandbox.probe().await?;
        }
        Ok(sandbox)
    }

    /// Which walls these are. Said on every receipt.
    pub fn mode(&self) -> Mode {
        match &*self.walls {
            Walls::Bubblewrap { .. } => Mode::Bubblewrap,
            Walls::None { .. } => Mode::None,
        }
    }

    /// Runs a job to its end and hands `sink` what it prints. When this returns, and when the future is dropped,
    /// everything that the job started has been killed (in the mode `none`: what stayed in its process group).
    ///
    /// # Errors
    /// When the job could not be started. A job that was started and failed is not an error.
    pub async fn run(&self, job: Job, sink: &mut dyn Sink) -> Result<Ended, SandboxError> {
        job.check()?;
        let begun = Instant::now();
        let (exit, output_cut) = match &*self.walls {
            Walls::Bubblewrap { program, reads } => bubblewrap::run(program, reads, job, sink).await?,
            Walls::None { reads } => unwalled::run(reads, job, sink).await?,
        };
        Ok(Ended { exit, duration: begun.elapsed(), output_cut })
    }

    /// Whether jobs can be run now: the walls are tried once more.
    ///
    /// # Errors
    /// Says what to install or to enable.
    pub async fn check(&self) -> Result<(), SandboxError> {
        match &*self.walls {
            Walls::Bubblewrap { .. } => self.probe().await,
            Walls::None { .. } => Ok(()),
        }
    }

    /// Whether a program would be found, before anything is run. One that lies in a job's own folders is not looked at.
    ///
    /// # Errors
    /// [`SandboxError::NoProgram`].
    pub fn find(&self, named: &str) -> Result<(), SandboxError> {
        let (Walls::Bubblewrap { reads, .. } | Walls::None { reads }) = &*self.walls;
        program::is_there(named.as_ref(), reads)
    }

    /// The walls are tried before anything is trusted to them.
    async fn probe(&self) -> Result<(), SandboxError> {
        let place =
            tempfile::tempdir().map_err(|source| SandboxError::io("make a temporary folder", source))?;
        let job = Job::probe(place.path());
        let mut said = Collected::default();
        match self.run(job, &mut said).await {
            Ok(ended) if ended.exit == crate::order::Exit::Code(0) => Ok(()),
            Ok(ended) => {
                let said = format!("{}: {}", ended.exit, String::from_utf8_lossy(&said.stderr).trim());
                Err(SandboxError::Unusable { said })
            }
            Err(SandboxError::NotStarted { said, .. }) => Err(SandboxError::Unusable { said }),
            Err(other) => Err(other),
        }
    }
}
