//! Whether a test command runs the tests of a project, as far as its words and the called scripts show.
//!
//! May know: package managers, runners, make. Must never know: what a change edits.

use crate::environment_plan::EnvironmentPlan;
use crate::project_folders::Project;
use crate::statement::words;
use journeyman_languages::files::RepositoryFiles;
use journeyman_languages::project_signs::{ProjectLanguage, is_program_of_any};
use journeyman_order::bounds::{LARGEST_SOURCE, MOST_HOPS};

/// Programs that run what other files define, in formats that are not parsed here.
const CLOSED: [&str; 20] = [
    "bazel",
    "bazelisk",
    "buck2",
    "pants",
    "nx",
    "turbo",
    "lerna",
    "moon",
    "rush",
    "wireit",
    "docker",
    "docker-compose",
    "podman",
    "earthly",
    "nix",
    "mise",
    "just",
    "task",
    "inv",
    "invoke",
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

/// A path in a folder, which may be the root.
pub(crate) fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
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
            let script = |name: &str| manifest.get("scripts")?.get(name)?.as_str().map(str::to_owned);
            for word in all {
                let name = word.rsplit(':').next().filter(|_| word.starts_with("npm:")).unwrap_or(word);
                let name = if name == "t" { "test" } else { name };
                called.extend(
                    [format!("pre{name}"), name.to_owned(), format!("post{name}")]
                        .iter()
                        .filter_map(|name| script(name)),
                );
            }
        }
        if all.contains(&"make") {
            self.has_scripts = true;
            match ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|name| self.file(name)) {
                Some(text) => called.extend(recipes(&text, all)),
                None => self.is_closed = true,
            }
        }
        for word in all {
            let is_script = word.starts_with("./")
                || [".sh", ".py", ".js", ".mjs", ".cjs", ".rb"].iter().any(|end| word.ends_with(end));
            if is_script && !word.starts_with(['/', '-']) && !word.contains("..") {
                let text = self.file(word.trim_start_matches("./"));
                self.has_scripts |= text.is_some();
                called.extend(text);
            }
        }
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
        let manifest = || self.files.text(project.manifest).unwrap_or_default();
        if !words(&self.text).any(|word| project.language.is_program(word)) {
            // Tests of another language may load a Rust library.
            let is_loaded = project.language == ProjectLanguage::Rust
                && (manifest().contains("cdylib")
                    || self.file("pyproject.toml").is_some_and(|text| text.contains("maturin")));
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
        let is_run = match project.language {
            ProjectLanguage::Rust => self.cargo(below, &manifest()),
            ProjectLanguage::Go => below.is_empty(),
            ProjectLanguage::JavaScript => below.is_empty() || self.javascript(),
            ProjectLanguage::Python => below.is_empty() || self.pytest(below),
            ProjectLanguage::Jvm => below.is_empty() || self.maven(below),
            ProjectLanguage::DotNet
            | ProjectLanguage::Ruby
            | ProjectLanguage::Php
            | ProjectLanguage::Elixir
            | ProjectLanguage::Dart
            | ProjectLanguage::Swift => true,
        };
        match is_run {
            true => Reach::Runs,
            false if self.is_closed || self.has_scripts => Reach::CannotTell,
            false => Reach::DoesNot,
        }
    }

    /// Whether cargo runs the tests of a package.
    fn cargo(&self, below: &str, manifest: &str) -> bool {
        let own = journeyman_languages::text::toml_table(manifest).unwrap_or_default();
        let name = own.get("package").and_then(|package| package.get("name")?.as_str()).unwrap_or_default();
        let all: Vec<&str> = words(&self.text).collect();
        let said = |options: &[&str]| -> Vec<&str> {
            let apart = all.windows(2).filter_map(|pair| match pair {
                [option, value] if options.contains(option) => Some(*value),
                _ => None,
            });
            let joined = all.iter().filter_map(|word| {
                let (option, value) = word.split_once('=')?;
                options.contains(&option).then_some(value)
            });
            apart.chain(joined).collect()
        };
        let chosen = said(&["-p", "--package"]);
        if !chosen.is_empty() {
            return chosen.contains(&name);
        }
        let root = self.files.toml(&joined(self.at, "Cargo.toml")).unwrap_or_default();
        let Some(workspace) = root.get("workspace") else { return below.is_empty() };
        let list = |key: &str| -> Vec<String> {
            let list = workspace.get(key).and_then(toml::Value::as_array).into_iter().flatten();
            list.filter_map(toml::Value::as_str).map(str::to_owned).collect()
        };
        let is_apart =
            list("exclude").iter().any(|one| fits_folder(one, below)) || own.contains_key("workspace");
        if !below.is_empty() && is_apart || said(&["--exclude"]).contains(&name) {
            return false;
        }
        if all.iter().any(|word| matches!(*word, "--workspace" | "--all")) {
            return true;
        }
        match workspace.get("default-members") {
            Some(_) => list("default-members").iter().any(|one| fits_folder(one, below)),
            None => below.is_empty() || !root.contains_key("package"),
        }
    }

    /// Whether a JavaScript runner searches all folders, or a package manager runs in all packages.
    fn javascript(&self) -> bool {
        const OF_MANY: [&str; 11] = [
            "-r",
            "--recursive",
            "--workspaces",
            "-ws",
            "workspaces",
            "foreach",
            "--filter",
            "turbo",
            "nx",
            "lerna",
            "wireit",
        ];
        segments(&self.text).any(|segment| {
            let all: Vec<&str> = words(segment).collect();
            let looks =
                |word: &&str| matches!(*word, "jest" | "vitest" | "ava" | "--test") || *word == "deno";
            let Some(at) = all.iter().position(looks) else {
                return all.iter().any(|word| OF_MANY.contains(word))
                    && all.iter().any(|word| ProjectLanguage::JavaScript.is_program(word));
            };
            // Folders and files after it restrict the search.
            all.iter().skip(at + 1).all(|word| word.starts_with('-') || !self.is_place(word))
        })
    }

    fn is_place(&self, word: &str) -> bool {
        word.contains('*')
            || self.files.has(&joined(self.at, word.trim_start_matches("./").trim_end_matches('/')))
    }

    /// Whether pytest searches a folder. It searches all folders unless paths are configured.
    fn pytest(&self, below: &str) -> bool {
        // In the order in which pytest looks for its settings.
        const SETTINGS: [&str; 7] = [
            "pytest.toml",
            ".pytest.toml",
            "pytest.ini",
            ".pytest.ini",
            "pyproject.toml",
            "tox.ini",
            "setup.cfg",
        ];
        let told = SETTINGS.iter().find_map(|name| {
            let text = self.file(name)?;
            let (_, told) = text.split_once("testpaths")?;
            Some(
                told.lines()
                    .take_while(|line| !line.trim().is_empty())
                    .take(10)
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        });
        let is_told_of = |told: &String| {
            let first = below.split('/').next().unwrap_or(below);
            mentions(&told.replace(['[', ']', ','], " "), first)
        };
        segments(&self.text).any(|segment| {
            let all: Vec<&str> = words(segment).collect();
            let Some(at) = all.iter().position(|word| matches!(*word, "pytest" | "py.test")) else {
                return false;
            };
            let has_place = all.iter().skip(at + 1).any(|word| !word.starts_with('-') && self.is_place(word));
            !has_place && told.as_ref().is_none_or(is_told_of)
        })
    }

    /// Whether a Maven build lists a folder as a module. Other build tools configure this in code.
    fn maven(&self, below: &str) -> bool {
        let Some(pom) = self.file("pom.xml") else { return true };
        let mut prefix = String::new();
        below.split('/').any(|part| {
            prefix = joined(&prefix, part);
            pom.contains(&format!("<module>{prefix}</module>"))
        })
    }
}

