use super::*;
use crate::report::files_after;
use journeyman_order::{TestCaseStatus, TestCounts, TestProgram};
use proptest::prelude::*;

pub(super) fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/runners/{name}", journeyman_test_support::repository().display());
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(super) fn output(name: &str) -> String {
    String::from_utf8_lossy(&fixture(name)).into_owned()
}

/// `+ name`, `- name`, `/ name`: passed, failed, skipped.
pub(super) fn shown(reading: &TestReport) -> Vec<String> {
    let cases = reading.cases.as_ref().expect("tests by name");
    let mark = |status: &TestCaseStatus| match status {
        TestCaseStatus::Passed => '+',
        TestCaseStatus::Failed => '-',
        TestCaseStatus::Skipped => '/',
    };
    cases.tests.iter().map(|(name, status)| format!("{} {name}", mark(status))).collect()
}

/// `+ name`, `- name`, `/ name`, of a run that printed and reported the same.
pub(super) fn agreed(printed: &str, report: &str) -> (TestCounts, Vec<String>) {
    let by_text = read(&output(printed), None);
    let both = read(&output(printed), Some(&fixture(report)));
    assert_eq!(both.counts, by_text.counts, "{printed}");
    assert_eq!(by_text.cases, None, "only a report names them");
    (both.counts.expect("counts"), shown(&both))
}

/// In each of these runs a test prints that a test named `forged` passed.
#[test]
fn every_test_is_named_by_what_the_runners_really_print() {
    let pytest = [
        "- test_calc.py::TestGroup::test_inner",
        "- test_calc.py::test_adds",
        "/ test_calc.py::test_expected",
        "- test_calc.py::test_fixture",
        "+ test_calc.py::test_ok",
        "+ test_calc.py::test_param[1]",
        "- test_calc.py::test_param[2]",
        "/ test_calc.py::test_skip",
        "- test_calc.py::test_teardown",
        "+ test_calc.py::test_unexpected",
    ];
    let cargo = [
        "- calc > src/lib.rs > tests::adds",
        "/ calc > src/lib.rs > tests::later",
        "+ calc > src/lib.rs > tests::ok",
        "+ calc > src/lib.rs > tests::panics",
        "+ calc > src/main.rs > tests::ok",
        "+ doc > calc > src/lib.rs - add",
        "- doc > calc > src/lib.rs - add (2)",
        "+ doc > calc > src/lib.rs - add (3)",
        "+ doc > calc > src/lib.rs - add (4)",
        "- tests/more.rs > fails",
        "+ tests/more.rs > ok",
    ];
    let unittest = [
        "- test_calc.CalcTest.test_adds",
        "+ test_calc.CalcTest.test_doc",
        "- test_calc.CalcTest.test_error",
        "/ test_calc.CalcTest.test_expected",
        "+ test_calc.CalcTest.test_loud",
        "+ test_calc.CalcTest.test_ok",
        "/ test_calc.CalcTest.test_skip",
        "- test_calc.CalcTest.test_sub",
        "- test_calc.CalcTest.test_unexpected",
    ];
    let go = [
        "- example.org/calc.TestAdds",
        "- example.org/calc.TestGroup/inner_fails",
        "+ example.org/calc.TestGroup/inner_ok",
        "+ example.org/calc.TestOK",
        "- example.org/calc.TestOwn",
        "+ example.org/calc.TestOwn/part",
        "/ example.org/calc.TestSkipped",
        "+ example.org/calc/sub.TestOK",
    ];
    let nextest = [
        "- calc > tests::adds", "+ calc > tests::flaky", "+ calc > tests::ok", "+ calc > tests::panics",
        "+ calc > top", "+ calc::bin/calc > tests::ok", "- calc::more > aborts", "- calc::more > fails",
        "+ calc::more > ok",
    ];
    let table: &[(&str, &str, &[&str], &[&str])] = &[
        ("cargo-named.txt", "libtest", &cargo, &[]),
        ("pytest-named.txt", "pytest", &pytest, &[]),
        ("pytest-xdist-named.txt", "pytest", &pytest, &[]),
        ("go-named.txt", "go", &go, &["example.org/calc/bad"]),
        ("mocha-tap.txt", "tap", &["- group fails", "+ group ok", "/ group pending"], &[]),
        ("unittest-named.txt", "unittest", &unittest, &[]),
        ("nextest-named.txt", "nextest", &nextest, &[]),
    ];
    for (name, runner, expected, unloaded) in table {
        let reading = read(&output(name), None);
        assert_eq!(shown(&reading), *expected, "{name}");
        assert_eq!(reading.cases.as_ref().unwrap().named_by.as_str(), *runner, "{name}");
        assert_eq!(reading.unloaded, *unloaded, "{name}");
    }
    let report = fixture("unittest-report.jsonl");
    assert_eq!(shown(&read(&output("unittest-named.txt"), Some(&report))), unittest);
}

