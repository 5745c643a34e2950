//! RSpec, minitest and test-unit: what their last line counts. A helper names their tests.

use super::{RunnerSummary, last_of, number, summary};
use journeyman_order::TestCounts;

/// `4 examples, 2 failures, 1 pending, 1 error occurred outside of examples`
pub(crate) fn rspec(lines: &[&str]) -> Option<RunnerSummary> {
    let told = pattern!(
        r"^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?$"
    );
    let (line, found) = last_of(lines, |line| told.captures(line))?;
    let (failed, skipped) = (number(&found, 2), number(&found, 3));
    let passed = number(&found, 1).saturating_sub(failed).saturating_sub(skipped);
    let counts = TestCounts { passed, failed: failed.saturating_add(number(&found, 4)), skipped };
    // Below it stands what runs each failed example again.
    let again = pattern!(r"^rspec \S+ # (.+)$");
    let below = lines.get(line..).unwrap_or_default().iter();
    let failing = below.filter_map(|line| Some(again.captures(line)?.get(1)?.as_str().to_owned())).collect();
    Some(RunnerSummary { failing, ..summary(counts, line) })
}

/// `4 runs, 4 assertions, 1 failures, 0 errors, 1 skips`. Other reporters than its own say `tests`.
pub(crate) fn minitest(lines: &[&str]) -> Option<RunnerSummary> {
    let told =
        pattern!(r"^ *(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) skips)?$");
    let (line, found) = last_of(lines, |line| told.captures(line))?;
    let is_head = pattern!(r"^ *(?:\d+\) )?(?:Failure|Error):$");
    let named = pattern!(r"^(\S.*#\S.*?)(?: \[[^\]]*\])?:?$");
    let heads = lines.get(..line)?.windows(2).filter_map(|pair| match pair {
        [head, name] if is_head.is_match(head) => Some(named.captures(name)?.get(1)?.as_str().to_owned()),
        _ => None,
    });
    Some(RunnerSummary { failing: heads.collect(), ..summary(of_all(&found, number(&found, 4)), line) })
}

/// `4 tests, 4 assertions, 1 failures, 0 errors, 1 pendings, 1 omissions, 0 notifications`
pub(crate) fn test_unit(lines: &[&str]) -> Option<RunnerSummary> {
    let told = pattern!(
        r"^(\d+) tests, \d+ assertions, (\d+) failures, (\d+) errors, (\d+) pendings, (\d+) omissions, \d+ notifications$"
    );
    let (line, found) = last_of(lines, |line| told.captures(line))?;
    let head = pattern!(r"^(?:Failure|Error): (.+?\(\S+\)|\S+?)(?::(?: |$)|$)");
    let above = lines.get(..line)?.iter();
    let failing: Vec<String> =
        above.filter_map(|line| Some(head.captures(line)?.get(1)?.as_str().to_owned())).collect();
    let skipped = number(&found, 4).saturating_add(number(&found, 5));
    let counts = of_all(&found, skipped);
    // What starts or ends a class can fail, and is no test.
    let beside = failing.iter().filter(|name| !name.ends_with(')')).count() as u64;
    let passed = counts.passed.saturating_add(beside.min(counts.failed));
    Some(RunnerSummary { failing, ..summary(TestCounts { passed, ..counts }, line) })
}

/// From the number of all in group 1, and of failures and errors in groups 2 and 3.
fn of_all(found: &regex::Captures<'_>, skipped: u64) -> TestCounts {
    let failed = number(found, 2).saturating_add(number(found, 3));
    TestCounts { passed: number(found, 1).saturating_sub(failed).saturating_sub(skipped), failed, skipped }
}

#[cfg(test)]
mod tests {
    use crate::reading::read;

    fn counted(output: &str) -> Option<(u64, u64, u64)> {
        read(output, None).counts.map(|counts| (counts.passed, counts.failed, counts.skipped))
    }

    #[test]
    fn what_the_last_line_counts_is_read_with_what_failed() {
        let rspec = "Finished in 0.1 seconds (files took 0.1 seconds to load)\n20 examples, 8 failures, 4 pending, 2 errors occurred \
                     outside of examples\n\nFailed examples:\n\nrspec ./spec/calc_spec.rb:11 # Calc is wrong\n\
                     rspec ./spec/calc_spec.rb[1:14:5] # Calc#zero takes 2\n";
        assert_eq!(counted(rspec), Some((8, 10, 4)));
        assert_eq!(read(rspec, None).failing, ["Calc is wrong", "Calc#zero takes 2"]);
        assert_eq!(counted("1 example, 0 failures\n"), Some((1, 0, 0)));
        let minitest = "  1) Failure:\nother calc#test_0001_adds [/project/test/calc_spec.rb:12]:\nExpected: 3\n  Actual: 2\n\n  \
                        2) Error:\nCalcTest#test_down:\nRuntimeError: down\n\n6 runs, 4 assertions, 1 failures, 1 errors, 2 skips\n";
        assert_eq!(counted(minitest), Some((2, 2, 2)));
        assert_eq!(read(minitest, None).failing, ["other calc#test_0001_adds", "CalcTest#test_down"]);
        assert_eq!(counted("3 tests, 2 assertions, 1 failures, 0 errors, 1 skips\n"), Some((1, 1, 1)));
        let unit = "Failure: test_adds(TestCalc)\nError: test_down(TestCalc): RuntimeError: down\nError: TestCalc::inside: \
                    RuntimeError: no start\n12 tests, 8 assertions, 1 failures, 3 errors, 1 pendings, 1 omissions, 1 \
                    notifications\n63.6364% passed\n";
        assert_eq!(counted(unit), Some((7, 4, 2)), "the start of a class is no test");
        assert_eq!(
            read(unit, None).failing,
            ["test_adds(TestCalc)", "test_down(TestCalc)", "TestCalc::inside"]
        );
        assert_eq!(counted("They say: 3 examples, 0 failures.\n"), None);
    }
}
