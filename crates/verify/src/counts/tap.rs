//! The Test Anything Protocol.

use super::RunnerSummary;
use super::cases::CaseList;
use journeyman_order::comparison::TestRunnerName;
use journeyman_order::{TestCaseStatus, TestCounts};

/// Which points are looked at.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum TapDepth {
    /// Those of the outermost test only.
    Top,
    /// All; a test that failed only because a part of it did is left out.
    Any,
}

/// Points of the outermost level. There has to be a plan, or the protocol's version.
pub(super) fn tap(lines: &[&str]) -> Option<RunnerSummary> {
    let plan = pattern!(r"^1\.\.\d+( *#.*)?$")?;
    let point = pattern!(r"^(not )?ok\b(?: +\d+)?(?: +- +| +|$)(.*)$")?;
    let directive = pattern!(r"(?i)(?:^| )# *(skip|todo)\b")?;
    let mut counts = TestCounts::default();
    let mut cases = CaseList::default();
    let mut line = None;
    for (at, text) in lines.iter().enumerate() {
        if plan.is_match(text) || text.starts_with("TAP version 1") {
            line = line.max(Some(at));
        } else if let Some(found) = point.captures(text) {
            line = line.map(|_| at).or(line);
            let description = found.get(2)?.as_str();
            let directive = directive.find(description);
            let status = if directive.is_some() {
                counts.skipped += 1;
                TestCaseStatus::Skipped
            } else if found.get(1).is_some() {
                counts.failed += 1;
                TestCaseStatus::Failed
            } else {
                counts.passed += 1;
                TestCaseStatus::Passed
            };
            let end = directive.map_or(description.len(), |found| found.start());
            cases.add(without_time(description.get(..end).unwrap_or(description)), status);
        } else if text.starts_with("Bail out!") {
            counts.failed += 1;
        }
    }
    let failing = failing(lines, TapDepth::Top);
    // One that bailed out failed without a name, and points may have none.
    let cases = cases.adding_up_to(&counts);
    let is_whole = cases.is_some();
    Some(RunnerSummary {
        counts: Some(counts),
        failing,
        line: line?,
        runner: TestRunnerName::Tap,
        cases,
        is_whole,
    })
}

/// The descriptions of what is not ok.
pub(super) fn failing(lines: &[&str], depth: TapDepth) -> Vec<String> {
    let (Some(point), Some(directive)) =
        (pattern!(r"^( *)not ok\b(?: +\d+)?(?: +- +| +|$)(.*)$"), pattern!(r"(?i)(?:^| )# *(?:skip|todo)\b"))
    else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = point.captures(line) else { continue };
        let indent = found.get(1).map_or(0, |found| found.len());
        let name = found.get(2).map_or("", |found| found.as_str());
        if directive.is_match(name) || (depth == TapDepth::Top && indent > 0) {
            continue;
        }
        // Node explains each point in a block of YAML below it.
        let block = lines.get(at + 1..).unwrap_or_default().iter().take(40);
        let mut block = block.take_while(|line| line.trim() != "...");
        if depth == TapDepth::Any && block.any(|line| line.contains("failureType: 'subtestsFailed'")) {
            continue;
        }
        names.push(without_time(name).to_owned());
    }
    names
}

/// A point's description without how long it took, which node-tap puts behind it.
fn without_time(description: &str) -> &str {
    let time = pattern!(r" *# *time=[\d.]+ *m?s(?: *\{)?$");
    let found = time.and_then(|time| time.find(description));
    found.map_or(description, |found| description.get(..found.start()).unwrap_or(description))
}

#[cfg(test)]
mod tests {
    use super::super::read;

    #[test]
    fn how_long_a_test_took_is_not_part_of_its_name() {
        let run = |time: &str| {
            let text = format!(
                "TAP version 14\nok 1 - test/a.js # time={time}ms\nnot ok 2 - test/b.js # time={time}ms {{\n}}\n1..2\n"
            );
            read(&text, None)
        };
        let (one, other) = (run("12.5"), run("3"));
        assert_eq!(one, other);
        assert_eq!(one.failing, ["test/b.js"]);
        assert_eq!(one.cases.unwrap().tests.into_keys().collect::<Vec<_>>(), ["test/a.js", "test/b.js"]);
    }
}
