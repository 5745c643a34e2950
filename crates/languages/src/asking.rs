//! How to make a test command report the names of its tests without changing what it tests.

use std::collections::BTreeMap;

/// A test command that reports names. If that is impossible, it is the unchanged command, and runs are compared by
/// counts or exit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportingCommand {
    /// The shell command. Both of its streams must share one pipe, so that lines keep their order.
    pub command: String,
    pub environment: BTreeMap<String, String>,
    /// Where it writes a JUnit report: relative to the root as in the settings, or the requested path. No such file may
    /// exist before.
    pub junit: Option<String>,
    /// The text between the command and an extra option of a JavaScript runner. `None` if no option can follow it.
    pub before_options: Option<&'static str>,
}

/// Requests test names from known runners.
///
/// `own_report` is where the command writes its own report, relative to the root. `read` reads a file of the commit
/// that decides what runs. `report` is an absolute path outside the checkout where the run may write. Pytest and Go
/// accept a variable, which also works through `make` and scripts. The others need an option on a plain command, or on
/// a package.json test script that ends in one.
pub fn reporting_command(
    command: &str,
    own_report: Option<&str>,
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
    report: &str,
) -> ReportingCommand {
    let asked = plain_words(command)
        .and_then(|words| more_words(&words, read))
        .or_else(|| more_words_of_each(command, read));
    let mut environment = BTreeMap::new();
    let mut junit = own_report.map(str::to_owned);
    let runs = asked.as_ref().map_or(KnownRunner::Unknown, |asked| asked.runs);
    if junit.is_none() && matches!(runs, KnownRunner::Pytest | KnownRunner::Unknown) {
        // Pytest splits the variable like a shell. A file that cannot be collected must not stop the others.
        let option = format!("--continue-on-collection-errors --junitxml={}", shell_words::quote(report));
        environment.insert("PYTEST_ADDOPTS".to_owned(), option);
        junit = Some(report.to_owned());
    }
    if matches!(runs, KnownRunner::Go | KnownRunner::Unknown) && read("go.mod").is_some() {
        environment.insert("GOFLAGS".to_owned(), "-v".to_owned());
    }
    let before_options = asked.as_ref().and_then(|asked| asked.before_options);
    let command = asked.and_then(|asked| asked.command).unwrap_or_else(|| command.to_owned());
    ReportingCommand { command, environment, junit, before_options }
}

#[derive(Clone, Copy)]
enum KnownRunner {
    Pytest,
    Go,
    /// A runner that prints its test names, with the right options.
    Printing,
    Unknown,
}

struct ReportingRequest {
    runs: KnownRunner,
    /// The command with the extra options. `None` if it needs none.
    command: Option<String>,
    before_options: Option<&'static str>,
}

/// The words of a command that any shell reads the same way. `None` if there is more than one command.
pub(super) fn plain_words(command: &str) -> Option<Vec<&str>> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " \t-_=./:@+,%^[]".contains(c);
    command.chars().all(is_plain).then(|| command.split_whitespace().collect())
}

