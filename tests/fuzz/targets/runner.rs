//! A test run's output and report, both written by the code under test.

use journeyman::order::{Exit, TestReport, TestVerdict};
use journeyman::verify::{TAIL_CHARACTERS, read, read_end, tail, verdict};

use super::{parts, text};

pub const WORDS: &[&str] = &[
    "test result: ok. 24 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
    "running 3 tests\n",
    "test a::b ... ok\n",
    "test a::b ... FAILED\n",
    "===== 24 passed in 0.10s =====\n",
    "1 failed, 23 passed",
    "Ran 24 tests in 0.1s\n\nOK\n",
    "--- PASS: TestX (0.00s)\n",
    "ok  \texample.org/x\t0.1s\n",
    "{\"Action\":\"pass\",\"Test\":\"TestX\",\"Package\":\"x\"}\n",
    "TAP version 13\n",
    "1..24\n",
    "ok 1 - x\n",
    "not ok 2 - y\n",
    "# tests 24\n# pass 24\n# fail 0\n",
    "Tests:       24 passed, 24 total\n",
    "Test Files  1 passed (1)\n",
    "     Tests  24 passed (24)\n",
    "  24 passing (3ms)\n",
    "Summary [   0.1s] 24 tests run: 24 passed, 0 skipped\n",
    "\n%%\n<testsuites><testsuite name=\"x\" tests=\"24\" failures=\"0\">",
    "<testcase classname=\"a\" name=\"b\"/>",
    "</testsuite></testsuites>",
    "\n%%\n<TestRun><Results><UnitTestResult testId=\"t\" testName=\"b\" outcome=\"Passed\"><InnerResults>",
    "</UnitTestResult></TestRun>",
    "\n%%\n{\"name\": \"a:b\", \"result\": \"OK\", \"starttime\": 1.0}\n",
    "Passed!  - Failed:     0, Passed:    24, Skipped:     0, Total:    24\n",
    "Results:\nTests run: 24, Failures: 0, Errors: 0, Skipped: 0\nBUILD SUCCESS\n",
    "<!DOCTYPE x [<!ENTITY a \"b\">]>",
    "&a;",
    "<![CDATA[",
    "tests=\"18446744073709551615\"",
    "<failure>",
    "<skipped/>",
    "PASSED tests/test_a.py::test_b\n",
    "FAILED tests/test_a.py::test_b - x\n",
];

/// The first part is the output, the second the report.
pub fn runs(bytes: &[u8]) {
    let mut parts = parts(bytes).into_iter();
    let output = text(parts.next().unwrap_or_default());
    let report = parts.next();
    for reading in [
        read(&output, report),
        read_end(&output, &report.map(<[u8]>::to_vec).into_iter().collect::<Vec<_>>()),
        read(&output, Some(bytes)),
    ] {
        is_sound(&reading);
    }
    assert!(read_end(&output, &[]).cases.is_none(), "the end of an output does not name all tests");
    let tail = tail(&output);
    assert!(tail.chars().count() <= TAIL_CHARACTERS + 100, "{}", tail.chars().count());
    assert!(!tail.contains('\u{1b}'));
}

fn is_sound(reading: &TestReport) {
    for names in [&reading.failing, &reading.unloaded] {
        assert!(names.len() <= 100);
        assert!(names.iter().all(|name| (1..=300).contains(&name.chars().count())));
    }
    // The output can only make the reading worse, never better.
    let counts = reading.counts.as_ref();
    for exit in [Exit::Code(1), Exit::Code(101), Exit::Signal(9), Exit::TimedOut] {
        assert_eq!(verdict(&exit, counts), TestVerdict::Failed);
    }
    if let (Some(cases), Some(counts)) = (&reading.cases, counts) {
        assert!(
            cases.tests.len() as u64
                <= counts.passed.saturating_add(counts.failed).saturating_add(counts.skipped)
        );
    }
}
