//! Which packages `cargo test` reaches.

use crate::files::fits;
use crate::test_call::{TestCall, joined, words};
use crate::text::toml_table;

/// Whether cargo runs the tests of a package.
pub(super) fn reaches(call: &TestCall<'_, '_>) -> bool {
    let below = call.below;
    let own = toml_table(call.manifest).unwrap_or_default();
    let name = own.get("package").and_then(|package| package.get("name")?.as_str()).unwrap_or_default();
    let all: Vec<&str> = words(call.text).collect();
    let said = |options: &[&str]| -> Vec<&str> {
        let apart = all.windows(2).filter_map(|pair| match pair {
            [option, value] if options.contains(option) => Some(*value),
            _ => None,
        });
        let joined = all.iter().filter_map(|word| {
            let (option, value) = word.split_once('=')?;
            options.contains(&option).then_some(value)
        });
        apart.chain(joined).collect()
    };
    let chosen = said(&["-p", "--package"]);
    if !chosen.is_empty() {
        return chosen.contains(&name);
    }
    let root = call.files.toml(&joined(call.at, "Cargo.toml")).unwrap_or_default();
    let Some(workspace) = root.get("workspace") else { return below.is_empty() };
    let list = |key: &str| -> Vec<String> {
        let list = workspace.get(key).and_then(toml::Value::as_array).into_iter().flatten();
        list.filter_map(toml::Value::as_str).map(str::to_owned).collect()
    };
    let is_apart = list("exclude").iter().any(|one| fits_folder(one, below)) || own.contains_key("workspace");
    if !below.is_empty() && is_apart || said(&["--exclude"]).contains(&name) {
        return false;
    }
    if all.iter().any(|word| matches!(*word, "--workspace" | "--all")) {
        return true;
    }
    match workspace.get("default-members") {
        Some(_) => list("default-members").iter().any(|one| fits_folder(one, below)),
        None => below.is_empty() || !root.contains_key("package"),
    }
}

/// Whether a folder matches a workspace's pattern.
fn fits_folder(pattern: &str, folder: &str) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let (patterns, parts): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), folder.split('/').collect());
    (pattern == "." && folder.is_empty())
        || patterns.len() == parts.len()
            && patterns.iter().zip(parts).all(|(pattern, part)| fits(pattern, part))
}
