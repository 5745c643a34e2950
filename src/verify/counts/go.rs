//! `go test`: plain, `-v` and `-json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::Summary;
use crate::order::Counts;

#[derive(Clone, Copy, PartialEq)]
enum End {
    Passed,
    Failed,
    Skipped,
}

/// Tests by package and name, as they ended.
type Ends = BTreeMap<(String, String), End>;

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Action")]
    action: String,
    #[serde(rename = "Package", default)]
    package: String,
    #[serde(rename = "Test", default)]
    test: String,
}

/// One event a line.
pub(super) fn json(lines: &[&str]) -> Option<Summary> {
    let mut ends = Ends::new();
    let mut begun = BTreeSet::new();
    let mut failed_packages = Vec::new();
    let mut line = None;
    for (at, text) in lines.iter().enumerate() {
        if !text.starts_with('{') {
            continue;
        }
        let Ok(Event { action, package, test }) = serde_json::from_str::<Event>(text) else { continue };
        let end = match action.as_str() {
            "pass" => End::Passed,
            "fail" => End::Failed,
            "skip" => End::Skipped,
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
            // What a test prints is read by `go test` as well: an end without a beginning is forged.
            if begun.contains(&name) {
                ends.insert(name, end);
            }
        } else if end == End::Failed {
            failed_packages.push(package);
        }
    }
    let (counts, mut failing) = sum(&ends);
    // A package that does not build fails without a test of its own.
    let explained: BTreeSet<&str> = ends
        .iter()
        .filter(|(_, end)| **end == End::Failed)
        .map(|((package, _), _)| package.as_str())
        .collect();
    failing.extend(failed_packages.into_iter().filter(|package| !explained.contains(package.as_str())));
    Some(Summary { counts: Some(counts), failing, line: line? })
}

/// Without `-v` only failures are named and nothing is counted, so the counts stay open: except that none ran
/// when no package has tests.
pub(super) fn plain(lines: &[&str]) -> Option<Summary> {
    let test = pattern!(r"^ *--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$")?;
    let package = pattern!(r"^(ok|FAIL|\?|---)? *\t(\S+)(?:\t| )(.*)$")?;
    let mut ends = Ends::new();
    let mut waiting: Vec<(String, End)> = Vec::new();
    let mut broken = Vec::new();
    // Verbose runs announce every test, so that a forged end of one that never began is left out.
    let mut begun: BTreeSet<&str> = BTreeSet::new();
    let mut packages_with_tests = 0_u64;
    let mut line = None;
    for (at, text) in lines.iter().enumerate() {
        if let Some(name) = text.strip_prefix("=== RUN   ") {
            begun.insert(name);
        } else if let Some(found) = test.captures(text) {
            let name = found.get(2)?.as_str();
            let end = match found.get(1)?.as_str() {
                "PASS" => End::Passed,
                "SKIP" => End::Skipped,
                _ => End::Failed,
            };
            if begun.contains(name) || (begun.is_empty() && end == End::Failed) {
                waiting.push((name.to_owned(), end));
            }
        } else if let Some(found) = package.captures(text) {
            let name = found.get(2)?.as_str();
            let rest = found.get(3)?.as_str();
            let has_none = rest.contains("[no test files]") || rest.contains("[no tests to run]");
            match found.get(1).map(|word| word.as_str()) {
                Some("FAIL") => {
                    if waiting.iter().all(|(_, end)| *end != End::Failed) {
                        // In brackets is why; without, only how long it took.
                        let why = if rest.starts_with('[') { rest } else { "" };
                        broken.push(format!("{name} {why}"));
                    }
                    packages_with_tests += 1;
                }
                Some("ok") if !has_none => packages_with_tests += 1,
                Some("ok" | "?") => {}
                // Covered packages without tests are listed with no word before them.
                _ if rest.contains("coverage: ") => {}
                _ => continue,
            }
            line = Some(at);
            ends.extend(waiting.drain(..).map(|(test, end)| ((name.to_owned(), test), end)));
        }
    }
    let (counts, mut failing) = sum(&ends);
    failing.extend(broken);
    let is_counted = !begun.is_empty() || packages_with_tests == 0;
    Some(Summary { counts: is_counted.then_some(counts), failing, line: line? })
}

/// Of tests with parts only the parts are counted.
fn sum(ends: &Ends) -> (Counts, Vec<String>) {
    let mut counts = Counts::default();
    let mut failing = Vec::new();
    for ((package, test), end) in ends {
        let part = (package.clone(), format!("{test}/"));
        let has_parts = ends
            .range(part.clone()..)
            .next()
            .is_some_and(|((of, name), _)| *of == part.0 && name.starts_with(&part.1));
        if has_parts {
            continue;
        }
        match end {
            End::Passed => counts.passed += 1,
            End::Skipped => counts.skipped += 1,
            End::Failed => {
                counts.failed += 1;
                failing.push(format!("{package}.{test}"));
            }
        }
    }
    (counts, failing)
}
