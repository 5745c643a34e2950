//! The Test Anything Protocol.

use super::{RunnerSummary, summary};
use crate::cases::{CaseList, count};
use journeyman_order::{TestCaseStatus, TestCounts};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum TapDepth {
    /// Only tests of the outermost level.
    Top,
    /// Tests of all levels, except one that failed only because a subtest did.
    Any,
}

/// A line with the result of a test.
struct TapPoint<'t> {
    indent: usize,
    name: &'t str,
    status: TestCaseStatus,
    /// Whether a block with its subtests follows, in brackets.
    is_open: bool,
}

impl<'t> TapPoint<'t> {
    fn read(line: &'t str) -> Option<Self> {
        let point = pattern!(r"^( *)(not )?ok\b(?: +\d+)?(?: +- +| +|$)(.*)$");
        let directive = pattern!(r"(?i)(?:^| )# *(skip|todo)\b");
        let found = point.captures(line)?;
        let description = found.get(3)?.as_str();
        let directive = directive.find(description);
        let status = match (directive.is_some(), found.get(2).is_some()) {
            (true, _) => TestCaseStatus::Skipped,
            (false, true) => TestCaseStatus::Failed,
            (false, false) => TestCaseStatus::Passed,
        };
        let end = directive.map_or(description.len(), |found| found.start());
        let name = without_time(description.get(..end).unwrap_or(description)).trim();
        let is_open = description.ends_with('{');
        Some(Self { indent: found.get(1)?.len(), name, status, is_open })
    }
}

/// Counts the points of the outermost level. Requires a plan or the protocol's version.
pub(crate) fn tap(lines: &[&str]) -> Option<RunnerSummary> {
    let plan = pattern!(r"^1\.\.\d+( *#.*)?$");
    let mut counts = TestCounts::default();
    let mut cases = CaseList::default();
    let mut line = None;
    for (at, text) in lines.iter().enumerate() {
        if plan.is_match(text) || text.starts_with("TAP version 1") {
            line = line.max(Some(at));
        } else if let Some(point) = TapPoint::read(text).filter(|point| point.indent == 0) {
            line = line.map(|_| at).or(line);
            count(&mut counts, point.status);
            cases.add(point.name, point.status);
        } else if text.starts_with("Bail out!") {
            counts.failed += 1;
        }
    }
    let line = line?;
    let mut failing = failing(lines, TapDepth::Top);
    if let Some(tests) = of_files(lines) {
        (counts, cases, failing) = Default::default();
        for (name, status) in tests {
            count(&mut counts, status);
            cases.add(&name, status);
            failing.extend((status == TestCaseStatus::Failed).then_some(name));
        }
    }
    // A bail-out is a failure without a name, and points may have no name.
    let cases = cases.adding_up_to(&counts);
    let is_whole = cases.is_some();
    Some(RunnerSummary { failing, cases, is_whole, ..summary(counts, line) })
}

/// If every outermost point is a file, as in node-tap, the tests are one level below. `None` if that is not the case,
/// or if no file has tests.
fn of_files(lines: &[&str]) -> Option<Vec<(String, TestCaseStatus)>> {
    const BELOW: usize = 4;
    let is_file = pattern!(r"\.[cm]?[jt]sx?$");
    let (mut all, mut has_inner) = (Vec::new(), false);
    let (mut inner, mut open): (Vec<TapPoint<'_>>, Option<TapPoint<'_>>) = (Vec::new(), None);
    let mut end_file = |file: &TapPoint<'_>, inner: &mut Vec<TapPoint<'_>>| {
        let is_failed = |status: TestCaseStatus| status == TestCaseStatus::Failed;
        // The file itself failed, for example by timeout, or it has no tests.
        let is_alone =
            inner.is_empty() || is_failed(file.status) && !inner.iter().any(|point| is_failed(point.status));
        has_inner |= !inner.is_empty();
        all.extend(inner.drain(..).map(|point| (format!("{} > {}", file.name, point.name), point.status)));
        all.extend(is_alone.then(|| (file.name.to_owned(), file.status)));
    };
    for text in lines {
        if *text == "}"
            && let Some(file) = open.take()
        {
            end_file(&file, &mut inner);
        }
        let Some(point) = TapPoint::read(text) else { continue };
        match point.indent {
            BELOW => inner.push(point),
            0 if !is_file.is_match(point.name) => return None,
            // With an opening bracket its subtests follow, otherwise they came before.
            0 if point.is_open => open = Some(point),
            0 => end_file(&point, &mut inner),
            _ => {}
        }
    }
    if let Some(file) = open {
        inner.clear();
        end_file(&file, &mut inner);
    }
    has_inner.then_some(all)
}

pub(super) fn failing(lines: &[&str], depth: TapDepth) -> Vec<String> {
    let points = lines.iter().enumerate().filter_map(|(at, line)| Some((at, TapPoint::read(line)?)));
    let is_one = |(at, point): &(usize, TapPoint<'_>)| {
        // Node explains each point in a YAML block below it.
        let block = lines.get(at + 1..).unwrap_or_default().iter().take(40);
        let mut block = block.take_while(|line| line.trim() != "...");
        point.status == TestCaseStatus::Failed
            && match depth {
                TapDepth::Top => point.indent == 0,
                TapDepth::Any => !block.any(|line| line.contains("failureType: 'subtestsFailed'")),
            }
    };
    points.filter(is_one).map(|(_, point)| point.name.to_owned()).collect()
}

/// A point's description without its duration, which node-tap appends.
fn without_time(description: &str) -> &str {
    let time = pattern!(r" *# *time(?:out)?=[\d.]+(?: *m?s)?(?: *\{)?$");
    time.find(description).map_or(description, |found| &description[..found.start()])
}

#[cfg(test)]
mod tests {
    use crate::reading::read;

    #[test]
    fn the_tests_of_files_are_those_one_level_below() {
        let text = "TAP version 14\n# Subtest: test/a.js\n    # Subtest: reads\n        ok 1 - should be equal\n        1..1\n    ok 1 - reads # time=135.975ms\n    \n    \
            not ok 2 - writes # time=2ms\n    1..2\nnot ok 1 - test/a.js # time=1140ms\n\nok 2 - test/b.js # time=3ms {\n    # Subtest: reads\n        ok 1 - one\n    ok 1 - reads # time=2ms\n    \
            ok 2 - later # TODO\n    1..2\n}\n\nok 3 - test/c.js # SKIP no tests found\n# Subtest: test/d.js\n    ok 1 - reads\nnot ok 4 - test/d.js # timeout=30\n1..4\n# failed 2 of 4 tests\n";
        let report = read(text, None);
        assert_eq!(report.failing, ["test/a.js > writes", "test/d.js"], "by its time too");
        let told: Vec<String> =
            report.cases.unwrap().tests.iter().map(|(name, status)| format!("{name}: {status:?}")).collect();
        assert_eq!(
            told,
            [
                "test/a.js > reads: Passed", "test/a.js > writes: Failed", "test/b.js > later: Skipped",
                "test/b.js > reads: Passed", "test/c.js: Skipped", "test/d.js: Failed",
                "test/d.js > reads: Passed",
            ]
        );
        assert_eq!(
            report.counts.map(|counts| (counts.passed, counts.failed, counts.skipped)),
            Some((3, 2, 2))
        );
    }

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
