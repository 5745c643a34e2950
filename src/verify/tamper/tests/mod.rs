//! What counts as a weakening and what does not, in small.

mod assertions;
mod corpus;
mod grafting;
mod hostile;
mod reading;

use super::*;

/// One file before and after a change.
fn edited<'a>(path: &'a str, before: &'a str, after: &'a str) -> ChangedFile<'a> {
    ChangedFile { before: Some((path, before.as_bytes())), after: Some((path, after.as_bytes())) }
}

fn added<'a>(path: &'a str, after: &'a str) -> ChangedFile<'a> {
    ChangedFile { before: None, after: Some((path, after.as_bytes())) }
}

fn deleted<'a>(path: &'a str, before: &'a str) -> ChangedFile<'a> {
    ChangedFile { before: Some((path, before.as_bytes())), after: None }
}

/// The kinds of what stands against a change.
fn grave(files: &[ChangedFile<'_>]) -> Vec<WeakeningKind> {
    weakenings(files).into_iter().filter(|one| one.grave).map(|one| one.kind).collect()
}
