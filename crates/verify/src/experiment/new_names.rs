//! Names that a change brings and that its tests use as well: an option, a variable, a setting that only they turn on. A test
//! that passes with such a name alone shows what is new, and not that anything is mended.
//!
//! Nothing is judged by reading: what is read here says what is called otherwise in a run.

use std::collections::BTreeSet;

use super::about::asks_for_option;
use super::edits::words_in;
use super::family::LanguageFamily;
use super::names::{OTHERWISE, has_word};
use super::new_arguments::{NewParameters, without_arguments};
use super::sides::ChangedPath;
use super::titles::own_texts;
use crate::overlay::{Overlay, OverlayAction};

/// Shorter words are used for too much.
const SHORTEST: usize = 3;

/// Those of the words that are new with this code which it defines, takes as a parameter, or asks for by their text.
pub fn introduced_names(code: &[(&str, &[u8])], new_words: &BTreeSet<String>) -> BTreeSet<String> {
    let is_one = |word: &&String| {
        let name = regex::escape(word);
        let form = format!(
            r#"["'`]{name}["'`]|\b(?:def|class|fn|func|function|const|let|var|static|struct|enum|type|interface)\s+{name}\b|#\s*(?:ifdef|ifndef|define|if|elif)\b[^\n]*\b{name}\b|\b{name}\s*(?:=[^=>]|\??:)|[(,{{]\s*\*{{0,2}}{name}\s*[,)}}]"#
        );
        let form = regex::Regex::new(&form);
        word.len() >= SHORTEST
            && form.is_ok_and(|form| {
                code.iter().any(|(_, bytes)| form.is_match(&String::from_utf8_lossy(bytes)))
            })
    };
    new_words.iter().filter(is_one).cloned().collect()
}

/// The tests of a change with these names called otherwise and without arguments for these parameters; nothing where none of
/// the tests uses any. Names that stand in the issue or in what is excepted, such as the expected values, are left.
pub fn without_new_names(
    tests: &[Overlay],
    names: &BTreeSet<String>,
    parameters: &[NewParameters],
    issue: &str,
    excepted: &[&str],
) -> (Vec<Overlay>, BTreeSet<String>) {
    let (mut laid, mut used) = (Vec::new(), BTreeSet::new());
    for overlay in tests {
        let OverlayAction::Write(bytes) = &overlay.action else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let words: BTreeSet<String> = words_in(bytes).into_iter().collect();
        let mut renamed = text.to_owned();
        if let Some((fewer, left_out)) = without_arguments(&overlay.path, text, parameters, issue) {
            used.extend(left_out);
            renamed = fewer;
        }
        let is_left = |name: &String| {
            asks_for_option(issue) || excepted.iter().chain([&issue]).any(|text| has_word(text, name))
        };
        for name in names.intersection(&words).filter(|name| !is_left(name)) {
            let now = called_otherwise(&renamed, name);
            if now != renamed {
                used.insert(name.clone());
                renamed = now;
            }
        }
        if renamed != text {
            laid.push(Overlay {
                path: overlay.path.clone(),
                action: OverlayAction::Write(renamed.into_bytes()),
            });
        }
    }
    (laid, used)
}