/// The commands of a text.
fn segments(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', '|', '&']).filter(|segment| !segment.trim().is_empty())
}

/// Whether a word of the text is the folder or a path inside it.
fn mentions(text: &str, folder: &str) -> bool {
    words(text).flat_map(|word| word.split(['=', ','])).any(|word| {
        let word = word.trim_start_matches("./");
        word.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Whether a folder matches a workspace's pattern.
fn fits_folder(pattern: &str, folder: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let (patterns, parts): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), folder.split('/').collect());
    (pattern == "." && folder.is_empty())
        || patterns.len() == parts.len()
            && patterns.iter().zip(parts).all(|(pattern, part)| crate::environment_plan::is_in(pattern, part))
}

/// The recipes of the targets in a make call, and of their prerequisites.
fn recipes(makefile: &str, call: &[&str]) -> Vec<String> {
    let mut wanted: Vec<String> =
        call.iter().skip_while(|word| **word != "make").skip(1).map(|word| (*word).to_owned()).collect();
    let mut rules: Vec<(Vec<&str>, Vec<&str>, String)> = Vec::new();
    for line in makefile.lines() {
        if let (Some(recipe), Some((_, _, text))) = (line.strip_prefix('\t'), rules.last_mut()) {
            text.push_str(recipe);
            text.push('\n');
        } else if let Some((targets, needs)) = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='))
        {
            rules.push((
                targets.split_whitespace().collect(),
                needs.split_whitespace().collect(),
                String::new(),
            ));
        }
    }
    if !wanted.iter().any(|word| !word.starts_with('-')) {
        wanted.extend(
            rules
                .iter()
                .flat_map(|rule| &rule.0)
                .find(|target| !target.starts_with('.'))
                .map(|target| (*target).to_owned()),
        );
    }
    let mut found = Vec::new();
    while let Some(target) = wanted.pop() {
        let is_asked = |rule: &mut (Vec<&str>, Vec<&str>, String)| rule.0.contains(&target.as_str());
        for (_, needs, text) in rules.extract_if(.., is_asked) {
            wanted.extend(needs.into_iter().map(str::to_owned));
            found.push(text);
        }
    }
    found
}
