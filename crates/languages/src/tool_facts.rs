//! What is known of a tool: its programs, versions, package, and the actions of workflows that set it up.
//!
//! May know: how files name a version. Must never know: any tool.

use crate::files::RepositoryFiles;

/// A tool that environments need. What it leaves out: it is a program of its name, and nothing but mise installs it.
pub(crate) struct ToolFacts {
    /// Its name in plans, and for mise.
    pub(crate) name: &'static str,
    /// Its programs, the one with its version first.
    pub(crate) programs: &'static [&'static str],
    /// The arguments that print its version.
    pub(crate) version_arguments: &'static [&'static str],
    pub(crate) actions: &'static [SetupAction],
    pub(crate) package: ToolPackage,
    /// The name of its package from a major version on, if it differs.
    pub(crate) package_since: Option<(u64, &'static str)>,
    /// Packages that have to be installed with it. It is installed even if it is present, since it may lack them.
    pub(crate) plugins: &'static [&'static str],
    /// Files with its version in a line.
    pub(crate) version_files: &'static [&'static str],
    /// The version that a manifest asks for, if there is no such file.
    pub(crate) asked: fn(&RepositoryFiles<'_>, &str) -> Option<WantedVersion>,
    /// Words for any version.
    pub(crate) any_version: &'static [&'static str],
}

/// The registry from which a tool can be installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolPackage {
    None,
    Pypi,
    Npm,
    /// A runtime in npm's registry, which takes version ranges and needs an npm that is present.
    NpmRuntime,
}

/// The value of an input by its name.
type ActionInputs<'a> = &'a dyn Fn(&str) -> Option<String>;

/// An action of workflows that sets up a tool.
pub struct SetupAction {
    pub(crate) name: &'static str,
    /// The input that holds the version.
    pub version: &'static str,
    /// The command by which it also installs dependencies, if its inputs say so.
    pub installs: fn(ActionInputs<'_>) -> Option<&'static str>,
}

impl SetupAction {
    pub(crate) const fn new(name: &'static str, version: &'static str) -> Self {
        Self { name, version, installs: |_| None }
    }
}

/// The file that asks for a version, and the version as it is written there.
pub(crate) type WantedVersion = (&'static str, String);

impl ToolFacts {
    /// A tool of which nothing is known.
    pub(crate) const NONE: Self = Self {
        name: "",
        programs: &[],
        version_arguments: &["--version"],
        actions: &[],
        package: ToolPackage::None,
        package_since: None,
        plugins: &[],
        version_files: &[],
        asked: |_, _| None,
        any_version: &[],
    };

    /// The program that prints its version.
    pub(crate) fn program(&self) -> &'static str {
        self.programs.first().copied().unwrap_or(self.name)
    }

    /// The required version. A file of its own takes precedence.
    pub(crate) fn wanted(&self, files: &RepositoryFiles<'_>) -> Option<WantedVersion> {
        let lines = || self.version_files.iter().find_map(|file| line_of(files, file));
        lines().or_else(|| (self.asked)(files, self.name))
    }

    /// A version as numbers, if it is an alias such as `latest`.
    pub(crate) fn as_numbers(&self, version: &str) -> String {
        let words = version.split("||").map(str::trim);
        let numbers = words.map(|word| if self.any_version.contains(&word) { "*" } else { word });
        numbers.collect::<Vec<_>>().join(" || ")
    }
}

/// The first line, such as `3.2.1`, `cpython-3.12` or `temurin-17`.
fn line_of(files: &RepositoryFiles<'_>, file: &'static str) -> Option<WantedVersion> {
    let text = files.text(file)?;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let version = pattern!(r"^(?:[A-Za-uw-z].*-)?").replace(line, "").into_owned();
    (version.len() <= 60).then_some((file, version))
}
