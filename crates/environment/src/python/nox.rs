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

pub(super) fn needs(files: &RepositoryFiles<'_>, _project: &PythonProject) -> Option<SessionNeeds> {
    let body = session(files)?;
    let call = Regex::new(r"(?s)session\.(?:install|conda_install)\((.*?)\)").ok()?;
    let text = Regex::new(r#""([^"\n]*)"|'([^'\n]*)'"#).ok()?;
    let mut needs = SessionNeeds::default();
    for found in call.captures_iter(&body).filter_map(|found| found.get(1)) {
        let arguments: Vec<&str> = text
            .captures_iter(found.as_str())
            .filter_map(|one| one.get(1).or_else(|| one.get(2)))
            .map(|one| one.as_str())
            .collect();
        let mut is_file = false;
        for argument in arguments {
            match argument {
                "-r" | "--requirement" => is_file = true,
                file if is_file => {
                    needs.add(&format!("-r {file}"));
                    is_file = false;
                }
                other => needs.add(other),
            }
        }
    }
    (!needs.is_empty()).then_some(needs)
}
