//! How to run only some tests, if the runner supports it.

use std::collections::BTreeSet;

use crate::asking::ReportingCommand;
use journeyman_order::bounds::{LONGEST_ARGUMENT, MOST_NAMED};
use journeyman_order::comparison::TestRunnerName;

use super::names::{is_of, without_parameters};

/// The same run of these tests alone. `None` if the runner cannot select them, so that all must run.
///
/// Some runners match parts of names and run additional tests, which is harmless. `files` are the checkout's test
/// files: a runner that loads all files before it selects is told which to skip.
pub fn select(
    asked: &ReportingCommand,
    named_by: Option<TestRunnerName>,
    names: &[String],
    files: &[String],
) -> Option<ReportingCommand> {
    if names.is_empty() {
        return None;
    }
    let command = &asked.command;
    let is_one = !command.contains(['&', '|', ';', '\n', '>', '<']);
    let words: Vec<&str> = command.split_whitespace().collect();
    let mut selected = asked.clone();
    match named_by? {
        TestRunnerName::Pytest | TestRunnerName::Junit => {
            let options = selected.environment.get_mut("PYTEST_ADDOPTS")?;
            options.push_str(&format!(" -k '{}'", identifiers(names)?.join(" or ")));
            options.push_str(&ignored(names, files));
        }
        TestRunnerName::Unittest if is_one && command.contains("-m unittest") => {
            for name in identifiers(names)? {
                selected.command.push_str(&format!(" -k {name}"));
            }
        }
        TestRunnerName::Go => {
            let flags = selected.environment.get_mut("GOFLAGS")?;
            let functions: Vec<String> = names.iter().map(|name| go_function(name).to_owned()).collect();
            flags.push_str(&format!(" -run=^({})$", identifiers(&functions)?.join("|")));
        }
        TestRunnerName::Libtest if is_one && command.contains("cargo") && !words.contains(&"--") => {
            selected.command.push_str(&format!(" -- {}", identifiers(names)?.join(" ")));
        }
        TestRunnerName::Node => {
            let option = format!("--test-name-pattern='^({})$'", titles(names)?);
            // Its options come before the files.
            selected.command = match is_one && words.first() == Some(&"node") && words.contains(&"--test") {
                true => command.trim_start().replacen("node", &format!("node {option}"), 1),
                false => with_option(asked, &option)?,
            };
        }
        TestRunnerName::Jest | TestRunnerName::Vitest => {
            selected.command = with_option(asked, &format!("-t '({})$'", titles(names)?))?;
        }
        TestRunnerName::Mocha => {
            selected.command = with_option(asked, &format!("-g '({})$'", titles(names)?))?;
        }
        TestRunnerName::Libtest
        | TestRunnerName::Unittest
        | TestRunnerName::Nextest
        | TestRunnerName::Tap
        | TestRunnerName::Ctest
        | TestRunnerName::Meson
        | TestRunnerName::Bun
        | TestRunnerName::Ava
        | TestRunnerName::Automake
        | TestRunnerName::Uvu => return None,
    }
    Some(selected)
}

