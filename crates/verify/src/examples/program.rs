//! Programs that evaluate an issue's examples in the language of the called code, and the parser of their answers.
//!
//! Each example runs several times in separate processes and in two ways: as it is, and without debug-only code. An
//! answer that is right only by chance, or only at first, then varies.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::IssueExample;
use crate::experiment::has_word;
use crate::overlay::{Overlay, OverlayAction};
use journeyman_order::bounds::LONGEST_LINE;
use journeyman_order::test_path::is_of_tests;

const FOLDER: &str = "journeyman_examples";
const MOST_ANSWERS: usize = 3;
const MOST_MODULES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExampleProgram {
    pub overlays: Vec<Overlay>,
    /// The command. It succeeds whatever the examples do.
    pub command: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ExampleLanguage {
    Python,
    JavaScript,
}

type CodeFile = (String, Vec<u8>);

/// The language of the code that an example calls, and the files that define it, the likeliest first.
type ExampleDefinition<'f> = (ExampleLanguage, Vec<&'f str>);

/// The programs for base and change. `None` if none of a side's files defines what the examples call. A mark is a text
/// that the side's output cannot contain otherwise.
pub fn programs(
    examples: &[IssueExample],
    issue: &str,
    [before, after]: [&[CodeFile]; 2],
    changed: &BTreeSet<String>,
    marks: &[String; 2],
) -> [Option<ExampleProgram>; 2] {
    let on_base = |example| defining_on_base(example, issue, before, changed);
    let on_base: Vec<_> = examples.iter().map(on_base).collect();
    let [of_before, of_after] = marks;
    [program(examples, before, &on_base, of_before), program(examples, after, &on_base, of_after)]
}

fn program(
    examples: &[IssueExample],
    files: &[CodeFile],
    on_base: &[Option<ExampleDefinition<'_>>],
    mark: &str,
) -> Option<ExampleProgram> {
    let file = |name: &str, text: String| Overlay {
        path: format!("{FOLDER}/{name}"),
        action: OverlayAction::Write(text.into_bytes()),
    };
    let mut all =
        ExampleProgram { overlays: Vec::new(), command: format!("export JOURNEYMAN_MARK={mark}\n") };
    for (number, (example, on_base)) in examples.iter().zip(on_base).enumerate() {
        let Some((language, paths)) = defining(example, files, on_base.as_ref()) else { continue };
        let (script, text, modules, commands) = match language {
            ExampleLanguage::Python => {
                let (places, modules): (Vec<String>, Vec<String>) =
                    paths.iter().map(|path| python_module(path, files)).unzip();
                let places: Vec<_> = places.iter().map(|place| shell_words::quote(place)).collect();
                let run = |option: &str| {
                    let arguments =
                        format!("{option} {FOLDER}/evaluate.py {FOLDER}/{number}.json {}", places.join(" "));
                    format!(
                        "if command -v python >/dev/null; then timeout 20 python {arguments}; else timeout 20 python3 {arguments}; fi"
                    )
                };
                ("evaluate.py", include_str!("evaluate.py"), modules, [run(""), run("-O")])
            }
            ExampleLanguage::JavaScript => {
                let modules = paths.into_iter().map(str::to_owned).collect();
                let run = |place: &str| {
                    format!("timeout 20 node {FOLDER}/evaluate.mjs {FOLDER}/{number}.json {place}")
                };
                ("evaluate.mjs", include_str!("evaluate.mjs"), modules, [run("here"), run("elsewhere")])
            }
        };
        let told = serde_json::json!({
            "number": number, "code": example.code, "setup": example.setup.join("\n"), "modules": modules,
        });
        all.overlays.push(file(script, text.to_owned()));
        all.overlays.push(file(&format!("{number}.json"), told.to_string()));
        for command in commands {
            // An unfinished line of the program's output must not swallow an answer.
            all.command.push_str(&format!("( {command} ) </dev/null 2>&1; echo\n"));
        }
    }
    all.command.push_str("true\n");
    (!all.overlays.is_empty()).then_some(all)
}

/// The distinct answers of each example, in their order. An error begins with `! `.
pub fn answers(output: &str, mark: &str, examples: usize) -> Vec<Vec<String>> {
    let mut answers: Vec<Vec<String>> = vec![Vec::new(); examples];
    for line in output.lines() {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let (number, kind, text) = match words[..] {
            [own, number, kind] if own == mark => (number, kind, ""),
            [own, number, kind, text] if own == mark => (number, kind, text),
            _ => continue,
        };
        let known = number.parse::<usize>().ok().and_then(|number| answers.get_mut(number));
        let (Some(known), Ok(bytes)) = (known, hex::decode(text)) else { continue };
        let text: String = String::from_utf8_lossy(&bytes).chars().take(LONGEST_LINE).collect();
        let answer = if kind == "!" { format!("! {text}") } else { text };
        // Memory addresses differ between runs.
        let answer = pattern!(r"0x[0-9a-fA-F]{6,}").replace_all(&answer, "0x…").into_owned();
        if known.len() < MOST_ANSWERS && !known.contains(&answer) {
            known.push(answer);
        }
    }
    answers
}

/// Where the base defines what an example calls. An issue refers to that, not to what a change adds. If several files
/// define one name, those that the issue names come first, then those that the change touches. That order matters
/// because the change may have fixed a twin of what the issue is about.
fn defining_on_base<'f>(
    example: &IssueExample,
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
    let found = all_defining(example, files).into_iter();
    let (language, mut paths) = found.max_by_key(|(_, paths)| (best(paths), paths.len()))?;
    paths.sort_by_key(|path| (Reverse(rank(path)), path.len(), *path));
    Some((language, paths))
}

