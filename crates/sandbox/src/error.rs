//! Why a job could not be run.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;
use std::path::PathBuf;
use std::time::Duration;

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
        "bubblewrap, which has to be 0.8 or newer, cannot make its namespaces here ({said}). {}, or set sandbox.mode = \
         \"none\" to run agents and tests without a sandbox",
        remedy(.said)
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
    /// What makes the walls neither began nor said why.
    #[error("{program} has not started a job within {} seconds; if this stays, look at what the machine is busy with", within.as_secs())]
    TooSlow { program: &'static str, within: Duration },
    /// The system refused something that belongs to running any job.
    #[error("could not {what}: {source}")]
    Io {
        what: String,
        /// What the system said.
        source: std::io::Error,
    },
}

/// What gives bubblewrap back what it was refused, by its own words.
fn remedy(said: &str) -> &'static str {
    if said.contains("hostname") {
        "It may not set a sandbox's host name: remove ProtectHostname= from the systemd unit of the server, or allow \
         sethostname in the seccomp profile of its container"
    } else if said.contains("mount proc") {
        "The kernel refuses a new /proc where parts of /proc are covered: remove ProtectKernelTunables=, \
         ProtectKernelLogs=, ProtectProc= and ProcSubset= from the systemd unit of the server, or unmask /proc in its \
         container"
    } else {
        "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1; on Ubuntu the AppArmor profile \
         /etc/apparmor.d/journeyman-bwrap, which the .deb installs and docs/TROUBLESHOOTING.md shows, or \
         kernel.apparmor_restrict_unprivileged_userns=0; in a systemd unit: no RestrictNamespaces=; in a container: a \
         seccomp profile that allows them and an unmasked /proc)"
    }
}

impl SandboxError {
    pub(super) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

impl From<SandboxError> for EffectError {
    fn from(error: SandboxError) -> Self {
        let retry = match &error {
            SandboxError::TooSlow { .. } => Retry::Soon,
            SandboxError::Missing
            | SandboxError::Unusable { .. }
            | SandboxError::BadJob(_)
            | SandboxError::NoProgram { .. }
            | SandboxError::NotStarted { .. }
            | SandboxError::Io { .. } => Retry::Never,
        };
        Self { message: error.to_string(), retry }
    }
}
