//! Jobs in the sandbox, as the order's effects need them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::order::{Exit, Trouble};
use crate::sandbox::{Access, Collected, Job, Mount, Network, Sandbox, Sink};

use super::soon;

/// Git and small shell commands in the agent's workspace end within this.
const SHORT: Duration = Duration::from_secs(300);

/// A folder that a job may write.
pub(super) fn writable(path: &Path) -> Mount {
    Mount { path: path.to_owned(), access: Access::ReadWrite }
}

/// A folder that a job may only read.
pub(super) fn readable(path: &Path) -> Mount {
    Mount { path: path.to_owned(), access: Access::ReadOnly }
}

/// A short command without network. Its standard output, or trouble with the end of what it said.
pub(super) async fn short(
    sandbox: &Sandbox,
    program: Vec<OsString>,
    directory: &Path,
    home: &Path,
    mounts: Vec<Mount>,
) -> Result<Vec<u8>, Trouble> {
    fed(sandbox, program, directory, home, mounts, Vec::new()).await
}

/// The same, with something on its standard input.
pub(super) async fn fed(
    sandbox: &Sandbox,
    program: Vec<OsString>,
    directory: &Path,
    home: &Path,
    mounts: Vec<Mount>,
    stdin: Vec<u8>,
) -> Result<Vec<u8>, Trouble> {
    let job = Job {
        program,
        directory: directory.to_owned(),
        environment: BTreeMap::new(),
        stdin,
        home: home.to_owned(),
        mounts,
        network: Network::None,
        timeout: SHORT,
        most_output: 8 * 1024 * 1024,
    };
    let mut said = Collected::default();
    let ended = sandbox.run(job, &mut said).await?;
    if ended.exit != Exit::Code(0) {
        let tail = String::from_utf8_lossy(&said.stderr);
        let tail: String = tail.trim().chars().take(500).collect();
        return Err(soon(format!("a command in the agent's workspace ended with {}: {tail}", ended.exit)));
    }
    Ok(said.stdout)
}

/// Keeps all output in a file, its end in memory, and its digest.
pub(super) struct Recorder {
    file: File,
    tail: Vec<u8>,
    digest: Sha256,
    fault: Option<std::io::Error>,
}

impl Recorder {
    /// What of the end is kept in memory.
    const TAIL: usize = 1024 * 1024;

    pub(super) fn create(path: &PathBuf) -> std::io::Result<Self> {
        Ok(Self { file: File::create(path)?, tail: Vec::new(), digest: Sha256::new(), fault: None })
    }

    fn take(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        if let Err(error) = self.file.write_all(bytes) {
            self.fault.get_or_insert(error);
        }
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > 2 * Self::TAIL {
            self.tail.drain(..self.tail.len() - Self::TAIL);
        }
    }

    /// The end of the output, and the SHA-256 of all of it.
    pub(super) fn finish(self) -> (String, String) {
        if let Some(error) = self.fault {
            tracing::warn!("an output could not be kept whole: {error}");
        }
        (String::from_utf8_lossy(&self.tail).into_owned(), hex::encode(self.digest.finalize()))
    }
}

impl Sink for Recorder {
    fn stdout(&mut self, bytes: &[u8]) {
        self.take(bytes);
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.take(bytes);
    }
}
