//! The files that name dependencies: manifests with their readers, and the lockfiles of all languages.
//!
//! May know: names and forms of such files. Must never know: what changed in them, a registry.

mod manifests;

use std::collections::BTreeMap;

use crate::files::fits;
use crate::table::all;

/// The versions under each name in a manifest, each with its origin if the manifest gives one.
pub type DependencyVersions = BTreeMap<String, BTreeMap<String, String>>;

/// Whether a file is a lockfile of some package manager.
pub fn is_lockfile(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    all(|facts| facts.lockfiles).any(|lockfile| fits(lockfile, name))
}

/// What reads the dependencies that a manifest declares. It gives `None` for text that is not of its form.
pub fn reader(path: &str) -> Option<fn(&str) -> Option<DependencyVersions>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folder = path.strip_suffix(name).unwrap_or_default();
    Some(match name {
        "package.json" => manifests::package_json,
        "Cargo.toml" => manifests::cargo_toml,
        "pyproject.toml" => manifests::pyproject_toml,
        "go.mod" => manifests::go_mod,
        "pom.xml" => manifests::pom_xml,
        _ if is_requirements(folder, name) => manifests::requirements,
        _ => return None,
    })
}

fn is_requirements(folder: &str, name: &str) -> bool {
    let stem = name.strip_suffix(".txt").or_else(|| name.strip_suffix(".in"));
    stem.is_some_and(|stem| {
        stem.contains("requirements") || stem.contains("constraints") || folder.ends_with("requirements/")
    })
}
