//! One row of the table of experiments, and the runs that it plans.

use super::known::{ExperimentName, KnownSoFar};
use crate::overlay::Overlay;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Base,
    Change,
}

/// What differs from both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    Nothing,
    /// The data of the base is put back.
    OldData,
    /// The examiner's test files are added.
    TestFiles,
    /// The examiner's programs run in place of the tests.
    Programs,
    /// The examples run in place of the tests.
    Examples,
}

#[derive(Clone, Copy)]
pub enum WhichTests {
    All,
    /// These, or all of them if there are none or the runner cannot select them.
    Selected(fn(&KnownSoFar<'_>) -> Vec<String>),
    /// These and never all.
    Alone(fn(&KnownSoFar<'_>) -> Vec<String>),
}

#[derive(Clone, Copy)]
pub struct Experiment {
    pub name: ExperimentName,
    pub code: Side,
    pub tests: Side,
    pub configuration: Side,
    /// Whose setup it runs with.
    pub setup: Side,
    pub edit: Edit,
    pub only: WhichTests,
    /// Whether it runs without any sign of continuous integration.
    pub is_elsewhere: bool,
    /// Whether test files that do not load are left out in another try.
    pub leaves_out: bool,
    /// Whether its output is kept for people.
    pub is_kept: bool,
    /// Whether it is needed now.
    pub when: fn(&KnownSoFar<'_>) -> bool,
    /// How many runs of it are made at once.
    pub times: fn(&KnownSoFar<'_>) -> usize,
    /// What it shows, in a line.
    pub shows: &'static str,
}

/// A run that is needed now.
pub struct PlannedRun {
    pub row: &'static Experiment,
    /// Which run of the row it is, counted from 1.
    pub number: usize,
    /// The tests to run. Empty: all.
    pub only: Vec<String>,
    pub overlays: Vec<Overlay>,
    /// How many seconds the same takes with the change. `None` if that says nothing about it.
    pub took: Option<f64>,
}

impl PlannedRun {
    pub fn name(&self) -> String {
        self.row.name.of_run(self.number)
    }
}

impl Experiment {
    /// Its runs that are needed now. They can be made side by side.
    pub(super) fn planned(&'static self, known: &KnownSoFar<'_>) -> Vec<PlannedRun> {
        if !(self.when)(known) {
            return Vec::new();
        }
        let only = match self.only {
            WhichTests::All => Vec::new(),
            WhichTests::Selected(which) | WhichTests::Alone(which) => which(known),
        };
        let (overlays, took) = (self.overlays(known), self.took(known));
        let made = known.all(self.name).count();
        let each = (1..=(self.times)(known)).map(|number| PlannedRun {
            row: self,
            number: made + number,
            only: only.clone(),
            overlays: overlays.clone(),
            took,
        });
        each.collect()
    }

    /// What is laid over the commit of the code.
    fn overlays(&self, known: &KnownSoFar<'_>) -> Vec<Overlay> {
        let sides = known.of_change.sides;
        // What did not load in an earlier run is not laid again.
        let loaded = |name: ExperimentName, all: &[Overlay]| match known.last(name) {
            Some(run) if !self.leaves_out => run.overlays.to_vec(),
            Some(_) | None => all.to_vec(),
        };
        let mut laid = match (self.code, self.tests, self.configuration) {
            (Side::Change, Side::Base, _) => loaded(ExperimentName::OldTests, &sides.old_tests),
            (Side::Base, Side::Change, _) => loaded(ExperimentName::OldCode, &sides.new_tests),
            (Side::Change, Side::Change, Side::Base) => {
                let is_configuration = |overlay: &&Overlay| sides.configuration.contains(&overlay.path);
                sides.old_tests.iter().filter(is_configuration).cloned().collect()
            }
            (Side::Change, Side::Change, Side::Change) | (Side::Base, Side::Base, _) => Vec::new(),
        };
        match self.edit {
            Edit::Nothing | Edit::Programs | Edit::Examples => {}
            Edit::OldData => laid.extend(sides.old_data.iter().cloned()),
            // The change's tests are left out: they may use the same names, or decide which tests run.
            Edit::TestFiles => {
                let files = known.of_change.test_files;
                laid.retain(|overlay| !files.iter().any(|file| file.path == overlay.path));
                laid.extend(files.iter().cloned());
            }
        }
        laid
    }

    fn took(&self, known: &KnownSoFar<'_>) -> Option<f64> {
        let is_comparable = matches!(self.edit, Edit::Nothing | Edit::OldData | Edit::TestFiles);
        if self.code == Side::Change || self.setup == Side::Base || !is_comparable {
            return None;
        }
        let with_the_change = match self.only {
            WhichTests::Alone(_) => known.last(ExperimentName::Alone)?,
            WhichTests::All | WhichTests::Selected(_) => &known.change,
        };
        Some(with_the_change.seconds)
    }
}
