//! What a repository says of how its Python tests are run, reduced to the command that runs them.
//!
//! May know: runners of Python's tests and the programs that start them. Must never know: how anything is installed.

use toml::Value;

use super::project::PythonProject;
use super::{nox, tox};
use crate::files::RepositoryFiles;
use crate::grammar_kind::file_name;
use crate::stated::{self, StatedCommand, StatedReading, TestStatement, without_looks};
use crate::words::is_python;
use journeyman_order::bounds::MOST_HOPS;

/// Where a repository may say it.
pub(super) struct StatementPlaces<'a> {
    pub(super) files: &'a RepositoryFiles<'a>,
    pub(super) project: &'a PythonProject,
    /// Steps of workflows.
    pub(super) steps: &'a [TestStatement],
}

/// Tables of scripts in pyproject.toml.
const SCRIPTS: [&[&str]; 5] = [
    &["tool", "hatch", "envs", "default", "scripts"],
    &["tool", "hatch", "envs", "test", "scripts"],
    &["tool", "pdm", "scripts"],
    &["tool", "poe", "tasks"],
    &["tool", "taskipy", "tasks"],
];

/// How a project's tests are run.
#[derive(Debug, Default)]
pub(super) struct PythonRunner {
    pub(super) command: String,
    /// The place that says so, or the file that indicates it.
    pub(super) because: String,
    /// Whether pytest has to be installed.
    pub(super) wants_pytest: bool,
    /// Whether the repository itself says so.
    pub(super) is_stated: bool,
    /// The command to try if this one cannot run here.
    pub(super) other: Option<String>,
}

/// The command that the repository says. `None` if nothing says one that can be run here.
pub(super) fn find(places: &StatementPlaces<'_>) -> Option<PythonRunner> {
    let StatementPlaces { files, project, steps } = places;
    let scripts = ["test", "tests"].into_iter().flat_map(|name| script(project, name));
    let sessions = tox::statements(files).into_iter().chain(nox::statements(files));
    let read = |command: &StatedCommand| read(&command.words(), &command.folder, places, MOST_HOPS);
    let (command, because) = stated::find(steps, scripts.chain(sessions).collect(), files, &read)?;
    let wants_pytest = command.words().starts_with(&["python3", "-m", "pytest"]);
    Some(PythonRunner { command: command.shell(), because, wants_pytest, is_stated: true, other: None })
}

/// What words in a folder have to do with tests.
fn read(words: &[&str], folder: &str, places: &StatementPlaces<'_>, left: usize) -> StatedReading {
    let (is_module, words) = match words {
        ["-m", module @ ..] => (true, module),
        words => (false, words),
    };
    let Some(((program, args), left)) = words.split_first().zip(left.checked_sub(1)) else {
        return StatedReading::Nothing;
    };
    let name = file_name(program);
    let said = match (name, args) {
        ("tox", args) if is_of_tests(args) => tox::statements(places.files),
        ("nox", args) if is_of_tests(args) => nox::statements(places.files),
        ("hatch" | "pdm", ["run", name, ..]) | ("poe" | "task", [name, ..]) => {
            script(places.project, name.rsplit(':').next().unwrap_or(name))
        }
        _ => Vec::new(),
    };
    if !said.is_empty() {
        return StatedReading::Elsewhere(said);
    }
    let deciding = without_looks(args);
    match (name, args) {
        ("pytest" | "py.test", _) => tests(&["python3", "-m", "pytest"], &deciding),
        ("hatch", ["test", ..]) => tests(&["python3", "-m", "pytest"], &[]),
        ("unittest", _) if is_module => {
            let whole: Vec<&str> = deciding.into_iter().filter(|arg| *arg != "-f").collect();
            tests(&["python3", "-m", "unittest"], &whole)
        }
        ("django-admin" | "django", ["test", ..]) => tests(&["python3", "-m", "django"], &deciding),
        ("trial", _) => tests(&["trial"], args),
        ("twisted.trial", _) => tests(&["python3", "-m", "twisted.trial"], args),
        ("uv" | "rye" | "poetry" | "pdm" | "pipenv" | "hatch" | "pixi" | "coverage", ["run", rest @ ..]) => {
            started(rest, folder, places, left)
        }
        _ if is_python(name) || matches!(name, "time" | "exec") => started(args, folder, places, left),
        _ if is_module => {
            let path = program.replace('.', "/");
            let is_there = [format!("{path}.py"), format!("{path}/__main__.py")]
                .iter()
                .any(|path| is_file(path, folder, places.files));
            let stem = name.rsplit('.').next().unwrap_or(name);
            match is_there && (stem == "tests" || is_suite(stem)) {
                true => tests(&["python3", "-m", *program], args),
                false => StatedReading::Nothing,
            }
        }
        _ => {
            let path = program.trim_start_matches("./");
            let stem = name.strip_suffix(".py").filter(|_| is_file(path, folder, places.files));
            match (stem, args) {
                (Some("manage"), ["test", ..]) => tests(&["python3", path], &deciding),
                (Some(stem), _) if is_suite(stem) => tests(&["python3", path], args),
                _ => StatedReading::Nothing,
            }
        }
    }
}

