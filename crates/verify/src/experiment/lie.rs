//! A lie: one expectation made false. Finds the possible lies in a text.
//!
//! Parsed by words and brackets, so that all languages work alike.

use std::ops::Range;

use super::family::LanguageFamily;
use super::scan::SourceScan;
use journeyman_order::bounds::{LARGEST_SOURCE, MOST_LOOKED_AT};

#[derive(Debug, Clone, PartialEq, Eq)]
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
    /// The runner's name of its test, if known.
    pub test: Option<String>,
}

/// The possible lies in one file, in the order of the text.
pub fn lies_in(path: &str, bytes: &[u8]) -> Vec<Lie> {
    let Some(text) = std::str::from_utf8(bytes).ok().filter(|text| text.len() <= LARGEST_SOURCE) else {
        return Vec::new();
    };
    let Some(family) = LanguageFamily::of(path) else { return Vec::new() };
    lies_of(path, text, &SourceScan::of(text, family))
}

pub(super) fn lies_of(path: &str, text: &str, scan: &SourceScan<'_>) -> Vec<Lie> {
    let mut found = Vec::new();
    for spot in scan.assertions().into_iter().take(MOST_LOOKED_AT) {
        let is_negative = spot.is_negative(scan);
        found.extend(spot.lie(scan).map(|(at, now, is_sure)| Lie {
            path: path.to_owned(),
            line: scan.line(at.start),
            was: text.get(at.clone()).unwrap_or_default().to_owned(),
            at,
            now,
            is_sure,
            is_negative,
            test: None,
        }));
    }
    found.sort_by_key(|lie| (lie.at.start, lie.at.end));
    found.dedup_by_key(|lie| lie.at.start);
    found
}
