//! Which tests of the base the change edits, and which of their lines differ, for people to read.

use journeyman_order::bounds::{LONGEST_LINE, MOST_LOOKED_AT};
use journeyman_order::scrutiny::{ChangedTest, TestChange};
use std::collections::BTreeSet;

use super::names::{has_word, is_of};
use super::titles::{TestTitle, titles};
use crate::ChangedPath;

/// Limit of shown lines of a test on each side.
const MOST_LINES: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedTest {
    pub path: String,
    /// Its title in the file. The path, if the file contains no known tests.
    pub title: String,
    /// Its class or module, if another test in the file has the same title.
    group: Option<String>,
    /// Removed lines and added lines.
    pub old: Option<String>,
    pub new: Option<String>,
    /// Whether lines of the base's test were removed while the test remains.
    pub is_edited: bool,
}

impl EditedTest {
    /// As shown to people if the experiment does not mention it.
    #[must_use]
    pub fn as_changed(&self, how: TestChange) -> ChangedTest {
        ChangedTest {
            test: format!("{} ({})", self.title, self.path),
            how,
            old: self.old.clone(),
            new: self.new.clone(),
        }
    }

    /// Whether a runner's name refers to it.
    pub fn is(&self, name: &str) -> bool {
        name == self.path
            || (is_of(name, &self.path) != Some(false)
                && TestTitle::called(&self.title).is_called(name)
                && self.group.as_deref().is_none_or(|group| has_word(name, group)))
    }
}

/// The tests of the base in changed test files whose text differs.
pub fn edited_tests(changed: &[ChangedPath<'_>], test_paths: &[String]) -> Vec<EditedTest> {
    let mut edited = Vec::new();
    for file in changed.iter().filter(|file| test_paths.iter().any(|path| path == file.path)) {
        if edited.len() >= MOST_LOOKED_AT {
            break;
        }
        let text = |bytes: Option<&[u8]>| {
            bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default().to_owned()
        };
        let (before, after) = (text(file.before), text(file.after));
        if before.is_empty() {
            continue;
        }
        let (old, new) = (titles(file.path, &before), titles(file.path, &after));
        let found = edited.len();
        for title in &old {
            let is_same = |other: &&TestTitle| other.text == title.text && other.group == title.group;
            let is_shared =
                old.iter().chain(&new).any(|other| other.text == title.text && other.group != title.group);
            let was = title.own_text(&before);
            // Of several with the same title, the one with the same text, otherwise the one in the same place.
            let alike: Vec<&TestTitle> = new.iter().filter(is_same).collect();
            let place = old.iter().take_while(|other| !std::ptr::eq(*other, title)).filter(is_same).count();
            let written_alike = alike.iter().find(|other| other.own_text(&after) == was);
            let now = written_alike.or_else(|| alike.get(place)).or_else(|| alike.first()).copied();
            let is = now.map(|now| now.own_text(&after));
            let (gone, came) = differing(was, is.unwrap_or_default());
            let is_test = super::titles::is_a_test(file.path, title, &before);
            if is_test && (!gone.is_empty() || is.is_none()) {
                edited.push(EditedTest {
                    path: file.path.to_owned(),
                    title: title.text.clone(),
                    group: title.group.clone().filter(|_| is_shared),
                    old: shown(&gone),
                    new: shown(&came),
                    is_edited: is.is_some(),
                });
            }
        }
        if edited.len() == found {
            let (gone, came) = differing(&before, &after);
            if !gone.is_empty() && file.after.is_some() {
                edited.push(EditedTest {
                    path: file.path.to_owned(),
                    title: file.path.to_owned(),
                    group: None,
                    old: shown(&gone),
                    new: shown(&came),
                    // Helpers, imports and data: runs show whether they matter.
                    is_edited: old.is_empty() && super::sides::is_source(file.path),
                });
            }
        }
    }
    edited
}

/// Removed lines and added lines. The order of lines does not matter.
fn differing(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let lines = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.trim().trim_end_matches(',').to_owned())
            .filter(|line| line.chars().any(char::is_alphanumeric))
            .collect()
    };
    let (before, after) = (lines(before), lines(after));
    let without = |some: &[String], others: &[String]| -> Vec<String> {
        let others: BTreeSet<&String> = others.iter().collect();
        some.iter().filter(|line| !others.contains(line)).cloned().collect()
    };
    (without(&before, &after), without(&after, &before))
}

fn shown(lines: &[String]) -> Option<String> {
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
mod tests {
    use super::*;

    #[test]
    fn a_test_of_another_class_that_is_called_alike_is_not_edited() {
        let before = "class Two:\n    def test_negative(self):\n        assert two() == 2\n";
        let after =
            format!("class One:\n    def test_negative(self):\n        assert one() == 1\n\n{before}");
        let file = ChangedPath {
            path: "tests/test_x.py",
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        assert_eq!(edited_tests(&[file], &["tests/test_x.py".to_owned()]), []);
        let after = after.replace("== 2", "== 3");
        let file = ChangedPath { after: Some(after.as_bytes()), ..file };
        let edited = edited_tests(&[file], &["tests/test_x.py".to_owned()]);
        let is_meant = |name: &str| edited.iter().any(|edited| edited.is(name));
        assert!(is_meant("tests.test_x.Two.test_negative") && !is_meant("tests.test_x.One.test_negative"));
    }

    #[test]
    fn a_test_that_a_new_one_is_put_behind_is_not_edited() {
        for (path, before, new) in [
            (
                "tests/test_x.py",
                "class A:\n    def test_a(self):\n        assert a() == 1\n\n@@\nclass B:\n    x = 1\n\n\nif __name__ == '__main__':\n    main()\n",
                "    def test_b(self):\n        assert a() == 2\n\n",
            ),
            (
                "tests/x.rs",
                "#[test]\nfn a() {\n    assert_eq!(x(), 1);\n}\n\n@@struct S {\n    x: u8,\n}\n",
                "#[test]\nfn b() {\n    assert_eq!(x(), 2);\n}\n\n",
            ),
        ] {
            let (before, after) = (before.replace("@@", ""), before.replace("@@", new));
            let file = ChangedPath { path, before: Some(before.as_bytes()), after: Some(after.as_bytes()) };
            assert_eq!(edited_tests(&[file], &[path.to_owned()]), [], "{path}");
        }
    }

    #[test]
    fn an_edited_test_is_told_with_what_it_expected_and_expects() {
        let before = "def test_a():\n    assert a() == 1\n\ndef test_b():\n    assert b() == 2\n\ndef test_c():\n    assert c() == 3\n";
        let after = "def test_a():\n    assert a() == 10\n\ndef test_b():\n    assert b() == 2\n    assert b() == 2.0\n";
        let file = ChangedPath {
            path: "tests/test_x.py",
            before: Some(before.as_bytes()),
            after: Some(after.as_bytes()),
        };
        let edited = edited_tests(&[file], &["tests/test_x.py".to_owned()]);
        let told: Vec<_> = edited
            .iter()
            .map(|test| (test.title.as_str(), test.old.as_deref(), test.new.as_deref(), test.is_edited))
            .collect();
        assert_eq!(
            told,
            [
                ("test_a", Some("assert a() == 1"), Some("assert a() == 10"), true),
                ("test_c", Some("def test_c():\nassert c() == 3"), None, false),
            ]
        );
        assert!(edited[0].is("tests.test_x.test_a") && !edited[0].is("tests.test_y.test_a"));
    }
}
