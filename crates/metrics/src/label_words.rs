//! Words of a label that others choose: so many are kept apart, and the rest is one series.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// A repository names its stages. More of them than this are `other`.
const MOST: usize = 40;
const LONGEST: usize = 64;

#[derive(Debug, Default)]
pub(super) struct LabelWords(Mutex<BTreeSet<String>>);

impl LabelWords {
    /// The word itself, or `other` where there are too many of them already.
    pub(super) fn word(&self, word: &str) -> String {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = known.contains(word);
        if !is_known && (known.len() >= MOST || word.len() > LONGEST) {
            return "other".to_owned();
        }
        if !is_known {
            known.insert(word.to_owned());
        }
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_words_is_one_series() {
        let words = LabelWords::default();
        assert_eq!(words.word("implement"), "implement");
        for number in 0..1_000 {
            words.word(&format!("stage-{number}"));
        }
        assert_eq!(words.word("implement"), "implement", "what was there stays");
        assert_eq!(words.word("one more"), "other");
        assert_eq!(words.0.lock().unwrap().len(), MOST);
    }
}
