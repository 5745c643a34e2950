//! Repositories with several projects: each folder in the settings is planned like a repository, and the plans are
//! merged.
//!
//! May know: paths, plans. Must never know: ecosystems, and how a change is judged.

use std::path::PathBuf;

use journeyman_order::settings::plain_folder;
use journeyman_order::{RepositorySettings, TestedFolder};

use crate::environment_plan::{EnvironmentPlan, EnvironmentSource, PlannedFolder, ProjectBelow};
use crate::planning::plan_one;
use crate::projects;
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::planned::{PlannedTest, ProgramFolder, SetupCommand};
use journeyman_languages::required_tool::HostTools;
use journeyman_languages::test_call::joined;

/// Common wrong names for the settings file.
const MISNAMED: [&str; 5] =
    [".github/journeyman.yaml", ".journeyman.yml", ".journeyman.yaml", "journeyman.yml", "journeyman.yaml"];

/// The plan of a repository's environment. The source is its settings, else its devcontainer, else its setup steps,
/// else its files. The test command is detected if the settings name none. Folders in the settings are planned
/// separately.
///
/// `tools` describes the place where the jobs run. If the plan names an image, plan again with the tools of that image.
pub fn plan(
    settings: &RepositorySettings,
    files: &RepositoryFiles<'_>,
    tools: &HostTools<'_>,
) -> EnvironmentPlan {
    let mut plan = plan_one(settings, files, tools);
    let misnamed = MISNAMED.iter().filter(|name| files.has(name));
    plan.notes
        .extend(misnamed.map(|name| format!("{name} is not read: rename it to .github/journeyman.yml")));
    let is_named = settings.test.as_ref().is_some_and(|test| !test.trim().is_empty());
    let names_tests = is_named || !settings.tests.is_empty();
    if !settings.tests.is_empty() {
        plan.test = None;
        if plan.source == EnvironmentSource::Nothing {
            plan.source = EnvironmentSource::Settings { keys: vec!["tests"] };
        }
        let folders = settings.tests.iter().map(|folder| planned(folder, files, tools)).collect();
        plan.add(folders);
    }
    plan.below = projects::below(&plan, files, tools);
    plan.notes.extend(projects::untested_note(&plan.below));
    if names_tests {
        let left_out = projects::named_with_tests(&plan.below).map(|named| {
            format!(
                "the tests of {named} are not run: name their folders as `tests` in .github/journeyman.yml"
            )
        });
        plan.notes.extend(left_out);
        plan.below.clear();
    }
    plan
}

/// A folder that is tested separately: its path, other paths that its tests cover, and its plan.
type OwnFolder = (String, Vec<String>, EnvironmentPlan);

fn planned(folder: &TestedFolder, files: &RepositoryFiles<'_>, tools: &HostTools<'_>) -> OwnFolder {
    // Settings contain only valid folder paths.
    let path = plain_folder(&folder.path).unwrap_or_default();
    let own = RepositorySettings {
        test: folder.test.clone(),
        setup: folder.setup.clone(),
        ..RepositorySettings::default()
    };
    let read = |name: &str| files.text(&joined(&path, name)).map(String::into_bytes);
    let mut plan = plan_one(&own, &files.within(&path, &read), tools);
    if plan.test.is_none() {
        plan.notes.insert(0, "no tests were found: name them as its `test`".to_owned());
    }
    // The root's own setup is already part of the repository's setup.
    if path.is_empty() && folder.setup.is_none() {
        plan.setup.clear();
    }
    (path, folder.also.clone(), plan)
}

