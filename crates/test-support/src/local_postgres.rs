//! A PostgreSQL for one test, which can be killed and restarted. Its files are in a temporary folder.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::repository;

pub struct LocalPostgres {
    // Must be dropped before its folder.
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

    /// Like a power failure: committed data is in the folder.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Restarts it on the same files.
    pub fn start_again(&mut self) {
        (self.process, self.url) = run(&self.folder);
    }
}

/// The script has a timeout for each step, and ends when its standard input is closed.
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
