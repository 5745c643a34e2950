//! Which files decide the result of a setup, and which folders hold the result.
//!
//! May know: commands, scripts, paths. Must never know: package managers, what is kept under which key.

use std::collections::{BTreeSet, HashSet};

use crate::environment_plan::{EnvironmentSource, is_in};
use crate::statement::script_texts;
use crate::{EnvironmentPlan, network};
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::setups;
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
    text.push_str(&setups::install_scripts(files));
    let is_script = |path: &str| {
        let kind = path.rsplit('/').next().unwrap_or(path).rsplit_once('.').map(|(_, kind)| kind);
        match kind {
            Some(kind) => setups::is_script(kind),
            None => files.text(path).is_some_and(|text| text.starts_with("#!")),
        }
    };
    let named = words(&text).map(|word| word.trim_start_matches("./"));
    let named: BTreeSet<&str> = named.filter(|path| files.may_have(path)).collect();
    let mut all = first_ones(named, |path| is_script(path) && files.text(path).is_some());
    all.extend(setups::build_modules(files));
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

/// Whether a path is test data, such as manifests for a tool that reads manifests.
fn is_aside(path: &str) -> bool {
    let beside = ["testdata", "fixtures", "__fixtures__", "test-fixtures"];
    path.split('/').any(|part| beside.contains(&part))
}

/// The dependency folders whose names the repository does not use for its own files.
pub(crate) fn dependency_folders(files: &RepositoryFiles<'_>) -> Vec<String> {
    let all: BTreeSet<&str> = setups::dependency_folders().collect();
    let is_free = |pattern: &&str| !files.all().any(|path| is_in(pattern, path));
    all.into_iter().filter(is_free).map(str::to_owned).collect()
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
