//! Several runs of one runner in one output, such as from `vitest run && vitest run --config b`.
//!
//! They are combined if their number matches the command. An extra summary was printed by a test, and then only the
//! last one counts, as usual.

use std::collections::BTreeMap;

use crate::cases::counted_together;
pub(super) use crate::counts::RunnerSummary;
use crate::runner::{PrintedResult, SummaryForm};
use journeyman_order::{TestCaseStatus, TestCounts};

/// The sums of a runner from the last one up, each with its line. The code under test may have printed any of them.
pub(super) fn sums(
    lines: &[&str],
    reader: fn(&[&str]) -> Option<RunnerSummary>,
    last: &RunnerSummary,
) -> impl Iterator<Item = (Option<TestCounts>, usize)> {
    std::iter::successors(Some((last.counts, last.line)), move |(_, end)| {
        reader(lines.get(..*end)?).map(|before| (before.counts, before.line))
    })
}

/// Combines the last run with earlier ones if the command has `expected` runs. Also whether there are several.
pub(super) fn together(
    lines: &[&str],
    PrintedResult { read: reader, form }: PrintedResult,
    last: RunnerSummary,
    expected: usize,
) -> (RunnerSummary, bool) {
    if form != SummaryForm::OneRun || expected < 2 {
        return (last, false);
    }
    let mut ends: Vec<usize> = sums(lines, reader, &last).map(|(_, line)| line).take(expected + 1).collect();
    if ends.len() > expected {
        return (RunnerSummary { cases: None, ..last }, false);
    }
    ends.reverse();
    let is_whole = ends.len() == expected;
    // Output below a runner's summary precedes the next summary.
    let segment = |at: usize| {
        let from = at.checked_sub(1).and_then(|before| ends.get(before)).map_or(0, |end| end + 1);
        let to = ends.get(at + 1).copied().unwrap_or(lines.len());
        reader(lines.get(from..to)?)
    };
    let runs: Option<Vec<RunnerSummary>> = (0..ends.len()).map(segment).collect();
    let Some(runs) = runs else { return (RunnerSummary { cases: None, ..last }, false) };
    let are_several = runs.len() > 1;
    let counts =
        runs.iter().try_fold(TestCounts::default(), |all, run| Some(counted_together(all, run.counts?)));
    let cases = runs.iter().try_fold(BTreeMap::new(), |all, run| joined(all, run.cases.as_ref()?));
    let summary = RunnerSummary {
        counts,
        failing: runs.into_iter().flat_map(|run| run.failing).collect(),
        cases: cases.filter(|_| is_whole),
        is_whole: last.is_whole && is_whole,
        ..last
    };
    (summary, are_several)
}

/// The summary of what two runners printed, without names.
pub(super) fn of_two_runners(one: RunnerSummary, other: RunnerSummary) -> RunnerSummary {
    RunnerSummary {
        counts: one.counts.zip(other.counts).map(|(one, other)| counted_together(one, other)),
        failing: [one.failing, other.failing].concat(),
        line: one.line.max(other.line),
        cases: None,
        programs: Vec::new(),
        is_whole: one.is_whole && other.is_whole,
    }
}

/// A repeated name is the same test in another run.
fn joined(
    mut all: BTreeMap<String, TestCaseStatus>,
    more: &BTreeMap<String, TestCaseStatus>,
) -> Option<BTreeMap<String, TestCaseStatus>> {
    for (name, status) in more {
        let free = (2..20).map(|run| format!("{name} [run {run}]")).find(|name| !all.contains_key(name));
        let name = if all.contains_key(name) { free? } else { name.clone() };
        all.insert(name, *status);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::super::{read, read_runs};
    use crate::runs::TestRuns;

    const ONE: &str = "\n RUN  v4.1.12 /p\n\n ✓ a.test.mjs > adds 1ms\n ✓ a.test.mjs > more 1ms\n\n Test Files  1 passed (1)\n      Tests  2 passed (2)\n   Start at  09:10:54\n";
    const TWO: &str = "\n RUN  v4.1.12 /p\n\n ✓ a.test.mjs > adds 1ms\n × b.test.mjs > fails 1ms\n\n FAIL  b.test.mjs > fails\n\n Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 1 passed (2)\n   Start at  09:10:55\n";

    fn counted(output: &str, runs: &[&str]) -> (u64, u64, u64) {
        let counts = read_runs(output, &[], &TestRuns::named(runs)).counts.expect("counts");
        (counts.passed, counts.failed, counts.skipped)
    }

    #[test]
    fn runs_that_the_command_has_are_counted_together_and_their_tests_named() {
        let both = format!("{ONE}{TWO}");
        assert_eq!(counted(&both, &["vitest", "vitest"]), (3, 1, 0));
        let reading = read_runs(&both, &[], &TestRuns::named(&["vitest", "vitest"]));
        assert_eq!(reading.failing, ["b.test.mjs > fails"]);
        let one = "a.py::test_adds PASSED\na.py::test_more PASSED\n===== 2 passed in 0.01s =====\n";
        let two = "a.py::test_adds PASSED\n===== 1 passed in 0.02s =====\n";
        let reading = read_runs(&format!("{one}{two}"), &[], &TestRuns::named(&["pytest", "pytest"]));
        let cases = reading.cases.expect("names");
        let names: Vec<&str> = cases.tests.keys().map(String::as_str).collect();
        assert_eq!(names, ["a.py::test_adds", "a.py::test_adds [run 2]", "a.py::test_more"]);
        let line = "===== 2 passed in 0.01s =====\n===== 1 failed, 1 skipped in 0.02s =====\n";
        assert_eq!(counted(line, &["pytest", "pytest"]), (2, 1, 1));
        // Each run overwrites the report.
        let report = br#"<testsuites><testsuite><testcase classname="a" name="b"/></testsuite></testsuites>"#;
        let reading = read_runs(line, &[report.to_vec()], &TestRuns::named(&["pytest", "pytest"]));
        assert_eq!((reading.counts.map(|counts| counts.passed), reading.cases), (Some(2), None));
    }

    #[test]
    fn what_a_test_prints_is_no_run_of_its_own() {
        let both = format!("{ONE}{TWO}");
        assert_eq!(counted(&both, &["vitest"]), (1, 1, 0), "the command has one");
        assert_eq!(read(&both, None).counts, read_runs(&both, &[], &TestRuns::named(&["vitest"])).counts);
        let forged = format!("{ONE}{ONE}{TWO}");
        assert_eq!(counted(&forged, &["vitest", "vitest"]), (1, 1, 0), "there are more than the command has");
        assert_eq!(read_runs(&forged, &[], &TestRuns::named(&["vitest", "vitest"])).cases, None);
        assert_eq!(counted(&both, &["jest", "jest"]), (1, 1, 0), "they are of another runner");
    }

    #[test]
    fn of_runs_that_stopped_at_a_failure_not_all_tests_are_named() {
        assert_eq!(counted(TWO, &["vitest", "vitest"]), (1, 1, 0));
        assert_eq!(read_runs(TWO, &[], &TestRuns::named(&["vitest", "vitest"])).cases, None);
    }

    #[test]
    fn what_mocha_says_below_its_summary_is_of_its_own_run() {
        let one = "  sums\n    ✔ adds\n    1) fails\n\n\n  1 passing (3ms)\n  1 failing\n\n  1) sums\n       fails:\n     Error\n\n";
        let two = "  more\n    ✔ holds\n\n\n  1 passing (2ms)\n\n";
        assert_eq!(counted(&format!("{one}{two}"), &["mocha"; 2]), (2, 1, 0));
    }
}
