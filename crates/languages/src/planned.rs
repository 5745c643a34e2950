//! What a plan is made of: commands, and folders of programs and of builds.
//!
//! May know: where a command comes from. Must never know: which ecosystems there are, and who executes a command.

use std::collections::BTreeSet;

/// One command of a setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupCommand {
    pub command: String,
    /// The file, or the place in it, that this command comes from.
    pub because: String,
}

/// The test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTest {
    pub command: String,
    /// The file, or the place in it, that this command comes from.
    pub because: String,
    /// The tests without additional steps such as a linter, or as the files indicate if the repository's own command
    /// cannot run here. Used if the base fails the whole command but passes this one.
    pub tests_alone: Option<String>,
    /// Whether the repository itself says this command, rather than files from which it is guessed.
    pub is_stated: bool,
}

impl PlannedTest {
    pub fn new(command: impl Into<String>, because: impl Into<String>) -> Self {
        Self { command: command.into(), because: because.into(), tests_alone: None, is_stated: false }
    }

    /// The same test with `tests_alone` as its command.
    pub fn alone(&self) -> Option<Self> {
        let command = self.tests_alone.clone()?;
        Some(Self { command, tests_alone: None, ..self.clone() })
    }
}

/// A folder of programs that a setup creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramFolder {
    /// Relative to the repository's root.
    Tree(String),
    /// Relative to the job's home.
    Home(String),
}

/// A place in the tree for packages.
#[derive(Debug)]
pub struct PackagePlace {
    /// Makes it.
    pub command: &'static str,
    /// Its programs, relative to the root.
    pub programs: &'static str,
    /// The variable that names it, and its value.
    pub variable: (&'static str, &'static str),
}

/// A build that is made once, so that later runs of a test command need not begin with nothing.
///
/// What it keeps must never pass for a build of other code of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptBuild {
    /// Builds what the test command builds, and runs no test.
    pub command: String,
    pub tree: Vec<BuildFolder>,
    /// Folders of the job's home that go by content alone.
    pub home: Vec<&'static str>,
}

/// What is kept of the folders that a build tool makes in the tree. It goes by times, so all of it has to look older
/// than any source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildFolder {
    /// The file that tells such a folder.
    pub sign: &'static str,
    /// Names of the folders in it, at any depth, that may be kept. Tests could take what lies elsewhere for their own.
    pub caches: &'static [&'static str],
    /// The repository's own packages, of which a cache keeps no entry.
    pub own: BTreeSet<String>,
}

impl BuildFolder {
    /// Whether an entry of a cache is of the repository's own packages: named like one, with or without a digest.
    pub fn is_own(&self, entry: &str) -> bool {
        let is_digest = |end: &str| end.len() == 16 && end.bytes().all(|byte| byte.is_ascii_hexdigit());
        let stem = entry.split('.').next().unwrap_or(entry);
        let stem = match stem.rsplit_once('-') {
            Some((name, end)) if is_digest(end) => name,
            Some(_) | None => stem,
        };
        // A library is named by its crate.
        let is_same = |name: &str| self.own.iter().any(|own| own.replace('-', "_") == name.replace('-', "_"));
        is_same(stem) || stem.strip_prefix("lib").is_some_and(is_same)
    }
}
