//! `go test`: plain, `-v` and `-json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::{RunnerSummary, ended, summary};
use crate::cases::CaseList;
use journeyman_order::{TestCaseStatus, TestCounts};

/// Results of tests, by package and name.
type GoTestResults = BTreeMap<(String, String), TestCaseStatus>;

#[derive(Deserialize)]
struct GoTestEvent {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package", default)]
    package: String,
    #[serde(rename = "Test", default)]
    test: String,
}

/// The later of a run with and one without `-json`.
pub(crate) fn either(lines: &[&str]) -> Option<RunnerSummary> {
    [json(lines), plain(lines)].into_iter().flatten().max_by_key(|summary| summary.line)
}

/// One event per line.
fn json(lines: &[&str]) -> Option<RunnerSummary> {
    let mut ends = GoTestResults::new();
    let mut begun = BTreeSet::new();
    let mut failed_packages = Vec::new();
    let mut line = None;
    for (at, text) in lines.iter().enumerate() {
        if !text.starts_with('{') {
            continue;
        }
        let Ok(GoTestEvent { action, package, test }) = serde_json::from_str::<GoTestEvent>(text) else {
            continue;
        };
        let end = match action.as_str() {
            "pass" => TestCaseStatus::Passed,
            "fail" => TestCaseStatus::Failed,
            "skip" => TestCaseStatus::Skipped,
            "run" => {
                begun.insert((package, test));
                continue;
            }
            _ => continue,
        };
        if package.is_empty() {
            continue;
        }
        line = Some(at);
        if !test.is_empty() {
            let name = (package, test);
            // `go test` also parses what a test prints: a result without a start is forged.
            if begun.contains(&name) {
                ends.insert(name, end);
            }
        } else if end == TestCaseStatus::Failed {
            failed_packages.push(package);
        }
    }
    let (counts, mut failing, cases) = sum(&ends);
    // A test without a result aborted its package, along with tests that had not started.
    let is_whole = begun.iter().all(|name| name.1.is_empty() || ends.contains_key(name));
    // A package that does not build fails without a failed test.
    let explained: BTreeSet<&str> = ends
        .iter()
        .filter(|(_, end)| **end == TestCaseStatus::Failed)
        .map(|((package, _), _)| package.as_str())
        .collect();
    failing.extend(failed_packages.into_iter().filter(|package| !explained.contains(package.as_str())));
    let cases = cases.believed_if(is_whole);
    Some(RunnerSummary { failing, cases, is_whole, ..summary(counts, line?) })
}

/// Without `-v` only failures are named and nothing is counted, so counts are unknown. The exception is that none ran
/// if no package has tests.
fn plain(lines: &[&str]) -> Option<RunnerSummary> {
    // Output without a newline precedes the runner's next message on the same line.
    let test = pattern!(r"^(.*)--- (?:(?P<good>PASS)|(?P<bad>FAIL)|SKIP): (?P<name>\S+) \([\d.]+s\)$");
    let package = pattern!(r"^(ok|FAIL|\?|---)? *\t(\S+)(?:\t| )(.*)$");
    let package_at_end = pattern!(r"(ok  |FAIL)\t(\S+)\t((?:[\d.]+s|\(cached\))(?:\t.*)?)$");
    let mut ends = GoTestResults::new();
    let mut waiting: Vec<(String, TestCaseStatus)> = Vec::new();
    let mut broken = Vec::new();
    // Verbose runs announce every test, so a forged result of one that never started is ignored.
    let mut begun: BTreeSet<&str> = BTreeSet::new();
    let mut packages_with_tests = 0_u64;
    let mut line = None;
    // A panic aborts its package, and tests that had not started are not named.
    let (mut has_panicked, mut is_whole) = (false, true);
    for (at, text) in lines.iter().enumerate() {
        if text.starts_with("panic: ") || text.starts_with("fatal error: ") {
            has_panicked = true;
        } else if let Some((_, name)) = text.rsplit_once("=== RUN   ") {
            begun.insert(name);
        } else if let Some(found) = test.captures(text) {
            let name = found.name("name")?.as_str();
            let is_alone = found.get(1)?.as_str().trim().is_empty();
            let end = ended(&found);
            if begun.contains(name) || (begun.is_empty() && is_alone && end == TestCaseStatus::Failed) {
                waiting.push((name.to_owned(), end));
            }
        } else if let Some(found) = package.captures(text).or_else(|| package_at_end.captures(text)) {
            let name = found.get(2)?.as_str();
            let rest = found.get(3)?.as_str();
            let has_none = rest.contains("[no test files]") || rest.contains("[no tests to run]");
            match found.get(1).map(|word| word.as_str().trim_end()) {
                Some("FAIL") => {
                    if waiting.iter().all(|(_, end)| *end != TestCaseStatus::Failed) {
                        // Brackets hold the reason, otherwise it is only the duration.
                        let why = if rest.starts_with('[') { rest } else { "" };
                        broken.push(format!("{name} {why}"));
                    }
                    packages_with_tests += 1;
                    is_whole &= !has_panicked;
                }
                Some("ok") if !has_none => packages_with_tests += 1,
                Some("ok" | "?") => {}
                // Covered packages without tests are listed without a leading word.
                _ if rest.contains("coverage: ") => {}
                _ => continue,
            }
            line = Some(at);
            has_panicked = false;
            ends.extend(waiting.drain(..).map(|(test, end)| ((name.to_owned(), test), end)));
        }
    }
    let (counts, mut failing, cases) = sum(&ends);
    failing.extend(broken);
    let is_counted = !begun.is_empty() || packages_with_tests == 0;
    let cases = cases.believed_if(is_counted && is_whole);
    let counts = is_counted.then_some(counts);
    Some(RunnerSummary { counts, failing, line: line?, cases, programs: Vec::new(), is_whole })
}

/// Of a test with subtests, only the subtests count, unless it failed although no subtest did.
fn sum(ends: &GoTestResults) -> (TestCounts, Vec<String>, CaseList) {
    let mut failing = Vec::new();
    let mut cases = CaseList::default();
    for ((package, test), end) in ends {
        let start = format!("{test}/");
        let first = (package.clone(), start.clone());
        let mut parts = ends
            .range(first..)
            .take_while(|((of, name), _)| of == package && name.starts_with(&start))
            .map(|(_, end)| *end)
            .peekable();
        if parts.peek().is_some() {
            let is_own_failure =
                *end == TestCaseStatus::Failed && parts.all(|end| end != TestCaseStatus::Failed);
            if !is_own_failure {
                continue;
            }
        }
        let name = format!("{package}.{test}");
        cases.add(&name, *end);
        if *end == TestCaseStatus::Failed {
            failing.push(name);
        }
    }
    (cases.counts(), failing, cases)
}