/// The command with another option at its end.
fn with_option(asked: &ReportingCommand, option: &str) -> Option<String> {
    let words = [asked.command.trim_end(), asked.before_options?, option];
    Some(words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "))
}

/// Options that make pytest skip the files with none of these tests.
fn ignored(names: &[String], files: &[String]) -> String {
    // Parametrized cases of a test are in one file.
    let names: BTreeSet<&str> = names.iter().map(|name| without_parameters(name)).collect();
    let is_other = |file: &&String| names.iter().all(|name| is_of(name, file) == Some(false));
    let mut options = String::new();
    for file in files.iter().filter(is_other) {
        options.push_str(&format!(" --ignore={}", shell_words::quote(file)));
        if options.len() > LONGEST_ARGUMENT {
            return String::new();
        }
    }
    options
}

/// The last parts of names, if all are identifiers. Parametrized cases of a test count as one.
fn identifiers(names: &[String]) -> Option<Vec<String>> {
    let own: BTreeSet<String> = names.iter().map(|name| own_name(name)).collect();
    let is_plain =
        |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    (own.len() <= MOST_NAMED && own.iter().all(is_plain)).then(|| own.into_iter().collect())
}

/// The function of a Go test, without its package and its subtests, whose names may contain anything.
fn go_function(name: &str) -> &str {
    let kinds = [".Test", ".Example", ".Fuzz", ".Benchmark"];
    let begins = kinds.iter().filter_map(|kind| name.find(kind)).min().map_or(0, |dot| dot + 1);
    let function = name.get(begins..).unwrap_or(name);
    function.split('/').next().unwrap_or(function)
}

/// Titles as alternatives of a regular expression.
fn titles(names: &[String]) -> Option<String> {
    let own = names.iter().map(|name| name.rsplit(" > ").next().unwrap_or(name).trim());
    let own: Vec<String> = own.map(regex::escape).collect();
    let is_plain = |title: &String| !title.is_empty() && !title.contains(['\'', '\n', '\0']);
    (own.len() <= MOST_NAMED && own.iter().all(is_plain)).then(|| own.join("|"))
}

/// The last part of a name, without its parameters.
fn own_name(name: &str) -> String {
    let own = without_parameters(name);
    let own = own.rsplit(" > ").next().unwrap_or(own);
    let own = own.rsplit("::").next().unwrap_or(own);
    let own = own.rsplit('.').next().unwrap_or(own);
    own.split('/').next().unwrap_or(own).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_runner_is_asked_for_some_tests() {
        let asked = |command: &str, variable: Option<(&str, &str)>| ReportingCommand {
            command: command.to_owned(),
            environment: variable
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect::<BTreeMap<_, _>>(),
            junit: None,
            before_options: (!command.starts_with("node")).then_some(if command == "npm test" {
                "--"
            } else {
                ""
            }),
        };
        let names = ["tests.test_a.ATest.test_one".to_owned()];
        let unittest = select(
            &asked("python3 -m unittest discover -v", None),
            Some(TestRunnerName::Unittest),
            &names,
            &[],
        )
        .unwrap();
        assert_eq!(unittest.command, "python3 -m unittest discover -v -k test_one");
        let names = ["tests/test_a.py::test_x[1-2]".to_owned(), "tests/test_a.py::test_y".to_owned()];
        let files = ["tests/test_a.py".to_owned(), "tests/test_b c.py".to_owned()];
        let pytest = select(
            &asked("make", Some(("PYTEST_ADDOPTS", "--junitxml=a"))),
            Some(TestRunnerName::Junit),
            &names,
            &files,
        )
        .unwrap();
        assert_eq!(
            pytest.environment["PYTEST_ADDOPTS"],
            "--junitxml=a -k 'test_x or test_y' --ignore='tests/test_b c.py'"
        );
        let names = ["calc > src/lib.rs > tests::adds".to_owned()];
        let cargo =
            select(&asked("cargo test --no-fail-fast", None), Some(TestRunnerName::Libtest), &names, &[])
                .unwrap();
        assert_eq!(cargo.command, "cargo test --no-fail-fast -- adds");
        let plain =
            select(&asked("python3 -m unittest -v", None), Some(TestRunnerName::Unittest), &names, &[])
                .unwrap();
        assert_eq!(plain.command, "python3 -m unittest -v -k adds");
        let titles = ["outer > adds (1 + 1)".to_owned(), "says \"no\"".to_owned()];
        let node =
            select(&asked("node --test tests", None), Some(TestRunnerName::Node), &titles, &[]).unwrap();
        assert_eq!(node.command, r#"node --test-name-pattern='^(adds \(1 \+ 1\)|says "no")$' --test tests"#);
        let jest =
            select(&asked("npx jest --verbose", None), Some(TestRunnerName::Jest), &titles, &[]).unwrap();
        assert_eq!(jest.command, r#"npx jest --verbose -t '(adds \(1 \+ 1\)|says "no")$'"#);
        let subtests =
            ["example.com/v2/a.TestCompare/1.0.0-rc.1".to_owned(), "example.com/v2/a.TestAll".to_owned()];
        let go = asked("go test ./...", Some(("GOFLAGS", "-v")));
        let go = select(&go, Some(TestRunnerName::Go), &subtests, &[]).unwrap();
        assert_eq!(go.environment["GOFLAGS"], "-v -run=^(TestAll|TestCompare)$");
        let hostile = ["it's; rm -rf".to_owned()];
        assert_eq!(select(&asked("node --test", None), Some(TestRunnerName::Node), &hostile, &[]), None);
        let npm = select(&asked("npm test", None), Some(TestRunnerName::Mocha), &titles[1..], &[]).unwrap();
        assert_eq!(npm.command, r#"npm test -- -g '(says "no")$'"#);
        let closed = ReportingCommand { before_options: None, ..asked("npm test", None) };
        assert_eq!(select(&closed, Some(TestRunnerName::Node), &titles, &[]), None);
        assert_eq!(
            select(
                &asked("cargo test", None),
                Some(TestRunnerName::Libtest),
                &["a > two words".to_owned()],
                &[]
            ),
            None
        );
    }
}
