//! Two runs beside each other: the tests of a change and those of its base commit.

use std::collections::BTreeSet;

use crate::verdict;
use journeyman_order::comparison::Exits;
use journeyman_order::{
    CaseStatus, Cases, ComparedBy, Comparison, Counts, Exit, Judged, Reading, TestVerdict, Tests,
};

/// Compares test by test where both runs name theirs, and else says by what it could.
///
/// `reruns` are of the same tree as `after`: a test that failed once and passed once among them is flaky, and neither
/// broken nor fixed. A test under another name is one gone and one new.
pub(super) fn compare(base: &Reading, after: &Reading, reruns: &[Reading]) -> Comparison {
    let mut comparison = Comparison {
        by: ComparedBy::ExitCode,
        base: base.counts,
        after: after.counts,
        still_green: 0,
        still_skipped: 0,
        fixed: Tests::default(),
        by_data: Tests::default(),
        newly_broken: Tests::default(),
        already_red: Tests::default(),
        flaky: Tests::default(),
        gone: Tests::default(),
        new: Tests::default(),
        new_failing: Tests::default(),
        skipped: Tests::default(),
        unnamed: false,
        unloaded: after.unloaded.iter().filter(|name| !base.unloaded.contains(name)).cloned().collect(),
    };
    if base.counts.is_some() && after.counts.is_some() {
        comparison.by = ComparedBy::Counts;
    }
    // What the base said and the change keeps to itself may be what is missing.
    let ran = |counts: Option<Counts>| counts.map_or(0, |counts| counts.ran());
    comparison.unnamed = ran(base.counts) > 0 && after.counts.is_none();
    let Some(before) = &base.cases else { return comparison };
    // Where there was nothing, all is new, whoever names it.
    let is_comparable = |cases: &&Cases| cases.named_by == before.named_by || before.tests.is_empty();
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
            (Some(CaseStatus::Passed), CaseStatus::Passed) => comparison.still_green += 1,
            (Some(CaseStatus::Failed), CaseStatus::Passed) => comparison.fixed.add(name),
            // One that did not run says nothing of the code before.
            (None | Some(CaseStatus::Skipped), CaseStatus::Passed) | (None, CaseStatus::Skipped) => {
                comparison.new.add(name);
            }
            (Some(CaseStatus::Passed), CaseStatus::Failed) => comparison.newly_broken.add(name),
            (Some(CaseStatus::Failed), CaseStatus::Failed) => comparison.already_red.add(name),
            (Some(CaseStatus::Skipped) | None, CaseStatus::Failed) => comparison.new_failing.add(name),
            (Some(CaseStatus::Passed | CaseStatus::Failed), CaseStatus::Skipped) => {
                comparison.skipped.add(name)
            }
            (Some(CaseStatus::Skipped), CaseStatus::Skipped) => comparison.still_skipped += 1,
        }
    }
    for name in before.tests.keys().filter(|name| !now.tests.contains_key(*name)) {
        comparison.gone.add(name);
    }
    comparison
}

/// Tests that passed in one and failed in another of the runs on one tree.
fn flaky<'a>(now: &'a Cases, reruns: &[Reading]) -> BTreeSet<&'a str> {
    let again: Vec<&Cases> = reruns
        .iter()
        .filter_map(|rerun| rerun.cases.as_ref())
        .filter(|cases| cases.named_by == now.named_by)
        .collect();
    now.tests
        .iter()
        .filter(|(name, status)| {
            let other = match status {
                CaseStatus::Passed => CaseStatus::Failed,
                CaseStatus::Failed => CaseStatus::Passed,
                CaseStatus::Skipped => return false,
            };
            again.iter().any(|cases| cases.tests.get(*name) == Some(&other))
        })
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Whether another run on the same tree would tell more: what passed on the base and fails now may be flaky, and names
/// may have been lost in what else was printed.
pub fn may_be_flaky(base: &Reading, after: &Reading, alone: TestVerdict) -> bool {
    let comparison = compare(base, after, &[]);
    !comparison.newly_broken.is_empty() || (comparison.unnamed && alone == TestVerdict::Passed)
}

/// What the run on the commit comes to.
///
/// The exit decides, and `own`, the same run beside the base, takes away; so does `old`, the tests of the base on the
/// same code: a pass during which they go or are skipped is none. It gives in one case only: where the base fails in the
/// same way, by tests that are red there as well, and others passed. Without names of tests there is no such case.
pub(super) fn judged(exits: &Exits, own: &Comparison, old: &Comparison) -> Judged {
    if verdict(&exits.after, own.after.as_ref()) == TestVerdict::NoTests {
        return Judged::NoTests;
    }
    let is_by_test = own.by == ComparedBy::Test;
    // A rerun tells flaky tests, so it counts only where tests are told apart.
    let passed_at_last =
        || is_by_test && own.newly_broken.is_empty() && exits.reruns.contains(&Exit::Code(0));
    let is_good = verdict(&exits.after, own.after.as_ref()) == TestVerdict::Passed;
    let fallen_short = if is_good || passed_at_last() {
        Judged::Passed
    } else if is_by_test
        && own.newly_broken.is_empty()
        && own.new_failing.is_empty()
        && is_red_as_before(exits, own)
    {
        Judged::PassedBesideRed
    } else {
        Judged::Failed
    };
    match fallen_short {
        Judged::Passed | Judged::PassedBesideRed if is_less(old) => Judged::TestsMissing,
        Judged::Passed
        | Judged::PassedBesideRed
        | Judged::Failed
        | Judged::TestsMissing
        | Judged::NoTests => fallen_short,
    }
}

/// Whether all that fails is red on the base or flaky, and fails in the same way: some runners have exit codes of
/// their own for what is worse than a failing test.
fn is_red_as_before(exits: &Exits, comparison: &Comparison) -> bool {
    let Exit::Code(code) = exits.after else { return false };
    let passed = comparison.after.is_some_and(|counts| counts.passed > 0) && comparison.unloaded.is_empty();
    let is_explained = if comparison.already_red.is_empty() {
        !comparison.flaky.is_empty()
    } else {
        exits.base == Some(Exit::Code(code))
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
            let ran = |counts: Option<Counts>| counts.map_or(0, |counts| counts.ran());
            ran(comparison.after) < ran(comparison.base)
        }
        ComparedBy::ExitCode => false,
    }
}

#[cfg(test)]
mod tests;
