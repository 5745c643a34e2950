//! A JUnit report, through a library. The file was written by the code under test.

use std::collections::BTreeMap;

use junit_parser::{TestCase, TestStatus, TestSuite};

use super::cases::CaseList;
use journeyman_order::{TestCaseStatus, TestCounts};

/// The largest report that is read, in bytes.
const LARGEST: usize = 32 << 20;
/// The library reads suites within suites by calling itself; nobody nests them this deep, and a report made to
/// end the process does.
const DEEPEST: usize = 32;

/// What a report says.
pub(super) struct JunitReport {
    pub(super) counts: TestCounts,
    pub(super) failing: Vec<String>,
    pub(super) cases: Option<BTreeMap<String, TestCaseStatus>>,
    pub(super) unloaded: Vec<String>,
}

impl JunitReport {
    /// Whether it is no better than what was printed.
    pub(super) fn claims_no_more(&self, printed: &TestCounts) -> bool {
        self.counts.passed <= printed.passed && self.counts.failed >= printed.failed
    }
}

/// Counts every case; none when it is no report, or one without a case.
pub(super) fn read(xml: &[u8]) -> Option<JunitReport> {
    if xml.len() > LARGEST || !is_flat(xml) {
        return None;
    }
    // The library overlooks cases right below the root, where node puts them; below a suite it finds both.
    let xml = String::from_utf8_lossy(xml)
        .replace("<testsuites", "<testsuite")
        .replace("</testsuites", "</testsuite");
    let report = junit_parser::from_reader(xml.as_bytes()).ok()?;
    let mut counts = TestCounts::default();
    let mut failing = Vec::new();
    let mut unloaded = Vec::new();
    let mut cases = CaseList::default();
    let mut waiting: Vec<&TestSuite> = report.suites.iter().rev().collect();
    while let Some(suite) = waiting.pop() {
        waiting.extend(suite.suites.iter().rev());
        for case in &suite.cases {
            let name = name(case);
            match &case.status {
                TestStatus::Success => {
                    counts.passed += 1;
                    cases.add(&name, TestCaseStatus::Passed);
                }
                TestStatus::Skipped(_) => {
                    counts.skipped += 1;
                    cases.add(&name, TestCaseStatus::Skipped);
                }
                TestStatus::Error(_) | TestStatus::Failure(_) => {
                    counts.failed += 1;
                    cases.add(&name, TestCaseStatus::Failed);
                    // In pytest's words, a file that it could not collect tests from.
                    if matches!(&case.status, TestStatus::Error(error) if error.message == "collection failure")
                    {
                        unloaded.push(name.clone());
                    }
                    failing.push(name);
                }
            }
        }
    }
    let cases = cases.adding_up_to(&counts);
    (counts != TestCounts::default()).then_some(JunitReport { counts, failing, cases, unloaded })
}

fn name(case: &TestCase) -> String {
    let test = &case.original_name;
    match case.classname.as_deref().filter(|class| !class.is_empty() && !test.starts_with(*class)) {
        None => test.clone(),
        // Some runners put the path of a file there.
        Some(class) if class.contains(['/', ' ']) => format!("{class} > {test}"),
        Some(class) => format!("{class}.{test}"),
    }
}

fn is_flat(xml: &[u8]) -> bool {
    let mut depth = 0_usize;
    for (at, _) in xml.iter().enumerate().filter(|(_, byte)| **byte == b'<') {
        let rest = xml.get(at..).unwrap_or_default();
        if rest.starts_with(b"</testsuite") {
            depth = depth.saturating_sub(1);
        } else if rest.starts_with(b"<testsuite") {
            let end = rest.iter().take(4_096).position(|byte| *byte == b'>');
            let is_empty = end.is_some_and(|end| end > 0 && rest.get(end - 1) == Some(&b'/'));
            if !is_empty {
                depth += 1;
            }
            if depth > DEEPEST {
                return false;
            }
        }
    }
    true
}
