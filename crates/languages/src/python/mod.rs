//! Python projects: uv, Poetry, PDM, pip, tox and nox, always in a virtual environment in the tree.
//!
//! May know: pyproject.toml and other files of Python's tools. Must never know: other ecosystems.
//!
//! The project itself is always installed editable: a copy among the installed packages would test stale code.

mod build_modules;
mod examples;
mod items;
mod managers;
mod manifest;
mod native;
mod needs;
mod nox;
mod project;
mod reach;
mod runner;
mod runners;
mod shadows;
mod stated;
mod tools;
mod tox;

use crate::dependency_versions::DependencyReader;
use crate::files::RepositoryFiles;
use crate::language::{Facts, FileReader, InstalledPrograms, Language, PackageSource, PackedFiles};
use crate::not_loaded::NotLoaded;
use crate::planned::{PackagePlace, PlannedTest, ProgramFolder};
use crate::project::{Detection, FoundProject};
use crate::test_call::{TestCall, words};
use project::PythonProject;
use stated::StatementPlaces;

/// The programs of the virtual environment.
const PROGRAMS: &str = ".venv/bin";

const PACKAGES: &[PackageSource] = &[
    PackageSource {
        signs: &[
            "requirements*.txt", "pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "tox.ini", "uv.lock",
        ],
        programs: &["pip", "pip3", "pipenv", "pipx", "poetry", "pdm", "uv", "uvx", "hatch", "tox", "nox"],
        hosts: &["pypi.org", "files.pythonhosted.org"],
    },
    PackageSource {
        signs: &["environment.yml", "environment.yaml", "pixi.toml"],
        programs: &["conda", "mamba", "micromamba", "pixi"],
        hosts: &["conda.anaconda.org", "repo.anaconda.com"],
    },
];

pub(crate) struct Python;

impl Language for Python {
    fn facts(&self) -> &'static Facts {
        const {
            &Facts {
                sources: &["py", "pyi", "pyx"],
                unparsed: &[("Cython", &["pyx"])],
                with_examples: &[("py", ">>> ")],
                compiled: &["pyc", "pyo", "pyd"],
                configuration: manifest::CONFIGURATION,
                // It shadows the runner of that name, which is not in the standard library.
                configuration_at_start: &["pytest.py"],
                settings: manifest::SETTINGS,
                manifests: &["pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "requirements.txt"],
                programs: &[
                    "python", "python3", "python3.*", "pytest", "py.test", "unittest", "tox", "nox", "uv",
                    "poetry", "pdm", "hatch", "pipenv", "manage.py", "nosetests",
                ],
                tools: tools::TOOLS,
                packages: PACKAGES,
                lockfiles: &[
                    "poetry.lock", "uv.lock", "pdm.lock", "pixi.lock", "Pipfile.lock", "pylock*.toml",
                ],
                decides: &[
                    "requirements*.in", "requirements/", "constraints*.txt", "constraints*.in",
                    "hatch_build.py", "noxfile.py", "*.pth",
                ],
                scripts: &["py"],
                dependency_folders: &[
                    "/.venv", "/.tox", "/.nox", "/.eggs", "/.pdm-build", "/.pdm-python", "/__pypackages__",
                    "*.egg-info", "*.dist-info", "__pycache__",
                ],
                program_folders: &[
                    InstalledPrograms {
                        folder: PROGRAMS,
                        made_by: &["uv sync", "uv venv", "uv run", "pdm install", "pdm sync"],
                    },
                    InstalledPrograms { folder: "venv/bin", made_by: &[] },
                ],
                protected: &["pip.conf", "pip.ini", ".pip/", "uv.toml", ".pypirc", ".condarc"],
                told: &[
                    "requirements/*.{txt,in}", "pytest.ini", "conftest.py", "sitecustomize.py",
                    "usercustomize.py",
                ],
                packed: Some(PackedFiles {
                    by: "Python",
                    manifest: r"pyproject\.toml|setup\.(py|cfg)",
                    list: concat!("timeout -k 1 20 python3 -c '", include_str!("packed.py"), "'"),
                    installed: "",
                    below: "site-packages",
                }),
                runners: runners::RUNNERS,
                missing: &[
                    r"^.*No module named '?(?P<module>[A-Za-z0-9_]+)[\w.]*'?.*$",
                    r"^.*: error: unrecognized arguments: .*$",
                    r"^INTERNALERROR> .*(?:Error|Exception)\b.*$",
                ],
                no_version: &[
                    r"^error: (?:Requested version \S+ is not currently installed|No interpreter found for Python \S+.*)$",
                ],
                not_loaded: NOT_LOADED,
                surroundings: &[
                    r"\b(?:__file__|site-packages|current_thread|main_thread|_getframe|currentframe|f_back|sys\.modules|inspect\.stack|extract_stack|orig_argv|(?:time\.|import )monotonic|date\.today)\b",
                ],
                syntax: Some(&items::SYNTAX),
                examples: Some(&examples::EXAMPLES),
                ..Facts::NONE
            }
        }
    }

