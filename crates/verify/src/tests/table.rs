//! Which runs are needed after which, told by small examples.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{CellRun, beside_program, run};
use crate::experiment::*;
use crate::{Overlay, OverlayAction, TestInvocation};
use journeyman_order::{ComparisonVerdict, Exit, Proof, ProofGrade, TestReport};

/// A change, and the runs that are finished.
pub(super) struct RunStory {
    sides: ChangeSplit,
    new_words: BTreeSet<String>,
    test_files: Vec<Overlay>,
    has_examples: bool,
    has_neighbours: bool,
    is_examined: bool,
    can_select: bool,
    base: CellRun,
    change: CellRun,
    /// How many seconds the tests take.
    seconds: f64,
    runs: Vec<StoryRun>,
}

#[derive(Clone)]
struct StoryRun {
    name: ExperimentName,
    run: CellRun,
    seconds: f64,
    only: Vec<String>,
    lies: Vec<Lie>,
    is_left_out: bool,
    output: &'static str,
}

impl StoryRun {
    fn of_all(name: ExperimentName, run: CellRun) -> Self {
        let (only, lies) = (Vec::new(), Vec::new());
        Self { name, run, seconds: 2.0, only, lies, is_left_out: false, output: "" }
    }
}

fn overlay(path: &str) -> Overlay {
    Overlay { path: path.to_owned(), action: OverlayAction::Remove }
}

/// A change of code alone.
pub(super) fn story(base: &str, change: &str) -> RunStory {
    let sides = ChangeSplit { code_differs: true, source_differs: true, ..ChangeSplit::default() };
    RunStory {
        sides,
        new_words: BTreeSet::new(),
        test_files: Vec::new(),
        has_examples: false,
        has_neighbours: false,
        is_examined: false,
        can_select: false,
        base: run(base),
        change: run(change),
        seconds: 1.0,
        runs: Vec::new(),
    }
}

/// A change that touches this test file as well.
pub(super) fn touching(path: &str, base: &str, change: &str) -> RunStory {
    let mut story = story(base, change);
    story.sides.test_paths = vec![path.to_owned()];
    story.sides.old_tests = vec![overlay(path)];
    story.sides.new_tests = vec![overlay(path)];
    story
}

fn finished(name: ExperimentName, (exit, reading): &CellRun, seconds: f64) -> FinishedRun<'_> {
    FinishedRun::whole(name, ExperimentCell { exit: Some(*exit), reading, output: "" }, seconds)
}

impl RunStory {
    pub(super) fn and(mut self, name: ExperimentName, runs: &[&str]) -> Self {
        self.runs.extend(runs.iter().map(|tests| StoryRun::of_all(name, run(tests))));
        self
    }

    /// The tests, and the runs so far, take this long.
    pub(super) fn taking(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self.runs.iter_mut().for_each(|run| run.seconds = seconds);
        self
    }

    /// All tests take this long, whatever the runs so far took.
    pub(super) fn beside_others(mut self, seconds: f64) -> Self {
        self.seconds = seconds;
        self
    }

    /// The newest run printed this.
    pub(super) fn printing(mut self, output: &'static str) -> Self {
        self.runs.last_mut().expect("a run").output = output;
        self
    }

    /// No run names or counts its tests.
    pub(super) fn unnamed(mut self) -> Self {
        let runs = self.runs.iter_mut().map(|run| &mut run.run);
        for (_, reading) in runs.chain([&mut self.base, &mut self.change]) {
            *reading = TestReport::default();
        }
        self
    }

    /// The change's tests call what it changes.
    pub(super) fn calls_what_it_changes(mut self) -> Self {
        self.has_neighbours = true;
        self
    }

    /// The runner can run some tests alone.
    pub(super) fn selects(mut self) -> Self {
        self.can_select = true;
        self
    }