/// What gives the code of the base the names that the change brings, as empty exceptions, so that tests which import them load
/// there: by the files of code that the change touches, as they were.
pub fn with_empty_names(changed: &[ChangedPath<'_>], names: &BTreeSet<String>) -> Vec<Overlay> {
    let mut laid = Vec::new();
    for file in changed {
        let (Some(after), false) = (file.after, super::sides::is_of_tests(file.path)) else { continue };
        let (before, after) =
            (String::from_utf8_lossy(file.before.unwrap_or_default()), String::from_utf8_lossy(after));
        let own: Vec<&str> = names.iter().map(String::as_str).filter(|name| has_word(&after, name)).collect();
        let added = match LanguageFamily::of(file.path) {
            Some(LanguageFamily::Python) if !before.contains("__getattr__") => empty_in_python(&own),
            Some(LanguageFamily::JavaScript) => empty_in_javascript(&after, &own),
            Some(_) | None => String::new(),
        };
        if !own.is_empty() && !added.is_empty() {
            let bytes = format!("{before}{added}").into_bytes();
            laid.push(Overlay { path: file.path.to_owned(), action: OverlayAction::Write(bytes) });
        }
    }
    laid
}

fn empty_in_python(names: &[&str]) -> String {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    format!(
        "\n\n\ndef __getattr__(name):\n    if name in ({},):\n        return type(name, (Exception,), {{}})\n    raise \
         AttributeError(name)\n",
        list.join(", ")
    )
}

fn empty_in_javascript(after: &str, names: &[&str]) -> String {
    let is_exported = |name: &&&str| {
        let name = regex::escape(name);
        let form = format!(
            r"export\s+(?:async\s+)?(?:function\*?|class|const|let|var)\s+{name}\b|export\s*\{{[^}}]*\b{name}\b"
        );
        regex::Regex::new(&form).is_ok_and(|form| form.is_match(after))
    };
    names
        .iter()
        .filter(is_exported)
        .map(|name| format!("\nexport const {name} = class extends Error {{}};\n"))
        .collect()
}

/// Whether a test itself has one of these names, by the text that is its own; also where that is not found.
pub fn has_names(files: &[(String, Vec<u8>)], test: &str, names: &BTreeSet<String>) -> bool {
    let own = own_texts(files, test);
    own.is_empty() || own.iter().any(|text| names.iter().any(|name| has_word(text, name)))
}

/// A text in which a name is another, but not where it is imported, and not in texts of several words, which are for people to
/// read.
fn called_otherwise(text: &str, name: &str) -> String {
    let imports =
        pattern!(r"^\s*(?:import\b|from\b|use\b|\}\s*from\b|(?:const|let|var)\b.*\brequire\(|\w+,?\s*$)");
    let is_import = |line: &str| imports.is_some_and(|imports| imports.is_match(line));
    let lines = text.split_inclusive('\n').map(|line| {
        if is_import(line) {
            return line.to_owned();
        }
        let mut now = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find(name) {
            let (before, after) =
                (rest.get(..at).unwrap_or_default(), rest.get(at + name.len()..).unwrap_or_default());
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let is_whole = !is_part(before.chars().next_back()) && !is_part(after.chars().next());
            now.push_str(before);
            now.push_str(name);
            let so_far = line.len() - after.len() - name.len();
            if is_whole && !is_in_prose(line, so_far) {
                now.push_str(OTHERWISE);
            }
            rest = after;
        }
        now.push_str(rest);
        now
    });
    lines.collect()
}

/// Whether a place of a line is within quotes that hold several words.
fn is_in_prose(line: &str, at: usize) -> bool {
    let mut open: Option<(char, usize)> = None;
    let mut is_escaped = false;
    for (here, c) in line.char_indices() {
        match open {
            _ if is_escaped => is_escaped = false,
            _ if c == '\\' => is_escaped = true,
            Some((quote, from)) if c == quote => {
                if (from..here).contains(&at) {
                    return line
                        .get(from + 1..here)
                        .is_some_and(|text| text.trim().contains(char::is_whitespace));
                }
                open = None;
            }
            None if matches!(c, '"' | '\'' | '`') => open = Some((c, here)),
            Some(_) | None => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(all: &[&str]) -> BTreeSet<String> {
        all.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn what_the_code_defines_or_asks_for_is_introduced_and_what_it_imports_is_not() {
        let code = "import pathlib\nSIGNED = False\ndef cents(text, strict=False, *, lenient):\n    if \
            os.environ.get('AMOUNTS_SIGNED'):\n        return pathlib.Path(text).fullmatch()\n";
        let new = words(&["pathlib", "SIGNED", "strict", "lenient", "AMOUNTS_SIGNED", "fullmatch", "os"]);
        let introduced = introduced_names(&[("a.py", code.as_bytes())], &new);
        assert_eq!(introduced, words(&["SIGNED", "strict", "lenient", "AMOUNTS_SIGNED"]));
    }

    #[test]
    fn the_base_is_given_empty_names_so_that_tests_which_import_them_load() {
        let names = words(&["BadPort", "HIGHEST"]);
        let changed = [
            ChangedPath {
                path: "net/port.py",
                before: Some(b"a = 1"),
                after: Some(b"class BadPort(ValueError):\n    a = HIGHEST\n"),
            },
            ChangedPath {
                path: "port.js",
                before: Some(b"export const a = 1;"),
                after: Some(b"export class BadPort {}\nconst HIGHEST = 1;"),
            },
            ChangedPath { path: "tests/test_port.py", before: None, after: Some(b"BadPort") },
        ];
        let laid: Vec<String> = with_empty_names(&changed, &names)
            .into_iter()
            .map(|overlay| match overlay.action {
                OverlayAction::Write(bytes) => String::from_utf8(bytes).unwrap(),
                OverlayAction::Remove => unreachable!(),
            })
            .collect();
        assert_eq!(
            laid,
            [
                "a = 1\n\n\ndef __getattr__(name):\n    if name in ('BadPort', 'HIGHEST',):\n        return type(name, (Exception,), {})\n    \
                 raise AttributeError(name)\n",
                "export const a = 1;\nexport const BadPort = class extends Error {};\n",
            ]
        );
        let test = "from net import BadPort\n\n\ndef test_a():\n    assert port('1') == 1\n\n\ndef test_b():\n    raises(BadPort)\n";
        let files = [("tests/test_port.py".to_owned(), test.as_bytes().to_vec())];
        assert!(!has_names(&files, "tests/test_port.py::test_a", &names));
        assert!(has_names(&files, "tests/test_port.py::test_b", &names));
        assert!(
            has_names(&files, "tests/test_port.py::test_c", &names),
            "one that is not found may have them"
        );
    }

    #[test]
    fn names_are_called_otherwise_in_tests_but_not_in_prose_or_where_they_are_asked_for() {
        let test = "os.environ['AMOUNTS_SIGNED'] = '1'\ncheck(cents('-1', strict=True), 'not strict enough')\nSIGNED_TOO = SIGNED\n";
        let tests = [Overlay {
            path: "test_a.py".to_owned(),
            action: OverlayAction::Write(test.as_bytes().to_vec()),
        }];
        let names = words(&["AMOUNTS_SIGNED", "strict", "SIGNED", "other"]);
        let (laid, used) = without_new_names(&tests, &names, &[], "", &["set SIGNED to read them"]);
        assert_eq!(used, words(&["AMOUNTS_SIGNED", "strict"]));
        let OverlayAction::Write(bytes) = &laid[0].action else { unreachable!() };
        assert_eq!(
            String::from_utf8_lossy(bytes),
            "os.environ['AMOUNTS_SIGNED_called_otherwise'] = '1'\ncheck(cents('-1', strict_called_otherwise=True), 'not strict \
             enough')\nSIGNED_TOO = SIGNED\n"
        );
        assert_eq!(without_new_names(&tests, &names, &[], test, &[]).0, []);
    }
}
