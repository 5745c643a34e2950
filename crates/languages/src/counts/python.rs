//! pytest and unittest.

use std::collections::BTreeSet;

use super::{RunnerSummary, last_of, number, numbers, summary};
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
    let cases = pytest_cases(above)?.adding_up_to(&counts).filter(|_| is_whole);
    let summary = summary(counts, line);
    is_known.then_some(RunnerSummary { failing, cases, is_whole, ..summary })
}

/// Parses a verbose run, which names every test.
fn pytest_cases(lines: &[&str]) -> Option<CaseList> {
    let alone =
        pattern!(r"^(\S.*?::.+) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(.*\))? *(?:\[ *\d+%\])?$");
    let of_many =
        pattern!(r"^\[gw\d+\] \[ *\d+%\] (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (\S.*?::.+?) *$");
    let uncollected = pattern!(r"^_+ ERROR collecting (\S.*) _+$");
    let mut cases = CaseList::default();
    for line in lines {
        let (name, word) = if let Some(found) = alone.captures(line) {
            (found.get(1)?.as_str(), found.get(2)?.as_str())
        } else if let Some(found) = of_many.captures(line) {
            (found.get(2)?.as_str(), found.get(1)?.as_str())
        } else if let Some(found) = uncollected.captures(line) {
            (found.get(1)?.as_str(), "ERROR")
        } else {
            continue;
        };
        let status = match word {
            "PASSED" | "XPASS" => TestCaseStatus::Passed,
            "SKIPPED" | "XFAIL" => TestCaseStatus::Skipped,
            _ => TestCaseStatus::Failed,
        };
        // A test that fails during teardown was reported as passed before.
        cases.add_again(name, status);
    }
    Some(cases)
}

/// Unittest's `Ran N tests` and the verdict after it.
pub(crate) fn unittest(lines: &[&str]) -> Option<RunnerSummary> {
    let ran = pattern!(r"^Ran (\d+) tests? in [\d.]+s$");
    let verdict = pattern!(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$");
    let failure = pattern!(r"^(?:FAIL|ERROR): (\S+) \(([^)]*)\)");
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
    let failing: Vec<String> = lines
        .get(..line)?
        .windows(2)
        .filter(|pair| pair.first().is_some_and(|rule| rule.len() == 70 && rule.bytes().all(|b| b == b'=')))
        .filter_map(|pair| failure.captures(pair.get(1)?))
        .filter_map(|found| Some(unittest_name(found.get(1)?.as_str(), found.get(2)?.as_str())))
        .collect();
    let mut failing = failing;
    // A test with subtests is one test, and can fail more than once.
    let mut seen = BTreeSet::new();
    let before = failing.len();
    failing.retain(|name| seen.insert(name.clone()));
    counts.failed = counts.failed.saturating_sub((before - failing.len()) as u64);
    // A fixture that fails is none of the tests that ran.
    let is_fixture = |name: &&String| name.contains(".setUp") || name.contains(".tearDown");
    let fixtures = failing.iter().filter(is_fixture).count() as u64;
    let failed = counts.failed.saturating_sub(fixtures);
    counts.passed = total.saturating_sub(failed).saturating_sub(counts.skipped);
    Some(RunnerSummary { failing, ..summary(counts, line) })
}

/// Python before 3.11 names only the class.
fn unittest_name(test: &str, of: &str) -> String {
    if of.ends_with(&format!(".{test}")) { of.to_owned() } else { format!("{of}.{test}") }
}
