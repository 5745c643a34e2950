//! Sandbox jobs for an order's effects.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};

use journeyman_order::{EffectError, Exit};
use journeyman_sandbox::{
    CollectedOutput, Job, JobLimits, JobResult, JobUser, Mount, MountAccess, Sandbox, SandboxNetwork, Sink,
};

use super::effect_error::{never, soon};
use journeyman_workspace::remove_all;

const SHORT: Duration = Duration::from_secs(300);

pub(crate) fn writable(path: &Path) -> Mount {
    Mount { path: path.to_owned(), access: MountAccess::ReadWrite }
}

pub(crate) fn readable(path: &Path) -> Mount {
    Mount { path: path.to_owned(), access: MountAccess::ReadOnly }
}

pub(crate) fn short_job(program: Vec<OsString>, directory: &Path, home: &Path, mounts: Vec<Mount>) -> Job {
    Job {
        program,
        directory: directory.to_owned(),
        environment: BTreeMap::new(),
        stdin: Vec::new(),
        home: home.to_owned(),
        mounts,
        layers: Vec::new(),
        search: Vec::new(),
        relocations: Vec::new(),
        user: JobUser::default(),
        root: None,
        joins: None,
        network: SandboxNetwork::None,
        limits: JobLimits::small(),
        timeout: SHORT,
        most_output: 8 * 1024 * 1024,
    }
}

/// The standard output of a successful job; otherwise an error with the job's name and the end of its output.
pub(crate) async fn succeed(sandbox: &Sandbox, job: Job, what: &str) -> Result<Vec<u8>, EffectError> {
    let mut said = CollectedOutput::default();
    let ended = sandbox.run(job, &mut said).await?;
    if ended.exit != Exit::Code(0) {
        return Err(failed_job(what, &ended, &said));
    }
    Ok(said.stdout)
}

pub(crate) fn failed_job(what: &str, ended: &JobResult, said: &CollectedOutput) -> EffectError {
    let tail = String::from_utf8_lossy(&said.stderr);
    let tail: String = tail.trim().chars().take(500).collect();
    soon(format!("{what} ended with {}: {tail}", ended.exit))
}

pub(crate) fn make_folder(folder: &Path) -> Result<(), EffectError> {
    std::fs::create_dir_all(folder)
        .map_err(|error| soon(format!("cannot make {}: {error}", folder.display())))
}

/// Keeps the end of an output in memory, and the digest of all of it.
#[derive(Default)]
pub(crate) struct OutputRecorder {
    tail: Vec<u8>,
    is_cut: bool,
    digest: Sha256,
}

impl OutputRecorder {
    const TAIL: usize = 8 * 1024 * 1024;

    fn take(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * Self::TAIL {
            self.tail.drain(..self.tail.len() - Self::TAIL);
            self.is_cut = true;
        }
    }

    /// The end of the output, whether the rest was cut, and the digest of all of it.
    pub(crate) fn finish(self) -> (String, bool, String) {
        let digest = hex::encode(self.digest.finalize());
        (String::from_utf8_lossy(&self.tail).into_owned(), self.is_cut, digest)
    }
}

impl Sink for OutputRecorder {
    fn stdout(&mut self, bytes: &[u8]) {
        self.take(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.take(bytes);
    }
}

pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EffectError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| never(format!("a fault of Journeyman's own: {error}")))
}

/// Also removes folders that were made unwritable, as Go does with its module cache. Slow for large folders.
pub(crate) async fn remove(place: &std::path::Path) -> Result<(), EffectError> {
    let place = place.to_owned();
    blocking(move || {
        remove_all(&place).map_err(|error| soon(format!("cannot clear {}: {error}", place.display())))
    })
    .await?
}
