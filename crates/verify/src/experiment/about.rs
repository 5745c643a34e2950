//! Whether a test of the base has anything to do with an issue, by the words of both: one that was red for something else and
//! is green now does not show that the issue is mended.
//!
//! Only tests that share no word are told apart. It never makes a change believed; it only keeps one from being.

use std::collections::BTreeSet;

use super::names::{has_word, title_of, words_of};
use super::titles::own_texts;

/// Shorter words are shared by chance.
const SHORTEST: usize = 3;

/// Whether a test has to do with an issue. Where the issue names something that the code defines, the test has to use that, or
/// to be called like it; else a word of its name has to be the issue's. `files` are those that hold tests; `defined` is what
/// the changed code defines.
pub fn speaks_of(issue: &str, test: &str, files: &[(String, Vec<u8>)], defined: &BTreeSet<String>) -> bool {
    let said = stems(issue);
    let named = named_in(issue, defined);
    if said.is_empty() || (named.is_empty() && shares(&said, test)) {
        return true;
    }
    let own = own_texts(files, test);
    // One whose text is not found may use anything.
    if own.is_empty() {
        return true;
    }
    named
        .iter()
        .any(|word| shares(&stems(word), title_of(test)) || own.iter().any(|text| has_word(text, word)))
}

/// Whether an issue may ask for this test to go: it has a word of its title, or names something of the code that it uses.
pub fn may_ask_for(issue: &str, test: &str, files: &[(String, Vec<u8>)], defined: &BTreeSet<String>) -> bool {
    let said = stems(issue);
    if said.is_empty() || shares(&said, title_of(test)) {
        return true;
    }
    let own = own_texts(files, test);
    named_in(issue, defined).iter().any(|word| own.iter().any(|text| has_word(text, word)))
}

/// What an issue names of the code.
fn named_in<'d>(issue: &str, defined: &'d BTreeSet<String>) -> Vec<&'d String> {
    let words: BTreeSet<&str> = words_of(issue).collect();
    // One of several words has to have its first there.
    let may_be = |word: &&String| words_of(word).next().is_none_or(|first| words.contains(first));
    defined.iter().filter(may_be).filter(|word| is_named(issue, word)).collect()
}

fn shares(said: &BTreeSet<String>, name: &str) -> bool {
    stems(name).iter().any(|stem| said.contains(stem))
}

/// Whether an issue asks for an option, whose name it may leave to others.
pub(super) fn asks_for_option(issue: &str) -> bool {
    pattern!(
        r"(?i)\b(?:add|give|make|please|have|like|want|need|wish|offer|provide|introduce|support|allow)\w*\b[^.!?\n]{0,60}\b(?:an?|new|some|optional)\s+(?:\w+\s+)?(?:options?|parameters?|flags?|settings?|switch|keywords?|arguments?)\b"
    )
    .is_some_and(|option| option.is_match(issue))
}

/// Whether a text names something of the code, and not only uses its word.
pub(super) fn is_named(text: &str, word: &str) -> bool {
    let is_of_code = word.contains('_')
        || word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    word.len() >= SHORTEST
        && has_word(text, word)
        && (is_of_code
            || [
                format!("`{word}"),
                format!("{word}`"),
                format!("{word}("),
                format!("{word}="),
                format!(".{word}"),
                format!("--{word}"),
            ]
            .iter()
            .any(|form| text.contains(form)))
}

/// The words of a text or of a name, as they begin: `dividing` and `test_divide_by_zero` share one.
fn stems(text: &str) -> BTreeSet<String> {
    const OF_NO_MEANING: [&str; 26] = [
        "test", "tests", "testing", "src", "lib", "spec", "unit", "case", "cases", "the", "and", "for",
        "not", "with", "when", "that", "this", "from", "does", "are", "has", "was", "should", "can", "bug",
        "issue",
    ];
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in text.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if begins {
            words.push(String::new());
        }
        was_lower = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    let is_meant = |word: &String| {
        word.chars().count() >= SHORTEST
            && !word.chars().all(|c| c.is_ascii_digit())
            && !OF_NO_MEANING.contains(&word.as_str())
    };
    words.into_iter().filter(is_meant).map(|word| stem(&word).to_owned()).collect()
}

fn stem(word: &str) -> &str {
    const ENDS: [&str; 6] = ["ation", "ing", "ion", "ed", "es", "er"];
    let word = word.strip_suffix('s').filter(|rest| rest.len() >= SHORTEST).unwrap_or(word);
    let is_long = |rest: &&str| rest.len() > SHORTEST;
    let cut = ENDS.iter().find_map(|end| word.strip_suffix(end).filter(is_long)).unwrap_or(word);
    Some(cut.trim_end_matches(['e', 'y', 'i'])).filter(|rest| rest.len() >= SHORTEST).unwrap_or(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_speaks_of_an_issue_by_its_name_or_by_what_it_calls() {
        let text = "def test_it():\n    assert cents('-1') == -100\n\n\ndef test_typed():\n    assert exists('py.typed')\n";
        let files = [("tests/test_amounts.py".to_owned(), text.as_bytes().to_vec())];
        let defined = BTreeSet::from(["cents".to_owned(), "exists".to_owned()]);
        for (issue, test, is) in [
            ("Dividing by nothing crashes", "tests/test_x.py::test_divide_by_zero", true),
            ("Negative amounts are read wrongly", "tests/test_amounts.py::test_it", true),
            ("cents('-1') gives 100", "tests/test_amounts.py::test_it", true),
            ("`parsePort` accepts 70000", "port.test.js > parsePort > ranges", true),
            ("The padding object is handed out", "tests/test_amounts.py::test_typed", false),
            ("The padding object is handed out", "tests/test_amounts.py::test_it", false),
            ("The padding object is handed out", "tests/test_unknown.py::test_one", true),
            ("`cents` gives the padding object", "tests/test_amounts.py::test_typed", false),
            ("cents() gives what is typed", "tests/test_amounts.py::test_typed", false),
            ("cents() gives what is typed", "tests/test_amounts.py::test_it", true),
            ("", "tests/test_amounts.py::test_typed", true),
        ] {
            assert_eq!(speaks_of(issue, test, &files, &defined), is, "{issue} {test}");
        }
        for (issue, is) in [
            ("Amounts are read wrongly", false),
            ("`cents` reads amounts wrongly", true),
            ("Typed amounts are read wrongly", false),
            ("What it reads is wrong", false),
        ] {
            let test = "tests/test_amounts.py::test_it[1-2]";
            assert_eq!(may_ask_for(issue, test, &files, &defined), is, "{issue}");
        }
        assert!(may_ask_for("Typed amounts are read wrongly", "a.test_typed", &files, &defined));
        assert!(
            asks_for_option("Please give me an option for it.")
                && !asks_for_option("An empty argument is an error.")
        );
        assert_eq!(stem("parsing"), stem("parse"));
        assert_eq!(stem("entries"), stem("entry"));
    }
}
