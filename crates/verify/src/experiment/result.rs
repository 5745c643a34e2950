//! What the runs of an experiment come to.

use journeyman_order::scrutiny::ChangedTest;
use journeyman_order::{Comparison, ComparisonVerdict, Proof, ProofGrade};

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
pub(super) fn evidence_of(judgement: &ExperimentResult) -> (Vec<String>, Vec<String>) {
    let fixed = judgement.comparison.fixed.names.clone();
    match &judgement.proof {
        Some(Proof::Proven { by, red }) if *by != ProofGrade::File => (fixed, red.clone()),
        _ => (fixed, Vec::new()),
    }
}
