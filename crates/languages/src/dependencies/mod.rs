//! The files that name dependencies: manifests with their readers, and lockfiles.
//!
//! May know: names and forms of such files. Must never know: what changed in them, a registry.

mod manifests;

use std::collections::BTreeMap;

/// Lockfiles list what is installed, not what is requested.
const LOCKFILES: [&str; 9] = [
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "Cargo.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "go.sum",
];

/// The versions under each name in a manifest, each with its origin if the manifest gives one.
pub type DependencyVersions = BTreeMap<String, BTreeMap<String, String>>;

/// Whether a file is a lockfile of some package manager.
pub fn is_lockfile(path: &str) -> bool {
    LOCKFILES.contains(&path.rsplit('/').next().unwrap_or(path))
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
