//! Reports as runners wrote them, each read beside what the same run printed. In most of these runs a test prints that
//! more tests passed.

use super::tests::shown;
use super::*;

/// The printed text and the reports of a run.
fn read_both(printed: &str, reports: &[Vec<u8>]) -> TestReport {
    read_runs(printed, reports, &TestRuns::default())
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
fn of_reports_that_end_too_early_nothing_is_believed() {
    let whole = br#"<testsuite name="A"><testcase classname="A" name="a"/></testsuite>"#.to_vec();
    let cut = br#"<testsuite name="B" tests="2"><testcase classname="B" name="b"/>"#.to_vec();
    let other = br#"<coverage><testsuite/></coverage>"#.to_vec();
    assert_eq!(shown(&read_both("", &[whole.clone(), other])), ["+ A.a"]);
    let reading = read_both("", &[whole, cut]);
    assert_eq!((reading.cases, reading.counts), (None, None));
}
