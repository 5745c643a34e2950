//! What is found in changes, and what is read of tests.

mod corpus;
mod grafting;
mod hostile;
mod reading;

use super::*;

/// One file before and after a change.
fn edited<'a>(path: &'a str, before: &'a str, after: &'a str) -> ChangedFile<'a> {
    ChangedFile { before: Some((path, before.as_bytes())), after: Some((path, after.as_bytes())) }
}

/// The tests of a file by name, with the number of assertions that can fail.
fn tests_in(path: &str, bytes: &[u8]) -> Vec<(String, usize)> {
    let Some(Ok(file)) = read::SourceFile::read(path, bytes) else { return Vec::new() };
    let live = |test: &read::Test| test.assertions.iter().filter(|assertion| assertion.is_live()).count();
    file.tests.iter().map(|test| (test.name.clone(), live(test))).collect()
}
