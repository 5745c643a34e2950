//! The four runs that a verdict begins with, and what they come to.

use std::collections::BTreeSet;

use super::cell::ExperimentCell;
use super::edits::EditedTest;
use journeyman_order::scrutiny::ChangedTest;
use journeyman_order::{Comparison, ComparisonVerdict, Proof, ProofGrade};

#[derive(Clone)]
pub struct ExperimentMatrix<'a> {
    /// The tests of the base on the code of the base.
    pub baseline: ExperimentCell<'a>,
    /// The tests of the change on the code of the change.
    pub change: ExperimentCell<'a>,
    /// Repeated runs of it, to detect flaky tests.
    pub again: Vec<ExperimentCell<'a>>,
    /// The tests of the base on the code of the change. `None` if no test changed.
    pub old_tests: Option<ExperimentCell<'a>>,
    /// Repeated runs of it, to detect flaky tests.
    pub old_tests_again: Vec<ExperimentCell<'a>>,
    /// The tests of the change on the code of the base. `None` if no test changed.
    pub old_code: Option<ExperimentCell<'a>>,
    /// Changed paths that belong to the tests.
    pub laid: &'a [String],
    /// Those of them that are new in the change.
    pub added: &'a [String],
    /// Those that configure how tests run.
    pub configuration: &'a [String],
    /// Those whose base version does not load on the code of the change.
    pub unloaded: &'a [String],
    /// Whether only some tests were asked for there: a program with a harness of its own may not know how to select.
    pub old_code_is_selected: bool,
    /// The change's tests that did not load on the code of the base, and were skipped.
    pub old_code_unloaded: &'a [String],
    /// Whether any code differs.
    pub code_differs: bool,
    /// The tests of the base whose text changed.
    pub edited: &'a [EditedTest],
    /// Words in the code of the change that occur nowhere in the base.
    pub new_words: &'a BTreeSet<String>,
}

impl<'a> ExperimentMatrix<'a> {
    /// Changed test paths that do not configure how tests run.
    pub(super) fn own_tests(&self) -> impl Iterator<Item = &'a String> {
        self.laid.iter().filter(|path| !self.configuration.contains(path))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentResult {
    pub comparison: Comparison,
    pub judged: ComparisonVerdict,
    /// What the change's tests prove. `None` if the tests do not pass.
    pub proof: Option<Proof>,
    /// Tests of the base that changed, as far as runs show.
    pub changed: Vec<ChangedTest>,
    /// Objections from the run of the base's tests.
    pub against: Vec<String>,
}

impl ExperimentResult {
    /// Whether it passes without objections so far.
    pub fn is_good(&self) -> bool {
        self.judged.is_pass() && self.against.is_empty()
    }
}

/// The tests that a pass rests on: the fixed ones and those that prove the change.
pub fn evidence_of(judgement: &ExperimentResult) -> (Vec<String>, Vec<String>) {
    let fixed = judgement.comparison.fixed.names.clone();
    match &judgement.proof {
        Some(Proof::Proven { by, red }) if *by != ProofGrade::File => (fixed, red.clone()),
        _ => (fixed, Vec::new()),
    }
}
