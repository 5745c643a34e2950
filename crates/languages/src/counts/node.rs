//! `node --test`: its spec reporter, and TAP.

use super::{RunnerSummary, number, summary};
use journeyman_order::TestCounts;

/// Seven consecutive lines of totals.
pub(crate) fn node(lines: &[&str]) -> Option<RunnerSummary> {
    let total = pattern!(r"^[ℹ#] (tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$");
    let read = |line: &str| {
        let found = total.captures(line)?;
        Some((found.get(1)?.as_str().to_owned(), number(&found, 2)))
    };
    // Searched from the end: the last line of the last block, then the whole block.
    let end = lines.iter().rposition(|line| read(line).is_some_and(|(name, _)| name == "todo"))?;
    let block: Vec<(String, u64)> =
        lines.get(..=end)?.iter().rev().map_while(|line| read(line)).take(7).collect();
    if !["tests", "pass", "fail"].iter().all(|name| block.iter().any(|(found, _)| found == name)) {
        return None;
    }
    let mut counts = TestCounts::default();
    for (name, count) in &block {
        match name.as_str() {
            "pass" => counts.passed = *count,
            "fail" | "cancelled" => counts.failed = counts.failed.saturating_add(*count),
            "skipped" | "todo" => counts.skipped = counts.skipped.saturating_add(*count),
            _ => {}
        }
    }
    let failed = pattern!(r"^✖ (.+) \([\d.]+m?s\)$");
    let mut failing: Vec<String> = lines
        .iter()
        .skip_while(|line| **line != "✖ failing tests:")
        .filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str().to_owned()))
        .collect();
    if failing.is_empty() {
        failing = super::tap::failing(lines, super::tap::TapDepth::Any);
    }
    Some(RunnerSummary { failing, ..summary(counts, end) })
}
