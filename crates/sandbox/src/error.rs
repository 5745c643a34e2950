//! Why a job could not be run.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;
use std::path::PathBuf;

/// Why a job could not be run. Texts name paths and programs, never the values of variables.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// There is no `bwrap` on the PATH.
    #[error(
        "sandbox.mode is \"bubblewrap\" but no `bwrap` is on the PATH: install it (Debian, Ubuntu, Fedora: the \
         package `bubblewrap`), or set sandbox.mode = \"none\" to run agents and tests without a sandbox"
    )]
    Missing,
    /// bubblewrap is there but may not build its walls.
    #[error(
        "bubblewrap, which has to be 0.8 or newer, cannot make its namespaces here ({said}). Allow unprivileged \
         user namespaces (sysctl kernel.unprivileged_userns_clone=1, and on Ubuntu \
         kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap; in a container: a seccomp \
         profile that allows them and an unmasked /proc), or set sandbox.mode = \"none\" to run agents and tests \
         without a sandbox"
    )]
    Unusable { said: String },
    /// The job contradicts itself.
    #[error("the job cannot be run: {0}")]
    BadJob(String),
    /// The job's program is nowhere.
    #[error("the program {program:?} was not found: install it, or give its absolute path")]
    NoProgram {
        /// As the job names it.
        program: PathBuf,
    },
    /// The program could not be started behind the walls.
    #[error("{program:?} could not be started in the sandbox: {said}")]
    NotStarted {
        /// As the job names it.
        program: PathBuf,
        /// What the system or bubblewrap said.
        said: String,
    },
    /// The system refused something that belongs to running any job.
    #[error("could not {what}: {source}")]
    Io {
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

impl SandboxError {
    pub(super) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

impl From<SandboxError> for EffectError {
    fn from(error: SandboxError) -> Self {
        Self { message: error.to_string(), retry: Retry::Never }
    }
}
