//! Detects the test runner of a Python project.
//!
//! May know: signs of pytest, unittest and Django. Must never know: how anything is installed.

use super::needs::TestNeeds;
use super::project::PythonProject;
use super::stated::{self, PythonRunner, StatementPlaces};
use crate::files::{MOST_READ, RepositoryFiles, quote};
use crate::grammar_kind::file_name;

/// What the repository says, or else what its files indicate.
pub(super) fn find(places: &StatementPlaces<'_>, needs: &TestNeeds) -> Option<PythonRunner> {
    let (files, project) = (places.files, places.project);
    let sign = pytest_sign(files);
    let found = sign.clone().map(pytest).or_else(|| guess(files, project, needs));
    let Some(stated) = stated::find(places) else { return found };
    // Where a repository configures pytest, pytest runs these tests too, names each, and can run some alone.
    let is_hidden = stated.command.contains("-m unittest")
        || needs.names("pytest-django") && pattern!(r"(-m django|manage\.py) test").is_match(&stated.command);
    if sign.is_some() && is_hidden {
        return found;
    }
    Some(match found {
        Some(same) if same.command == stated.command => {
            PythonRunner { because: stated.because, is_stated: true, ..same }
        }
        other => with_other(stated, other),
    })
}

/// A runner, and what to try if it cannot run here.
fn with_other(runner: PythonRunner, other: Option<PythonRunner>) -> PythonRunner {
    PythonRunner {
        wants_pytest: runner.wants_pytest || other.as_ref().is_some_and(|other| other.wants_pytest),
        other: other.map(|other| other.command),
        ..runner
    }
}

fn found(command: impl Into<String>, because: impl Into<String>) -> PythonRunner {
    PythonRunner { command: command.into(), because: because.into(), ..PythonRunner::default() }
}

fn pytest(because: String) -> PythonRunner {
    PythonRunner { wants_pytest: true, ..found("python3 -m pytest", because) }
}

/// What files indicate where pytest is not configured.
fn guess(files: &RepositoryFiles<'_>, project: &PythonProject, needs: &TestNeeds) -> Option<PythonRunner> {
    let program = program(files);
    let plain = unittest_sign(files, project);
    let by_tests = || {
        let (because, command) = plain?;
        if needs.names("pytest") {
            return Some(pytest("pytest among what is required".to_owned()));
        }
        if let Some(file) =
            reading(files, &|line| line.starts_with("import pytest") || line.starts_with("from pytest"))
        {
            return Some(pytest(format!("{file}, which imports pytest")));
        }
        // unittest finds only classes.
        if let Some(file) =
            reading(files, &|line| line.starts_with("def test_") || line.starts_with("async def test_"))
        {
            return Some(pytest(format!("{file}, whose tests are functions")));
        }
        Some(found(command, because))
    };
    match program {
        Some(program) => Some(with_other(program, by_tests())),
        None => by_tests(),
    }
}

/// A program of the repository that prepares and starts its tests. Others may not even load them.
fn program(files: &RepositoryFiles<'_>) -> Option<PythonRunner> {
    let is_django = files.text("manage.py").is_some_and(|text| text.contains("django"));
    let django = is_django.then(|| found("python3 manage.py test", "manage.py"));
    let suites = ["runtests.py", "run_tests.py", "tests/runtests.py", "tests/run_tests.py"];
    let suite = || suites.into_iter().find(|path| files.text(path).is_some());
    let program = django.or_else(|| suite().map(|path| found(format!("python3 {path}"), path)))?;
    Some(PythonRunner { is_stated: true, ..program })
}

fn pytest_sign(files: &RepositoryFiles<'_>) -> Option<String> {
    for (name, section) in [
        ("pytest.ini", ""),
        (".pytest.ini", ""),
        ("pytest.toml", ""),
        ("pyproject.toml", "[tool.pytest"),
        ("setup.cfg", "[tool:pytest]"),
        ("tox.ini", "[pytest]"),
        ("conftest.py", ""),
        ("tests/conftest.py", ""),
        ("test/conftest.py", ""),
    ] {
        if files.text(name).is_some_and(|text| text.contains(section)) {
            return Some(if section.is_empty() { name.into() } else { format!("{section} in {name}") });
        }
    }
    files.all().find(|path| path.ends_with("/conftest.py") && !is_aside(path)).map(str::to_owned)
}

fn is_aside(path: &str) -> bool {
    path.split('/').any(|part| {
        part.starts_with('.')
            || ["docs", "doc", "examples", "vendor", "third_party", "node_modules", "benchmarks"]
                .contains(&part)
    })
}

fn is_test(path: &str) -> bool {
    let name = file_name(path);
    name.strip_suffix(".py").is_some_and(|stem| {
        stem.starts_with("test_") || stem.ends_with("_test") || stem == "tests" || stem == "test"
    })
}

/// The first test file with such a line.
fn reading(files: &RepositoryFiles<'_>, is_sign: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut tests = files.all().filter(|path| is_test(path) && !is_aside(path)).take(MOST_READ);
    let has_sign = |path: &&str| files.text(path).is_some_and(|text| text.lines().any(is_sign));
    tests.find(has_sign).map(str::to_owned)
}

fn unittest_sign(files: &RepositoryFiles<'_>, project: &PythonProject) -> Option<(String, String)> {
    let from_root = "python3 -m unittest discover".to_owned();
    if let Some(name) = files.root().find(|name| name.starts_with("test") && name.ends_with(".py")) {
        return Some((name.to_owned(), from_root));
    }
    // Python files that belong to other ecosystems.
    let is_foreign = |name: &str| matches!(name, "conanfile.py" | "waf.py" | "wscript.py");
    let is_python = project.is_package
        || files.root().any(|name| (name.ends_with(".py") && !is_foreign(name)) || name == "pyproject.toml")
        || files.has("requirements.txt")
        || files.has("setup.cfg");
    if !is_python {
        return None;
    }
    // If all files are listed: without a test folder, tests may be in the package, which discovery enters.
    let holds_python =
        |folder: &&str| !files.is_whole() || files.below(folder).any(|path| path.ends_with(".py"));
    let folder = ["tests", "test"].into_iter().filter(|name| files.has(name)).find(holds_python);
    let Some(folder) = folder else {
        let inner = files.all().find(|path| is_test(path) && path.contains('/') && !is_aside(path))?;
        return Some((inner.to_owned(), from_root));
    };
    // Discovery from the root enters only packages.
    let command = match files.text(&format!("{folder}/__init__.py")) {
        Some(_) => from_root,
        None => format!("{from_root} -s {}", quote(folder)),
    };
    Some((format!("{folder}/"), command))
}