fn tests(words: &[&str], args: &[&str]) -> StatedReading {
    StatedReading::Tests(words.iter().chain(args).map(|word| (*word).to_owned()).collect())
}

/// The same of the words after a program that starts another. That is the first one that is known behind options, each
/// of which may have a value.
fn started(words: &[&str], folder: &str, places: &StatementPlaces<'_>, left: usize) -> StatedReading {
    let mut is_after_option = false;
    for (at, word) in words.iter().enumerate() {
        if pattern!(r"^(--directory|--project|--package|-C)(=|$)").is_match(word) {
            break;
        }
        let reading = read(words.get(at..).unwrap_or_default(), folder, places, left);
        if *word == "-m" || !matches!(reading, StatedReading::Nothing) {
            return reading;
        }
        let is_option = word.starts_with('-');
        if !is_option && !is_after_option {
            break;
        }
        is_after_option = is_option;
    }
    StatedReading::Nothing
}

/// Whether a repository names a program like this that starts its tests. Files that unittest finds are none: it names
/// their tests, and a program may not.
fn is_suite(stem: &str) -> bool {
    pattern!(r"(?i)^(run[_-]?tests?|testrunner|(run[_-])?all[_-]?tests|testsuite)$").is_match(stem)
}

fn is_file(path: &str, folder: &str, files: &RepositoryFiles<'_>) -> bool {
    files.text(format!("{folder}/{path}").trim_start_matches('/')).is_some()
}

/// Whether a call of tox or nox runs its environment for tests.
fn is_of_tests(args: &[&str]) -> bool {
    let args = args.join(" ");
    let chosen = pattern!(r"(?:^|\s)(?:-[esfmtk]|--env|--sessions?)[ =]?(\S+)").captures(&args);
    let is_one = pattern!(r"(^|[,_-])(tests?|unit\w*|pytest|py|pypy3|py3\w*|3\.\S*)([,_-]|$)");
    chosen.is_none_or(|chosen| chosen.get(1).is_some_and(|names| is_one.is_match(names.as_str())))
}

