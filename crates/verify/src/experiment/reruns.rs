//! Tests that failed once and passed once on the change. They are excused only if the base does the same, or if it does
//! not happen again. What a pass rests on is not excused: it must pass every time, elsewhere too, and a fixed test must
//! fail on the base every time.

use std::collections::BTreeMap;

use super::cell::lie_told;
use super::known::{ExperimentName, KnownSoFar};
use super::result::{ExperimentResult, evidence_of};
use journeyman_order::{ComparedBy, ComparisonVerdict, TestCaseStatus};

/// Runs on each side. A slow suite whose tests cannot be selected gets fewer.
const RUNS: usize = 6;
const RUNS_OF_LONG: usize = 2;
const LONG: f64 = 5.0;
/// How often the tests that a pass rests on are repeated, if that is fast.
pub(super) const REPEATS: usize = 3;
const MOST: usize = 10;
/// A test that fails this often only with the change is broken, not flaky.
const TOO_OFTEN: usize = 2;

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

/// How often each of these tests passed and failed in the runs of an experiment.
fn tallies(known: &KnownSoFar<'_>, what: ExperimentName, names: &[String]) -> BTreeMap<String, Tally> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for run in known.all(what).filter(|run| run.cell.reading.cases.is_some()) {
        for name in names {
            let tally = tallies.entry(name.clone()).or_default();
            match run.cell.status(name) {
                Some(TestCaseStatus::Passed) => tally.passed += 1,
                Some(TestCaseStatus::Failed) => tally.failed += 1,
                Some(TestCaseStatus::Skipped) | None => {}
            }
        }
    }
    tallies
}

/// Tests of the base that are flaky on the change: they have to be as flaky on the base.
pub(super) fn flaky(known: &KnownSoFar<'_>, judgement: &ExperimentResult) -> Vec<String> {
    let baseline = known.baseline();
    let names = judgement.comparison.flaky.names.iter();
    names.filter(|name| baseline.status(name).is_some()).take(MOST).cloned().collect()
}

/// Those of them that were not flaky on the base, as far as that was tried.
pub(super) fn steady_on_base(known: &KnownSoFar<'_>, judgement: &ExperimentResult) -> Vec<String> {
    if !known.is_made(ExperimentName::FlakyBase) {
        return Vec::new();
    }
    let names = flaky(known, judgement);
    let before = tallies(known, ExperimentName::FlakyBase, &names);
    let is_both = |tally: &Tally| tally.passed > 0 && tally.failed > 0;
    names.into_iter().filter(|name| !before.get(name).is_some_and(is_both)).collect()
}

/// How often flaky tests run on each side.
pub(super) fn times_of_flaky(known: &KnownSoFar<'_>, names: &[String]) -> usize {
    if known.change.seconds < LONG || known.can_select(names) { RUNS } else { RUNS_OF_LONG }
}

/// Counts tests that are flaky only with the change against it.
pub(super) fn hold_flaky_against_base(known: &KnownSoFar<'_>, judgement: &mut ExperimentResult) {
    let steady = steady_on_base(known, judgement);
    if steady.is_empty() || !known.is_made(ExperimentName::Flaky) {
        return;
    }
    let before = tallies(known, ExperimentName::FlakyBase, &steady);
    let after = tallies(known, ExperimentName::Flaky, &steady);
    let count = |side: &BTreeMap<String, Tally>, name: &String| side.get(name).copied().unwrap_or_default();
    // It has already failed once.
    let is_broken = |name: &&String| count(&after, name).failed + 1 >= TOO_OFTEN;
    let broken: Vec<&String> = steady.iter().filter(is_broken).collect();
    let comparison = &mut judgement.comparison;
    for name in &broken {
        comparison.flaky.remove(name);
        let list = match count(&before, name).failed {
            0 => &mut comparison.newly_broken,
            _ => &mut comparison.already_red,
        };
        list.add(name);
    }
    if !broken.is_empty() {
        judgement.judged = ComparisonVerdict::Failed;
    }
}

/// Whether the base runs again because what was red there is green now.
pub(super) fn may_be_fixed_by_chance(known: &KnownSoFar<'_>, judgement: &ExperimentResult) -> bool {
    let was_red = || known.baseline().verdict().is_some_and(|verdict| !verdict.is_pass());
    fixed(judgement).map_or_else(was_red, |fixed| !fixed.is_empty())
}

/// The fixed tests. `None` if tests are not named.
pub(super) fn fixed(judgement: &ExperimentResult) -> Option<Vec<String>> {
    let is_named = judgement.comparison.by == ComparedBy::Test;
    is_named.then(|| judgement.comparison.fixed.names.clone())
}

pub(super) fn times_of_fixed(known: &KnownSoFar<'_>, judgement: &ExperimentResult) -> usize {
    let can_select = fixed(judgement).is_some_and(|fixed| known.can_select(&fixed));
    if can_select || known.change.seconds < LONG { REPEATS } else { RUNS_OF_LONG }
}

/// A test that passes when it runs on the base again is not fixed.
pub(super) fn hold_fixed_against_base(known: &KnownSoFar<'_>, judgement: &mut ExperimentResult) {
    let Some(fixed) = fixed(judgement) else { return };
    let before = tallies(known, ExperimentName::FixedBase, &fixed);
    for name in fixed.iter().filter(|name| before.get(*name).is_some_and(|tally| tally.passed > 0)) {
        judgement.comparison.fixed.remove(name);
        judgement.comparison.flaky.add(name);
    }
}

/// The tests that the pass rests on, if they can be selected and are fast.
pub(super) fn evidence_to_repeat(known: &KnownSoFar<'_>, judgement: &ExperimentResult) -> Vec<String> {
    let (fixed, red) = evidence_of(judgement);
    // A list of tests has each once, but a test can be both fixed and proof.
    let red: Vec<String> = red.into_iter().filter(|name| !fixed.contains(name)).collect();
    let names: Vec<String> = fixed.into_iter().chain(red).take(MOST).collect();
    let is_fast = known.change.seconds <= LONG && known.can_select(&names);
    if is_fast { names } else { Vec::new() }
}

/// What the pass rests on has to pass each time, as it may run elsewhere.
pub(super) fn repeat_evidence(known: &KnownSoFar<'_>, judgement: &mut ExperimentResult) {
    let runs = || known.all(ExperimentName::Repeat);
    let fails = |name: &&String| runs().any(|run| lie_told(&run.cell, Some(name)) == Some(true));
    let names = runs().next().map_or(&[][..], |run| run.only);
    for name in names.iter().filter(fails) {
        judgement.comparison.new_failing.add(name);
        judgement.judged = ComparisonVerdict::Failed;
    }
}
