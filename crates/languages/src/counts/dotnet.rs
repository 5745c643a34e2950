//! What `dotnet test` prints of its tests.

use super::{RunnerSummary, number, summary};
use crate::cases::counted_together;
use journeyman_order::TestCounts;

/// A line for each project: `Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 5 ms`.
pub(crate) fn vstest(lines: &[&str]) -> Option<RunnerSummary> {
    let row = pattern!(
        r"^ *(?:Passed|Failed|Skipped)! +- Failed: +(\d+), Passed: +(\d+), Skipped: +(\d+), Total: +(\d+)\b"
    );
    let (mut counts, mut last) = (TestCounts::default(), None);
    for (at, line) in lines.iter().enumerate() {
        let Some(found) = row.captures(line) else { continue };
        let [failed, passed, skipped, total] = [1, 2, 3, 4].map(|group| number(&found, group));
        if failed.saturating_add(passed).saturating_add(skipped) != total {
            continue;
        }
        counts = counted_together(counts, TestCounts { passed, failed, skipped });
        last = Some(at);
    }
    Some(summary(counts, last?))
}
