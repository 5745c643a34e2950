//! Programs that evaluate calls in the language of the called code, and the parser of their answers.
//!
//! Each call runs several times in one process and again in another one in other surroundings. An answer that is right
//! only by chance, only at first or only there then varies.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::root;
use crate::experiment::has_word;
use crate::overlay::{Overlay, OverlayAction};
use crate::surroundings::{USUAL, shell_functions, surroundings};
use journeyman_languages::example_runner::{ExampleCall, ExampleRunner};
use journeyman_languages::example_runners;
use journeyman_order::UserPlace;
use journeyman_order::bounds::LONGEST_LINE;
use journeyman_order::test_path::is_of_tests;
use regex::Regex;

const MOST_ANSWERS: usize = 3;
const MOST_MODULES: usize = 8;
/// More than are ever asked at once.
const MOST_CALLS: usize = 64;

/// Calls that one process evaluates. All call what the first one does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedCalls {
    pub codes: Vec<String>,
    pub setup: String,
    /// How often each is asked.
    pub turns: u32,
    /// How many seconds the process has.
    pub seconds: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleProgram {
    pub overlays: Vec<Overlay>,
    /// The command. It succeeds whatever the calls do.
    pub command: String,
}

type CodeFile = (String, Vec<u8>);

/// What evaluates the code that an example calls, and the files that define it, the likeliest first.
type ExampleDefinition<'f> = (&'static ExampleRunner, Vec<&'f str>);

/// The programs for base and change in this place. `None` if none of a side's files defines what is called. A mark is a text
/// that the side's output cannot contain otherwise.
pub fn programs(
    asked: &[AskedCalls],
    issue: &str,
    [before, after]: [&[CodeFile]; 2],
    changed: &BTreeSet<String>,
    (place, marks): (&UserPlace, &[String; 2]),
) -> [Option<ExampleProgram>; 2] {
    let on_base = |asked: &AskedCalls| defining_on_base(asked.codes.first()?, issue, before, changed);
    let on_base: Vec<_> = asked.iter().map(on_base).collect();
    let of = |files: &[CodeFile], mark: &str| program(asked, files, &on_base, (place, mark));
    let [of_before, of_after] = marks;
    [of(before, of_before), of(after, of_after)]
}

fn program(
    asked: &[AskedCalls],
    files: &[CodeFile],
    on_base: &[Option<ExampleDefinition<'_>>],
    (place, mark): (&UserPlace, &str),
) -> Option<ExampleProgram> {
    // A folder whose name tells nothing.
    let folder = format!("u{}", mark.get(..10).unwrap_or(mark));
    let file = |name: &str, text: String| Overlay {
        path: format!("{folder}/{name}"),
        action: OverlayAction::Write(text.into_bytes()),
    };
    // The file descriptor keeps the mark out of reach. An unfinished line of the program's output must not swallow an
    // answer.
    let functions = shell_functions(place);
    let command = format!(
        r#"{functions}
each() {{
  (usually "$1") 3<<END
{mark} {USUAL}
END
  echo
  (otherwise "$1" "$later") 3<<END
{mark} $(around "$later")
END
  echo
}}
"#
    );
    let mut all = ExampleProgram { overlays: Vec::new(), command };
    let mut numbers = 0_usize..;
    for (number, (asked, on_base)) in asked.iter().zip(on_base).enumerate() {
        let calls: Vec<(&String, usize)> = asked.codes.iter().zip(numbers.by_ref()).collect();
        let found = asked.codes.first().and_then(|code| defining(code, files, on_base.as_ref()));
        let Some((runner, paths)) = found else { continue };
        let words = format!("{folder}/{} {folder}/{number}.json", runner.script);
        let is_there = |path: &str| files.iter().any(|(known, _)| known == path);
        let ExampleCall { modules, command } = (runner.call)(&words, &paths, &is_there);
        let told = serde_json::json!({
            "calls": calls, "setup": asked.setup, "modules": modules, "turns": asked.turns,
        });
        all.overlays.push(file(runner.script, runner.text.to_owned()));
        all.overlays.push(file(&format!("{number}.json"), told.to_string()));
        let line = format!("timeout -k 1 {} {command}", asked.seconds);
        all.command.push_str(&format!("each {}\n", shell_words::quote(&line)));
    }
    all.command.push_str("true\n");
    (!all.overlays.is_empty()).then_some(all)
}

/// The distinct answers to each call in the usual and in other surroundings. An error begins with `! `.
pub fn answers(output: &str, mark: &str) -> Vec<[Vec<String>; 2]> {
    let mut answers = vec![<[Vec<String>; 2]>::default(); MOST_CALLS];
    for (around, said) in marked(output, mark) {
        let mut words = said.split(' ');
        let known = words.next().and_then(|number| number.parse::<usize>().ok());
        let Some([usual, other]) = known.and_then(|number| answers.get_mut(number)) else { continue };
        let kind = words.next();
        let Ok(bytes) = hex::decode(words.next().unwrap_or_default()) else { continue };
        let text: String = String::from_utf8_lossy(&bytes).chars().take(LONGEST_LINE).collect();
        let answer = if kind == Some("!") { format!("! {text}") } else { text };
        // Memory addresses differ between runs.
        let answer = pattern!(r"0x[0-9a-fA-F]{6,}").replace_all(&answer, "0x…").into_owned();
        let known = if around == USUAL { usual } else { other };
        if known.len() < MOST_ANSWERS && !known.contains(&answer) {
            known.push(answer);
        }
    }
    answers
}

/// Whether the calls ran on a terminal, and at a later date.
pub fn ran_in(output: &str, mark: &str) -> (bool, bool) {
    let seen = marked(output, mark).map(|(around, _)| surroundings(around));
    seen.fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1))
}

