//! Names that a change brings and that its tests use as well: an option, a variable, a setting that only they turn on. A test
//! that passes with such a name alone shows what is new, and not that anything is mended.
//!
//! Nothing is judged by reading: what is read here says what is called otherwise in a run.

use std::collections::BTreeSet;
use std::ops::Range;

use super::about::asks_for_option;
use super::family::LanguageFamily;
use super::names::{OTHERWISE, words_at, words_of};
use super::new_arguments::{FewerArguments, NewParameters, not_asked_for, without_arguments};
use super::sides::ChangedPath;
use super::titles::own_texts;
use crate::overlay::{Overlay, OverlayAction};

/// Shorter words are used for too much.
const SHORTEST: usize = 3;

/// Those of the words that are new with this code which it defines, takes as a parameter, or asks for by their text.
pub fn introduced_names(code: &[(&str, &[u8])], new_words: &BTreeSet<String>) -> BTreeSet<String> {
    let forms = [
        pattern!(r#"["'`](\w+)["'`]"#),
        pattern!(r"\b(?:def|class|fn|func|function|const|let|var|static|struct|enum|type|interface)\s+(\w+)"),
        pattern!(r"#\s*(?:ifdef|ifndef|define|if|elif)\b([^\n]*)"),
        pattern!(r"\b(\w+)\s*(?:=[^=>]|\??:)"),
        pattern!(r"[(,{]\s*\*{0,2}(\w+)\s*[,)}]"),
    ];
    let mut introduced = BTreeSet::new();
    for text in code.iter().map(|(_, bytes)| String::from_utf8_lossy(bytes)) {
        for form in forms.iter().flatten() {
            let mut from = 0;
            // What ends one may begin the next.
            while let Some(named) = form.captures_at(&text, from).and_then(|found| found.get(1)) {
                let known = words_of(named.as_str()).filter_map(|word| new_words.get(word));
                introduced.extend(known.filter(|word| word.len() >= SHORTEST).cloned());
                from = named.end();
            }
        }
    }
    introduced
}

/// Tests of a change as somebody else would have written them.
#[derive(Debug, Default)]
pub struct RenamedTests {
    pub laid: Vec<Overlay>,
    /// The names that they used.
    pub used: BTreeSet<String>,
    /// Those of which nobody can tell what they pass, since they cannot be read.
    pub unread: Vec<String>,
}

/// The tests of a change with these names called otherwise and without arguments for these parameters; nothing where none of
/// the tests uses any. Names that stand in the issue or in what is excepted, such as the expected values, are left.
pub fn without_new_names(
    tests: &[Overlay],
    names: &BTreeSet<String>,
    parameters: &[NewParameters],
    issue: &str,
    excepted: &[&str],
) -> RenamedTests {
    let mut renamed = RenamedTests::default();
    let left: BTreeSet<&str> = excepted.iter().copied().chain([issue]).flat_map(words_of).collect();
    let is_left = |name: &str| asks_for_option(issue) || left.contains(name);
    let names: BTreeSet<&str> = names.iter().map(String::as_str).filter(|name| !is_left(name)).collect();
    let parameters = not_asked_for(parameters, issue);
    for overlay in tests {
        let OverlayAction::Write(bytes) = &overlay.action else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let fewer = match without_arguments(&overlay.path, text, &parameters) {
            FewerArguments::None => None,
            FewerArguments::Unread => {
                renamed.unread.push(overlay.path.clone());
                None
            }
            FewerArguments::LeftOut(fewer, left_out) => {
                renamed.used.extend(left_out);
                Some(fewer)
            }
        };
        let now = called_otherwise(fewer.as_deref().unwrap_or(text), &names, &mut renamed.used);
        if now != text {
            let action = OverlayAction::Write(now.into_bytes());
            renamed.laid.push(Overlay { path: overlay.path.clone(), action });
        }
    }
    renamed
}

/// What gives the code of the base the names that the change brings, as empty exceptions, so that tests which import them load
/// there: by the files of code that the change touches, as they were.
pub fn with_empty_names(changed: &[ChangedPath<'_>], names: &BTreeSet<String>) -> Vec<Overlay> {
    let mut laid = Vec::new();
    for file in changed {
        let (Some(after), false) = (file.after, super::sides::is_of_tests(file.path)) else { continue };
        let (before, after) =
            (String::from_utf8_lossy(file.before.unwrap_or_default()), String::from_utf8_lossy(after));
        let words: BTreeSet<&str> = words_of(&after).collect();
        let own: Vec<&str> = names.iter().map(String::as_str).filter(|name| words.contains(name)).collect();
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
    let forms = [
        pattern!(r"export\s+(?:async\s+)?(?:function\*?|class|const|let|var)\s+(\w+)"),
        pattern!(r"export\s*\{([^}]*)"),
    ];
    let named = forms.iter().flatten().flat_map(|form| form.captures_iter(after));
    let exported: BTreeSet<&str> =
        named.filter_map(|found| found.get(1)).flat_map(|named| words_of(named.as_str())).collect();
    names
        .iter()
        .filter(|name| exported.contains(**name))
        .map(|name| format!("\nexport const {name} = class extends Error {{}};\n"))
        .collect()
}

/// Whether a test itself has one of these names, by the text that is its own; also where that is not found.
pub fn has_names(files: &[(String, Vec<u8>)], test: &str, names: &BTreeSet<String>) -> bool {
    let own = own_texts(files, test);
    own.is_empty() || own.iter().any(|text| words_of(text).any(|word| names.contains(word)))
}

/// A text in which these names are others, but not where they are imported, and not in texts of several words, which are for
/// people to read.
fn called_otherwise(text: &str, names: &BTreeSet<&str>, used: &mut BTreeSet<String>) -> String {
    let imports =
        pattern!(r"^\s*(?:import\b|from\b|use\b|\}\s*from\b|(?:const|let|var)\b.*\brequire\(|\w+,?\s*$)");
    let is_import = |line: &str| imports.is_some_and(|imports| imports.is_match(line));
    let mut now = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let mut named = words_at(line).filter(|(_, word)| names.contains(word)).peekable();
        if named.peek().is_none() || is_import(line) {
            now.push_str(line);
            continue;
        }
        let prose = prose_in(line);
        let mut from = 0;
        for (at, name) in named {
            let before = prose.partition_point(|text| text.start <= at).checked_sub(1);
            if before.and_then(|last| prose.get(last)).is_some_and(|text| text.contains(&at)) {
                continue;
            }
            let end = at + name.len();
            now.push_str(line.get(from..end).unwrap_or_default());
            now.push_str(OTHERWISE);
            used.insert(name.to_owned());
            from = end;
        }
        now.push_str(line.get(from..).unwrap_or_default());
    }
    now
}

/// The places of a line within quotes that hold several words.
fn prose_in(line: &str) -> Vec<Range<usize>> {
    let mut prose = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let mut is_escaped = false;
    for (here, c) in line.char_indices() {
        match open {
            _ if is_escaped => is_escaped = false,
            _ if c == '\\' => is_escaped = true,
            Some((quote, from)) if c == quote => {
                let text = line.get(from + 1..here).unwrap_or_default();
                prose.extend(text.trim().contains(char::is_whitespace).then_some(from..here));
                open = None;
            }
            None if matches!(c, '"' | '\'' | '`') => open = Some((c, here)),
            Some(_) | None => {}
        }
    }
    prose
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
                OverlayAction::Remove | OverlayAction::OfBase | OverlayAction::OfChange => unreachable!(),
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
        let renamed = without_new_names(&tests, &names, &[], "", &["set SIGNED to read them"]);
        let (laid, used) = (renamed.laid, renamed.used);
        assert_eq!(used, words(&["AMOUNTS_SIGNED", "strict"]));
        let OverlayAction::Write(bytes) = &laid[0].action else { unreachable!() };
        assert_eq!(
            String::from_utf8_lossy(bytes),
            "os.environ['AMOUNTS_SIGNED_called_otherwise'] = '1'\ncheck(cents('-1', strict_called_otherwise=True), 'not strict \
             enough')\nSIGNED_TOO = SIGNED\n"
        );
        assert_eq!(without_new_names(&tests, &names, &[], test, &[]).laid, []);
    }

    #[test]
    fn very_many_names_are_looked_for_all_at_once() {
        let new: BTreeSet<String> = (0..30_000).map(|at| format!("name_{at}")).collect();
        let code: String = new.iter().map(|name| format!("{name} = 1\n")).collect();
        let introduced = introduced_names(&[("a.py", code.as_bytes())], &new);
        assert_eq!(introduced.len(), new.len());
        let calls: String = new.iter().map(|name| format!("check({name})\n")).collect();
        let write = |path: &str, text: String| Overlay {
            path: path.to_owned(),
            action: OverlayAction::Write(text.into_bytes()),
        };
        let renamed =
            without_new_names(&[write("test_a.py", calls)], &introduced, &[], "", &["'name_7' of it"]);
        assert_eq!(renamed.used.len(), new.len() - 1, "one is expected");
        let exported: String = new.iter().map(|name| format!("export const {name} = 1;\n")).collect();
        let file = ChangedPath { path: "a.js", before: Some(b""), after: Some(exported.as_bytes()) };
        assert_eq!(with_empty_names(&[file], &introduced).len(), 1);
        let own = [("test_a.py".to_owned(), b"def test_a():\n    f(name_9)\n".to_vec())];
        assert!(has_names(&own, "test_a.py::test_a", &introduced));
    }

    #[test]
    fn of_tests_that_cannot_be_read_nobody_says_that_they_pass_nothing_new() {
        let before = Some("def inc(a):\n    pass\n".as_bytes());
        let after = Some("def inc(a, strict=False):\n    pass\n".as_bytes());
        let parameters =
            super::super::new_parameters(&[ChangedPath { path: "inc.py", before, after }], &BTreeSet::new());
        let deep = format!("inc(1, strict=True)\na = {}1{}\n", "(".repeat(3_000), ")".repeat(3_000));
        let of = |text: &str, parameters: &[NewParameters]| {
            let action = OverlayAction::Write(text.as_bytes().to_vec());
            let tests = [Overlay { path: "test_a.py".to_owned(), action }];
            without_new_names(&tests, &BTreeSet::new(), parameters, "It fails.", &[])
        };
        let unread = of(&deep, &parameters);
        assert_eq!((unread.unread, unread.laid), (vec!["test_a.py".to_owned()], vec![]));
        assert_eq!(of(&deep, &[]).unread, [""; 0], "nothing is new");
        let read = of("inc(1, strict=True)\n", &parameters);
        assert_eq!((read.unread.len(), read.laid.len()), (0, 1));
    }
}
