//! vitest, jest and mocha.

use super::{RunnerSummary, last_of, number, numbers, summary};
use crate::cases::{CaseList, ended};
use journeyman_order::{TestCaseStatus, TestCounts};

/// Vitest: the line `Tests` directly below `Test Files`.
pub(crate) fn vitest(lines: &[&str]) -> Option<RunnerSummary> {
    let tests = pattern!(r"^ +Tests  (?:no tests|(.+) \(\d+\))$");
    let line = lines.iter().enumerate().skip(1).rev().find_map(|(at, line)| {
        let is_below = lines.get(at - 1)?.trim_start().starts_with("Test Files ");
        (is_below && tests.is_match(line)).then_some(at)
    })?;
    let words = tests.captures(lines.get(line)?)?.get(1).map_or("", |found| found.as_str());
    let (counts, expected) = totals(words);
    let cases = vitest_cases(lines.get(..line)?)?;
    // An expected failure looks like a pass.
    let named = TestCounts { passed: counts.passed.saturating_add(expected), ..counts };
    let cases = cases.adding_up_to(&named);
    let counts = TestCounts { skipped: counts.skipped.saturating_add(expected), ..counts };
    let failed = pattern!(r"^ FAIL +(?:\|[^|]+\| )?(.+)$");
    let failing = lines
        .get(..line)?
        .iter()
        .filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str()))
        // A file that could not be loaded is named twice: `a.test.ts [ a.test.ts ]`.
        .map(|name| name.split_once(" [ ").map_or(name, |(file, _)| file).to_owned())
        .collect();
    Some(RunnerSummary { failing, cases, ..summary(counts, line) })
}

/// With the `verbose` reporter every test has a line, prefixed with its file.
fn vitest_cases(lines: &[&str]) -> Option<CaseList> {
    let case = pattern!(r"^ +([✓×↓□]) (?:\|[^|]+\| )?(\S.* > .+?)(?: \d+ms)?(?: \[skipped\])?$");
    let mut cases = CaseList::default();
    for line in lines {
        let Some(found) = case.captures(line) else { continue };
        let status = match found.get(1)?.as_str() {
            "✓" => TestCaseStatus::Passed,
            "×" => TestCaseStatus::Failed,
            _ => TestCaseStatus::Skipped,
        };
        cases.add(found.get(2)?.as_str(), status);
    }
    Some(cases)
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
    let (counts, _) = totals(words);
    let cases = jest_cases(lines.get(..line)?)?.adding_up_to(&counts);
    Some(RunnerSummary { failing, cases, ..summary(counts, line) })
}

/// A verbose run lists tests below their file, up to the first failure that it explains.
fn jest_cases(lines: &[&str]) -> Option<CaseList> {
    let file_of = pattern!(r"^(?:PASS|FAIL) (.+?)(?: \([\d.]+ m?s\))?$");
    let case = pattern!(r"^( +)([✓✕○✎√×]) (?:(?:skipped|todo) )?(.+?)(?: \([\d.]+ m?s\))?$");
    let suite = pattern!(r"^( +)(\S.*)$");
    let mut cases = CaseList::default();
    let mut file = None;
    let mut around: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        if let Some(found) = file_of.captures(line) {
            file = Some(found.get(1)?.as_str());
            around.clear();
            continue;
        }
        let Some(path) = file else { continue };
        let outside = |around: &mut Vec<(usize, &str)>, depth: usize| {
            while around.last().is_some_and(|(at, _)| *at >= depth) {
                around.pop();
            }
        };
        if let Some(found) = case.captures(line) {
            outside(&mut around, found.get(1)?.len());
            let status = match found.get(2)?.as_str() {
                "✓" | "√" => TestCaseStatus::Passed,
                "✕" | "×" => TestCaseStatus::Failed,
                _ => TestCaseStatus::Skipped,
            };
            let suites: String = around.iter().map(|(_, name)| format!("{name} > ")).collect();
            cases.add(&format!("{path} > {suites}{}", found.get(3)?.as_str()), status);
        } else if let Some(found) = suite.captures(line).filter(|_| !line.starts_with("  ●")) {
            let depth = found.get(1)?.len();
            outside(&mut around, depth);
            around.push((depth, found.get(2)?.as_str()));
        } else {
            file = None;
        }
    }
    Some(cases)
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
    let cases = mocha_cases(lines.get(..line)?)?.adding_up_to(&counts);
    Some(RunnerSummary { failing, cases, ..summary(counts, line) })
}

/// The default reporter `spec`: suites, with their tests indented below.
fn mocha_cases(lines: &[&str]) -> Option<CaseList> {
    let case = pattern!(r"^( +)(?:([✔✓√])|(\d+\))|-) (.+?)(?: \(\d+ms\))?$");
    let suite = pattern!(r"^((?:  )+)(\S.*)$");
    let mut cases = CaseList::default();
    let mut around: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        let found = case.captures(line);
        let Some(depth) = found.as_ref().or(suite.captures(line).as_ref()).and_then(|found| found.get(1))
        else {
            continue;
        };
        while around.last().is_some_and(|(at, _)| *at >= depth.len()) {
            around.pop();
        }
        let Some(found) = found else {
            around.push((depth.len(), line.trim()));
            continue;
        };
        let suites: String = around.iter().map(|(_, name)| format!("{name} > ")).collect();
        cases.add(&format!("{suites}{}", found.get(4)?.as_str()), ended(&found, 2, 3));
    }
    Some(cases)
}

/// The counts, and the number of expected failures.
fn totals(words: &str) -> (TestCounts, u64) {
    let mut counts = TestCounts::default();
    let mut expected = 0;
    for (count, word) in numbers(words) {
        match word {
            "passed" => counts.passed = count,
            "failed" => counts.failed = count,
            "expected fail" => expected = count,
            "skipped" | "todo" | "pending" => counts.skipped = counts.skipped.saturating_add(count),
            _ => {}
        }
    }
    (counts, expected)
}
