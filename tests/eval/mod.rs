//! `journeyman eval` as people start it: suites through the real engine, and their reports.
//!
//! May know: the command line, suites' folders, the reports' documented form. Must never know: how cases run and how
//! figures are computed.

mod simulated;
mod small;
mod usage;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::reality::program::{Ended, Running, journeyman};

/// The working folder, and the reports in it.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: TempDir::new().expect("a temporary folder") }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("its folder");
        std::fs::write(path, text).expect("the file");
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("it was written")
    }

    fn report(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).expect("the report is JSON")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        journeyman(self.folder(), &[&["eval"], arguments].concat())
    }

    async fn eval(&self, arguments: &[&str]) -> Ended {
        Running::start(self.command(arguments)).end().await
    }
}

/// A path in this repository.
fn ours(name: &str) -> String {
    format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Checks that a page needs no external resources.
fn assert_stands_alone(page: &str) {
    for word in ["<script", "http://", "https://", "url(", "@import", "<link", "<img", " onload"] {
        assert!(!page.contains(word), "{word:?} is in the page");
    }
    for words in ["<!doctype html>", "prefers-color-scheme: dark", "<svg", "</html>"] {
        assert!(page.contains(words), "{words:?} is not in the page");
    }
}
