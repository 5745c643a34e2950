//! Both sides of a change, read.

use std::collections::{BTreeMap, BTreeSet};

use super::ChangedFile;
use super::language::is_test_path;
use super::read::{Function, SourceFile, Test, likeness};
use super::syntax::is_name;

/// Path and content.
type Entry<'a> = (&'a str, &'a [u8]);

/// A function that is so alike under another name was renamed.
const RENAMED: f64 = 0.7;

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

    /// Functions of the code, tests and their helpers left out.
    fn code(&self) -> impl Iterator<Item = &Function> {
        self.files.iter().flat_map(|file| &file.functions).filter(|function| !function.is_support)
    }

    /// What the code defines by name.
    fn definitions(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for file in &self.files {
            for node in file.syntax.everything() {
                let kind = file.syntax.kind(node);
                let defines = ["_definition", "_declaration", "_item", "_spec", "variable_declarator"]
                    .iter()
                    .any(|ending| kind.ends_with(ending));
                if defines
                    && !file.is_in_tests(node)
                    && let Some(name) = file.syntax.field(node, "name")
                    && is_name(file.syntax.kind(name))
                {
                    names.insert(file.syntax.text(name).to_owned());
                }
            }
        }
        names
    }
}

/// A change.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) files: &'a [ChangedFile<'a>],
    pub(super) before: Side<'a>,
    pub(super) after: Side<'a>,
    /// Files of which a side could not be read.
    pub(super) unread: BTreeSet<String>,
    /// Whether anything but tests is different.
    pub(super) touches_code: bool,
    changed: BTreeSet<&'a str>,
    /// Functions beside the tests that are different or gone.
    pub(super) changed_helpers: BTreeSet<String>,
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
        let changed_helpers = changed_helpers(&before, &after);
        let mut change = Self { files, before, after, unread, touches_code: false, changed_helpers, changed };
        change.touches_code = files.iter().any(|file| change.is_code(file));
        change
    }

    /// Whether a file, by its path on either side, is different.
    pub(super) fn is_changed(&self, path: &str) -> bool {
        self.changed.contains(path)
    }

    /// Whether a file's code is different, and not its tests only.
    fn is_code(&self, file: &ChangedFile<'_>) -> bool {
        if !file.is_changed() {
            return false;
        }
        let path = file.path();
        if is_test_path(path) {
            return false;
        }
        let outside = |side: &Side<'_>, entry: Option<(&str, &[u8])>| -> Vec<u8> {
            let Some((path, bytes)) = entry else { return Vec::new() };
            let Some(read) = side.file(path) else { return bytes.to_vec() };
            bytes
                .iter()
                .enumerate()
                .filter(|(at, _)| !read.test_places.contain(*at))
                .map(|(_, byte)| *byte)
                .filter(|byte| !byte.is_ascii_whitespace())
                .collect()
        };
        outside(&self.before, file.before) != outside(&self.after, file.after)
    }

    /// Names that the code defined and no longer defines, renamed ones left out.
    pub(super) fn definitions_gone(&self) -> BTreeSet<String> {
        let after = self.after.definitions();
        let mut gone: BTreeSet<String> =
            self.before.definitions().into_iter().filter(|name| !after.contains(name)).collect();
        if gone.is_empty() {
            return gone;
        }
        let known: BTreeSet<&str> = self.before.code().map(|function| function.name.as_str()).collect();
        let new: Vec<&Function> =
            self.after.code().filter(|function| !known.contains(function.name.as_str())).take(500).collect();
        for function in self.before.code().take(2_000) {
            if gone.contains(&function.name)
                && new.iter().any(|other| likeness(&function.words, &other.words) >= RENAMED)
            {
                gone.remove(&function.name);
            }
        }
        gone
    }
}

fn changed_helpers(before: &Side<'_>, after: &Side<'_>) -> BTreeSet<String> {
    let by_name = |side: &Side<'_>| {
        let mut all: BTreeMap<String, Vec<BTreeMap<String, u32>>> = BTreeMap::new();
        for function in side.files.iter().flat_map(|file| &file.functions).filter(|one| one.is_support) {
            all.entry(function.name.clone()).or_default().push(function.words.clone());
        }
        all
    };
    let (before, after) = (by_name(before), by_name(after));
    let changed = before.iter().filter(|(name, words)| after.get(*name) != Some(*words));
    let new = after.iter().filter(|(name, _)| !before.contains_key(*name));
    // Helpers that call helpers: what calls a changed one is not told apart, so all are looked at once one is.
    let direct: BTreeSet<String> = changed.chain(new).map(|(name, _)| name.clone()).collect();
    if direct.is_empty() { direct } else { before.keys().chain(after.keys()).cloned().collect() }
}