/// The scripts of a name in pyproject.toml.
fn script(project: &PythonProject, name: &str) -> Vec<TestStatement> {
    let of_table = |table: &&[&str]| {
        let script = project.at(table)?.get(name)?;
        let lines = || script.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<&str>>>();
        let text = script.get("cmd").unwrap_or(script).as_str().map(str::to_owned);
        let text = text.or_else(|| Some(lines()?.join("\n")))?;
        let place = format!("the script {name} in pyproject.toml");
        Some(TestStatement::new(place, tox::without_arguments(&text)))
    };
    SCRIPTS.iter().filter_map(of_table).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROJECT: (&str, &str) = ("pyproject.toml", "[project]\nname = 'a'\n");
    const TESTS: (&str, &str) = ("tests/test_a.py", "");

    fn told(written: &[(&str, &str)], steps: &[&str]) -> Option<(String, String)> {
        let paths: Vec<String> = written.iter().map(|(path, _)| (*path).to_owned()).collect();
        let read = |path: &str| {
            written.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
        };
        let files = RepositoryFiles::new(&paths, &read);
        let steps: Vec<TestStatement> =
            steps.iter().map(|step| TestStatement::new("a step", *step)).collect();
        let project = PythonProject::read(&files);
        let found = find(&StatementPlaces { files: &files, project: &project, steps: &steps })?;
        Some((found.command, found.because))
    }

    fn step(step: &str) -> Option<String> {
        let files = [
            PROJECT,
            TESTS,
            ("runtests.py", ""),
            ("tests/run-tests.py", ""),
            ("demo/manage.py", ""),
            ("a/tests/__main__.py", ""),
        ];
        told(&files, &[step]).map(|(command, _)| command)
    }

    #[test]
    fn a_step_is_reduced_to_what_runs_the_tests() {
        for (stated, command) in [
            (
                "pip install -e . && pytest -vv --cov=a --cov-report xml -n auto --maxfail=3 tests",
                "python3 -m pytest tests",
            ),
            (
                "python -W error -m pytest -k 'not slow' -m \"unit\" -xvs -ra --cov tests",
                "python3 -m pytest -k 'not slow' -m unit -s -ra",
            ),
            (
                "uv run --locked --group dev pytest --junitxml=r.xml tests/test_a.py::test_a",
                "python3 -m pytest tests/test_a.py::test_a",
            ),
            ("poetry run coverage run --source a -m pytest; coverage report", "python3 -m pytest"),
            (
                "venv/bin/python3.12 -X dev -m unittest discover -s tests -v",
                "python3 -m unittest discover -s tests",
            ),
            ("coverage run --source a ./runtests.py", "python3 runtests.py"),
            ("python -Wd -m coverage run -p runtests.py all", "python3 runtests.py all"),
            ("cd tests\n./run-tests.py --fast", "cd tests && python3 run-tests.py --fast"),
            (
                "cd demo && python manage.py test --parallel 4 --failfast shop",
                "cd demo && python3 manage.py test shop",
            ),
            (
                "DJANGO_SETTINGS_MODULE=a.s CI=1 django-admin test -v 2",
                "DJANGO_SETTINGS_MODULE=a.s python3 -m django test",
            ),
            ("python -Wall bin/coverage run -p bin/trial a", "trial a"),
            ("python -m a.tests", "python3 -m a.tests"),
            ("uv run -m pytest --pyargs a", "python3 -m pytest --pyargs a"),
        ] {
            assert_eq!(step(stated).as_deref(), Some(command), "{stated}");
        }
    }

    #[test]
    fn a_step_that_runs_something_else_or_elsewhere_is_not_taken() {
        for stated in [
            "ruff check . && mypy a",
            "python -m pip install pytest",
            "if x; then pytest; fi",
            "pytest $ARGS",
            "uv run --directory b pytest",
            "python setup.py test",
            "python gone.py && python tests/test_a.py",
            "docker compose run app pytest",
            "pytest tests && pytest --doctest-modules a",
            "tox",
            "poe test",
        ] {
            assert_eq!(step(stated), None, "{stated}");
        }
    }

    #[test]
    fn the_nearest_to_a_pull_request_is_believed_first() {
        let make = ("Makefile", "test: lint\n\tpytest tests\nlint:\n\tflake8\n");
        let tox = ("tox.ini", "[testenv]\ncommands = pytest {posargs:tests/test_a.py}\n");
        let nox = (
            "noxfile.py",
            "import nox\n\n@nox.session\ndef tests(session):\n    session.run('pytest', '-k', 'x')\n",
        );
        let files = [PROJECT, TESTS, make, tox, nox];
        let command = |files: &[(&str, &str)], steps: &[&str]| told(files, steps).unwrap();
        let said = |command: &str, because: &str| (command.to_owned(), because.to_owned());
        assert_eq!(
            command(&files, &["flake8", "pytest -k y", "pytest -v -k y"]),
            said("python3 -m pytest -k y", "a step")
        );
        assert_eq!(
            command(&files, &["tox -e py312"]),
            said("python3 -m pytest tests/test_a.py", "a step and tox.ini")
        );
        assert_eq!(
            command(&files, &["tox -e lint", "nox -s tests-3.12"]),
            said("python3 -m pytest -k x", "a step and noxfile.py")
        );
        let of_make = said("python3 -m pytest tests", "a target test in Makefile");
        assert_eq!(command(&files, &["pytest -k y", "pytest -k z"]), of_make, "two steps test two things");
        assert_eq!(command(&files, &[]), of_make);
        assert_eq!(
            command(&[PROJECT, TESTS, tox, nox], &[]),
            said("python3 -m pytest tests/test_a.py", "tox.ini")
        );
        assert_eq!(command(&[PROJECT, TESTS, nox], &[]), said("python3 -m pytest -k x", "noxfile.py"));
    }

    #[test]
    fn a_script_of_a_project_is_found_by_its_name() {
        for (table, step, command) in [
            (
                "[tool.poe.tasks]\ncheck = {cmd = 'pytest -m unit'}",
                "uv run poe check",
                "python3 -m pytest -m unit",
            ),
            (
                "[tool.hatch.envs.default.scripts]\ncov = ['pytest --cov {args:tests}', 'coverage report']",
                "hatch run cov",
                "python3 -m pytest",
            ),
            ("[tool.pdm.scripts]\nall = 'pytest'", "pdm run all", "python3 -m pytest"),
        ] {
            let project = ("pyproject.toml", format!("[project]\nname = 'a'\n{table}\n"));
            let files = [(project.0, project.1.as_str()), TESTS];
            assert_eq!(told(&files, &[step]).unwrap().0, command, "{step}");
        }
        let project = ("pyproject.toml", "[tool.taskipy.tasks]\ntest = 'pytest -o a=b'\n");
        let (command, because) = told(&[project, TESTS], &[]).unwrap();
        assert_eq!(
            (command.as_str(), because.as_str()),
            ("python3 -m pytest -o a=b", "the script test in pyproject.toml")
        );
    }

    #[test]
    fn variables_of_a_session_come_with_its_command() {
        let tox = "[testenv]\nsetenv =\n    PYTHONPATH = {toxinidir}\n    PYTHONWARNINGS = d\n    DB_NAME = {env:DB_NAME:a}\n    \
                   py311: X = y\n    HERE = {envdir}\n    DJANGO_SETTINGS_MODULE = tests.settings\ncommands =\n    \
                   python -b -W always -m coverage run -m django test -v2 {posargs:tests}\n";
        let (command, _) = told(&[PROJECT, TESTS, ("tox.ini", tox)], &["DB_NAME=:memory: tox"]).unwrap();
        assert_eq!(
            command,
            "DB_NAME=:memory: DJANGO_SETTINGS_MODULE=tests.settings PYTHONPATH=. python3 -m django test -v2 tests"
        );
    }
}
