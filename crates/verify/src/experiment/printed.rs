//! The output of a run about the tests that failed in it.

use std::collections::BTreeSet;

use super::names::{has_word, title_of, words_of};
use journeyman_order::bounds::MOST_LOOKED_AT;

struct PrintedLine<'o> {
    text: &'o str,
    /// Failing tests whose names occur in it.
    names: BTreeSet<&'o str>,
    /// Whether it reports something missing that the change adds.
    is_of_something_new: bool,
}

/// A run's output about its failing tests. Each line is parsed once, however many tests there are.
pub(super) struct PrintedFailures<'o>(Vec<PrintedLine<'o>>);

impl<'o> PrintedFailures<'o> {
    /// Of all failing tests, those in `looked_at` take precedence.
    pub(super) fn of(
        output: &'o str,
        failing: &[&'o str],
        looked_at: &[&'o str],
        new_words: &BTreeSet<String>,
    ) -> Self {
        let missing = pattern!(
            r"(?:AttributeError|ImportError|NameError|ModuleNotFoundError|TypeError|ReferenceError|SyntaxError|NoMethodError|FileNotFoundError|is not a function|is not defined|does not provide|Cannot find|cannot find|undefined|No such file or directory|not implemented|no attribute|Cannot read properties)"
        );
        // What an assertion compares is not an error itself.
        let compared =
            pattern!(r"^\s*(?:E\s+)?(?:AssertionError|assert\b|[-+?] )|\bAssertionError\b|\bERR_ASSERTION\b");
        let names: BTreeSet<&str> = failing.iter().map(|name| title_of(name)).collect();
        // Names of more than one word are searched one by one.
        let is_word = |name: &str| name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let first = looked_at.iter().map(|name| title_of(name));
        let mut seen = BTreeSet::new();
        let others: Vec<&str> = first
            .chain(names.iter().copied())
            .filter(|name| !is_word(name) && seen.insert(*name))
            .take(MOST_LOOKED_AT)
            .collect();
        let line = |text: &'o str| {
            let words = words_of(text).filter_map(|word| names.get(word).copied());
            let of_words = words.chain(others.iter().copied().filter(|name| has_word(text, name))).collect();
            let is_new = |word: &str| word.len() > 1 && new_words.contains(word) && !missing.is_match(word);
            let is_of_something_new =
                missing.is_match(text) && !compared.is_match(text) && words_of(text).any(is_new);
            PrintedLine { text, names: of_words, is_of_something_new }
        };
        Self(output.lines().map(line).collect())
    }

    /// Whether a test fails because of a missing name that the change adds. Output after the name of another failing
    /// test belongs to that test.
    pub(super) fn names_what_is_new(&self, test: &str) -> bool {
        const AFTER: usize = 60;
        let own = title_of(test);
        let title = test.rsplit(" > ").next().unwrap_or(test);
        let mut until = 0;
        for (at, line) in self.0.iter().enumerate() {
            if line.names.contains(own) || line.text.contains(title) {
                until = at + AFTER;
            } else if !line.names.is_empty() {
                until = at;
            }
            if at < until && line.is_of_something_new {
                return true;
            }
        }
        false
    }
}
