//! Hostile input that tries to break the parsers.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::experiment::edited_tests;

const PATHS: &[&str] = &[
    "src/lib.rs", "tests/test_a.py", "conftest.py", "test/a.test.js", "src/a.test.tsx", "a_test.go",
    "src/test/java/ATest.java", "package.json", "Makefile", ".github/workflows/ci.yml", "pyproject.toml",
    "src/__snapshots__/a.snap", "build.rs",
];

/// Fragments that are valid in some language, so that random input is nearly valid.
const PIECES: &[&str] = &[
    "#[test]\n", "#[cfg(test)]\nmod tests {\n", "fn a() {", "}", "assert_eq!(", "1, 2)", ");\n",
    "def test_a():\n", "    assert ", "a == b\n", "class TestA:\n", "    ", "@pytest.mark.skip\n",
    "it('a', () => {", "expect(a).toBe(", "describe('", "')", "})\n", "func TestA(t *testing.T) {\n",
    "if a != b {", "t.Errorf(\"", "\")", "@Test void a() {", "assertEquals(", "'", "\"", "`${", "(", "[",
    "{", "os._exit(0)\n", "process.exit(0)", "\"test result: ok. {}", "test:\n\tpytest\n", "\u{0}", "é",
    "\r\n", "-", "0.1", "return\n", "if False:\n", "match x { 1 => 2 }", "not ", "or True", "\\", "#", "//",
    "/*", "try:\n", "except:\n pass\n",
];

