//! vitest, jest and mocha.

use super::{RunnerSummary, last_of, number, numbers, summary};
use journeyman_order::TestCounts;

/// Vitest: the line `Tests` directly below `Test Files`.
pub(crate) fn vitest(lines: &[&str]) -> Option<RunnerSummary> {
    let tests = pattern!(r"^ +Tests  (?:no tests|(.+) \(\d+\))$");
    let line = lines.iter().enumerate().skip(1).rev().find_map(|(at, line)| {
        let is_below = lines.get(at - 1)?.trim_start().starts_with("Test Files ");
        (is_below && tests.is_match(line)).then_some(at)
    })?;
    let words = tests.captures(lines.get(line)?)?.get(1).map_or("", |found| found.as_str());
    let counts = totals(words);
    let failed = pattern!(r"^ FAIL +(?:\|[^|]+\| )?(.+)$");
    let failing = lines
        .get(..line)?
        .iter()
        .filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str()))
        // A file that could not be loaded is named twice: `a.test.ts [ a.test.ts ]`.
        .map(|name| name.split_once(" [ ").map_or(name, |(file, _)| file).to_owned())
        .collect();
    Some(RunnerSummary { failing, ..summary(counts, line) })
}

/// Jest: the line `Tests:` directly below `Test Suites:`.
pub(crate) fn jest(lines: &[&str]) -> Option<RunnerSummary> {
    let tests = pattern!(r"^Tests: +(.+), \d+ total$|^Tests: +0 total$");
    let line = lines.iter().enumerate().skip(1).rev().find_map(|(at, line)| {
        (lines.get(at - 1)?.starts_with("Test Suites: ") && tests.is_match(line)).then_some(at)
    })?;
    let words = tests.captures(lines.get(line)?)?.get(1).map_or("", |found| found.as_str());
    let mut failing = Vec::new();
    let mut file = "";
    for line in lines.get(..line)? {
        if let Some(path) = line.strip_prefix("FAIL ") {
            file = path.split_once(" (").map_or(path, |(path, _)| path).trim();
        } else if let Some(name) = line.strip_prefix("  ● ") {
            match name {
                "Console" => {}
                "Test suite failed to run" => failing.push(file.to_owned()),
                _ => failing.push(name.to_owned()),
            }
        }
    }
    Some(RunnerSummary { failing, ..summary(totals(words), line) })
}

/// Mocha: `N passing (…)`, with pending and failing below it.
pub(crate) fn mocha(lines: &[&str]) -> Option<RunnerSummary> {
    let passing = pattern!(r"^  (\d+) passing \([\d.]+(?:ms|s|m|h|d)\)$");
    let more = pattern!(r"^  (\d+) (pending|failing)$");
    let (line, passed) = last_of(lines, |line| Some(number(&passing.captures(line)?, 1)))?;
    let mut counts = TestCounts { passed, ..TestCounts::default() };
    let below = lines.get(line + 1..).unwrap_or_default();
    for captures in below.iter().map_while(|line| more.captures(line)) {
        match &captures[2] {
            "failing" => counts.failed = number(&captures, 1),
            _ => counts.skipped = number(&captures, 1),
        }
    }
    // Each failure has its suites, one per line and increasingly indented, then the test's own name and a colon.
    let first = pattern!(r"^  \d+\) (.+)$");
    let mut failing = Vec::new();
    let mut rest = below.iter();
    while let Some(line) = rest.next() {
        let Some(captures) = first.captures(line) else { continue };
        let mut name = captures[1].to_owned();
        while !name.ends_with(':') {
            let Some(deeper) = rest.next().map(|line| line.trim()).filter(|line| !line.is_empty()) else {
                break;
            };
            name = format!("{name} > {deeper}");
        }
        failing.push(name.trim_end_matches(':').to_owned());
    }
    Some(RunnerSummary { failing, ..summary(counts, line) })
}

fn totals(words: &str) -> TestCounts {
    let mut counts = TestCounts::default();
    for (count, word) in numbers(words) {
        match word {
            "passed" => counts.passed = count,
            "failed" => counts.failed = count,
            // Vitest's expected failures show nothing.
            "skipped" | "todo" | "pending" | "expected fail" => {
                counts.skipped = counts.skipped.saturating_add(count);
            }
            _ => {}
        }
    }
    counts
}
