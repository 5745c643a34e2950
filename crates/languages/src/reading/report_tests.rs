//! Reports as runners wrote them, each read beside what the same run printed. In most of these runs a test prints that
//! more tests passed.

use super::tests::{fixture, output, shown};
use super::*;
use crate::report::files_after;
use journeyman_order::TestCounts;

/// The printed text and the reports of a run.
fn read_both(printed: &str, reports: &[Vec<u8>]) -> TestReport {
    read_runs(printed, reports, &TestRuns::default())
}

fn counts(passed: u64, failed: u64, skipped: u64) -> Option<TestCounts> {
    Some(TestCounts { passed, failed, skipped })
}

#[test]
fn maven_and_gradle_name_each_test_by_its_class() {
    let reports = files_after(&fixture("maven-reports.txt"), "%%");
    let reading = read_both(&output("maven-named.txt"), &reports);
    assert_eq!(
        reading.counts,
        counts(17, 8, 4),
        "as Maven counts them: a test that passed at last is no failure"
    );
    assert_eq!(read(&output("maven-named.txt"), None).counts, reading.counts);
    assert_eq!(
        shown(&reading),
        [
            "- calc.BrokenSetupTest",
            "+ calc.CalcTest$Inner.within",
            "+ calc.CalcTest.adds",
            "+ calc.CalcTest.again[1]",
            "+ calc.CalcTest.again[2]",
            "/ calc.CalcTest.assumes",
            "+ calc.CalcTest.dynamic[1]",
            "- calc.CalcTest.dynamic[2]",
            "+ calc.CalcTest.each[int][1]",
            "- calc.CalcTest.each[int][2]",
            "- calc.CalcTest.errs",
            "- calc.CalcTest.fails",
            "/ calc.CalcTest.off",
            "+ calc.CalcTest.shown",
            "+ calc.CalcTest.text[String][1]",
            "+ calc.CalcTest.text[String][2]",
            "+ calc.CalcTest.thing[Object][1]",
            "+ calc.CalcTest.thing[Object][2]",
            "+ last.LastTest.green",
            "- old.AfterTest",
            "+ old.AfterTest.one",
            "- old.BeforeTest",
            "- old.FlakyTest.never",
            "+ old.FlakyTest.second",
            "+ old.FlakyTest.twice",
            "/ old.OldTest.off[0]",
            "/ old.OldTest.off[1]",
            "+ old.OldTest.whole[0]",
            "+ old.OldTest.whole[1]",
        ]
    );
    let gradle = read_both("", &files_after(&fixture("gradle-reports.txt"), "%%"));
    assert_eq!(
        shown(&gradle),
        [
            "+ last.LastTest.green", "- old.AfterTest.classMethod", "+ old.AfterTest.one",
            "- old.BeforeTest.classMethod", "+ old.CalcTest.adds", "/ old.CalcTest.assumes",
            "- old.CalcTest.errs", "- old.CalcTest.fails", "/ old.OldTest.off[0]", "/ old.OldTest.off[1]",
            "+ old.OldTest.whole[0]", "+ old.OldTest.whole[1]",
        ]
    );
}

#[test]
fn what_maven_prints_of_all_modules_is_counted_and_a_quiet_build_is_not() {
    let module =
        "[INFO] Results:\n[INFO] \n[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n[INFO] \n";
    let old =
        "Results :\n\nFailed tests: \n  a(T): no\n\nTests run: 2, Failures: 1, Errors: 0, Skipped: 0\n\n";
    let forged = "[INFO] Tests run: 9, Failures: 0, Errors: 0, Skipped: 0\n";
    let counted = |output: &str| read(output, None).counts;
    assert_eq!(counted(&format!("{forged}{module}{old}[INFO] BUILD FAILURE\n")), counts(3, 1, 1));
    assert_eq!(counted(&format!("{module}{old}")), None, "it may have left out modules that pass");
    let claims = br#"<testsuite name="T"><testcase classname="T" name="a"/><testcase classname="T" name="b"/>
        <testcase classname="T" name="c"/></testsuite>"#;
    let printed = format!("{module}[INFO] BUILD SUCCESS\n");
    assert_eq!(read(&printed, Some(claims)).cases, None, "Maven counted one pass less");
}

