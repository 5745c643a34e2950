//! Projects that a test command does not cover: no test has seen a change to them.
//!
//! May know: projects, plans. Must never know: how a command is parsed, commits, verdicts.

use std::path::PathBuf;

use journeyman_order::length::some_of;
use journeyman_order::settings::plain_folder;
use journeyman_order::{RepositorySettings, UnrunProject, UnrunReason};

use crate::environment_plan::{EnvironmentPlan, ProjectBelow};
use crate::planning::plan_one;
use crate::project_folders::{Project, Projects, contains};
use crate::reach::{Reach, reach};
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::files::is_beside;
use journeyman_languages::required_tool::HostTools;
use journeyman_languages::test_call::joined;

/// Limit of projects that are planned; the first ones are taken.
const MOST_PLANNED: usize = 20;

/// The projects below the root that the plan's test command does not cover, each with its own plan.
pub(crate) fn below(
    plan: &EnvironmentPlan,
    files: &RepositoryFiles<'_>,
    tools: &HostTools<'_>,
) -> Vec<ProjectBelow> {
    let projects = Projects::of(files);
    let is_one =
        |project: &&Project<'_>| !project.folder.is_empty() && reach(project, plan, files) == Reach::DoesNot;
    let mut all: Vec<ProjectBelow> = Vec::new();
    for project in projects.all.iter().filter(is_one) {
        let plain = plain_folder(project.folder);
        if all.iter().any(|known| known.path == project.folder) || plain.as_deref() != Some(project.folder) {
            continue;
        }
        let read = |name: &str| files.text(&joined(project.folder, name)).map(String::into_bytes);
        let planned = plan_one(&RepositorySettings::default(), &files.within(project.folder, &read), tools);
        let (path, manifest) = (project.folder.to_owned(), project.manifest.to_owned());
        all.push(ProjectBelow { path, manifest, plan: planned.test.is_some().then_some(planned) });
        if all.len() == MOST_PLANNED {
            break;
        }
    }
    all
}

/// Some of their manifests as text. `None` if there are none.
fn named<'a>(all: impl Iterator<Item = &'a ProjectBelow>) -> Option<String> {
    let all: Vec<String> = all.map(|below| below.manifest.clone()).collect();
    (!all.is_empty()).then(|| some_of(&all, all.len() as u64))
}

/// Those with tests.
pub(crate) fn named_with_tests(all: &[ProjectBelow]) -> Option<String> {
    named(all.iter().filter(|below| below.plan.is_some()))
}

/// A note about those without tests, except folders that only show or serve a project.
pub(crate) fn untested_note(all: &[ProjectBelow]) -> Option<String> {
    let named = named(all.iter().filter(|below| below.plan.is_none() && !is_beside(&below.path)))?;
    Some(format!("no tests were found for {named}: a change there cannot be verified"))
}

/// The tested projects below the root that contain changed paths.
pub(crate) fn concerned(all: &[ProjectBelow], changed: &[PathBuf]) -> Vec<String> {
    let of = |path: &str| {
        all.iter().filter(|below| contains(&below.path, path)).max_by_key(|below| below.path.len())
    };
    let nearest: Vec<&ProjectBelow> = changed.iter().filter_map(|path| of(path.to_str()?)).collect();
    let is_concerned =
        |below: &&ProjectBelow| below.plan.is_some() && nearest.iter().any(|near| near.path == below.path);
    all.iter().filter(is_concerned).map(|below| below.path.clone()).collect()
}

/// Whether a project has tests, even if its tools are missing here.
fn has_tests(project: &Project<'_>, files: &RepositoryFiles<'_>) -> bool {
    let read = |name: &str| files.text(&joined(project.folder, name)).map(String::into_bytes);
    let own = files.within(project.folder, &read);
    project.language.has_tests(&own)
}

/// The projects that a change edits and whose tests the plan does not run. `files` includes the change.
pub fn unrun_projects(
    plan: &EnvironmentPlan,
    files: &RepositoryFiles<'_>,
    changed: &[PathBuf],
) -> Vec<UnrunProject> {
    let projects = Projects::of(files);
    let mut unrun: Vec<UnrunProject> = Vec::new();
    for edited in changed.iter().filter_map(|path| path.to_str()) {
        let Some(project) = projects.owner(edited) else { continue };
        let is_known = |known: &UnrunProject| known.manifest == project.manifest;
        if unrun.iter().any(is_known) {
            continue;
        }
        let because = match reach(project, plan, files) {
            Reach::Runs => continue,
            Reach::CannotTell => UnrunReason::Unknown,
            Reach::DoesNot => match has_tests(project, files) {
                // A manifest beside another one often only serves linters.
                false if project.folder.is_empty() => continue,
                false if is_beside(project.folder) => UnrunReason::HasNone,
                _ => UnrunReason::NotAsked,
            },
        };
        unrun.push(UnrunProject {
            folder: project.folder.to_owned(),
            manifest: project.manifest.to_owned(),
            edited: edited.to_owned(),
            because,
        });
    }
    unrun
}
