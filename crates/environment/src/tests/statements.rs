//! What a repository says of its tests comes before what its files let us guess.

use super::{FileTable, planned};

const PYTHON: (&str, &str) = ("pyproject.toml", "[project]\nname = 'a'\n");
const UNITTEST: (&str, &str) = ("tests/test_a.py", "import unittest\nclass T(unittest.TestCase): pass\n");
const PYTEST: (&str, &str) = ("conftest.py", "");
const TESTS: (&str, &str) = ("tests/__init__.py", "");

/// A workflow of one job with these steps.
fn workflow(steps: &str) -> String {
    format!("on: [push, pull_request]\njobs:\n  build:\n    runs-on: ubuntu-latest\n    steps:\n{steps}")
}

/// The test command of a repository, why it is that one, and what is tried if it cannot run.
fn test(files: FileTable<'_>) -> (String, String, Option<String>) {
    let test = planned(files).test.unwrap_or_else(|| panic!("no tests in {files:?}"));
    (test.command, test.because, test.tests_alone)
}

fn command(files: FileTable<'_>) -> String {
    test(files).0
}

#[test]
fn tests_that_only_their_own_program_can_load_are_run_by_it() {
    let program = ("runtests.py", "");
    let tox = (
        "tox.ini",
        "[testenv]\ncommands = coverage run --source a ./runtests.py {posargs}\ndeps = coverage\n",
    );
    let make = ("Makefile", ".PHONY: test\n\ntest:\n\t./runtests.py\n");
    let ci = workflow(
        "      - name: Tests\n        run: |\n          pip install -e .\n          python runtests.py --all\n",
    );
    let ci = (".github/workflows/ci.yml", ci.as_str());
    let other = "python3 -m unittest discover".to_owned();
    for (said, expected, because) in [
        (&[tox] as FileTable<'_>, "python3 runtests.py", "tox.ini"),
        (&[tox, make], "python3 runtests.py", "a target test in Makefile"),
        (&[tox, make, ci], "python3 runtests.py --all", "step \"Tests\" in .github/workflows/ci.yml"),
        (&[], "python3 runtests.py", "runtests.py"),
    ] {
        let mut files = vec![PYTHON, TESTS, UNITTEST, program];
        files.extend(said);
        let (command, place, alone) = test(&files);
        assert_eq!((command.as_str(), place.as_str()), (expected, because));
        if command == "python3 runtests.py" {
            assert_eq!(alone, Some(other.clone()), "the guess is tried if the program cannot run");
        }
    }
    let django = ("manage.py", "import django\n");
    assert_eq!(command(&[django, TESTS, UNITTEST]), "python3 manage.py test");
    let settings = (
        "Makefile",
        "test:\n\tDJANGO_SETTINGS_MODULE=tests.settings python -m django test $${ARGS:-tests}\n",
    );
    let with_settings = "DJANGO_SETTINGS_MODULE=tests.settings python3 -m django test tests";
    assert_eq!(command(&[PYTHON, TESTS, UNITTEST, settings]), with_settings);
}

#[test]
fn a_runner_that_names_tests_is_worth_more_than_one_that_hides_them() {
    let make = (
        "Makefile",
        "PY ?= .venv/bin/python\ntest: lint\n\t$(PY) -m pytest -x --cov=a -m unit\nlint:\n\truff check\n",
    );
    let (run, because, alone) = test(&[PYTHON, PYTEST, UNITTEST, make]);
    // `make test` is reduced to what it runs, which names tests and can run some of them.
    assert_eq!((run.as_str(), because.as_str()), ("python3 -m pytest -m unit", "a target test in Makefile"));
    assert_eq!(alone.as_deref(), Some("python3 -m pytest"));
    // Where pytest is configured, it runs the tests of unittest as well.
    let make = ("Makefile", "test:\n\tpython3 -m unittest\n");
    assert_eq!(command(&[PYTHON, PYTEST, UNITTEST, make]), "python3 -m pytest");
    assert_eq!(command(&[PYTHON, TESTS, UNITTEST, make]), "python3 -m unittest");
    // Rake hides what it starts.
    let ci = workflow("      - run: bundle exec rake\n");
    let ruby =
        [("Gemfile", ""), ("Rakefile", "task default: :spec\n"), (".github/workflows/ci.yml", ci.as_str())];
    assert_eq!(command(&[ruby[0], ruby[1], ruby[2], (".rspec", "")]), "bundle exec rspec");
    assert_eq!(command(&ruby), "bundle exec rake");
}

#[test]
fn a_tool_that_runs_sessions_says_what_it_runs() {
    let nox = (
        "noxfile.py",
        "@nox.session\ndef tests(session):\n    session.install('-e', '.', 'attrs')\n    session.run('pytest', '-W', 'error', *session.posargs)\n",
    );
    let plan = planned(&[PYTHON, PYTEST, UNITTEST, nox]);
    assert_eq!(plan.test_command(), Some("python3 -m pytest -W error"));
    assert!(plan.setup_command().unwrap().contains("attrs"), "{:?}", plan.setup_command());
    let by_hatch =
        format!("{}[tool.hatch.envs.default.scripts]\ntest = 'pytest --cov {{args}} -m unit'\n", PYTHON.1);
    let ci = workflow("      - run: hatch run test\n");
    let files = [(PYTHON.0, by_hatch.as_str()), PYTEST, UNITTEST, (".github/workflows/ci.yml", ci.as_str())];
    assert_eq!(command(&files), "python3 -m pytest -m unit");
}

#[test]
fn what_a_sandbox_does_not_have_is_not_taken() {
    let starts_containers = ("Makefile", "test: up\n\tpytest -m db\nup:\n\tdocker compose up -d\n");
    assert_eq!(command(&[PYTHON, PYTEST, UNITTEST, starts_containers]), "python3 -m pytest");
    let plan = planned(&[starts_containers]);
    assert_eq!(plan.test_command(), None);
    let said = "a target test in Makefile is not run: it starts docker, which a sandbox does not";
    assert!(plan.notes.iter().any(|note| note == said), "{:?}", plan.notes);
    for step in [
        "      - run: pytest -m ${{ matrix.kind }}\n",
        "      - run: pytest -m a\n        env: {TOKEN: '${{ secrets.TOKEN }}'}\n",
        "      - run: sudo apt-get install x && pytest -m a\n",
        "      - run: docker compose run app pytest -m a\n",
        "      - run: pytest -m a\n        if: runner.os == 'Linux'\n",
        "      - run: pytest -m a\n      - run: pytest -m b\n",
    ] {
        let ci = workflow(step);
        let files = [PYTHON, PYTEST, UNITTEST, (".github/workflows/ci.yml", ci.as_str())];
        assert_eq!(command(&files), "python3 -m pytest", "{step}");
    }
}

#[test]
fn a_script_that_runs_tests_is_chosen_as_the_repository_chooses_it() {
    let scripts = r#"{"scripts": {"test": "eslint .", "unit": "mocha unit", "test:all": "mocha"}, "devDependencies": {"mocha": "11"}}"#;
    let ci = workflow("      - run: npm ci\n      - name: Test\n        run: npm run test:all\n");
    let files = [("package.json", scripts), (".github/workflows/ci.yml", ci.as_str())];
    assert_eq!(command(&files[..1]), "npm run unit");
    let (run, because, _) = test(&files);
    assert_eq!(run, "npm run test:all");
    assert_eq!(because, "step \"Test\" in .github/workflows/ci.yml, which runs the script test:all");
    let make = ("Makefile", "test:\n\t./node_modules/.bin/mocha --reporter dot test/all.js\n");
    let no_script = ("package.json", r#"{"devDependencies": {"mocha": "11"}}"#);
    assert_eq!(command(&[no_script]), "npx --no-install mocha");
    assert_eq!(command(&[no_script, make]), "npx --no-install mocha test/all.js");
}

#[test]
fn a_runner_that_the_repository_brings_along_is_started_as_it_says() {
    let files = [
        ("composer.json", r#"{"name": "a/a"}"#),
        ("phpunit.xml", ""),
        ("tools/phpunit", "#!/usr/bin/env php\n"),
        ("Makefile", "test:\n\t./tools/phpunit --coverage-text --testsuite unit\n"),
    ];
    assert_eq!(command(&files), "php tools/phpunit --testsuite unit");
}

#[test]
fn a_target_that_starts_programs_of_a_project_has_them_installed() {
    let package = ("package.json", r#"{"devDependencies": {"tape": "5"}, "scripts": {"build": "tsc"}}"#);
    let make = ("Makefile", "test: build\n\tnode test/run.js\nbuild:\n\tnpm run build\n");
    let plan = planned(&[package, make]);
    assert_eq!(plan.test_command(), Some("make test"));
    assert!(plan.setup_command().unwrap().starts_with("npm install"), "{:?}", plan.setup_command());
    let docs = ("Makefile", "test:\n\t./check.pl\n");
    let plan = planned(&[package, docs]);
    assert_eq!(
        (plan.test_command(), plan.setup_command()),
        (Some("make test"), None),
        "it starts none of them"
    );
}

#[test]
fn a_repository_in_any_language_is_tested_as_its_workflow_says() {
    let with = |steps: &str, files: FileTable<'_>| {
        let ci = workflow(steps);
        let mut all = vec![(".github/workflows/ci.yml", ci.as_str())];
        all.extend(files);
        planned(&all).test.map(|test| test.command)
    };
    let bats = "      - run: bats --recursive test\n";
    assert_eq!(with(bats, &[("a.sh", "")]).as_deref(), Some("bats --recursive test"));
    let program = "      - run: ./configure\n      - run: ./run-tests.sh --all\n";
    assert_eq!(with(program, &[("run-tests.sh", "")]).as_deref(), Some("./run-tests.sh --all"));
    assert_eq!(with(program, &[]), None, "it is not there");
    let make = ("Makefile", "test:\n\t./a\ncheck: all\n\t./b\n");
    assert_eq!(with("      - run: make check\n", &[make]).as_deref(), Some("make check"));
    assert_eq!(with("      - run: make\n", &[make]).as_deref(), Some("make test"));
    let just = ("justfile", "test: build\n    ./a --all\n\nbuild:\n    cc a.c\n");
    assert_eq!(with("      - run: cc a.c\n", &[just]).as_deref(), Some("cc a.c && ./a --all"));
}

#[test]
fn a_workflow_of_few_lines_that_stand_for_many_says_nothing() {
    let lists: String =
        (1..9).map(|at| format!("k{at}: &k{at} [{}]\n", format!("*k{}, ", at - 1).repeat(9))).collect();
    let text =
        format!("k0: &k0 [a, a, a, a, a, a, a, a, a]\n{lists}{}", workflow("      - run: pytest -m a\n"));
    assert_eq!(
        command(&[PYTHON, PYTEST, UNITTEST, (".github/workflows/ci.yml", &text)]),
        "python3 -m pytest"
    );
    let steps = "      - run: make test\n".repeat(5_000);
    let ci = workflow(&steps);
    let make = ("Makefile", "test:\n\t./a\n");
    assert_eq!(command(&[make, (".github/workflows/ci.yml", &ci)]), "make test");
}
