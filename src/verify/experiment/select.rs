//! How to run only some tests, where the runner can be asked for that.

use crate::order::comparison::Runner;
use crate::verify::reporting::Reporting;

use super::names::without_parameters;

/// Tests that are asked for by name; of more, all are run.
const MOST: usize = 30;

/// The same run, of these tests alone: none where the runner cannot be asked, so that all have to be run.
///
/// A runner that takes part of a name runs more than was asked for, which does no harm.
pub fn select(asked: &Reporting, named_by: Option<Runner>, names: &[String]) -> Option<Reporting> {
    let own: Vec<String> = names.iter().map(|name| own_name(name)).collect();
    let is_plain =
        |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.is_empty();
    if own.is_empty() || own.len() > MOST || !own.iter().all(is_plain) {
        return None;
    }
    let mut selected = asked.clone();
    match named_by? {
        Runner::Pytest | Runner::Junit => {
            let options = selected.environment.get_mut("PYTEST_ADDOPTS")?;
            options.push_str(&format!(" -k '{}'", own.join(" or ")));
        }
        Runner::Unittest if asked.command.contains("-m unittest discover") => {
            for name in &own {
                selected.command.push_str(&format!(" -k {name}"));
            }
        }
        Runner::Go => {
            let flags = selected.environment.get_mut("GOFLAGS")?;
            flags.push_str(&format!(" -run=^({})$", own.join("|")));
        }
        Runner::Libtest
            if asked.command.contains("cargo")
                && !asked.command.contains(" -- ")
                && is_one_command(&asked.command) =>
        {
            selected.command.push_str(&format!(" -- {}", own.join(" ")));
        }
        Runner::Libtest
        | Runner::Unittest
        | Runner::Nextest
        | Runner::Node
        | Runner::Vitest
        | Runner::Jest
        | Runner::Mocha
        | Runner::Tap => return None,
    }
    Some(selected)
}

fn is_one_command(command: &str) -> bool {
    !command.contains(['&', '|', ';', '\n', '>', '<'])
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
        let asked = |command: &str, variable: Option<(&str, &str)>| Reporting {
            command: command.to_owned(),
            environment: variable
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect::<BTreeMap<_, _>>(),
            junit: None,
        };
        let names = ["tests.test_a.ATest.test_one".to_owned()];
        let unittest =
            select(&asked("python3 -m unittest discover -v", None), Some(Runner::Unittest), &names).unwrap();
        assert_eq!(unittest.command, "python3 -m unittest discover -v -k test_one");
        let names = ["tests/test_a.py::test_x[1-2]".to_owned(), "tests/test_a.py::test_y".to_owned()];
        let pytest =
            select(&asked("make", Some(("PYTEST_ADDOPTS", "--junitxml=a"))), Some(Runner::Junit), &names)
                .unwrap();
        assert_eq!(pytest.environment["PYTEST_ADDOPTS"], "--junitxml=a -k 'test_x or test_y'");
        let names = ["calc > src/lib.rs > tests::adds".to_owned()];
        let cargo = select(&asked("cargo test --no-fail-fast", None), Some(Runner::Libtest), &names).unwrap();
        assert_eq!(cargo.command, "cargo test --no-fail-fast -- adds");
        assert_eq!(select(&asked("node --test", None), Some(Runner::Node), &names), None);
        assert_eq!(
            select(&asked("cargo test", None), Some(Runner::Libtest), &["a > two words".to_owned()]),
            None
        );
    }
}
