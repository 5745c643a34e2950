//! Both sides of a change, read.

use std::collections::BTreeSet;

use super::FileVersions;
use super::read::ParsedFile;

type FileBytes<'a> = (&'a str, &'a [u8]);

#[derive(Debug, Default)]
pub(super) struct ParsedSide<'a> {
    pub(super) files: Vec<ParsedFile<'a>>,
}

impl<'a> ParsedSide<'a> {
    pub(super) fn file(&self, path: &str) -> Option<&ParsedFile<'a>> {
        self.files.iter().find(|file| file.path == path)
    }
}

#[derive(Debug)]
pub(super) struct ParsedChange<'a> {
    pub(super) before: ParsedSide<'a>,
    pub(super) after: ParsedSide<'a>,
    /// Files of which a side could not be read.
    pub(super) unread: BTreeSet<String>,
    changed: BTreeSet<&'a str>,
}

impl<'a> ParsedChange<'a> {
    pub(super) fn read(files: &'a [FileVersions<'a>]) -> Self {
        let mut unread = BTreeSet::new();
        let mut side = |pick: fn(&FileVersions<'a>) -> Option<FileBytes<'a>>| ParsedSide {
            files: files
                .iter()
                .filter_map(pick)
                .filter_map(|(path, bytes)| match ParsedFile::read(path, bytes)? {
                    Ok(file) => Some(file),
                    Err(super::syntax::SyntaxTooLarge) => {
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
