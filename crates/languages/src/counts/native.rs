//! CTest, Meson, Automake, uvu, Bun and AVA. A test of CTest and Automake is a named program.

use std::collections::BTreeSet;

use super::{RunnerSummary, ends, last_of, summary};
use crate::cases::CaseList;
use journeyman_order::{TestCaseStatus, TestCounts};

/// The summary of a run that may have stopped at a failure.
fn in_part(counts: TestCounts, line: usize) -> RunnerSummary {
    RunnerSummary { is_whole: false, ..summary(counts, line) }
}

/// `95% tests passed, 1 tests failed out of 20`, or `100% tests passed out of 20`, below a line for each test.
pub(crate) fn ctest(lines: &[&str]) -> Option<RunnerSummary> {
    let total = pattern!(r"^\d+% tests passed(?:, (\d+) tests? failed)? out of (\d+)$");
    let case = pattern!(
        r"^ *\d+/\d+ Test +#\d+: (?P<name>\S.*?) \.{2,} *(?:(?P<good>Passed)|\*\*\*(?:Skipped|Not Run \(Disabled\))|(?P<bad>\*\*\*))"
    );
    let off = pattern!(r"^ *\d+/\d+ Test +#\d+: .*\*\*\*Not Run \(Disabled\)");
    let listed = pattern!(r"^\s+\d+ - (\S.*) \([^()]+\)");
    let none = lines.iter().rposition(|line| *line == "No tests were found!!!");
    let Some((line, told)) = last_of(lines, |line| total.captures(line)) else {
        return none.map(|line| in_part(TestCounts::default(), line));
    };
    let (failed, of) = (super::number(&told, 1), super::number(&told, 2));
    let begun = lines.get(..line)?.iter().rposition(|line| line.starts_with("Test project ")).unwrap_or(0);
    let own = lines.get(begun..line)?;
    // What a test prints may look like these lines, and comes before this list.
    let below = lines.iter().skip(line).skip_while(|line| **line != "The following tests FAILED:");
    let failing: BTreeSet<String> =
        below.filter_map(|line| Some(listed.captures(line)?[1].to_owned())).collect();
    let mut cases = CaseList::default();
    for (name, status) in ends(own, [case]) {
        cases.add(name, if failing.contains(name) { TestCaseStatus::Failed } else { status });
    }
    let skipped = cases.counts().skipped;
    // Disabled tests are not part of the total.
    let disabled = own.iter().filter(|line| off.is_match(line)).count() as u64;
    let passed = of.checked_sub(failed)?.checked_sub(skipped.saturating_sub(disabled))?;
    let counts = TestCounts { passed, failed, skipped };
    let cases = cases.adding_up_to(&counts);
    Some(RunnerSummary { failing: failing.into_iter().collect(), cases, ..summary(counts, line) })
}

/// Automake's summary, one per folder: `# TOTAL: 43`, `# PASS:  42` and so on.
pub(crate) fn automake(lines: &[&str]) -> Option<RunnerSummary> {
    let row = pattern!(r"^# (TOTAL|PASS|SKIP|XFAIL|FAIL|XPASS|ERROR): +(\d+)$");
    // It may fail as its Makefile.am expects.
    let case = pattern!(r"^(?:(?P<good>PASS)|SKIP|XFAIL|(?P<bad>FAIL|XPASS|ERROR)): (?P<name>\S.*)$");
    let (mut counts, mut total, mut last) = (TestCounts::default(), 0_u64, None);
    let mut cases = CaseList::default();
    ends(lines, [case]).for_each(|(name, status)| cases.add(name, status));
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = row.captures(line) else { continue };
        let number = super::number(&found, 2);
        let list = match &found[1] {
            "TOTAL" => {
                (total, last) = (total.saturating_add(number), Some(at));
                continue;
            }
            "PASS" => &mut counts.passed,
            "SKIP" | "XFAIL" => &mut counts.skipped,
            _ => &mut counts.failed,
        };
        *list = list.saturating_add(number);
    }
    let line = last.filter(|_| counts.ran().saturating_add(counts.skipped) == total)?;
    let cases = cases.adding_up_to(&counts);
    let is_failed = |(_, status): &(&String, &TestCaseStatus)| **status == TestCaseStatus::Failed;
    let failing = cases.iter().flatten().filter(is_failed).map(|(name, _)| name.clone()).collect();
    Some(RunnerSummary { cases, failing, ..summary(counts, line) })
}

