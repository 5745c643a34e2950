//! Lockfiles: what is installed, by version, and where it is from.

use serde_json::Value;

use super::DependencyVersions;
use super::manifests::put;
use crate::text::{json, toml_table};

/// Packages of one lockfile that are read.
const MOST_PACKAGES: usize = 100_000;

pub(super) fn package_lock(text: &str) -> Option<DependencyVersions> {
    let root = json(text.as_bytes())?;
    let mut entries = DependencyVersions::new();
    let of = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let source = |value: &Value| format!("{} {}", of(value, "resolved"), of(value, "integrity"));
    for (place, package) in root.get("packages").and_then(Value::as_object).into_iter().flatten() {
        if let Some((_, name)) = place.rsplit_once("node_modules/") {
            put(&mut entries, name, &of(package, "version"), &source(package));
        }
    }
    if !entries.is_empty() {
        return Some(entries);
    }
    // Of old each had its own within it.
    let mut open = vec![&root];
    let mut read = 0;
    while let Some(package) = open.pop() {
        for (name, inner) in package.get("dependencies").and_then(Value::as_object).into_iter().flatten() {
            read += 1;
            if read > MOST_PACKAGES {
                return None;
            }
            put(&mut entries, name, &of(inner, "version"), &source(inner));
            open.push(inner);
        }
    }
    Some(entries)
}

/// Both yarns: a line of patterns, and below it what they came to.
pub(super) fn yarn_lock(text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    let (mut name, mut version, mut source) = ("", "", String::new());
    for line in text.lines().chain(["end:"]) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if !line.starts_with(' ') {
            if !version.is_empty() && name != "__metadata" {
                put(&mut entries, name, version, &source);
            }
            name = before_version(line.trim_matches(['"', ':', ' ']));
            (version, source) = ("", String::new());
            continue;
        }
        // Deeper lines are what it needs in its turn.
        let Some(line) = line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) else { continue };
        let (key, value) = line.split_once([' ', ':']).unwrap_or((line, ""));
        let value = value.trim_matches([' ', '"']);
        match key {
            "version" => version = value,
            "resolved" | "integrity" | "resolution" | "checksum" => source.push_str(value),
            _ => {}
        }
    }
    Some(entries)
}

/// The name in `@scope/name@1.0.0`.
fn before_version(pattern: &str) -> &str {
    let from = usize::from(pattern.starts_with('@'));
    let at = pattern.get(from..).and_then(|rest| rest.find('@'));
    at.and_then(|at| pattern.get(..at + from)).unwrap_or(pattern)
}

/// By its lines, since its keys are all that is wanted.
pub(super) fn pnpm_lock(text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    let mut section = "";
    let mut last: Option<(String, String)> = None;
    for line in text.lines() {
        if !line.starts_with(' ') && !line.trim().is_empty() {
            section = line.trim_end().trim_end_matches(':');
        }
        if section != "packages" {
            continue;
        }
        let is_key = line.strip_prefix("  ").is_some_and(|line| !line.starts_with(' '));
        if is_key {
            let key = line.trim().trim_end_matches(':').trim_matches(['\'', '"']);
            let key = key.split('(').next().unwrap_or_default();
            let key = key.strip_prefix('/').unwrap_or(key);
            let name = before_version(key);
            let (name, version) = match key.get(name.len() + 1..) {
                Some(version) => (name, version),
                // Of old the version was a folder.
                None => key.rsplit_once('/').unwrap_or((key, "")),
            };
            put(&mut entries, name, version, "");
            last = Some((name.to_owned(), version.to_owned()));
        } else if let Some(source) = line.trim().strip_prefix("resolution:")
            && let Some((name, version)) = &last
        {
            put(&mut entries, name, version, source);
        }
    }
    Some(entries)
}

/// Cargo's, poetry's and uv's: a table for each package.
pub(super) fn package_tables(text: &str) -> Option<DependencyVersions> {
    let root = toml_table(text)?;
    let mut entries = DependencyVersions::new();
    for package in root.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
        let of = |key: &str| package.get(key).and_then(toml::Value::as_str).unwrap_or_default();
        let source = package.get("source").map(toml::Value::to_string).unwrap_or_default();
        put(&mut entries, of("name"), of("version"), &format!("{source} {}", of("checksum")));
    }
    Some(entries)
}

pub(super) fn go_sum(text: &str) -> Option<DependencyVersions> {
    let mut entries = DependencyVersions::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(version), Some(hash)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        // Of those with this ending the manifest alone was read.
        if !version.ends_with("/go.mod") {
            put(&mut entries, name, version, hash);
        }
    }
    Some(entries)
}
