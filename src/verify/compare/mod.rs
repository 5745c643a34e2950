//! Two runs beside each other: the tests of a change and those of its base commit.

use std::collections::{BTreeMap, BTreeSet};

use crate::order::comparison::Exits;
use crate::order::{
    CaseStatus, Cases, ComparedBy, Comparison, Counts, Exit, Judged, Reading, TestVerdict, Tests,
};
use crate::verify::names::{Printed, SourceName, SourceNames, Which};
use crate::verify::verdict;

/// What reading the diff tells of tests that have another name now, or none. Names as in the source.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told<'a> {
    /// Renamed or moved tests: before, after.
    pub renamed: &'a [(String, String)],
    /// Removed together with what they tested.
    pub retired: &'a [String],
}

/// Compares test by test where both runs name theirs, and else says by what it could.
///
/// `reruns` are of the same tree as `after`: a test that failed once and passed once among them is flaky, and neither
/// broken nor fixed. Without what is `told`, a test under another name is one gone and one new.
pub fn compare(base: &Reading, after: &Reading, reruns: &[Reading], told: &Told<'_>) -> Comparison {
    let mut comparison = Comparison {
        by: ComparedBy::ExitCode,
        base: base.counts,
        after: after.counts,
        still_green: 0,
        still_skipped: 0,
        fixed: Tests::default(),
        newly_broken: Tests::default(),
        already_red: Tests::default(),
        flaky: Tests::default(),
        gone: Tests::default(),
        retired: Tests::default(),
        new: Tests::default(),
        new_failing: Tests::default(),
        skipped: Tests::default(),
        unnamed: false,
        renamed: 0,
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
    let former_names = former_names(before, now, told.renamed);
    let mut seen_before = BTreeSet::new();
    for (name, status) in &now.tests {
        let former = match before.tests.get_key_value(name) {
            Some(same) => Some(same),
            None => {
                let former =
                    former_names.get(name.as_str()).and_then(|former| before.tests.get_key_value(*former));
                comparison.renamed += u64::from(former.is_some());
                former
            }
        };
        seen_before.extend(former.map(|(name, _)| name.as_str()));
        if flaky.contains(name.as_str()) {
            comparison.flaky.add(name);
            continue;
        }
        match (former.map(|(_, status)| *status), *status) {
            (Some(CaseStatus::Passed), CaseStatus::Passed) => comparison.still_green += 1,
            (Some(CaseStatus::Failed | CaseStatus::Skipped), CaseStatus::Passed) => {
                comparison.fixed.add(name)
            }
            (None, CaseStatus::Passed | CaseStatus::Skipped) => comparison.new.add(name),
            (Some(CaseStatus::Passed), CaseStatus::Failed) => comparison.newly_broken.add(name),
            (Some(CaseStatus::Failed), CaseStatus::Failed) => comparison.already_red.add(name),
            (Some(CaseStatus::Skipped) | None, CaseStatus::Failed) => comparison.new_failing.add(name),
            (Some(CaseStatus::Passed | CaseStatus::Failed), CaseStatus::Skipped) => {
                comparison.skipped.add(name)
            }
            (Some(CaseStatus::Skipped), CaseStatus::Skipped) => comparison.still_skipped += 1,
        }
    }
    let retired = SourceNames::new(told.retired.iter().map(String::as_str));
    for name in before.tests.keys().filter(|name| !seen_before.contains(name.as_str())) {
        let is_retired = retired.find(&Printed::new(name)).is_some();
        if is_retired { comparison.retired.add(name) } else { comparison.gone.add(name) }
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

/// By the name that a test has now, the one it had. A pair is taken only where the old name is gone and the new one
/// is new; runs of one test with several parameters pair up by their parameters first.
fn former_names<'a>(
    before: &'a Cases,
    now: &'a Cases,
    renamed: &'a [(String, String)],
) -> BTreeMap<&'a str, &'a str> {
    let new: Vec<(&str, Printed<'_>)> = now
        .tests
        .keys()
        .filter(|name| !before.tests.contains_key(*name))
        .map(|name| (name.as_str(), Printed::new(name)))
        .collect();
    let mut new_by_own_name: BTreeMap<&str, BTreeMap<Which<'_>, Vec<usize>>> = BTreeMap::new();
    for (at, (_, printed)) in new.iter().enumerate() {
        for (own, which) in printed.runs() {
            new_by_own_name.entry(own).or_default().entry(which).or_default().push(at);
        }
    }
    let from = SourceNames::new(renamed.iter().map(|(from, _)| from.as_str()));
    let mut former: BTreeMap<&str, &str> = BTreeMap::new();
    for name in before.tests.keys().filter(|name| !now.tests.contains_key(*name)) {
        let old = Printed::new(name);
        let pair =
            from.find(&old).and_then(|(at, which)| Some((which, SourceName::new(&renamed.get(at)?.1))));
        let Some((which, to)) = pair else { continue };
        let Some(runs) = to.last().and_then(|last| new_by_own_name.get(last)) else { continue };
        // The same run of it, and else any: parameters may have changed with the name.
        let same = runs.get(&which).into_iter().flatten();
        let others = runs.values().flatten().take(MOST_RUNS);
        let found = same
            .chain(others)
            .filter_map(|at| new.get(*at))
            .find(|(new, printed)| !former.contains_key(new) && to.is(printed).is_some());
        if let Some((new_name, _)) = found {
            former.insert(new_name, name);
        }
    }
    former
}

/// The most runs of a test that are looked at for one whose parameters changed together with its name.
const MOST_RUNS: usize = 200;

/// Whether another run on the same tree would tell more: what seems newly broken may be flaky, and names may have been
/// lost in what else was printed.
pub fn needs_rerun(comparison: &Comparison) -> bool {
    comparison.unnamed || !comparison.newly_broken.is_empty()
}

/// What a run comes to beside the run on its base.
///
/// The exit decides, and the comparison takes away: a pass during which tests of the base failed, went or were
/// skipped is none. It gives in one case only: where the base fails in the same way, by tests that are red there as
/// well, and others passed. Without names of tests there is no such case.
pub fn judged(exits: &Exits, comparison: &Comparison) -> Judged {
    if verdict(&exits.after, comparison.after.as_ref()) == TestVerdict::NoTests {
        return Judged::NoTests;
    }
    let is_by_test = comparison.by == ComparedBy::Test;
    let is_broken = !comparison.newly_broken.is_empty() || !comparison.new_failing.is_empty();
    // A rerun tells flaky tests, so it counts only where tests are told apart.
    let passed_at_last = || is_by_test && exits.reruns.contains(&Exit::Code(0));
    let fallen_short = if is_broken {
        Judged::Failed
    } else if exits.after == Exit::Code(0) || passed_at_last() {
        Judged::Passed
    } else if is_by_test && is_red_as_before(exits, comparison) {
        Judged::PassedBesideRed
    } else {
        Judged::Failed
    };
    match fallen_short {
        Judged::Passed | Judged::PassedBesideRed if is_less(comparison) => Judged::TestsMissing,
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
