//! `node --test`, vitest, jest and mocha.

use super::{Summary, number, numbers};
use crate::order::Counts;

/// Node's own runner, as its spec reporter and as TAP: seven lines of totals, one after the other.
pub(super) fn node(lines: &[&str]) -> Option<Summary> {
    let total = pattern!(r"^[ℹ#] (tests|suites|pass|fail|cancelled|skipped|todo) (\d+)$")?;
    let read = |line: &str| {
        let found = total.captures(line)?;
        Some((found.get(1)?.as_str().to_owned(), number(&found, 2)))
    };
    // Found from the end: the last line of the last block, then all of it.
    let end = lines.iter().enumerate().rev().find_map(|(at, line)| {
        let (name, _) = read(line)?;
        (name == "todo").then_some(at)
    })?;
    let block: Vec<(String, u64)> =
        lines.get(..=end)?.iter().rev().map_while(|line| read(line)).take(7).collect();
    if !["tests", "pass", "fail"].iter().all(|name| block.iter().any(|(found, _)| found == name)) {
        return None;
    }
    let mut counts = Counts::default();
    for (name, count) in &block {
        match name.as_str() {
            "pass" => counts.passed = *count,
            "fail" | "cancelled" => counts.failed = counts.failed.saturating_add(*count),
            "skipped" | "todo" => counts.skipped = counts.skipped.saturating_add(*count),
            _ => {}
        }
    }
    let failed = pattern!(r"^✖ (.+) \([\d.]+m?s\)$")?;
    let mut failing: Vec<String> = lines
        .iter()
        .skip_while(|line| **line != "✖ failing tests:")
        .filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str().to_owned()))
        .collect();
    if failing.is_empty() {
        failing = super::tap::failing(lines, super::tap::Depth::Any);
    }
    Some(Summary { counts: Some(counts), failing, line: end })
}

/// Vitest: the line `Tests` right below `Test Files`.
pub(super) fn vitest(lines: &[&str]) -> Option<Summary> {
    let tests = pattern!(r"^ +Tests  (?:no tests|(.+) \(\d+\))$")?;
    let line = lines.iter().enumerate().skip(1).rev().find_map(|(at, line)| {
        let is_below = lines.get(at - 1)?.trim_start().starts_with("Test Files ");
        (is_below && tests.is_match(line)).then_some(at)
    })?;
    let words = tests.captures(lines.get(line)?)?.get(1).map_or("", |found| found.as_str());
    let failed = pattern!(r"^ FAIL +(?:\|[^|]+\| )?(.+)$")?;
    let failing = lines
        .get(..line)?
        .iter()
        .filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str()))
        // A file that could not be loaded is named twice: `a.test.ts [ a.test.ts ]`.
        .map(|name| name.split_once(" [ ").map_or(name, |(file, _)| file).to_owned())
        .collect();
    Some(Summary { counts: Some(totals(words)), failing, line })
}

/// Jest: the line `Tests:` right below `Test Suites:`.
pub(super) fn jest(lines: &[&str]) -> Option<Summary> {
    let tests = pattern!(r"^Tests: +(.+), \d+ total$|^Tests: +0 total$")?;
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
    Some(Summary { counts: Some(totals(words)), failing, line })
}

/// Mocha: `N passing (…)`, with pending and failing below it.
pub(super) fn mocha(lines: &[&str]) -> Option<Summary> {
    let passing = pattern!(r"^  (\d+) passing \([\d.]+m?s\)$")?;
    let more = pattern!(r"^  (\d+) (pending|failing)$")?;
    let (line, passed) = lines
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, line)| Some((at, number(&passing.captures(line)?, 1))))?;
    let mut counts = Counts { passed, ..Counts::default() };
    let below = lines.get(line + 1..).unwrap_or_default();
    for captures in below.iter().map_while(|line| more.captures(line)) {
        match captures.get(2).map(|found| found.as_str()) {
            Some("failing") => counts.failed = number(&captures, 1),
            _ => counts.skipped = number(&captures, 1),
        }
    }
    // Each failure: its suites, one a line and each deeper, then the test's own name and a colon.
    let first = pattern!(r"^  \d+\) (.+)$")?;
    let mut failing = Vec::new();
    let mut rest = below.iter();
    while let Some(line) = rest.next() {
        let Some(captures) = first.captures(line) else { continue };
        let mut name = captures.get(1).map_or("", |found| found.as_str()).to_owned();
        while !name.ends_with(':') {
            let Some(deeper) = rest.next().map(|line| line.trim()).filter(|line| !line.is_empty()) else {
                break;
            };
            name = format!("{name} > {deeper}");
        }
        failing.push(name.trim_end_matches(':').to_owned());
    }
    Some(Summary { counts: Some(counts), failing, line })
}

fn totals(words: &str) -> Counts {
    let mut counts = Counts::default();
    for (count, word) in numbers(words) {
        match word {
            "passed" => counts.passed = count,
            "failed" => counts.failed = count,
            "skipped" | "todo" | "pending" => counts.skipped = counts.skipped.saturating_add(count),
            _ => {}
        }
    }
    counts
}
