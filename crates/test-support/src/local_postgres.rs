//! A PostgreSQL of a test's own, which can be killed and started again. Its files are in a temporary folder.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::repository;

pub struct LocalPostgres {
    // Dropped before its folder.
    process: Child,
    folder: TempDir,
    pub url: String,
}

impl LocalPostgres {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (process, url) = run(&folder);
        Self { process, folder, url }
    }

    /// As a power failure does: what was committed is in the folder.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// On the files of before.
    pub fn start_again(&mut self) {
        (self.process, self.url) = run(&self.folder);
    }
}

/// The script waits for each thing for so long and no longer, and ends with its input, which is ours.
fn run(folder: &TempDir) -> (Child, String) {
    let mut command = Command::new("python3");
    command.arg(repository().join("scripts/postgres.py")).arg(folder.path());
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut url = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
    assert!(!url.is_empty(), "PostgreSQL does not start; the script said why");
    (process, url.trim().to_owned())
}

impl Drop for LocalPostgres {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
