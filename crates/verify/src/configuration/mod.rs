//! Which changed files configure the test run, and how to run the tests as they were configured before.

use std::collections::{BTreeMap, BTreeSet};

use journeyman_languages::configuration::{self, ConfigurationKind, OldSettings, old_settings};
use serde_json::Value;

use crate::folders::commands_in_folders;
use crate::overlay::{Overlay, OverlayAction};
use crate::text::json;

/// Overlays for a checkout of the change that restore the old test configuration. In files with other content too, only
/// the part about tests is old.
///
/// `changed` are the paths that the change adds, edits or removes. The readers read the base commit and the change. A
/// file counts only if its part about tests differs; a new dependency in package.json does not count. `names` maps the
/// names under which links expose a path to that path, and each name counts for it.
pub fn old_configuration(
    changed: &[String],
    command: &str,
    names: &[(String, String)],
    read_base: &dyn Fn(&str) -> Option<Vec<u8>>,
    read_after: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Vec<Overlay> {
    let started = StartedPrograms::of(command, read_base);
    let mut overlays = Vec::new();
    let mut names_of: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, path) in names {
        names_of.entry(path).or_default().push(name);
    }
    for path in changed {
        let shadows = || configuration::shadows(path, &started.folders, read_base, read_after);
        let by_a_link =
            || names_of.get(path.as_str()).into_iter().flatten().find_map(|name| kind(name, &started));
        let kind = kind(path, &started).or_else(by_a_link);
        let Some(kind) = kind.or_else(|| shadows().then_some(ConfigurationKind::Whole)) else { continue };
        let (base, after) = (read_base(path), read_after(path));
        // A path that is unreadable on both sides still counts as different: a link, or a file above the limit.
        if base.is_some() && base == after {
            continue;
        }
        let settings = match &after {
            Some(after) => old_settings(kind, base.as_deref(), after),
            // Removing the whole file removes its part about tests.
            None => OldSettings::Whole,
        };
        let action = match settings {
            OldSettings::AsItIs => continue,
            OldSettings::Whole => base.map_or(OverlayAction::Remove, OverlayAction::Write),
            OldSettings::Part(bytes) => OverlayAction::Write(bytes),
        };
        overlays.push(Overlay { path: path.clone(), action });
    }
    overlays
}

#[derive(Default)]
struct StartedPrograms {
    /// The folders that it enters. Empty for the root.
    folders: Vec<String>,
    /// Files that it names, and files named by the scripts and rules that it may run.
    scripts: BTreeSet<String>,
}

impl StartedPrograms {
    fn of(command: &str, read_base: &dyn Fn(&str) -> Option<Vec<u8>>) -> Self {
        let mut started = Self::default();
        for one in commands_in_folders(command) {
            let own = scripts(one.command, &|name| read_base(&one.path(name)));
            started.scripts.extend(own.iter().map(|name| one.path(name)));
            started.folders.push(one.folder.to_ascii_lowercase());
        }
        started
    }
}

fn kind(path: &str, started: &StartedPrograms) -> Option<ConfigurationKind> {
    if started.scripts.contains(path) {
        return Some(ConfigurationKind::Whole);
    }
    configuration::kind(path, &started.folders)
}

/// Files that the command names, and files named by the scripts and rules that it may run.
fn scripts(command: &str, read_base: &dyn Fn(&str) -> Option<Vec<u8>>) -> BTreeSet<String> {
    let mut texts = vec![command.to_owned()];
    let text = |path: &str| read_base(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if let Some(Value::Object(scripts)) =
        text("package.json").and_then(|text| json(text.as_bytes())?.get("scripts").cloned())
    {
        texts.extend(scripts.values().filter_map(|script| Some(script.as_str()?.to_owned())));
    }
    if command.contains("make") {
        texts.extend(["GNUmakefile", "makefile", "Makefile"].into_iter().find_map(text));
    }
    texts.iter().flat_map(|text| programs(text)).filter(|word| is_script(word)).map(str::to_owned).collect()
}

/// Words that precede a program's name.
const BEFORE_A_PROGRAM: [&str; 22] = [
    "sh", "bash", "zsh", "dash", "ksh", "source", ".", "exec", "env", "time", "nice", "timeout", "command",
    "python", "python3", "node", "deno", "bun", "run", "ruby", "perl", "npx",
];

/// What a shell text runs: the first word of each command, and the file passed to an interpreter. Further arguments may
/// be the very thing under test.
fn programs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| ";&|()`\n".contains(c)).filter_map(|command| {
        command
            .split(|c: char| c.is_whitespace() || "<>\"'=".contains(c))
            .map(|word| word.trim_start_matches('@').trim_start_matches("./"))
            .find(|word| {
                let is_number = word.chars().all(|c| c.is_ascii_digit());
                let is_name = word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
                !(word.starts_with('-') || is_number || is_name || BEFORE_A_PROGRAM.contains(word))
            })
    })
}

/// Test files in a command are what is tested, not configuration.
fn is_script(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_test = name.starts_with("test_")
        || ["_test.", ".test.", ".spec.", "_spec."].iter().any(|mark| name.contains(mark));
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_program =
        ["", "sh", "bash", "zsh", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "ps1"].contains(&ending);
    // A program in the project's own language may be under test. Checkers are recognized by name or folder.
    let checks = matches!(ending, "" | "sh" | "bash" | "zsh" | "ps1")
        || ["test", "check", "verify", "lint", "scripts/", "tools/", "bin/", "ci/", "run"]
            .iter()
            .any(|mark| word.contains(mark));
    !stem.is_empty() && is_program && checks && !is_test && !word.starts_with(['-', '/', '$'])
}

#[cfg(test)]
mod tests;
