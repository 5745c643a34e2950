//! Judges the four runs by their exits and reports alone.

use super::matrix::{ExperimentMatrix, ExperimentResult};
use super::names::is_of;
use super::old_tests::{changed_test, of_old_tests};
use super::proof::proof;
use crate::compare::{compare, judged};
use crate::verdict;
use journeyman_order::comparison::ComparedExits;
use journeyman_order::scrutiny::TestChange;
use journeyman_order::{Exit, Proof, TestReport, TestVerdict};

pub fn judge(matrix: &ExperimentMatrix<'_>) -> ExperimentResult {
    let again = || matrix.again.iter().filter_map(|cell| Some((cell.exit?, cell.reading)));
    let readings: Vec<TestReport> = again().map(|(_, reading)| reading.clone()).collect();
    let own = compare(matrix.baseline.reading, matrix.change.reading, &readings);
    let exits = ComparedExits {
        base: matrix.baseline.exit,
        after: matrix.change.exit.unwrap_or(Exit::Code(-1)),
        // An exit of 0 with failures in the report does not count as a pass here either.
        reruns: again()
            .filter(|(exit, reading)| {
                *exit != Exit::Code(0) || verdict(exit, reading.counts.as_ref()) == TestVerdict::Passed
            })
            .map(|(exit, _)| exit)
            .collect(),
    };
    let Some(old) = matrix.old_tests else {
        let judged = judged(&exits, &own, &own);
        let within =
            "the new tests stand within the code that the change touches, and cannot be run without it";
        let proof = judged.is_pass().then(|| match own.new.is_empty() {
            true => Proof::NoTestsChanged,
            false => Proof::CannotTell { because: within.to_owned() },
        });
        return ExperimentResult { comparison: own, judged, proof, changed: Vec::new(), against: Vec::new() };
    };
    let mut comparison = compare(matrix.baseline.reading, old.reading, &[]);
    let mut changed = Vec::new();
    if !matrix.unloaded.is_empty() {
        // A test that does not load counts neither for nor against the change.
        for name in std::mem::take(&mut comparison.gone).names {
            changed.push(changed_test(&name, TestChange::DoesNotLoadAsItWas));
        }
        let is_of_unloaded =
            |name: &String| matrix.unloaded.iter().any(|path| is_of(name, path) != Some(false));
        let fixed = std::mem::take(&mut comparison.fixed);
        for name in fixed.names.iter().filter(|name| !is_of_unloaded(name)) {
            comparison.fixed.add(name);
        }
        for path in matrix.unloaded.iter().filter(|path| !matrix.added.contains(path)) {
            changed.push(changed_test(path, TestChange::DoesNotLoadAsItWas));
        }
    }
    (comparison.new, comparison.new_failing) = (own.new.clone(), own.new_failing.clone());
    comparison.flaky = own.flaky.clone();
    comparison.after = own.after;
    let judged = judged(&exits, &own, &comparison);
    let mut against = Vec::new();
    if judged.is_pass() {
        of_old_tests(matrix, &old, &mut comparison, &mut changed, &mut against);
    }
    let proof = judged.is_pass().then(|| proof(matrix, &comparison));
    ExperimentResult { comparison, judged, proof, changed, against }
}
