mod budget;
mod detector;
mod judge;
mod table;

use super::*;
use journeyman_order::TestReport;
use proptest::prelude::*;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/runners/{name}", journeyman_test_support::repository().display());
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn reading(name: &str) -> TestReport {
    read(&String::from_utf8_lossy(&fixture(name)), None)
}

fn counts(passed: u64, failed: u64, skipped: u64) -> Option<TestCounts> {
    Some(TestCounts { passed, failed, skipped })
}

/// Each failing run contains a test that prints a forged summary of 24 passed tests.
#[test]
fn what_the_runners_really_print_is_counted_and_the_failing_tests_are_named() {
    let pytest = [
        "test_calc.py::test_adds",
        "test_calc.py::test_param[2]",
        "test_calc.py::TestGroup::test_inner",
        "test_calc.py::test_fixture",
    ];
    let unittest =
        ["test_calc.CalcTest.test_error", "test_calc.CalcTest.test_adds", "test_calc.CalcTest.test_sub"];
    let go = [
        "example.org/calc.TestAdds",
        "example.org/calc.TestGroup/inner_fails",
        "example.org/calc/bad [build failed]",
    ];
    let go_json = ["example.org/calc.TestAdds", "example.org/calc.TestGroup/inner_fails"];
    let vitest = ["broken.test.mjs", "calc.test.mjs > adds", "calc.test.mjs > group > inner fails"];
    let jest = ["adds", "group › inner fails", "j/broken.test.js"];
    let table: &[(&str, Option<TestCounts>, &[&str])] = &[
        ("cargo-fail.txt", counts(4, 2, 1), &["tests::adds", "fails"]),
        ("cargo-pass.txt", counts(1, 0, 0), &[]),
        ("nextest-fail.txt", counts(3, 2, 1), &["calc > tests::adds", "calc::more > fails"]),
        ("nextest-pass.txt", counts(2, 0, 4), &[]),
        ("nextest-none.txt", counts(0, 0, 6), &[]),
        ("pytest-fail.txt", counts(2, 4, 2), &pytest),
        ("pytest-q-fail.txt", counts(2, 4, 2), &pytest),
        ("pytest-color-fail.txt", counts(2, 4, 2), &pytest),
        ("pytest-xdist-fail.txt", counts(2, 4, 2), &pytest),
        ("pytest-pass.txt", counts(2, 0, 0), &[]),
        ("pytest-q-pass.txt", counts(2, 0, 0), &[]),
        ("pytest-none.txt", counts(0, 0, 0), &[]),
        ("pytest-q-none.txt", counts(0, 0, 0), &[]),
        ("unittest-fail.txt", counts(1, 3, 2), &unittest),
        ("unittest-v-fail.txt", counts(1, 3, 2), &unittest),
        ("unittest-pass.txt", counts(1, 0, 1), &[]),
        ("unittest-none.txt", counts(0, 0, 0), &[]),
        ("node-spec-fail.txt", counts(2, 2, 2), &["adds", "inner fails"]),
        ("node-tap-fail.txt", counts(2, 2, 2), &["adds", "inner fails"]),
        ("node-spec-pass.txt", counts(1, 0, 0), &[]),
        ("node-default-pass.txt", counts(1, 0, 0), &[]),
        ("vitest-fail.txt", counts(3, 2, 2), &vitest),
        ("vitest-pass.txt", counts(1, 0, 0), &["broken.test.mjs"]),
        ("vitest-none.txt", None, &[]),
        ("jest-fail.txt", counts(3, 2, 2), &jest),
        ("jest-pass.txt", counts(1, 0, 0), &["j/broken.test.js"]),
        ("jest-none.txt", None, &[]),
        ("mocha-fail.txt", counts(1, 1, 1), &["group > fails"]),
        ("mocha-tap.txt", counts(1, 1, 1), &["group fails"]),
        ("go-fail.txt", None, &go),
        ("go-v-fail.txt", counts(3, 2, 1), &go),
        ("go-json-fail.txt", counts(3, 2, 1), &go_json),
        ("go-pass.txt", None, &[]),
        ("go-v-pass.txt", counts(1, 0, 0), &[]),
        ("go-none.txt", counts(0, 0, 0), &[]),
    ];
    for (name, counts, failing) in table {
        let reading = reading(name);
        assert_eq!(reading.counts, *counts, "{name}");
        let mut expected: Vec<&str> = failing.to_vec();
        let mut found: Vec<&str> = reading.failing.iter().map(String::as_str).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_report_names_tests_exactly_and_is_believed_before_the_output() {
    let report = fixture("pytest.xml");
    let output = String::from_utf8_lossy(&fixture("pytest-pass.txt")).into_owned();
    let reading = read(&output, Some(&report));
    assert_eq!(reading.counts, counts(2, 4, 2));
    assert_eq!(
        reading.failing,
        [
            "test_calc.test_adds",
            "test_calc.test_param[2]",
            "test_calc.TestGroup.test_inner",
            "test_calc.test_fixture"
        ]
    );
    let report = fixture("node-junit.xml");
    let reading = read(&output, Some(&report));
    assert_eq!(reading.counts, counts(2, 2, 2));
    assert_eq!(reading.failing, ["test.adds", "test.inner fails"]);
    // A report that is invalid, empty or built to crash the parser leaves the output's counts.
    let deep = "<testsuite name=\"a\">".repeat(200_000);
    for bad in ["", "not xml", "<testsuites/>", "<testsuite><testcase", deep.as_str()] {
        assert_eq!(read(&output, Some(bad.as_bytes())).counts, counts(2, 0, 0));
    }
}

#[test]
fn a_report_may_be_deep_wide_and_long() {
    let output = String::from_utf8_lossy(&fixture("pytest-pass.txt")).into_owned();
    let case = "<testcase name=\"one\"/>";
    for open in [
        "<testsuite name=\"a\"><!-- </testsuite> -->",
        "<testsuite name=\"a\"><![CDATA[</testsuite>]]>",
        "<testsuite name=\"</testsuite>\">",
        "<testsuite name=\"a/>\">",
    ] {
        let nested = format!("{}{case}{}", open.repeat(100_000), "</testsuite>".repeat(100_000));
        assert_eq!(read(&output, Some(nested.as_bytes())).counts, counts(1, 0, 0), "{open}");
    }
    let attributes: String = (0..300).map(|at| format!(" a{at}=\"\"")).collect();
    let wide = format!("<testsuite><testcase name=\"one\"{attributes}/></testsuite>");
    assert_eq!(read(&output, Some(wide.as_bytes())).counts, counts(1, 0, 0));
    let many = format!("<testsuite>{}</testsuite>", case.repeat(400_000));
    let reading = read(&output, Some(many.as_bytes()));
    assert_eq!((reading.counts, reading.cases), (counts(400_000, 0, 0), None), "too many to name");
}

#[test]
fn a_summary_that_a_test_prints_flips_nothing() {
    let genuine = "running 3 tests\ntest a ... FAILED\n\nfailures:\n    a\n\n\
        test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let forged =
        "test result: ok. 24 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    for output in [format!("{forged}{genuine}"), format!("{genuine}{forged}")] {
        let reading = read(&output, None);
        assert_eq!(reading.counts, counts(2, 1, 0), "{output}");
        assert_eq!(reading.failing, ["a"]);
    }
    let pytest = "===== 24 passed in 0.01s =====\n===== 1 failed in 0.02s =====\n";
    assert_eq!(read(pytest, None).counts, counts(0, 1, 0));
    // Whatever is believed, the exit decides.
    let all_passed = TestCounts { passed: 24, failed: 0, skipped: 0 };
    assert_eq!(verdict(&Exit::Code(1), Some(&all_passed)), TestVerdict::Failed);
}

#[test]
fn the_exit_decides_and_counts_only_take_away() {
    let none = TestCounts { passed: 0, failed: 0, skipped: 3 };
    let one = TestCounts { passed: 1, failed: 0, skipped: 0 };
    let red = TestCounts { passed: 1, failed: 1, skipped: 0 };
    for (exit, counts, expected) in [
        (Exit::Code(0), None, TestVerdict::Passed),
        (Exit::Code(0), Some(&one), TestVerdict::Passed),
        (Exit::Code(0), Some(&red), TestVerdict::Failed),
        (Exit::Code(0), Some(&none), TestVerdict::NoTests),
        (Exit::Code(1), Some(&one), TestVerdict::Failed),
        (Exit::Code(1), Some(&none), TestVerdict::Failed),
        (Exit::Code(5), Some(&none), TestVerdict::NoTests),
        (Exit::Code(4), Some(&none), TestVerdict::NoTests),
        (Exit::Code(5), Some(&one), TestVerdict::Failed),
        (Exit::Code(5), None, TestVerdict::Failed),
        (Exit::Signal(9), Some(&one), TestVerdict::Failed),
        (Exit::TimedOut, Some(&one), TestVerdict::Failed),
        (Exit::TimedOut, None, TestVerdict::Failed),
    ] {
        assert_eq!(verdict(&exit, counts), expected, "{exit:?} {counts:?}");
    }
}

#[test]
fn the_tail_is_the_last_three_thousand_characters_and_fit_for_reading() {
    let long = "é".repeat(4_000) + "end";
    assert_eq!(tail(&long).chars().count(), TAIL_CHARACTERS);
    assert!(tail(&long).ends_with("éend"));
    for (output, expected) in [
        ("\u{1b}[31mred\u{1b}[0m\n", "red\n"),
        ("\u{1b}]0;title\u{7}text", "text"),
        ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
        (" 10%\r 50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\u{0}b\u{8}c\td", "abc\td"),
        ("\u{1b}[never ends\nnext", "ever ends\nnext"),
        ("\u{1b}]never ends\nnext", "\nnext"),
        ("\u{1b}", ""),
        ("", ""),
    ] {
        assert_eq!(tail(output), expected, "{output:?}");
    }
}

#[test]
fn the_end_of_a_failing_run_is_told_without_the_tests_that_passed() {
    let failed = "--- FAIL: TestA (0.00s)\n    a_test.go:7: got 1, want 2";
    let passed = "=== RUN   TestB\n--- PASS: TestB (0.00s)\n".repeat(500);
    assert!(!tail(&format!("{failed}\n{passed}FAIL\n")).contains("got 1, want 2"));
    let told = failing_tail(&format!("{failed}\n{passed}FAIL\n"));
    assert_eq!(
        told,
        format!("{failed}\nFAIL\n(lines left out that say that a test began or passed: 1000)\n")
    );
    let few = "1/2 Test #1: adds .....   Passed    0.00 sec\nt.py::test_b PASSED   [ 50%]\ntest a::b ... ok\nok 3 - c\n\
               ok  \texample.org/b\t0.01s\nt.py::test_a FAILED\nok: 3 of 4\n";
    assert_eq!(
        failing_tail(few),
        "t.py::test_a FAILED\nok: 3 of 4\n(lines left out that say that a test began or passed: 5)\n"
    );
    assert_eq!(failing_tail("no test\n"), "no test\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_output_ends_the_reader(output in "(?s).{0,400}", report in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&output, Some(&report));
        prop_assert!(tail(&output).chars().count() <= TAIL_CHARACTERS);
    }

    #[test]
    fn no_mixture_of_what_runners_print_ends_the_reader(
        picked in proptest::collection::vec((any::<prop::sample::Index>(), 0_usize..400, 0_usize..400), 0..8)
    ) {
        let names = ["cargo-fail.txt", "nextest-fail.txt", "pytest-fail.txt", "unittest-fail.txt", "go-v-fail.txt",
            "go-json-fail.txt", "node-tap-fail.txt", "node-spec-fail.txt", "vitest-fail.txt", "jest-fail.txt",
            "mocha-fail.txt", "pytest.xml"];
        let mut output = String::new();
        for (name, start, length) in picked {
            let text = String::from_utf8_lossy(&fixture(name.get::<&str>(&names))).into_owned();
            output.extend(text.chars().skip(start * 4).take(length * 4));
        }
        let reading = read(&output, Some(output.as_bytes()));
        prop_assert!(reading.failing.len() <= 100);
        prop_assert!(reading.failing.iter().all(|name| name.chars().count() <= 300));
    }
}
