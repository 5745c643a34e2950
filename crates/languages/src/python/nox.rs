//! nox: what its session for tests needs and runs.
//!
//! May know: noxfile.py, as far as it is written out. Must never know: how anything is installed.

use super::tox::SessionNeeds;
use crate::files::{RepositoryFiles, quote};
use crate::stated::TestStatement;
use journeyman_order::bounds::MOST_LISTED;

const FILE: &str = "noxfile.py";

/// What the session for tests runs.
pub(super) fn statements(files: &RepositoryFiles<'_>) -> Vec<TestStatement> {
    let Some(session) = files.text(FILE).and_then(|text| session(&text)) else { return Vec::new() };
    let line = |call: &Vec<String>| call.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = calls(&session, "session.run(").iter().map(line).collect();
    vec![TestStatement::new(FILE, lines.join("\n"))]
}

/// What it installs.
pub(super) fn needs(files: &RepositoryFiles<'_>) -> Option<SessionNeeds> {
    let session = session(&files.text(FILE)?)?;
    let mut needs = SessionNeeds::default();
    for call in calls(&session, "session.install(") {
        let mut words = call.into_iter();
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

/// The body of the session that runs tests.
fn session(text: &str) -> Option<String> {
    let session = pattern!(r"(?m)^def (?:tests?|unit|unit_?tests|pytest|py)\(.*\n((?:(?:[ \t)].*)?\n)*)");
    Some(session.captures(&format!("{text}\n"))?.get(1)?.as_str().to_owned())
}

/// The arguments of each call, up to the first that is worked out.
fn calls(body: &str, call: &str) -> Vec<Vec<String>> {
    let one = |mut text: &str| {
        let mut all = Vec::new();
        while let Some(argument) = pattern!(r#"^\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*(?:,|\))"#).captures(text) {
            all.extend(argument.get(1).or(argument.get(2)).map(|word| word.as_str().to_owned()));
            text = argument.get(0).and_then(|whole| text.get(whole.end()..)).unwrap_or_default();
        }
        all
    };
    body.split(call).skip(1).take(MOST_LISTED).map(one).collect()
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
        assert_eq!(said, ["coverage run -m pytest\npytest"]);
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
        assert_eq!(said, ["a"], "a file that ends too early");
    }
}
