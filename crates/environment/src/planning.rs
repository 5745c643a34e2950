//! Assembles a plan: which source decides setup and image, and what detection adds.
//!
//! May know: the order of the sources. Must never know: how any of them is parsed.

use std::collections::BTreeMap;

use journeyman_order::RepositorySettings;
use journeyman_order::names::can_be_set;

use crate::environment_plan::{DependencyFolders, EnvironmentPlan, EnvironmentSource, PlannedService};
use crate::statement::{self, SourceStatement};
use crate::{decisive, devcontainer, setup_steps, workflow};
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::found::{self, Discovery};
use journeyman_languages::planned::{PlannedTest, ProgramFolder, SetupCommand};
use journeyman_languages::required_tool::{HostTools, LOCAL_PROGRAMS, ToolFit};
use journeyman_languages::setups;

/// Limit of commands in one setup, so that each gets some time to run.
pub const MOST_COMMANDS: usize = 100;

/// The same as [`crate::plan`], for a single project.
pub(crate) fn plan_one(
    settings: &RepositorySettings,
    files: &RepositoryFiles<'_>,
    tools: &HostTools<'_>,
) -> EnvironmentPlan {
    let mut notes = Vec::new();
    let steps = workflow::test_steps(files);
    let discovery = found::find(files, tools, &steps);
    let mut said = of_settings(settings);
    for read in [devcontainer::read, setup_steps::read] {
        if said.says_something() {
            break;
        }
        let Some(other) = read(files) else { continue };
        said = other;
        notes.append(&mut said.notes);
    }
    let mut plan = EnvironmentPlan {
        services: services(settings),
        report: present(settings.report.as_deref()),
        ..EnvironmentPlan::default()
    };
    let is_written = !said.setup.is_empty();
    match discovery {
        Some(discovery) if said.says_something() => under(said, discovery, files, &mut plan),
        Some(discovery) => take(discovery, &mut plan),
        None if said.says_something() => state(said, None, files, &mut plan),
        None => {}
    }
    // A test command with an absolute path uses what is already installed on the machine.
    let brings_its_own = present(settings.test.as_deref()).is_some_and(|test| test.starts_with('/'));
    if brings_its_own && matches!(plan.source, EnvironmentSource::Found { .. }) {
        plan.setup.clear();
        plan.search_path.clear();
        plan.variables.clear();
    }
    if plan.setup.len() > MOST_COMMANDS {
        plan.setup.truncate(MOST_COMMANDS);
        let file = plan.source.file();
        // Written commands come after detected ones, so those are cut.
        plan.cut_setup = is_written.then(|| file.to_owned());
        notes.push(format!("{file}: of its commands those beyond the first {MOST_COMMANDS} are left out"));
    }
    plan.notes.splice(0..0, notes);
    // Content missing in our checkout.
    let submodules = ".gitmodules: submodules that are not checked out and are empty";
    let pointers = ".gitattributes: files of Git LFS that are not here, and are pointers to their content";
    for (what, missing) in [(submodules, &files.missing_submodules), (pointers, &files.missing_large_files)] {
        plan.notes.extend((!missing.is_empty()).then(|| format!("{what}: {}", missing.join("; "))));
    }
    if let Some(command) = present(settings.test.as_deref()) {
        plan.test =
            Some(PlannedTest { is_stated: true, ..PlannedTest::new(command, ".github/journeyman.yml") });
    }
    if !plan.setup.is_empty() {
        for (file, name) in tokens(files) {
            plan.notes.push(format!(
                "{file} names the token {name}, which a setup does not get: name a registry that needs it as [registries.NAME] \
                 in journeyman.toml"
            ));
            plan.variables.insert(name, NO_TOKEN.to_owned());
        }
    }
    plan.variables.extend(settings.env.clone());
    let programs = ProgramFolder::Home(LOCAL_PROGRAMS.to_owned());
    if !plan.setup.is_empty() && !plan.search_path.contains(&programs) {
        plan.search_path.push(programs);
    }
    plan.decisive_files = decisive::files(files, &plan);
    plan.setup_scripts = decisive::scripts(files, &plan);
    plan.dependency_folders = DependencyFolders { patterns: decisive::dependency_folders(files) };
    plan
}

fn of_settings(settings: &RepositorySettings) -> SourceStatement {
    let (image, setup) = (present(settings.image.as_deref()), present(settings.setup.as_deref()));
    let keys = [("image", image.is_some()), ("setup", setup.is_some())];
    let because = ".github/journeyman.yml".to_owned();
    SourceStatement {
        source: EnvironmentSource::Settings {
            keys: keys.into_iter().filter(|(_, is_said)| *is_said).map(|(key, _)| key).collect(),
        },
        image,
        setup: setup.into_iter().map(|command| SetupCommand { command, because: because.clone() }).collect(),
        ..SourceStatement::default()
    }
}

/// Uses the detected project if no source describes the environment.
fn take(discovery: Discovery<'_>, plan: &mut EnvironmentPlan) {
    let Discovery { project, tools } = discovery;
    plan.source = EnvironmentSource::Found { what: project.what, because: project.because };
    plan.required_tools = tools.required;
    plan.test = project.test;
    plan.notes = project.notes;
    plan.version_from_git = project.version_from_git;
    plan.setup = tools.installs.into_iter().map(|(_, install)| install).chain(project.setup).collect();
    plan.search_path = project.search_path.into_iter().chain(tools.search_path).collect();
    if !plan.setup.is_empty() {
        plan.variables = owned(project.variables);
    }
}

