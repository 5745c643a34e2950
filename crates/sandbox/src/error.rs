//! Errors of running a job.

use journeyman_order::EffectError;
use journeyman_order::moves::Retry;
use std::path::PathBuf;
use std::time::Duration;

/// Why a job could not run. Messages name paths and programs, never the values of variables.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// `bwrap` is not on the PATH.
    #[error(
        "sandbox.mode is \"bubblewrap\" but no `bwrap` is on the PATH: install it (Debian, Ubuntu, Fedora: the \
         package `bubblewrap`), or set sandbox.mode = \"none\" to run agents and tests without a sandbox"
    )]
    Missing,
    /// bubblewrap is installed but may not create its namespaces.
    #[error(
        "bubblewrap, which has to be 0.8 or newer, cannot make its namespaces here ({said}). {}, or set sandbox.mode = \
         \"none\" to run agents and tests without a sandbox",
        remedy(.said)
    )]
    Unusable { said: String },
    /// The job is contradictory.
    #[error("the job cannot be run: {0}")]
    BadJob(String),
    /// The job's program was not found.
    #[error("the program {program:?} was not found: install it, or give its absolute path")]
    NoProgram {
        /// As named in the job.
        program: PathBuf,
    },
    /// The program could not be started in the sandbox.
    #[error("{program:?} could not be started in the sandbox: {said}")]
    NotStarted {
        /// As named in the job.
        program: PathBuf,
        /// The message of the system or bubblewrap.
        said: String,
    },
    /// bubblewrap neither started nor reported an error.
    #[error("{program} has not started a job within {} seconds; if this stays, look at what the machine is busy with", within.as_secs())]
    TooSlow { program: &'static str, within: Duration },
    /// The system refused something that every job needs.
    #[error("could not {what}: {source}")]
    Io {
        what: String,
        /// The system's error.
        source: std::io::Error,
    },
}

/// How to give bubblewrap what it was refused, from its message.
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
