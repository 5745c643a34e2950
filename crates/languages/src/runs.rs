//! Which runners a test command runs in sequence, as far as its words show.

use std::cell::OnceCell;

use crate::runner::TestRunner;
use crate::table::{runner_named, runner_of};
use crate::words::{plain_words, program_at};
use journeyman_order::bounds::{MOST_HOPS, MOST_LOOKED_AT};
use serde_json::Value;

/// The runs of a command, one after the other. Empty if they are unknown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TestRuns(Vec<&'static TestRunner>);

impl TestRuns {
    /// The runs of these runners.
    pub fn named(names: &[&str]) -> Self {
        Self(names.iter().filter_map(|name| runner_named(name)).collect())
    }

    /// How often a runner runs.
    pub(crate) fn count(&self, runner: &TestRunner) -> usize {
        self.0.iter().filter(|run| **run == runner).count()
    }
}

/// The scripts of package.json by name, and how many more commands may be examined.
struct ScriptReader<'a> {
    manifest: &'a dyn Fn() -> Option<&'a Value>,
    left: usize,
}

/// The runs of a command in order. `read` reads a file of the commit, for the scripts of package.json.
pub fn runs_of(command: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> TestRuns {
    let manifest: OnceCell<Option<Value>> = OnceCell::new();
    let parsed = || super::text::json(&read("package.json")?);
    let manifest = || manifest.get_or_init(parsed).as_ref();
    let mut runs = Vec::new();
    match expand(command, &mut ScriptReader { manifest: &manifest, left: MOST_LOOKED_AT }, 0, &mut runs) {
        Some(()) => TestRuns(runs),
        None => TestRuns::default(),
    }
}

fn expand(
    command: &str,
    scripts: &mut ScriptReader<'_>,
    depth: usize,
    runs: &mut Vec<&'static TestRunner>,
) -> Option<()> {
    // Parallel and conditional commands are not a sequence.
    let parts = command.split("&&").flat_map(|part| part.split([';', '\n'])).map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        scripts.left = scripts.left.checked_sub(1).filter(|_| depth <= MOST_HOPS)?;
        let quoted = part.replace(['\'', '"'], "");
        let words = plain_words(&quoted)?;
        let rest = words.get(program_at(&words)..)?;
        let names = match rest {
            ["npm" | "pnpm" | "yarn" | "bun", options @ ..]
                if options.iter().any(|word| OF_MANY.contains(word)) =>
            {
                return None;
            }
            ["run-p" | "npm-run-all" | "concurrently" | "turbo" | "nx" | "lerna" | "wireit", ..] => {
                return None;
            }
            ["npm" | "pnpm" | "yarn" | "bun", "run", name, ..] | ["npm" | "pnpm" | "yarn", name, ..] => {
                let name = if *name == "t" { "test" } else { *name };
                ["pre", "", "post"].map(|when| format!("{when}{name}")).to_vec()
            }
            ["run-s", names @ ..] => names.iter().map(|name| (*name).to_owned()).collect(),
            ["c8" | "nyc", program @ ..] => {
                expand(&program.join(" "), scripts, depth + 1, runs)?;
                Vec::new()
            }
            _ => {
                runs.extend(runner_of(rest));
                Vec::new()
            }
        };
        let manifest = if names.is_empty() { None } else { Some((scripts.manifest)()?) };
        let all = manifest.and_then(|manifest| manifest.get("scripts"));
        for line in names.iter().filter_map(|name| all?.get(name)?.as_str()) {
            expand(line, scripts, depth + 1, runs)?;
        }
    }
    Some(())
}

/// Options of package managers that run a script in many packages.
const OF_MANY: [&str; 9] =
    ["-r", "--recursive", "--workspaces", "-ws", "--workspace", "-w", "--filter", "workspaces", "workspace"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_call_one_another_many_times_cannot_be_told() {
        let loops = "npm run a && npm run b && ".repeat(50);
        let manifest =
            format!(r#"{{"scripts": {{"a": "{loops}tsc", "b": "{loops}tsc", "test": "vitest run"}}}}"#);
        let read = |path: &str| (path == "package.json").then(|| manifest.clone().into_bytes());
        assert_eq!(runs_of("npm run a", &read), TestRuns::default());
        assert_eq!(runs_of("npm test && npm test", &read), TestRuns::named(&["vitest", "vitest"]));
    }

    #[test]
    fn the_runs_of_a_command_are_told_by_its_words() {
        let manifest = br#"{"scripts": {"test": "npm run lint && npm run unit && yarn e2e", "unit": "vitest run",
            "e2e": "cross-env A=b vitest run --config 'e2e.config.ts'", "lint": "eslint .", "loop": "npm run loop",
            "both": "run-p unit e2e", "turns": "run-s unit e2e", "pretwo": "jest", "two": "c8 mocha"}}"#;
        let read = |path: &str| (path == "package.json").then(|| manifest.to_vec());
        let table: &[(&str, &[&str])] = &[
            ("vitest run && vitest run --config b.ts", &["vitest", "vitest"]),
            ("npm test", &["vitest", "vitest"]),
            ("npm run turns", &["vitest", "vitest"]),
            ("npm run two", &["jest", "mocha"]),
            ("npx jest; npx jest -c b", &["jest", "jest"]),
            ("npm run build && npm test", &["vitest", "vitest"]),
            ("python3 -m pytest && .venv/bin/python -m pytest -c b.ini", &["pytest", "pytest"]),
            ("cmake --build b && ctest --test-dir a && ctest --test-dir b", &["ctest", "ctest"]),
            ("node --test && node --test more", &["node", "node"]),
            ("npm run both", &[]),
            ("npm run loop", &[]),
            ("npm test --workspaces", &[]),
            ("jest || jest", &[]),
            ("jest & jest", &[]),
            ("$RUNNER && jest", &[]),
        ];
        for (command, runs) in table {
            assert_eq!(runs_of(command, &read), TestRuns::named(runs), "{command}");
        }
    }
}