/// Combines a source with the detected project, which fills the gaps.
fn under(
    said: SourceStatement,
    mut discovery: Discovery<'_>,
    files: &RepositoryFiles<'_>,
    plan: &mut EnvironmentPlan,
) {
    let file = said.source.file().to_owned();
    for (tool, version) in &said.tools {
        match version {
            Some(version) => discovery.tools.need_version(tool, version.clone(), &file),
            None => discovery.tools.need(tool, &file),
        }
    }
    if said.setup.is_empty() {
        take(discovery, plan);
        state(said, None, files, plan);
        return;
    }
    // Commands expect the tools that they call, and a project its runtime.
    let text = statement::script_texts(&said.setup, files);
    let called: Vec<&str> = setups::installable_tools().filter(|tool| calls(&text, tool)).collect();
    for tool in &called {
        discovery.tools.need(tool, &file);
    }
    let is_wanted = |tool: &str| {
        setups::is_installable_runtime(tool)
            || called.contains(&tool)
            || said.tools.iter().any(|(known, _)| *known == tool)
    };
    let Discovery { project, mut tools } = discovery;
    tools.installs.retain(|(tool, _)| is_wanted(tool));
    tools.required.retain(|required| required.fit != ToolFit::Installed || is_wanted(required.tool));
    plan.test = project.test;
    plan.version_from_git = project.version_from_git;
    plan.required_tools = tools.required;
    // The repository's own setup is complete; only the program folders that it creates are used.
    let makes = |folder: &ProgramFolder| match folder {
        ProgramFolder::Tree(path) => {
            let top = path.split('/').next().unwrap_or(path);
            text.contains(top) || setups::makes_programs(path, &text)
        }
        ProgramFolder::Home(_) => false,
    };
    plan.search_path = project.search_path.into_iter().filter(makes).collect();
    if !tools.installs.is_empty() {
        plan.search_path.extend(tools.search_path);
    }
    plan.setup = tools.installs.into_iter().map(|(_, install)| install).collect();
    state(said, Some(project.variables), files, plan);
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || ";&|()'\"".contains(c))
}

/// Whether commands call a tool that they do not install themselves.
fn calls(text: &str, tool: &str) -> bool {
    let words: Vec<&str> = words(text).collect();
    let mut is_installed = false;
    for (at, word) in words.iter().enumerate() {
        is_installed |= matches!(*word, "install" | "add" | "-g" | "--global" | "get");
        if *word == tool {
            let has_arguments = words.get(at + 1).is_some_and(|next| !next.is_empty());
            return !is_installed && has_arguments;
        }
    }
    false
}

/// Applies what a source itself says.
fn state(
    said: SourceStatement,
    found: Option<Vec<(&'static str, &'static str)>>,
    files: &RepositoryFiles<'_>,
    plan: &mut EnvironmentPlan,
) {
    plan.source = said.source;
    let mut setup = said.setup;
    let text = statement::script_texts(&setup, files);
    plan.search_path.extend(said.search_path);
    // Variables that stop tools from prompting and downloading also suit a repository's own commands. Paths do not.
    let is_no_place = |(_, value): &(&str, &str)| !value.contains('{');
    plan.variables.extend(owned(found.unwrap_or_default().into_iter().filter(is_no_place)));
    if said.image.is_none() {
        statement::with_own_packages(&text, &mut setup, &mut plan.search_path, &mut plan.variables);
    }
    plan.variables.extend(said.variables);
    plan.image = said.image;
    plan.setup.extend(setup);
}

fn owned(all: impl IntoIterator<Item = (&'static str, &'static str)>) -> BTreeMap<String, String> {
    all.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Placeholder for a token: a package manager may not start if a variable in its settings is unset.
const NO_TOKEN: &str = "held-outside-of-the-sandbox";

/// Variables that hold tokens in package managers' settings, each with its file.
fn tokens(files: &RepositoryFiles<'_>) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for file in setups::token_files() {
        let text = files.text(file).unwrap_or_default();
        for line in text.lines().filter(|line| line.to_ascii_lowercase().contains("auth")) {
            let name = line.split_once("${").and_then(|(_, rest)| rest.split_once('}')).map(|(name, _)| name);
            if let Some(name) = name.filter(|name| can_be_set(name, "")) {
                found.push((file, name.to_owned()));
            }
        }
    }
    found.dedup_by(|one, other| one.1 == other.1);
    found
}

fn services(settings: &RepositorySettings) -> Vec<PlannedService> {
    let one = |(name, service): (&String, &journeyman_order::ServiceSettings)| PlannedService {
        name: name.clone(),
        image: service.image.clone(),
        env: service.env.clone(),
        ready: service.ready.clone(),
    };
    settings.services.iter().map(one).collect()
}

/// Blank counts as absent.
fn present(setting: Option<&str>) -> Option<String> {
    setting.map(str::trim).filter(|text| !text.is_empty()).map(String::from)
}
