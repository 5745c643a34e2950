//! A JUnit report, parsed by a library. The code under test wrote the file.

use junit_parser::{TestCase, TestStatus, TestSuite};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::ReportedTests;
use journeyman_order::bounds::{DEEPEST, MOST_LISTED};
use journeyman_order::{TestCaseStatus, byte_order_mark};

/// Limit of elements: the library needs far more memory for each than its text has.
const MOST_ELEMENTS: usize = 400_000;

/// Adds every case of a report. `None` if it is no report that can be read.
pub(super) fn read(xml: &[u8], into: &mut ReportedTests) -> Option<&'static str> {
    // The library ignores cases directly below the root, where node puts them; below a suite it finds both.
    let xml = text(xml).replace("<testsuites", "<testsuite").replace("</testsuites", "</testsuite");
    if !is_modest(&xml) {
        return None;
    }
    let report = junit_parser::from_reader(xml.as_bytes()).ok()?;
    let mut waiting: Vec<&TestSuite> = report.suites.iter().rev().collect();
    while let Some(suite) = waiting.pop() {
        waiting.extend(suite.suites.iter().rev());
        for case in &suite.cases {
            let name = name(case);
            // Pytest's message for a file that it could not collect tests from.
            if matches!(&case.status, TestStatus::Error(error) if error.message == "collection failure") {
                into.unloaded.push(name.clone());
            }
            let status = match &case.status {
                TestStatus::Success => TestCaseStatus::Passed,
                TestStatus::Skipped(_) => TestCaseStatus::Skipped,
                TestStatus::Error(_) | TestStatus::Failure(_) => TestCaseStatus::Failed,
            };
            into.add(name, status);
        }
    }
    Some("junit")
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
