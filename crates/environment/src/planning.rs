//! Puts a plan together: whose word on setup and image is taken, and what is found for what it leaves open.
//!
//! May know: the order of the sources. Must never know: how any of them is read.

use journeyman_order::RepositorySettings;

use crate::decisive;
use crate::environment_plan::{
    DependencyFolders, EnvironmentPlan, EnvironmentSource, PlannedService, PlannedTest, ProgramFolder,
    SetupCommand,
};
use crate::files::RepositoryFiles;
use crate::found::{self, Discovery};
use crate::required_tool::{HostTools, LOCAL_PROGRAMS};

/// What a repository's work happens in: its settings, else its development container, else its setup steps, else what
/// its files tell; the test command is found where the settings do not name one.
///
/// `tools` is asked of the place where the jobs run. Where the plan then names an image, plan again with the tools of
/// that image.
pub fn plan(
    settings: &RepositorySettings,
    files: &RepositoryFiles<'_>,
    tools: &HostTools<'_>,
) -> EnvironmentPlan {
    let own_setup = said(settings.setup.as_deref());
    let own_image = said(settings.image.as_deref());
    let mut plan = EnvironmentPlan {
        services: services(settings),
        report: said(settings.report.as_deref()),
        ..EnvironmentPlan::default()
    };
    let mut keys = Vec::new();
    keys.extend(own_image.is_some().then_some("image"));
    keys.extend(own_setup.is_some().then_some("setup"));
    if !keys.is_empty() {
        plan.source = EnvironmentSource::Settings { keys };
        plan.image = own_image;
        let because = ".github/journeyman.yml".to_owned();
        plan.setup.extend(own_setup.map(|command| SetupCommand { command, because }));
    }
    let discovery = found::find(files, tools);
    if let Some(discovery) = discovery {
        take(discovery, &mut plan);
    }
    if let Some(command) = said(settings.test.as_deref()) {
        plan.test = Some(PlannedTest { command, because: ".github/journeyman.yml".into() });
    }
    plan.variables.extend(settings.env.clone());
    let programs = ProgramFolder::Home(LOCAL_PROGRAMS.to_owned());
    if !plan.setup.is_empty() && !plan.search_path.contains(&programs) {
        plan.search_path.push(programs);
    }
    plan.decisive_files = decisive::files(files, &plan);
    plan.dependency_folders = DependencyFolders::new(decisive::dependency_folders(files));
    plan
}

/// What was found, for what nobody said.
fn take(discovery: Discovery<'_>, plan: &mut EnvironmentPlan) {
    let Discovery { project, tools } = discovery;
    plan.required_tools = tools.required;
    plan.test = project.test;
    plan.notes.extend(project.notes);
    if plan.source == EnvironmentSource::Nothing {
        plan.source = EnvironmentSource::Found { what: project.what, because: project.because };
    }
    if !plan.setup.is_empty() {
        // A setup of the repository's own knows its way; of what it names, the programs are used.
        let named = |folder: &ProgramFolder| match folder {
            ProgramFolder::Tree(path) => {
                let top = path.split('/').next().unwrap_or(path);
                plan.setup.iter().any(|setup| setup.command.contains(top)) || path.starts_with("node_modules")
            }
            ProgramFolder::Home(_) => false,
        };
        plan.search_path = project.search_path.into_iter().filter(named).collect();
        return;
    }
    plan.setup = tools.installs.into_iter().chain(project.setup).collect();
    plan.search_path = project.search_path.into_iter().chain(tools.search_path).collect();
    if !plan.setup.is_empty() {
        plan.variables =
            project.variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    }
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

/// Blank is as good as absent.
fn said(setting: Option<&str>) -> Option<String> {
    setting.map(str::trim).filter(|text| !text.is_empty()).map(String::from)
}
