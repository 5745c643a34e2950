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
}

const OF_TESTS: [&str; 12] = [
    "test", "tests", "testing", "unittest", "unittests", "unit", "unit-tests", "pytest", "test-deps",
    "tests-require", "tests-all", "test-all",
];
const OF_DEVELOPMENT: [&str; 7] = ["dev", "develop", "development", "devel", "dev-deps", "ci", "all-dev"];

/// The names about tests: exact matches if there are any, otherwise partial ones.
fn about_tests<'n>(names: impl Iterator<Item = &'n String> + Clone) -> Vec<&'n String> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '.', ' '], "-");
    let exact: Vec<&String> = names.clone().filter(|name| OF_TESTS.contains(&plain(name).as_str())).collect();
    if !exact.is_empty() {
        return exact;
    }
    let in_part = |name: &&String| {
        let name = plain(name);
        let mut words = name.split('-');
        let others = [
            "docs", "doc", "integration", "e2e", "release", "lint", "bench", "perf", "gpu", "minimal", "min",
        ];
        name.split('-').any(|word| matches!(word, "test" | "tests" | "testing" | "pytest"))
            && !words.any(|word| others.contains(&word))
    };
    names.filter(in_part).collect()
}

fn about_development<'n>(names: impl Iterator<Item = &'n String>) -> Vec<&'n String> {
    names
        .filter(|name| OF_DEVELOPMENT.contains(&name.to_lowercase().replace(['_', '.'], "-").as_str()))
        .collect()
}

pub(super) fn find(files: &RepositoryFiles<'_>, project: &PythonProject) -> TestNeeds {
    let mut needs = TestNeeds::default();
    needs.name_all(&project.dependencies);
    let take = |needs: &mut TestNeeds, extras: Vec<&String>, groups: Vec<&String>| {
        for (chosen, all, into) in [(extras, &project.extras, 0), (groups, &project.groups, 1)] {
            for name in chosen {
                let list = if into == 0 { &mut needs.extras } else { &mut needs.groups };
                if list.len() < MOST_LISTED && !list.contains(name) {
                    list.push(name.clone());
                    needs.named.extend(all.get(name).into_iter().flatten().map(|one| normalized(one)));
                }
            }
        }
    };
    take(&mut needs, about_tests(project.extras.keys()), about_tests(project.groups.keys()));
    // The requirements of the session that runs the tests always count.
    let session = tox::needs(files, project).or_else(|| nox::needs(files));
    let has_session = session.is_some();
    if let Some(session) = session {
        needs.name_all(&session.requirements);
        needs.requirements.extend(session.requirements);
        let known = |all: &BTreeMap<String, Vec<String>>, names: Vec<String>| -> Vec<String> {
            names.into_iter().filter(|name| all.contains_key(name)).collect()
        };
        let (extras, groups) =
            (known(&project.extras, session.extras), known(&project.groups, session.groups));
        take(&mut needs, extras.iter().collect(), groups.iter().collect());
        for file in session.files {
            add_file(files, &mut needs, &file);
        }
    }
    requirement_files(files, &mut needs, project, has_session);
    if !has_runner(&needs) {
        take(&mut needs, about_development(project.extras.keys()), about_development(project.groups.keys()));
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

/// Requirements files besides `requirements.txt`.
const REQUIREMENT_FILES: [&str; 16] = [
    "requirements-test.txt", "requirements-tests.txt", "requirements_test.txt", "test-requirements.txt",
    "test_requirements.txt", "tests/requirements.txt", "test/requirements.txt", "requirements/test.txt",
    "requirements/tests.txt", "requirements/testing.txt",
    // Read only if there are none for tests.
    "requirements-dev.txt", "requirements_dev.txt", "dev-requirements.txt", "requirements/dev.txt",
    "requirements/development.txt", "requirements/ci.txt",
];
/// How many of them are about tests.
const OF_TESTS_ONLY: usize = 10;

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
    let (tests, development) = REQUIREMENT_FILES.split_at(OF_TESTS_ONLY);
    for file in tests {
        add_file(files, needs, file);
    }
    let has_pytest = needs.names("pytest");
    // Development requirements include linters; a session that names a runner needs none of them.
    if has_session && has_runner(needs) {
        return;
    }
    if needs.requirement_files.len() == before || !has_pytest {
        for file in development {
            if !needs.names("pytest") || needs.requirement_files.len() == before {
                add_file(files, needs, file);
            }
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
