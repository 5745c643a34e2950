//! Programs that evaluate an issue's examples, in the language of what they call, and how their answers are read.
//!
//! Each example is run in processes of its own, often and in two ways: as it is, and without what only a debugging build does.
//! What is right by chance, or only at first, has more than one answer.

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
    /// The command, which ends well whatever the examples do.
    pub command: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ExampleLanguage {
    Python,
    JavaScript,
}

struct CodeFiles<'a> {
    files: &'a [(String, Vec<u8>)],
}

/// Where the base defines what the examples call: an issue speaks of that, and of nothing that a change adds beside it.
#[derive(Debug, Clone, Default)]
pub struct BaseDefinitions {
    of_each: Vec<Option<(ExampleLanguage, Vec<String>)>>,
}

impl BaseDefinitions {
    /// `files` are those of the base. Where several of them define one name, in several languages even, those come first that
    /// the issue names, and then those that the change touches: it may have mended a twin of what the issue is about.
    pub fn new(
        examples: &[IssueExample],
        issue: &str,
        files: &[(String, Vec<u8>)],
        changed: &BTreeSet<String>,
    ) -> Self {
        let files = CodeFiles { files };
        let named = |part: Option<&str>| part.is_some_and(|part| has_word(issue, part));
        let rank = |path: &str| {
            let (file, project) = (path.rsplit('/').next(), path.split('/').next());
            (has_word(issue, path), named(file), named(project), changed.contains(path))
        };
        let one = |example: &IssueExample| {
            let best = |paths: &[&str]| paths.iter().map(|path| rank(path)).max();
            let found = files.all_defining(example).into_iter();
            let (language, mut paths) = found.max_by_key(|(_, paths)| (best(paths), paths.len()))?;
            paths.sort_by_key(|path| (Reverse(rank(path)), path.len(), *path));
            Some((language, paths.into_iter().map(str::to_owned).collect()))
        };
        Self { of_each: examples.iter().map(one).collect() }
    }
}

/// The program for one side; none where nothing that the examples call is defined in these files. `mark` is what no output has
/// by itself.
pub fn program(
    examples: &[IssueExample],
    files: &[(String, Vec<u8>)],
    base: &BaseDefinitions,
    mark: &str,
) -> Option<ExampleProgram> {
    let files = CodeFiles { files };
    let mut all = ExampleProgram { overlays: Vec::new(), command: String::new() };
    for (number, example) in examples.iter().enumerate() {
        let on_base = base.of_each.get(number).and_then(Option::as_ref);
        let Some((language, paths)) = files.defining(example, on_base) else { continue };
        let (overlays, plain, elsewhere) = match language {
            ExampleLanguage::Python => python(example, &files, &paths, number),
            ExampleLanguage::JavaScript => javascript(example, &paths, number),
        };
        all.overlays.extend(overlays);
        if all.command.is_empty() {
            // Output that a program left half a line of does not swallow an answer.
            all.command.push_str(&format!("export JOURNEYMAN_MARK={mark}\n"));
        }
        all.command
            .push_str(&format!("( {plain} ) </dev/null 2>&1; echo\n( {elsewhere} ) </dev/null 2>&1; echo\n"));
    }
    all.command.push_str("true\n");
    (!all.overlays.is_empty()).then_some(all)
}

