//! Which files decide the result of a setup, and which folders hold the result.
//!
//! May know: manifests, lockfiles, folders of package managers. Must never know: what is kept under which key.

use std::collections::{BTreeSet, HashSet};

use crate::environment_plan::{EnvironmentSource, is_in};
use crate::statement::script_texts;
use crate::{EnvironmentPlan, network};
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::test_call::words;

/// Limit of listed paths; those nearest to the root come first.
const MOST: usize = 5_000;
/// Limit of files named by commands that are read: each read may go over a network.
const MOST_READ: usize = 500;

/// Paths whose content decides what the setup produces.
pub(crate) fn files(files: &RepositoryFiles<'_>, plan: &EnvironmentPlan) -> Vec<String> {
    let Some(command) = plan.setup_command() else { return Vec::new() };
    let runs_make = command.split(|c: char| !c.is_alphanumeric()).any(|word| word == "make");
    let is_make = |path: &str| path.ends_with("akefile") || path.ends_with(".mk");
    let is_source = |path: &str| {
        matches!(
            plan.source,
            EnvironmentSource::Devcontainer { .. } | EnvironmentSource::CopilotSetupSteps { .. }
        ) && plan.source.file() == path
    };
    let named = network::NamedFiles::of(&command);
    let decides = |path: &&str| {
        (named.decide(path) && (runs_make || !is_make(path)) && !is_aside(path)) || is_source(path)
    };
    let mut all: Vec<String> = files.all().filter(decides).map(str::to_owned).collect();
    // If only the root is listed, files named by the commands may still exist.
    let words = command.split(|c: char| c.is_whitespace() || "'\"=".contains(c));
    let known: HashSet<&str> = all.iter().map(String::as_str).collect();
    let words: BTreeSet<&str> = words
        .map(|word| word.trim_start_matches("./"))
        .filter(|word| word.contains('/') && !known.contains(word) && files.may_have(word))
        .collect();
    let more = first_ones(words, |word| files.text(word).is_some());
    all.extend(more);
    all.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    all.truncate(MOST);
    all.sort();
    all
}

/// The scripts that a setup's commands run, directly or through other scripts. Includes what package managers run from
/// the repository during installation.
pub(crate) fn scripts(files: &RepositoryFiles<'_>, plan: &EnvironmentPlan) -> Vec<String> {
    let mut text = script_texts(&plan.setup, files);
    text.push_str(&lifecycle_scripts(files));
    let is_script = |path: &str| {
        let kind = path.rsplit('/').next().unwrap_or(path).rsplit_once('.').map(|(_, kind)| kind);
        match kind {
            Some(kind) => SCRIPTS.contains(&kind),
            None => files.text(path).is_some_and(|text| text.starts_with("#!")),
        }
    };
    let named = words(&text).map(|word| word.trim_start_matches("./"));
    let named: BTreeSet<&str> = named.filter(|path| files.may_have(path)).collect();
    let mut all = first_ones(named, |path| is_script(path) && files.text(path).is_some());
    all.extend(build_modules(files));
    all.sort();
    all.dedup();
    all.truncate(MOST);
    all
}

/// The paths that match, and all beyond the limit, since those are unknown.
fn first_ones(paths: BTreeSet<&str>, is_so: impl Fn(&str) -> bool) -> Vec<String> {
    let one = |(at, path): (usize, &str)| (at >= MOST_READ || is_so(path)).then(|| path.to_owned());
    paths.into_iter().enumerate().filter_map(one).collect()
}

/// The scripts that npm and similar tools run during installation.
fn lifecycle_scripts(files: &RepositoryFiles<'_>) -> String {
    let manifest = files.json("package.json").unwrap_or_default();
    let named = |name| manifest.get("scripts")?.get(name)?.as_str().map(|script| format!("\n{script}"));
    ["preinstall", "install", "postinstall", "prepare"].into_iter().filter_map(named).collect()
}