#[test]
fn a_report_names_every_test_and_claims_no_more_than_the_output() {
    let (quiet, report) = (output("pytest-quiet.txt"), fixture("pytest-named.xml"));
    assert_eq!(read(&quiet, None).cases, None, "a quiet run names no test");
    let reading = read(&quiet, Some(&report));
    assert_eq!(reading.cases.as_ref().unwrap().named_by, RunnerName::JUNIT);
    assert!(shown(&reading).contains(&"- test_calc.TestGroup.test_inner".to_owned()));
    assert_eq!(shown(&reading).len(), 10);
    // The code under test rewrote the report, so it disagrees with the output.
    let forged = br#"<testsuites><testsuite name="pytest"><testcase classname="test_calc" name="test_ok"/>
        <testcase classname="test_calc" name="test_adds"/></testsuite></testsuites>"#;
    assert_eq!(read(&quiet, Some(forged)).cases, None);
    assert_eq!(shown(&read("", Some(forged))), ["+ test_calc.test_adds", "+ test_calc.test_ok"]);
}

#[test]
fn a_run_that_stopped_at_a_failure_has_not_named_all_tests() {
    for name in ["cargo-stopped.txt", "pytest-stopped.txt"] {
        let reading = read(&output(name), None);
        assert_eq!((reading.cases, reading.counts.is_some()), (None, true), "{name}");
    }
    let panicked = "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\npanic: no\n\nFAIL\texample.org/a\t0.01s\n";
    assert_eq!(read(panicked, None).cases, None);
}

#[test]
fn what_does_not_compile_or_load_is_named() {
    for (name, unloaded) in [
        ("cargo-unloaded.txt", &["calc"][..]),
        ("pytest-unloaded.txt", &["test_broken.py"][..]),
        ("unittest-unloaded.txt", &["unittest.loader._FailedTest.test_broken"][..]),
        ("vitest-named.txt", &["broken.test.mjs"][..]),
        ("cargo-named.txt", &[][..]),
    ] {
        assert_eq!(read(&output(name), None).unloaded, unloaded, "{name}");
    }
    let report = fixture("pytest-unloaded.xml");
    assert_eq!(read("", Some(&report)).unloaded, ["test_broken"]);
    let typescript =
        "src/add.test.ts(3,10): error TS2305: Module '\"./add\"' has no exported member 'sub'.\n";
    assert_eq!(read(typescript, None).unloaded, ["src/add.test.ts"]);
}