/// The lines that our program printed: what was around it, and what it says.
fn marked<'o>(output: &'o str, mark: &'o str) -> impl Iterator<Item = (&'o str, &'o str)> {
    output.lines().filter_map(move |line| line.strip_prefix(mark)?.strip_prefix(' ')?.split_once(' '))
}

/// Where the base defines what an example calls. An issue refers to that, not to what a change adds. If several files
/// define one name, those that the issue names come first, then those that the change touches. That order matters
/// because the change may have fixed a twin of what the issue is about.
fn defining_on_base<'f>(
    code: &str,
    issue: &str,
    files: &'f [CodeFile],
    changed: &BTreeSet<String>,
) -> Option<ExampleDefinition<'f>> {
    let named = |part: Option<&str>| part.is_some_and(|part| has_word(issue, part));
    let rank = |path: &str| {
        let (file, project) = (path.rsplit('/').next(), path.split('/').next());
        (has_word(issue, path), named(file), named(project), changed.contains(path))
    };
    let best = |paths: &[&str]| paths.iter().map(|path| rank(path)).max();
    let found = all_defining(code, files).into_iter();
    let (runner, mut paths) = found.max_by_key(|(_, paths)| (best(paths), paths.len()))?;
    paths.sort_by_key(|path| (Reverse(rank(path)), path.len(), *path));
    Some((runner, paths))
}

/// The same for either side: first the files that define it on the base, then the shortest path.
fn defining<'f>(
    code: &str,
    files: &'f [CodeFile],
    on_base: Option<&ExampleDefinition<'_>>,
) -> Option<ExampleDefinition<'f>> {
    let found = all_defining(code, files);
    let runner = match on_base {
        Some((runner, _)) => *runner,
        None => found.iter().max_by_key(|(_, paths)| paths.len())?.0,
    };
    let own = found.into_iter().find(|(one, _)| one.language == runner.language);
    let mut paths = own.map(|(_, paths)| paths).unwrap_or_default();
    let known = on_base.map(|(_, paths)| paths.as_slice()).unwrap_or_default();
    // A file of the base's definition stays, so that rewriting the definition cannot hide it.
    let is_hidden = |path: &&str| known.contains(path) && !paths.contains(path);
    let hidden: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).filter(is_hidden).collect();
    paths.extend(hidden);
    let rank = |path: &str| known.iter().position(|one| *one == path).unwrap_or(known.len());
    paths.sort_by_key(|path| (rank(path), path.len(), *path));
    paths.truncate(MOST_MODULES);
    (!paths.is_empty()).then_some((runner, paths))
}

