//! The dependencies that a file names, such as a manifest.
//!
//! May know: names, versions, tables of TOML. Must never know: which manifests there are, what changed in them.

use std::collections::BTreeMap;

/// The versions under each name in a manifest, each with its origin if the manifest gives one.
pub type DependencyVersions = BTreeMap<String, BTreeMap<String, String>>;

/// Reads a manifest. `None` for text that is not of its form.
pub(crate) type DependencyReader = fn(&str) -> Option<DependencyVersions>;

pub(crate) fn put(entries: &mut DependencyVersions, name: &str, version: &str, source: &str) {
    let versions = entries.entry(name.trim().to_owned()).or_default();
    versions.insert(version.trim().to_owned(), source.trim().to_owned());
}

/// The tables in a table.
pub(crate) fn children(value: Option<&toml::Value>) -> impl Iterator<Item = &toml::Table> {
    value
        .and_then(toml::Value::as_table)
        .into_iter()
        .flat_map(toml::Table::values)
        .filter_map(toml::Value::as_table)
}

/// The entries of a table, if the value is one.
pub(crate) fn put_table(entries: &mut DependencyVersions, value: Option<&toml::Value>) {
    if let Some(table) = value.and_then(toml::Value::as_table) {
        put_values(entries, table);
    }
}

/// Names with a version, or with a table of version and origin.
pub(crate) fn put_values(entries: &mut DependencyVersions, table: &toml::Table) {
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

/// Each name that a pattern finds in a text, with its version.
pub(crate) fn found(pattern: &regex::Regex, text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    for found in pattern.captures_iter(text) {
        put(&mut entries, found.name("name")?.as_str(), found.name("version")?.as_str(), "");
    }
    Some(entries)
}
