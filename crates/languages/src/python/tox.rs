//! tox: what its environments need and run.
//!
//! May know: tox.ini and its TOML. Must never know: how anything is installed.

use std::collections::BTreeSet;

use regex::Regex;
use toml::Value;

use super::project::{MOST_INCLUDED, PythonProject};
use crate::files::{IniFile, RepositoryFiles, quote};
use journeyman_order::bounds::MOST_LISTED;

/// What a tox environment needs.
#[derive(Debug, Default, PartialEq)]
pub(super) struct SessionNeeds {
    pub(super) requirements: Vec<String>,
    pub(super) files: Vec<String>,
    pub(super) extras: Vec<String>,
    pub(super) groups: Vec<String>,
}

impl SessionNeeds {
    /// Adds one entry of a list of dependencies.
    pub(super) fn add(&mut self, entry: &str) {
        let entry = entry.trim();
        if let Some(file) = entry.strip_prefix("-r") {
            let file = file
                .trim()
                .trim_start_matches("{toxinidir}/")
                .trim_start_matches("{tox_root}/")
                .trim_start_matches("./");
            if !file.contains('{') && self.files.len() < MOST_INCLUDED {
                self.files.push(file.to_owned());
            }
        } else if let Some(extras) = entry.strip_prefix('.').and_then(|rest| rest.strip_prefix('[')) {
            let extras = extras.trim_end_matches(']').split(',').map(|one| one.trim().to_owned());
            self.extras.extend(extras);
        } else if entry.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !entry.contains(['{', '/', ' ', '\\'])
        {
            self.requirements.push(entry.to_owned());
        } else if entry.starts_with(|c: char| c.is_ascii_alphanumeric()) && !entry.contains(['{', '/', '\\'])
        {
            // It may have spaces around operators, or a marker.
            self.requirements.push(entry.split(';').next().unwrap_or(entry).replace(' ', ""));
        }
    }
}

fn ini(files: &RepositoryFiles<'_>, project: &PythonProject) -> Option<IniFile> {
    let legacy =
        project.at(&["tool", "tox", "legacy_tox_ini"]).and_then(Value::as_str).map(IniFile::from_text);
    files.ini("tox.ini").or(legacy).or_else(|| files.ini("setup.cfg").filter(|ini| ini.has("testenv")))
}

/// The section of the environment that runs the tests.
fn section(ini: &IniFile) -> Option<&'static str> {
    ["testenv", "testenv:py", "testenv:test", "testenv:tests", "testenv:unit"].into_iter().find(|name| {
        ini.get(name, "commands").is_some_and(runs_tests)
            || (*name == "testenv" && ini.get(name, "deps").is_some())
    })
}

fn runs_tests(commands: &str) -> bool {
    ["pytest", "py.test", "unittest", "trial", "nose", "manage.py test", "stestr"]
        .iter()
        .any(|runner| commands.contains(runner))
}