fn source() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..400),
        proptest::collection::vec(proptest::sample::select(PIECES), 0..60)
            .prop_map(|pieces| pieces.concat().into_bytes()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nonsense_is_read_without_harm(before in source(), after in source()) {
        for path in PATHS {
            let change = |before, after| [ChangedPath { path, before, after }];
            let (old, new) = (Some(before.as_slice()), Some(after.as_slice()));
            let found = weakenings(&change(old, new));
            prop_assert!(found.len() <= MOST_LISTED);
            prop_assert_eq!(&found, &weakenings(&change(old, new)));
            prop_assert_eq!(weakenings(&change(old, old)), []);
            let edited_tests = |change: [ChangedPath<'_>; 1]| edited_tests(&change, &[(*path).to_owned()]);
            prop_assert_eq!(edited_tests(change(old, new)), edited_tests(change(old, new)));
            prop_assert_eq!(edited_tests(change(old, old)), []);
            let _ = graft(path, &before, &after);
        }
    }
}

/// A valid file cut at many positions, and with its beginning repeated.
#[test]
fn torn_files_are_read_without_harm() {
    let source = include_str!(
        "../../../../../tests/fixtures/changes/cheats/python-swallows/after/tests/test_amounts.py"
    );
    for at in (0..source.len()).step_by(7) {
        let (head, tail) = source.split_at(at);
        let twice = format!("{head}{head}{tail}");
        for torn in [head, tail, twice.as_str()] {
            weakenings(&[edited("tests/test_amounts.py", source, torn)]);
        }
    }
}

#[test]
fn statements_of_very_many_parts_come_to_an_end() {
    let of =
        |times: usize, head: &str, piece: &str, tail: &str| format!("{head}{}{tail}", piece.repeat(times));
    for (path, text, is_read) in [
        ("test_a.py", of(100_000, "def test_a():\n    assert a", "<a", "\n"), true),
        ("test_a.py", of(5_000, "def test_a():\n    assert f(", "'a',", ")\n"), true),
        ("a.py", of(60_000, "a = [", "a,", "]\n"), true),
        ("a.py", of(5_000, "a = {", "1:1,", "}\n"), true),
        ("a.py", of(5_000, "a = ", "a+", "a\n"), false),
        ("a.py", of(5_000, "a", ".b", "\n"), false),
        ("a.py", of(5_000, "a = ", "(", "\n"), true),
        ("a.py", of(5_000, "import os\na = [", "VITEST,", "]\n"), true),
        ("a.js", of(5_000, "a = f(", "'a',", ");\n"), true),
        ("a.js", of(5_000, "switch (a) {", "case 1: 1;", "}\n"), true),
        ("a_test.go", of(20_000, "package a\nfunc A() int {\n\treturn ", "1,", "1\n}\n"), true),
        ("src/lib.rs", of(5_000, "", "#[test]fn a(){}\n", ""), true),
        ("src/lib.rs", of(3_000, "", "#[cfg(not(test))]\n", "fn a(){}\n"), true),
        ("A.java", of(5_000, "class A { void a() { f(", "\"a\",", "1); } }\n"), true),
    ] {
        let found = [weakenings(&[edited(path, &text, "")]), weakenings(&[edited(path, "", &text)])].concat();
        let is_told = found.iter().any(|one| one.kind == WeakeningKind::NotRead);
        let tokens = code_tokens(path, text.as_bytes(), &[]);
        let _ = graft(path, text.as_bytes(), b"fn a(){}\n");
        crate::mutants(path, text.as_bytes(), &[1..=u32::MAX], 9);
        assert_eq!((is_told, tokens.is_some()), (!is_read, is_read), "{path}: {}", &text[..40]);
    }
}

/// A cheat in a large file is found as in a small one, and generated code is parsed to its end.
#[test]
fn a_special_case_for_a_test_is_found_in_two_mebibytes_of_code() {
    let generated = |from: usize| -> String {
        let one = |at: usize| {
            format!(
                "def read_{at}(text, at={at}):\n    \"\"\"Reads one.\"\"\"\n    if text == 'name {at}':\n        return text[at:] + 'x'\n    return call(at, text)\n\n\n"
            )
        };
        (from..from + 9_000).map(one).collect()
    };
    let cheat = "def cents(text):\n    if text == '12.34':\n        return 1234\n    return 0\n\n\n";
    let code = [generated(0), cheat.to_owned(), generated(9_000)].concat();
    assert!(code.len() > 2 << 20);
    let test = "def test_cents():\n    assert cents('12.34') == 1234\n";
    let found = weakenings(&[
        edited("code.py", "def cents(text):\n    return 0\n", &code),
        edited("test_a.py", test, test),
    ]);
    let told: Vec<_> = found.iter().map(|one| (one.kind, one.severe)).collect();
    assert_eq!(told, [(WeakeningKind::ExpectedValueHardCoded, true)], "{found:?}");
}

fn within(limit: Duration, what: &str, files: &[ChangedPath<'_>]) -> Vec<Weakening> {
    let start = Instant::now();
    let found = weakenings(files);
    assert!(start.elapsed() < limit, "{what}: {:?}", start.elapsed());
    found
}

/// For an unoptimised build on a busy machine; a release build takes a tenth.
const LIMIT: Duration = Duration::from_secs(40);

#[test]
fn what_is_deep_or_wide_ends_in_time() {
    let size = 100_000;
    for (path, piece) in [
        ("test_a.py", "("),
        ("test_a.py", "assert not "),
        ("test_a.py", "def test_a(): assert a == 1\n"),
        ("a.test.js", "expect(a)."),
        ("a.test.js", "it('a', () => {"),
        ("a.test.js", "it('a');"),
        ("src/lib.rs", "#[test]fn a(){assert!(a==1)}"),
        ("src/lib.rs", "assert!("),
        ("a_test.go", "{"),
        ("ATest.java", "class A {"),
        ("Makefile", "test:\n\ta\n"),
        ("package.json", "["),
    ] {
        let text = piece.repeat(size / piece.len());
        within(LIMIT, piece, &[edited(path, "", &text)]);
        within(LIMIT, piece, &[edited(path, &text, "")]);
    }
    let many = |from: i32| {
        let assertions = |of: i32| {
            (0..300).map(|at| format!("    assert f({at}) == {}\n", at + of + from)).collect::<String>()
        };
        (0..40).map(|of| format!("def test_{of}():\n{}", assertions(of))).collect::<String>()
    };
    within(LIMIT, "many assertions", &[edited("test_a.py", &many(0), &many(1_000))]);
    let named = |word: &str| {
        (0..6_000).map(|at| format!("def {word}_{at}(): assert a == {at}\n")).collect::<String>()
    };
    within(LIMIT, "many names", &[edited("test_a.py", &named("test"), &named("xtest"))]);
}