fn more_words(words: &[&str], read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ReportingRequest> {
    let start = program_at(words);
    let rest = words.get(start..)?;
    let has = |option: &str| rest.contains(&option);
    let with = |at: usize, more: &[&str]| {
        let (before, after) = words.split_at(at.min(words.len()));
        let all = before.iter().chain(more).chain(after).copied();
        all.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let known = |runs: KnownRunner| Some(ReportingRequest { runs, command: None, before_options: None });
    let printing = |command: Option<String>, before_options: Option<&'static str>| {
        Some(ReportingRequest { runs: KnownRunner::Printing, command, before_options })
    };
    match rest {
        // Without this, binaries after a failing one are skipped, and their tests would seem to be gone.
        ["cargo", more @ ..] => {
            let at = more.iter().position(|word| matches!(*word, "test" | "t" | "nextest"))?;
            let is_nextest = more.get(at) == Some(&"nextest");
            let position = start + 1 + at + if is_nextest { 2 } else { 1 };
            if is_nextest && more.get(at + 1) != Some(&"run") {
                return None;
            }
            let is_said = has("--no-fail-fast") || has("--fail-fast") || has("--no-run");
            printing((!is_said).then(|| with(position, &["--no-fail-fast"])), None)
        }
        [python, "-m", "unittest", ..] if is_python(python) => {
            // The last option wins, and a quiet run is no wish to be compared by numbers only.
            let is_said = ["-v", "--verbose"].into_iter().any(has);
            printing((!is_said).then(|| with(words.len(), &["-v"])), None)
        }
        ["pytest" | "py.test", ..] => known(KnownRunner::Pytest),
        [python, "-m", "pytest", ..] if is_python(python) => known(KnownRunner::Pytest),
        // A variable in the command overrides the environment.
        ["go", "test", ..] if words.iter().take(start).any(|word| word.starts_with("GOFLAGS=")) => {
            let command = Some(with(start + 2, &["-v"]));
            Some(ReportingRequest { runs: KnownRunner::Go, command, before_options: None })
        }
        ["go", "test", ..] => known(KnownRunner::Go),
        ["node", ..] if has("--test") => printing(None, None),
        ["mocha", ..] => printing(None, Some("")),
        [program @ ("jest" | "vitest" | "react-scripts"), ..] => {
            let more = javascript_words(program, rest);
            printing(more.map(|more| with(words.len(), &[more])), Some(""))
        }
        // pnpm consumes options itself, unless it runs a script explicitly.
        ["pnpm", name, more @ ..] if !matches!(*name, "run" | "exec" | "dlx") => {
            let name = if *name == "t" { "test" } else { name };
            let before = words.get(..start)?;
            let whole = [before, &["pnpm", "run", name], more].concat();
            let asked = more_words(&whole, read)?;
            let is_asked = asked.command.is_some() || asked.before_options.is_some();
            let command = asked.command.or_else(|| is_asked.then(|| whole.join(" ")));
            Some(ReportingRequest { command, ..asked })
        }
        [manager @ ("npm" | "pnpm" | "yarn" | "bun"), script @ ..] => {
            let name = match script {
                ["run", name, ..] | [name, ..] => *name,
                [] => return None,
            };
            if *manager == "bun" && script.first() != Some(&"run") {
                return None;
            }
            let line = script_of(&read("package.json")?, if name == "t" { "test" } else { name })?;
            // Arguments to a script are appended to its last command.
            let last = line.rsplit("&&").next().unwrap_or_default().trim();
            let inner = plain_words(last)?;
            let inner = inner.get(program_at(&inner)..)?;
            let between = if *manager == "npm" && !has("--") { "--" } else { "" };
            match inner {
                [program @ ("jest" | "vitest" | "react-scripts"), ..] => {
                    let more = javascript_words(program, inner);
                    let before = if more.is_some() { "" } else { between };
                    let more = more.map(|more| with(words.len(), &[between, more]));
                    printing(more, Some(before))
                }
                ["node", more @ ..] if more.contains(&"--test") => {
                    // Node takes anything after a file as a file.
                    let are_options = more.iter().all(|word| word.starts_with('-')) && !has("--");
                    printing(None, are_options.then_some(between))
                }
                ["mocha", ..] => printing(None, Some(between)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// In a chain of jest or vitest runs, each reports its names.
fn more_words_of_each(command: &str, read: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<ReportingRequest> {
    let parts = command.split("&&").map(|part| {
        let words = plain_words(part.trim())?;
        let is_known = matches!(words.get(program_at(&words)), Some(&("jest" | "vitest")));
        let asked = more_words(&words, read).filter(|_| is_known)?;
        Some(asked.command.unwrap_or_else(|| part.trim().to_owned()))
    });
    let parts: Option<Vec<String>> = parts.collect();
    let command = Some(parts.filter(|parts| parts.len() > 1)?.join(" && "));
    Some(ReportingRequest { runs: KnownRunner::Printing, command, before_options: None })
}

/// The option that makes jest or vitest name each test. `None` if the command already sets its reporting.
fn javascript_words(program: &str, words: &[&str]) -> Option<&'static str> {
    let is_said = words.iter().any(|word| {
        ["--reporter", "--json", "--verbose", "--silent"].iter().any(|option| word.starts_with(option))
    });
    match program {
        _ if is_said => None,
        "vitest" => Some("--reporter=verbose"),
        "react-scripts" if words.get(1) != Some(&"test") => None,
        _ => Some("--verbose"),
    }
}

/// The index of the program, after variables and environment runners such as `poetry run`.
pub(super) fn program_at(words: &[&str]) -> usize {
    let mut at = 0;
    loop {
        let rest = words.get(at..).unwrap_or_default();
        at += match rest {
            [word, ..] if word.contains('=') && !word.starts_with('-') => 1,
            ["env" | "cross-env" | "npx" | "bunx" | "exec" | "time", ..] => 1,
            ["poetry" | "pipenv" | "uv" | "pdm" | "hatch" | "rye", "run", ..] => 2,
            ["pnpm" | "yarn" | "npm", "exec", ..] => 2,
            _ => return at,
        };
    }
}

pub(super) fn is_python(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    name.strip_prefix("python").is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

pub(super) fn script_of(manifest: &[u8], name: &str) -> Option<String> {
    let manifest = super::text::json(manifest)?;
    Some(manifest.get("scripts")?.get(name)?.as_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(command: &str, files: &[(&str, &str)]) -> ReportingCommand {
        let read = |path: &str| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| text.as_bytes().to_vec())
        };
        reporting_command(command, None, &read, "/home/a b/report.xml")
    }

    #[test]
    fn a_command_is_asked_for_names_and_tests_the_same() {
        for (command, adapted) in [
            ("cargo test", "cargo test --no-fail-fast"),
            (
                "cargo +stable test --workspace -- --test-threads=1",
                "cargo +stable test --no-fail-fast --workspace -- --test-threads=1",
            ),
            ("RUST_LOG=debug cargo nextest run", "RUST_LOG=debug cargo nextest run --no-fail-fast"),
            ("cargo test --no-fail-fast", "cargo test --no-fail-fast"),
            ("cargo build", "cargo build"),
            ("python3 -m unittest discover -s tests", "python3 -m unittest discover -s tests -v"),
            (".venv/bin/python3.12 -m unittest", ".venv/bin/python3.12 -m unittest -v"),
            ("uv run python -m unittest -q", "uv run python -m unittest -q -v"),
            ("python3 -m unittest -v", "python3 -m unittest -v"),
            ("npx vitest run", "npx vitest run --reporter=verbose"),
            ("vitest run --reporter=dot", "vitest run --reporter=dot"),
            ("jest", "jest --verbose"),
            ("node --test", "node --test"),
            ("make test", "make test"),
            // More than one command: the effect of an appended word is unknown.
            ("cargo test && cargo clippy", "cargo test && cargo clippy"),
            ("cargo test > log", "cargo test > log"),
            (
                "vitest run && npx vitest run -c b",
                "vitest run --reporter=verbose && npx vitest run -c b --reporter=verbose",
            ),
            ("jest --silent && jest", "jest --silent && jest --verbose"),
            ("vitest run && ./more.sh", "vitest run && ./more.sh"),
        ] {
            assert_eq!(asked(command, &[]).command, adapted);
        }
    }

    #[test]
    fn a_script_of_a_manifest_is_asked_by_its_last_command() {
        for (command, script, adapted) in [
            ("npm test", "vitest run", "npm test -- --reporter=verbose"),
            ("npm test", "tsc && cross-env A=b jest --ci", "npm test -- --verbose"),
            ("npm run unit", "jest", "npm run unit -- --verbose"),
            ("npm test -- src", "jest", "npm test -- src --verbose"),
            ("pnpm test", "jest", "pnpm run test --verbose"),
            ("CI=1 pnpm t", "vitest run", "CI=1 pnpm run test --reporter=verbose"),
            ("pnpm test", "mocha", "pnpm run test"),
            ("pnpm test", "./more.sh", "pnpm test"),
            ("yarn test", "vitest", "yarn test --reporter=verbose"),
            ("npm test", "jest --verbose", "npm test"),
            ("npm test", "jest; echo done", "npm test"),
            ("npm test", "jest && ./more.sh", "npm test"),
            ("npm test", "node --test", "npm test"),
        ] {
            let manifest = format!(r#"{{"scripts": {{"test": "{script}", "unit": "{script}"}}}}"#);
            assert_eq!(asked(command, &[("package.json", &manifest)]).command, adapted, "{script}");
        }
        assert_eq!(asked("npm test", &[("package.json", "[")]).command, "npm test");
    }

    #[test]
    fn one_more_option_has_its_place() {
        for (command, script, before) in [
            ("npm test", "vitest run", Some("")),
            ("npm test", "jest --verbose", Some("--")),
            ("npm test -- src", "jest --verbose", Some("")),
            ("yarn test", "mocha", Some("")),
            ("npm test", "tsc && mocha spec", Some("--")),
            ("npm test", "node --test", Some("--")),
            ("npm test", "node --test tests", None),
            ("npm test", "jest && ./more.sh", None),
            ("jest", "", Some("")),
            ("node --test", "", None),
            ("cargo test", "", None),
        ] {
            let manifest = format!(r#"{{"scripts": {{"test": "{script}"}}}}"#);
            let asked = asked(command, &[("package.json", &manifest)]);
            assert_eq!(asked.before_options, before, "{command}: {script}");
        }
    }

    #[test]
    fn pytest_and_go_are_asked_through_their_variables_also_behind_make() {
        for command in ["python3 -m pytest", "pytest -q tests", "make test", "./check.sh"] {
            let asked = asked(command, &[]);
            assert_eq!(
                asked.environment["PYTEST_ADDOPTS"],
                "--continue-on-collection-errors --junitxml='/home/a b/report.xml'"
            );
            assert_eq!(
                (asked.command.as_str(), asked.junit.as_deref()),
                (command, Some("/home/a b/report.xml"))
            );
        }
        for command in ["go test ./...", "make test"] {
            assert_eq!(asked(command, &[("go.mod", "module a")]).environment["GOFLAGS"], "-v");
        }
        let own = asked("GOFLAGS=-tags=unit go test ./...", &[("go.mod", "module a")]);
        assert_eq!(own.command, "GOFLAGS=-tags=unit go test -v ./...", "what it sets itself is kept");
        for command in ["cargo test", "node --test", "python3 -m unittest"] {
            let asked = asked(command, &[("go.mod", "module a")]);
            assert_eq!((asked.environment.len(), asked.junit), (0, None), "{command}");
        }
    }

    #[test]
    fn a_repositorys_own_report_is_the_one_that_is_read() {
        let command = "pytest --junitxml=out.xml";
        let asked = reporting_command(command, Some("out.xml"), &|_| None, "/home/report.xml");
        assert_eq!(asked.junit.as_deref(), Some("out.xml"));
        assert!(asked.environment.is_empty());
    }
}
