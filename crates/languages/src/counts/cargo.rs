//! `cargo test` (libtest) and cargo-nextest.

use super::{RunnerSummary, last_of, number, numbers, summary};
use crate::cases::{CaseList, count, counted_together};
use journeyman_order::{TestCaseStatus, TestCounts};

/// The tests of one binary, or of one run of documentation tests.
#[derive(Default)]
struct CargoTestBinary<'a> {
    start: usize,
    /// How many tests it announces.
    expected: u64,
    /// Its own summary, and the summary's line number.
    found: Option<(TestCounts, usize)>,
    cases: Vec<(&'a str, TestCaseStatus)>,
    /// Set once printed output of tests begins: only lines above it can come from the runner.
    is_over: bool,
}

/// All binaries of a `cargo test`, summed. Each first announces how many tests it has, and its summary must add up to
/// that. A summary printed by a test usually does not.
pub(crate) fn libtest(lines: &[&str]) -> Option<RunnerSummary> {
    let running = pattern!(r"^running (\d+) tests?$");
    let result = pattern!(
        r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out",
    );
    let case = pattern!(
        r"^test (.+?)(?: - should panic| - compile fail| - compile)? \.\.\. (?:(ok)|(FAILED)|(ignored)(?:, .*)?|(bench): .*)$"
    );
    let mut binaries: Vec<CargoTestBinary<'_>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(captures) = running.captures(line) {
            let expected = number(&captures, 1);
            binaries.push(CargoTestBinary { start: at, expected, ..CargoTestBinary::default() });
            continue;
        }
        let Some(binary) = binaries.last_mut() else { continue };
        if let Some(captures) = result.captures(line) {
            let [passed, failed, ignored, measured] = [1, 2, 3, 4].map(|group| number(&captures, group));
            let sum = passed.saturating_add(failed).saturating_add(ignored).saturating_add(measured);
            if binary.expected == sum {
                let passed = passed.saturating_add(measured);
                binary.found = Some((TestCounts { passed, failed, skipped: ignored }, at));
                binary.is_over = true;
            }
        } else if *line == "failures:" {
            binary.is_over = true;
        } else if let Some(captures) = case.captures(line).filter(|_| !binary.is_over) {
            let status = match (captures.get(3), captures.get(4)) {
                (Some(_), _) => TestCaseStatus::Failed,
                (None, Some(_)) => TestCaseStatus::Skipped,
                (None, None) => TestCaseStatus::Passed,
            };
            binary.cases.push((captures.get(1)?.as_str(), status));
        }
    }
    let mut total = TestCounts::default();
    let mut failing = Vec::new();
    let mut last_line = None;
    for (counts, at) in binaries.iter().filter_map(|binary| binary.found) {
        total = counted_together(total, counts);
        failing.extend(failing_above(lines, counts, at));
        last_line = Some(at);
    }
    let cases = named(lines, &binaries).believed_if(is_whole(lines, &binaries));
    Some(RunnerSummary { failing, cases, ..summary(total, last_line?) })
}

/// The list of failures is directly above the summary, whatever the tests printed before.
fn failing_above(lines: &[&str], counts: TestCounts, at: usize) -> impl Iterator<Item = String> {
    let above = lines.get(..at).unwrap_or_default().iter().rev().skip_while(|line| line.trim().is_empty());
    let names: Vec<String> = above
        .map_while(|line| line.strip_prefix("    "))
        .take(usize::try_from(counts.failed).unwrap_or(usize::MAX))
        .map(String::from)
        .collect();
    names.into_iter().rev()
}

/// Whether every binary named as many tests as it counted, and no binary was skipped because another failed.
fn is_whole(lines: &[&str], binaries: &[CargoTestBinary<'_>]) -> bool {
    let is_named = |binary: &CargoTestBinary<'_>| {
        let mut named = TestCounts::default();
        binary.cases.iter().for_each(|(_, status)| count(&mut named, *status));
        binary.found.is_some_and(|(counts, _)| counts == named)
    };
    // Cargo prints a final list of failed targets only if it continued after a failure.
    let stopped = lines.iter().rposition(|line| line.starts_with("error: test failed, to rerun pass "));
    let last = pattern!(r"^error: \d+ targets? failed:$");
    let summed = lines.iter().rposition(|line| last.is_match(line));
    let went_on = stopped.is_none() || summed > stopped;
    went_on && binaries.iter().all(is_named)
}

/// Names prefixed with their binary, since several binaries often share names. Cargo and the binaries print to
/// different streams, so only the order within each is reliable, not the order between them.
fn named(lines: &[&str], binaries: &[CargoTestBinary<'_>]) -> CaseList {
    let mut list = CaseList::default();
    let unit = pattern!(r"^ +Running (unittests )?(\S.*) \((\S.*)\)$");
    let doc = pattern!(r"^ +Doc-tests (\S+)$");
    let mut units = Vec::new();
    let mut docs = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(captures) = unit.captures(line) {
            let (path, program) = (&captures[2], &captures[3]);
            let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
            let of = program.rsplit_once('-').map_or(program, |(of, _)| of);
            let name = if captures.get(1).is_some() { format!("{of} > {path}") } else { path.to_owned() };
            units.push((at, name));
        } else if let Some(captures) = doc.captures(line) {
            docs.push((at, format!("doc > {}", &captures[1])));
        }
    }
    let line_of = pattern!(r"^(.*) \(line (\d+)\)$");
    for (index, binary) in binaries.iter().enumerate() {
        let of_docs = index.checked_sub(units.len());
        let name = match of_docs {
            None => units.get(index),
            // Documentation tests come last; those of one crate may run in two parts.
            Some(index) if docs.len() + units.len() == binaries.len() => docs.get(index),
            Some(_) => docs.iter().rev().find(|(at, _)| *at < binary.start).or(docs.first()),
        };
        let prefix = name.map_or("", |(_, name)| name.as_str());
        let between = if prefix.is_empty() { "" } else { " > " };
        // Line numbers of documentation tests shift with edits above them; several of one item keep their order.
        let mut cases: Vec<(u64, &str, TestCaseStatus)> = Vec::new();
        for (test, status) in &binary.cases {
            let of_line = of_docs.and_then(|_| line_of.captures(test));
            let of_line = of_line.and_then(|found| Some((number(&found, 2), found.get(1)?.as_str())));
            let (line, test) = of_line.unwrap_or((0, test));
            cases.push((line, test, *status));
        }
        cases.sort_by_key(|(line, _, _)| *line);
        for (_, test, status) in cases {
            list.add(&format!("{prefix}{between}{test}"), status);
        }
    }
    list
}

/// Nextest's summary.
pub(crate) fn nextest(lines: &[&str]) -> Option<RunnerSummary> {
    let last = pattern!(r"^ {2,}Summary \[ *[\d.]+s\] +(?:(\d+)/)?(\d+) tests? run: (.*)$");
    let (line, captures) = last_of(lines, |line| last.captures(line))?;
    let mut counts = TestCounts::default();
    // "3 passed (1 slow, 1 flaky), 2 failed": numbers in parentheses are already counted.
    let outside = pattern!(r"\([^)]*\)").replace_all(captures.get(3)?.as_str(), "").into_owned();
    for (count, word) in numbers(&outside) {
        match word {
            "passed" => counts.passed = count,
            "skipped" => counts.skipped = count,
            "failed" | "exec failed" | "timed out" => counts.failed = counts.failed.saturating_add(count),
            _ => {}
        }
    }
    Some(RunnerSummary { is_whole: captures.get(1).is_none(), ..summary(counts, line) })
}
