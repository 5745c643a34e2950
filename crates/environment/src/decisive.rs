//! Which files decide what a setup makes, and which folders hold what it made.
//!
//! May know: manifests, lockfiles, folders of package managers. Must never know: what is kept under which key.

use crate::environment_plan::{EnvironmentSource, is_in};
use crate::files::RepositoryFiles;
use crate::statement::{script_texts, words};
use crate::{EnvironmentPlan, network};

/// Paths that are listed, at most: of more, those nearest to the root.
const MOST: usize = 5_000;

/// Paths whose content decides what the setup makes.
pub(crate) fn files(files: &RepositoryFiles<'_>, plan: &EnvironmentPlan) -> Vec<String> {
    let Some(command) = plan.setup_command() else { return Vec::new() };
    let runs_make = command.split(|c: char| !c.is_alphanumeric()).any(|word| word == "make");
    let is_make = |path: &str| path.ends_with("akefile") || path.ends_with(".mk");
    let source = match &plan.source {
        EnvironmentSource::Devcontainer { path } | EnvironmentSource::CopilotSetupSteps { path } => {
            Some(path.as_str())
        }
        EnvironmentSource::Settings { .. } | EnvironmentSource::Found { .. } | EnvironmentSource::Nothing => {
            None
        }
    };
    let decides = |path: &&str| {
        (network::decides(path, &command) && (runs_make || !is_make(path)) && !is_aside(path))
            || Some(*path) == source
    };
    let mut all: Vec<String> = files.all().filter(decides).map(str::to_owned).collect();
    // Where only the root is known, what the commands name is there all the same.
    for word in command.split(|c: char| c.is_whitespace() || "'\"=".contains(c)) {
        let word = word.trim_start_matches("./");
        if word.contains('/') && !all.iter().any(|known| known == word) && files.text(word).is_some() {
            all.push(word.to_owned());
        }
    }
    all.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    all.truncate(MOST);
    all.sort();
    all
}

/// The scripts that a setup's commands run, with those that these run.
pub(crate) fn scripts(files: &RepositoryFiles<'_>, plan: &EnvironmentPlan) -> Vec<String> {
    let text = script_texts(&plan.setup, files);
    let is_script = |path: &str| {
        let kind = path.rsplit('/').next().unwrap_or(path).rsplit_once('.').map(|(_, kind)| kind);
        match kind {
            Some(kind) => SCRIPTS.contains(&kind),
            None => files.text(path).is_some_and(|text| text.starts_with("#!")),
        }
    };
    let named = words(&text).map(|word| word.trim_start_matches("./").to_owned());
    let mut all: Vec<String> = named.filter(|path| is_script(path) && files.text(path).is_some()).collect();
    all.sort();
    all.dedup();
    all.truncate(MOST);
    all
}

/// How names of scripts end.
const SCRIPTS: [&str; 12] = ["sh", "bash", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "ps1", "lua"];

/// Data of tests, such as manifests for a tool that reads manifests.
fn is_aside(path: &str) -> bool {
    let beside = ["testdata", "fixtures", "__fixtures__", "test-fixtures"];
    path.split('/').any(|part| beside.contains(&part))
}

/// A slash in front: in the root only.
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

/// The folders that the repository has not for its own files.
pub(crate) fn dependency_folders(files: &RepositoryFiles<'_>) -> Vec<String> {
    let is_free = |pattern: &&&str| !files.all().any(|path| is_in(pattern, path));
    DEPENDENCY_FOLDERS.iter().filter(is_free).map(|pattern| (*pattern).to_owned()).collect()
}
