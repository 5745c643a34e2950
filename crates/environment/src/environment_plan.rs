//! What an environment consists of, as data: the answer of this crate.
//!
//! May know: commands, folders, names of tools. Must never know: who carries the plan out, and where.

use std::collections::BTreeMap;
use std::fmt;

use crate::required_tool::RequiredTool;

/// What a repository's work happens in, and how it is tested. Shell commands run in the repository's root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentPlan {
    /// Who said so.
    pub source: EnvironmentSource,
    /// An OCI image, as it was written; none: the host.
    pub image: Option<String>,
    pub services: Vec<PlannedService>,
    /// As they were written: `{tree}` and `{home}` stand for places that the caller knows. Use [`Self::environment`].
    pub variables: BTreeMap<String, String>,
    /// Folders of programs that the setup makes, for the front of PATH, of the setup too. Use [`Self::search_folders`].
    pub search_path: Vec<ProgramFolder>,
    /// Installs what the tests need; with network. In this order.
    pub setup: Vec<SetupCommand>,
    /// Runs the tests; none: the repository has none that we can find, so nothing can be verified.
    pub test: Option<PlannedTest>,
    /// Where the settings name folders: those whose tests are run, see [`Self::for_change`] and [`Self::in_each_folder`].
    pub folders: Vec<PlannedFolder>,
    /// Those whose tests are not run, see [`Self::for_change`].
    pub left_out: Vec<String>,
    /// Projects that the test command does not run. Where the settings name no tests, those of the ones that a change concerns
    /// are run as well, see [`Self::for_change`].
    pub below: Vec<ProjectBelow>,
    /// Where the test command writes a JUnit report, from the root. Whoever runs the tests has to make sure that
    /// no such file is there before.
    pub report: Option<String>,
    /// What has to be there before, and whether it is.
    pub required_tools: Vec<RequiredTool>,
    /// Paths whose content decides what the setup makes.
    pub decisive_files: Vec<String>,
    /// Of these, the scripts that its commands run.
    pub setup_scripts: Vec<String>,
    pub dependency_folders: DependencyFolders,
    /// Whether the build asks git for the version of the project: the repository in which the setup runs should have the
    /// newest tag of the commit, or packages that need this one may refuse it.
    pub version_from_git: bool,
    /// The file of a setup that somebody wrote and that is too long: commands are left out, and it makes half of what was
    /// asked for.
    pub cut_setup: Option<String>,
    /// What was left out, and what a person may have to do.
    pub notes: Vec<String>,
}

impl EnvironmentPlan {
    /// The variables, for a checkout and a home as jobs see them.
    pub fn environment(&self, tree: &str, home: &str) -> BTreeMap<String, String> {
        let value = |value: &String| value.replace("{tree}", tree).replace("{home}", home);
        self.variables.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }

    /// The folders to put in front of PATH, for a checkout and a home as jobs see them.
    pub fn search_folders(&self, tree: &str, home: &str) -> Vec<String> {
        let folder = |place: &ProgramFolder| match place {
            ProgramFolder::Tree(path) => format!("{tree}/{path}"),
            ProgramFolder::Home(path) => format!("{home}/{path}"),
        };
        self.search_path.iter().map(folder).collect()
    }

    /// The setup as one shell command, which ends with the first that fails; none where there is nothing to install.
    pub fn setup_command(&self) -> Option<String> {
        let commands: Vec<&str> = self.setup.iter().map(|setup| setup.command.trim()).collect();
        let is_plain =
            |command: &&str| !command.contains(['\n', ';', '|', '#']) && !command.starts_with("cd ");
        match commands.as_slice() {
            [] => None,
            [one] => Some((*one).to_owned()),
            // What one changes of its shell is nothing to the next.
            several if several.iter().all(is_plain) => Some(several.join(" && ")),
            several => {
                Some(several.iter().map(|one| format!("(\n{one}\n)")).collect::<Vec<_>>().join(" && "))
            }
        }
    }

    pub fn test_command(&self) -> Option<&str> {
        self.test.as_ref().map(|test| test.command.as_str())
    }
}

