//! What Cargo.toml says about tests and dependencies.
//!
//! May know: Cargo.toml, names of Cargo's other files. Must never know: what changed in them.

use crate::dependency_versions::{DependencyVersions, children, put_table, put_values};
use crate::old_settings::{OldPart, old_toml, restore_keys};
use crate::text::toml_table;

pub(super) const CONFIGURATION: &[&str] = &[
    "build.rs", "rust-toolchain", "rust-toolchain.toml", ".cargo/config", ".cargo/config.toml",
    ".config/nextest.toml",
];

pub(super) const SETTINGS: &[(&str, OldPart)] = &[("cargo.toml", |base, after| {
    old_toml(base, after, |before, now| {
        let is_touched = restore_keys(KEYS, before, now);
        ["bin", "example"]
            .into_iter()
            .fold(is_touched, |is_touched, list| restore_targets(list, before, now) || is_touched)
    })
})];

const KEYS: &[&[&str]] = &[
    &["lib", "test"],
    &["lib", "doctest"],
    &["lib", "harness"],
    &["lib", "path"],
    &["test"],
    &["bench"],
    &["profile"],
    &["patch"],
    &["replace"],
    &["package", "autotests"],
    &["package", "build"],
    &["workspace", "members"],
    &["workspace", "exclude"],
    &["workspace", "default-members"],
    &["workspace", "metadata", "nextest"],
];

/// Restores what decides whether the tests in the targets of a list run. Returns whether anything differed.
///
/// Cargo finds the programs in `src` by itself, so a target there may have been one of the base without an entry. A new
/// target elsewhere is left as it is: it may be a fuzzer, which cannot be built as a test.
fn restore_targets(list: &str, before: &toml::Table, now: &mut toml::Table) -> bool {
    let none = toml::Table::new();
    let known = before.get(list).and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut is_touched = false;
    for target in now.get_mut(list).and_then(toml::Value::as_array_mut).into_iter().flatten() {
        let Some(target) = target.as_table_mut() else { continue };
        let old = known.iter().find(|known| known.get("name") == target.get("name"));
        let is_found = list == "bin"
            && target
                .get("path")
                .is_none_or(|path| path.as_str().is_some_and(|path| path.starts_with("src/")));
        if old.is_some() || is_found {
            let old = old.and_then(toml::Value::as_table).unwrap_or(&none);
            is_touched |= restore_keys(&[&["test"], &["harness"]], old, target);
        }
    }
    is_touched
}

pub(super) fn dependencies(text: &str) -> Option<DependencyVersions> {
    let root = toml_table(text)?;
    let mut entries = DependencyVersions::new();
    let mut tables = vec![&root];
    tables.extend(root.get("workspace").and_then(toml::Value::as_table));
    tables.extend(children(root.get("target")));
    for table in tables {
        for list in ["dependencies", "dev-dependencies", "build-dependencies"] {
            put_table(&mut entries, table.get(list));
        }
    }
    put_table(&mut entries, root.get("replace"));
    for source in children(root.get("patch")) {
        put_values(&mut entries, source);
    }
    Some(entries)
}
