//! A TRX report, as VSTest writes one for each project. The code under test wrote the file.

use std::collections::BTreeMap;

use quick_xml::events::BytesStart;

use super::xml::{attribute, visit};
use super::{ReportedTests, with_brackets};
use journeyman_order::TestCaseStatus;

struct TrxResult {
    depth: usize,
    test: String,
    name: String,
    status: TestCaseStatus,
    /// Whether it sums up the rows of a data-driven test.
    is_sum: bool,
}

/// Adds every result of a report. `None` if it is no report that can be read.
pub(super) fn read(xml: &[u8], into: &mut ReportedTests) -> Option<&'static str> {
    let (mut results, mut open) = (Vec::<TrxResult>::new(), Vec::<usize>::new());
    // The classes of tests come after their results.
    let (mut defined, mut classes) = (String::new(), BTreeMap::<String, String>::new());
    let mut see = |depth: usize, tag: Option<&BytesStart<'_>>| {
        let Some(tag) = tag else {
            open.pop_if(|last| results.get(*last).is_some_and(|result| result.depth == depth));
            return;
        };
        let of = |name: &str| attribute(tag, name).unwrap_or_default();
        match tag.name().as_ref() {
            "UnitTestResult" | "TestResultAggregation" => {
                if let Some(outer) = open.last().and_then(|at| results.get_mut(*at)) {
                    outer.is_sum = true;
                }
                open.push(results.len());
                let status = status(&of("outcome"));
                results.push(TrxResult {
                    depth,
                    test: of("testId"),
                    name: of("testName"),
                    status,
                    is_sum: false,
                });
            }
            "UnitTest" => defined = of("id"),
            "TestMethod" => drop(classes.insert(std::mem::take(&mut defined), of("className"))),
            _ => {}
        }
    };
    if !visit(xml, &["TestRun"], &mut see)? {
        into.is_cut = true;
        return None;
    }
    for result in results.into_iter().filter(|result| !result.is_sum) {
        let class = classes.get(&result.test).map_or("", String::as_str);
        // xUnit's names begin with the class, NUnit's and MSTest's do not.
        let own = result.name.strip_prefix(class).and_then(|own| own.strip_prefix('.'));
        let own = with_brackets(own.unwrap_or(&result.name));
        let name = if class.is_empty() { own } else { format!("{class}.{own}") };
        into.add(name, result.status);
    }
    Some("vstest")
}

fn status(outcome: &str) -> TestCaseStatus {
    match outcome {
        "Passed" => TestCaseStatus::Passed,
        // MSTest's `Inconclusive` becomes the first of these.
        "NotExecuted" | "Inconclusive" | "NotRunnable" | "Pending" => TestCaseStatus::Skipped,
        _ => TestCaseStatus::Failed,
    }
}
