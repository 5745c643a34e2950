//! The form that helpers of ours write: JSON, one object a line.

use serde::Deserialize;

use super::ReportedTests;
use crate::table::runner_named;
use journeyman_order::TestCaseStatus;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum ReportLine {
    /// The first line of a run: whose helper wrote it.
    Runner(String),
    Test {
        name: String,
        status: TestCaseStatus,
    },
    /// What failed beside the tests, such as the fixture of a class.
    Failed(String),
    /// A file that could not be loaded.
    Unloaded(String),
}

/// Adds every test of a report. `None` if it has another form.
pub(super) fn read(text: &[u8], into: &mut ReportedTests) -> Option<&'static str> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = text.lines().map(serde_json::from_str::<ReportLine>);
    let Ok(ReportLine::Runner(runner)) = lines.next()? else { return None };
    let runner = runner_named(&runner)?.name;
    into.runs.push(runner);
    for line in lines {
        // Some helpers write while the tests run.
        into.cases.next_source();
        match line {
            Ok(ReportLine::Test { name, status }) => into.add(name, status),
            Ok(ReportLine::Failed(name)) => into.add_beside(name),
            Ok(ReportLine::Unloaded(name)) => into.unloaded.push(name),
            // Another run of the same command.
            Ok(ReportLine::Runner(name)) => into.runs.extend(runner_named(&name).map(|runner| runner.name)),
            // The process was killed while it wrote, or something else wrote there: not every test is named.
            Err(_) => into.is_broken = true,
        }
    }
    Some(runner)
}
