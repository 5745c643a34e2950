//! Classifies a file by its path: tests or code.

/// Folders with tests and their data.
const TEST_FOLDERS: [&str; 9] =
    ["tests", "test", "__tests__", "spec", "specs", "testdata", "e2e", "testing", "__snapshots__"];
/// Folders with data of tests only.
const DATA_FOLDERS: [&str; 8] =
    ["fixtures", "__fixtures__", "golden", "goldens", "snapshots", "__mocks__", "test-data", "test_data"];
/// Endings of files that only tests have, in any language.
const DATA_ENDINGS: [&str; 5] = [".snap", ".bats", ".approved.txt", ".golden", ".t"];

/// How languages name files of tests: by extension, what such a name starts with, has before a dot, and is.
const NAMES: [(&str, &str, &str, &str); 6] = [
    ("py", "test", "_test", ""),
    ("js jsx mjs cjs ts mts cts tsx", "test-", "-test _test .test .spec", "test"),
    ("go", "", "_test", ""),
    ("java kt cs swift scala groovy php", "Test", "Test Tests TestCase IT", ""),
    ("rb", "", "_spec _test", ""),
    ("rs", "", "_tests _test", "tests"),
];
/// What makes another word of the `test` after it.
const OF_WORDS: [&str; 8] = ["la", "fas", "con", "grea", "at", "pro", "de", "manifes"];

/// Whether a file belongs to the tests rather than to the code: tests, helpers, fixtures or recorded output. Rust
/// source files may contain tests as well; their path does not show it.
pub fn is_test_path(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    is_within(folders, &TEST_FOLDERS) || name == "conftest.py" || is_named_as_tests(name)
}

/// Whether a path belongs to the tests: a test, its helpers and data, or a runner's configuration.
pub fn is_of_tests(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    is_test_path(path)
        || is_within(folders, &DATA_FOLDERS)
        || DATA_ENDINGS.iter().any(|ending| name.ends_with(ending))
        || ["test_", "test-"].iter().any(|start| stem.starts_with(start))
        || stem.ends_with("_test")
        || stem == "test"
}

fn is_within(folders: &str, known: &[&str]) -> bool {
    folders.split('/').any(|folder| known.contains(&folder))
}

/// Whether the file name alone marks a test.
fn is_named_as_tests(name: &str) -> bool {
    let Some((_, extension)) = name.rsplit_once('.') else { return false };
    let stem = name.split('.').next().unwrap_or(name);
    if matches!(extension, "c" | "cc" | "cpp" | "cxx" | "h" | "hpp") {
        return is_c_tests(&stem.to_ascii_lowercase());
    }
    let has = |words: &str| words.split_whitespace().any(|known| known == extension);
    let Some((_, starts, ends, whole)) = NAMES.iter().find(|(known, ..)| has(known)) else { return false };
    starts.split_whitespace().any(|start| stem.starts_with(start))
        || ends.split_whitespace().any(|end| name.contains(&format!("{end}.")))
        || whole.split_whitespace().any(|whole| stem == whole)
}

/// Whether a C or C++ file name without its extension marks a test: `xmltest`, `parser_tests`, `testutil`.
fn is_c_tests(stem: &str) -> bool {
    let before = stem.strip_suffix("tests").or_else(|| stem.strip_suffix("test"));
    before.is_some_and(|before| !OF_WORDS.iter().any(|word| before.ends_with(word)))
        || stem.starts_with("test_")
        || stem.starts_with("unittest")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_whether_a_file_is_of_the_tests() {
        for path in
            ["xmltest.cpp", "src/parser_tests.c", "test_util.h", "ParserTests.cs", "FooTest.kt", "a_spec.rb"]
        {
            assert!(is_test_path(path), "{path}");
        }
        for path in
            ["latest.c", "src/fastest.cpp", "contest.c", "attest.h", "testing.c", "Latest.kt", "spec.rb"]
        {
            assert!(!is_test_path(path), "{path}");
        }
    }
}