    fn find_first(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find_with_native_code(ask)
    }

    fn find(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find_package(ask)
    }

    fn find_last(&self, ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
        find(ask)
    }

    fn dependencies(&self, path: &str) -> Option<DependencyReader> {
        manifest::dependencies(path)
    }

    fn reaches(&self, call: &TestCall<'_, '_>) -> bool {
        call.below.is_empty() || reach::reaches(call)
    }

    fn build_modules(&self, files: &RepositoryFiles<'_>) -> Vec<String> {
        build_modules::find(files)
    }

    fn package_place(&self, commands: &str) -> Option<PackagePlace> {
        let has_own = HAS_OWN_PLACE.iter().any(|sign| commands.contains(sign));
        (calls_pip(commands) && !has_own).then_some(PackagePlace {
            command: "python3 -m venv .venv",
            programs: PROGRAMS,
            variable: ("VIRTUAL_ENV", "{tree}/.venv"),
        })
    }

    fn shadows(
        &self,
        path: &str,
        starts: &[String],
        read_base: FileReader<'_>,
        read_after: FileReader<'_>,
    ) -> bool {
        shadows::shadows(path, starts, read_base, read_after)
    }
}

/// Parts of commands that choose a place for packages by themselves.
const HAS_OWN_PLACE: [&str; 8] =
    ["venv", "virtualenv", "conda", "--target", "--user", "--prefix", "PYTHONUSERBASE", "-t "];

fn calls_pip(commands: &str) -> bool {
    let is_pip = |program: &str| {
        program.starts_with("pip") && !program.starts_with("pipx") && !program.starts_with("pipenv")
    };
    let words: Vec<&str> = words(commands).collect();
    words.windows(2).any(|pair| matches!(pair, [program, "install" | "sync"] if is_pip(program)))
}

const NOT_LOADED: &[NotLoaded] = &[
    NotLoaded::part(r"^_+ ERROR collecting (\S.*) _+$"),
    NotLoaded::part(r"^ERROR: \S+ \((unittest\.loader\._FailedTest[^)]+)\)"),
    NotLoaded::part(r"^ERROR: (\S+) \((?P<class>unittest\.loader\._FailedTest)\)"),
    NotLoaded::run(r"SyntaxError: "),
    NotLoaded::run(r".*\b(?:Import|ModuleNotFound)Error: "),
    // Unittest prints its own message before the reason.
    NotLoaded::base(r"(?:\w+\.)*(?:Syntax|Indentation|Import|ModuleNotFound)Error: ")
        .unless(r".*Failed to import test module"),
    NotLoaded::program(r"(?:ImportError|cannot import name) ?:?.*?name '(\w+)'"),
    NotLoaded::program(r"ModuleNotFoundError: No module named '([\w.]+)'"),
    NotLoaded::program(r"NameError: name '(\w+)' is not defined"),
    NotLoaded::program(r"(?:AttributeError|TypeError): .*has no attribute '(\w+)'"),
    NotLoaded::program(r"TypeError: .*unexpected keyword argument '(\w+)'"),
    NotLoaded::program(r"^(?:\s*SyntaxError|IndentationError)"),
];

/// A package with native code and its own tests, even if a compiled language's manifest is beside it.
fn find_with_native_code(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    if !project.is_package || project.native.is_none() {
        return None;
    }
    plan(ask, &project).filter(|found| found.test.is_some())
}

/// A project that declares itself as one.
fn find_package(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    (project.is_package || project.has_manager()).then(|| plan(ask, &project)).flatten()
}

/// Python files with tests, whatever they belong to.
fn find(ask: &mut Detection<'_, '_>) -> Option<FoundProject> {
    let project = PythonProject::read(ask.files);
    plan(ask, &project)
}

fn plan(ask: &mut Detection<'_, '_>, project: &PythonProject) -> Option<FoundProject> {
    let needs = needs::find(ask.files, project);
    let runner = runner::find(&StatementPlaces { files: ask.files, project, steps: ask.steps }, &needs);
    let is_known = project.is_package || project.has_manager() || !needs.requirement_files.is_empty();
    if runner.is_none() && !is_known {
        return None;
    }
    let mut found = FoundProject { variables: managers::VARIABLES.to_vec(), ..FoundProject::default() };
    ask.tools.need("python", "Python's files");
    managers::set_up(ask, project, &needs, runner.as_ref(), &mut found);
    if !found.setup.is_empty() {
        found.search_path.push(ProgramFolder::Tree(PROGRAMS.into()));
    }
    if let Some(runner) = runner {
        let is_built = project.native.is_some() && !found.setup.is_empty();
        let whole = |command: String| match is_built {
            true => format!("{} && {command}", native::REBUILD),
            false => command,
        };
        found.test = Some(PlannedTest {
            tests_alone: runner.other.map(whole),
            is_stated: runner.is_stated,
            ..PlannedTest::new(whole(runner.command), runner.because)
        });
    }
    found.version_from_git = project.version_from_git;
    Some(found)
}
