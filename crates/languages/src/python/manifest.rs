//! What the files of a Python project say about its tests and dependencies.
//!
//! May know: pyproject.toml, setup.cfg, names of runners' files. Must never know: what changed in them.

use crate::dependency_versions::{DependencyReader, DependencyVersions, children, put, put_table};
use crate::grammar_kind::file_name;
use crate::old_settings::{OldPart, old_text, old_toml, restore_keys};
use crate::text::toml_table;

pub(super) const CONFIGURATION: &[&str] = &[
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml",
    ".noserc", "noxfile.py", "sitecustomize.py", "usercustomize.py", "*.pth", ".coveragerc",
    ".python-version", // Runners load plugins that such a folder declares.
    "*.egg-info/", "*.dist-info/",
];

pub(super) const SETTINGS: &[(&str, OldPart)] = &[
    ("pyproject.toml", |base, after| {
        old_toml(base, after, |before, now| restore_keys(PYPROJECT, before, now))
    }),
    ("hatch.toml", |base, after| {
        old_toml(base, after, |before, now| restore_keys(&[&["envs"]], before, now))
    }),
    ("setup.cfg", |base, after| old_text(base, after, setup_section)),
];

const PYPROJECT: &[&[&str]] = &[
    &["tool", "pytest"],
    &["tool", "coverage"],
    &["tool", "tox"],
    &["tool", "nox"],
    &["tool", "poe"],
    &["tool", "taskipy"],
    &["tool", "hatch", "envs"],
    &["tool", "pdm", "scripts"],
    &["tool", "rye", "scripts"],
];
/// Sections of setup.cfg, by their first words.
const SETUP: [&str; 5] = ["tool:pytest", "coverage", "aliases", "tox", "test"];

fn setup_section(line: &str) -> Option<bool> {
    let name = line.strip_prefix('[')?;
    Some(SETUP.iter().any(|section| name.starts_with(section)))
}

/// The reader of a manifest.
pub(super) fn dependencies(path: &str) -> Option<DependencyReader> {
    let name = file_name(path);
    if name == "pyproject.toml" {
        return Some(pyproject_toml);
    }
    let folder = path.strip_suffix(name).unwrap_or_default();
    let stem = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".in"))?;
    let is_one = ["requirements", "constraints"].iter().any(|word| stem.contains(word));
    (is_one || folder.ends_with("requirements/")).then_some(requirements)
}

fn pyproject_toml(text: &str) -> Option<DependencyVersions> {
    let root = toml_table(text)?;
    let mut entries = DependencyVersions::new();
    let at = |keys: &[&str]| {
        let (first, rest) = keys.split_first()?;
        rest.iter().try_fold(root.get(*first)?, |value, key| value.get(key))
    };
    for list in [
        at(&["project", "dependencies"]),
        at(&["build-system", "requires"]),
        at(&["tool", "uv", "dev-dependencies"]),
    ] {
        put_requirements(&mut entries, list);
    }
    for lists in [at(&["project", "optional-dependencies"]), at(&["dependency-groups"])] {
        for list in lists.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values) {
            put_requirements(&mut entries, Some(list));
        }
    }
    put_table(&mut entries, at(&["tool", "poetry", "dependencies"]));
    put_table(&mut entries, at(&["tool", "poetry", "dev-dependencies"]));
    for group in children(at(&["tool", "poetry", "group"])) {
        put_table(&mut entries, group.get("dependencies"));
    }
    put_table(&mut entries, at(&["tool", "uv", "sources"]));
    Some(entries)
}

fn put_requirements(entries: &mut DependencyVersions, list: Option<&toml::Value>) {
    let list = list.and_then(toml::Value::as_array).into_iter().flatten();
    for requirement in list.filter_map(toml::Value::as_str) {
        put_requirement(entries, requirement);
    }
}

/// `name[extra] >= 1.0; marker`, or a location.
fn put_requirement(entries: &mut DependencyVersions, requirement: &str) {
    let requirement = requirement.trim();
    let length = requirement
        .find(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)))
        .unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at_checked(length).unwrap_or((requirement, ""));
    let is_place = rest.starts_with([':', '/', '+']) || name.is_empty();
    if is_place {
        return put(entries, requirement, "", "");
    }
    // Extras and markers do not identify the package.
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((_, rest)) => rest.trim_start(),
        None => rest,
    };
    let rest = if rest.starts_with('@') { rest } else { rest.split(';').next().unwrap_or_default() };
    let rest = rest.split(" --").next().unwrap_or_default().trim().trim_end_matches('\\').trim();
    put(entries, &name.to_ascii_lowercase(), rest.strip_prefix("==").unwrap_or(rest), "");
}

fn requirements(text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with('#') || line.starts_with("--hash") {
            continue;
        }
        match line.strip_prefix('-').map(|_| line.split_once([' ', '=']).unwrap_or((line, ""))) {
            // The origin of packages matters as much as their names.
            Some((option, value)) => put(&mut entries, option, value, ""),
            None => put_requirement(&mut entries, line),
        }
    }
    Some(entries)
}
