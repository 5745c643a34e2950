//! nox: what its session for tests needs and runs.
//!
//! May know: noxfile.py, as far as it is written out. Must never know: how anything is installed.

use super::tox::SessionNeeds;
use crate::files::{RepositoryFiles, quote};
use crate::stated::TestStatement;
use journeyman_order::bounds::MOST_LISTED;

const FILE: &str = "noxfile.py";
/// Names of sessions that run tests.
const SESSIONS: [&str; 7] = ["tests", "test", "unit", "unit_tests", "unittests", "pytest", "py"];

/// What the session for tests runs.
pub(super) fn statements(files: &RepositoryFiles<'_>) -> Vec<TestStatement> {
    let Some(session) = files.text(FILE).and_then(|text| session(&text)) else { return Vec::new() };
    // A word that is no text is worked out by the session: no shell can read it.
    let word = |word: Option<String>| word.map_or("$word".to_owned(), |word| quote(&word));
    let line = |call: Vec<Option<String>>| call.into_iter().map(word).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = calls(&session, "session.run(").into_iter().map(line).collect();
    vec![TestStatement::new(FILE, lines.join("\n"))]
}

/// What it installs.
pub(super) fn needs(files: &RepositoryFiles<'_>) -> Option<SessionNeeds> {
    let session = session(&files.text(FILE)?)?;
    let mut needs = SessionNeeds::default();
    for call in calls(&session, "session.install(") {
        let mut words = call.into_iter().flatten();
        while let Some(word) = words.next() {
            match word.as_str() {
                "-r" | "--requirement" => needs.add(&format!("-r{}", words.next().unwrap_or_default())),
                "-c" | "--constraint" => drop(words.next()),
                option if option.starts_with("--") => {}
                _ => needs.add(&word),
            }
        }
    }
    (needs != SessionNeeds::default()).then_some(needs)
}

/// The body of the session.
fn session(text: &str) -> Option<String> {
    SESSIONS.iter().find_map(|name| {
        let mut lines = text.lines().skip_while(|line| {
            let rest = line.strip_prefix("def ").and_then(|rest| rest.strip_prefix(name));
            !rest.is_some_and(|rest| rest.starts_with('('))
        });
        lines.next()?;
        let is_inside = |line: &&str| line.is_empty() || line.starts_with([' ', '\t', ')']);
        Some(lines.take_while(is_inside).fold(String::new(), |all, line| all + line + "\n"))
    })
}

/// The arguments of each call: texts, and nothing for what is worked out. Arguments by name and lists of the caller's
/// are left out.
fn calls(body: &str, call: &str) -> Vec<Vec<Option<String>>> {
    body.split(call).skip(1).take(MOST_LISTED).map(arguments).collect()
}

fn arguments(text: &str) -> Vec<Option<String>> {
    let mut all = Vec::new();
    let (mut argument, mut depth, mut quoted) = (String::new(), 0_usize, None);
    for c in text.chars() {
        match (quoted, c) {
            (Some(mark), _) => quoted = (mark != c).then_some(mark),
            (None, '\'' | '"') => quoted = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth > 0 => depth -= 1,
            (None, ')') => break,
            (None, ',') if depth == 0 => {
                all.extend(one(&argument));
                argument.clear();
                continue;
            }
            _ => {}
        }
        argument.push(c);
    }
    all.extend(one(&argument));
    all
}

/// An argument, if it is one of the command's own.
fn one(argument: &str) -> Option<Option<String>> {
    let argument = argument.trim();
    let is_named = argument
        .split_once('=')
        .is_some_and(|(name, _)| name.trim().chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    if argument.is_empty() || argument.starts_with(['*', '#']) || is_named {
        return None;
    }
    let inner = |mark: char| argument.strip_prefix(mark)?.strip_suffix(mark);
    let text = inner('"').or_else(|| inner('\'')).filter(|text| !text.contains(['"', '\'', '\\']));
    Some(text.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Vec<String>, Option<SessionNeeds>) {
        let paths = [FILE.to_owned()];
        let read = |path: &str| (path == FILE).then(|| text.as_bytes().to_vec());
        let files = RepositoryFiles::new(&paths, &read);
        (statements(&files).into_iter().map(|said| said.script).collect(), needs(&files))
    }

    #[test]
    fn the_session_for_tests_is_read_as_far_as_it_is_written_out() {
        let (said, needs) = of(
            "import nox\n\n@nox.session(python=['3.9'])\ndef lint(session):\n    session.install('flake8')\n    session.run('flake8')\n\n\
             @nox.session\ndef tests(session: nox.Session) -> None:\n    session.install('-r', 'requirements/test.txt', '-c', 'pins.txt')\n    \
             session.install('-e', '.[test]', \"attrs>=1\")\n    session.run(\n        'coverage', \"run\", '-m', 'pytest',\n        \
             *session.posargs, env={'A': 'b'},\n    )\n    session.run('pytest', f'--n={n}', '-k', 'not a')\n\n\ndef other():\n    session.run('x')\n",
        );
        assert_eq!(said, ["coverage run -m pytest\npytest $word -k 'not a'"]);
        let needs = needs.unwrap();
        assert_eq!(
            (needs.files, needs.extras),
            (vec!["requirements/test.txt".to_owned()], vec!["test".to_owned()])
        );
        assert_eq!(needs.requirements, ["attrs>=1"]);
    }

    #[test]
    fn without_such_a_session_nothing_is_said() {
        for text in ["", "import nox\ndef lint(session):\n    session.run('x')\n", "def tests"] {
            assert_eq!(of(text), (Vec::new(), None), "{text}");
        }
        let (said, _) = of("def tests(session):\n    session.run('a', 'b");
        assert_eq!(said, ["a $word"], "a file that ends too early");
    }
}
