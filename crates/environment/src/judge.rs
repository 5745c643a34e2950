//! The plan that judges a change: the base's tests, with the setup that the changed tree needs.
//!
//! May know: two plans. Must never know: commits.

use std::path::PathBuf;

use crate::EnvironmentPlan;

/// The test command of the base, with the setup that the changed tree needs, since a new dependency must be installed.
/// If the base has no tests, the change's own tests are used.
///
/// Image, services and variables come from the base as well: a change does not choose where it is judged.
pub fn judge_by(before: EnvironmentPlan, after: EnvironmentPlan) -> EnvironmentPlan {
    let Some(test) = before.test else {
        return EnvironmentPlan { image: before.image, services: before.services, ..after };
    };
    let mut variables = after.variables;
    variables.extend(before.variables);
    EnvironmentPlan {
        source: before.source,
        image: before.image,
        services: before.services,
        variables,
        test: Some(test),
        folders: before.folders,
        report: before.report,
        ..after
    }
}

/// Why a pass verifies nothing if the base has no tests and the change brings some.
pub fn without_own_tests(before: &EnvironmentPlan, judged_by: &EnvironmentPlan) -> Option<String> {
    let said = "the repository has no tests of its own; those that ran came with the change";
    (before.test.is_none() && judged_by.test.is_some()).then(|| said.to_owned())
}

/// The edited paths that decide what a setup installs, before or after the change.
pub fn edited_setup(before: &EnvironmentPlan, after: &EnvironmentPlan, changed: &[PathBuf]) -> Vec<String> {
    let decides = |plan: &EnvironmentPlan, path: &str| {
        plan.decisive_files.iter().chain(&plan.setup_scripts).any(|known| known == path)
    };
    let changed = changed.iter().filter_map(|path| path.to_str());
    let mut edited: Vec<String> =
        changed.filter(|path| decides(before, path) || decides(after, path)).map(str::to_owned).collect();
    edited.sort();
    edited
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PlannedTest, SetupCommand};

    fn made(test: Option<&str>, setup: &str) -> EnvironmentPlan {
        let text = |text: &str| (text.to_owned(), String::new());
        EnvironmentPlan {
            test: test.map(text).map(|(command, because)| PlannedTest::new(command, because)),
            setup: vec![SetupCommand { command: setup.to_owned(), because: String::new() }],
            image: Some(format!("image-of-{setup}")),
            ..EnvironmentPlan::default()
        }
    }

    #[test]
    fn a_change_chooses_neither_its_runner_nor_its_place() {
        for (base, changed) in
            [("npm test", "pnpm test"), ("test", "true; make test"), ("pytest -q", "pytest")]
        {
            let plan = judge_by(made(Some(base), "old"), made(Some(changed), "new"));
            assert_eq!(plan.test_command(), Some(base), "{changed}");
            assert_eq!(plan.setup_command().as_deref(), Some("new"), "what is new has to be installed");
            assert_eq!(plan.image.as_deref(), Some("image-of-old"));
        }
    }

    #[test]
    fn tests_that_came_with_the_change_verify_nothing() {
        let ran = made(Some("make test"), "s");
        assert!(without_own_tests(&made(None, "s"), &ran).unwrap().contains("came with the change"));
        assert_eq!(without_own_tests(&ran, &ran), None);
        assert_eq!(without_own_tests(&made(None, "s"), &made(None, "s")), None, "none ran");
    }

    #[test]
    fn a_setup_is_edited_by_what_decides_it_before_or_after() {
        let plan = |decisive: &str, script: &str| EnvironmentPlan {
            decisive_files: vec![decisive.to_owned()],
            setup_scripts: vec![script.to_owned()],
            ..EnvironmentPlan::default()
        };
        let (before, after) =
            (plan("requirements.txt", "tools/prepare.sh"), plan("setup.py", "tools/new.sh"));
        let changed = ["tools/prepare.sh", "setup.py", "src/code.py"].map(PathBuf::from);
        assert_eq!(edited_setup(&before, &after, &changed), ["setup.py", "tools/prepare.sh"]);
        assert!(edited_setup(&before, &after, &["src/code.py".into()]).is_empty());
    }
}
