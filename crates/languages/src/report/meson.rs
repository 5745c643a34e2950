//! The log that `meson test` writes for machines: JSON, one program a line. Its JUnit report has other tests than Meson
//! counts, and calls an expected failure a pass.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::ReportedTests;
use journeyman_order::TestCaseStatus;

#[derive(Deserialize)]
struct MesonResult {
    name: String,
    result: String,
    /// Only Meson writes it beside them.
    #[serde(rename = "starttime")]
    _start: IgnoredAny,
}

/// Adds every program of a log. `None` if it is another report.
pub(super) fn read(text: &[u8], into: &mut ReportedTests) -> Option<&'static str> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines().map(serde_json::from_str::<MesonResult>).peekable();
    lines.peek()?.as_ref().ok()?;
    for line in lines {
        match line {
            Ok(MesonResult { name, result, .. }) => into.add(name, status(&result)),
            Err(_) => into.is_cut = true,
        }
    }
    Some("meson")
}

fn status(result: &str) -> TestCaseStatus {
    match result {
        "OK" => TestCaseStatus::Passed,
        // It failed, as its meson.build expects.
        "EXPECTEDFAIL" | "SKIP" | "IGNORED" => TestCaseStatus::Skipped,
        _ => TestCaseStatus::Failed,
    }
}
