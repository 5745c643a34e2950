//! What a repository says of how its Python tests are run, reduced to the command that runs them.
//!
//! May know: runners of Python's tests and the programs that start them. Must never know: how anything is installed.

use toml::Value;

use super::project::PythonProject;
use super::{nox, options, tox};
use crate::files::RepositoryFiles;
use crate::stated::{self, StatedCommand, StatedReading, TestStatement};
use crate::words::is_python;
use journeyman_order::bounds::MOST_HOPS;

/// Where a repository may say it.
pub(super) struct StatementPlaces<'a> {
    pub(super) files: &'a RepositoryFiles<'a>,
    pub(super) project: &'a PythonProject,
    /// Steps of workflows.
    pub(super) steps: &'a [TestStatement],
}

/// One kind of place.
struct StatementKind {
    say: fn(&StatementPlaces<'_>) -> Vec<TestStatement>,
    /// Whether all its statements have to agree. Otherwise the first that says something counts.
    all: bool,
}

/// In the order in which they are believed, all before a guess from files. Nearer to what decides about a pull request
/// comes first; that is also what maintainers notice when it is wrong.
const KINDS: [StatementKind; 6] = [
    StatementKind { say: |places| places.steps.to_vec(), all: true },
    StatementKind { say: |places| stated::of_make(places.files), all: false },
    StatementKind { say: |places| stated::of_just(places.files), all: false },
    StatementKind { say: |places| of_scripts(places.project), all: false },
    StatementKind { say: |places| tox::statements(places.files, places.project), all: false },
    StatementKind { say: |places| nox::statements(places.files), all: false },
];

/// Tables of scripts in pyproject.toml.
const SCRIPTS: [&[&str]; 6] = [
    &["tool", "hatch", "envs", "default", "scripts"],
    &["tool", "hatch", "envs", "test", "scripts"],
    &["tool", "pdm", "scripts"],
    &["tool", "poe", "tasks"],
    &["tool", "taskipy", "tasks"],
    &["tool", "rye", "scripts"],
];
/// Options before the program that `uv run` and the like start, with a value.
const RUN_VALUES: [&str; 9] = [
    "--group", "--extra", "--with", "--with-requirements", "--python", "-p", "--only-group", "--no-group",
    "--no-extra",
];
/// Options of these that lead to another place.
const RUN_ELSEWHERE: [&str; 5] = ["--directory", "--project", "--package", "--cwd", "-C"];
const COVERAGE_VALUES: [&str; 8] = [
    "--source", "--source-pkgs", "--omit", "--include", "--rcfile", "--context", "--concurrency",
    "--data-file",
];
const PACKAGED: [&str; 6] = ["coverage", "pytest", "py.test", "trial", "tox", "nox"];
/// Programs with which repositories start their own tests, without the ending. Files that unittest finds are none: it
/// names their tests, and a program may not.
const SUITES: [&str; 9] = [
    "runtests", "run_tests", "runtest", "run_test", "testrunner", "run_all_tests", "alltests", "all_tests",
    "testsuite",
];

/// How a project's tests are run.
#[derive(Debug, Default)]
pub(super) struct PythonRunner {
    pub(super) command: String,
    /// The place that says so, or the file that indicates it.
    pub(super) because: String,
    /// Whether pytest has to be installed.
    pub(super) wants_pytest: bool,
    pub(super) is_unittest: bool,
    pub(super) is_django: bool,
    /// Whether the repository itself says so.
    pub(super) is_stated: bool,
    /// The command to try if this one cannot run here.
    pub(super) other: Option<String>,
}

/// The command that the repository says. `None` if nothing says one that can be run here.
pub(super) fn find(places: &StatementPlaces<'_>) -> Option<PythonRunner> {
    let read = |command: &StatedCommand| read(command, places);
    let agreed = |statements: &[TestStatement]| stated::agreed(statements, places.files, &read);
    let (command, because) = KINDS.iter().find_map(|kind| {
        let statements = (kind.say)(places);
        match kind.all {
            true => agreed(&statements),
            false => statements.iter().find_map(|one| agreed(std::slice::from_ref(one))),
        }
    })?;
    Some(PythonRunner {
        is_stated: true,
        wants_pytest: is_module(&command, "pytest"),
        is_unittest: is_module(&command, "unittest"),
        is_django: is_module(&command, "django") || command.words().get(2) == Some(&"test"),
        command: command.shell(),
        because,
        other: None,
    })
}

/// A program of the repository that starts its tests.
pub(super) fn suite(files: &RepositoryFiles<'_>) -> Option<&'static str> {
    ["runtests.py", "run_tests.py", "tests/runtests.py", "tests/run_tests.py"]
        .into_iter()
        .find(|path| files.text(path).is_some())
}

fn is_module(command: &StatedCommand, module: &str) -> bool {
    matches!(command.words().as_slice(), ["python3", "-m", name, ..] if *name == module)
}

fn read(command: &StatedCommand, places: &StatementPlaces<'_>) -> StatedReading {
    let words = inner(command.words());
    let Some((first, rest)) = words.split_first() else { return StatedReading::Nothing };
    let name = base(first);
    let elsewhere = |is_so: bool, statements: Vec<TestStatement>| match is_so && !statements.is_empty() {
        true => StatedReading::Elsewhere(statements),
        false => StatedReading::Nothing,
    };
    let folder = command.folder.as_str();
    match (name, rest) {
        ("pytest" | "py.test", args) => pytest(args, folder, places.files),
        ("hatch", ["test", ..]) => tests(&["python3", "-m", "pytest"], &[]),
        ("trial", args) => tests(&["trial"], args),
        ("django-admin", ["test", args @ ..]) => {
            tests(&["python3", "-m", "django", "test"], &options::django(args))
        }
        ("tox", args) => elsewhere(is_of_tests(args), tox::statements(places.files, places.project)),
        ("nox", args) => elsewhere(is_of_tests(args), nox::statements(places.files)),
        ("pdm" | "poe" | "task" | "taskipy", [name, ..]) => elsewhere(true, script(places.project, name)),
        (name, args) if is_python(name) => of_python(args, folder, places),
        (name, args) if name.ends_with(".py") => of_program(first, args, folder, places.files),
        (name, _) if name == *first => {
            let name = name.rsplit(':').next().unwrap_or(name);
            elsewhere(true, script(places.project, name))
        }
        _ => StatedReading::Nothing,
    }
}

fn tests(words: &[&str], args: &[&str]) -> StatedReading {
    StatedReading::Tests(words.iter().chain(args).map(|word| (*word).to_owned()).collect())
}

/// The words of a command without programs that only start or measure another.
fn inner(mut words: Vec<&str>) -> Vec<&str> {
    for _ in 0..MOST_HOPS {
        let started = match words.as_slice() {
            ["uv" | "rye" | "poetry" | "pdm" | "pipenv" | "hatch" | "pixi", "run", rest @ ..] => {
                after_options(rest, &RUN_VALUES)
            }
            ["time" | "exec" | "command" | "nice", rest @ ..] => rest.to_vec(),
            [coverage, "run", rest @ ..] if matches!(base(coverage), "coverage" | "coverage3") => {
                of_interpreter(&after_options(rest, &COVERAGE_VALUES))
            }
            [python, rest @ ..] if is_python(python) => {
                let rest = after_own_options(rest);
                match rest {
                    ["-m", "coverage", "run", rest @ ..] => {
                        of_interpreter(&after_options(rest, &COVERAGE_VALUES))
                    }
                    // Programs of packages, which an interpreter can also be given as files.
                    [program, ..] if PACKAGED.contains(&base(program)) => rest.to_vec(),
                    rest if words.len() > rest.len() + 1 => of_interpreter(rest),
                    _ => break,
                }
            }
            _ => break,
        };
        words = match started.as_slice() {
            ["-m", ..] => of_interpreter(&started),
            _ => started,
        };
    }
    words
}

fn of_interpreter<'w>(words: &[&'w str]) -> Vec<&'w str> {
    std::iter::once("python3").chain(words.iter().copied()).collect()
}

