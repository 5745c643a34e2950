//! Hostile input that tries to break the mutation.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

const PATHS: &[&str] = &["a.rs", "a.py", "a.js", "a.ts", "a.tsx", "a.go", "a/A.java"];

/// Fragments that are valid in some language, so that random input is nearly valid.
const PIECES: &[&str] = &[
    "fn a() -> bool {", "def a() -> int:\n    ", "func a() (int, error) {", "function a() {", "int a() {",
    "if (a < b) {", "if not a:\n        ", "while a >= b", "return", " a + b ", "!a", " -1", "0xff",
    "99999999999999999999", "\"", "''", "\"\"\"", "'a'", "`${a}`", "b\"a\"", "r#\"a\"#", "true", "False",
    "break;", "continue\n", "a.b(c);", "\n", "}", "(", ")", "é", "\u{0}", "#[cfg(test)]", "x += 1", "a ?? b",
    " is not ", "=>", "match a { 1 => 2 }", ";",
];

fn source() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(proptest::sample::select(PIECES), 0..60)
            .prop_map(|pieces| pieces.concat().into_bytes()),
        proptest::collection::vec(any::<u8>(), 0..300),
    ]
}

#[track_caller]
fn differ_in_their_range(path: &str, source: &[u8]) -> Vec<Mutant> {
    let found = mutants(path, source, &[1..=u32::MAX], usize::MAX).unwrap_or_default();
    for one in &found {
        let applied = one.apply(source);
        let (start, end) = (one.at.start, one.at.start + one.text.len());
        assert_eq!(&applied[..start], &source[..start], "{one:?}");
        assert_eq!(&applied[end..], &source[one.at.end..], "{one:?}");
        assert_eq!(&applied[start..end], one.text.as_bytes(), "{one:?}");
        assert_ne!(applied, source, "{one:?}");
        let line = 1 + source[..start].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(one.line as usize, line, "{one:?}");
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_mutant_differs_in_exactly_its_range(path in proptest::sample::select(PATHS), source in source()) {
        differ_in_their_range(path, &source);
    }

    #[test]
    fn any_two_versions_of_a_file_have_changed_lines(before in source(), after in source()) {
        let most = after.split(|byte| *byte == b'\n').count() as u32;
        for range in changed_lines(Some(&before), &after) {
            prop_assert!(*range.start() >= 1 && range.end() <= &most && !range.is_empty());
        }
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// Number of syntax errors in a file.
fn errors(path: &str, source: &[u8]) -> usize {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(grammar_of(path).unwrap().loaded()).unwrap();
    let tree = parser.parse(source, None).unwrap();
    let (mut cursor, mut count) = (tree.walk(), 0);
    loop {
        count += usize::from(cursor.node().is_error() || cursor.node().is_missing());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return count;
            }
        }
    }
}

#[test]
fn mutants_of_real_files_are_in_their_language() {
    let root = journeyman_test_support::repository();
    let mut sources = files(&root.join("tests/fixtures/changes/honest"));
    sources.extend(files(&root.join("tests/fixtures/changes/cheats")).into_iter().step_by(4));
    sources.extend(files(&root.join("crates/verify/src/experiment")));
    let (mut tried, mut seen) = (0, BTreeMap::<String, usize>::new());
    let mut texts = BTreeSet::new();
    for file in sources {
        let path = file.to_str().unwrap();
        let bytes = fs::read(&file).unwrap();
        if grammar_of(path).is_none() || !texts.insert(bytes.clone()) {
            continue;
        }
        let before = errors(path, &bytes);
        let found = differ_in_their_range(path, &bytes);
        for one in found.iter().step_by(1 + found.len() / 25) {
            tried += 1;
            *seen.entry(path.rsplit('.').next().unwrap().to_owned()).or_default() += 1;
            assert!(errors(path, &one.apply(&bytes)) <= before, "{one:?}");
        }
    }
    assert!(tried > 500 && seen.len() >= 5, "{tried} mutants were tried: {seen:?}");
}

#[test]
fn deep_and_long_files_come_to_an_end() {
    let deep = format!("a = {}1{}\n", "(not ".repeat(900), ")".repeat(900));
    assert!(!mutants("a.py", deep.as_bytes(), &[1..=1], 9).unwrap_or_default().is_empty());
    let too_deep = format!("a = {}1{}\n", "(".repeat(5_000), ")".repeat(5_000));
    assert_eq!(mutants("a.py", too_deep.as_bytes(), &[1..=1], 9), None);
    assert_eq!(mutants("a.py", too_deep.as_bytes(), &[], 9), Some(Vec::new()), "no line of it changed");
    let chain = format!("package a\nfunc b(c int) int {{\n return c{} }}\n", " + c".repeat(1_500));
    assert!(!mutants("a.go", chain.as_bytes(), &[1..=9], usize::MAX).unwrap_or_default().is_empty());
    let long = "a = b < c and d + 1 == 'x'\n".repeat(10_000);
    let found = mutants("a.py", long.as_bytes(), &[1..=u32::MAX], usize::MAX).unwrap_or_default();
    assert!(found.len() < 6_000, "{}", found.len());
}
