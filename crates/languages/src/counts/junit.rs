//! A JUnit report, parsed by a library. The code under test wrote the file.

use std::collections::BTreeMap;

use junit_parser::{TestCase, TestStatus, TestSuite};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::cases::{CaseList, count};
use journeyman_order::bounds::{DEEPEST, LARGEST_FILE, MOST_LISTED};
use journeyman_order::{TestCaseStatus, TestCounts, byte_order_mark};

/// Limit of elements: the library needs far more memory for each than its text has.
const MOST_ELEMENTS: usize = 400_000;

pub(super) struct JunitReport {
    pub(super) counts: TestCounts,
    pub(super) failing: Vec<String>,
    pub(super) cases: Option<BTreeMap<String, TestCaseStatus>>,
    pub(super) unloaded: Vec<String>,
}

impl JunitReport {
    /// Whether the report is no better than the printed counts.
    pub(super) fn claims_no_more(&self, printed: &TestCounts) -> bool {
        self.counts.passed <= printed.passed && self.counts.failed >= printed.failed
    }
}

/// Counts every case. `None` if it is not a report, or has no cases.
pub(super) fn read(xml: &[u8]) -> Option<JunitReport> {
    if xml.len() > LARGEST_FILE {
        return None;
    }
    // The library ignores cases directly below the root, where node puts them; below a suite it finds both.
    let xml = text(xml).replace("<testsuites", "<testsuite").replace("</testsuites", "</testsuite");
    if !is_modest(&xml) {
        return None;
    }
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
            let status = match &case.status {
                TestStatus::Success => TestCaseStatus::Passed,
                TestStatus::Skipped(_) => TestCaseStatus::Skipped,
                TestStatus::Error(_) | TestStatus::Failure(_) => TestCaseStatus::Failed,
            };
            count(&mut counts, status);
            cases.add(&name, status);
            // Pytest's message for a file that it could not collect tests from.
            if matches!(&case.status, TestStatus::Error(error) if error.message == "collection failure") {
                unloaded.push(name.clone());
            }
            failing.extend((status == TestCaseStatus::Failed).then_some(name));
        }
    }
    let cases = cases.adding_up_to(&counts);
    (counts != TestCounts::default()).then_some(JunitReport { counts, failing, cases, unloaded })
}

/// A report as text, without the declaration of its encoding.
fn text(xml: &[u8]) -> String {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| unit(*pair)).collect();
        String::from_utf16_lossy(&units)
    };
    let all = match xml {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => String::from_utf8_lossy(xml).into_owned(),
    };
    let body = byte_order_mark::strip(&all).trim_start();
    match body.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")) {
        Some((_, rest)) => rest.to_owned(),
        None => body.to_owned(),
    }
}

/// Merges the reports that follow lines with `mark`. `None` if there is none.
pub fn reports_as_one(files: &[u8], mark: &str) -> Option<Vec<u8>> {
    let line = format!("\n{mark}\n");
    let mut rest = files.strip_prefix(line.as_bytes())?;
    let mut each = Vec::new();
    while let Some(at) = rest.windows(line.len()).position(|window| window == line.as_bytes()) {
        each.push(text(rest.get(..at)?));
        rest = rest.get(at + line.len()..)?;
    }
    each.push(text(rest));
    Some(match each.as_slice() {
        [one] => one.clone().into_bytes(),
        several => format!("<testsuites>{}</testsuites>", several.concat()).into_bytes(),
    })
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

/// Whether a report is small enough for the library. The parser here is the library's own, so both agree on what is an
/// element and what is comment or text.
fn is_modest(xml: &str) -> bool {
    let mut reader = Reader::from_reader(xml.as_bytes());
    let (mut buffer, mut depth, mut elements) = (Vec::new(), 0_usize, 0_usize);
    let is_wide = |tag: &BytesStart<'_>| {
        tag.attributes().with_checks(false).take(MOST_LISTED + 1).count() > MOST_LISTED
    };
    loop {
        let is_immodest = match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(tag)) => {
                (depth, elements) = (depth + 1, elements + 1);
                is_wide(&tag)
            }
            Ok(Event::Empty(tag)) => {
                elements += 1;
                is_wide(&tag)
            }
            Ok(Event::End(_)) => {
                depth = depth.saturating_sub(1);
                false
            }
            // The library stops here as well, or earlier.
            Ok(Event::Eof) | Err(_) => return true,
            Ok(
                Event::Text(_)
                | Event::CData(_)
                | Event::Comment(_)
                | Event::Decl(_)
                | Event::PI(_)
                | Event::DocType(_)
                | Event::GeneralRef(_),
            ) => false,
        };
        if is_immodest || depth > DEEPEST || elements > MOST_ELEMENTS {
            return false;
        }
        buffer.clear();
    }
}