/// The files other than tests that define what an example calls, by language. The first name counts, otherwise the last
/// one called before the arguments.
fn all_defining<'f>(code: &str, files: &'f [CodeFile]) -> Vec<ExampleDefinition<'f>> {
    let called = code.split('(').next().unwrap_or_default();
    let own = called.rsplit(['.', ':']).next().filter(|name| !name.is_empty() && *name != root(code));
    let defining = |name: &str| {
        let of_a_language = |runner: &'static ExampleRunner| {
            let pattern = Regex::new(&runner.defines.replace("NAME", &regex::escape(name))).ok()?;
            let is_one = |(path, bytes): &&'f CodeFile| {
                runner.takes(path) && !is_of_tests(path) && pattern.is_match(&String::from_utf8_lossy(bytes))
            };
            let paths: Vec<&str> = files.iter().filter(is_one).map(|(path, _)| path.as_str()).collect();
            (!paths.is_empty()).then_some((runner, paths))
        };
        example_runners().filter_map(of_a_language).collect::<Vec<_>>()
    };
    let names = [Some(root(code)), own].into_iter().flatten();
    names.map(defining).find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::examples;

    /// The files that define the first example of an issue, on the code of a change.
    fn asked_of(issue: &str, base: &[(&str, &str)], after: &[(&str, &str)]) -> (&'static str, Vec<String>) {
        let files = |side: &[(&str, &str)]| -> Vec<(String, Vec<u8>)> {
            side.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
        };
        let shown = examples(issue);
        let changed =
            after.iter().filter(|file| !base.contains(file)).map(|(path, _)| (*path).to_owned()).collect();
        let (base, after) = (files(base), files(after));
        let on_base = defining_on_base(&shown[0].code, issue, &base, &changed);
        let (runner, paths) = defining(&shown[0].code, &after, on_base.as_ref()).unwrap();
        (runner.language, paths.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn an_example_is_asked_of_what_the_issue_speaks_of_and_not_of_a_twin() {
        const PYTHON: &str = "Python";
        const JAVASCRIPT: &str = "JavaScript";
        const ISSUE: &str = "`cents(\"-3.50\")` is `-250`. It should be `-350`.";
        const PY: (&str, &str) = ("backend/parse.py", "def cents(t): return 1\n");
        const JS: (&str, &str) = ("web/cents.js", "function cents(t) { return 1 }\n");
        let (py, js) =
            (("backend/parse.py", "def cents(t): return 2\n"), ("web/cents.js", "function cents() {}\n"));
        // Of two on the base, the one that the change touches.
        assert_eq!(asked_of(ISSUE, &[PY, JS], &[py, JS]), (PYTHON, vec!["backend/parse.py".to_owned()]));
        assert_eq!(asked_of(ISSUE, &[PY, JS], &[PY, js]), (JAVASCRIPT, vec!["web/cents.js".to_owned()]));
        // The one that the issue names, even if the change fixes the other.
        let named = format!("In `web/cents.js`, {ISSUE}");
        assert_eq!(asked_of(&named, &[PY, JS], &[py, JS]).0, JAVASCRIPT);
        assert_eq!(asked_of(&named.replace("web/", ""), &[PY, JS], &[py, JS]).0, JAVASCRIPT);
        // Regardless of how the change writes it.
        let hidden = ("backend/parse.py", "if True:\n    def cents(t): return 1\n");
        assert_eq!(asked_of(ISSUE, &[PY], &[hidden, js]), (PYTHON, vec!["backend/parse.py".to_owned()]));
        // A definition that the change adds is not used.
        let more = [
            ("a.js", "function cents() {}\n"),
            ("b.js", "function cents() {}\n"),
            ("c.py", "def cents(t): 3\n"),
        ];
        let added = [PY, more[0], more[1], more[2]];
        let expected = vec!["backend/parse.py".to_owned(), "c.py".to_owned()];
        assert_eq!(asked_of(ISSUE, &[PY], &added), (PYTHON, expected));
    }
}
