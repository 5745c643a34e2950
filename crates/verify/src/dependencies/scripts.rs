//! What runs when a package is installed or built, before any test does.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{NewDependency, quoted, shown};
use crate::text::{json, toml_table};

/// Scripts that npm and its like run without being asked.
const BY_THEMSELVES: &[&str] = &[
    "preinstall",
    "install",
    "postinstall",
    "preprepare",
    "prepare",
    "postprepare",
    "prepublish",
    "dependencies",
];

pub(super) fn scripts(path: &str, before: Option<&[u8]>, after: &[u8], found: &mut Vec<NewDependency>) {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut add = |what: String| found.push(NewDependency { path: path.to_owned(), what });
    let (file, verb) = (shown(path), if before.is_some() { "changed" } else { "new" });
    match name {
        "package.json" => {
            let old = before.map(of_package).unwrap_or_default();
            for (script, command) in of_package(after) {
                if old.get(&script) != Some(&command) {
                    add(format!("{file} runs {} at `{script}`, when it is installed", quoted(&command)));
                }
            }
        }
        "setup.py" => {
            add(format!("{file} is {verb}, and is run when the package is installed"));
            if has(after, b"cmdclass") && !before.is_some_and(|before| has(before, b"cmdclass")) {
                add(format!("{file} puts steps of its own into the installation (`cmdclass`)"));
            }
        }
        "setup.cfg" if has(after, b"cmdclass") && !before.is_some_and(|before| has(before, b"cmdclass")) => {
            add(format!("{file} puts steps of its own into the installation (`cmdclass`)"));
        }
        "build.rs" => add(format!("{file} is {verb}, and is run when the crate is built")),
        "binding.gyp" => add(format!("{file} is {verb}, and makes npm build when it is installed")),
        "Cargo.toml" => changed_key(&["package", "build"], before, after, |value| {
            add(format!("{file} has {} run when the crate is built", quoted(value)));
        }),
        "pyproject.toml" => {
            for key in ["build-backend", "backend-path"] {
                changed_key(&["build-system", key], before, after, |value| {
                    add(format!("{file} has {} build the package (`{key}`)", quoted(value)));
                });
            }
        }
        _ => {}
    }
}

/// The scripts of a package.json that run by themselves. One that cannot be read is named where its entries are.
fn of_package(bytes: &[u8]) -> BTreeMap<String, String> {
    let value = json(bytes).unwrap_or(Value::Null);
    let script = |name: &&str| {
        let command = value.get("scripts")?.get(*name)?.as_str()?;
        Some(((*name).to_owned(), command.to_owned()))
    };
    BY_THEMSELVES.iter().filter_map(script).collect()
}

fn has(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

/// Tells the value of a key of a TOML file, if it is not what it was.
fn changed_key(keys: &[&str; 2], before: Option<&[u8]>, after: &[u8], tell: impl FnOnce(&str)) {
    let value = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).ok()?;
        let table = toml_table(text)?;
        let value = table.get(keys[0])?.get(keys[1])?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let now = value(after);
    if let Some(now) = now.filter(|now| before.and_then(value).as_ref() != Some(now)) {
        tell(&now);
    }
}
