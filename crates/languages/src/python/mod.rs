//! Python projects: uv, Poetry, PDM, pip and tox, always in a virtual environment in the tree.
//!
//! May know: pyproject.toml and other files of Python's tools. Must never know: other ecosystems.
//!
//! The project itself is always installed editable: a copy among the installed packages would test stale code.

mod managers;
mod native;
mod needs;
mod project;
mod runner;
mod tox;

use crate::planned::ProgramFolder;
use crate::project::{Detection, FoundProject};
use project::PythonProject;

/// A package with native code and its own tests, even if a compiled language's manifest is beside it.
pub(crate) fn find_with_native_code(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    if !project.is_package || project.native.is_none() {
        return None;
    }
    plan(ask, &project).filter(|found| found.test.is_some())
}

/// A project that declares itself as one.
pub(crate) fn find_package(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    (project.is_package || project.has_manager()).then(|| plan(ask, &project)).flatten()
}

/// Python files with tests, whatever they belong to.
pub(crate) fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    plan(ask, &project)
}

fn plan(ask: &mut Detection<'_, '_>, project: &PythonProject) -> Option<FoundProject> {
    let needs = needs::find(ask.files, project);
    let runner = runner::find(ask.files, project, &needs);
    let is_known = project.is_package || project.has_manager() || !needs.requirement_files.is_empty();
    if runner.is_none() && !is_known {
        return None;
    }
    let mut found = FoundProject { variables: managers::VARIABLES.to_vec(), ..FoundProject::default() };
    ask.tools.need("python", "Python's files");
    managers::set_up(ask, project, &needs, runner.as_ref(), &mut found);
    if !found.setup.is_empty() {
        found.search_path.push(ProgramFolder::Tree(".venv/bin".into()));
    }
    if let Some(runner) = runner {
        let command = match project.native {
            Some(_) if !found.setup.is_empty() => format!("{} && {}", native::REBUILD, runner.command),
            _ => runner.command,
        };
        found.test(command, runner.because);
    }
    found.version_from_git = project.version_from_git;
    Some(found)
}
