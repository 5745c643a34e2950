//! One row of the table of experiments, and the runs that it plans.

use super::known::{ExperimentName, FinishedRun, KnownSoFar};
use super::lie::Lie;
use super::lies::TestTexts;
use super::tellable::TellableLies;
use crate::overlay::Overlay;

const TIMES_WITH_AN_EDIT: f64 = 3.0;
const MORE_WITH_AN_EDIT: f64 = 2.0;
const TIMES_ON_OLD_CODE: f64 = 5.0;
const LEAST_ON_OLD_CODE: f64 = 20.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Base,
    Change,
}

impl Side {
    /// What is of this side.
    pub fn of<T>(self, [base, change]: [T; 2]) -> T {
        match self {
            Self::Base => base,
            Self::Change => change,
        }
    }
}

/// What differs from both sides.
#[derive(Clone, Copy)]
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
    /// Calls like those of the change's tests run in place of the tests.
    Neighbours,
    /// Expectations are made false, those of each list in a run with their tests.
    Lies(fn(&KnownSoFar<'_>, &TellableLies<'_>) -> Vec<Vec<Lie>>),
    /// Expectations are said in other words by these edits.
    Reworded(fn(&KnownSoFar<'_>, &TellableLies<'_>) -> Vec<Vec<Lie>>),
    /// The changed lines, one place at a time.
    Mutants,
}