/// The repository's own modules that the build of a Python package runs: imports beside `setup.py`, and the build
/// backend. An imported package is what is tested, and is in a folder below.
fn build_modules(files: &RepositoryFiles<'_>) -> Vec<String> {
    let setup = files.text("setup.py").unwrap_or_default();
    // Names in quotes are installed, so they are what is tested.
    let is_installed = |module: &str| {
        [format!("'{module}'"), format!("\"{module}\"")].iter().any(|name| setup.contains(name))
    };
    let imported = setup.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let is_import = matches!(words.next(), Some("import" | "from"));
        let module = words.next().filter(|_| is_import)?.split(['.', ',']).next()?;
        (!is_installed(module)).then(|| format!("{module}.py"))
    });
    let project = files.toml("pyproject.toml").unwrap_or_default();
    let build = project.get("build-system");
    let module = build.and_then(|build| build.get("build-backend")?.as_str()?.split(['.', ':']).next());
    let folders = build.and_then(|build| build.get("backend-path")?.as_array());
    let backend = folders.into_iter().flatten().filter_map(|folder| folder.as_str()).flat_map(|folder| {
        match folder.trim_matches(['.', '/']) {
            "" => module.map(|module| format!("{module}.py")).into_iter().collect::<Vec<_>>(),
            folder => files.below(folder).filter(|path| path.ends_with(".py")).map(str::to_owned).collect(),
        }
    });
    imported.chain(backend).filter(|path| files.has(path)).collect()
}

/// File extensions of scripts.
const SCRIPTS: [&str; 12] = ["sh", "bash", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "ps1", "lua"];

/// Whether a path is test data, such as manifests for a tool that reads manifests.
fn is_aside(path: &str) -> bool {
    let beside = ["testdata", "fixtures", "__fixtures__", "test-fixtures"];
    path.split('/').any(|part| beside.contains(&part))
}

/// A leading slash means the root only.
const DEPENDENCY_FOLDERS: [&str; 24] = [
    "/.venv",
    "/.tox",
    "/.nox",
    "/.eggs",
    "/.pdm-build",
    "/.pdm-python",
    "/__pypackages__",
    "*.egg-info",
    "*.dist-info",
    "__pycache__",
    "node_modules",
    "/.yarn/cache",
    "/.yarn/unplugged",
    "/.yarn/install-state.gz",
    "/.yarn/build-state.yml",
    "/.pnp.cjs",
    "/.pnp.loader.mjs",
    "/.pnpm-store",
    "/vendor/bundle",
    "/.bundle",
    "/vendor",
    "/target",
    ".gradle",
    "obj",
];

/// The dependency folders whose names the repository does not use for its own files.
pub(crate) fn dependency_folders(files: &RepositoryFiles<'_>) -> Vec<String> {
    let is_free = |pattern: &&&str| !files.all().any(|path| is_in(pattern, path));
    DEPENDENCY_FOLDERS.iter().filter(is_free).map(|pattern| (*pattern).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SetupCommand;

    #[test]
    fn what_package_managers_run_of_the_repository_are_scripts_of_its_setup() {
        let written = [
            (
                "setup.py",
                "import os\nimport build_helper, re, one\nimport one\nfrom versions import get\nimport package\nsetup(py_modules=['one'])\n",
            ),
            ("build_helper.py", ""),
            ("versions.py", ""),
            ("one.py", ""),
            ("package/__init__.py", ""),
            (
                "pyproject.toml",
                "[build-system]\nbuild-backend = 'own.api'\nbackend-path = ['.', 'tools/build']\n",
            ),
            ("own.py", ""),
            ("tools/build/backend.py", ""),
            (
                "package.json",
                r#"{"scripts":{"postinstall":"node scripts/after.js","test":"node scripts/test.js"}}"#,
            ),
            ("scripts/after.js", ""),
            ("scripts/test.js", ""),
        ];
        let paths = written.map(|(path, _)| path.to_owned());
        let read = |path: &str| {
            written.iter().find(|(known, _)| *known == path).map(|(_, text)| text.as_bytes().to_vec())
        };
        let plan = EnvironmentPlan {
            setup: vec![SetupCommand {
                command: "pip install -e . && npm ci".into(),
                because: String::new(),
            }],
            ..EnvironmentPlan::default()
        };
        assert_eq!(
            scripts(&RepositoryFiles::new(&paths, &read), &plan),
            ["build_helper.py", "own.py", "scripts/after.js", "tools/build/backend.py", "versions.py"]
        );
    }
}
