//! Compares two runs: the tests of a change and those of its base commit.

use std::collections::BTreeSet;

use crate::verdict;
use journeyman_order::comparison::ComparedExits;
use journeyman_order::{
    ComparedBy, Comparison, ComparisonVerdict, Exit, TestCaseStatus, TestCases, TestCounts, TestReport,
    TestVerdict,
};

/// Compares test by test if both runs name their tests, otherwise by counts or exit, and records which.
///
/// `reruns` are of the same tree as `after`. A test that both failed and passed among them is flaky, neither broken nor
/// fixed. A renamed test counts as one gone and one new.
pub(super) fn compare(base: &TestReport, after: &TestReport, reruns: &[TestReport]) -> Comparison {
    let mut comparison = Comparison {
        base: base.counts,
        after: after.counts,
        unloaded: after.unloaded.iter().filter(|name| !base.unloaded.contains(name)).cloned().collect(),
        ..Comparison::default()
    };
    if base.counts.is_some() && after.counts.is_some() {
        comparison.by = ComparedBy::Counts;
    }
    // If only the base reports counts, the change may have lost tests.
    let ran = |counts: Option<TestCounts>| counts.map_or(0, |counts| counts.ran());
    comparison.unnamed = ran(base.counts) > 0 && after.counts.is_none();
    let Some(before) = &base.cases else { return comparison };
    // If the base has no tests, all are new, whichever runner names them.
    let is_comparable = |cases: &&TestCases| cases.named_by == before.named_by || before.tests.is_empty();
    let mut named = std::iter::once(after).chain(reruns).filter_map(|reading| reading.cases.as_ref());
    let Some(now) = named.find(is_comparable) else {
        comparison.unnamed |= !before.tests.is_empty();
        return comparison;
    };
    comparison.by = ComparedBy::Test;
    comparison.unnamed = false;
    let flaky = flaky(now, reruns);
    for (name, status) in &now.tests {
        let former = before.tests.get(name).copied();
        if flaky.contains(name.as_str()) {
            comparison.flaky.add(name);
            continue;
        }
        match (former, *status) {
            (Some(TestCaseStatus::Passed), TestCaseStatus::Passed) => comparison.still_green += 1,
            (Some(TestCaseStatus::Failed), TestCaseStatus::Passed) => comparison.fixed.add(name),
            // A test that did not run shows nothing about the code before.
            (None | Some(TestCaseStatus::Skipped), TestCaseStatus::Passed)
            | (None, TestCaseStatus::Skipped) => {
                comparison.new.add(name);
            }
            (Some(TestCaseStatus::Passed), TestCaseStatus::Failed) => comparison.newly_broken.add(name),
            (Some(TestCaseStatus::Failed), TestCaseStatus::Failed) => comparison.already_red.add(name),
            (Some(TestCaseStatus::Skipped) | None, TestCaseStatus::Failed) => {
                comparison.new_failing.add(name)
            }
            (Some(TestCaseStatus::Passed | TestCaseStatus::Failed), TestCaseStatus::Skipped) => {
                comparison.skipped.add(name)
            }
            (Some(TestCaseStatus::Skipped), TestCaseStatus::Skipped) => comparison.still_skipped += 1,
        }
    }
    for name in before.tests.keys().filter(|name| !now.tests.contains_key(*name)) {
        comparison.gone.add(name);
    }
    comparison
}

/// Tests that passed in one run and failed in another on the same tree.
fn flaky<'a>(now: &'a TestCases, reruns: &[TestReport]) -> BTreeSet<&'a str> {
    let again: Vec<&TestCases> = reruns
        .iter()
        .filter_map(|rerun| rerun.cases.as_ref())
        .filter(|cases| cases.named_by == now.named_by)
        .collect();
    now.tests
        .iter()
        .filter(|(name, status)| {
            let other = match status {
                TestCaseStatus::Passed => TestCaseStatus::Failed,
                TestCaseStatus::Failed => TestCaseStatus::Passed,
                TestCaseStatus::Skipped => return false,
            };
            again.iter().any(|cases| cases.tests.get(*name) == Some(&other))
        })
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Whether another run on the same tree would help: a test that passed on the base and fails now may be flaky, and
/// other output may have hidden the names of tests.
pub fn may_be_flaky(base: &TestReport, after: &TestReport, alone: TestVerdict) -> bool {
    let comparison = compare(base, after, &[]);
    !comparison.newly_broken.is_empty() || (comparison.unnamed && alone == TestVerdict::Passed)
}

/// The verdict of a run on the commit.
///
/// The exit decides. `own`, the same run compared with the base, can only revoke a pass. So can `old`, the base's tests
/// on the same code: there is no pass if tests disappear or are skipped. The one exception is a base that fails in the
/// same way, by the same red tests, while others pass. Without names of tests there is no exception.
pub(super) fn judged(exits: &ComparedExits, own: &Comparison, old: &Comparison) -> ComparisonVerdict {
    if verdict(&exits.after, own.after.as_ref()) == TestVerdict::NoTests {
        return ComparisonVerdict::NoTests;
    }
    let is_by_test = own.by == ComparedBy::Test;
    // A rerun only detects flaky tests, so it counts only if tests are named. An exit of 0 does not count if some test
    // never passed.
    let passed_at_last = || is_by_test && has_no_red(own) && exits.reruns.contains(&Exit::Code(0));
    let is_good = verdict(&exits.after, own.after.as_ref()) == TestVerdict::Passed;
    let alone = if is_good || passed_at_last() {
        ComparisonVerdict::Passed
    } else if is_by_test
        && own.newly_broken.is_empty()
        && own.new_failing.is_empty()
        && is_red_as_before(exits, own)
    {
        ComparisonVerdict::PassedBesideRed
    } else {
        ComparisonVerdict::Failed
    };
    if alone.is_pass() && is_less(old) { ComparisonVerdict::TestsMissing } else { alone }
}

/// Whether no test failed in all runs on the commit.
fn has_no_red(own: &Comparison) -> bool {
    own.newly_broken.is_empty() && own.new_failing.is_empty() && own.already_red.is_empty()
}

/// Whether every failure is red on the base or flaky, with the same exit code. Some runners use special exit codes for
/// what is worse than a failing test.
fn is_red_as_before(exits: &ComparedExits, comparison: &Comparison) -> bool {
    let Exit::Code(code) = exits.after else { return false };
    let passed = comparison.after.is_some_and(|counts| counts.passed > 0) && comparison.unloaded.is_empty();
    let is_same_end = exits.base == Some(Exit::Code(code));
    // A step of the command besides its tests, such as a linter, may be what fails.
    let is_beside_tests = comparison.base.is_some_and(|counts| counts.failed == 0 && counts.passed > 0);
    let is_explained = if comparison.already_red.is_empty() {
        !comparison.flaky.is_empty() || (is_same_end && is_beside_tests)
    } else {
        is_same_end
    };
    passed && is_explained
}

/// Whether tests that ran on the base no longer run.
fn is_less(comparison: &Comparison) -> bool {
    if comparison.unnamed {
        return true;
    }
    match comparison.by {
        ComparedBy::Test => !comparison.gone.is_empty() || !comparison.skipped.is_empty(),
        ComparedBy::Counts => {
            let ran = |counts: Option<TestCounts>| counts.map_or(0, |counts| counts.ran());
            ran(comparison.after) < ran(comparison.base)
        }
        ComparedBy::ExitCode => false,
    }
}

#[cfg(test)]
mod tests;
