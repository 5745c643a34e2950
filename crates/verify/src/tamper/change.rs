//! Both sides of a change, read.

use std::collections::BTreeSet;

use super::ChangedFile;
use super::read::{SourceFile, Test};

/// Path and content.
type Entry<'a> = (&'a str, &'a [u8]);

/// The files of one side.
#[derive(Debug, Default)]
pub(super) struct Side<'a> {
    pub(super) files: Vec<SourceFile<'a>>,
}

impl<'a> Side<'a> {
    pub(super) fn tests(&self) -> Vec<&Test> {
        self.files.iter().flat_map(|file| &file.tests).collect()
    }

    pub(super) fn file(&self, path: &str) -> Option<&SourceFile<'a>> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// A change.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) before: Side<'a>,
    pub(super) after: Side<'a>,
    /// Files of which a side could not be read.
    pub(super) unread: BTreeSet<String>,
    changed: BTreeSet<&'a str>,
}

impl<'a> Change<'a> {
    pub(super) fn read(files: &'a [ChangedFile<'a>]) -> Self {
        let mut unread = BTreeSet::new();
        let mut side = |pick: fn(&ChangedFile<'a>) -> Option<Entry<'a>>| Side {
            files: files
                .iter()
                .filter_map(pick)
                .filter_map(|(path, bytes)| match SourceFile::read(path, bytes)? {
                    Ok(file) => Some(file),
                    Err(super::syntax::TooMuch) => {
                        unread.insert(path.to_owned());
                        None
                    }
                })
                .collect(),
        };
        let before = side(|file| file.before);
        let after = side(|file| file.after);
        let changed = files
            .iter()
            .filter(|file| file.is_changed())
            .flat_map(|file| [file.before, file.after])
            .flatten()
            .map(|(path, _)| path)
            .collect();
        Self { before, after, unread, changed }
    }

    /// Whether a file, by its path on either side, is different.
    pub(super) fn is_changed(&self, path: &str) -> bool {
        self.changed.contains(path)
    }
}
