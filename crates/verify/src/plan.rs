//! Which commands install and test a repository: its settings say, or its files tell.

use super::discover::{DiscoveredRunner, DiscoveryFiles, find};
use journeyman_order::RepositorySettings;

/// What to run. Shell commands, from the repository's root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestPlan {
    /// Installs what the tests need; with network.
    pub setup: Option<String>,
    /// Runs the tests; none: the repository has none that we can find, so nothing can be verified.
    pub test: Option<String>,
    /// Where the test command writes a JUnit report, from the root. Whoever runs the tests has to make sure that
    /// no such file is there before.
    pub report: Option<String>,
    /// What was found and by what, for people; none when the settings name the test command.
    pub found: Option<String>,
}

/// What to run in a repository. Its settings win; what they leave open is found by its files.
///
/// `root_files` are the names in its root, of files and folders (with or without a trailing slash); `read` reads
/// a file by its path from the root.
pub fn plan(
    settings: &RepositorySettings,
    root_files: &[String],
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> TestPlan {
    let found = find(&DiscoveryFiles::new(root_files, read));
    let own_test = said(settings.test.as_deref());
    let own_setup = said(settings.setup.as_deref());
    let report = said(settings.report.as_deref());
    let DiscoveredRunner { runner, because, setup, test, path } = match found {
        Some(found) => found,
        None => return TestPlan { setup: own_setup, test: own_test, report, found: None },
    };
    // What we install is used only through its place on the path; a setup of the repository's own knows its way.
    let with_path = |command: String| match (&path, &own_setup) {
        (Some(path), None) => format!("PATH=\"$PWD/{path}:$PATH\"{EXPORT}{command}"),
        (Some(_) | None, _) => command,
    };
    TestPlan {
        found: own_test.is_none().then(|| format!("{runner}, because {because} is there")),
        test: Some(with_path(own_test.unwrap_or(test))),
        setup: own_setup.clone().or(setup),
        report,
    }
}

/// Stands between the path that we set and the command.
const EXPORT: &str = "; export PATH; ";

/// A test command without the path that we set before it.
pub(super) fn after_exports(command: &str) -> &str {
    match command.split_once(EXPORT) {
        Some((path, command)) if path.starts_with("PATH=\"$PWD/") => command,
        Some(_) | None => command,
    }
}

/// Blank is as good as absent.
fn said(setting: Option<&str>) -> Option<String> {
    setting.map(str::trim).filter(|text| !text.is_empty()).map(String::from)
}

/// The test command of the base, with what the changed tree needs to be installed: a first dependency has to come from
/// somewhere. Where the base has no tests, those that the change brings.
pub fn judge_by(before: TestPlan, after: TestPlan) -> TestPlan {
    let Some(test) = before.test else { return after };
    // What is installed lies where the plan of the changed tree looks for it; the command itself is the same.
    // The same, and not one that ends alike: `pnpm test` is another runner than `npm test`.
    let is_same = |after: &String| after_exports(after) == after_exports(&test);
    let test = after.test.filter(is_same).unwrap_or(test);
    TestPlan { setup: after.setup, test: Some(test), report: before.report, found: before.found }
}

/// Why a pass verifies nothing where the base has no tests, and the change brings some.
pub fn without_own_tests(before: &TestPlan, judged_by: &TestPlan) -> Option<String> {
    let said = "the repository has no tests of its own; those that ran came with the change";
    (before.test.is_none() && judged_by.test.is_some()).then(|| said.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_does_not_choose_the_runner_by_its_lockfile() {
        let made = |test: &str| TestPlan { test: Some(test.to_owned()), ..TestPlan::default() };
        let path = |test: &str| format!("PATH=\"$PWD/.venv/bin:$PATH\"{EXPORT}{test}");
        for (base, changed, judged) in [
            ("npm test", "pnpm test", "npm test"),
            ("test", "true; make test", "test"),
            ("make test", "pytest", "make test"),
            ("pytest -q", &path("pytest -q"), &path("pytest -q")),
            (&path("pytest -q"), "pytest -q", "pytest -q"),
            (&path("pytest -q"), &path("pytest"), &path("pytest -q")),
        ] {
            let plan = judge_by(made(base), made(changed));
            assert_eq!(plan.test.as_deref(), Some(judged), "{base} {changed}");
        }
    }

    #[test]
    fn tests_that_came_with_the_change_verify_nothing() {
        let made = |test: Option<&str>| TestPlan { test: test.map(str::to_owned), ..TestPlan::default() };
        let ran = made(Some("make test"));
        assert!(without_own_tests(&made(None), &ran).unwrap().contains("came with the change"));
        assert_eq!(without_own_tests(&ran, &ran), None);
        assert_eq!(without_own_tests(&made(None), &made(None)), None, "none ran");
    }
}
