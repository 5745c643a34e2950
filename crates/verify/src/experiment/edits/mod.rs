//! Which tests of the base the change edits, and which of their lines differ, for people to read.
//!
//! A test is edited if its own code is: comments, layout, its place in the file and its neighbours do not count. So a
//! decorator, an attribute or another row of its table is an edit, and a helper or a new test beside it is not.

mod written;

use std::collections::{BTreeSet, HashMap, HashSet};

use journeyman_order::bounds::{LONGEST_LINE, MOST_LOOKED_AT};
use journeyman_order::scrutiny::{ChangedTest, TestChange};

use super::family::{LanguageFamily, SourceLanguage};
use super::names::{has_word, is_of};
use super::scan::SourceScan;
use super::sides::{is_of_tests, is_source};
use super::titles::{TestTitle, is_script, titles};
use crate::ChangedPath;
use written::{TestFile, WrittenTest, difference, paired};

/// Limit of shown lines of a test on each side.
const MOST_LINES: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedTest {
    pub path: String,
    /// Its title in the file. The path for what is outside the known tests.
    pub title: String,
    /// Its class or module, if another test in the file has the same title.
    group: Option<String>,
    /// Its lines that the change removes and adds.
    pub old: Option<String>,
    pub new: Option<String>,
    /// Whether the test remains under its title, and does something else.
    pub is_edited: bool,
}

impl EditedTest {
    fn of(path: &str, title: &str, is_edited: bool) -> Self {
        let (path, title) = (path.to_owned(), title.to_owned());
        Self { path, title, group: None, old: None, new: None, is_edited }
    }

    /// As shown to people if the experiment does not mention it.
    #[must_use]
    pub fn as_changed(&self, how: TestChange) -> ChangedTest {
        let test = match self.title == self.path {
            true => self.path.clone(),
            false => format!("{} ({})", self.title, self.path),
        };
        ChangedTest { test, how, removed: false, old: self.old.clone(), new: self.new.clone() }
    }

    /// Whether the file has no such test any more, under any name.
    pub fn is_removed(&self) -> bool {
        !self.is_edited && self.new.is_none() && self.title != self.path
    }

    /// Whether a runner's name refers to it.
    pub fn is(&self, name: &str) -> bool {
        name == self.path
            || (is_of(name, &self.path) != Some(false)
                && (TestTitle::called(&self.title).is_called(name) || self.is_filled_in(name))
                && self.group.as_deref().is_none_or(|group| has_word(name, group)))
    }

    /// Whether a name is this title with a row of its table: `adds %i to $b`.
    fn is_filled_in(&self, name: &str) -> bool {
        let is_table = self.title.contains(['%', '$'])
            && LanguageFamily::of(&self.path) == Some(LanguageFamily::JavaScript);
        if !is_table {
            return false;
        }
        let places = pattern!(r"%[A-Za-z%#$]|\$\{[^}]*\}|\$#?[\w.]+");
        let mut pieces: Vec<&str> = places.split(&self.title).collect();
        let says = pieces.iter().any(|piece| piece.chars().any(char::is_alphanumeric));
        let last = pieces.pop().unwrap_or_default();
        let Some(mut before) = name.strip_suffix(last).filter(|_| says && !pieces.is_empty()) else {
            return false;
        };
        pieces.into_iter().all(|piece| {
            let rest = before.split_once(piece).map(|(_, rest)| rest);
            before = rest.unwrap_or_default();
            rest.is_some()
        })
    }
}

/// A changed file of tests, with the tests that each of its tests is after the change.
struct ComparedFile<'t> {
    path: &'t str,
    old: TestFile<'t>,
    new: TestFile<'t>,
    pairs: Vec<Option<usize>>,
    /// Tests of the change that no test of the base has become.
    added: Vec<usize>,
    is_removed: bool,
}

impl<'t> ComparedFile<'t> {
    /// `None` if the base's is no text.
    fn of(file: &ChangedPath<'t>) -> Option<Self> {
        let text = |bytes: Option<&'t [u8]>| std::str::from_utf8(bytes.unwrap_or_default()).ok();
        let (old, new) =
            TestFile::of_both(file.path, text(file.before)?, text(file.after).unwrap_or_default());
        let (pairs, added) = paired(&old.tests, &new.tests);
        Some(Self { path: file.path, old, new, pairs, added, is_removed: file.after.is_none() })
    }

