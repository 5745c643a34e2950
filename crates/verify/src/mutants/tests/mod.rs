//! Mutants by language, and properties of all of them.

mod go;
mod hostile;
mod java;
mod javascript;
mod lines;
mod parts;
mod python;
mod rust;
mod spreading;

use super::*;

/// All mutants of all lines, in the order of the file: the line, and a description.
fn all(path: &str, source: &str) -> Vec<String> {
    let mut found = mutants(path, source.as_bytes(), &[1..=u32::MAX], usize::MAX).unwrap_or_default();
    found.sort_by_key(|one| (one.at.start, one.at.end, one.text.clone()));
    found.iter().map(|one| format!("{} {}", one.line, one.what)).collect()
}

/// If the mutants differ, prints the actual ones in a form that can be copied.
#[track_caller]
fn are(path: &str, source: &str, expected: &[&str]) {
    let found = all(path, source);
    assert_eq!(found, expected, "mutants of {path}:\n{}", found.join("\n"));
}