/// The words after options. Empty if one leads to another place.
fn after_options<'w>(words: &[&'w str], with_value: &[&str]) -> Vec<&'w str> {
    let mut rest = words;
    while let [option, others @ ..] = rest {
        if !option.starts_with('-') || *option == "-m" {
            break;
        }
        if RUN_ELSEWHERE.contains(&option.split('=').next().unwrap_or(option)) {
            return Vec::new();
        }
        let takes_next = with_value.contains(option);
        rest = if takes_next { others.get(1..).unwrap_or_default() } else { others };
        if *option == "--" {
            break;
        }
    }
    rest.to_vec()
}

/// The words after the interpreter's own options. Warnings and the like hide from us which program it starts, and
/// names are worth more than these.
fn after_own_options<'r, 'w>(words: &'r [&'w str]) -> &'r [&'w str] {
    let mut rest = words;
    while let [option, others @ ..] = rest {
        let is_own = option.starts_with("-W") || option.starts_with("-X");
        if !is_own
            && !matches!(*option, "-b" | "-bb" | "-B" | "-u" | "-s" | "-S" | "-E" | "-I" | "-O" | "-OO")
        {
            break;
        }
        rest = if matches!(*option, "-W" | "-X") { others.get(1..).unwrap_or_default() } else { others };
    }
    rest
}

