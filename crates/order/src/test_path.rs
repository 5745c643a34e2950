//! Classifies a file by its path: tests or code.

/// Folders with tests and their data.
const TEST_FOLDERS: &[&str] = &["tests", "test", "__tests__", "spec", "specs", "testdata", "e2e", "testing"];

/// Whether a file belongs to the tests rather than to the code: tests, helpers, fixtures or recorded output. Rust
/// source files may contain tests as well; their path does not show it.
pub fn is_test_path(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(|folder| TEST_FOLDERS.contains(&folder) || folder == "__snapshots__")
        || name == "conftest.py"
        || is_named_as_tests(path)
}

/// Whether a path belongs to the tests: a test, its helpers and data, or a runner's configuration.
pub fn is_of_tests(path: &str) -> bool {
    const FOLDERS: [&str; 9] = [
        "fixtures", "__fixtures__", "golden", "goldens", "snapshots", "__snapshots__", "__mocks__",
        "test-data", "test_data",
    ];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    is_test_path(path)
        || folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || [".snap", ".bats", ".approved.txt", ".golden", ".t"].iter().any(|ending| name.ends_with(ending))
        || (stem.starts_with("test_")
            || stem.ends_with("_test")
            || stem.starts_with("test-")
            || stem == "test")
}

/// Whether the file name alone marks a test.
fn is_named_as_tests(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let Some((_, extension)) = name.rsplit_once('.') else { return false };
    match extension {
        "py" | "pyi" => is_python_tests(name),
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "mts" | "cts" | "tsx" => {
            name.contains(".test.")
                || name.contains(".spec.")
                || stem == "test"
                || stem.starts_with("test-")
                || stem.ends_with("-test")
                || stem.ends_with("_test")
        }
        "go" => name.ends_with("_test.go"),
        "java" | "kt" | "cs" | "swift" | "scala" | "groovy" | "php" => {
            stem.ends_with("Test")
                || stem.ends_with("Tests")
                || stem.ends_with("TestCase")
                || stem.ends_with("IT")
                || (stem.starts_with("Test") && stem.len() > 4)
        }
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => is_c_tests(&stem.to_ascii_lowercase()),
        "rb" => stem.ends_with("_spec") || stem.ends_with("_test"),
        "rs" => stem == "tests" || stem.ends_with("_tests") || stem.ends_with("_test"),
        _ => false,
    }
}

/// Whether a C or C++ file name without its extension marks a test: `xmltest`, `parser_tests`, `testutil`.
fn is_c_tests(stem: &str) -> bool {
    const WORDS: [&str; 8] = ["la", "fas", "con", "grea", "at", "pro", "de", "manifes"];
    let before = stem.strip_suffix("tests").or_else(|| stem.strip_suffix("test"));
    let is_word = |before: &str| WORDS.iter().any(|word| before.ends_with(word));
    before.is_some_and(|before| !is_word(before)) || stem.starts_with("test_") || stem.starts_with("unittest")
}

/// Whether Python's test runners would collect a file with this name.
fn is_python_tests(name: &str) -> bool {
    (name.starts_with("test") || name.ends_with("_test.py")) && name.ends_with(".py")
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
