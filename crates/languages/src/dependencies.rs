//! The files that name dependencies: manifests with their readers, and lockfiles.
//!
//! May know: the languages. Must never know: what changed in such a file, a registry.

use crate::dependency_versions::DependencyReader;
use crate::files::fits;
use crate::grammar_kind::file_name;
use crate::package_lists;
use crate::table::{LANGUAGES, all};

/// Whether a file is a lockfile of some package manager.
pub fn is_lockfile(path: &str) -> bool {
    let name = file_name(path);
    all(|facts| facts.lockfiles).any(|lockfile| fits(lockfile, name))
}

/// Whether a file is a manifest or a lockfile.
pub fn lists_dependencies(path: &str) -> bool {
    let name = file_name(path);
    let is_manifest = || all(|facts| facts.manifests).any(|manifest| fits(manifest, name));
    let is_read = || reader(path).is_some() && !package_lists::is_workflow(path);
    is_lockfile(path) || is_read() || is_manifest()
}

/// What reads the dependencies that a manifest, a lockfile or a workflow names. It gives `None` for text that is not of
/// its form.
pub fn reader(path: &str) -> Option<DependencyReader> {
    let of_language = LANGUAGES.iter().find_map(|language| language.dependencies(path));
    of_language.or_else(|| package_lists::reader(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_known_by_its_path() {
        for (path, is_read) in [
            ("a/package.json", true),
            ("Cargo.toml", true),
            ("cargo.toml", false),
            ("pyproject.toml", true),
            ("x/go.mod", true),
            ("pom.xml", true),
            ("requirements.txt", true),
            ("dev-requirements.in", true),
            ("constraints.txt", true),
            ("requirements/base.txt", true),
            ("my-requirements/base.in", true),
            ("requirements/base.lock", false),
            ("requirements/a/base.txt", false),
            ("notes.txt", false),
            ("Gemfile", false),
        ] {
            assert_eq!(reader(path).is_some(), is_read, "{path}");
        }
    }

    #[test]
    fn a_list_of_dependencies_is_a_manifest_or_a_lockfile_of_any_language() {
        for path in
            ["a/package.json", "requirements/base.txt", "go.sum", "Gemfile", "a/b.csproj", "composer.lock"]
        {
            assert!(lists_dependencies(path), "{path}");
        }
        for path in
            ["src/lib.rs", "README.md", "Makefile", "conftest.py", ".npmrc", ".github/workflows/ci.yml"]
        {
            assert!(!lists_dependencies(path), "{path}");
        }
    }
}
