//! A lie: one expectation made false. Finds the possible lies in a text.
//!
//! Parsed by words and brackets, so that all languages work alike.

use std::ops::Range;

use super::family::SourceLanguage;
use super::scan::SourceScan;
use journeyman_order::bounds::{LARGEST_SOURCE, MOST_LOOKED_AT};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lie {
    /// The test file.
    pub path: String,
    /// Counted from 1.
    pub line: u32,
    pub at: Range<usize>,
    pub was: String,
    pub now: String,
    /// Whether it is the expected side of a comparison. Other values may be irrelevant.
    pub is_sure: bool,
    /// Whether the value must not be the answer. Many answers, right or wrong, satisfy that.
    pub is_negative: bool,
    /// Whether it edits what the test asks, as no expected value stands there. A test need not notice that.
    pub is_input: bool,
    /// Whether it claims the opposite, which says nothing of how values are compared.
    pub is_opposite: bool,
    /// Whether it says the same in other words, and nothing in it is false.
    pub is_reworded: bool,
    /// The runner's name of its test, if known.
    pub test: Option<String>,
}

impl Lie {
    /// An edit of a file that is no more than that.
    pub(super) fn of(path: &str, text: &str, (line, at): (u32, Range<usize>), now: String) -> Self {
        let was = text.get(at.clone()).unwrap_or_default().to_owned();
        Self { path: path.to_owned(), line, at, was, now, ..Self::default() }
    }
}

/// The possible lies in one file, in the order of the text. No two of them overlap.
pub fn lies_in(path: &str, bytes: &[u8]) -> Vec<Lie> {
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LARGEST_SOURCE) else {
        return Vec::new();
    };
    let Some(language) = SourceLanguage::of(path, text) else { return Vec::new() };
    lies_of(path, text, &SourceScan::of(text, language))
}

pub(super) fn lies_of(path: &str, text: &str, scan: &SourceScan<'_>) -> Vec<Lie> {
    let mut found: Vec<Lie> = Vec::new();
    for site in scan.assertions().into_iter().take(MOST_LOOKED_AT) {
        let is_negative = site.is_negative(scan);
        found.extend(site.falsified(scan).map(|edit| Lie {
            is_sure: edit.is_sure,
            is_negative,
            is_input: edit.is_input,
            is_opposite: edit.is_opposite,
            ..Lie::of(path, text, (scan.line(edit.at.start), edit.at), edit.now)
        }));
    }
    found.sort_by_key(|lie| (lie.at.start, lie.at.end));
    let mut end = 0;
    found.retain(|lie| {
        let is_apart = lie.at.start >= end;
        end = if is_apart { lie.at.end } else { end };
        is_apart
    });
    found
}