impl EnvironmentPlan {
    /// Adds what the folders need to the repository's plan, and tests each folder separately.
    fn add(&mut self, folders: Vec<OwnFolder>) {
        let whole = self;
        for (path, also, own) in folders {
            // What one folder exports must not affect another's tests.
            let before = exports(&own);
            // Without a group, `cd` would apply only to the first of several commands.
            let is_one = |command: &str| !command.replace("&&", "").contains(['\n', '&']);
            let command = |command: &str| match path.is_empty() {
                true => command.to_owned(),
                false if is_one(command) => format!("cd {path} && {before}{command}"),
                false => format!("cd {path} && {before}(\n{command}\n)"),
            };
            let because = |because: &str| match because.starts_with(".github/") {
                true => because.to_owned(),
                false => joined(&path, because),
            };
            let test = |test: &PlannedTest| PlannedTest {
                command: command(&test.command),
                because: because(&test.because),
                tests_alone: test.tests_alone.as_deref().map(command),
                is_stated: test.is_stated,
            };
            let test = own.test.as_ref().map(test);
            let named = if path.is_empty() { "." } else { &path };
            whole.notes.extend(own.notes.iter().map(|note| format!("{named}: {note}")));
            whole.cut_setup = whole.cut_setup.take().or_else(|| own.cut_setup.as_deref().map(because));
            whole.setup.extend(own.setup.iter().map(|setup| SetupCommand {
                command: command(&setup.command),
                because: because(&setup.because),
            }));
            for at in &own.search_path {
                let is_for_all = matches!(at, ProgramFolder::Home(_)) || path.is_empty();
                if is_for_all && !whole.search_path.contains(at) {
                    whole.search_path.push(at.clone());
                }
            }
            for (name, value) in &own.variables {
                let value = value.replace("{tree}", joined("{tree}", &path).trim_end_matches('/'));
                whole.variables.entry(name.clone()).or_insert(value);
            }
            for tool in own.required_tools {
                if !whole.required_tools.contains(&tool) {
                    whole.required_tools.push(tool);
                }
            }
            whole.setup_scripts.extend(own.setup_scripts.iter().map(|at| joined(&path, at)));
            whole.decisive_files.extend(own.decisive_files.iter().map(|at| joined(&path, at)));
            whole.dependency_folders.patterns.extend(own.dependency_folders.patterns.iter().map(|pattern| {
                match pattern.strip_prefix('/') {
                    Some(at_root) => format!("/{}", joined(&path, at_root)),
                    None => pattern.clone(),
                }
            }));
            whole.version_from_git |= own.version_from_git;
            whole.folders.push(PlannedFolder { path, also, test });
        }
        let patterns = &mut whole.dependency_folders.patterns;
        for list in [&mut whole.setup_scripts, &mut whole.decisive_files, patterns] {
            list.sort();
            list.dedup();
        }
        whole.test = one_test(&whole.folders);
    }

    /// Says that projects below have tests that run only for a change there. `None` if there are none.
    pub fn note_of_projects(&self) -> Option<String> {
        projects::named_with_tests(&self.below)
            .map(|named| format!("the tests of {named} run only for a change there"))
    }

    /// The same plan with the tests of the chosen projects below, and what these need.
    #[must_use]
    pub fn with_projects(mut self, paths: &[String]) -> Self {
        if paths.is_empty() {
            return self;
        }
        let is_chosen = |below: &mut ProjectBelow| paths.contains(&below.path);
        let chosen: Vec<ProjectBelow> = self.below.extract_if(.., is_chosen).collect();
        let of_root = self.test.take().map(|test| PlannedFolder {
            path: String::new(),
            also: Vec::new(),
            test: Some(test),
        });
        self.folders.extend(of_root);
        let own = |below: ProjectBelow| Some((below.path, Vec::new(), below.plan?));
        self.add(chosen.into_iter().filter_map(own).collect());
        self
    }

    /// The tested projects below that these changed paths touch, if `other` has them with tests as well.
    pub fn projects_concerned(&self, changed: &[PathBuf], other: &Self) -> Vec<String> {
        let mut paths = projects::concerned(&self.below, changed);
        paths.retain(|path| other.below.iter().any(|below| below.path == *path && below.plan.is_some()));
        paths
    }

