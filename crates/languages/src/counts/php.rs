//! PHPUnit and Pest: what their summaries count. A JUnit report names their tests.

use super::{RunnerSummary, last_of, number, numbers, summary};
use journeyman_order::TestCounts;

/// `OK (3 tests, 3 assertions)`, or `Tests: 3, Assertions: 3, Failures: 1.` below a line that ends with `!`.
pub(crate) fn phpunit(lines: &[&str]) -> Option<RunnerSummary> {
    let green = pattern!(r"^OK \((\d+) tests?, \d+ assertions?\) *$");
    let counted = pattern!(r"^Tests: (\d+), Assertions: \d+((?:, [A-Z][A-Za-z ]*: \d+)*)\. *$");
    let (line, (total, words)) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        if *line == "No tests executed!" {
            return Some((at, (0, "")));
        }
        if let Some(found) = green.captures(line) {
            return Some((at, (number(&found, 1), "")));
        }
        let found = counted.captures(line)?;
        let is_below = lines.get(at.checked_sub(1)?)?.trim_end().ends_with('!');
        is_below.then(|| (at, (number(&found, 1), found.get(2).map_or("", |words| words.as_str()))))
    })?;
    let mut counts = TestCounts::default();
    for (kind, count) in words.split(", ").filter_map(|part| part.split_once(": ")) {
        let count: u64 = count.parse().unwrap_or(0);
        match kind {
            "Errors" | "Failures" => counts.failed = counts.failed.saturating_add(count),
            "Skipped" | "Incomplete" => counts.skipped = counts.skipped.saturating_add(count),
            // A test that is risky, or that a warning or a deprecation is about, passes.
            _ => {}
        }
    }
    // Its own errors, such as a provider of data that fails, are errors and none of the tests.
    let own = pattern!(r"^There (?:was|were) (\d+) PHPUnit errors?:$");
    let above = lines.get(..line)?;
    let beside = last_of(above, |line| Some(number(&own.captures(line)?, 1))).map_or(0, |(_, count)| count);
    let of_tests = counts.failed.saturating_sub(beside).saturating_add(counts.skipped);
    counts.passed = total.saturating_sub(of_tests);
    Some(RunnerSummary { failing: failing(above), ..summary(counts, line) })
}

/// The numbered tests below `There was 1 failure:` and its like. It lists risky and skipped tests in the same way.
fn failing(lines: &[&str]) -> Vec<String> {
    let head = pattern!(r"^There (?:was|were) \d+ (.+):$");
    let item = pattern!(r"^\d+\) (\S.*)$");
    let (mut is_red, mut failing) = (false, Vec::new());
    for line in lines {
        if let Some(kind) = head.captures(line).and_then(|found| found.get(1)) {
            is_red = kind.as_str().contains("error") || kind.as_str().contains("failure");
        } else if is_red && let Some(name) = item.captures(line).and_then(|found| found.get(1)) {
            failing.push(name.as_str().to_owned());
        }
    }
    failing
}

/// `  Tests:    1 failed, 1 skipped, 2 passed (3 assertions)`, and then how long it took. Laravel prints the same.
pub(crate) fn pest(lines: &[&str]) -> Option<RunnerSummary> {
    let tests = pattern!(r"^  Tests: +(\d+ .+)$");
    let took = pattern!(r"^  (?:Duration|Time): +[\d.]+m?s *$");
    let (line, words) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let found = tests.captures(line)?.get(1)?.as_str();
        took.is_match(lines.get(at + 1)?).then_some((at, found))
    })?;
    let mut counts = TestCounts::default();
    for (count, kind) in numbers(words) {
        let place = match kind {
            "passed" | "risky" | "warning" | "warnings" | "deprecated" | "notice" | "notices" => {
                &mut counts.passed
            }
            "failed" => &mut counts.failed,
            "skipped" | "incomplete" | "todo" | "todos" | "pending" => &mut counts.skipped,
            _ => continue,
        };
        *place = place.saturating_add(count);
    }
    let failed = pattern!(r"^ +FAILED +(\S.*? > .+?)(?: {2,}.*)?$");
    let above = lines.get(..line)?.iter();
    let failing = above.filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str().to_owned())).collect();
    Some(RunnerSummary { failing, ..summary(counts, line) })
}

#[cfg(test)]
mod tests {
    use crate::reading::read;

    fn counted(output: &str) -> Option<(u64, u64, u64)> {
        read(output, None).counts.map(|counts| (counts.passed, counts.failed, counts.skipped))
    }

    #[test]
    fn phpunit_counts_what_did_not_pass() {
        assert_eq!(counted("OK (3 tests, 3 assertions)\n"), Some((3, 0, 0)));
        assert_eq!(counted("No tests executed!\n"), Some((0, 0, 0)));
        let warned = "WARNINGS!\nTests: 3, Assertions: 2, Warnings: 2, Risky: 1.\n";
        assert_eq!(counted(warned), Some((3, 0, 0)), "they pass");
        let red = "There were 2 failures:\n\n1) App\\Tests\\CalcTest::testAdds\nFailed asserting that 2 is identical to 3.\n\n2) \
                   App\\Tests\\CalcTest::testParam with data set #1 (2, 9)\n\n--\n\nThere was 1 risky test:\n\n1) \
                   App\\Tests\\CalcTest::testRisky\n\nFAILURES!\nTests: 9, Assertions: 8, Failures: 2, Skipped: 1, Incomplete: 1, \
                   Risky: 1.\n";
        assert_eq!(counted(red), Some((5, 2, 2)));
        let names =
            ["App\\Tests\\CalcTest::testAdds", "App\\Tests\\CalcTest::testParam with data set #1 (2, 9)"];
        assert_eq!(read(red, None).failing, names);
        let provider = "There was 1 PHPUnit error:\n\n1) CalcTest::testProvided\n\nERRORS!\nTests: 3, Assertions: 2, Errors: 2, \
                        PHPUnit Warnings: 1, Deprecations: 1.\n";
        assert_eq!(counted(provider), Some((2, 2, 0)), "one of the errors is no test");
        assert_eq!(
            counted("Tests: 3, Assertions: 2, Failures: 1.\n"),
            None,
            "whoever prints that is not PHPUnit"
        );
    }

    #[test]
    fn pest_counts_each_kind() {
        let output = "   FAIL  Tests\\Unit\\ExampleTest\n  ⨯ it subtracts 0.01s\n\n   FAILED  Tests\\Unit\\ExampleTest > it \
                      subtracts\n  Failed asserting that 1 is identical to 2.\n\n  Tests:    1 deprecated, 1 failed, 1 risky, 2 todos, 1 \
                      skipped, 3 passed (7 assertions)\n  Duration: 0.12s\n\n";
        assert_eq!(counted(output), Some((5, 1, 3)));
        assert_eq!(read(output, None).failing, ["Tests\\Unit\\ExampleTest > it subtracts"]);
        assert_eq!(counted("  Tests:  2 passed\n  Time:   0.05s\n"), Some((2, 0, 0)));
        assert_eq!(counted("  Tests:  2 passed\n"), None);
    }
}
