//! Parses manifests: the declared dependencies of a package.

use serde_json::Value;

use super::DependencyVersions;
use crate::text::{json, toml_table};

fn put(entries: &mut DependencyVersions, name: &str, version: &str, source: &str) {
    let versions = entries.entry(name.trim().to_owned()).or_default();
    versions.insert(version.trim().to_owned(), source.trim().to_owned());
}

pub(super) fn package_json(text: &str) -> Option<DependencyVersions> {
    let value = json(text.as_bytes())?;
    let mut entries = DependencyVersions::new();
    let lists = [
        "dependencies",
        "devDependencies",
        "optionalDependencies",
        "peerDependencies",
        "overrides",
        "resolutions",
    ];
    for list in lists.iter().filter_map(|list| value.get(list)?.as_object()) {
        for (name, version) in list {
            let version = version.as_str().map_or_else(|| version.to_string(), str::to_owned);
            put(&mut entries, name, &version, "");
        }
    }
    for list in ["bundledDependencies", "bundleDependencies"] {
        for name in value.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
        {
            put(&mut entries, name, "bundled", "");
        }
    }
    Some(entries)
}

const CARGO_LISTS: &[&str] = &["dependencies", "dev-dependencies", "build-dependencies"];

pub(super) fn cargo_toml(text: &str) -> Option<DependencyVersions> {
    let root = toml_table(text)?;
    let mut entries = DependencyVersions::new();
    let mut tables = vec![&root];
    tables.extend(root.get("workspace").and_then(toml::Value::as_table));
    tables.extend(children(root.get("target")));
    for table in tables {
        for list in CARGO_LISTS {
            put_table(&mut entries, table.get(*list));
        }
    }
    put_table(&mut entries, root.get("replace"));
    for source in children(root.get("patch")) {
        put_values(&mut entries, source);
    }
    Some(entries)
}

fn children(value: Option<&toml::Value>) -> impl Iterator<Item = &toml::Table> {
    value
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(toml::Table::values)
        .filter_map(toml::Value::as_table)
}

fn put_table(entries: &mut DependencyVersions, value: Option<&toml::Value>) {
    if let Some(table) = value.and_then(toml::Value::as_table) {
        put_values(entries, table);
    }
}

/// Names with a version, or with a table of version and origin.
fn put_values(entries: &mut DependencyVersions, table: &toml::Table) {
    for (name, value) in table {
        let of = |key: &str| value.get(key).and_then(toml::Value::as_str);
        let version = value.as_str().or_else(|| of("version"));
        let sources: Vec<String> = ["git", "rev", "branch", "tag", "path", "url", "registry", "package"]
            .iter()
            .filter_map(|key| Some(format!("{key} {}", of(key)?)))
            .collect();
        let source = sources.join(", ");
        match version {
            Some(version) => put(entries, name, version, &source),
            None => put(entries, name, &source, ""),
        }
    }
}

pub(super) fn pyproject_toml(text: &str) -> Option<DependencyVersions> {
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

pub(super) fn requirements(text: &str) -> Option<DependencyVersions> {
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

pub(super) fn go_mod(text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    let mut block = "";
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line == ")" {
            block = "";
        } else if let Some(word) = line.strip_suffix('(') {
            block = word.trim();
        } else {
            let (verb, rest) =
                if block.is_empty() { line.split_once(' ').unwrap_or_default() } else { (block, line) };
            let mut words = rest.split_whitespace();
            match (verb, words.next()) {
                ("require" | "tool", Some(name)) => {
                    put(&mut entries, name, words.next().unwrap_or_default(), "");
                }
                ("replace", Some(name)) => {
                    let by = rest.split_once("=>").map_or("", |(_, by)| by).trim();
                    put(&mut entries, name, &format!("replaced by {by}"), "");
                }
                _ => {}
            }
        }
    }
    Some(entries)
}

/// Parses tags only: properties and parents are not resolved.
pub(super) fn pom_xml(text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    for (open, close) in [
        ("<dependency>", "</dependency>"),
        ("<plugin>", "</plugin>"),
        ("<extension>", "</extension>"),
        ("<parent>", "</parent>"),
    ] {
        let mut rest = text;
        while let Some((_, from)) = rest.split_once(open) {
            let Some((inner, after)) = from.split_once(close) else { break };
            let tag = |name: &str| {
                let (_, value) = inner.split_once(&format!("<{name}>"))?;
                Some(value.split_once('<')?.0.trim())
            };
            if let Some(artifact) = tag("artifactId") {
                let name =
                    tag("groupId").map_or_else(|| artifact.to_owned(), |group| format!("{group}:{artifact}"));
                put(
                    &mut entries,
                    &name,
                    tag("version").unwrap_or_default(),
                    tag("systemPath").unwrap_or_default(),
                );
            }
            rest = after;
        }
    }
    Some(entries)
}
