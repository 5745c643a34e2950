//! Whether a test of the base has anything to do with an issue, by the words of both: one that was red for something else and
//! is green now does not show that the issue is mended.
//!
//! Only tests that share no word are told apart. It never makes a change believed; it only keeps one from being.

use std::collections::BTreeSet;

use super::names::has_word;
use super::titles::own_texts;

/// Shorter words are shared by chance.
const SHORTEST: usize = 3;

/// Whether a test has a word of the issue in its name, or the issue one that the code defines and the test uses. `files` are
/// those that hold tests; `defined` is what the changed code defines.
pub fn speaks_of(issue: &str, test: &str, files: &[(String, Vec<u8>)], defined: &BTreeSet<String>) -> bool {
    let said = stems(issue);
    if said.is_empty() || stems(test).iter().any(|stem| said.contains(stem)) {
        return true;
    }
    let own = own_texts(files, test);
    let shared = defined.iter().filter(|word| word.len() >= SHORTEST && has_word(issue, word));
    // One whose text is not found may use any of them.
    own.is_empty() || shared.into_iter().any(|word| own.iter().any(|text| has_word(text, word)))
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
            ("", "tests/test_amounts.py::test_typed", true),
        ] {
            assert_eq!(speaks_of(issue, test, &files, &defined), is, "{issue} {test}");
        }
        assert_eq!(stem("parsing"), stem("parse"));
        assert_eq!(stem("entries"), stem("entry"));
    }
}