/// uvu: `  Total:     804`, `  Passed:    804`, `  Skipped:   0`.
pub(crate) fn uvu(lines: &[&str]) -> Option<RunnerSummary> {
    let row = pattern!(r"^ *(Total|Passed|Skipped): +(\d+)$");
    let (mut counts, mut last) = (TestCounts::default(), None);
    for (at, three) in lines.windows(3).enumerate() {
        let told: Option<Vec<(String, u64)>> = three
            .iter()
            .map(|line| row.captures(line).map(|found| (found[1].to_owned(), super::number(&found, 2))))
            .collect();
        let Some([(a, total), (b, passed), (c, skipped)]) = told.as_deref() else { continue };
        if (a.as_str(), b.as_str(), c.as_str()) != ("Total", "Passed", "Skipped") {
            continue;
        }
        let failed = total.checked_sub(*passed)?;
        (counts, last) = (TestCounts { passed: *passed, failed, skipped: *skipped }, Some(at + 2));
    }
    Some(in_part(counts, last?))
}

/// `  2 tests failed`, `  3 tests passed`, `  1 test skipped` at the end. If some fail, passing tests are not counted
/// there, but each has a line above.
pub(crate) fn ava(lines: &[&str]) -> Option<RunnerSummary> {
    let row = pattern!(r"^  (\d+) (?:tests?|known failures?|hooks?) ?(passed|failed|skipped|todo)?$");
    let (passes, fails) = (pattern!(r"^  [✔√] \S"), pattern!(r"^  [✘✖×] \[fail\]: (.+)$"));
    let case = pattern!(r"^  (?:[✔√] |[✘✖×] \[fail\]: |- \[(?:skip|todo)\] )\S");
    let last = lines.iter().rposition(|line| row.is_match(line))?;
    let begun = lines.iter().position(|line| case.is_match(line))?;
    let (mut counts, mut is_counted, mut known) = (TestCounts::default(), false, 0);
    for line in lines.get(last.saturating_sub(6)..=last)? {
        let Some(found) = row.captures(line) else { continue };
        let number = super::number(&found, 1);
        match found.get(2).map(|word| word.as_str()) {
            // An expected failure has the same tick as a pass.
            None if found[0].contains("known failure") => known = number,
            Some("passed") => (counts.passed, is_counted) = (number, true),
            Some("failed") => counts.failed = counts.failed.saturating_add(number),
            _ => counts.skipped = counts.skipped.saturating_add(number),
        }
    }
    let own = lines.get(begun..last)?;
    counts.passed = match is_counted {
        true => counts.passed.saturating_add(known),
        false => own.iter().filter(|line| passes.is_match(line)).count() as u64,
    };
    let failing = own.iter().filter_map(|line| Some(fails.captures(line)?[1].to_owned())).collect();
    Some(RunnerSummary { failing, ..summary(counts, last) })
}

/// The table at the end: `Ok:  12` and so on.
pub(crate) fn meson(lines: &[&str]) -> Option<RunnerSummary> {
    let row = pattern!(r"^(Ok|Expected Fail|Fail|Unexpected Pass|Skipped|Timeout|Ignored): +(\d+) *$");
    let none = lines.iter().rposition(|line| *line == "No tests defined.");
    let Some(first) = lines.iter().rposition(|line| row.captures(line).is_some_and(|row| &row[1] == "Ok"))
    else {
        return none.map(|line| in_part(TestCounts::default(), line));
    };
    let mut counts = TestCounts::default();
    let mut last = first;
    for (at, line) in lines.iter().enumerate().skip(first) {
        let Some(found) = row.captures(line) else { if line.trim().is_empty() { continue } else { break } };
        last = at;
        let number = super::number(&found, 2);
        match &found[1] {
            "Ok" => counts.passed += number,
            "Expected Fail" | "Skipped" | "Ignored" => counts.skipped += number,
            _ => counts.failed += number,
        }
    }
    Some(summary(counts, last))
}

