//! pytest and unittest.

use std::collections::BTreeSet;

use super::{RunnerSummary, ended, ends, last_of, number, numbers, summary};
use crate::cases::CaseList;
use journeyman_order::{TestCaseStatus, TestCounts};

/// Pytest's last line, and the short summary above it.
pub(crate) fn pytest(lines: &[&str]) -> Option<RunnerSummary> {
    let last = pattern!(
        r"^(?:=+ )?(\d+ [a-z].*|no tests ran|no tests collected.*) in [\d.]+s(?: \([\d:, a-z]+\))?(?: =+)?$",
    );
    let (line, words) = last_of(lines, |line| Some(last.captures(line)?.get(1)?.as_str()))?;
    let mut counts = TestCounts::default();
    let mut is_known = words.starts_with("no tests");
    for (count, word) in numbers(words) {
        let place = match word {
            "passed" | "xpassed" => &mut counts.passed,
            "failed" | "error" | "errors" => &mut counts.failed,
            // An expected failure verifies nothing.
            "skipped" | "xfailed" => &mut counts.skipped,
            "deselected" | "warning" | "warnings" => {
                is_known = true;
                continue;
            }
            _ => continue,
        };
        is_known = true;
        *place = place.saturating_add(count);
    }
    let above = lines.get(..line)?;
    let start =
        above.iter().rposition(|line| line.starts_with('=') && line.contains(" short test summary info "));
    let failing = above
        .get(start.unwrap_or(line)..)
        .unwrap_or_default()
        .iter()
        .filter_map(|line| line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR ")))
        .map(|rest| rest.split_once(" - ").map_or(rest, |(name, _)| name).to_owned())
        .collect();
    // If pytest stopped early, it says so above its last line.
    let is_whole = !above.iter().rev().take(10).any(|line| line.starts_with("!!!") && line.ends_with("!!!"));
    let cases = pytest_cases(above).adding_up_to(&counts).filter(|_| is_whole);
    let summary = summary(counts, line);
    is_known.then_some(RunnerSummary { failing, cases, is_whole, ..summary })
}

/// Parses a verbose run, which names every test.
fn pytest_cases(lines: &[&str]) -> CaseList {
    let alone = pattern!(
        r"^(?P<name>\S.*?::.+) (?:(?P<good>PASSED|XPASS)|(?P<bad>FAILED|ERROR)|SKIPPED|XFAIL)(?: \(.*\))? *(?:\[ *\d+%\])?$"
    );
    let of_many = pattern!(
        r"^\[gw\d+\] \[ *\d+%\] (?:(?P<good>PASSED|XPASS)|(?P<bad>FAILED|ERROR)|SKIPPED|XFAIL) (?P<name>\S.*?::.+?) *$"
    );
    let uncollected = pattern!(r"^_+ (?P<bad>ERROR) collecting (?P<name>\S.*) _+$");
    let mut cases = CaseList::default();
    // A test that fails during teardown was reported as passed before.
    ends(lines, [alone, of_many, uncollected]).for_each(|(name, status)| cases.add_again(name, status));
    cases
}

/// Unittest's `Ran N tests` and the verdict after it.
pub(crate) fn unittest(lines: &[&str]) -> Option<RunnerSummary> {
    let ran = pattern!(r"^Ran (\d+) tests? in [\d.]+s$");
    let verdict = pattern!(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$");
    let failure = pattern!(r"^(?:FAIL|ERROR|UNEXPECTED SUCCESS): (\S+) \(([^)]*)\)");
    let (line, total, details) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let total = number(&ran.captures(line)?, 1);
        let after = lines.get(at + 1..)?.iter().find(|line| !line.trim().is_empty())?;
        let details = verdict.captures(after)?.get(1).map_or("", |found| found.as_str());
        Some((at, total, details))
    })?;
    let mut counts = TestCounts::default();
    for part in details.split(", ") {
        let Some((word, count)) = part.split_once('=') else { continue };
        let count: u64 = count.parse().unwrap_or(0);
        match word {
            "failures" | "errors" | "unexpected successes" => {
                counts.failed = counts.failed.saturating_add(count)
            }
            "skipped" | "expected failures" => counts.skipped = counts.skipped.saturating_add(count),
            _ => {}
        }
    }
    let above = lines.get(..line)?;
    let is_rule = |line: &&str| line.len() == 70 && line.bytes().all(|byte| byte == b'=');
    let mut failing: Vec<String> = above
        .windows(2)
        .filter(|pair| pair.first().is_some_and(is_rule))
        .filter_map(|pair| failure.captures(pair.get(1)?))
        .filter_map(|found| Some(unittest_name(found.get(1)?.as_str(), found.get(2)?.as_str())))
        .collect();
    // A test with subtests is one test, and can fail more than once.
    let mut seen = BTreeSet::new();
    let before = failing.len();
    failing.retain(|name| seen.insert(name.clone()));
    counts.failed = counts.failed.saturating_sub((before - failing.len()) as u64);
    let fixtures = failing.iter().filter(|name| is_fixture(name)).count() as u64;
    let failed = counts.failed.saturating_sub(fixtures);
    counts.passed = total.saturating_sub(failed).saturating_sub(counts.skipped);
    let results = above.get(..above.iter().position(is_rule).unwrap_or(line))?;
    let cases = unittest_cases(results, &seen).adding_up_to(&TestCounts { failed, ..counts });
    Some(RunnerSummary { failing, cases, ..summary(counts, line) })
}

/// A fixture that fails is none of the tests that ran.
fn is_fixture(name: &str) -> bool {
    name.contains(".setUp") || name.contains(".tearDown")
}

/// What a verbose run prints of each test: its name, and its result at the end of a line, after what the test printed.
fn unittest_cases(lines: &[&str], failing: &BTreeSet<String>) -> CaseList {
    let begins = pattern!(r"^(\w+) \(([\w.<>]+)\)(?: \.\.\. ?.*)?$");
    let result = pattern!(
        r"^(?:.*? \.\.\. ?)?(?:(?P<good>ok)|(?P<bad>FAIL|ERROR|unexpected success)|expected failure|skipped .*)$"
    );
    let mut tests: Vec<(String, Option<TestCaseStatus>)> = Vec::new();
    for line in lines {
        if let Some(found) = begins.captures(line) {
            tests.push((unittest_name(&found[1], &found[2]), None));
        }
        if let (Some((_, status @ None)), Some(found)) = (tests.last_mut(), result.captures(line)) {
            *status = Some(ended(&found));
        }
    }
    let mut cases = CaseList::default();
    for (name, status) in tests.into_iter().filter(|(name, _)| !is_fixture(name)) {
        // Where only subtests failed, these have the results. And a test may print one, but not take it back below.
        let status = if failing.contains(&name) { Some(TestCaseStatus::Failed) } else { status };
        status.into_iter().for_each(|status| cases.add(&name, status));
    }
    cases
}

/// Python before 3.11 names only the class.
fn unittest_name(test: &str, of: &str) -> String {
    if of.ends_with(&format!(".{test}")) { of.to_owned() } else { format!("{of}.{test}") }
}
