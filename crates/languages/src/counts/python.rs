//! pytest and unittest.

use std::collections::BTreeSet;

use super::cases::{CaseList, ended};
use super::{RunnerSummary, last_of, number, numbers, summary};
use journeyman_order::comparison::TestRunnerName;
use journeyman_order::{TestCaseStatus, TestCounts};

/// Pytest's last line, and the short summary above it.
pub(super) fn pytest(lines: &[&str]) -> Option<RunnerSummary> {
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
    let summary = summary(TestRunnerName::Pytest, counts, line);
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
pub(super) fn unittest(lines: &[&str]) -> Option<RunnerSummary> {
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
    // A test with subtests can fail more often than it ran.
    counts.passed = total.saturating_sub(counts.failed).saturating_sub(counts.skipped);
    let failing: Vec<String> = lines
        .get(..line)?
        .windows(2)
        .filter(|pair| pair.first().is_some_and(|rule| rule.len() == 70 && rule.bytes().all(|b| b == b'=')))
        .filter_map(|pair| failure.captures(pair.get(1)?))
        .filter_map(|found| Some(unittest_name(found.get(1)?.as_str(), found.get(2)?.as_str())))
        .collect();
    let cases = unittest_cases(lines.get(..line)?, &failing)?;
    let named = cases.counts();
    // A test with subtests is one test, and can fail more than once.
    let adds_up = named.ran().saturating_add(named.skipped) == total
        && named.skipped == counts.skipped
        && named.failed <= counts.failed
        && (named.failed > 0) == (counts.failed > 0);
    let cases = cases.believed_if(adds_up);
    Some(RunnerSummary { failing, cases, ..summary(TestRunnerName::Unittest, counts, line) })
}

/// Python before 3.11 names only the class.
fn unittest_name(test: &str, of: &str) -> String {
    if of.ends_with(&format!(".{test}")) { of.to_owned() } else { format!("{of}.{test}") }
}

/// Parses a verbose run: each test's name, then its result at the end of a line, after anything that the test printed.
fn unittest_cases(lines: &[&str], failing: &[String]) -> Option<CaseList> {
    let begins = pattern!(r"^(\w+) \(([\w.<>]+)\)(?: \.\.\. ?(.*))?$");
    let described = pattern!(r"^\S.* \.\.\. ?(.*)$");
    let ends = pattern!(r"^(?:(ok)|(FAIL|ERROR|unexpected success)|(?:expected failure|skipped .*))$");
    let failing: BTreeSet<&str> = failing.iter().map(String::as_str).collect();
    let mut cases = CaseList::default();
    let mut open: Option<(String, bool)> = None;
    let rule = "=".repeat(70);
    for line in lines {
        if **line == *rule {
            break;
        }
        let mut said = *line;
        if let Some(found) = begins.captures(line) {
            close(&mut cases, open.take(), &failing);
            let (test, of) = (found.get(1)?.as_str(), found.get(2)?.as_str());
            open = Some((unittest_name(test, of), false));
            said = found.get(3).map_or("", |found| found.as_str());
        } else if let (Some(found), Some(_)) = (described.captures(line), &open) {
            said = found.get(1)?.as_str();
        }
        let Some((name, has_ended)) = &mut open else { continue };
        let Some(found) = ends.captures(said).filter(|_| !*has_ended) else { continue };
        *has_ended = true;
        if !name.contains(".setUp") && !name.contains(".tearDown") {
            cases.add(name, ended(&found, 1, 2));
        }
    }
    close(&mut cases, open, &failing);
    Some(cases)
}

/// Of a test with failed subtests, only the subtests are reported as failed.
fn close(cases: &mut CaseList, open: Option<(String, bool)>, failing: &BTreeSet<&str>) {
    if let Some((name, false)) = open
        && failing.contains(name.as_str())
    {
        cases.add(&name, TestCaseStatus::Failed);
    }
}
