//! File contents that are bad to publish at any path: attributes that change the file on checkout, and programs that
//! cannot be reviewed.

use std::collections::HashSet;

use super::names;

/// Git ignores lines of attributes this long.
const LONGEST_ATTRIBUTES: usize = 2_048;

/// A remark on a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ContentRemark {
    /// The reason why it must not be published.
    Refused(String),
    Warning(String),
}

/// Whether git reads attributes from a file of this name.
pub(super) fn is_attributes(name: &str) -> bool {
    names::fold(name) == ".gitattributes"
}

/// What new lines of a `.gitattributes` ask for. We test a tree byte for byte as it is in git. An attribute that
/// rewrites bytes on checkout would replace the files that we tested.
pub(super) fn attributes(new: &[u8], old: Option<&[u8]>) -> Vec<ContentRemark> {
    let lines = |bytes: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(bytes).lines().map(|line| line.trim().to_owned()).collect()
    };
    let (new, old) = (lines(new), old.map(lines).unwrap_or_default());
    let known: HashSet<&str> = old.iter().map(String::as_str).collect();
    // A macro gives these attributes another name.
    let mut rewriting = HashSet::from(["filter", "working-tree-encoding"]);
    let mut hiding = HashSet::from(["linguist-generated", "linguist-vendored"]);
    for line in old.iter().chain(&new) {
        let mut words = line.split_ascii_whitespace();
        if let Some(name) = words.next().and_then(|first| first.strip_prefix("[attr]")) {
            let sets: Vec<&str> = words.collect();
            for list in [&mut rewriting, &mut hiding] {
                if sets.iter().any(|word| is_set(word, list)) {
                    list.insert(name);
                }
            }
        }
    }
    let mut remarks = Vec::new();
    for line in new.iter().filter(|line| !known.contains(line.as_str()) && !line.starts_with('#')) {
        if line.len() >= LONGEST_ATTRIBUTES {
            let why = "a line is too long for git to read it, and not for all that read attributes";
            remarks.push(ContentRemark::Refused(why.to_owned()));
        }
        for word in rest_of(line) {
            let shown: String = word.escape_debug().to_string().chars().take(80).collect();
            if is_set(word, &rewriting) {
                let why = format!("`{shown}` has other bytes checked out than those that were tested");
                remarks.push(ContentRemark::Refused(why));
            } else if is_set(word, &hiding) || matches!(word, "-diff" | "binary" | "ident" | "export-subst") {
                let what = "changes what people see of files, or what becomes of them in a release";
                remarks.push(ContentRemark::Warning(format!("`{shown}` {what}")));
            }
        }
    }
    remarks.dedup();
    remarks
}

/// The words after a line's pattern, which may be quoted.
fn rest_of(line: &str) -> impl Iterator<Item = &str> {
    let rest = match line.strip_prefix('"') {
        Some(quoted) => {
            quoted.replace("\\\\", "xx").replace("\\\"", "xx").find('"').and_then(|end| quoted.get(end + 1..))
        }
        None => line.find(|c: char| c.is_ascii_whitespace()).and_then(|end| line.get(end..)),
    };
    rest.unwrap_or_default().split_ascii_whitespace()
}

fn is_set(word: &str, names: &HashSet<&str>) -> bool {
    let (name, value) = word.split_once('=').unwrap_or((word, "true"));
    !value.is_empty() && names.contains(name)
}

/// Whether the file is a native executable.
pub(super) fn is_program(bytes: &[u8]) -> bool {
    const BEGINNINGS: [&[u8]; 8] = [
        b"\x7fELF", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe", b"\0asm", b"dex\n",
    ];
    let windows = bytes.starts_with(b"MZ") && bytes.iter().take(512).any(|byte| *byte == 0);
    windows || BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning))
}

/// The first line with a character that changes text direction, which makes code read other than it runs.
pub(super) fn turned_line(bytes: &[u8]) -> Option<usize> {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text = std::str::from_utf8(bytes).ok()?;
    text.lines().position(|line| line.contains(turns)).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_rewrite_files_are_refused_when_they_are_new() {
        for line in [
            "*.md filter=x",
            "* text filter=lfs diff=lfs",
            "*.txt working-tree-encoding=UTF-16",
            "\"a b\" filter=x",
            "\"a \\\" b\" filter=x",
            "a\tfilter",
            "[attr]big filter=lfs",
            "[attr]big filter=lfs\n*.bin big",
        ] {
            let remarks = attributes(line.as_bytes(), None);
            assert!(remarks.iter().any(|remark| matches!(remark, ContentRemark::Refused(_))), "{line}");
            assert_eq!(attributes(line.as_bytes(), Some(line.as_bytes())), [], "{line}");
        }
        let used = attributes(b"[attr]big filter=lfs\n*.bin big", Some(b"[attr]big filter=lfs"));
        assert!(matches!(used.as_slice(), [ContentRemark::Refused(_)]), "{used:?}");
        for line in ["*.rs linguist-generated=true", "*.rs -diff", "*.rs binary"] {
            assert!(
                matches!(attributes(line.as_bytes(), None).as_slice(), [ContentRemark::Warning(_)]),
                "{line}"
            );
        }
        for line in [
            "", "# a filter=x", "* text=auto eol=lf", "filter=x text", "* -filter", "*.png !filter",
            "*.md diff=markdown",
        ] {
            assert_eq!(attributes(line.as_bytes(), None), [], "{line}");
        }
    }

    #[test]
    fn as_many_lines_and_macros_as_are_read_are_each_looked_at_once() {
        let lines = |from: u32| -> String {
            (from..from + 30_000).map(|n| format!("[attr]m{n} a filter=x\n*.a{n} m{n}\n")).collect()
        };
        let remarks = attributes(lines(30_000).as_bytes(), Some(lines(0).as_bytes()));
        assert_eq!(remarks.len(), 60_000, "each setting and each use");
    }

    #[test]
    fn programs_and_turned_text_are_known() {
        assert!(is_program(b"\x7fELF\x02\x01") && is_program(b"MZ\x90\0\x03") && is_program(b"\0asm\x01"));
        assert!(!is_program(b"MZ is a country") && !is_program(b"#!/bin/sh\n") && !is_program(b""));
        assert_eq!(turned_line("a\nb \u{202e}c\n".as_bytes()), Some(2));
        assert_eq!((turned_line("שלום".as_bytes()), turned_line(b"\xff")), (None, None));
    }

    proptest::proptest! {
        #[test]
        fn any_attributes_are_read_without_a_panic(new in "\\PC{0,80}", old in "\\PC{0,40}") {
            attributes(new.as_bytes(), Some(old.as_bytes()));
            attributes(format!("\"{new}").as_bytes(), None);
        }
    }
}