/// In the first text a test fails and prints that it passed, and another passes and prints that it failed.
#[test]
fn what_tests_print_of_each_other_swaps_no_results() {
    let rule = "=".repeat(70);
    let unittest = format!(
        "test_a (t.T.test_a) ... ok\nFAIL\ntest_b (t.T.test_b) ... FAIL\nok\n\n{rule}\nFAIL: test_a (t.T.test_a)\n----\n\n----\n\
         Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n"
    );
    let honest = unittest.replace("ok\nFAIL\n", "FAIL\n").replace("FAIL\nok\n", "ok\n");
    assert_eq!(
        (read(&unittest, None).cases, read(&unittest, None).failing),
        (None, vec!["t.T.test_a".into()])
    );
    assert_eq!(shown(&read(&honest, None)), ["- t.T.test_a", "+ t.T.test_b"]);
    let nextest = "        FAIL [   0.005s] (1/2) a b\n        PASS [   0.005s] (1/2) a b\n        PASS [   0.005s] (2/2) a c\n\
                   FORGED────────────\n     Summary [   0.012s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        \
                   FAIL [   0.005s] (1/2) a b\n";
    assert_eq!(shown(&read(&nextest.replace("FORGED", ""), None)), ["- a > b", "+ a > c"]);
    let forged = nextest.replace("FORGED", "        FAIL [   0.005s] (2/2) a c\n");
    assert_eq!(read(&forged, None).cases, None);
}

/// A program with a harness of its own, one that prints dots, and two that name their tests.
#[test]
fn a_program_that_names_no_tests_makes_only_itself_nameless() {
    let reading = read(&output("cargo-programs.txt"), None);
    let named = [
        "+ calc > src/lib.rs > tests::of_one",
        "+ doc > calc > src/lib.rs -",
        "+ tests/unit.rs > of_none",
        "- tests/unit.rs > of_three",
    ];
    assert_eq!(shown(&reading), named);
    let program = |name: &str, counts, failing: &[&str]| TestProgram {
        name: name.to_owned(),
        counts,
        failing: failing.iter().map(|test| (*test).to_owned()).collect(),
        passed: false,
    };
    let dots = TestCounts { passed: 2, failed: 1, skipped: 0 };
    assert_eq!(
        reading.programs,
        [program("tests/cases.rs", None, &[]), program("tests/dots.rs", Some(dots), &["of_five"])]
    );
    assert_eq!(reading.counts, Some(TestCounts { passed: 5, failed: 2, skipped: 0 }));
    assert_eq!(reading.failing, ["of_five", "of_three"]);
}

#[test]
fn how_a_program_ended_is_what_cargo_says_of_it() {
    let text = output("cargo-programs.txt");
    let programs = |text: &str| -> Option<Vec<(String, bool, bool)>> {
        let reading = read(text, None);
        let of = |program: &TestProgram| (program.name.clone(), program.counts.is_some(), program.passed);
        reading.cases.is_some().then(|| reading.programs.iter().map(of).collect())
    };
    let ended = |cases, dots| {
        let dots = ("tests/dots.rs".to_owned(), true, dots);
        Some(vec![("tests/cases.rs".to_owned(), false, cases), dots])
    };
    assert_eq!(programs(&text), ended(false, false));
    let failed = "error: test failed, to rerun pass `--test cases`\n";
    let fixed = text.replace(failed, "").replace("3 targets failed", "2 targets failed");
    assert_eq!(programs(&fixed), ended(true, false));
    // Cargo says that three failed, and does not say which.
    assert_eq!(programs(&text.replace(failed, "")), None);
    // What a failing test prints is not Cargo's.
    let printed = format!("     Running tests/more.rs (target/debug/deps/more-1f)\n{failed}");
    let loud = text.replace("note: run with", &format!("{printed}note: run with"));
    assert_eq!(read(&loud, None), read(&text, None));
    // A program that died has no last line.
    let died = text.replace("test result: FAILED. 2 passed", "Segmentation fault: 2 passed");
    assert_eq!(programs(&died), None);
    let quiet = died
        .replace("error: test failed, to rerun pass `--test dots`\n", "")
        .replace("3 targets failed", "2 targets failed");
    let dots = ("tests/dots.rs".to_owned(), false, true);
    assert_eq!(programs(&quiet), Some(vec![("tests/cases.rs".to_owned(), false, false), dots]));
    // Two packages have a program of this name.
    let twice = text.replace("tests/dots.rs", "tests/cases.rs");
    let names: Vec<String> = programs(&twice).expect("names").into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["tests/cases.rs", "tests/cases.rs (2)"]);
}

