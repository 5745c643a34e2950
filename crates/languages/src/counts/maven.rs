//! What Maven prints of its tests, and how a build of Maven or Gradle ends.

use super::{RunnerSummary, last_of, number, summary};
use crate::cases::counted_together;
use journeyman_order::TestCounts;

/// Below `Results:` of each module: `Tests run: 10, Failures: 1, Errors: 2, Skipped: 2, Flakes: 1`. A quiet build
/// leaves out the modules that pass, and its own end.
pub(crate) fn maven(lines: &[&str]) -> Option<RunnerSummary> {
    let begin = pattern!(r"^(?:\[INFO\] )?Results ?:$");
    let row = pattern!(
        r"^(?:\[\w+\] )?Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+)(?:, Flakes: \d+)?$"
    );
    let (mut counts, mut last, mut is_open) = (TestCounts::default(), None, false);
    for (at, line) in lines.iter().enumerate() {
        is_open |= begin.is_match(line);
        let Some(found) = row.captures(line).filter(|_| is_open) else { continue };
        let [ran, failures, errors, skipped] = [1, 2, 3, 4].map(|group| number(&found, group));
        let failed = failures.saturating_add(errors);
        let passed = ran.checked_sub(failed)?.checked_sub(skipped)?;
        counts = counted_together(counts, TestCounts { passed, failed, skipped });
        (last, is_open) = (Some(at), false);
    }
    let (end, _) = end(lines)?;
    (end > last?).then(|| summary(counts, end))
}

/// Whether the build says at its end that it went well: a test that then failed was tried again and passed.
pub(crate) fn ended_well(lines: &[&str]) -> bool {
    end(lines).is_some_and(|(_, is_good)| is_good)
}

fn end(lines: &[&str]) -> Option<(usize, bool)> {
    let end = pattern!(r"^(?:\[\w+\] )?BUILD (?:(SUCCESS|SUCCESSFUL)|FAILURE|FAILED)(?: in \S.*)?$");
    last_of(lines, |line| Some(end.captures(line)?.get(1).is_some()))
}