/// The same for either side: first the files that define it on the base, then the shortest path.
fn defining<'f>(
    example: &IssueExample,
    files: &'f [CodeFile],
    on_base: Option<&ExampleDefinition<'_>>,
) -> Option<ExampleDefinition<'f>> {
    let mut found = all_defining(example, files);
    let language = match on_base {
        Some((language, _)) => *language,
        None => *found.iter().max_by_key(|(_, paths)| paths.len())?.0,
    };
    let mut paths = found.remove(&language).unwrap_or_default();
    let known = on_base.map(|(_, paths)| paths.as_slice()).unwrap_or_default();
    // A file of the base's definition stays, so that rewriting the definition cannot hide it.
    let is_hidden = |path: &&str| known.contains(path) && !paths.contains(path);
    let hidden: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).filter(is_hidden).collect();
    paths.extend(hidden);
    let rank = |path: &str| known.iter().position(|one| *one == path).unwrap_or(known.len());
    paths.sort_by_key(|path| (rank(path), path.len(), *path));
    paths.truncate(MOST_MODULES);
    (!paths.is_empty()).then_some((language, paths))
}

/// The files other than tests that define what an example calls, by language. The first name counts, otherwise the last
/// one called before the arguments.
fn all_defining<'f>(
    example: &IssueExample,
    files: &'f [CodeFile],
) -> BTreeMap<ExampleLanguage, Vec<&'f str>> {
    let called = example.code.split('(').next().unwrap_or_default();
    let own = called.rsplit(['.', ':']).next().filter(|name| !name.is_empty() && *name != example.root());
    let mut found: BTreeMap<ExampleLanguage, Vec<&str>> = BTreeMap::new();
    for name in [Some(example.root()), own].into_iter().flatten() {
        for (path, bytes) in files.iter().filter(|(path, _)| !is_of_tests(path)) {
            let Some(language) = language(path) else { continue };
            if defines(language, name, &String::from_utf8_lossy(bytes)) {
                found.entry(language).or_default().push(path);
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    found
}

fn language(path: &str) -> Option<ExampleLanguage> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "py" => ExampleLanguage::Python,
        "js" | "mjs" | "cjs" => ExampleLanguage::JavaScript,
        _ => return None,
    })
}

