//! Whole plans for small repositories.

mod ecosystems;
mod hostile;
mod old_projects;
mod projects;
mod sources;
mod statements;

use std::fmt::Write;

use journeyman_order::RepositorySettings;
use proptest::prelude::*;

use super::*;

type FileTable<'a> = &'a [(&'a str, &'a str)];

/// The plan on a machine with these tools and versions.
pub(super) fn planned_with(
    settings: &RepositorySettings,
    files: FileTable<'_>,
    there: FileTable<'_>,
) -> EnvironmentPlan {
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    let read =
        |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec());
    let has = |program: &str| there.iter().any(|(name, _)| *name == program);
    let version = |program: &str| {
        there
            .iter()
            .find(|(name, version)| *name == program && !version.is_empty())
            .map(|(_, version)| (*version).to_owned())
    };
    plan(settings, &RepositoryFiles::new(&paths, &read), &HostTools::new(&has, &version))
}

#[test]
fn what_a_checkout_lacks_is_named_with_the_reason() {
    let paths = ["Makefile".to_owned()];
    let files = RepositoryFiles::new(&paths, &|_| None)
        .without_submodules(vec!["lib: it is on another server, example.org".to_owned()])
        .without_large_files(vec!["a.bin: it is larger than 512 MiB".to_owned()]);
    let tools = HostTools::new(&|_| true, &|_| None);
    let notes = plan(&RepositorySettings::default(), &files, &tools).notes;
    assert!(notes.iter().any(|note| note.ends_with("are empty: lib: it is on another server, example.org")));
    let large = "are pointers to their content: a.bin: it is larger than 512 MiB";
    assert!(notes.iter().any(|note| note.ends_with(large)), "{notes:?}");
}

/// The plan on a machine with all tools.
pub(super) fn planned(files: FileTable<'_>) -> EnvironmentPlan {
    let all = [
        "python3", "uv", "poetry", "pdm", "pipenv", "node", "npm", "pnpm", "yarn", "bun", "cargo", "go",
        "java", "mvn", "gradle", "dotnet", "ruby", "bundle", "php", "composer", "cmake", "make", "meson",
        "ninja", "autoreconf",
    ];
    let there: Vec<(&str, &str)> = all.into_iter().map(|name| (name, "")).collect();
    planned_with(&RepositorySettings::default(), files, &there)
}

/// The relevant lines of a plan.
pub(super) fn shown(plan: &EnvironmentPlan) -> String {
    let mut text = format!("from {}\n", plan.source);
    if let Some(image) = &plan.image {
        let _ = writeln!(text, "image {image}");
    }
    for setup in &plan.setup {
        let _ = writeln!(text, "setup {}   ({})", setup.command, setup.because);
    }
    if let Some(test) = &plan.test {
        let _ = writeln!(text, "test {}   ({})", test.command, test.because);
    }
    let path = plan.search_folders("TREE", "HOME");
    if !path.is_empty() {
        let _ = writeln!(text, "path {}", path.join(":"));
    }
    for note in &plan.notes {
        let _ = writeln!(text, "note {note}");
    }
    text
}

/// Files, the expected setup command, and the expected test command.
type Row<'a> = (FileTable<'a>, Option<&'a str>, Option<&'a str>);

