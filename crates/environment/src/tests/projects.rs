//! Projects that a test command does not cover.

use std::path::PathBuf;

use journeyman_order::{RepositorySettings, UnrunReason};

use super::{FileTable, planned, planned_with};
use crate::{EnvironmentPlan, RepositoryFiles, unrun_projects};

const PYTHON: (&str, &str) = ("pyproject.toml", "[project]\nname='a'");
const PYTHON_TEST: (&str, &str) = ("tests/__init__.py", "");
const WEB: (&str, &str) = ("web/package.json", r#"{"scripts":{"test":"node --test"}}"#);

/// The project folders for which no test is known to run for a change of one file, with the reason.
fn unrun(plan: &EnvironmentPlan, files: FileTable<'_>, changed: &str) -> Vec<(String, UnrunReason)> {
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let read =
        |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
    let found = unrun_projects(plan, &RepositoryFiles::new(&paths, &read), &[PathBuf::from(changed)]);
    found.into_iter().map(|project| (project.folder, project.because)).collect()
}

fn of_settings(test: &str) -> RepositorySettings {
    RepositorySettings { test: Some(test.to_owned()), ..RepositorySettings::default() }
}

#[test]
fn a_changed_file_is_of_a_project_whose_tests_a_command_runs_or_does_not() {
    use UnrunReason::{HasNone, NotAsked, Unknown};
    let virtual_root = ("Cargo.toml", "[workspace]\nmembers=['app','lib']\ndefault-members=['app']");
    let (app, lib) =
        (("app/Cargo.toml", "[package]\nname='app'"), ("lib/Cargo.toml", "[package]\nname='the-lib'"));
    let fuzz = ("fuzz/Cargo.toml", "[package]\nname='fuzz'\n[workspace]");
    let rust = [virtual_root, app, lib, fuzz];
    let go = [("go.mod", "module a"), ("inner/go.mod", "module a/inner"), ("examples/go.mod", "module e")];
    let makefile = (
        "Makefile",
        "all: web\n\ntest: unit\n\nunit:\n\tpython3 -m unittest\n\nweb:\n\tcd web && npm test\n",
    );
    let both = [PYTHON, PYTHON_TEST, WEB, ("docs/package.json", r#"{"scripts":{"build":"x"}}"#), makefile];
    let root_of_both = [PYTHON, PYTHON_TEST, ("package.json", r#"{"scripts":{"test":"jest"}}"#)];
    let linted = [PYTHON, PYTHON_TEST, ("package.json", r#"{"devDependencies":{"prettier":"3"}}"#)];
    let extension =
        [PYTHON, PYTHON_TEST, ("rust/Cargo.toml", "[package]\nname='a'\n[lib]\ncrate-type=['cdylib']")];
    let pytest = [
        ("pyproject.toml", "[project]\nname='a'\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]"),
        ("api/setup.py", ""),
    ];
    let own_toml = [("pytest.toml", "[pytest]\ntestpaths = [\"tests\"]\n"), ("api/setup.py", "")];
    let hidden_toml = [(".pytest.toml", own_toml[0].1), own_toml[1]];
    let hidden = [(".pytest.ini", "[pytest]\ntestpaths = tests\n"), own_toml[1]];
    let hidden_both = [(".pytest.ini", "[pytest]\ntestpaths = tests api\n"), own_toml[1]];
    let npm = [
        ("package.json", r#"{"scripts":{"test":"mocha"}}"#),
        ("web/package.json", r#"{"name":"@a/web","scripts":{"test":"jest"}}"#),
    ];
    let data = [PYTHON, PYTHON_TEST, ("tests/fixtures/site/package.json", r#"{"scripts":{"test":"jest"}}"#)];
    let mark = [PYTHON, PYTHON_TEST, ("web/package.json", r#"{"type":"commonjs"}"#)];
    for (files, command, changed, expected) in [
        (&rust[..], "cargo test", "lib/src/lib.rs", Some(("lib", NotAsked))),
        (&rust, "cargo test", "app/src/main.rs", None),
        (&rust, "cargo test --workspace", "lib/src/lib.rs", None),
        (&rust, "cargo test -p app", "lib/src/lib.rs", Some(("lib", NotAsked))),
        (&rust, "cargo test --package=the-lib", "lib/src/lib.rs", None),
        (&rust, "cargo test --workspace --exclude the-lib", "lib/src/lib.rs", Some(("lib", NotAsked))),
        (&rust, "cargo test --workspace", "fuzz/src/main.rs", Some(("fuzz", NotAsked))),
        (&go, "go test ./...", "inner/a.go", Some(("inner", NotAsked))),
        (&go, "go test ./... && cd inner && go test ./...", "inner/a.go", None),
        (&go, "go test ./...", "a/b.go", None),
        (&go, "go test ./...", "examples/a.go", Some(("examples", NotAsked))),
        (&both, "python3 -m unittest", "web/src/a.ts", Some(("web", NotAsked))),
        (&both, "python3 -m unittest", "web/README.md", None),
        (&both, "python3 -m unittest", "a.py", None),
        (&both, "python3 -m unittest", "web/serve.py", None),
        (&both, "python3 -m unittest", "docs/a.js", Some(("docs", HasNone))),
        (&both, "make test", "web/src/a.ts", Some(("web", NotAsked))),
        (&both, "make test web", "web/src/a.ts", None),
        (&both, "make", "web/src/a.ts", None),
        (&both, "npm --prefix web test && python3 -m unittest", "web/src/a.ts", None),
        (&both, "bazel test //... && python3 -m unittest", "web/src/a.ts", Some(("web", Unknown))),
        (&both, "./check", "web/src/a.ts", Some(("web", Unknown))),
        (&both, "./check", "a.py", None),
        (&root_of_both, "python3 -m unittest", "app.js", Some(("", NotAsked))),
        (&root_of_both, "npm test", "app.js", None),
        (&linted, "python3 -m unittest", "static/app.js", None),
        (&extension, "python3 -m pytest", "rust/src/lib.rs", Some(("rust", Unknown))),
        (&pytest, "python3 -m pytest", "api/a.py", Some(("api", NotAsked))),
        (&pytest[1..], "python3 -m pytest", "api/a.py", None),
        (&own_toml, "python3 -m pytest", "api/a.py", Some(("api", NotAsked))),
        (&hidden_toml, "python3 -m pytest", "api/a.py", Some(("api", NotAsked))),
        (&hidden, "python3 -m pytest", "api/a.py", Some(("api", NotAsked))),
        (&hidden, "python3 -m pytest tests api", "api/a.py", None),
        (&hidden_both, "python3 -m pytest", "api/a.py", None),
        (&npm, "npm test", "web/a.js", Some(("web", NotAsked))),
        (&npm, "npx jest", "web/a.js", None),
        (&npm, "npm test --workspaces", "web/a.js", None),
        (&npm, "npm test --workspace=@a/web", "web/a.js", None),
        (&npm, "npx turbo test", "web/a.js", None),
        (&data, "python3 -m unittest", "tests/fixtures/site/a.js", None),
        (&mark, "python3 -m unittest", "web/a.js", None),
    ] {
        let plan = planned_with(&of_settings(command), files, &[("python3", "")]);
        let expected: Vec<_> =
            expected.map(|(folder, because)| (folder.to_owned(), because)).into_iter().collect();
        assert_eq!(unrun(&plan, files, changed), expected, "{command}: {changed}");
    }
}

#[test]
fn the_tests_of_a_project_below_run_for_a_change_there_where_the_settings_name_no_tests() {
    let files = [PYTHON, PYTHON_TEST, WEB, ("old/go.mod", "module a"), ("app/pubspec.yaml", "")];
    let plan = planned(&files);
    let root = "python3 -m unittest discover";
    assert_eq!(plan.test_command(), Some(root));
    assert_eq!(
        plan.note_of_projects().as_deref(),
        Some("the tests of old/go.mod, web/package.json run only for a change there")
    );
    assert_eq!(plan.notes, ["no tests were found for app/pubspec.yaml: a change there cannot be verified"]);
    let changed = |path: &str| plan.projects_concerned(&[path.into()], &plan);
    assert_eq!(changed("pkg/a.py"), [""; 0]);
    assert_eq!(changed("app/lib/a.dart"), [""; 0]);
    assert_eq!(changed("web/src/a.js"), ["web"]);
    assert_eq!(plan.projects_concerned(&["web/a.js".into()], &planned(&files[..2])), [""; 0], "it is gone");
    let with_web = plan.clone().with_projects(&changed("web/src/a.js"));
    let web = "cd web && export PATH=\"$PWD/node_modules/.bin:$PATH\" && npm test";
    assert_eq!(with_web.test_command(), Some(format!("({root}) && ({web})").as_str()));
    assert_eq!(with_web.in_each_folder().len(), 2);
    assert_eq!(with_web.for_change(&["web/src/a.js".into()]).left_out, ["old"]);
    let with_web = plan.clone().with_projects(&changed("web/src/a.js"));
    assert_eq!(unrun(&with_web, &files, "web/src/a.js"), []);
    assert_eq!(plan.clone().with_projects(&[]), plan);

    let named = planned_with(&of_settings("python3 -m unittest"), &files, &[("python3", "")]);
    assert_eq!(
        named.notes[1],
        "the tests of old/go.mod, web/package.json are not run: name their folders as `tests` in .github/journeyman.yml"
    );
    assert!(named.projects_concerned(&["web/src/a.js".into()], &named).is_empty());
}

#[test]
fn a_repository_without_a_root_is_tested_in_the_folder_that_a_change_concerns() {
    let files = [("api/pyproject.toml", "[project]\nname='a'"), ("api/tests/__init__.py", ""), WEB];
    let plan = planned(&files);
    assert_eq!(plan.test_command(), None);
    let changed = [PathBuf::from("web/a.js")];
    let tested = plan.clone().with_projects(&plan.projects_concerned(&changed, &plan)).for_change(&changed);
    assert!(tested.test_command().unwrap().starts_with("cd web && "), "{:?}", tested.test_command());
}

#[test]
fn all_members_of_a_workspace_are_tested_unless_the_base_fails_by_that() {
    let plan = planned(&[
        ("Cargo.toml", "[workspace]\nmembers=['app','lib']\ndefault-members=['app']"),
        ("app/Cargo.toml", "[package]\nname='app'"),
        ("lib/Cargo.toml", "[package]\nname='lib'"),
    ]);
    let test = plan.test.unwrap();
    assert_eq!(
        (test.command.as_str(), test.tests_alone.as_deref()),
        ("cargo test --workspace", Some("cargo test"))
    );
    assert_eq!(plan.notes, [""; 0]);
}