/// The name of a program.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn of_python(args: &[&str], folder: &str, places: &StatementPlaces<'_>) -> StatedReading {
    match args {
        ["-m", "pytest" | "py.test", args @ ..] => pytest(args, folder, places.files),
        ["-m", "unittest", args @ ..] => tests(&["python3", "-m", "unittest"], &options::unittest(args)),
        ["-m", "django", "test", args @ ..] => {
            tests(&["python3", "-m", "django", "test"], &options::django(args))
        }
        ["-m", "twisted.trial", args @ ..] => tests(&["python3", "-m", "twisted.trial"], args),
        ["-m", rest @ ..] if matches!(rest.first(), Some(&("tox" | "nox"))) => {
            let words = rest.iter().map(|word| (*word).to_owned()).collect();
            read(&StatedCommand { words, folder: folder.to_owned(), ..StatedCommand::default() }, places)
        }
        ["-m", module, args @ ..] => {
            let path = module.replace('.', "/");
            let is_suite =
                module.rsplit('.').next().is_some_and(|name| SUITES.contains(&name) || name == "tests");
            let is_there = [format!("{path}.py"), format!("{path}/__main__.py")]
                .iter()
                .any(|path| is_file(path, folder, places.files));
            match is_suite && is_there {
                true => tests(&["python3", "-m", *module], args),
                false => StatedReading::Nothing,
            }
        }
        [program, args @ ..] => of_program(program, args, folder, places.files),
        [] => StatedReading::Nothing,
    }
}

/// A program of the repository.
fn of_program(program: &str, args: &[&str], folder: &str, files: &RepositoryFiles<'_>) -> StatedReading {
    let path = program.trim_start_matches("./");
    let stem = base(path).trim_end_matches(".py").to_lowercase().replace('-', "_");
    match args {
        _ if !is_file(path, folder, files) => StatedReading::Nothing,
        ["test", args @ ..] if stem == "manage" => tests(&["python3", path, "test"], &options::django(args)),
        args if SUITES.contains(&stem.as_str()) => tests(&["python3", path], args),
        _ => StatedReading::Nothing,
    }
}

fn is_file(path: &str, folder: &str, files: &RepositoryFiles<'_>) -> bool {
    let path = if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    files.text(&path).is_some()
}

fn pytest(args: &[&str], folder: &str, files: &RepositoryFiles<'_>) -> StatedReading {
    let has = |path: &str| match folder.is_empty() {
        true => files.has(path),
        false => files.has(&format!("{folder}/{path}")),
    };
    match options::pytest(args, &has) {
        Some(args) => tests(&["python3", "-m", "pytest"], &args),
        // It runs where other files are, or after something has made them.
        None => StatedReading::Unknown,
    }
}

/// Whether a call of tox or nox runs its environment for tests.
fn is_of_tests(args: &[&str]) -> bool {
    let mut chosen = None;
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        let joined = ["-e", "-s", "--env=", "--session=", "--sessions="]
            .iter()
            .find_map(|option| arg.strip_prefix(option));
        match (arg, joined) {
            ("--", _) => break,
            // Several environments by a label or a factor.
            ("-f" | "-m" | "-t" | "-k", _) => return false,
            ("-e" | "-s" | "--env" | "--session" | "--sessions", _) => chosen = args.next(),
            (_, Some(names)) => chosen = Some(names),
            _ => {}
        }
    }
    let is_one = |word: &str| {
        matches!(word, "test" | "tests" | "unit" | "unittest" | "unittests" | "pytest" | "py" | "pypy3")
            || word.starts_with("py3")
            || word.starts_with("3.")
    };
    chosen.is_none_or(|names| names.split([',', '-', '_']).any(is_one))
}

/// The scripts for tests in pyproject.toml.
fn of_scripts(project: &PythonProject) -> Vec<TestStatement> {
    ["test", "tests"].into_iter().flat_map(|name| script(project, name)).collect()
}

/// The scripts of a name in pyproject.toml.
fn script(project: &PythonProject, name: &str) -> Vec<TestStatement> {
    let of_table = |table: &&[&str]| {
        let script = project.at(table)?.get(name)?;
        let line = |value: &Value| value.as_str().map(str::to_owned);
        let of_keys = || ["cmd", "shell"].into_iter().find_map(|key| line(script.get(key)?));
        let of_list = || {
            let lines: Option<Vec<String>> = script.as_array()?.iter().map(line).collect();
            Some(lines?.join("\n"))
        };
        let text = line(script).or_else(of_keys).or_else(of_list)?;
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
                "python3 -m pytest -k 'not slow' -m unit -s",
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
                "DJANGO_SETTINGS_MODULE=a.s python3 -m django test -v 2",
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
            "pytest other/tests",
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
