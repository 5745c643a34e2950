//! Whether a test command runs the tests of a project, as far as its words and the called scripts show.
//!
//! May know: package managers, runners, make. Must never know: what a change edits.

use crate::environment_plan::EnvironmentPlan;
use crate::project_folders::Project;
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::project_signs::is_program_of_any;
use journeyman_languages::recipes::RecipeFile;
use journeyman_languages::test_call::{TestCall, joined, mentions, segments, words};
use journeyman_order::bounds::{LARGEST_SOURCE, MOST_HOPS};

/// Programs that run what other files define, in formats that are not parsed here.
const CLOSED: [&str; 20] = [
    "bazel", "bazelisk", "buck2", "pants", "nx", "turbo", "lerna", "moon", "rush", "wireit", "docker",
    "docker-compose", "podman", "earthly", "nix", "mise", "just", "task", "inv", "invoke",
];

/// Whether a command runs any test of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    DoesNot,
    CannotTell,
    Runs,
}

/// For a plan's test command in each of its folders.
pub(crate) fn reach(project: &Project<'_>, plan: &EnvironmentPlan, files: &RepositoryFiles<'_>) -> Reach {
    let whole = plan.test_command().filter(|_| plan.folders.is_empty()).map(|command| ("", command));
    let in_folders = plan
        .folders
        .iter()
        .filter_map(|folder| Some((folder.path.as_str(), folder.test.as_ref()?.command.as_str())));
    let each = whole.into_iter().chain(in_folders);
    let of_each = each.map(|(at, command)| Command::read(at, command, files).reach(project));
    of_each.max().unwrap_or(Reach::DoesNot)
}

/// A path relative to a folder. Empty for the folder itself.
fn below<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    match folder.is_empty() {
        true => Some(path),
        false if path == folder => Some(""),
        false => path.strip_prefix(folder)?.strip_prefix('/'),
    }
}

/// A test command with the scripts that it calls.
struct Command<'c, 'f> {
    /// The folder that it runs in.
    at: &'c str,
    files: &'c RepositoryFiles<'f>,
    /// Its own words, and those of scripts.
    text: String,
    /// Whether files in unparsed formats decide what it runs.
    is_closed: bool,
    /// Whether it calls scripts, whose loops and variables may do more than their words show.
    has_scripts: bool,
}

impl<'c, 'f> Command<'c, 'f> {
    fn read(at: &'c str, command: &str, files: &'c RepositoryFiles<'f>) -> Self {
        let mut all = Self { at, files, text: String::new(), is_closed: false, has_scripts: false };
        all.add(command, &mut Vec::new(), 0);
        all
    }

    fn file(&self, name: &str) -> Option<String> {
        self.files.text(&joined(self.at, name))
    }

    /// Adds a command, and the content of the scripts that it calls.
    fn add(&mut self, command: &str, known: &mut Vec<String>, depth: usize) {
        if depth > MOST_HOPS || self.text.len() + command.len() > LARGEST_SOURCE {
            self.is_closed = true;
            return;
        }
        self.text.push_str(command);
        self.text.push('\n');
        for segment in segments(command) {
            let all: Vec<&str> = words(segment).collect();
            self.is_closed |= all.iter().any(|word| CLOSED.contains(word));
            for script in self.called(&all) {
                if !known.contains(&script) {
                    known.push(script.clone());
                    self.add(&script, known, depth + 1);
                }
            }
        }
    }

    /// What the words of one command call.
    fn called(&mut self, all: &[&str]) -> Vec<String> {
        const RUNS_SCRIPTS: [&str; 8] =
            ["npm", "pnpm", "yarn", "bun", "run-s", "run-p", "npm-run-all", "concurrently"];
        let mut called = Vec::new();
        if all.iter().any(|word| RUNS_SCRIPTS.contains(word)) {
            let manifest = self.files.json(&joined(self.at, "package.json")).unwrap_or_default();
            let script = |name: String| Some(manifest.get("scripts")?.get(name)?.as_str()?.to_owned());
            for word in all {
                let name = word.strip_prefix("npm:").unwrap_or(word);
                let name = if name == "t" { "test" } else { name };
                called.extend(["pre", "", "post"].iter().filter_map(|when| script(format!("{when}{name}"))));
            }
        }
        if let Some(at) = all.iter().position(|word| *word == "make") {
            self.has_scripts = true;
            match RecipeFile::make(self.files, self.at) {
                Some(make) => {
                    let named = all.iter().skip(at + 1).copied();
                    let targets: Vec<&str> = named.filter(|word| !word.starts_with('-')).collect();
                    let default = make.default_target().filter(|_| targets.is_empty());
                    called.extend(targets.into_iter().chain(default).flat_map(|target| make.lines(target)));
                }
                None => self.is_closed = true,
            }
        }
        let is_script = |word: &&&str| {
            let ends = [".sh", ".py", ".js", ".mjs", ".cjs", ".rb"].iter().any(|end| word.ends_with(end));
            (word.starts_with("./") || ends) && !word.starts_with(['/', '-']) && !word.contains("..")
        };
        let texts = all.iter().filter(is_script).filter_map(|word| self.file(word.trim_start_matches("./")));
        let texts: Vec<String> = texts.collect();
        self.has_scripts |= !texts.is_empty();
        called.extend(texts);
        called
    }

    fn reach(&self, project: &Project<'_>) -> Reach {
        let Some(below) = below(self.at, project.folder) else { return Reach::DoesNot };
        // Package managers select a package by its name.
        let name = self
            .files
            .json(project.manifest)
            .and_then(|manifest| Some(manifest.get("name")?.as_str()?.to_owned()));
        let mut parts = words(&self.text).flat_map(|word| word.split('='));
        let is_named = !below.is_empty()
            && (mentions(&self.text, below) || name.is_some_and(|name| parts.any(|part| part == name)));
        let manifest = self.files.text(project.manifest).unwrap_or_default();
        let call = TestCall { at: self.at, files: self.files, text: &self.text, below, manifest: &manifest };
        if !words(&self.text).any(|word| project.language.is_program(word)) {
            let is_loaded = project.language.is_loaded_by_others(&call);
            let is_of_another = words(&self.text).any(is_program_of_any);
            return match (is_of_another, below.is_empty()) {
                (false, true) => Reach::Runs,
                (true, _) if !is_named && !is_loaded && !self.is_closed => Reach::DoesNot,
                (true, _) | (false, false) => Reach::CannotTell,
            };
        }
        if is_named {
            return Reach::Runs;
        }
        let is_run = project.language.reaches(&call);
        match is_run {
            true => Reach::Runs,
            false if self.is_closed || self.has_scripts => Reach::CannotTell,
            false => Reach::DoesNot,
        }
    }
}