/// What a test prints may have no newline at its end yet.
#[test]
fn a_test_is_named_behind_what_another_one_prints_if_no_name_is_too_many() {
    let text = output("cargo-programs.txt");
    let whole = read(&text, None);
    let torn = text.replace("test of_none ... ok", "   7: <alloc::boxed::Box<F,A>test of_none ... ok");
    assert_eq!(read(&torn, None), whole);
    let torn = torn.replace("test of_three ... FAILED", "a test of_three ... FAILED");
    assert_eq!(read(&torn, None), whole);
    for forged in ["a test forged ... ok", "test forged ... ok"] {
        let forged = torn.replace("running 2 tests", &format!("running 2 tests\n{forged}"));
        let reading = read(&forged, None);
        let program = reading.programs.last().expect("a program");
        assert_eq!(
            (program.name.as_str(), &program.failing[..]),
            ("tests/unit.rs", &["of_three".to_owned()][..])
        );
        assert!(shown(&reading).iter().all(|test| !test.contains("unit.rs")));
    }
}

#[test]
fn where_no_program_names_its_tests_only_the_sum_is_known() {
    let dots = "\nrunning 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";
    let quiet = format!(
        "     Running tests/a.rs (target/debug/deps/a-1f)\n{dots}     Running tests/b.rs (target/debug/deps/b-1f)\n{dots}"
    );
    for text in [quiet.as_str(), &format!("{dots}{dots}")] {
        let reading = read(text, None);
        assert_eq!((reading.counts.map(|counts| counts.passed), reading.cases), (Some(4), None));
        assert!(reading.programs.is_empty());
    }
}

#[test]
fn a_suite_of_a_report_that_names_no_test_is_counted() {
    let named = r#"<testsuite name="a" tests="9"><testcase classname="a" name="one"/></testsuite>"#;
    let unnamed = r#"<testsuite name="b" tests="5" failures="1" errors="1" skipped="1"></testsuite>"#;
    let report = |suites: &str| format!("<testsuites tests=\"14\">{suites}</testsuites>").into_bytes();
    let reading = read("", Some(&report(&format!("{named}{unnamed}{unnamed}"))));
    assert_eq!(shown(&reading), ["+ a.one"], "some count assertions as tests");
    let counts = TestCounts { passed: 2, failed: 2, skipped: 1 };
    let of = |program: &TestProgram| (program.name.clone(), program.counts, program.passed);
    let programs: Vec<_> = reading.programs.iter().map(of).collect();
    assert_eq!(programs, [("b".to_owned(), Some(counts), false), ("b (2)".to_owned(), Some(counts), false)]);
    assert_eq!(reading.counts, Some(TestCounts { passed: 5, failed: 4, skipped: 2 }));
    // A report without any test says nothing.
    assert_eq!(read("", Some(&report(unnamed))), TestReport::default());
}

#[test]
fn reports_of_one_file_a_class_are_read_as_one_whatever_their_encoding() {
    let suite = |class: &str, result: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{class}\"><testcase classname=\"{class}\" \
             name=\"test_a\">{result}</testcase></testsuite>"
        )
    };
    let wide: Vec<u8> = "\u{feff}"
        .encode_utf16()
        .chain(suite("a.Wide", "").encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let marked =
        format!("\nm-1\n\u{feff}{}\nm-1\n{}\nm-1\n", suite("a.One", ""), suite("a.Two", "<failure/>"));
    let all = files_after(&[marked.as_bytes(), &wide].concat(), "m-1");
    assert_eq!(
        shown(&read_runs("", &all, &TestRuns::default())),
        ["+ a.One.test_a", "- a.Two.test_a", "+ a.Wide.test_a"]
    );
    assert_eq!(shown(&read("", Some(&wide))), ["+ a.Wide.test_a"]);
    assert!(files_after(b"", "m-1").is_empty());
}