    /// The same plan for a change of these paths: only the tests of the folders that it touches run. A path outside all
    /// folders touches all.
    #[must_use]
    pub fn for_change(mut self, changed: &[PathBuf]) -> Self {
        let concerned = projects::concerned(&self.below, changed);
        let is_left_out = |below: &&ProjectBelow| below.plan.is_some() && !concerned.contains(&below.path);
        self.left_out = self.below.iter().filter(is_left_out).map(|below| below.path.clone()).collect();
        let named: Vec<&str> = changed.iter().filter_map(|path| path.to_str()).collect();
        let is_nobodys = |path: &&str| !self.folders.iter().any(|folder| folder.is_concerned(path));
        if self.folders.is_empty()
            || named.is_empty()
            || named.len() < changed.len()
            || named.iter().any(is_nobodys)
        {
            return self;
        }
        let is_needed = |folder: &&PlannedFolder| named.iter().any(|path| folder.is_concerned(path));
        let (needed, others): (Vec<_>, Vec<_>) = self.folders.iter().partition(is_needed);
        let tested = others.into_iter().filter(|folder| folder.test.is_some());
        self.left_out.extend(tested.map(|folder| folder.path.clone()));
        self.folders = needed.into_iter().cloned().collect();
        self.test = one_test(&self.folders);
        self
    }

    /// A plan for each tested folder if there are several, each for its own checkout, so that tests cannot affect each
    /// other. Empty if the test command is not the tests of the folders.
    pub fn in_each_folder(&self) -> Vec<(&str, Self)> {
        let of_folders = one_test(&self.folders);
        if self.test_command() != of_folders.as_ref().map(|test| test.command.as_str()) {
            return Vec::new();
        }
        let alone = |folder: &PlannedFolder| Self {
            test: folder.test.clone(),
            folders: vec![folder.clone()],
            ..self.clone()
        };
        let tested = self.folders.iter().filter(|folder| folder.test.is_some());
        let each: Vec<_> = tested.map(|folder| (folder.path.as_str(), alone(folder))).collect();
        if each.len() > 1 { each } else { Vec::new() }
    }

    /// The same plan without steps such as linters beside the tests. `None` if there are no such steps.
    #[must_use]
    pub fn tests_alone(&self) -> Option<Self> {
        let test = self.test.as_ref()?.alone()?;
        let alone = |folder: &PlannedFolder| {
            let test = folder.test.as_ref().map(|test| test.alone().unwrap_or_else(|| test.clone()));
            PlannedFolder { test, ..folder.clone() }
        };
        let folders = self.folders.iter().map(alone).collect();
        Some(Self { test: Some(test), folders, ..self.clone() })
    }
}

/// The tests of several folders as one command, each in its own group.
fn one_test(folders: &[PlannedFolder]) -> Option<PlannedTest> {
    let tests: Vec<&PlannedTest> = folders.iter().filter_map(|folder| folder.test.as_ref()).collect();
    let one = |commands: &[&str]| match commands {
        [one] => (*one).to_owned(),
        several => several
            .iter()
            // A comment would swallow the closing parenthesis.
            .map(|one| if one.contains('#') { format!("({one}\n)") } else { format!("({one})") })
            .collect::<Vec<_>>()
            .join(" && "),
    };
    let mut because: Vec<&str> = tests.iter().map(|test| test.because.as_str()).collect();
    let whole: Vec<&str> = tests.iter().map(|test| test.command.as_str()).collect();
    let alone: Vec<&str> =
        tests.iter().map(|test| test.tests_alone.as_deref().unwrap_or(&test.command)).collect();
    because.dedup();
    (!tests.is_empty()).then(|| PlannedTest {
        command: one(&whole),
        because: because.join(", "),
        tests_alone: (alone != whole).then(|| one(&alone)),
        is_stated: tests.iter().all(|test| test.is_stated),
    })
}

/// Puts a folder's own programs and variables first, for a shell inside it.
fn exports(plan: &EnvironmentPlan) -> String {
    let here = |text: &str| text.replace("{tree}", "$PWD").replace("{home}", "$HOME");
    let is_of_place =
        |(_, value): &(&String, &String)| value.contains("{tree}") && !value.contains(['"', '`', '\\', '$']);
    let mut text: String = plan
        .variables
        .iter()
        .filter(is_of_place)
        .map(|(name, value)| format!("export {name}=\"{}\" && ", here(value)))
        .collect();
    let folders: Vec<String> = plan
        .search_path
        .iter()
        .filter_map(|at| match at {
            ProgramFolder::Tree(at) => Some(format!("$PWD/{at}")),
            ProgramFolder::Home(_) => None,
        })
        .collect();
    if folders.is_empty() {
        return text;
    }
    text.push_str(&format!("export PATH=\"{}:$PATH\" && ", folders.join(":")));
    text
}
