//! pytest and unittest.

use super::{Summary, number, numbers};
use crate::order::Counts;

/// Pytest's last line, and the short summary above it.
pub(super) fn pytest(lines: &[&str]) -> Option<Summary> {
    let last = pattern!(
        r"^(?:=+ )?(\d+ [a-z].*|no tests ran|no tests collected.*) in [\d.]+s(?: \([\d:, a-z]+\))?(?: =+)?$",
    )?;
    let (line, words) = lines
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, line)| Some((at, last.captures(line)?.get(1)?.as_str())))?;
    let mut counts = Counts::default();
    let mut is_known = words.starts_with("no tests");
    for (count, word) in numbers(words) {
        let place = match word {
            "passed" | "xpassed" => &mut counts.passed,
            "failed" | "error" | "errors" => &mut counts.failed,
            // A failure that is expected verifies nothing.
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
    is_known.then_some(Summary { counts: Some(counts), failing, line })
}

/// Unittest's `Ran N tests` and the verdict after it.
pub(super) fn unittest(lines: &[&str]) -> Option<Summary> {
    let ran = pattern!(r"^Ran (\d+) tests? in [\d.]+s$")?;
    let verdict = pattern!(r"^(?:OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")?;
    let failure = pattern!(r"^(?:FAIL|ERROR): (\S+) \(([^)]*)\)")?;
    let (line, total, details) = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let total = number(&ran.captures(line)?, 1);
        let after = lines.get(at + 1..)?.iter().find(|line| !line.trim().is_empty())?;
        let details = verdict.captures(after)?.get(1).map_or("", |found| found.as_str());
        Some((at, total, details))
    })?;
    let mut counts = Counts::default();
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
    // A test of several parts can fail more often than it ran.
    counts.passed = total.saturating_sub(counts.failed).saturating_sub(counts.skipped);
    let failing = lines
        .get(..line)?
        .windows(2)
        .filter(|pair| pair.first().is_some_and(|rule| rule.len() == 70 && rule.bytes().all(|b| b == b'=')))
        .filter_map(|pair| failure.captures(pair.get(1)?))
        .filter_map(|found| Some((found.get(1)?.as_str(), found.get(2)?.as_str())))
        // Python before 3.11 names the class only.
        .map(|(test, of)| if of.ends_with(&format!(".{test}")) { of.into() } else { format!("{of}.{test}") })
        .collect();
    Some(Summary { counts: Some(counts), failing, line })
}