/// ` 12 pass`, ` 1 skip`, ` 0 fail`, and then `Ran 13 tests across 2 files.`
pub(crate) fn bun(lines: &[&str]) -> Option<RunnerSummary> {
    let ran = pattern!(r"^Ran (\d+) tests? across \d+ files?\.");
    let row = pattern!(r"^ *(\d+) (pass|fail|skip|todo)$");
    let (line, told) = last_of(lines, |line| ran.captures(line))?;
    let mut counts = TestCounts::default();
    for text in lines.get(line.saturating_sub(8)..line)? {
        let Some(found) = row.captures(text) else { continue };
        let number = super::number(&found, 1);
        match &found[2] {
            "pass" => counts.passed = number,
            "fail" => counts.failed = number,
            _ => counts.skipped = counts.skipped.saturating_add(number),
        }
    }
    let adds_up = counts.ran().saturating_add(counts.skipped) == super::number(&told, 1);
    let unloaded = bun_unloaded(lines.get(..line)?).len() as u64;
    counts.failed = counts.failed.saturating_sub(unloaded);
    adds_up.then(|| summary(counts, line))
}

/// Files in which an error came before any test, each with the number of that line. Bun counts each as a test.
pub(crate) fn bun_unloaded(lines: &[&str]) -> Vec<(usize, String)> {
    let file_of = pattern!(r"^(\S+\.[cm]?[jt]sx?):$");
    let case = pattern!(r"^\((?:pass|fail|skip|todo)\) ");
    let mut file = None;
    let mut unloaded = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(found) = file_of.captures(line) {
            file = Some(found[1].to_owned());
        } else if case.is_match(line) {
            file = None;
        } else if *line == "# Unhandled error between tests" {
            unloaded.extend(file.take().map(|file| (at, file)));
        }
    }
    unloaded
}

#[cfg(test)]
mod tests {
    use super::TestCaseStatus;
    use crate::reading::read;

    fn counted(output: &str) -> Option<(u64, u64, u64)> {
        read(output, None).counts.map(|counts| (counts.passed, counts.failed, counts.skipped))
    }

    #[test]
    fn ctest_tells_how_many_programs_passed() {
        let output = "Test project /work/build\n    Start 1: a\n1/3 Test #1: a ....   Passed    0.00 sec\n    Start 2: b\n\
                      2/3 Test #2: b ....***Failed    0.01 sec\n3/3 Test #3: c ....***Skipped   0.00 sec\n\n\
                      67% tests passed, 1 tests failed out of 3\n\nTotal Test time (real) =   0.02 sec\n";
        assert_eq!(counted(output), Some((1, 1, 1)));
        assert_eq!(counted("Test project /b\nNo tests were found!!!\n"), Some((0, 0, 0)));
        assert_eq!(counted("100% tests passed, 9 tests failed out of 3\n"), None, "it does not add up");
        let green =
            "Test project /b\n1/1 Test #1: a ....   Passed    0.00 sec\n\n100% tests passed out of 1\n";
        assert_eq!(counted(green), Some((1, 0, 0)), "as CTest 4.4 says it");
        let disabled = green.replace("\n\n", "\n2/2 Test #2: b ....***Not Run (Disabled)   0.00 sec\n\n");
        assert_eq!(counted(&disabled), Some((1, 0, 1)), "it is none of the total");
    }