pub(super) fn needs(files: &RepositoryFiles<'_>, project: &PythonProject) -> Option<SessionNeeds> {
    let mut needs = SessionNeeds::default();
    if let Some(table) =
        files.toml("tox.toml").map(Value::Table).or_else(|| project.at(&["tool", "tox"]).cloned())
    {
        let base = table.get("env_run_base").or_else(|| table.get("env").and_then(|env| env.get("test")));
        let list = |key: &str| {
            base.and_then(|base| base.get(key)).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        for entry in list("deps").iter().filter_map(Value::as_str) {
            needs.add(entry);
        }
        needs.extras.extend(list("extras").iter().filter_map(Value::as_str).map(str::to_owned));
        needs.groups.extend(list("dependency_groups").iter().filter_map(Value::as_str).map(str::to_owned));
    }
    if let Some(ini) = ini(files, project)
        && let Some(section) = section(&ini)
    {
        for entry in expand(&ini, section, "deps") {
            if let Some(entry) = unconditional(&entry) {
                needs.add(entry);
            }
        }
        let words = |key: &str| -> Vec<String> {
            let lines = expand(&ini, section, key);
            lines
                .iter()
                // Of environments with and without factors, those with factors have more entries.
                .map(|line| line.split_once(": ").map_or(line.as_str(), |(_, names)| names))
                .flat_map(|names| names.split(','))
                .map(|one| one.trim().to_owned())
                .filter(|one| !one.is_empty())
                .collect()
        };
        needs.extras.extend(words("extras"));
        needs.groups.extend(words("dependency_groups"));
    }
    (needs != SessionNeeds::default()).then_some(needs)
}

/// The test command of tox's environment, if it is simple.
pub(super) fn test_command(files: &RepositoryFiles<'_>, project: &PythonProject) -> Option<String> {
    let ini = ini(files, project)?;
    let section = section(&ini)?;
    let lines = expand(&ini, section, "commands");
    let joined = lines.join("\n").replace("\\\n", " ");
    let posargs = Regex::new(r"\{posargs(:([^{}]*))?\}|\{\[?posargs\]?\}|\[\]").ok()?;
    let coverage = Regex::new(r"^(?:python3? (?:-\w+ )*-m )?coverage run (?:-[-\w=./]+ )*-m ").ok()?;
    let chosen =
        joined.lines().map(str::trim).find(|line| runs_tests(line) && !line.contains("pip install"))?;
    let chosen = unconditional(chosen)?.trim_start_matches("- ");
    let plain = posargs
        .replace_all(chosen, "$2")
        .replace("{envpython}", "python3")
        .replace("{toxinidir}/", "")
        .replace("{tty:--color=yes}", "");
    let plain = coverage.replace(plain.trim(), "python3 -m ").into_owned();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_known = ["pytest", "py.test", "python", "trial"].iter().any(|program| plain.starts_with(program));
    let with_module = match plain.strip_prefix("pytest").or_else(|| plain.strip_prefix("py.test")) {
        Some(rest) => format!("python3 -m pytest{rest}"),
        None => plain.strip_prefix("python ").map_or(plain.clone(), |rest| format!("python3 {rest}")),
    };
    if !is_known || with_module.contains(['{', '}', '[', '$', '`']) {
        return None;
    }
    // tox starts programs without a shell, so the program expands a star.
    let words = shell_words::split(&with_module).ok()?;
    Some(words.iter().map(|word| word_of_shell(word)).collect::<Vec<_>>().join(" "))
}

/// Quoted only if a shell would read it differently: only a plain command can be made to report test names.
fn word_of_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@+,%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { quote(word) }
}

/// A list with references such as `{[base]deps}` expanded. Each is expanded once, since it may refer to itself.
fn expand(ini: &IniFile, section: &str, key: &str) -> Vec<String> {
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    let reversed = |section: &str, key: &str| ini.lines(section, key).into_iter().rev();
    let mut waiting: Vec<String> = reversed(section, key).collect();
    while let Some(line) = waiting.pop() {
        let other = line
            .strip_prefix("{[")
            .and_then(|rest| rest.strip_suffix('}'))
            .and_then(|rest| rest.split_once(']'));
        match other {
            Some((section, key)) if seen.len() < MOST_LISTED => {
                if seen.insert((section.to_owned(), key.to_owned())) {
                    waiting.extend(reversed(section, key));
                }
            }
            Some(_) => {}
            None => all.push(line),
        }
    }
    all
}

/// An entry without its factors. `None` if it applies only to special environments.
fn unconditional(entry: &str) -> Option<&str> {
    let Some((factors, rest)) = entry.split_once(": ") else { return Some(entry) };
    let is_condition = factors.chars().all(|c| c.is_ascii_alphanumeric() || "{},-!._".contains(c));
    let is_usual = ["test", "tests", "py3", "pytest"].contains(&factors) || factors.starts_with('!');
    match is_condition {
        true => is_usual.then_some(rest.trim()),
        false => Some(entry),
    }
}
