//! nox: what its sessions install, as far as that is written out.
//!
//! May know: the form of a noxfile. Must never know: how anything is installed.

use regex::Regex;

use super::project::PythonProject;
use super::tox::SessionNeeds;
use crate::files::RepositoryFiles;

/// The body of the session that runs the tests.
fn session(files: &RepositoryFiles<'_>) -> Option<String> {
    let text = files.text("noxfile.py")?;
    let start =
        Regex::new(r"(?m)^def (?:tests?|unit|unit_tests?|pytest|run_tests?|test_suite|default)\(").ok()?;
    let from = start.find(&text)?.start();
    let rest = text.get(from..)?;
    let is_end = |line: &str| !line.is_empty() && !line.starts_with([' ', '\t', ')', '#']);
    let body: Vec<&str> = rest.lines().skip(1).take_while(|line| !is_end(line)).collect();
    Some(body.join("\n"))
}

/// Installations of a session that are read. One that is not closed goes on to the end.
const MOST_CALLS: usize = 50;
/// Options of an installation that stand alone, or whose value is what is installed.
const WITHOUT_VALUE: [&str; 14] = [
    "-e",
    "--editable",
    "-U",
    "--upgrade",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--pre",
    "--no-deps",
    "--no-build-isolation",
    "--no-cache-dir",
    "--force-reinstall",
    "--require-hashes",
];

pub(super) fn needs(files: &RepositoryFiles<'_>, _project: &PythonProject) -> Option<SessionNeeds> {
    let body = session(files)?;
    let call = Regex::new(r"session\.(?:install|conda_install)\(").ok()?;
    let mut needs = SessionNeeds::default();
    for found in call.find_iter(&body).take(MOST_CALLS) {
        let mut rest = Argument::all(body.get(found.end()..).unwrap_or_default()).into_iter();
        while let Some(argument) = rest.next() {
            match argument {
                Argument::Text("-r" | "--requirement") => {
                    if let Some(Argument::Text(file)) = rest.next() {
                        needs.add(&format!("-r {file}"));
                    }
                }
                Argument::Text("--group") => {
                    if let Some(Argument::Text(group)) = rest.next() {
                        needs.groups.push(group.to_owned());
                    }
                }
                Argument::Text(option) if option.starts_with('-') => {
                    // What follows another is its value, and no package.
                    let is_whole = option.contains('=') || !option.starts_with("--") && option.len() > 2;
                    if !is_whole && !WITHOUT_VALUE.contains(&option) {
                        let _value = rest.next();
                    }
                }
                Argument::Text(other) => needs.add(other),
                Argument::OfCall { function, text } => {
                    if function.ends_with("dependency_groups") && !text.contains('.') {
                        needs.groups.push(text.to_owned());
                    }
                }
            }
        }
    }
    (!needs.is_empty()).then_some(needs)
}

/// A text among the arguments of a call.
enum Argument<'t> {
    Text(&'t str),
    /// One of another call among them.
    OfCall {
        function: &'t str,
        text: &'t str,
    },
}

impl<'t> Argument<'t> {
    /// Those from behind a bracket to the one that closes it.
    fn all(text: &'t str) -> Vec<Self> {
        let (mut all, mut open, mut at): (Vec<Self>, Vec<&'t str>, usize) = (Vec::new(), Vec::new(), 0);
        while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
            match c {
                '"' | '\'' => {
                    let rest = text.get(at + 1..).unwrap_or_default();
                    let Some(end) = rest.find([c, '\n']) else { break };
                    let text = rest.get(..end).unwrap_or_default();
                    all.push(match open.last() {
                        Some(&function) => Self::OfCall { function, text },
                        None => Self::Text(text),
                    });
                    at += end + 1;
                }
                '(' => {
                    let before = text.get(..at).unwrap_or_default();
                    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
                    let from = before.rfind(|c| !is_name(c)).map_or(0, |from| from + 1);
                    open.push(before.get(from..).unwrap_or_default());
                }
                ')' if open.pop().is_none() => break,
                _ => {}
            }
            at += c.len_utf8();
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_installed_is_a_requirement() {
        let call = "*BINARY, *nox.project.dependency_groups(PYPROJECT, \"test\"), '-c', 'constraints.txt', \"-e.[dev]\", '--group', 'unit', \
            os.environ.get('PIN', 'x'), '-U', 'pytest>=7 ; python_version > \"3\"')\n    session.run('pip', 'list')";
        let told: Vec<String> = Argument::all(call)
            .into_iter()
            .map(|argument| match argument {
                Argument::Text(text) => text.to_owned(),
                Argument::OfCall { function, text } => format!("{function}({text})"),
            })
            .collect();
        assert_eq!(
            told,
            [
                "nox.project.dependency_groups(test)",
                "-c",
                "constraints.txt",
                "-e.[dev]",
                "--group",
                "unit",
                "os.environ.get(PIN)",
                "os.environ.get(x)",
                "-U",
                "pytest>=7 ; python_version > \"3\"",
            ]
        );
    }
}
