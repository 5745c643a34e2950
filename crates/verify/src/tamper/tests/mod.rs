//! What is found in changes, and what is read of tests.

mod corpus;
mod grafting;
mod hostile;
mod reading;

use super::*;

/// One file before and after a change.
fn edited<'a>(path: &'a str, before: &'a str, after: &'a str) -> FileVersions<'a> {
    FileVersions { before: Some((path, before.as_bytes())), after: Some((path, after.as_bytes())) }
}

/// How many assertions each test of a file has that can be false.
fn tests_in(path: &str, bytes: &[u8]) -> Vec<usize> {
    let Some(Ok(file)) = read::ParsedFile::read(path, bytes) else { return Vec::new() };
    let can_fail = |claim: &&assertion::Assertion| claim.relation != assertion::AssertionStrength::Trivial;
    file.tests.iter().map(|test| test.assertions.iter().filter(can_fail).count()).collect()
}
