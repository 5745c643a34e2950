//! Judges the four runs by their exits and reports alone.

use super::known::{ExperimentName, FinishedRun, KnownSoFar};
use super::names::is_of;
use super::old_tests::{changed_test, of_old_tests};
use super::proof::proof;
use super::result::ExperimentResult;
use crate::compare::{compare, judged};
use crate::verdict;
use journeyman_order::comparison::ComparedExits;
use journeyman_order::scrutiny::TestChange;
use journeyman_order::{Exit, Proof, TestReport, TestVerdict};

/// `old_tests` is `None` if no test changed.
pub(super) fn judge(
    known: &KnownSoFar<'_>,
    old_tests: Option<&FinishedRun<'_>>,
    old_code: Option<&FinishedRun<'_>>,
) -> ExperimentResult {
    let (baseline, change) = (known.baseline(), &known.change.cell);
    let again =
        || known.all(ExperimentName::Again).filter_map(|run| Some((run.cell.exit?, run.cell.reading)));
    let readings: Vec<TestReport> = again().map(|(_, reading)| reading.clone()).collect();
    let own = compare(baseline.reading, change.reading, &readings);
    let exits = ComparedExits {
        base: baseline.exit,
        after: change.exit.unwrap_or(Exit::Code(-1)),
        // An exit of 0 with failures in the report does not count as a pass here either.
        reruns: again()
            .filter(|(exit, reading)| {
                *exit != Exit::Code(0) || verdict(exit, reading.counts.as_ref()) == TestVerdict::Passed
            })
            .map(|(exit, _)| exit)
            .collect(),
    };
    let Some(old) = old_tests else {
        let judged = judged(&exits, &own, &own);
        let within =
            "the new tests stand within the code that the change touches, and cannot be run without it";
        let proof = judged.is_pass().then(|| match own.new.is_empty() {
            true => Proof::NoTestsChanged,
            false => Proof::CannotTell { because: within.to_owned() },
        });
        return ExperimentResult { comparison: own, judged, proof, changed: Vec::new(), against: Vec::new() };
    };
    let mut comparison = compare(baseline.reading, old.cell.reading, &[]);
    let mut changed = Vec::new();
    if !old.unloaded.is_empty() {
        // A test that does not load counts neither for nor against the change.
        for name in std::mem::take(&mut comparison.gone).names {
            changed.push(changed_test(&name, TestChange::DoesNotLoadAsItWas));
        }
        let is_of_unloaded = |name: &String| old.unloaded.iter().any(|path| is_of(name, path) != Some(false));
        let fixed = std::mem::take(&mut comparison.fixed);
        for name in fixed.names.iter().filter(|name| !is_of_unloaded(name)) {
            comparison.fixed.add(name);
        }
        for path in old.unloaded.iter().filter(|path| !known.of_change.sides.added.contains(path)) {
            changed.push(changed_test(path, TestChange::DoesNotLoadAsItWas));
        }
    }
    (comparison.new, comparison.new_failing) = (own.new.clone(), own.new_failing.clone());
    comparison.flaky = own.flaky.clone();
    comparison.after = own.after;
    let judged = judged(&exits, &own, &comparison);
    let mut against = Vec::new();
    if judged.is_pass() {
        of_old_tests(known, old, &mut comparison, &mut changed, &mut against);
    }
    let proof = judged.is_pass().then(|| proof(known, old, old_code, &comparison));
    ExperimentResult { comparison, judged, proof, changed, against }
}
