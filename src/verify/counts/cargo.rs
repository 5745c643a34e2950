//! `cargo test` (libtest) and cargo-nextest.

use super::{Summary, number, numbers};
use crate::order::Counts;

/// All binaries of a `cargo test`, summed. Each says first how many tests it has, and its summary has to add up
/// to that: one printed by a test mostly does not.
pub(super) fn libtest(lines: &[&str]) -> Option<Summary> {
    let running = pattern!(r"^running (\d+) tests?$")?;
    let result = pattern!(
        r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out",
    )?;
    let mut total = Counts::default();
    let mut failing = Vec::new();
    let mut last_line = None;
    // Of the binary that is running: how many tests it has, and its summary so far.
    let mut expected = None;
    let mut found: Option<(Counts, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        if let Some(captures) = running.captures(line) {
            settle(&mut total, &mut failing, found.take(), lines);
            expected = Some(number(&captures, 1));
        } else if let Some(captures) = result.captures(line) {
            let [passed, failed, ignored, measured] = [1, 2, 3, 4].map(|group| number(&captures, group));
            let sum = passed.saturating_add(failed).saturating_add(ignored).saturating_add(measured);
            if expected == Some(sum) {
                let passed = passed.saturating_add(measured);
                found = Some((Counts { passed, failed, skipped: ignored }, at));
                last_line = Some(at);
            }
        }
    }
    settle(&mut total, &mut failing, found, lines);
    last_line.map(|line| Summary { counts: Some(total), failing, line })
}

fn settle(total: &mut Counts, failing: &mut Vec<String>, found: Option<(Counts, usize)>, lines: &[&str]) {
    let Some((counts, at)) = found else { return };
    total.passed = total.passed.saturating_add(counts.passed);
    total.failed = total.failed.saturating_add(counts.failed);
    total.skipped = total.skipped.saturating_add(counts.skipped);
    // The list of names stands right above the summary, whatever the tests printed before.
    let above = lines.get(..at).unwrap_or_default().iter().rev().skip_while(|line| line.trim().is_empty());
    let names: Vec<String> = above
        .map_while(|line| line.strip_prefix("    "))
        .take(usize::try_from(counts.failed).unwrap_or(usize::MAX))
        .map(String::from)
        .collect();
    failing.extend(names.into_iter().rev());
}

/// Nextest's summary, and the list of what failed below it.
pub(super) fn nextest(lines: &[&str]) -> Option<Summary> {
    let summary = pattern!(r"^ {2,}Summary \[ *[\d.]+s\] +(?:\d+/)?(\d+) tests? run: (.*)$")?;
    let failed = pattern!(
        r"^ *(?:TRY \d+ )?(?:FAIL|TIMEOUT|ABORT|LEAK-FAIL|FAIL \+ LEAK|XFAIL|SIG[A-Z]+) +\[ *>? *[\d.]+s\] +(?:\( *\d+/\d+\) +)?(\S.*)$",
    )?;
    let (line, captures) =
        lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, summary.captures(line)?)))?;
    let mut counts = Counts::default();
    // "3 passed (1 slow, 1 flaky), 2 failed": what stands in parentheses is counted already.
    let outside = pattern!(r"\([^)]*\)")?.replace_all(captures.get(2)?.as_str(), "").into_owned();
    for (count, word) in numbers(&outside) {
        match word {
            "passed" => counts.passed = count,
            "skipped" => counts.skipped = count,
            "failed" | "exec failed" | "timed out" => counts.failed = counts.failed.saturating_add(count),
            _ => {}
        }
    }
    let failing = lines
        .get(line..)
        .unwrap_or_default()
        .iter()
        .filter_map(|line| Some(failed.captures(line)?.get(1)?.as_str().to_owned()))
        .collect();
    Some(Summary { counts: Some(counts), failing, line })
}
