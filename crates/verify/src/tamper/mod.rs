//! What no test run can show: code that hard-codes the answers to the tests' inputs, and code that checks whether it is
//! being tested, or asks where it runs. Found by reading both sides of a change.
//!
//! May know: languages, test runners, how people cheat and how they refactor honestly.
//! Must never know: how anything is run, files on a disk, what an order does about a finding.
//!
//! Bytes in, findings out. An agent wrote the input: nothing recurses on it, everything is bounded, and the same change
//! always gives the same findings. Tests that the change adds are not restricted.

mod code;
mod graft;
mod read;
mod surroundings;

use std::collections::BTreeSet;

use crate::ChangedPath;
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::{Weakening, WeakeningKind};

pub use graft::{code_tokens, graft};
pub use journeyman_languages::roles::{is_compiled_path, is_source_path};
pub use journeyman_languages::syntax_tree::SyntaxTooLarge;
pub use journeyman_order::test_path::is_test_path;
use read::ParsedFile;

/// Both sides of a change, parsed.
#[derive(Debug)]
struct ParsedChange<'a> {
    before: Vec<ParsedFile<'a>>,
    after: Vec<ParsedFile<'a>>,
    /// Files with a side that could not be parsed.
    unread: BTreeSet<String>,
    changed: BTreeSet<&'a str>,
}

impl<'a> ParsedChange<'a> {
    fn read(files: &'a [ChangedPath<'a>]) -> Self {
        let mut unread = BTreeSet::new();
        let mut side = |pick: fn(&ChangedPath<'a>) -> Option<&'a [u8]>| {
            let read = |file: &ChangedPath<'a>| match ParsedFile::read(file.path, pick(file)?)? {
                Ok(read) => Some(read),
                Err(SyntaxTooLarge) => {
                    unread.insert(file.path.to_owned());
                    None
                }
            };
            files.iter().filter_map(read).collect::<Vec<_>>()
        };
        let (before, after) = (side(|file| file.before), side(|file| file.after));
        let changed = files.iter().filter(|file| file.before != file.after).map(|file| file.path).collect();
        Self { before, after, unread, changed }
    }

    fn is_changed(&self, path: &str) -> bool {
        self.changed.contains(path)
    }
}

/// All findings, the severe ones first.
///
/// Unchanged files may be passed as well, with the same content on both sides: they help to recognize expected values.
pub fn weakenings(files: &[ChangedPath<'_>]) -> Vec<Weakening> {
    let change = ParsedChange::read(files);
    let mut found = Vec::new();
    code::code(&change, &mut found);
    code::hard_coded::hard_coded(&change, &mut found);
    surroundings::surroundings(files, &change, &mut found);
    unread(&change, &mut found);
    found.sort_by_cached_key(|one| {
        // Unparsed files come first within a severity, so that the limit does not drop them.
        let is_read = one.kind != WeakeningKind::NotRead;
        (!one.severe, is_read, one.path.clone(), one.line, one.kind, one.what.clone())
    });
    found.dedup();
    found.truncate(MOST_LISTED);
    found
}

/// A finding that suggests cheating.
fn cheat(kind: WeakeningKind, path: &str, line: u32, what: String) -> Weakening {
    Weakening { kind, path: path.to_owned(), line: Some(line), test: None, what, severe: true }
}

fn unread(change: &ParsedChange<'_>, found: &mut Vec<Weakening>) {
    let sides = [&change.before, &change.after];
    let exhausted = sides.into_iter().flatten().filter(|file| file.tree.is_exhausted());
    let unread: BTreeSet<&String> = change.unread.iter().chain(exhausted.map(|file| &file.path)).collect();
    for path in unread {
        found.push(Weakening {
            kind: WeakeningKind::NotRead,
            path: path.clone(),
            line: None,
            test: None,
            what: format!("{path} is too large or too tangled to be read"),
            severe: false,
        });
    }
}

#[cfg(test)]
mod tests;
