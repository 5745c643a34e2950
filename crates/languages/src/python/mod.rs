//! Python projects: uv, Poetry, PDM, pip, tox and nox, always in a virtual environment in the tree.
//!
//! May know: pyproject.toml and other files of Python's tools. Must never know: other ecosystems.
//!
//! The project itself is always installed editable: a copy among the installed packages would test stale code.

mod managers;
mod native;
mod needs;
mod nox;
mod options;
mod project;
mod reach;
mod runner;
mod runners;
mod stated;
mod tox;

use crate::language::{Facts, Language};
use crate::planned::{PlannedTest, ProgramFolder};
use crate::project::{Detection, FoundProject};
use crate::test_call::TestCall;
use project::PythonProject;
use stated::StatementPlaces;

pub(crate) struct Python;

impl Language for Python {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                name: "Python",
                sources: &["py", "pyi", "pyx"],
                manifests: &["pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt"],
                programs: &[
                    "python",
                    "python3",
                    "python3.*",
                    "pytest",
                    "py.test",
                    "unittest",
                    "tox",
                    "nox",
                    "uv",
                    "poetry",
                    "pdm",
                    "hatch",
                    "pipenv",
                    "manage.py",
                    "nosetests",
                ],
                runners: runners::RUNNERS,
                ..Facts::NONE
            }
        }
    }

    fn find_first(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find_with_native_code(ask)
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find_package(ask)
    }

    fn find_last(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn reaches(&self, call: &TestCall<'_, '_>) -> bool {
        call.below.is_empty() || reach::reaches(call)
    }
}

/// A package with native code and its own tests, even if a compiled language's manifest is beside it.
fn find_with_native_code(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    if !project.is_package || project.native.is_none() {
        return None;
    }
    plan(ask, &project).filter(|found| found.test.is_some())
}

/// A project that declares itself as one.
fn find_package(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    (project.is_package || project.has_manager()).then(|| plan(ask, &project)).flatten()
}

/// Python files with tests, whatever they belong to.
fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    plan(ask, &project)
}

fn plan(ask: &mut Detection<'_, '_>, project: &PythonProject) -> Option<FoundProject> {
    let needs = needs::find(ask.files, project);
    let runner = runner::find(&StatementPlaces { files: ask.files, project, steps: ask.steps }, &needs);
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
        let is_built = project.native.is_some() && !found.setup.is_empty();
        let whole = |command: String| match is_built {
            true => format!("{} && {command}", native::REBUILD),
            false => command,
        };
        found.test = Some(PlannedTest {
            tests_alone: runner.other.map(whole),
            is_stated: runner.is_stated,
            ..PlannedTest::new(whole(runner.command), runner.because)
        });
    }
    found.version_from_git = project.version_from_git;
    Some(found)
}
