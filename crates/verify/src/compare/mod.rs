//! Two runs beside each other: the tests of a change and those of its base commit.

use std::collections::BTreeSet;

use crate::verdict;
use journeyman_order::comparison::ComparedExits;
use journeyman_order::{
    ComparedBy, Comparison, ComparisonVerdict, Exit, TestCaseStatus, TestCases, TestCounts, TestReport,
    TestVerdict,
};

/// Compares test by test where both runs name theirs, and else says by what it could.
///
/// `reruns` are of the same tree as `after`: a test that failed once and passed once among them is flaky, and neither
/// broken nor fixed. A test under another name is one gone and one new.
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
    // What the base said and the change keeps to itself may be what is missing.
    let ran = |counts: Option<TestCounts>| counts.map_or(0, |counts| counts.ran());
    comparison.unnamed = ran(base.counts) > 0 && after.counts.is_none();
    let Some(before) = &base.cases else { return comparison };
    // Where there was nothing, all is new, whoever names it.
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
            // One that did not run says nothing of the code before.
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

/// Tests that passed in one and failed in another of the runs on one tree.
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

/// Whether another run on the same tree would tell more: what passed on the base and fails now may be flaky, and names
/// may have been lost in what else was printed.
pub fn may_be_flaky(base: &TestReport, after: &TestReport, alone: TestVerdict) -> bool {
    let comparison = compare(base, after, &[]);
    !comparison.newly_broken.is_empty() || (comparison.unnamed && alone == TestVerdict::Passed)
}

/// What the run on the commit comes to.
///
/// The exit decides, and `own`, the same run beside the base, takes away; so does `old`, the tests of the base on the
/// same code: a pass during which they go or are skipped is none. It gives in one case only: where the base fails in the
/// same way, by tests that are red there as well, and others passed. Without names of tests there is no such case.
pub(super) fn judged(exits: &ComparedExits, own: &Comparison, old: &Comparison) -> ComparisonVerdict {
    if verdict(&exits.after, own.after.as_ref()) == TestVerdict::NoTests {
        return ComparisonVerdict::NoTests;
    }
    let is_by_test = own.by == ComparedBy::Test;
    // A rerun tells flaky tests, so it counts only where tests are told apart. An exit of 0 beside a test that never passed is
    // not believed.
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

/// Whether all that fails is red on the base or flaky, and fails in the same way: some runners have exit codes of
/// their own for what is worse than a failing test.
fn is_red_as_before(exits: &ComparedExits, comparison: &Comparison) -> bool {
    let Exit::Code(code) = exits.after else { return false };
    let passed = comparison.after.is_some_and(|counts| counts.passed > 0) && comparison.unloaded.is_empty();
    let is_same_end = exits.base == Some(Exit::Code(code));
    // What the command does beside its tests, such as a linter, may be what fails.
    let is_beside_tests = comparison.base.is_some_and(|counts| counts.failed == 0 && counts.passed > 0);
    let is_explained = if comparison.already_red.is_empty() {
        !comparison.flaky.is_empty() || (is_same_end && is_beside_tests)
    } else {
        is_same_end
    };
    passed && is_explained
}

/// Whether tests that ran on the base do not run any more.
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