fn defines(language: ExampleLanguage, name: &str, text: &str) -> bool {
    let name = regex::escape(name);
    let pattern = match language {
        ExampleLanguage::Python => format!(r"(?m)^(?:async\s+)?(?:def|class)\s+{name}\b|^{name}\s*="),
        ExampleLanguage::JavaScript => format!(
            r"(?m)\b(?:function\*?|class|const|let|var)\s+{name}\b|\bexports\.{name}\s*=|^\s*{name}\s*[:=]\s*(?:async\s*)?(?:function|\()"
        ),
    };
    regex::Regex::new(&pattern).is_ok_and(|pattern| pattern.is_match(text))
}

/// A module is imported from the outermost folder that is not a package: that folder, and the module's name.
fn python_module(path: &str, files: &[CodeFile]) -> (String, String) {
    let folder_of = |path: &str| path.rfind('/').unwrap_or(0);
    let mut end = folder_of(path);
    let is_package = |end: usize| {
        let init = format!("{}/__init__.py", &path[..end]);
        end > 0 && files.iter().any(|(known, _)| *known == init)
    };
    while is_package(end) {
        end = folder_of(&path[..end]);
    }
    let folder = &path[..end];
    let name = path.strip_prefix(folder).unwrap_or(path).trim_start_matches('/').trim_end_matches(".py");
    (folder.to_owned(), name.replace('/', ".").trim_end_matches(".__init__").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::examples;

    /// The files that define the first example of an issue, on the code of a change.
    fn asked_of(
        issue: &str,
        base: &[(&str, &str)],
        after: &[(&str, &str)],
    ) -> (ExampleLanguage, Vec<String>) {
        let files = |side: &[(&str, &str)]| -> Vec<(String, Vec<u8>)> {
            side.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
        };
        let shown = examples(issue);
        let changed =
            after.iter().filter(|file| !base.contains(file)).map(|(path, _)| (*path).to_owned()).collect();
        let (base, after) = (files(base), files(after));
        let on_base = defining_on_base(&shown[0], issue, &base, &changed);
        let (language, paths) = defining(&shown[0], &after, on_base.as_ref()).unwrap();
        (language, paths.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn an_example_is_asked_of_what_the_issue_speaks_of_and_not_of_a_twin() {
        use ExampleLanguage::{JavaScript, Python};
        const ISSUE: &str = "`cents(\"-3.50\")` is `-250`. It should be `-350`.";
        const PY: (&str, &str) = ("backend/parse.py", "def cents(t): return 1\n");
        const JS: (&str, &str) = ("web/cents.js", "function cents(t) { return 1 }\n");
        let (py, js) =
            (("backend/parse.py", "def cents(t): return 2\n"), ("web/cents.js", "function cents() {}\n"));
        // Of two on the base, the one that the change touches.
        assert_eq!(asked_of(ISSUE, &[PY, JS], &[py, JS]), (Python, vec!["backend/parse.py".to_owned()]));
        assert_eq!(asked_of(ISSUE, &[PY, JS], &[PY, js]), (JavaScript, vec!["web/cents.js".to_owned()]));
        // The one that the issue names, even if the change fixes the other.
        let named = format!("In `web/cents.js`, {ISSUE}");
        assert_eq!(asked_of(&named, &[PY, JS], &[py, JS]).0, JavaScript);
        assert_eq!(asked_of(&named.replace("web/", ""), &[PY, JS], &[py, JS]).0, JavaScript);
        // Regardless of how the change writes it.
        let hidden = ("backend/parse.py", "if True:\n    def cents(t): return 1\n");
        assert_eq!(asked_of(ISSUE, &[PY], &[hidden, js]), (Python, vec!["backend/parse.py".to_owned()]));
        // A definition that the change adds is not used.
        let more = [
            ("a.js", "function cents() {}\n"),
            ("b.js", "function cents() {}\n"),
            ("c.py", "def cents(t): 3\n"),
        ];
        let added = [PY, more[0], more[1], more[2]];
        let expected = vec!["backend/parse.py".to_owned(), "c.py".to_owned()];
        assert_eq!(asked_of(ISSUE, &[PY], &added), (Python, expected));
    }
}
