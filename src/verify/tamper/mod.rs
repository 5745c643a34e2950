//! Whether a change weakens the tests that were there before it, or bends the run that is to judge it: found by
//! reading both sides of the change.
//!
//! May know: languages, test runners, CI files, how people cheat and how they refactor honestly.
//! Must never know: how anything is run, files on a disk, what an order does about a finding.
//!
//! Bytes in, findings out. What is read was written by an agent: nothing recurses on it, everything is bounded, and
//! the same change always has the same findings. Tests that the change itself adds may be anything.

mod assertion;
mod chain;
mod change;
mod code;
mod compare;
mod graft;
pub(super) mod language;
mod pairs;
mod reach;
mod read;
mod run;
pub(super) mod syntax;

use std::collections::BTreeSet;

use crate::order::{Weakening, WeakeningKind};
use change::Change;

pub use graft::{code_tokens, graft};
pub use language::{is_source_path, is_test_path};

/// Findings that are told; a change with more is not told apart further.
const MOST_FINDINGS: usize = 200;

/// One file on both sides of a change. Added: it has no `before`; deleted: no `after`.
///
/// Files of tests that did not change may be handed over as well, the same on both sides: they are what expected
/// values in the code are recognised by.
#[derive(Debug, Clone, Copy)]
pub struct ChangedFile<'a> {
    /// Path and content in the base commit.
    pub before: Option<(&'a str, &'a [u8])>,
    /// Path and content after the change.
    pub after: Option<(&'a str, &'a [u8])>,
}

impl<'a> ChangedFile<'a> {
    /// As it is called now, or was before it was deleted.
    fn path(&self) -> &'a str {
        self.after.or(self.before).map_or("", |(path, _)| path)
    }

    fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// A test of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestItem {
    /// Qualified as its runner prints it, where that can be told: `path::Class::test` in Python, `module::test` in
    /// Rust, `group > test` in JavaScript, `package.Class.test` in Java.
    pub name: String,
    /// From 1.
    pub line: u32,
    /// Of its body: SHA-256 in hexadecimal.
    pub digest: String,
    /// Assertions that can fail, those of helpers left out.
    pub assertions: usize,
}

/// What a change does to tests, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedTests {
    /// Were not there before.
    pub added: Vec<String>,
    /// Have another body than before, by the name after the change.
    pub edited: Vec<String>,
    /// Are no longer there under any name.
    pub removed: Vec<String>,
    /// The name before, and the name after the change.
    pub renamed: Vec<(String, String)>,
    /// The files of those that were added, edited or renamed.
    pub files: Vec<String>,
}

/// The tests of a file, in the order of the file. None in a file that cannot be read or that no runner looks into.
pub fn tests_in(path: &str, bytes: &[u8]) -> Vec<TestItem> {
    let Some(Ok(file)) = read::SourceFile::read(path, bytes) else { return Vec::new() };
    file.tests
        .into_iter()
        .map(|test| TestItem {
            assertions: test.assertions.iter().filter(|assertion| assertion.is_live()).count(),
            name: test.name,
            line: test.line,
            digest: test.digest,
        })
        .collect()
}

/// Which tests a change adds, edits, renames and removes.
pub fn changed_tests(files: &[ChangedFile<'_>]) -> ChangedTests {
    let change = Change::read(files);
    let (base, after) = (change.before.tests(), change.after.tests());
    let pairs = pairs::pair(&base, &after);
    let mut tests = ChangedTests::default();
    let mut files = BTreeSet::new();
    for at in &pairs.added {
        if let Some(test) = after.get(*at) {
            tests.added.push(test.name.clone());
            files.insert(test.path.clone());
        }
    }
    for (one, other) in &pairs.paired {
        let (Some(before), Some(now)) = (base.get(*one), after.get(*other)) else { continue };
        if before.name != now.name {
            tests.renamed.push((before.name.clone(), now.name.clone()));
            files.insert(now.path.clone());
        }
        if before.digest != now.digest || before.words != now.words {
            tests.edited.push(now.name.clone());
            files.insert(now.path.clone());
        }
    }
    tests.removed.extend(pairs.removed.iter().filter_map(|at| base.get(*at)).map(|test| test.name.clone()));
    tests.files.extend(files);
    tests
}

/// Every place where a change weakens the tests of the base or bends their run; the grave ones first.
pub fn weakenings(files: &[ChangedFile<'_>]) -> Vec<Weakening> {
    let change = Change::read(files);
    let pairs = pairs::pair(&change.before.tests(), &change.after.tests());
    let mut found = Vec::new();
    compare::tests(&change, &pairs, &mut found);
    code::code(&change, &mut found);
    code::hard_coded::hard_coded(&change, &mut found);
    run::run(&change, &mut found);
    unread(&change, &mut found);
    found.sort_by(|one, other| {
        let key = |one: &Weakening| (!one.grave, one.path.clone(), one.line, one.kind, one.what.clone());
        key(one).cmp(&key(other))
    });
    found.dedup();
    found.truncate(MOST_FINDINGS);
    found
}

/// Files that were not read. Grave is what hides a test of the base, which is told beside the test.
fn unread(change: &Change<'_>, found: &mut Vec<Weakening>) {
    for path in &change.unread {
        if found.iter().any(|one| one.kind == WeakeningKind::NotRead && one.path == *path) {
            continue;
        }
        found.push(Weakening {
            kind: WeakeningKind::NotRead,
            path: path.clone(),
            line: None,
            test: None,
            what: format!("{path} is too large or too deeply nested to be read"),
            grave: false,
        });
    }
}

#[cfg(test)]
mod tests;
