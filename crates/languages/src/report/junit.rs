//! A JUnit report. The code under test wrote the file.

use std::collections::BTreeMap;

use quick_xml::events::BytesStart;

use super::xml::{attribute, visit};
use super::{ReportedTests, with_brackets};
use journeyman_order::{TestCaseStatus, TestCounts};

/// A case, and what the elements in it say.
struct JUnitCase {
    name: String,
    status: TestCaseStatus,
    /// Whether it says that it did not run.
    is_not_run: bool,
    is_unloaded: bool,
}

/// A suite, and what it says of its tests.
struct JUnitSuite {
    name: String,
    counts: TestCounts,
    /// Whether it holds a case or another suite. Then its numbers say nothing more: some count assertions as tests.
    holds_any: bool,
}

/// Adds every case of a report. `None` if it is no report that can be read.
pub(super) fn read(xml: &[u8], into: &mut ReportedTests) -> Option<&'static str> {
    let mut runner = "junit";
    let mut cases: Vec<JUnitCase> = Vec::new();
    let mut open: Option<(usize, JUnitCase)> = None;
    let mut suites: Vec<(usize, JUnitSuite)> = Vec::new();
    let mut unnamed: Vec<JUnitSuite> = Vec::new();
    let mut see = |depth: usize, tag: Option<&BytesStart<'_>>| match (tag, &mut open) {
        (Some(tag), None) => {
            if let Some((_, outer)) = suites.last_mut() {
                outer.holds_any |= matches!(tag.name().as_ref(), "testcase" | "testsuite");
            }
            match tag.name().as_ref() {
                "testcase" => open = Some((depth, JUnitCase::of(tag, runner))),
                "testsuite" => suites.push((depth, JUnitSuite::of(tag))),
                "testsuites" => match attribute(tag, "name").as_deref() {
                    Some("nextest-run") => runner = "nextest",
                    Some("bun test") => runner = "bun",
                    _ => {}
                },
                _ => {}
            }
        }
        (Some(tag), Some((at, case))) if depth == *at + 1 => case.hear(tag),
        (None, Some((at, _))) if depth == *at => cases.extend(open.take().map(|(_, case)| case)),
        (None, None) => {
            let ended = suites.pop_if(|(at, _)| *at == depth);
            unnamed.extend(ended.map(|(_, suite)| suite).filter(JUnitSuite::names_none));
        }
        (Some(_) | None, Some(_)) => {}
    };
    if !visit(xml, &["testsuites", "testsuite"], &mut see)? {
        into.is_cut = true;
        return None;
    }
    let passes: BTreeMap<String, usize> = cases
        .iter()
        .enumerate()
        .filter(|(_, case)| into.ended_well && case.status == TestCaseStatus::Passed)
        .map(|(at, case)| (case.name.clone(), at))
        .collect();
    for (at, case) in cases.into_iter().enumerate() {
        // A build that ended well ran it again until it passed.
        let is_repeated = passes.get(&case.name).is_some_and(|last| *last > at);
        if is_repeated && case.status != TestCaseStatus::Passed {
            continue;
        }
        into.unloaded.extend(case.is_unloaded.then(|| case.name.clone()));
        into.add(case.name, case.status);
    }
    for suite in unnamed {
        into.add_program(&suite.name, suite.counts);
    }
    Some(runner)
}

impl JUnitSuite {
    fn of(tag: &BytesStart<'_>) -> Self {
        let number = |name: &str| -> u64 {
            attribute(tag, name).and_then(|number| number.trim().parse().ok()).unwrap_or_default()
        };
        let tests = number("tests");
        let failed = number("failures").saturating_add(number("errors")).min(tests);
        let skipped = number("skipped").min(tests - failed);
        let passed = tests - failed - skipped;
        Self {
            name: attribute(tag, "name").unwrap_or_default(),
            counts: TestCounts { passed, failed, skipped },
            holds_any: false,
        }
    }

    /// Whether it counts tests and names none of them.
    fn names_none(&self) -> bool {
        !self.holds_any && self.counts != TestCounts::default() && !self.name.trim().is_empty()
    }
}

impl JUnitCase {
    fn of(tag: &BytesStart<'_>, runner: &str) -> Self {
        let of = |name: &str| attribute(tag, name).unwrap_or_default();
        let state = of("status");
        // As CTest and GoogleTest say it, without an element.
        let status = match state.as_str() {
            "notrun" | "disabled" => TestCaseStatus::Skipped,
            _ => TestCaseStatus::Passed,
        };
        let name = match runner {
            "bun" => name_in_bun(&of("file"), &of("classname"), &of("name")),
            _ => name(&of("classname"), &of("name"), runner),
        };
        Self { name, status, is_not_run: state == "notrun", is_unloaded: false }
    }

    /// Notes an element within it. Those of earlier tries, such as `flakyFailure`, say nothing.
    fn hear(&mut self, tag: &BytesStart<'_>) {
        let message = || attribute(tag, "message").unwrap_or_default();
        match tag.name().as_ref() {
            "failure" => self.status = TestCaseStatus::Failed,
            "error" if is_risky(&attribute(tag, "type").unwrap_or_default()) => {}
            "error" => {
                self.status = TestCaseStatus::Failed;
                // Pytest's message for a file that it could not collect tests from.
                self.is_unloaded |= message() == "collection failure";
            }
            // CTest fails for a test whose program is missing, and reports it as skipped.
            "skipped" if self.is_not_run && !message().starts_with("SKIP_") => {
                self.status = TestCaseStatus::Failed;
            }
            "skipped" if self.status == TestCaseStatus::Passed => self.status = TestCaseStatus::Skipped,
            // PHPUnit reports a class without tests as such a case.
            "warning" if self.name == "Warning" => self.status = TestCaseStatus::Skipped,
            _ => {}
        }
    }
}

/// Whether an error is PHPUnit's remark on a test that passed. Before version 10, it reports both in the same way.
fn is_risky(kind: &str) -> bool {
    let kinds = [
        "RiskyTestError",
        "OutputError",
        "CoveredCodeNotExecutedException",
        "MissingCoversAnnotationException",
        "UnintentionallyCoveredCodeError",
    ];
    kind.strip_prefix(r"PHPUnit\Framework\").is_some_and(|kind| kinds.contains(&kind))
}

fn name(class: &str, test: &str, runner: &str) -> String {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    match class {
        _ if runner == "nextest" => format!("{class} > {test}"),
        "" => test.to_owned(),
        // The fixture of a class, for one.
        _ if test.is_empty() => class.to_owned(),
        _ if test.strip_prefix(class).is_some_and(|rest| !goes_on(rest)) => test.to_owned(),
        // Some runners put the path of a file there.
        _ if class.contains(['/', ' ']) => format!("{class} > {test}"),
        _ => format!("{class}.{}", with_brackets(test)),
    }
}

/// Bun names groups from the inside out, and the file elsewhere.
fn name_in_bun(file: &str, class: &str, test: &str) -> String {
    // Older ones escape it twice.
    let groups = class.replace("&gt;", ">");
    let all = [file].into_iter().chain(groups.rsplit(" > ")).chain([test]);
    all.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" > ")
}
