//! Which files of the tests a run reads, as far as that is known. An edit in another file shows nothing.

use std::collections::BTreeMap;

use super::lies::TestTexts;
use super::names::{has_word, is_of, is_program_of};

/// What is known of a run of the tests.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TestReading<'a> {
    pub(super) command: &'a str,
    /// The tests that its report names.
    pub(super) names: &'a [String],
    /// What it printed.
    pub(super) output: &'a str,
}

/// How it is known that a run reads a file, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReadBy {
    /// The report names a test of it.
    Report,
    /// The output speaks of it.
    Output,
    /// The command names it, or its folder.
    Command,
    /// It is called as runners want their tests to be called.
    Usual,
    /// Nothing tells.
    Unknown,
    /// The report names tests, and none of this file, or programs, and none of this name, or it lies among data.
    Unlikely,
}

impl ReadBy {
    /// Whether tests that pass although an expectation in the file is false are evidence against them.
    pub(super) fn is_likely(self) -> bool {
        self < Self::Unknown
    }
}

impl TestReading<'_> {
    pub(super) fn of(&self, path: &str) -> ReadBy {
        let name = path.rsplit('/').next().unwrap_or(path);
        let told: Vec<Option<bool>> = self.names.iter().map(|test| is_of(test, path)).collect();
        if told.contains(&Some(true)) {
            return ReadBy::Report;
        }
        if self.output.contains(path) || has_word(self.output, name) {
            return ReadBy::Output;
        }
        if self.is_commanded(path) {
            return ReadBy::Command;
        }
        let is_other = !told.is_empty() && told.iter().all(|of| *of == Some(false));
        match (is_other || lies_among_data(path), is_called_a_test(path)) {
            (true, _) => ReadBy::Unlikely,
            (false, true) => ReadBy::Usual,
            (false, false) => ReadBy::Unknown,
        }
    }

    fn is_commanded(&self, path: &str) -> bool {
        let is_separator = |c: char| c.is_whitespace() || "\"'=;&|()".contains(c);
        self.command.split([';', '&', '|']).any(|part| {
            let words = part.split(is_separator).filter(|word| !word.is_empty());
            // In `make test` and its like it is a target.
            let mut words =
                words.enumerate().filter(|(at, word)| *at != 1 || !["test", "tests"].contains(word));
            words.any(|(_, word)| {
                let word = word.split("::").next().unwrap_or(word);
                let word = word.trim_start_matches("./").trim_end_matches('/');
                let below = path.strip_prefix(word).filter(|_| !word.is_empty());
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        })
    }
}

impl<'a> TestTexts<'a> {
    /// How it is known of each file that this run reads it.
    pub(super) fn read_by(&self, reading: &TestReading<'_>) -> BTreeMap<&'a str, ReadBy> {
        let is_program = |path: &str| reading.names.iter().any(|name| is_program_of(name, path));
        let are_programs = self.files.iter().any(|(path, _)| is_program(path));
        // A source of a program that did not run may not be built.
        let by = |path: &str| match reading.of(path) {
            ReadBy::Usual | ReadBy::Unknown if are_programs => ReadBy::Unlikely,
            known @ (ReadBy::Report | ReadBy::Output | ReadBy::Command | ReadBy::Usual)
            | known @ (ReadBy::Unknown | ReadBy::Unlikely) => known,
        };
        self.files.iter().map(|(path, _)| (path.as_str(), by(path.as_str()))).collect()
    }
}

fn lies_among_data(path: &str) -> bool {
    const FOLDERS: [&str; 12] = [
        "fixtures", "fixture", "__fixtures__", "testdata", "test_data", "test-data", "data", "resources",
        "snapshots", "__snapshots__", "__mocks__", "samples",
    ];
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| FOLDERS.contains(&folder))
}

/// Whether a word of a file's name is test or spec. Rust's are named by whoever writes them, Perl's by their ending.
fn is_called_a_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let words = pattern!(r"(?:^|[^A-Za-z])(?:tests?|specs?)(?:[^a-z]|$)|(?:Tests?|Specs?)(?:[^a-z]|$)");
    let is_by_ending = [".rs", ".t", ".bats"].iter().any(|ending| name.ends_with(ending));
    is_by_ending || path.contains("__tests__/") || words.is_match(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_run_reads_a_file_is_told_by_report_output_command_and_name() {
        let names = ["tests.test_a.test_one".to_owned(), "tests.test_b.B.test_two".to_owned()];
        let by_report = TestReading { command: "pytest", names: &names, output: "" };
        let by_command =
            TestReading { command: "cd app && ./check spec/unit::one", ..TestReading::default() };
        let by_output =
            TestReading { output: "t/stats.t .. Failed 1/4 subtests\n", ..TestReading::default() };
        let by_target = TestReading { command: "make test", ..TestReading::default() };
        for (reading, path, by) in [
            (&by_report, "tests/test_a.py", ReadBy::Report),
            (&by_report, "tests/fixtures/test_c.py", ReadBy::Unlikely),
            (&by_command, "spec/unit/parse_spec.rb", ReadBy::Command),
            (&by_command, "spec/united/parse_spec.rb", ReadBy::Usual),
            (&by_output, "t/stats.t", ReadBy::Output),
            (&by_target, "test/run.sh", ReadBy::Unknown),
            (&by_target, "test/testdata/a_test.go", ReadBy::Unlikely),
            (&by_target, "src/test/java/CentsTest.java", ReadBy::Usual),
            (&by_target, "test/latest.js", ReadBy::Unknown),
            (&by_target, "test/parse.test.js", ReadBy::Usual),
        ] {
            assert_eq!(reading.of(path), by, "{path} of {reading:?}");
        }
        assert!(ReadBy::Usual.is_likely() && !ReadBy::Unknown.is_likely());
    }

    #[test]
    fn where_programs_are_called_as_their_files_another_file_may_not_be_built() {
        let files = ["tests/misc_tests.c", "tests/old_utils_tests.c", "tests/unity_tests.c"];
        let files = files.map(|path| (path.to_owned(), Vec::new()));
        let texts = TestTexts { files: &files };
        let output = "Building C object tests/CMakeFiles/unity.dir/unity_tests.c.o\n";
        let told = |name: &str| {
            let names = [name.to_owned()];
            let by = texts.read_by(&TestReading { command: "ctest", names: &names, output });
            files.iter().map(|(path, _)| by[path.as_str()]).collect::<Vec<_>>()
        };
        assert_eq!(told("misc_tests"), [ReadBy::Report, ReadBy::Unlikely, ReadBy::Output]);
        assert_eq!(told("all"), [ReadBy::Usual, ReadBy::Usual, ReadBy::Output]);
    }
}
