//! Creates a Python environment in `.venv`, with the tool that the project uses.
//!
//! May know: the options of these tools. Must never know: how tests are run.

use super::native::{build_requirements, words as words_of};
use super::needs::TestNeeds;
use super::project::{Manager, PythonProject};
use super::stated::PythonRunner;
use super::tools::PYTHON;
use crate::files::quote;
use crate::project::{Detection, FoundProject};
use crate::version::fits;

/// For all of these tools: use the environment in the tree, never prompt, and download nothing but packages.
pub(super) const VARIABLES: [(&str, &str); 6] = [
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_INPUT", "1"),
    ("UV_PYTHON_DOWNLOADS", "never"),
    ("POETRY_NO_INTERACTION", "1"),
    ("PDM_CHECK_UPDATE", "false"),
    ("VIRTUAL_ENV", "{tree}/.venv"),
];

const MAKE_ENVIRONMENT: &str = "-m venv .venv";
/// Folder of downloaded packages.
const WHEELS: &str = "~/.cache/wheels";

pub(super) fn set_up(
    ask: &mut Detection<'_, '_>,
    project: &PythonProject,
    needs: &TestNeeds,
    runner: Option<&PythonRunner>,
    found: &mut FoundProject,
) {
    let python = interpreter(ask, found);
    let because = project.because.clone();
    found.because.clone_from(&because);
    let wants_pytest = runner.is_some_and(|runner| runner.wants_pytest) && !needs.names("pytest");
    let options = |option: &str, names: &[String]| -> String {
        names.iter().map(|name| format!(" {option} {}", quote(name))).collect()
    };
    if project.native.as_ref().is_some_and(|native| native.needs_cargo) {
        ask.tools.need("rust", &because);
    }
    match project.manager {
        Manager::Uv => {
            found.what = "Python with uv";
            ask.tools.need("uv", &because);
            let locked = if ask.files.has("uv.lock") { " --frozen" } else { "" };
            let all = if project.at(&["tool", "uv", "workspace"]).is_some() { " --all-packages" } else { "" };
            found.setup(
                format!(
                    "uv sync{locked} --python {python}{all}{}{}",
                    options("--extra", &needs.extras),
                    options("--group", &needs.groups)
                ),
                &because,
            );
            more(project, needs, wants_pytest, "uv pip install --python .venv/bin/python", found);
        }
        Manager::Poetry | Manager::Pdm => {
            let export = if project.manager == Manager::Pdm {
                found.what = "Python with PDM";
                ask.tools.need("pdm", &because);
                let hashes = hashes(ask.files.text("pdm.lock").as_deref());
                format!("pdm export{hashes} --dev --output {LOCKED}{}", options("--group", &needs.extras))
            } else {
                found.what = "Python with Poetry";
                ask.tools.need("poetry", &because);
                // All groups except optional ones that are not for tests.
                let is_wanted =
                    |name: &&String| !project.optional_groups.contains(name) || needs.groups.contains(name);
                let groups: Vec<String> = project.groups.keys().filter(is_wanted).cloned().collect();
                format!(
                    "poetry export{} --output {LOCKED}{}{}",
                    hashes(ask.files.text("poetry.lock").as_deref()),
                    options("--with", &groups),
                    options("--extras", &needs.extras)
                )
            };
            // The manager exports the lock and pip installs it. Mirrors, proxies and their settings work with pip, and
            // a new release of the manager's own dependencies breaks no setup.
            found.setup(format!("{python} {MAKE_ENVIRONMENT} && mkdir -p ~/.cache && {export}"), &because);
            found.setup(format!(".venv/bin/python -m pip install --no-deps -r {LOCKED}"), &because);
            if project.is_package {
                found.setup(".venv/bin/python -m pip install --no-deps --editable .", &because);
            }
            more(project, needs, wants_pytest, ".venv/bin/python -m pip install", found);
        }
        Manager::Pip => pip(ask, project, needs, wants_pytest, &python, found),
    }
}

/// Where the lock is exported in pip's format.
const LOCKED: &str = "~/.cache/requirements.txt";

/// If one requirement has a hash, pip demands one for all. Git and local ones have none.
fn hashes(lock: Option<&str>) -> &'static str {
    let has_none = ["type = \"git\"", "type = \"directory\"", "type = \"file\"", "\ngit = ", "\npath = "];
    if lock.is_some_and(|lock| has_none.iter().any(|sign| lock.contains(sign))) {
        " --without-hashes"
    } else {
        ""
    }
}

