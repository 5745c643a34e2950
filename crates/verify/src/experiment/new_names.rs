//! Names that a change brings and that its tests use as well: an option, a variable, a setting that only they turn on. A test
//! that passes with such a name alone shows what is new, and not that anything is mended.
//!
//! Nothing is judged by reading: what is read here says what is called otherwise in a run.

use std::collections::BTreeSet;

use super::edits::words_in;
use super::names::has_word;
use crate::overlay::{Overlay, OverlayAction};

/// What a name is called in a run that shows whether it matters.
const OTHERWISE: &str = "_called_otherwise";
/// Shorter words are used for too much.
const SHORTEST: usize = 3;

/// Those of the words that are new with this code which it defines, takes as a parameter, or asks for by their text.
pub fn introduced_names(code: &[(&str, &[u8])], new_words: &BTreeSet<String>) -> BTreeSet<String> {
    let is_one = |word: &&String| {
        let name = regex::escape(word);
        let form = format!(
            r#"["'`]{name}["'`]|\b(?:def|class|fn|func|function|const|let|var|static|struct|enum|type|interface)\s+{name}\b|#\s*(?:ifdef|ifndef|define|if|elif)\b[^\n]*\b{name}\b|\b{name}\s*(?:=[^=>]|:)|[(,{{]\s*\*{{0,2}}{name}\s*[,)}}]"#
        );
        let form = regex::Regex::new(&form);
        word.len() >= SHORTEST
            && form.is_ok_and(|form| {
                code.iter().any(|(_, bytes)| form.is_match(&String::from_utf8_lossy(bytes)))
            })
    };
    new_words.iter().filter(is_one).cloned().collect()
}

/// The tests of a change with these names called otherwise; nothing where none of the tests uses any. Names that stand in what
/// is excepted, such as the issue and the expected values, are left.
pub fn without_new_names(
    tests: &[Overlay],
    names: &BTreeSet<String>,
    excepted: &[&str],
) -> (Vec<Overlay>, BTreeSet<String>) {
    let (mut laid, mut used) = (Vec::new(), BTreeSet::new());
    for overlay in tests {
        let OverlayAction::Write(bytes) = &overlay.action else { continue };
        let Ok(text) = std::str::from_utf8(bytes) else { continue };
        let words: BTreeSet<String> = words_in(bytes).into_iter().collect();
        let mut renamed = text.to_owned();
        for name in
            names.intersection(&words).filter(|name| !excepted.iter().any(|text| has_word(text, name)))
        {
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

/// A text in which a name is another, but not in texts of several words: these are for people to read.
fn called_otherwise(text: &str, name: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| {
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
    fn names_are_called_otherwise_in_tests_but_not_in_prose_or_where_they_are_asked_for() {
        let test = "os.environ['AMOUNTS_SIGNED'] = '1'\ncheck(cents('-1', strict=True), 'not strict enough')\nSIGNED_TOO = SIGNED\n";
        let tests = [Overlay {
            path: "test_a.py".to_owned(),
            action: OverlayAction::Write(test.as_bytes().to_vec()),
        }];
        let names = words(&["AMOUNTS_SIGNED", "strict", "SIGNED", "other"]);
        let (laid, used) = without_new_names(&tests, &names, &["set SIGNED to read them"]);
        assert_eq!(used, words(&["AMOUNTS_SIGNED", "strict"]));
        let OverlayAction::Write(bytes) = &laid[0].action else { unreachable!() };
        assert_eq!(
            String::from_utf8_lossy(bytes),
            "os.environ['AMOUNTS_SIGNED_called_otherwise'] = '1'\ncheck(cents('-1', strict_called_otherwise=True), 'not strict \
             enough')\nSIGNED_TOO = SIGNED\n"
        );
        assert_eq!(without_new_names(&tests, &names, &[test]).0, []);
    }
}