/// Which of the places that may describe an environment was taken, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EnvironmentSource {
    /// `.github/journeyman.yml`, by these keys.
    Settings { keys: Vec<&'static str> },
    /// A development container.
    Devcontainer { path: String },
    /// The job `copilot-setup-steps` of a workflow.
    CopilotSetupSteps { path: String },
    /// Manifests and lockfiles.
    Found { what: &'static str, because: String },
    /// Nothing says anything.
    #[default]
    Nothing,
}

impl EnvironmentSource {
    /// The file that says it.
    pub fn file(&self) -> &str {
        match self {
            Self::Settings { .. } => ".github/journeyman.yml",
            Self::Devcontainer { path } | Self::CopilotSetupSteps { path } => path,
            Self::Found { because, .. } => because,
            Self::Nothing => "",
        }
    }
}

impl fmt::Display for EnvironmentSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings { keys } => {
                let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                write!(f, "`.github/journeyman.yml`, which has {}", keys.join(" and "))
            }
            Self::Devcontainer { path } => {
                write!(
                    f,
                    "the development container `{path}`, since `.github/journeyman.yml` has neither image nor setup"
                )
            }
            Self::CopilotSetupSteps { path } => {
                write!(
                    f,
                    "the setup steps of `{path}`, since there is no `image` or `setup` in `.github/journeyman.yml` and no development container that says them"
                )
            }
            Self::Found { what, because } => write!(f, "{what}, found by `{because}`"),
            Self::Nothing => {
                f.write_str("nothing: no settings, no development container, and no manifest that is known")
            }
        }
    }
}

/// One command of a setup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupCommand {
    pub command: String,
    /// The file, or the place in it, that made us run it.
    pub because: String,
}

/// The test command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTest {
    pub command: String,
    /// The file, or the place in it, that made us run it.
    pub because: String,
    /// The tests without what the command does beside them, such as a linter: taken where the base fails by the whole
    /// command, and passes by this one.
    pub tests_alone: Option<String>,
}

impl PlannedTest {
    pub fn new(command: impl Into<String>, because: impl Into<String>) -> Self {
        Self { command: command.into(), because: because.into(), tests_alone: None }
    }

    /// The same, by its tests alone.
    pub fn alone(&self) -> Option<Self> {
        let command = self.tests_alone.clone()?;
        Some(Self { command, because: self.because.clone(), tests_alone: None })
    }
}

/// A folder with tests of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFolder {
    /// From the root; empty for the root itself.
    pub path: String,
    /// What its tests are about besides, from the root.
    pub also: Vec<String>,
    /// Its tests, as commands of the repository's root; none where it has none that we can find.
    pub test: Option<PlannedTest>,
}

impl PlannedFolder {
    /// Whether its tests are about a path.
    pub(crate) fn is_concerned(&self, path: &str) -> bool {
        self.path.is_empty() || lies_in(path, &self.path) || self.also.iter().any(|also| lies_in(path, also))
    }
}

/// Whether a path is this one, or lies in it.
fn lies_in(path: &str, folder: &str) -> bool {
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A project below the root that the test command does not run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectBelow {
    pub path: String,
    /// From the root.
    pub manifest: String,
    /// How it is set up and tested by itself; none where no tests were found.
    pub plan: Option<EnvironmentPlan>,
}

/// A service that runs beside the tests, reachable by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedService {
    pub name: String,
    pub image: String,
    pub env: BTreeMap<String, String>,
    /// A shell command that succeeds once the service can be used.
    pub ready: Option<String>,
}

/// A folder of programs that a setup makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProgramFolder {
    /// From the repository's root.
    Tree(String),
    /// From the home of the job.
    Home(String),
}

/// Folders of a checkout that hold what a setup installs, and that are nobody's source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DependencyFolders {
    /// A name with a slash in front is one in the root; others are found at any depth. A star stands for anything, once.
    pub(crate) patterns: Vec<String>,
}

impl DependencyFolders {
    /// Whether a path, from the root, is such a folder or lies in one.
    pub fn contain(&self, path: &str) -> bool {
        self.patterns.iter().any(|pattern| is_in(pattern, path))
    }
}

pub(crate) fn is_in(pattern: &str, path: &str) -> bool {
    match pattern.strip_prefix('/') {
        Some(at_root) => {
            path.strip_prefix(at_root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
        None => path.split('/').any(|part| match pattern.split_once('*') {
            Some((start, end)) => {
                part.len() >= start.len() + end.len() && part.starts_with(start) && part.ends_with(end)
            }
            None => part == pattern,
        }),
    }
}
