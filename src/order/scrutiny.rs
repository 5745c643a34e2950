//! What was done to find out whether a pass of the tests can be believed: the same tests on the base commit, with the
//! old configuration, and without the change, and what the change does to the tests that were there before.

use serde::{Deserialize, Serialize};

use super::comparison::{ComparedBy, Comparison, Judged};
use super::ids::CommitSha;
use super::proof::Proof;
use super::test_run::{CommandRun, Counts, Exit};
use super::weakening::Weakening;

/// All that was looked at beside the one run on the commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scrutiny {
    /// The tests on the base commit.
    pub baseline: Baseline,
    /// Test by test, where both runs name theirs.
    pub comparison: Comparison,
    /// What the run comes to beside the baseline.
    pub judged: Judged,
    /// Runs on the same commit again, to tell flaky tests from broken ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reruns: Vec<CommandRun>,
    /// The run with the base's configuration, where the change touches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_configuration: Option<OldConfiguration>,
    /// Whether the change's tests fail without the change; none where that was not looked at, since the tests do not
    /// pass with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
    /// The run of the change's tests on the old code; none where no test changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_code: Option<CommandRun>,
    /// What the change does to the tests that were there before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakenings: Vec<Weakening>,
}

/// The tests on the base commit. Made once for a base commit and a test command, for all orders.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// The base commit.
    pub commit: CommitSha,
    /// The run there; none where nothing could be run, such as after a setup that failed.
    pub test: Option<CommandRun>,
    /// Tests counted in it.
    pub counts: Option<Counts>,
    /// Whether it was made for an earlier run, and is taken from there.
    pub kept: bool,
}

/// The run with the configuration of the base laid over the change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OldConfiguration {
    /// Paths that the change touches and that say how the tests are run.
    pub touched: Vec<String>,
    /// The run; none where the setup fails with the old configuration.
    pub test: Option<CommandRun>,
    /// Tests counted in it.
    pub counts: Option<Counts>,
    /// What it comes to for the tests of the base.
    pub judged: Judged,
}

impl Scrutiny {
    /// Why passing tests do not show that the change does anything; none where they do, and where they do not pass. A
    /// test of the base that was red and is green shows it as well as a new one does.
    pub fn unproven(&self) -> Option<String> {
        let was_red =
            matches!(self.baseline.test.as_ref().map(|run| run.exit), Some(Exit::Code(code)) if code != 0);
        let is_green_now = self.judged == Judged::Passed && was_red && self.comparison.by != ComparedBy::Test;
        if is_green_now || !self.comparison.fixed.is_empty() {
            return None;
        }
        match self.proof.as_ref()? {
            Proof::Proven { .. } => None,
            Proof::NotProven { because } | Proof::CannotTell { because } => Some(because.clone()),
            Proof::NoTestsChanged => Some("the change adds and edits no test".to_owned()),
        }
    }

    /// What stands against the change: weakened tests, tests that are missing, a pass that the old configuration does
    /// not give.
    pub fn objections(&self) -> Vec<Objection<'_>> {
        let grave = self.weakenings.iter().filter(|weakening| weakening.grave).map(Objection::Weakening);
        let mut all: Vec<Objection<'_>> = grave.collect();
        let ran_before = self.comparison.base.is_some_and(|counts| counts.ran() > 0);
        if self.judged == Judged::TestsMissing || (self.judged == Judged::NoTests && ran_before) {
            all.push(Objection::Missing(&self.comparison));
        }
        if let Some(old) = &self.old_configuration {
            match old.judged {
                Judged::Failed | Judged::TestsMissing => all.push(Objection::OldConfiguration(old)),
                Judged::Passed | Judged::PassedBesideRed | Judged::NoTests => {}
            }
        }
        all
    }
}

/// One thing that stands against believing a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Objection<'a> {
    /// Seen in the change.
    Weakening(&'a Weakening),
    /// Tests of the base do not run any more.
    Missing(&'a Comparison),
    /// The tests of the base fail with the configuration of the base.
    OldConfiguration(&'a OldConfiguration),
}