#[derive(Clone, Copy)]
pub enum WhichTests {
    All,
    /// These, or all of them if there are none or the runner cannot select them.
    Selected(fn(&KnownSoFar<'_>) -> Vec<String>),
    /// The same, and nothing if there are none.
    These(fn(&KnownSoFar<'_>) -> Vec<String>),
    /// These and never all.
    Alone(fn(&KnownSoFar<'_>) -> Vec<String>),
}

/// What the runs of a row get of the time that edits and repetitions of the tests have together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeShare {
    /// All of them are made, whatever they take.
    All,
    /// The first is made whatever it takes. The others may use half of the time, so that edits have the other half.
    FirstThenHalf,
    /// The first is made whatever it takes, and the others if there is time left.
    FirstThenRest,
    /// They are made if there is time left.
    Rest,
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
    /// Whether its output is kept for people.
    pub is_kept: bool,
    /// Whether it may be needed more than once.
    pub repeats: bool,
    pub time: TimeShare,
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
    /// What runs and which run it is, such as "the base's tests on the change's code · run 3 of about 9".
    pub words: String,
    /// Which run of the row it is, counted from 1.
    pub number: usize,
    /// The tests to run. Empty: all.
    pub only: Vec<String>,
    pub overlays: Vec<Overlay>,
    pub lies: Vec<Lie>,
    /// After how many seconds it counts as endless. `None`: as long as any run may take.
    pub most_seconds: Option<f64>,
    /// Whether it is not made, for lack of time.
    pub is_left_out: bool,
}

impl PlannedRun {
    pub fn name(&self) -> String {
        self.row.name.of_run(self.number)
    }

    /// Whether it is made whatever it takes.
    pub(super) fn is_needed(&self) -> bool {
        match self.row.time {
            TimeShare::All => true,
            TimeShare::FirstThenHalf | TimeShare::FirstThenRest => self.number == 1,
            TimeShare::Rest => false,
        }
    }
}

impl Experiment {
    /// What a run with these edits is, in words.
    pub(super) fn words(&self, lies: &[Lie]) -> String {
        let [code, whose] = [self.code, self.tests].map(|side| side.of(["base", "change"]));
        let tests = format!("the {whose}'s tests");
        let what = match self.edit {
            Edit::Lies(_) => format!("a false expectation in {tests}"),
            Edit::Reworded(_) if !lies.is_empty() => format!("{tests} in other words"),
            Edit::Nothing | Edit::OldData | Edit::Reworded(_) | Edit::Mutants => tests,
            Edit::TestFiles => "the examiner's tests".to_owned(),
            Edit::Programs => "the examiner's programs".to_owned(),
            Edit::Examples => "the issue's examples".to_owned(),
            Edit::Neighbours => "calls like those of the tests".to_owned(),
        };
        format!("{what} on the {code}'s code")
    }

    /// Its runs that are needed now. They can be made side by side.
    pub(super) fn planned(&'static self, known: &KnownSoFar<'_>) -> Vec<PlannedRun> {
        let is_finished = known.is_made(self.name) && !self.repeats && self.time == TimeShare::All;
        if is_finished || !(self.when)(known) {
            return Vec::new();
        }
        let only = match self.only {
            WhichTests::All => Vec::new(),
            WhichTests::Selected(which) => which(known),
            WhichTests::These(which) | WhichTests::Alone(which) => {
                let these = which(known);
                if these.is_empty() {
                    return Vec::new();
                }
                these
            }
        };
        let runnable = |only: Vec<String>| if known.are_of_programs(&only) { Vec::new() } else { only };
        let edits: Vec<Vec<Lie>> = match (self.edit, known.lies) {
            (Edit::Lies(rounds), Some(lies)) => {
                rounds(known, lies).into_iter().filter(|round| !round.is_empty()).collect()
            }
            (Edit::Reworded(rounds), Some(lies)) => rounds(known, lies),
            (Edit::Lies(_) | Edit::Reworded(_), None) => Vec::new(),
            _ => vec![Vec::new(); (self.times)(known)],
        };
        let made = known.all(self.name).count();
        let known_before = if self.repeats { 0 } else { made };
        let each = edits.into_iter().skip(known_before).zip(made + 1..).map(|(lies, number)| {
            let told = lies.iter().filter_map(|lie| lie.test.clone());
            let only =
                runnable(if matches!(self.edit, Edit::Lies(_)) { told.collect() } else { only.clone() });
            let most_seconds = self.most_seconds(known, &only);
            let (words, overlays) = (self.words(&lies), self.overlays(known, &lies));
            PlannedRun { row: self, words, number, only, overlays, lies, most_seconds, is_left_out: false }
        });
        each.collect()
    }

    /// Whether test files that do not load are left out in another try. Later runs of them lay what loaded.
    pub fn leaves_out(&self) -> bool {
        self.code != self.tests && matches!(self.edit, Edit::Nothing) && !self.repeats
    }

    /// Whether we edit its tests.
    pub(super) fn is_edited(&self) -> bool {
        matches!(self.edit, Edit::Lies(_) | Edit::Reworded(_))
    }

    /// Whether it takes of the time that edits and repetitions have together.
    pub(super) fn is_timed(&self) -> bool {
        self.is_edited() || self.time != TimeShare::All
    }

    /// What is laid over the commit of the code.
    fn overlays(&self, known: &KnownSoFar<'_>, lies: &[Lie]) -> Vec<Overlay> {
        let sides = known.of_change.sides;
        // What did not load in an earlier run is not laid again.
        let loaded = |name: ExperimentName, all: &[Overlay]| match known.last(name) {
            Some(run) if !self.leaves_out() => run.overlays.to_vec(),
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
        let texts = known.lies.map(|lies| self.texts(lies));
        let lies: Vec<&Lie> = lies.iter().collect();
        let over = match (self.edit, texts) {
            (Edit::OldData, _) => sides.old_data.clone(),
            // The change's tests are left out: they may use the same names, or decide which tests run.
            (Edit::TestFiles, _) => known.of_change.test_files.to_vec(),
            (Edit::Lies(_) | Edit::Reworded(_), Some(texts)) => texts.overlays_of(&lies),
            _ => Vec::new(),
        };
        laid.retain(|overlay| !over.iter().any(|own| own.path == overlay.path));
        laid.extend(over);
        laid
    }

    /// The test files that it edits.
    fn texts<'l, 't>(&self, lies: &'l TellableLies<'t>) -> &'l TestTexts<'t> {
        if self.tests == Side::Base { &lies.old } else { &lies.new }
    }

    /// After how many seconds it counts as endless, given what the same tests took elsewhere. That time includes the
    /// start of sandbox and runner.
    fn most_seconds(&self, known: &KnownSoFar<'_>, only: &[String]) -> Option<f64> {
        if self.is_edited() {
            let took = self.without_edit(known, only);
            // Tests notice a wrong expectation at once, or wait for something that never comes. A busy machine may start
            // a short run late.
            return Some((took * TIMES_WITH_AN_EDIT).max(took + MORE_WITH_AN_EDIT));
        }
        let is_comparable = matches!(self.edit, Edit::Nothing | Edit::TestFiles);
        if self.code == Side::Change || self.setup == Side::Base || !is_comparable {
            return None;
        }
        let with_the_change = match self.only {
            WhichTests::Alone(_) => known.last(ExperimentName::Alone)?,
            WhichTests::All | WhichTests::Selected(_) | WhichTests::These(_) => &known.change,
        };
        Some((with_the_change.seconds * TIMES_ON_OLD_CODE).max(LEAST_ON_OLD_CODE))
    }

    /// How many seconds these tests take without an edit, or all tests if that is not known of these alone.
    fn without_edit(&self, known: &KnownSoFar<'_>, only: &[String]) -> f64 {
        let is_of_these = |run: &&FinishedRun<'_>| {
            !only.is_empty() && run.is_selected && only.iter().all(|name| run.only.contains(name))
        };
        let alone = known.all(ExperimentName::Repeat).filter(is_of_these).map(|run| run.seconds);
        let whole = match self.code {
            Side::Change => known.last(ExperimentName::OldTests).map_or(0.0, |run| run.seconds),
            Side::Base => known.base.seconds,
        };
        let alone = alone.reduce(f64::max).filter(|_| self.code == Side::Change);
        alone.unwrap_or_else(|| known.change.seconds.max(whole))
    }
}
