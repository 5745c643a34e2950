//! Findings in changes, and expectations in tests.

mod corpus;
mod grafting;
mod hostile;
mod reading;
mod surroundings;

use super::*;

/// One file before and after a change.
fn edited<'a>(path: &'a str, before: &'a str, after: &'a str) -> ChangedPath<'a> {
    ChangedPath { path, before: Some(before.as_bytes()), after: Some(after.as_bytes()) }
}

/// The expectations in a file's tests, with their inputs.
fn expected_in(path: &str, text: &str) -> Vec<String> {
    let Some(Ok(file)) = read::ParsedFile::read(path, text.as_bytes()) else { return Vec::new() };
    let told = |one: code::expectations::ExpectedCall| {
        format!("{} for {}", one.expected, one.inputs.into_iter().collect::<Vec<_>>().join(", "))
    };
    code::expectations::expectations(&file).into_iter().map(told).collect()
}
