//! Which runners a test command runs in sequence, as far as its words show.

use std::cell::OnceCell;

use super::asking::{is_python, plain_words, program_at};
use journeyman_order::bounds::{MOST_HOPS, MOST_LOOKED_AT};
use journeyman_order::comparison::TestRunnerName;
use serde_json::Value;

/// The scripts of package.json by name, and how many more commands may be examined.
struct ScriptReader<'a> {
    manifest: &'a dyn Fn() -> Option<&'a Value>,
    left: usize,
}

/// The runs of a command in order. Empty if they are unknown. `read` reads a file of the commit, for the scripts of
/// package.json.
pub fn runs_of(command: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Vec<TestRunnerName> {
    let manifest: OnceCell<Option<Value>> = OnceCell::new();
    let parsed = || super::text::json(&read("package.json")?);
    let manifest = || manifest.get_or_init(parsed).as_ref();
    let mut runs = Vec::new();
    match expand(command, &mut ScriptReader { manifest: &manifest, left: MOST_LOOKED_AT }, 0, &mut runs) {
        Some(()) => runs,
        None => Vec::new(),
    }
}

fn expand(
    command: &str,
    scripts: &mut ScriptReader<'_>,
    depth: usize,
    runs: &mut Vec<TestRunnerName>,
) -> Option<()> {
    // Parallel and conditional commands are not a sequence.
    let parts = command.split("&&").flat_map(|part| part.split([';', '\n'])).map(str::trim);
    for part in parts.filter(|part| !part.is_empty()) {
        if depth > MOST_HOPS {
            return None;
        }
        scripts.left = scripts.left.checked_sub(1)?;
        let quoted = part.replace(['\'', '"'], "");
        let words = plain_words(&quoted)?;
        let rest = words.get(program_at(&words)..)?;
        let mut script = |name: &str| {
            let line = (scripts.manifest)()?.get("scripts").and_then(|all| all.get(name)?.as_str());
            line.map_or(Some(()), |line| expand(line, scripts, depth + 1, runs))
        };
        match rest {
            ["npm" | "pnpm" | "yarn" | "bun", options @ ..]
                if options.iter().any(|word| OF_MANY.contains(word)) =>
            {
                return None;
            }
            ["bun", "test", ..] => runs.push(TestRunnerName::Bun),
            ["npm" | "pnpm" | "yarn" | "bun", "run", name, ..] | ["npm" | "pnpm" | "yarn", name, ..] => {
                let name = if *name == "t" { "test" } else { *name };
                for name in [format!("pre{name}"), name.to_owned(), format!("post{name}")] {
                    script(&name)?;
                }
            }
            ["run-s", names @ ..] => {
                for name in names.iter().filter(|name| !name.starts_with('-')) {
                    if name.contains('*') {
                        return None;
                    }
                    script(name)?;
                }
            }
            ["run-p" | "npm-run-all" | "concurrently" | "turbo" | "nx" | "lerna" | "wireit", ..] => {
                return None;
            }
            ["vitest", ..] => runs.push(TestRunnerName::Vitest),
            ["jest", ..] | ["react-scripts", "test", ..] => runs.push(TestRunnerName::Jest),
            ["mocha", ..] => runs.push(TestRunnerName::Mocha),
            ["node", more @ ..] if more.contains(&"--test") => runs.push(TestRunnerName::Node),
            ["c8" | "nyc", program @ ..] => expand(&program.join(" "), scripts, depth + 1, runs)?,
            ["pytest" | "py.test", ..] => runs.push(TestRunnerName::Pytest),
            [python, "-m", "pytest", ..] if is_python(python) => runs.push(TestRunnerName::Pytest),
            ["ctest", ..] => runs.push(TestRunnerName::Ctest),
            _ => {}
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
    use TestRunnerName::{Ctest, Jest, Mocha, Node, Pytest, Vitest};

    #[test]
    fn scripts_that_call_one_another_many_times_cannot_be_told() {
        let loops = "npm run a && npm run b && ".repeat(50);
        let manifest =
            format!(r#"{{"scripts": {{"a": "{loops}tsc", "b": "{loops}tsc", "test": "vitest run"}}}}"#);
        let read = |path: &str| (path == "package.json").then(|| manifest.clone().into_bytes());
        assert_eq!(runs_of("npm run a", &read), []);
        assert_eq!(runs_of("npm test && npm test", &read), [Vitest, Vitest]);
    }

    #[test]
    fn the_runs_of_a_command_are_told_by_its_words() {
        let manifest = br#"{"scripts": {"test": "npm run lint && npm run unit && yarn e2e", "unit": "vitest run",
            "e2e": "cross-env A=b vitest run --config 'e2e.config.ts'", "lint": "eslint .", "loop": "npm run loop",
            "both": "run-p unit e2e", "turns": "run-s unit e2e", "pretwo": "jest", "two": "c8 mocha"}}"#;
        let read = |path: &str| (path == "package.json").then(|| manifest.to_vec());
        let table: &[(&str, &[TestRunnerName])] = &[
            ("vitest run && vitest run --config b.ts", &[Vitest, Vitest]),
            ("npm test", &[Vitest, Vitest]),
            ("npm run turns", &[Vitest, Vitest]),
            ("npm run two", &[Jest, Mocha]),
            ("npx jest; npx jest -c b", &[Jest, Jest]),
            ("npm run build && npm test", &[Vitest, Vitest]),
            ("python3 -m pytest && .venv/bin/python -m pytest -c b.ini", &[Pytest, Pytest]),
            ("cmake --build b && ctest --test-dir a && ctest --test-dir b", &[Ctest, Ctest]),
            ("node --test && node --test more", &[Node, Node]),
            ("npm run both", &[]),
            ("npm run loop", &[]),
            ("npm test --workspaces", &[]),
            ("jest || jest", &[]),
            ("jest & jest", &[]),
            ("$RUNNER && jest", &[]),
        ];
        for (command, runs) in table {
            assert_eq!(runs_of(command, &read), *runs, "{command}");
        }
    }
}
