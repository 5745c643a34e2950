//! The plan of an environment as data. This is what the crate returns.
//!
//! May know: commands, folders, names of tools. Must never know: who executes the plan, and where.

use std::collections::BTreeMap;
use std::fmt;

use journeyman_languages::planned::{PlannedTest, ProgramFolder, SetupCommand};
use journeyman_languages::required_tool::RequiredTool;

/// The environment of a repository's work, and its test command. Shell commands run in the repository's root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentPlan {
    /// Where the plan comes from.
    pub source: EnvironmentSource,
    /// An OCI image, as written. `None` for the host.
    pub image: Option<String>,
    pub services: Vec<PlannedService>,
    /// As written: `{tree}` and `{home}` are placeholders that the caller fills. Use [`Self::environment`].
    pub variables: BTreeMap<String, String>,
    /// Program folders that the setup creates, to put first in PATH during setup too. Use [`Self::search_folders`].
    pub search_path: Vec<ProgramFolder>,
    /// Installs what the tests need, with network access. In this order.
    pub setup: Vec<SetupCommand>,
    /// Runs the tests. `None` if no tests were found, so nothing can be verified.
    pub test: Option<PlannedTest>,
    /// The tested folders if the settings list folders. See [`Self::for_change`] and [`Self::in_each_folder`].
    pub folders: Vec<PlannedFolder>,
    /// The folders whose tests do not run. See [`Self::for_change`].
    pub left_out: Vec<String>,
    /// Projects that the test command does not cover. If the settings name no tests, the tests of those that a change
    /// touches also run. See [`Self::for_change`].
    pub below: Vec<ProjectBelow>,
    /// Where the test command writes a JUnit report, relative to the root. The caller must delete an existing file
    /// there before the run.
    pub report: Option<String>,
    /// The tools that must exist before the setup, and whether they do.
    pub required_tools: Vec<RequiredTool>,
    /// Paths whose content decides what the setup produces.
    pub decisive_files: Vec<String>,
    /// The scripts among them that the setup commands run.
    pub setup_scripts: Vec<String>,
    pub dependency_folders: DependencyFolders,
    /// Whether the build derives the version from git. The setup's repository then needs the commit's newest tag, or
    /// dependent packages may refuse the version.
    pub version_from_git: bool,
    /// The file of a written setup that exceeds the limit. Some of its commands are skipped, so the environment is
    /// incomplete.
    pub cut_setup: Option<String>,
    /// What was skipped, and what a person may have to do.
    pub notes: Vec<String>,
}

impl EnvironmentPlan {
    /// The variables, with the paths of checkout and home as jobs see them.
    pub fn environment(&self, tree: &str, home: &str) -> BTreeMap<String, String> {
        let value = |value: &String| value.replace("{tree}", tree).replace("{home}", home);
        self.variables.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }

    /// The folders to put first in PATH, for a checkout and a home as jobs see them.
    pub fn search_folders(&self, tree: &str, home: &str) -> Vec<String> {
        let folder = |place: &ProgramFolder| match place {
            ProgramFolder::Tree(path) => format!("{tree}/{path}"),
            ProgramFolder::Home(path) => format!("{home}/{path}"),
        };
        self.search_path.iter().map(folder).collect()
    }

    /// The setup as one shell command that stops at the first failure. `None` if there is nothing to install.
    pub fn setup_command(&self) -> Option<String> {
        let commands: Vec<&str> = self.setup.iter().map(|setup| setup.command.trim()).collect();
        let is_plain =
            |command: &&str| !command.contains(['\n', ';', '|', '#']) && !command.starts_with("cd ");
        match commands.as_slice() {
            [] => None,
            [one] => Some((*one).to_owned()),
            // Plain commands need no subshell: none of them affects the shell of the next.
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

/// Which possible source describes the environment, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum EnvironmentSource {
    /// `.github/journeyman.yml`, through these keys.
    Settings { keys: Vec<&'static str> },
    /// A development container.
    Devcontainer { path: String },
    /// The job `copilot-setup-steps` of a workflow.
    CopilotSetupSteps { path: String },
    /// Detected from manifests and lockfiles.
    Found { what: &'static str, because: String },
    /// No source describes an environment.
    #[default]
    Nothing,
}

impl EnvironmentSource {
    /// The file that describes the environment.
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

/// A folder with its own tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFolder {
    /// Relative to the root. Empty for the root itself.
    pub path: String,
    /// Other paths that its tests cover, relative to the root.
    pub also: Vec<String>,
    /// Its test command, run in the repository's root. `None` if no tests were found.
    pub test: Option<PlannedTest>,
}

impl PlannedFolder {
    /// Whether its tests cover a path.
    pub(crate) fn is_concerned(&self, path: &str) -> bool {
        self.path.is_empty() || lies_in(path, &self.path) || self.also.iter().any(|also| lies_in(path, also))
    }
}

/// Whether a path equals the folder or is inside it.
fn lies_in(path: &str, folder: &str) -> bool {
    let folder = folder.trim_start_matches("./").trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A project below the root that the test command does not cover.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectBelow {
    pub path: String,
    /// Relative to the root.
    pub manifest: String,
    /// How to set up and test it on its own. `None` if no tests were found.
    pub plan: Option<EnvironmentPlan>,
}

/// A service that runs beside the tests, reachable by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedService {
    pub name: String,
    pub image: String,
    pub env: BTreeMap<String, String>,
    /// A shell command that succeeds once the service is ready.
    pub ready: Option<String>,
}

/// Folders of a checkout that hold installed dependencies rather than source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DependencyFolders {
    /// A leading slash anchors a name at the root; others match at any depth. One star matches anything.
    pub(crate) patterns: Vec<String>,
}

impl DependencyFolders {
    /// Whether a path, relative to the root, is such a folder or is inside one.
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