#[test]
fn a_test_of_go_that_prints_without_a_newline_is_counted() {
    let text = "=== RUN   TestA\n...--- PASS: TestA (0.00s)\n=== RUN   TestB\nbegin: === RUN   TestB/one\n== \
                --- FAIL: TestB (0.01s)\n    .--- FAIL: TestB/one (0.01s)\nFAIL\nbyeFAIL\texample.org/a\t0.004s\n\
                === RUN   TestC\n--- PASS: TestC (0.00s)\nPASS\ndone.ok  \texample.org/b\t(cached)\n";
    let expected = ["+ example.org/a.TestA", "- example.org/a.TestB/one", "+ example.org/b.TestC"];
    assert_eq!(shown(&read(text, None)), expected);
    // Without -v no test is announced, and printed text of a test is not a failure.
    let quiet = "say --- FAIL: TestX (0.00s)\nok  \texample.org/a\t0.004s\n";
    let reading = read(quiet, None);
    assert_eq!((reading.counts, reading.failing), (None, Vec::new()));
}

#[test]
fn of_an_output_whose_start_is_missing_no_test_is_named() {
    for (name, are_counted) in [("cargo-named.txt", false), ("go-named.txt", false), ("jest-named.txt", true)]
    {
        let text = output(name);
        let end = read_end(&text, &[]);
        assert_eq!((end.cases, end.counts.is_some()), (None, are_counted), "{name}");
        assert_eq!(end.failing, read(&text, None).failing);
    }
    let text = output("pytest-named.txt");
    for before in ["\n".repeat(MOST_LINES), "x".repeat(LARGEST_FILE) + "\n"] {
        assert_eq!(read(&format!("{before}{text}"), None).cases, None);
    }
    let report = fixture("pytest-named.xml");
    assert!(
        read_end(&output("pytest-quiet.txt"), std::slice::from_ref(&report)).cases.is_some(),
        "a report is a whole"
    );
}

#[test]
fn there_is_an_end_to_how_many_tests_are_named_and_how_long_their_names_are() {
    let run = |count: usize, name: &dyn Fn(usize) -> String| {
        let mut text = format!("running {count} tests\n");
        for index in 0..count {
            text += &format!("test {} ... ok\n", name(index));
        }
        text + &format!(
            "\ntest result: ok. {count} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        )
    };
    let number = |index: usize| format!("t{index}");
    assert_eq!(read(&run(20_000, &number), None).cases.unwrap().tests.len(), 20_000);
    let too_many = read(&run(20_001, &number), None);
    assert_eq!((too_many.cases, too_many.counts.unwrap().passed), (None, 20_001));
    let long = read(&run(3, &|_| "x".repeat(5_000)), None).cases.unwrap();
    assert_eq!(long.tests.len(), 3, "tests of one name stay apart");
    assert!(long.tests.keys().all(|name| name.chars().count() <= 300));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any sequence of lines from real runs is parsed without a crash, and the believed names add up.
    #[test]
    fn names_that_are_believed_are_as_many_as_were_counted(
        picked in proptest::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1_usize..40), 0..12)
    ) {
        let names = ["cargo-named.txt", "nextest-named.txt", "pytest-named.txt", "pytest-xdist-named.txt",
            "unittest-named.txt", "go-named.txt", "node-tap-named.txt", "node-spec-named.txt", "vitest-named.txt",
            "jest-named.txt", "mocha-named.txt", "mocha-tap.txt", "ava-named.txt", "bun-named.txt"];
        let mut text = String::new();
        for (name, start, length) in picked {
            let whole = output(name.get::<&str>(&names));
            let lines: Vec<&str> = whole.lines().collect();
            for line in lines.iter().skip(start.index(lines.len())).take(length) {
                text += line;
                text.push('\n');
            }
        }
        let reading = read(&text, None);
        if let (Some(cases), Some(counts)) = (&reading.cases, reading.counts) {
            let of = |wanted| cases.tests.values().filter(|status| **status == wanted).count() as u64;
            prop_assert!(of(TestCaseStatus::Failed) <= counts.failed);
            prop_assert!(of(TestCaseStatus::Passed) <= counts.passed);
        }
    }
}
