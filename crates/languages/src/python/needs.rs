//! What the tests of a Python project need: extras, dependency groups, requirements files, sessions of tox and nox.
//!
//! May know: the names that projects use for these. Must never know: how they are installed.

use std::collections::{BTreeMap, BTreeSet};

use super::native::normalized;
use super::project::{MOST_INCLUDED, PythonProject};
use super::{nox, tox};
use crate::files::RepositoryFiles;
use journeyman_order::bounds::MOST_LISTED;

/// What to install besides the project and its dependencies.
#[derive(Debug, Default)]
pub(super) struct TestNeeds {
    pub(super) extras: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) requirement_files: Vec<String>,
    /// Single requirements, and constraints files.
    pub(super) requirements: Vec<String>,
    /// The names of all requirements, to look up whether a package is among them.
    named: Vec<String>,
    /// Included files that were already read.
    included: BTreeSet<String>,
}

impl TestNeeds {
    pub(super) fn names(&self, package: &str) -> bool {
        self.named.iter().any(|name| name == package)
    }

    fn name_all<'r>(&mut self, requirements: impl IntoIterator<Item = &'r String>) {
        self.named.extend(requirements.into_iter().map(|one| normalized(one)));
    }

    /// Adds extras and groups that the project has.
    fn take(&mut self, project: &PythonProject, extras: Vec<String>, groups: Vec<String>) {
        let of_both =
            [(extras, &project.extras, &mut self.extras), (groups, &project.groups, &mut self.groups)];
        for (chosen, all, list) in of_both {
            for name in chosen {
                let Some(requirements) = all.get(&name) else { continue };
                if list.len() < MOST_LISTED && !list.contains(&name) {
                    self.named.extend(requirements.iter().map(|one| normalized(one)));
                    list.push(name);
                }
            }
        }
    }
}

const OF_TESTS: [&str; 12] = [
    "test", "tests", "testing", "unittest", "unittests", "unit", "unit-tests", "pytest", "test-deps",
    "tests-require", "tests-all", "test-all",
];
const OF_DEVELOPMENT: [&str; 7] = ["dev", "develop", "development", "devel", "dev-deps", "ci", "all-dev"];
/// Words beside the tests of a change.
const OF_OTHERS: [&str; 11] =
    ["docs", "doc", "integration", "e2e", "release", "lint", "bench", "perf", "gpu", "minimal", "min"];

fn named(all: &BTreeMap<String, Vec<String>>, is_one: impl Fn(&str) -> bool) -> Vec<String> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '.', ' '], "-");
    all.keys().filter(|name| is_one(&plain(name))).cloned().collect()
}

/// The names about tests: exact matches if there are any, otherwise partial ones.
fn about_tests(all: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    let exact = named(all, |name| OF_TESTS.contains(&name));
    if !exact.is_empty() {
        return exact;
    }
    named(all, |name| {
        name.split('-').any(|word| matches!(word, "test" | "tests" | "testing" | "pytest"))
            && !name.split('-').any(|word| OF_OTHERS.contains(&word))
    })
}

fn about_development(all: &BTreeMap<String, Vec<String>>) -> Vec<String> {
    named(all, |name| OF_DEVELOPMENT.contains(&name))
}

pub(super) fn find(files: &RepositoryFiles<'_>, project: &PythonProject) -> TestNeeds {
    let mut needs = TestNeeds::default();
    needs.name_all(&project.dependencies);
    needs.take(project, about_tests(&project.extras), about_tests(&project.groups));
    // The requirements of the session that runs the tests always count.
    let session = tox::needs(files).or_else(|| nox::needs(files));
    let has_session = session.is_some();
    if let Some(session) = session {
        needs.name_all(&session.requirements);
        needs.requirements.extend(session.requirements);
        needs.take(project, session.extras, session.groups);
        for file in session.files {
            add_file(files, &mut needs, &file);
        }
    }
    requirement_files(files, &mut needs, project, has_session);
    if !has_runner(&needs) {
        needs.take(project, about_development(&project.extras), about_development(&project.groups));
    }
    // The installer resolves extras that refer to other extras of the project itself.
    needs.requirements.dedup();
    needs
}

fn has_runner(needs: &TestNeeds) -> bool {
    ["pytest", "nose", "nose2", "twisted", "stestr", "zope-testrunner", "ward"]
        .iter()
        .any(|name| needs.names(name))
}

/// Requirements files for tests besides `requirements.txt`.
const TEST_FILES: [&str; 10] = [
    "requirements-test.txt", "requirements-tests.txt", "requirements_test.txt", "test-requirements.txt",
    "test_requirements.txt", "tests/requirements.txt", "test/requirements.txt", "requirements/test.txt",
    "requirements/tests.txt", "requirements/testing.txt",
];
/// Those that are read if there are none for tests, or none of them names pytest.
const DEVELOPMENT_FILES: [&str; 6] = [
    "requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements/dev.txt",
    "requirements/development.txt", "requirements/ci.txt",
];

fn requirement_files(
    files: &RepositoryFiles<'_>,
    needs: &mut TestNeeds,
    project: &PythonProject,
    has_session: bool,
) {
    // A package that declares its own requirements uses this file for pins or documentation. So does one whose session
    // names what its tests need, since the session installs nothing else.
    let says_itself =
        project.is_package && (!project.dependencies.is_empty() || (has_session && has_runner(needs)));
    if !says_itself {
        add_file(files, needs, "requirements.txt");
        if needs.requirement_files.is_empty() {
            add_file(files, needs, "requirements/base.txt");
        }
    }
    let before = needs.requirement_files.len();
    for file in TEST_FILES {
        add_file(files, needs, file);
    }
    // Development requirements include linters; a session that names a runner needs none of them.
    let is_enough = has_session && has_runner(needs);
    for file in DEVELOPMENT_FILES.into_iter().filter(|_| !is_enough) {
        if !needs.names("pytest") || needs.requirement_files.len() == before {
            add_file(files, needs, file);
        }
    }
}

/// Adds a requirements file that is not empty.
fn add_file(files: &RepositoryFiles<'_>, needs: &mut TestNeeds, file: &str) {
    let Some(text) = files.text(file) else { return };
    if lines_of(&text).next().is_none() || needs.requirement_files.iter().any(|known| known == file) {
        return;
    }
    needs.requirement_files.push(file.to_owned());
    name_lines(files, needs, file, &text);
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Collects the names in a requirements file and its includes. Each file is read once, since it may include itself.
fn name_lines(files: &RepositoryFiles<'_>, needs: &mut TestNeeds, file: &str, text: &str) {
    for line in lines_of(text) {
        let included = ["-r", "--requirement"].iter().find_map(|option| line.strip_prefix(option));
        let Some(inner) = included else {
            needs.named.push(normalized(line));
            continue;
        };
        let folder = file.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
        let inner = format!("{folder}{}", inner.trim().trim_start_matches(['=', ' ']));
        let Some(inner) = plain_path(&inner) else { continue };
        if needs.included.len() < MOST_INCLUDED
            && needs.included.insert(inner.clone())
            && let Some(text) = files.text(&inner)
        {
            name_lines(files, needs, &inner, &text);
        }
    }
}

/// A path without `.` and `..`. `None` if it leads outside.
fn plain_path(path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            other => parts.push(other),
        }
    }
    Some(parts.join("/"))
}
