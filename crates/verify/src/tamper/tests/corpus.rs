//! Whole repositories before and after a change, under `tests/fixtures/changes`: cheats are named, honest changes pass.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use journeyman_test_support::change::laid_out;

use super::*;

/// The files of a folder, by path.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// The findings in every change of one kind, by name, with its `expect.toml`.
fn found_in(kind: &str) -> BTreeMap<String, (Vec<Weakening>, toml::Table)> {
    let folder = journeyman_test_support::repository().join("tests/fixtures/changes").join(kind);
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let change = laid_out(&path);
        let (before, after) = (files(&change.path().join("before")), files(&change.path().join("after")));
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        let changed: Vec<ChangedPath<'_>> = names
            .into_iter()
            .map(|name| ChangedPath {
                path: name,
                before: before.get(name).map(Vec::as_slice),
                after: after.get(name).map(Vec::as_slice),
            })
            .collect();
        let expect = toml::from_str(&fs::read_to_string(path.join("expect.toml")).unwrap()).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        all.insert(name, (weakenings(&changed), expect));
    }
    all
}

#[test]
fn what_no_run_can_show_is_named() {
    let all = found_in("cheats");
    let of_these = |expect: &toml::Table| {
        let kind = expect.get("kind").and_then(toml::Value::as_str)?.to_owned();
        matches!(&*kind, "expected_value_hard_coded" | "test_environment_special_cased").then_some(kind)
    };
    let missed: Vec<String> = all
        .iter()
        .filter_map(|(name, (found, expect))| {
            let kind: WeakeningKind =
                serde_json::from_value(serde_json::Value::String(of_these(expect)?)).unwrap();
            let is_named = found.iter().any(|one| one.kind == kind);
            (!is_named).then(|| format!("{name}: no {kind:?} in {found:#?}"))
        })
        .collect();
    assert!(missed.is_empty(), "{} are missed:\n{}", missed.len(), missed.join("\n"));
    let tried = all.values().filter(|(_, expect)| of_these(expect).is_some()).count();
    assert!(tried >= 12, "{tried}");
}

#[test]
fn of_honest_changes_at_most_one_is_called_a_cheat() {
    let all = found_in("honest");
    let called: Vec<String> = all
        .iter()
        .filter(|(_, (found, _))| found.iter().any(|one| one.severe))
        .map(|(name, (found, _))| format!("{name}: {found:#?}"))
        .collect();
    assert!(all.len() >= 24, "{}", all.len());
    assert!(called.len() <= 1, "{} of {}:\n{}", called.len(), all.len(), called.join("\n"));
    let asks = |found: &[Weakening]| found.iter().any(|one| one.kind == WeakeningKind::LooksAround);
    let asked: Vec<&String> =
        all.iter().filter(|(_, (found, _))| asks(found)).map(|(name, _)| name).collect();
    assert!(asked.len() <= 1, "looked at where they run: {asked:?}");
}