/// The code under test may write a report too, before or after the runner does.
#[test]
fn a_row_that_repeats_a_name_elsewhere_takes_no_failures_place() {
    let suite = |result: &str| {
        format!(r#"<testsuite name="a"><testcase classname="a" name="x">{result}</testcase></testsuite>"#)
            .into_bytes()
    };
    let [red, green, grey] = ["<failure/>", "", "<skipped/>"].map(suite);
    for (first, worse) in [(&red, "- a.x"), (&grey, "/ a.x")] {
        for reports in [[first.clone(), green.clone()], [green.clone(), first.clone()]] {
            assert_eq!(shown(&read_both("", &reports)), [worse, "+ a.x (2)"]);
        }
    }
    let row = |status: &str| format!(r#"{{"test": {{"name": "x", "status": "{status}"}}}}"#);
    for between in ["", "{\"runner\": \"vitest\"}\n"] {
        let (red, green) = (row("failed"), row("passed"));
        for report in [format!("{red}\n{between}{green}\n"), format!("{green}\n{between}{red}\n")] {
            let report = format!("{{\"runner\": \"vitest\"}}\n{report}");
            assert_eq!(shown(&read("", Some(report.as_bytes()))), ["- x", "+ x (2)"]);
        }
    }
}

#[test]
fn a_test_that_the_runner_prints_as_failed_has_not_passed_by_its_report() {
    let rule = "=".repeat(70);
    let printed = format!("{rule}\nFAIL: test_a (t.T.test_a)\n----\n\n----\nRan 2 tests in 0.1s\n\nOK\n");
    let report = "{\"runner\": \"unittest\"}\n\
        {\"test\": {\"name\": \"t.T.test_a\", \"status\": \"passed\"}}\n\
        {\"test\": {\"name\": \"t.T.test_b\", \"status\": \"passed\"}}\n";
    assert_eq!(shown(&read(&printed, Some(report.as_bytes()))), ["- t.T.test_a", "+ t.T.test_b"]);
}

#[test]
fn a_sum_that_a_test_prints_below_that_of_the_runner_makes_no_report_believed() {
    let report = fixture("unittest-report.jsonl");
    let forged = String::from_utf8_lossy(&report)
        .replace("{\"failed\": \"setUpClass (test_calc.Broken_)\"}\n", "")
        .replace("\"failed\"", "\"passed\"")
        .replace("\"skipped\"", "\"passed\"");
    let printed = output("unittest-named.txt");
    let quiet = "Ran 9 tests in 0.1s\n\nOK\n";
    assert_eq!(read(quiet, Some(forged.as_bytes())).cases.map(|cases| cases.tests.len()), Some(9));
    for below in [quiet, "===== 9 passed in 0.01s =====\n"] {
        let both = format!("{printed}{below}");
        assert_eq!(read(&both, Some(forged.as_bytes())).cases, None, "{below}");
        assert!(read(&format!("{below}{printed}"), Some(&report)).cases.is_some(), "a test may print one");
    }
}

/// As Gradle's plugin for retries reports them.
#[test]
fn a_test_that_was_tried_again_counts_as_it_ended_if_the_build_went_well() {
    let retried = br#"<testsuite name="a.FlakyTest" tests="3" failures="1">
        <testcase name="flaky()" classname="a.FlakyTest"><failure/></testcase>
        <testcase name="flaky()" classname="a.FlakyTest"/>
        <testcase name="other()" classname="a.FlakyTest"/></testsuite>"#;
    let reading = read("BUILD SUCCESSFUL in 3s\n2 actionable tasks: 2 executed\n", Some(retried));
    assert_eq!(
        (shown(&reading).join(", "), reading.counts),
        ("+ a.FlakyTest.flaky, + a.FlakyTest.other".to_owned(), counts(2, 0, 0))
    );
    // Two tests may have one name.
    for printed in
        ["BUILD SUCCESSFUL in 1s\nFAILURE: Build failed with an exception.\n\nBUILD FAILED in 3s\n", ""]
    {
        assert_eq!(
            shown(&read(printed, Some(retried))),
            ["- a.FlakyTest.flaky", "+ a.FlakyTest.flaky (2)", "+ a.FlakyTest.other"]
        );
    }
}

#[test]
fn parameters_that_change_with_each_run_are_left_out_of_names() {
    let report =
        br#"<testsuite name="T"><testcase classname="T" name="a(Object)[1] java.lang.Object@5e0df7af"/>
        <testcase classname="T" name="b(Thing)[1] Thing$$Lambda/0x00007f12d8@1b2c3d4"/></testsuite>"#;
    assert_eq!(
        shown(&read("", Some(report))),
        ["+ T.a[Object][1] java.lang.Object@…", "+ T.b[Thing][1] Thing$$Lambda/0x…@…"]
    );
}

#[test]
fn ctest_fails_for_a_program_that_it_cannot_start_whatever_its_report_calls_it() {
    let reading = read(&output("ctest-named.txt"), Some(&fixture("ctest-report.xml")));
    assert_eq!(reading.counts, counts(3, 10, 3));
    let printed = read(&output("ctest-named.txt"), None);
    assert_eq!((printed.counts, printed.cases, printed.failing.len()), (reading.counts, None, 10));
    let honest = output("ctest-named.txt").replace("1/1 Test #9: forged ....   Passed    0.00 sec\n", "");
    assert_eq!(shown(&read(&honest, None)), shown(&reading), "as it prints them without its report");
    assert_eq!(
        shown(&reading),
        [
            "+ Group/Case.adds/0", "- bad", "- crashes", "- fixture", "- forged", "- gone", "- needs",
            "/ off", "+ ok", "- reads", "/ skips", "/ skips_by_text", "- slow", "- two", "- unexpected",
            "+ will_fail",
        ]
    );
}

#[test]
fn meson_names_programs_as_it_prints_and_counts_them() {
    let reading = read(&output("meson-named.txt"), Some(&fixture("meson-log.json")));
    assert_eq!(reading.counts, counts(3, 7, 2), "an expected failure shows nothing");
    assert_eq!(read(&output("meson-named.txt"), None).counts, reading.counts);
    assert_eq!(reading.cases.as_ref().unwrap().named_by.as_str(), "meson");
    assert_eq!(
        shown(&reading),
        [
            "- calc:crashes",
            "- calc:forged",
            "+ calc:goodtap",
            "- calc:hard error",
            "+ calc:ok",
            "/ calc:skips",
            "- calc:slow",
            "- calc:taps",
            "- calc:unexpected",
            "/ calc:will fail",
            "- more - calc:bad",
            "+ more+other - calc:two words",
        ]
    );
    let log = fixture("meson-log.json");
    let cut = log.get(..log.len() - 40).unwrap();
    assert_eq!(read(&output("meson-named.txt"), Some(cut)).cases, None);
}

#[test]
fn nextest_names_tests_by_their_binary_and_counts_the_last_try() {
    let reading = read(&output("nextest-named.txt"), Some(&fixture("nextest-report.xml")));
    assert_eq!(reading.cases.as_ref().unwrap().named_by.as_str(), "nextest");
    assert_eq!(
        shown(&reading),
        [
            "- calc > tests::adds", "+ calc > tests::flaky", "+ calc > tests::ok", "+ calc > tests::panics",
            "+ calc > top", "+ calc::bin/calc > tests::ok", "- calc::more > aborts", "- calc::more > fails",
            "+ calc::more > ok",
        ]
    );
}

/// Written by hand, as VSTest documents its reports.
#[test]
fn vstest_names_tests_by_class_and_rows_by_their_parameters() {
    let reading = read_both(&output("vstest-named.txt"), &files_after(&fixture("vstest-reports.txt"), "%%"));
    assert_eq!(reading.counts, counts(6, 2, 2));
    assert_eq!(read(&output("vstest-named.txt"), None).counts, reading.counts);
    assert_eq!(
        shown(&reading),
        [
            "+ Rows.Tests.RowTests+Inner.Within",
            "+ Rows.Tests.RowTests.Adds[1,1]",
            "- Rows.Tests.RowTests.Adds[1,2]",
            "/ Rows.Tests.RowTests.Unclear",
            "+ Sums.Tests.CalcTests.Adds",
            "+ Sums.Tests.CalcTests.Each[text: \"a (b)\", number: 1]",
            "+ Sums.Tests.CalcTests.Each[text: \"c\", number: 2]",
            "- Sums.Tests.CalcTests.Fails",
            "/ Sums.Tests.CalcTests.Later",
            "+ Sums.Tests.CalcTests.shows two words",
        ]
    );
}

#[test]
fn a_report_without_tests_says_that_none_ran_unless_something_else_counts_some() {
    for empty in
        [r#"<testsuites tests="0"/>"#, r#"<testsuite name="all" tests="0"></testsuite>"#, "<TestRun/>"]
    {
        let reports = [empty.as_bytes().to_vec()];
        assert_eq!(read_both("done\n", &reports).counts, counts(0, 0, 0), "{empty}");
        assert_eq!(read_both(&output("maven-named.txt"), &reports).counts, counts(17, 8, 4), "{empty}");
    }
    let not_empty = [r#"<testsuite name="b" tests="5"></testsuite>"#, r#"<testsuites tests="0">"#, "{}"];
    for unknown in not_empty {
        assert_eq!(read_both("done\n", &[unknown.as_bytes().to_vec()]).counts, None, "{unknown}");
    }
}

#[test]
fn of_reports_that_end_too_early_nothing_is_believed() {
    let whole = br#"<testsuite name="A"><testcase classname="A" name="a"/></testsuite>"#.to_vec();
    let cut = br#"<testsuite name="B" tests="2"><testcase classname="B" name="b"/>"#.to_vec();
    let trx = br#"<TestRun><Results><UnitTestResult testId="t" testName="c" outcome="Passed"/>"#.to_vec();
    let other = br#"<coverage><testsuite/></coverage>"#.to_vec();
    assert_eq!(shown(&read_both("", &[whole.clone(), other])), ["+ A.a"]);
    for broken in [cut, trx] {
        let reading = read_both("", &[whole.clone(), broken]);
        assert_eq!((reading.cases, reading.counts), (None, None));
    }
}

#[test]
fn files_that_java_or_kotlin_cannot_compile_are_named() {
    let unloaded = |text: &str| read(text, None).unloaded;
    let line = "[ERROR] /project/core/src/test/java/calc/NewTest.java:[3,38] cannot find symbol\n";
    assert_eq!(
        unloaded(&format!("[ERROR] COMPILATION ERROR : \n{line}")),
        ["src/test/java/calc/NewTest.java"]
    );
    assert_eq!(unloaded(line), [""; 0], "a style checker may say it too");
    let gradle = ":compileTestJava/project/src/test/java/old/NewTest.java:3: error: cannot find symbol\n\
                  e: file:///project/src/test/kotlin/OneTest.kt:3:5 Unresolved reference: sum\n";
    assert_eq!(unloaded(gradle), ["src/test/java/old/NewTest.java", "src/test/kotlin/OneTest.kt"]);
}