#[test]
fn a_repository_tells_by_its_files_how_it_is_tested() {
    let venv = "python3 -m venv .venv && .venv/bin/python -m pip install -r requirements.txt";
    let venv_pytest = format!("{venv} pytest");
    let only_pytest = "python3 -m venv .venv && .venv/bin/python -m pip install pytest";
    let table: &[Row<'_>] = &[
        (&[("README.md", "")], None, None),
        (&[("Cargo.toml", "[package]\nname='a'")], None, Some("cargo test")),
        (&[("Cargo.toml", "[dependencies]\nserde='1'")], Some("cargo fetch"), Some("cargo test")),
        (
            &[("Cargo.toml", "[dependencies]\nserde='1'"), ("Cargo.lock", "")],
            Some("cargo fetch --locked"),
            Some("cargo test"),
        ),
        (&[("Cargo.toml", "[workspace]\nmembers=['a']")], Some("cargo fetch"), Some("cargo test")),
        (
            &[("Cargo.toml", "[package]\nname='a'\n[workspace]\nmembers=['b']")],
            Some("cargo fetch"),
            Some("cargo test --workspace"),
        ),
        (&[("package.json", r#"{"scripts":{"test":"node --test"}}"#)], None, Some("npm test")),
        (
            &[
                ("package.json", r#"{"scripts":{"test":"vitest"},"devDependencies":{"vitest":"4"}}"#),
                ("package-lock.json", "{}"),
            ],
            Some(
                "npm ci --no-audit --no-fund || npm ci --no-audit --no-fund --legacy-peer-deps || npm ci --no-audit --no-fund --legacy-peer-deps --ignore-scripts",
            ),
            Some("npm test"),
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#)],
            None,
            None,
        ),
        (&[("package.json", "not json"), ("Makefile", "test:\n\tx")], None, Some("make test")),
        (&[("go.mod", "module a")], None, Some("go test ./...")),
        (&[("go.mod", "module a\nrequire b v1")], Some("go mod download"), Some("go test ./...")),
        (&[("pytest.ini", "")], Some(only_pytest), Some("python3 -m pytest")),
        (&[("pyproject.toml", "[tool.pytest.ini_options]")], Some(only_pytest), Some("python3 -m pytest")),
        (&[("tests/conftest.py", "")], Some(only_pytest), Some("python3 -m pytest")),
        (
            &[("requirements.txt", "flask\npytest==9"), ("tests/test_a.py", "")],
            Some(venv),
            Some("python3 -m pytest"),
        ),
        (
            &[("requirements.txt", "flask"), ("conftest.py", "")],
            Some(&venv_pytest),
            Some("python3 -m pytest"),
        ),
        (
            &[("requirements.txt", "pytest-cov"), ("tests/test_a.py", "")],
            Some(venv),
            Some("python3 -m unittest discover -s tests"),
        ),
        (
            &[("requirements.txt", "# nothing\n"), ("test_a.py", "")],
            None,
            Some("python3 -m unittest discover"),
        ),
        (&[("a.py", ""), ("tests/test_a.py", "")], None, Some("python3 -m unittest discover -s tests")),
        (&[("a.py", ""), ("tests/__init__.py", "")], None, Some("python3 -m unittest discover")),
        (&[("tests/readme", "")], None, None),
        (&[("Makefile", "all:\n\ntest: all\n\t./run")], None, Some("make test")),
        (&[("Makefile", "test := no\ntest-all:\n")], None, None),
    ];
    for (files, setup, test) in table {
        let plan = planned(files);
        assert_eq!(plan.setup_command().as_deref(), *setup, "{files:?}");
        assert_eq!(plan.test_command(), *test, "{files:?}");
    }
}

#[test]
fn the_tests_of_a_command_are_known_apart_from_what_it_does_beside_them() {
    let scripts = |scripts: &str| format!("{{\"scripts\":{scripts},\"devDependencies\":{{\"tap\":\"1\"}}}}");
    for (manifest, alone) in [
        (scripts(r#"{"test":"tap"}"#), None),
        (
            scripts(
                r#"{"test":"tap","posttest":"npm run lint","lint":"eslint . && npm run check","check":"prettier -c ."}"#,
            ),
            Some("tap"),
        ),
        (scripts(r#"{"test":"standard && tap test/*.js"}"#), Some("tap test/*.js")),
        (
            scripts(r#"{"pretest":"npm run build","build":"rollup -c","test":"eslint src && tap -R spec"}"#),
            Some("npm run build && tap -R spec"),
        ),
        (
            scripts(r#"{"test":"npm run lint && npm run unit","lint":"xo","unit":"tap"}"#),
            Some("npm run unit"),
        ),
        (scripts(r#"{"test":"eslint 'a && b' && tap"}"#), None),
        (scripts(r#"{"test":"tap; eslint ."}"#), None),
    ] {
        let plan = planned(&[("package.json", &manifest)]);
        assert_eq!(plan.test_command(), Some("npm test"), "{manifest}");
        assert_eq!(plan.test.unwrap().tests_alone.as_deref(), alone, "{manifest}");
    }
    let alone = |files: FileTable<'_>| planned(files).test.unwrap();
    let rust = alone(&[("Cargo.toml", "[package]\nname='a'\n[features]\ndefault=['std']\nstd=[]\nserde=[]")]);
    assert_eq!(
        (rust.command.as_str(), rust.tests_alone.as_deref()),
        ("cargo test --all-features", Some("cargo test"))
    );
    for features in ["[features]\ndefault=['std']\nstd=[]", "[features]\nserde=[]\nnightly=[]"] {
        let manifest = format!("[package]\nname='a'\n{features}");
        assert_eq!(alone(&[("Cargo.toml", &manifest)]).command, "cargo test");
    }
    let go = alone(&[("go.mod", "module a")]);
    assert_eq!(go.tests_alone.as_deref(), Some("go test -vet=off ./..."));
}

#[test]
fn a_repositorys_settings_win_over_what_is_found() {
    let files = [("requirements.txt", "flask"), ("test_a.py", "")];
    let mut settings = RepositorySettings { test: Some("./check".into()), ..RepositorySettings::default() };
    let plan = planned_with(&settings, &files, &[("python3", "")]);
    // The setup is still detected, and its programs come first.
    assert_eq!(plan.test_command(), Some("./check"));
    assert!(plan.setup_command().is_some());
    assert_eq!(plan.search_folders("/t", "/h"), ["/t/.venv/bin", "/h/.local/bin"]);
    assert_eq!(plan.environment("/t", "/h")["VIRTUAL_ENV"], "/t/.venv");

    settings.setup = Some("make deps".into());
    settings.report = Some("report.xml".into());
    settings.image = Some("python:3.12".into());
    settings.env.insert("A".into(), "b".into());
    let plan = planned_with(&settings, &files, &[]);
    insta::assert_snapshot!(shown(&plan), @"
        from `.github/journeyman.yml`, which has `image` and `setup`
        image python:3.12
        setup make deps   (.github/journeyman.yml)
        test ./check   (.github/journeyman.yml)
        path HOME/.local/bin
        ");
    assert_eq!(plan.report.as_deref(), Some("report.xml"));
    assert_eq!(plan.variables["A"], "b");

    settings.test = Some("  ".into());
    assert_eq!(planned_with(&settings, &[], &[]).test, None, "blank is as good as absent");
}

/// A repository with two projects.
fn of_two_projects(settings: &str) -> EnvironmentPlan {
    let settings: RepositorySettings = serde_json::from_str(settings).unwrap();
    let files = [
        ("README.md", ""),
        ("backend/requirements.txt", "flask"),
        ("backend/test_a.py", ""),
        ("web/package.json", r#"{"scripts": {"test": "node --test"}}"#),
        ("web/package-lock.json", "{}"),
        ("shared/rates.json", "{}"),
    ];
    planned_with(&settings, &files, &[("python3", ""), ("node", "22.0.0"), ("npm", "10.0.0")])
}

#[test]
fn each_folder_is_planned_as_a_repository_and_tested_where_a_change_concerns_it() {
    let plan = of_two_projects(r#"{"tests": [{"path": "backend"}, {"path": "web/", "also": ["shared/"]}]}"#);
    insta::assert_snapshot!(shown(&plan), @r#"
        from `.github/journeyman.yml`, which has `tests`
        setup cd backend && export VIRTUAL_ENV="$PWD/.venv" && export PATH="$PWD/.venv/bin:$PATH" && python3 -m venv .venv && .venv/bin/python -m pip install -r requirements.txt   (backend/requirements.txt)
        test (cd backend && export VIRTUAL_ENV="$PWD/.venv" && export PATH="$PWD/.venv/bin:$PATH" && python3 -m unittest discover) && (cd web && export PATH="$PWD/node_modules/.bin:$PATH" && npm test)   (backend/test_a.py, web/a test script in package.json)
        path HOME/.local/bin
        "#);
    assert_eq!(plan.environment("/t", "/h")["VIRTUAL_ENV"], "/t/backend/.venv");
    assert!(plan.dependency_folders.contain("web/node_modules/a"), "{:?}", plan.dependency_folders);
    assert!(plan.decisive_files.contains(&"backend/requirements.txt".to_owned()));
    let tested = |changed: &[&str]| {
        let changed: Vec<std::path::PathBuf> = changed.iter().map(Into::into).collect();
        plan.clone().for_change(&changed).test.unwrap().command
    };
    let apart = |plan: &EnvironmentPlan| -> Vec<(String, String)> {
        let told = |(folder, plan): (&str, EnvironmentPlan)| (folder.to_owned(), plan.test.unwrap().command);
        plan.in_each_folder().into_iter().map(told).collect()
    };
    assert_eq!(
        apart(&plan).iter().map(|(folder, _)| folder.as_str()).collect::<Vec<_>>(),
        ["backend", "web"]
    );
    assert!(apart(&plan).iter().all(|(folder, test)| test.starts_with(&format!("cd {folder} && "))));
    let of_web = plan.clone().for_change(&["web/a.js".into()]);
    assert_eq!(apart(&of_web), [], "one is no several");
    assert_eq!((of_web.left_out, plan.left_out.len()), (vec!["backend".to_owned()], 0));
    let something_else = PlannedTest::new("sh examples.sh", "the issue");
    assert_eq!(apart(&EnvironmentPlan { test: Some(something_else), ..plan.clone() }), []);
    let backend = "cd backend && export VIRTUAL_ENV=\"$PWD/.venv\" && export PATH=\"$PWD/.venv/bin:$PATH\" && \
                   python3 -m unittest discover";
    let web = "cd web && export PATH=\"$PWD/node_modules/.bin:$PATH\" && npm test";
    let both = format!("({backend}) && ({web})");
    for (changed, command) in [
        (vec!["backend/a.py"], backend),
        (vec!["web/a.js", "web/deep/b.js"], web),
        (vec!["shared/rates.json"], web),
        (vec!["backend/a.py", "web/a.js"], &both),
        // A path in neither folder may affect all. A folder with the same prefix is a different folder.
        (vec!["README.md"], &both),
        (vec!["backend2/a.py"], &both),
        (vec!["backend/a.py", "README.md"], &both),
        (vec![], &both),
    ] {
        assert_eq!(tested(&changed), command, "{changed:?}");
    }
}

#[test]
fn a_folder_without_tests_is_named_and_programs_of_one_name_stay_apart() {
    let plan = of_two_projects(r#"{"tests": [{"path": "web", "test": "./serve & npm test"}]}"#);
    let served = "cd web && export PATH=\"$PWD/node_modules/.bin:$PATH\" && (\n./serve & npm test\n)";
    assert_eq!(plan.test_command(), Some(served), "both run in the folder");

    let plan = of_two_projects(r#"{"tests": [{"path": "shared"}, {"path": ".", "test": "./check"}]}"#);
    assert_eq!(plan.test_command(), Some("./check"));
    assert!(plan.notes.iter().any(|note| note == "shared: no tests were found: name them as its `test`"));

    let settings = r#"{"tests": [{"path": "a"}, {"path": "b"}]}"#;
    let files = [
        ("a/requirements.txt", "flask"),
        ("a/test_a.py", ""),
        ("b/requirements.txt", "django"),
        ("b/test_b.py", ""),
    ];
    let plan = planned_with(&serde_json::from_str(settings).unwrap(), &files, &[("python3", "")]);
    let of = |folder: &str| {
        format!(
            "(cd {folder} && export VIRTUAL_ENV=\"$PWD/.venv\" && export PATH=\"$PWD/.venv/bin:$PATH\" && \
             python3 -m unittest discover)"
        )
    };
    assert_eq!(plan.test_command().unwrap(), format!("{} && {}", of("a"), of("b")));
}

#[test]
fn a_setup_is_one_command_whose_parts_are_nothing_to_one_another() {
    let made = |commands: &[&str]| EnvironmentPlan {
        setup: commands
            .iter()
            .map(|one| SetupCommand { command: (*one).into(), because: String::new() })
            .collect(),
        ..EnvironmentPlan::default()
    };
    assert_eq!(made(&[]).setup_command(), None);
    assert_eq!(made(&["a; b"]).setup_command().unwrap(), "a; b");
    assert_eq!(made(&["a", "b"]).setup_command().unwrap(), "a && b");
    assert_eq!(made(&["cd x && a", "b"]).setup_command().unwrap(), "(\ncd x && a\n) && (\nb\n)");
}

#[test]
fn what_a_setup_installs_is_told_from_sources() {
    let plan = planned(&[("package.json", r#"{"dependencies":{"a":"1"}}"#), ("src/obj/a.js", "")]);
    for (path, expected) in [
        ("node_modules/a/index.js", true),
        ("packages/b/node_modules", true),
        (".venv/bin/python", true),
        ("a.egg-info/PKG-INFO", true),
        ("src/a.egg-info", true),
        ("target/debug", true),
        ("crates/target/debug", false),
        ("obj/project.assets.json", false),
        ("src/a.js", false),
        ("vendored/a", false),
    ] {
        assert_eq!(plan.dependency_folders.contain(path), expected, "{path}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Every content of the files results in a plan.
    #[test]
    fn no_content_ends_the_reader(
        text in "(?s)[\\[\\]{}\"'=:,.a-z\\n #(-]{0,200}",
        start in 0_usize..7,
    ) {
        let starts = ["", "[project]\n", "[testenv]\ndeps =\n", "{\"scripts\":{\"test\":", "use (\n", "extras_require={", "- uses: "];
        let text = format!("{}{text}", starts[start]);
        let names = [
            "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "requirements.txt", "package.json", "go.mod", "go.work",
            "Cargo.toml", "CMakeLists.txt", "meson.build", "meson_options.txt", "Makefile", "Gemfile", "Rakefile", "composer.json",
            ".nvmrc", ".github/workflows/copilot-setup-steps.yml", "a b/test_'x.py",
        ];
        for name in names {
            let _ = planned(&[(name, &text), ("tests/test_a.py", &text)]);
        }
        let all: Vec<(&str, &str)> = names.iter().map(|name| (*name, text.as_str())).collect();
        let _ = planned(&all);
    }
}