    /// The runs that are needed now end so, in their order.
    pub(super) fn goes_on(self, lies: &TellableLies<'_>, runs: &[&str]) -> Self {
        let runs: Vec<CellRun> = runs.iter().map(|tests| run(tests)).collect();
        self.goes_on_for(lies, 2.0, &runs)
    }

    /// The same, after this many seconds each.
    pub(super) fn goes_on_for(mut self, lies: &TellableLies<'_>, seconds: f64, runs: &[CellRun]) -> Self {
        let planned = self.known(Some(lies), due);
        assert_eq!(planned.len(), runs.len());
        for (PlannedRun { row, only, lies, is_left_out, .. }, run) in planned.into_iter().zip(runs) {
            let planned = StoryRun { seconds, only, lies, ..StoryRun::of_all(row.name, run.clone()) };
            self.runs.push(StoryRun { is_left_out, ..planned });
        }
        self
    }

    pub(super) fn and_alone(mut self, name: ExperimentName, test: &str, run: CellRun) -> Self {
        self.runs.push(StoryRun { only: vec![test.to_owned()], ..StoryRun::of_all(name, run) });
        self
    }

    pub(super) fn known<T>(
        &self,
        lies: Option<&TellableLies<'_>>,
        ask: impl FnOnce(&KnownSoFar<'_>) -> T,
    ) -> T {
        let asked = TestInvocation::new("python3 -m unittest", None, &|_| None, "/r.xml");
        let runs =
            self.runs.iter().map(|StoryRun { name, run, seconds, only, lies, is_left_out, output }| {
                let finished = match is_left_out {
                    true => FinishedRun { is_left_out: true, ..FinishedRun::not_made(*name) },
                    false => finished(*name, run, *seconds),
                };
                let is_selected = self.can_select && !is_left_out && *name != ExperimentName::OldTests;
                let cell = ExperimentCell { output, ..finished.cell };
                FinishedRun { only, is_selected, lies, cell, ..finished }
            });
        let of_change = KnownChange {
            sides: &self.sides,
            edited: &[],
            new_words: &self.new_words,
            own_words: &self.new_words,
            unread: &[],
            is_rewritten: false,
            is_examined: self.is_examined,
            has_programs: self.is_examined,
            test_files: &self.test_files,
            has_examples: self.has_examples,
            has_neighbours: self.has_neighbours,
        };
        let first = [
            finished(ExperimentName::Base, &self.base, self.seconds),
            finished(ExperimentName::Change, &self.change, self.seconds),
        ];
        let asked = Some(&asked).filter(|_| self.can_select);
        ask(&KnownSoFar::new(of_change, first, asked, runs.collect(), lies))
    }

    /// The names of the runs that are needed now.
    fn due(&self) -> Vec<String> {
        self.due_with(None)
    }

    pub(super) fn due_with(&self, lies: Option<&TellableLies<'_>>) -> Vec<String> {
        self.known(lies, |known| due(known).iter().map(PlannedRun::name).collect())
    }

    fn verdict(&self) -> ExperimentResult {
        self.known(None, verdict)
    }
}

const NONE: [&str; 0] = [];

#[test]
fn each_experiment_stands_in_the_table_once_and_says_what_it_shows() {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for row in EXPERIMENTS.iter().flat_map(|group| group.iter()) {
        let name = format!("{:?}", row.name);
        assert!(!row.shows.is_empty() && !row.shows.ends_with('.'), "{name}");
        *names.entry(name).or_default() += 1;
    }
    assert!(names.values().all(|times| *times == 1), "{names:?}");
    assert_eq!(names.len(), 36);
}

#[test]
fn each_run_says_in_words_whose_tests_run_on_whose_code() {
    for (name, words) in [
        (ExperimentName::Base, "the base's tests on the base's code"),
        (ExperimentName::Change, "the change's tests on the change's code"),
        (ExperimentName::OldTests, "the base's tests on the change's code"),
        (ExperimentName::OldCode, "the change's tests on the base's code"),
        (ExperimentName::Statements, "the examiner's programs on the change's code"),
        (ExperimentName::StatementTestsBase, "the examiner's tests on the base's code"),
        (ExperimentName::Examples, "the issue's examples on the change's code"),
        (ExperimentName::NeighboursBase, "calls like those of the tests on the base's code"),
        (ExperimentName::LieNew, "a false expectation in the change's tests on the change's code"),
        (ExperimentName::LieBase, "a false expectation in the base's tests on the base's code"),
    ] {
        assert_eq!(words_of(name), words);
    }
}

#[test]
fn about_how_many_runs_are_to_come_is_what_is_planned_and_what_a_change_usually_needs_later() {
    assert_eq!(to_come(&[]), 10, "base and change are to run");
    let fix = touching("tests/test_a.py", "+a", "+a +new");
    assert_eq!(fix.known(None, |known| to_come(&due(known))), 2 + 6);
    let words: Vec<String> = fix.known(None, |known| due(known).into_iter().map(|run| run.words).collect());
    let expected = [
        "the base's tests on the change's code · run 3 of about 10",
        "the change's tests on the base's code · run 4 of about 10",
    ];
    assert_eq!(words, expected);
    let broken = touching("tests/test_a.py", "+a +b", "-a +b");
    assert_eq!(broken.known(None, |known| to_come(&due(known))), 1 + 8);
}

#[test]
fn an_ordinary_failure_is_run_once_more_and_nothing_else_is() {
    let broken = touching("tests/test_a.py", "+a +b", "-a +b");
    assert_eq!(broken.due(), ["-again"]);
    assert_eq!(broken.and(ExperimentName::Again, &["-a +b"]).due(), NONE);
}

#[test]
fn tests_that_fail_in_turn_run_again_three_times_at_most() {
    let failing = |(exit, reading): CellRun, test: &str| -> CellRun {
        (exit, TestReport { failing: vec![test.to_owned()], ..reading })
    };
    let mut flaky = story("+a +b", "-a +b");
    flaky.change = failing(flaky.change, "a");
    for (tests, test, next) in
        [("+a -b", "b", "-again-2"), ("-a +b", "a", "-again-3"), ("+a -b", "b", "-flaky-base-1")]
    {
        flaky.runs.push(StoryRun::of_all(ExperimentName::Again, failing(run(tests), test)));
        assert_eq!(flaky.due()[0], next);
    }
    let green = story("+a +b", "-a +b").and(ExperimentName::Again, &["+a +b"]);
    assert_eq!(green.due().len(), 6, "it is known to be flaky");
}

#[test]
fn each_sides_tests_run_on_the_other_sides_code_where_the_change_touches_tests() {
    let mut fix = touching("tests/test_a.py", "+a", "+a +new");
    assert_eq!(fix.due(), ["-old-tests", "-old-code"]);
    fix.sides.test_paths.push("pytest.ini".to_owned());
    fix.sides.configuration = vec!["pytest.ini".to_owned()];
    fix.sides.old_tests.push(overlay("pytest.ini"));
    assert_eq!(fix.due(), ["-old-tests", "-old-code", "-old-configuration"]);
    let laid = fix.known(None, |known| {
        let planned = due(known);
        let paths = |run: &PlannedRun| run.overlays.iter().map(|laid| laid.path.clone()).collect::<Vec<_>>();
        planned.iter().map(paths).collect::<Vec<_>>()
    });
    assert_eq!(laid, [vec!["tests/test_a.py", "pytest.ini"], vec!["tests/test_a.py"], vec!["pytest.ini"]]);
    let fix = fix
        .and(ExperimentName::OldTests, &["+a"])
        .and(ExperimentName::OldCode, &["+a -new"])
        .and(ExperimentName::OldConfiguration, &["-a +new"]);
    assert_eq!(fix.due(), NONE, "what stands against it is enough");
    assert!(fix.verdict().against[0].contains("configuration of the base"), "{:?}", fix.verdict().against);
}

#[test]
fn the_issues_examples_run_unless_an_examiner_has_read_them() {
    let shown = RunStory { has_examples: true, ..story("+a", "+a") };
    assert_eq!(shown.due(), ["-examples", "-examples-base"]);
    let examined = RunStory { is_examined: true, test_files: vec![overlay("test_examined.py")], ..shown };
    assert_eq!(
        examined.due(),
        ["-statements-base", "-statements", "-statements-tests-base", "-statements-tests"]
    );
    assert_eq!(RunStory { change: run("-a"), ..examined }.due(), ["-again"], "the tests have to pass");
}

#[test]
fn a_test_of_the_base_that_fails_by_chance_runs_again() {
    let once = touching("tests/test_z.py", "+a", "+a +b")
        .and(ExperimentName::OldTests, &["-a"])
        .and(ExperimentName::OldCode, &["+a -b"]);
    assert_eq!(once.due(), ["-old-tests-again"]);
    assert_eq!(once.and(ExperimentName::OldTestsAgain, &["-a"]).due(), NONE, "it fails every time");
}

#[test]
fn a_program_that_does_not_name_its_tests_runs_only_beside_all_others() {
    let mut fix = RunStory { can_select: true, ..story("+a -b", "+a +b") };
    assert_eq!(fix.due(), ["-fixed-base-1", "-fixed-base-2", "-fixed-base-3"]);
    let asked = |fix: &RunStory| {
        fix.known(None, |known| due(known).into_iter().map(|run| run.only).collect::<Vec<_>>())
    };
    assert_eq!(asked(&fix)[0], ["tests.test_a.b"]);
    (fix.base, fix.change) = (beside_program(false, run("+a -b")), beside_program(true, run("+a +b")));
    assert_eq!(fix.verdict().comparison.fixed.total, 2);
    assert_eq!(asked(&fix), [NONE; 3], "all tests");
    let by_chance = StoryRun::of_all(ExperimentName::FixedBase, beside_program(true, run("+a -b")));
    fix.runs = vec![by_chance; 3];
    assert_eq!(fix.verdict().comparison.fixed.names, ["tests.test_a.b"]);
    assert_eq!(fix.verdict().comparison.flaky.names, ["tests/rows.rs"]);
}

#[test]
fn before_tests_are_missing_the_base_names_them_twice() {
    let renamed = touching("tests/test_a.py", "+a +at1", "+a +at2");
    assert_eq!(renamed.due(), ["-old-tests", "-old-code"]);
    let renamed =
        renamed.and(ExperimentName::OldTests, &["+a +at3"]).and(ExperimentName::OldCode, &["+a +at4"]);
    assert_eq!(renamed.verdict().judged, ComparisonVerdict::TestsMissing);
    assert_eq!(renamed.due(), ["-base-again"]);
    let stable = RunStory { runs: renamed.runs.clone(), ..touching("tests/test_a.py", "+a +at1", "+a +at2") };
    let stable = stable.and(ExperimentName::BaseAgain, &["+a +at1"]);
    assert_eq!((stable.due().len(), stable.verdict().judged), (0, ComparisonVerdict::TestsMissing));
    let unstable = renamed.and(ExperimentName::BaseAgain, &["+a +at5"]);
    assert_eq!((unstable.due().len(), unstable.verdict().judged), (0, ComparisonVerdict::Passed));
}

#[test]
fn a_test_that_kills_the_run_on_the_old_code_is_found_by_running_it_alone() {
    let new = "tests.test_a.new";
    let dead = || (Exit::Signal(6), TestReport::default());
    let died = || {
        let mut story = touching("tests/test_a.py", "+a", "+a +new").and(ExperimentName::OldTests, &["+a"]);
        story.can_select = true;
        story.runs.push(StoryRun::of_all(ExperimentName::OldCode, dead()));
        story
    };
    let only = |story: &RunStory| story.known(None, |known| due(known)[0].only.clone());
    assert_eq!((died().due(), only(&died())), (vec!["-alone".to_owned()], vec![new.to_owned()]));
    let passes = died().and_alone(ExperimentName::Alone, new, run("+new"));
    assert_eq!((passes.due(), only(&passes)), (vec!["-alone-old-code".to_owned()], vec![new.to_owned()]));
    let most = |story: RunStory| story.known(None, |known| due(known)[0].most_seconds);
    let slow = died().and_alone(ExperimentName::Alone, new, run("+new")).taking(9.0);
    assert_eq!(most(slow.beside_others(1.0)), Some(45.0), "five times what it takes alone");
    let found = passes.and_alone(ExperimentName::AloneOldCode, new, dead());
    let proof = Some(Proof::Proven { by: ProofGrade::Test, red: vec![new.to_owned()] });
    assert_eq!(found.verdict().proof, proof);
    assert_eq!(found.due(), ["-repeat-1", "-repeat-2", "-repeat-3"]);
    let fails = died().and_alone(ExperimentName::Alone, new, run("-new"));
    assert!(matches!(fails.verdict().proof, Some(Proof::CannotTell { .. })), "{:?}", fails.verdict().proof);
    assert_eq!(fails.due(), ["-old-code-whole"], "another test may show it");
}

#[test]
fn what_was_fixed_is_fixed_by_code_and_every_time() {
    let fix = || RunStory { can_select: true, ..story("+a -b", "+a +b") };
    let b = "tests.test_a.b";
    let each = ["-fixed-base-1", "-fixed-base-2", "-fixed-base-3"];
    assert_eq!(fix().due(), each);
    let steady = fix().and(ExperimentName::FixedBase, &["-b", "-b", "-b"]);
    assert_eq!(steady.due(), ["-repeat-1", "-repeat-2", "-repeat-3"]);
    let chance = fix().and(ExperimentName::FixedBase, &["-b", "+b", "-b"]);
    assert_eq!((chance.due().len(), chance.verdict().comparison.flaky.names), (0, vec![b.to_owned()]));
    // What a pass rests on is not excused.
    let mut fails = steady;
    for tests in ["+b", "-b", "+b"] {
        fails = fails.and_alone(ExperimentName::Repeat, b, run(tests));
    }
    let judgement = fails.verdict();
    assert_eq!((judgement.judged, fails.due().len()), (ComparisonVerdict::Failed, 0));
    assert_eq!(judgement.comparison.new_failing.names, [b]);
    let mut by_data = fix();
    by_data.sides.old_data = vec![overlay("rates.csv")];
    assert_eq!(by_data.due(), ["-old-data"]);
    let by_data = by_data.and(ExperimentName::OldData, &["+a -b"]);
    assert_eq!(by_data.verdict().comparison.by_data.names, [b]);
    assert_eq!(by_data.due(), NONE);
}

#[test]
fn a_flaky_test_is_excused_if_the_base_is_as_flaky() {
    let flaky = || story("+a +b", "-a +b").and(ExperimentName::Again, &["+a +b"]);
    let runs = |name: &str| (1..=6).map(|number| format!("{name}-{number}")).collect::<Vec<_>>();
    assert_eq!(flaky().due(), runs("-flaky-base"));
    let as_before = flaky().and(ExperimentName::FlakyBase, &["+a", "-a", "+a", "+a", "+a", "+a"]);
    assert_eq!((as_before.due().len(), as_before.verdict().judged), (0, ComparisonVerdict::Passed));
    let steady = flaky().and(ExperimentName::FlakyBase, &["+a"; 6]);
    assert_eq!(steady.due(), runs("-flaky"));
    let broken = steady.and(ExperimentName::Flaky, &["-a", "+a", "+a", "+a", "+a", "+a"]);
    assert_eq!((broken.due().len(), broken.verdict().judged), (0, ComparisonVerdict::Failed));
    assert_eq!(broken.verdict().comparison.newly_broken.names, ["tests.test_a.a"]);
}