/// What each example answered, each answer once, in their order. An error begins with `! `.
pub fn answers(output: &str, mark: &str, examples: usize) -> Vec<Vec<String>> {
    let mut answers: Vec<Vec<String>> = vec![Vec::new(); examples];
    for line in output.lines() {
        let mut words = line.split(' ');
        let (Some(own), Some(number), Some(kind)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if own != mark || words.clone().count() > 1 {
            continue;
        }
        let known = number.parse::<usize>().ok().and_then(|number| answers.get_mut(number));
        let bytes = hex_bytes(words.next().unwrap_or_default());
        let (Some(known), Some(bytes)) = (known, bytes) else { continue };
        let text: String = String::from_utf8_lossy(&bytes).chars().take(LONGEST_LINE).collect();
        let answer = if kind == "!" { format!("! {text}") } else { text };
        let answer = without_addresses(&answer);
        if known.len() < MOST_ANSWERS && !known.contains(&answer) {
            known.push(answer);
        }
    }
    answers
}

/// Where something lies in memory is another place each time.
fn without_addresses(answer: &str) -> String {
    match pattern!(r"0x[0-9a-fA-F]{6,}") {
        Some(address) => address.replace_all(answer, "0x…").into_owned(),
        None => answer.to_owned(),
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let pair = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}

impl CodeFiles<'_> {
    /// The language of what an example calls, and the files that define it: first those that do so on the base, then the
    /// shortest path.
    fn defining(
        &self,
        example: &IssueExample,
        on_base: Option<&(ExampleLanguage, Vec<String>)>,
    ) -> Option<(ExampleLanguage, Vec<&str>)> {
        let mut found = self.all_defining(example);
        let known = on_base.map(|(_, paths)| paths.as_slice()).unwrap_or_default();
        let (language, mut paths) = match on_base {
            Some((language, _)) => {
                let mut paths = found.remove(language).unwrap_or_default();
                // However it is written there now: nothing hides it by that.
                let is_hidden = |path: &&str| known.iter().any(|one| one == path) && !paths.contains(path);
                let all = self.files.iter().map(|(path, _)| path.as_str());
                let hidden: Vec<&str> = all.filter(is_hidden).collect();
                paths.extend(hidden);
                (*language, paths)
            }
            None => found.into_iter().max_by_key(|(_, paths)| paths.len())?,
        };
        if paths.is_empty() {
            return None;
        }
        let rank = |path: &str| known.iter().position(|one| one == path).unwrap_or(known.len());
        paths.sort_by_key(|path| (rank(path), path.len(), *path));
        paths.truncate(MOST_MODULES);
        Some((language, paths))
    }

    /// The files without tests that define what an example calls, by language.
    fn all_defining(&self, example: &IssueExample) -> BTreeMap<ExampleLanguage, Vec<&str>> {
        let mut names = vec![example.root()];
        names.extend(own_name(&example.code).filter(|name| *name != example.root()));
        let mut found: BTreeMap<ExampleLanguage, Vec<&str>> = BTreeMap::new();
        for name in names {
            for (path, bytes) in self.files.iter().filter(|(path, _)| !is_of_tests(path)) {
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
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn language(path: &str) -> Option<ExampleLanguage> {
    let (_, ending) = path.rsplit_once('.')?;
    Some(match ending {
        "py" => ExampleLanguage::Python,
        "js" | "mjs" | "cjs" => ExampleLanguage::JavaScript,
        _ => return None,
    })
}

/// What is called last before the arguments: of `a.b(c)`, `b`.
fn own_name(code: &str) -> Option<&str> {
    let (called, _) = code.split_once('(')?;
    called.rsplit(['.', ':']).next().filter(|name| !name.is_empty())
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

/// Files, a command, and the command as it may be run elsewhere.
type OwnProgram = (Vec<Overlay>, String, String);

fn file(path: String, text: String) -> Overlay {
    Overlay { path, action: OverlayAction::Write(text.into_bytes()) }
}

/// What one example is told: what it is, and where its names are.
fn told(example: &IssueExample, modules: &[String], number: usize) -> Overlay {
    let told = serde_json::json!({
        "number": number, "code": example.code, "setup": example.setup.join("\n"), "modules": modules,
    });
    file(format!("{FOLDER}/{number}.json"), told.to_string())
}

fn python(example: &IssueExample, files: &CodeFiles<'_>, paths: &[&str], number: usize) -> OwnProgram {
    // A module is called as from the outermost folder that is no package.
    let module = |path: &&str| {
        let mut folder = folder_of(path);
        let mut parts = vec![path.rsplit('/').next().unwrap_or(path).trim_end_matches(".py")];
        while files
            .files
            .iter()
            .any(|(known, _)| !folder.is_empty() && *known == format!("{folder}/__init__.py"))
        {
            parts.push(folder.rsplit('/').next().unwrap_or(folder));
            folder = folder_of(folder);
        }
        parts.reverse();
        let name = parts.join(".");
        (folder.to_owned(), name.trim_end_matches(".__init__").to_owned())
    };
    let (places, modules): (Vec<String>, Vec<String>) = paths.iter().map(module).unzip();
    let script = include_str!("evaluate.py");
    let run = |option: &str| {
        let folders: Vec<String> =
            places.iter().map(|place| shell_words::quote(place).into_owned()).collect();
        let arguments = format!("{option} {FOLDER}/evaluate.py {FOLDER}/{number}.json {}", folders.join(" "));
        format!(
            "if command -v python >/dev/null; then timeout 20 python {arguments}; else timeout 20 python3 {arguments}; fi"
        )
    };
    let overlays =
        vec![file(format!("{FOLDER}/evaluate.py"), script.to_owned()), told(example, &modules, number)];
    (overlays, run(""), run("-O"))
}

fn javascript(example: &IssueExample, paths: &[&str], number: usize) -> OwnProgram {
    let modules: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    let script = include_str!("evaluate.mjs");
    let run = |place: &str| format!("timeout 20 node {FOLDER}/evaluate.mjs {FOLDER}/{number}.json {place}");
    let overlays =
        vec![file(format!("{FOLDER}/evaluate.mjs"), script.to_owned()), told(example, &modules, number)];
    (overlays, run("here"), run("elsewhere"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::examples;

    /// What the first example of an issue is asked of, on the code of a change.
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
        let on_base = BaseDefinitions::new(&shown, issue, &files(base), &changed);
        let after = files(after);
        let code = CodeFiles { files: &after };
        let (language, paths) = code.defining(&shown[0], on_base.of_each[0].as_ref()).unwrap();
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
        // Of two that the base has, the one that the change touches.
        assert_eq!(asked_of(ISSUE, &[PY, JS], &[py, JS]), (Python, vec!["backend/parse.py".to_owned()]));
        assert_eq!(asked_of(ISSUE, &[PY, JS], &[PY, js]), (JavaScript, vec!["web/cents.js".to_owned()]));
        // What the issue names, though the change mends the other.
        let named = format!("In `web/cents.js`, {ISSUE}");
        assert_eq!(asked_of(&named, &[PY, JS], &[py, JS]).0, JavaScript);
        assert_eq!(asked_of(&named.replace("web/", ""), &[PY, JS], &[py, JS]).0, JavaScript);
        // However the change writes it.
        let hidden = ("backend/parse.py", "if True:\n    def cents(t): return 1\n");
        assert_eq!(asked_of(ISSUE, &[PY], &[hidden, js]), (Python, vec!["backend/parse.py".to_owned()]));
        // What the change adds beside it answers for nothing.
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