    fn added(&self) -> impl Iterator<Item = &WrittenTest<'t>> {
        self.added.iter().filter_map(|at| self.new.tests.get(*at))
    }

    /// The edited, renamed and removed tests. `moved` are the tests that other files have gained.
    fn edited_tests(&self, moved: &HashSet<(&str, Vec<&str>)>) -> Vec<EditedTest> {
        let renamed: HashMap<Vec<&str>, &WrittenTest<'t>> =
            self.added().map(|test| (test.words(), test)).collect();
        let edited = self.old.tests.iter().zip(&self.pairs).filter_map(|(test, pair)| {
            let whole = || self.old.lines_of(test);
            let (is_edited, (gone, came)) = match pair.and_then(|at| self.new.tests.get(at)) {
                Some(now) if self.old.runs_the_same(test, (&self.new, now)) => return None,
                Some(now) => (true, difference((&self.old, test), (&self.new, now))?),
                None if moved.contains(&(test.title.as_str(), test.words())) => return None,
                None => match renamed.get(&test.words()) {
                    Some(now) => (false, (head_of(test, whole()), head_of(now, self.new.lines_of(now)))),
                    None => (false, (body_of(test, whole()), Vec::new())),
                },
            };
            let mut found = EditedTest::of(self.path, &test.title, is_edited);
            (found.old, found.new) = (shown(&gone), shown(&came));
            let all = || self.old.tests.iter().chain(&self.new.tests);
            let is_shared = || all().any(|other| other.title == test.title && other.groups != test.groups);
            found.group = test.groups.last().filter(|_| is_shared()).cloned();
            Some(found)
        });
        edited.take(MOST_LOOKED_AT).collect()
    }

    /// What is outside the tests: helpers, imports and data, of which runs show whether they matter, or a test that has no
    /// name.
    fn edited_rest(&self) -> Option<EditedTest> {
        let (gone, came) = difference((&self.old, &self.old.rest), (&self.new, &self.new.rest))?;
        let is_told = !self.is_removed && is_of_tests(self.path) && !gone.is_empty();
        let is_test = self.old.tests.is_empty() && is_a_test_itself(self.path, self.old.text);
        let mut found = EditedTest::of(self.path, self.path, is_test);
        (found.old, found.new) = (shown(&gone), shown(&came));
        is_told.then_some(found)
    }
}

/// Whether a file without known tests is one: a program that checks something, not a helper.
fn is_a_test_itself(path: &str, text: &str) -> bool {
    let Some(language) = SourceLanguage::of(path, text).filter(|_| is_source(path)) else { return false };
    let gives_something =
        language == SourceLanguage::JavaScript && pattern!(r"(?m)^[ \t]*export\b|\bexports\b").is_match(text);
    let checks = || is_script(path) || !SourceScan::of(text, language).assertions().is_empty();
    let functions = titles(path, text);
    let is_program = functions.is_empty() || functions.iter().any(|title| title.text == "main");
    !gives_something && is_program && checks()
}

/// The tests of the base that the change edits, renames or removes.
pub fn edited_tests(changed: &[ChangedPath<'_>], test_paths: &[String]) -> Vec<EditedTest> {
    let of_tests = changed.iter().filter(|file| test_paths.iter().any(|path| path == file.path));
    let files: Vec<ComparedFile<'_>> = of_tests.filter_map(ComparedFile::of).collect();
    let moved = files.iter().flat_map(ComparedFile::added);
    let moved: HashSet<(&str, Vec<&str>)> = moved.map(|test| (test.title.as_str(), test.words())).collect();
    let mut edited = Vec::new();
    for file in &files {
        let mut own = file.edited_tests(&moved);
        if own.is_empty() {
            own.extend(file.edited_rest());
        }
        edited.extend(own);
        edited.truncate(MOST_LOOKED_AT);
    }
    edited
}

/// The line of a test that has its title.
fn head_of<'t>(test: &WrittenTest<'_>, lines: Vec<&'t str>) -> Vec<&'t str> {
    let named = lines.iter().find(|line| line.contains(&test.title)).or(lines.first());
    named.copied().into_iter().collect()
}

/// The lines of a test below the one that has its title. All of them if it has no other line.
fn body_of<'t>(test: &WrittenTest<'_>, lines: Vec<&'t str>) -> Vec<&'t str> {
    let head = lines.iter().position(|line| line.contains(&test.title));
    let body = head.and_then(|at| lines.get(at + 1..)).filter(|body| !body.is_empty());
    body.map(<[_]>::to_vec).unwrap_or(lines)
}

fn shown(lines: &[&str]) -> Option<String> {
    let some: Vec<String> =
        lines.iter().take(MOST_LINES).map(|line| line.chars().take(LONGEST_LINE).collect()).collect();
    (!some.is_empty()).then(|| some.join("\n"))
}

pub fn words_in(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let words: BTreeSet<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| word.len() > 1).collect();
    words.into_iter().map(str::to_owned).collect()
}

pub fn defined_in(path: &str, bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let defined = pattern!(
        r"(?m)(?:\b(?:def|fn|function|func|class|const|struct|enum|trait|interface|sub|proc)\s+(\w{2,})|^\s*(?:[\w*]+\s+)+\**(\w{2,})\s*\([^;\n]*\)\s*\{)"
    );
    let mut words: Vec<String> = defined
        .captures_iter(&text)
        .filter_map(|found| Some(found.get(1).or(found.get(2))?.as_str().to_owned()))
        .take(500)
        .collect();
    let stem = path.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
    words.extend((stem.len() > 1).then(|| stem.to_owned()));
    words
}

#[cfg(test)]
mod tests;
