//! tox: what its environments need and run.
//!
//! May know: tox.ini. Must never know: how anything is installed.

use std::collections::BTreeSet;

use super::project::MOST_INCLUDED;
use crate::files::{IniFile, RepositoryFiles};
use crate::stated::{TestStatement, decides};
use journeyman_order::bounds::MOST_LISTED;

/// What a session of tox or nox needs.
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
            let file = pattern!(r"^\s*(?:\{(?:toxinidir|tox_root)\}/|\./)*").replace(file, "");
            if !file.contains('{') && self.files.len() < MOST_INCLUDED {
                self.files.push(file.into_owned());
            }
        } else if let Some(extras) = entry.strip_prefix(".[") {
            let extras = extras.trim_end_matches(']').split(',');
            self.extras.extend(extras.map(|one| one.trim().to_owned()));
        } else if entry.starts_with(|c: char| c.is_ascii_alphanumeric()) && !entry.contains(['{', '/', '\\'])
        {
            self.requirements.push(entry.to_owned());
        }
    }
}

const FILE: &str = "tox.ini";
/// The sections of environments that may run tests. The others inherit from the first.
const SECTIONS: [&str; 5] = ["testenv", "testenv:py", "testenv:test", "testenv:tests", "testenv:unit"];

/// The section of the environment that runs the tests.
fn section(ini: &IniFile) -> Option<&'static str> {
    let runner = pattern!(r"pytest|py\.test|unittest|trial|nose|manage\.py test|stestr");
    SECTIONS.into_iter().find(|name| {
        ini.get(name, "commands").is_some_and(|commands| runner.is_match(commands))
            || (*name == SECTIONS[0] && ini.get(name, "deps").is_some())
    })
}

pub(super) fn needs(files: &RepositoryFiles<'_>) -> Option<SessionNeeds> {
    let ini = files.ini(FILE)?;
    let section = section(&ini)?;
    let mut needs = SessionNeeds::default();
    for entry in expand(&ini, section, "deps").iter().filter_map(|entry| unconditional(entry)) {
        needs.add(entry);
    }
    // Of environments with and without factors, those with factors have more entries.
    let names = |key: &str| -> Vec<String> {
        let lines = expand(&ini, section, key);
        let names = lines.iter().map(|line| line.split_once(": ").map_or(line.as_str(), |(_, names)| names));
        let names = names.flat_map(|names| names.split(',')).map(|one| one.trim().to_owned());
        names.filter(|one| !one.is_empty()).collect()
    };
    needs.extras.extend(names("extras"));
    needs.groups.extend(names("dependency_groups"));
    (needs != SessionNeeds::default()).then_some(needs)
}

/// What the environments of tox.ini run, those for tests first.
pub(super) fn statements(files: &RepositoryFiles<'_>) -> Vec<TestStatement> {
    let Some(ini) = files.ini(FILE) else { return Vec::new() };
    let of_section = |section: &&str| {
        let commands = expand(&ini, section, "commands").join("\n").replace("\\\n", " ");
        // Such a line may fail, or has to.
        let plain = |line: &str| without_arguments(line.trim_start_matches(['-', '!', ' ']));
        let lines: Vec<String> = commands.lines().filter_map(unconditional).map(plain).collect();
        let set = ["setenv", "set_env"].map(|key| match expand(&ini, section, key) {
            own if own.is_empty() => expand(&ini, "testenv", key),
            own => own,
        });
        let variable = |line: &String| {
            let (name, value) = unconditional(line)?.split_once('=')?;
            let value = without_arguments(value.trim());
            (decides(name.trim()) && !value.contains('{')).then(|| (name.trim().to_owned(), value))
        };
        let variables = set.concat().iter().filter_map(variable).collect();
        let statement = TestStatement { variables, ..TestStatement::new(FILE, lines.join("\n")) };
        (!lines.is_empty()).then_some(statement)
    };
    SECTIONS.iter().filter_map(of_section).collect()
}

/// A command with the values of what tox and hatch replace, as far as they are known without a run.
pub(super) fn without_arguments(command: &str) -> String {
    let nothing = pattern!(r"\{(?:envbindir|toxinidir|tox_root)\}/|\{\[posargs\]\}|\[\]");
    let root = pattern!(r"\{(?:toxinidir|tox_root)\}");
    let default = pattern!(r"\{(?:posargs|args|tty|env:\w+)(?::([^{}]*))?\}");
    let plain = command.replace("{envpython}", "python3");
    let plain = nothing.replace_all(&plain, "");
    let plain = root.replace_all(&plain, ".");
    // One may be the default of another.
    default.replace_all(&default.replace_all(&plain, "$1"), "$1").trim().to_owned()
}

/// A list with references such as `{[base]deps}` expanded. Each is expanded once, since it may refer to itself.
fn expand(ini: &IniFile, section: &str, key: &str) -> Vec<String> {
    let (mut all, mut seen) = (Vec::new(), BTreeSet::new());
    let reversed = |section: &str, key: &str| ini.lines(section, key).into_iter().rev();
    let mut waiting: Vec<String> = reversed(section, key).collect();
    while let Some(line) = waiting.pop() {
        let other = line.strip_prefix("{[").and_then(|rest| rest.strip_suffix('}')?.split_once(']'));
        match other.map(|(section, key)| (section.to_owned(), key.to_owned())) {
            Some(of) if seen.len() < MOST_LISTED && seen.insert(of.clone()) => {
                waiting.extend(reversed(&of.0, &of.1));
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