fn pip(
    ask: &mut Detection<'_, '_>,
    project: &PythonProject,
    needs: &TestNeeds,
    wants_pytest: bool,
    python: &str,
    found: &mut FoundProject,
) {
    found.what = "Python with pip";
    if found.because == "Python's files" {
        let source = || ask.files.root().find(|name| name.ends_with(".py")).map(str::to_owned);
        let file = needs.requirement_files.first().cloned().or_else(source);
        found.because = file.unwrap_or_else(|| found.because.clone());
    }
    let because = found.because.clone();
    let mut words = String::new();
    if let Some(native) = project.native.as_ref().filter(|_| project.is_package) {
        words.push_str(" --no-build-isolation");
        found.notes.push("what is compiled is compiled again before the tests".to_owned());
        let make =
            format!("{python} {MAKE_ENVIRONMENT} && .venv/bin/python -m pip install pip{}", native.words());
        found.setup(make, &because);
    }
    if project.is_package {
        let extras =
            if needs.extras.is_empty() { String::new() } else { format!("[{}]", needs.extras.join(",")) };
        words.push_str(&format!(" --editable {}", quote(&format!(".{extras}"))));
    } else {
        let of_extras = needs.extras.iter().filter_map(|name| project.extras.get(name)).flatten();
        for requirement in project.dependencies.iter().chain(of_extras) {
            words.push_str(&format!(" {}", quote(requirement)));
        }
    }
    words.push_str(&more_words(project, needs, wants_pytest, true));
    if project.is_package && project.native.is_none() {
        // A changed manifest is set up again without network. pip's cache would need answers from the index; a folder
        // does not.
        let download =
            format!(".venv/bin/python -m pip download --quiet --find-links {WHEELS} --dest {WHEELS}");
        let build = words_of(&build_requirements(&project.pyproject));
        found.setup(format!("{python} {MAKE_ENVIRONMENT} && {{ {download}{build} || true; }}"), &because);
        found.setup(format!("{download}{} || true", words.replace(" --editable", "")), &because);
        words.insert_str(0, &format!(" --find-links {WHEELS}"));
    }
    // Nothing is required: the tests use the installed pytest, if there is one.
    let has_pytest = || ["pytest", "pytest-3"].iter().any(|name| ask.tools.tools.has(name));
    if words.is_empty() || (words == " pytest" && has_pytest()) {
        return;
    }
    let make =
        if found.setup.is_empty() { format!("{python} {MAKE_ENVIRONMENT} && ") } else { String::new() };
    found.setup(format!("{make}.venv/bin/python -m pip install{words}"), &because);
}

/// Installs what the manager does not install itself.
fn more(
    project: &PythonProject,
    needs: &TestNeeds,
    wants_pytest: bool,
    install: &str,
    found: &mut FoundProject,
) {
    let words = more_words(project, needs, wants_pytest, false);
    // Rebuilding native code calls pip, with the packages of the environment.
    let native = project.native.as_ref().map(|native| format!(" pip{}", native.words())).unwrap_or_default();
    if !words.is_empty() || !native.is_empty() {
        let because = found.because.clone();
        found.setup(format!("{install}{native}{words}"), &because);
    }
}

fn more_words(project: &PythonProject, needs: &TestNeeds, wants_pytest: bool, with_groups: bool) -> String {
    let mut words = String::new();
    let file = |file: &String| format!(" -r {}", quote(file));
    words.extend(needs.requirement_files.iter().map(file));
    let groups =
        needs.groups.iter().filter(|_| with_groups).filter_map(|name| project.groups.get(name)).flatten();
    for requirement in groups.chain(&needs.requirements) {
        let word = format!(" {}", quote(requirement));
        if !words.contains(&word) {
            words.push_str(&word);
        }
    }
    if wants_pytest {
        words.push_str(" pytest");
    }
    words
}

/// The project's interpreter: `python3`, unless another version fits better.
fn interpreter(ask: &Detection<'_, '_>, found: &mut FoundProject) -> String {
    const USUAL: &str = "python3";
    let Some((file, wanted)) = PYTHON.wanted(ask.files) else { return USUAL.to_owned() };
    let tools = ask.tools.tools;
    let fits_wanted = |program: &str| Some(fits(&tools.version(program)?, &wanted)? && tools.has(program));
    if fits_wanted(USUAL) != Some(false) {
        return USUAL.to_owned();
    }
    let others = (8..=20).rev().map(|minor| format!("python3.{minor}"));
    if let Some(other) = others.into_iter().find(|program| fits_wanted(program) == Some(true)) {
        return other;
    }
    found
        .notes
        .push(format!("{file} asks for Python {wanted}, and no such interpreter is there; {USUAL} is taken"));
    USUAL.to_owned()
}