    #[test]
    fn meson_tells_them_in_a_table_or_that_there_are_none() {
        let output = "1/2 graphene:matrix   OK   0.02s\n2/2 graphene:box   FAIL   0.01s   exit status 1\n\n\nSummary of Failures:\n\n\
                      2/2 graphene:box FAIL\n\nOk:                 1\nExpected Fail:      0\nFail:               1\nUnexpected Pass:    0\n\
                      Skipped:            2\nTimeout:            0\n\nFull log written to /b/meson-logs/testlog.txt\n";
        assert_eq!(counted(output), Some((1, 1, 2)));
        let expected = output.replace("Expected Fail:      0", "Expected Fail:      3");
        assert_eq!(counted(&expected), Some((1, 1, 5)), "a test that may fail shows nothing");
        assert_eq!(counted("ninja: no work to do.\nNo tests defined.\n"), Some((0, 0, 0)));
    }

    #[test]
    fn ava_counts_what_passes_only_where_nothing_fails() {
        let green = "\n  - [skip] not now\n  ✔ one\n  ✔ two words (300ms)\n  ─\n\n  2 tests passed\n  1 test skipped\n";
        assert_eq!(counted(green), Some((2, 0, 1)));
        let red = "  - [skip] ok › not now\n  ✔ ok › one\n  - [todo] test › later\n  ✔ test › adds up\n\
                   \x20 ✘ [fail]: test › adds up wrong\n  ─\n\n  test › adds up wrong\n\n  ─\n\n  1 test failed\n\
                   \x20 1 test skipped\n  1 test todo\n";
        assert_eq!(counted(red), Some((2, 1, 2)));
        assert_eq!(read(red, None).failing, ["test › adds up wrong"]);
        let known = "  ✔ a › one\n  ✔ b › two\n  ─\n\n  1 test passed\n  1 known failure\n";
        assert_eq!(counted(known), Some((2, 0, 0)));
        assert_eq!(counted("  3 tests passed\n"), None, "whoever prints that is not AVA");
    }

    #[test]
    fn automakes_folders_are_counted_together_and_name_their_programs() {
        let folder = |names: &str, rows: &str| {
            format!("{names}============\nTestsuite summary for a 1.0\n============\n{rows}============\n")
        };
        let one = folder(
            "PASS: check-a\nXFAIL: check-b\nFAIL: check-c\n",
            "# TOTAL: 3\n# PASS:  1\n# SKIP:  0\n# XFAIL: 1\n# FAIL:  1\n# XPASS: 0\n# ERROR: 0\n",
        );
        let other = folder(
            "SKIP: check-d\n",
            "# TOTAL: 1\n# PASS:  0\n# SKIP:  1\n# XFAIL: 0\n# FAIL:  0\n# XPASS: 0\n# ERROR: 0\n",
        );
        let output = format!("{one}make[1]: Leaving directory\n{other}");
        assert_eq!(counted(&output), Some((1, 1, 2)));
        let reading = read(&output, None);
        assert_eq!(reading.failing, ["check-c"]);
        let tests = reading.cases.unwrap().tests;
        assert_eq!(tests.len(), 4);
        assert_eq!(tests["check-b"], TestCaseStatus::Skipped, "a test that may fail shows nothing");
        assert_eq!(counted(&output.replace("# PASS:  1", "# PASS:  9")), None, "it does not add up");
    }

    #[test]
    fn uvu_tells_the_total() {
        let output = "  x.js  • • • (3 / 4)\n\n  Total:     4\n  Passed:    3\n  Skipped:   1\n  Duration:  9.81ms\n\n";
        assert_eq!(counted(output), Some((3, 1, 1)));
        assert_eq!(counted("  Total:     4\n  Duration: 1ms\n"), None);
    }

    #[test]
    fn bun_tells_them_before_how_many_ran() {
        let output = "a.test.ts:\n(pass) adds\n(fail) subtracts\n\n 12 pass\n 1 skip\n 2 fail\n 30 expect() calls\n\
                      Ran 15 tests across 2 files. [31.00ms]\n";
        assert_eq!(counted(output), Some((12, 2, 1)));
        assert_eq!(counted(" 12 pass\nRan 15 tests across 2 files. [31.00ms]\n"), None);
    }
}
