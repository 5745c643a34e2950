//! The experiments that a verdict rests on: what runs, and when it is needed.
//!
//! May know: what is known so far. Must never know: how a run is made.

use super::budget::granted;
use super::cell::lie_told;
use super::compared::{compared, passes};
use super::detector::{self, LieFindings, first_of, lie_findings};
use super::judge::{before_lies, before_reruns, verdict};
use super::known::{ExperimentName, FinishedRun, KnownSoFar};
use super::old_code::concerned;
use super::old_tests::may_be_flaky_there;
use super::reruns;
use super::result::{ExperimentResult, evidence_of};
use super::row::{Edit, Experiment, PlannedRun, Side, TimeShare, WhichTests};
use crate::may_be_flaky;
use journeyman_order::scrutiny::{LieVerdict, RunWithoutResult, WithoutResult};
use journeyman_order::{ComparisonVerdict, Exit, Proof};

/// How often the tests of one side run again on the change while different tests fail each time.
const MOST_RERUNS: usize = 3;

/// All experiments, but the run with the base's setup, which decides what counts as the change's own run. The runs of a group can be made side by side. A group is left once none of its rows is needed, and
/// what is found later makes no row of it needed again.
pub static EXPERIMENTS: [&[Experiment]; 14] = [
    &[BASE, CHANGE],
    &[AGAIN],
    &[
        EXAMPLES, EXAMPLES_BASE, STATEMENTS_BASE, STATEMENTS, STATEMENT_TESTS_BASE, STATEMENT_TESTS,
        OLD_TESTS, OLD_CODE, OLD_CONFIGURATION, OLD_TESTS_AGAIN, BASE_AGAIN,
    ],
    &[ALONE, ALONE_OLD_CODE],
    &[OLD_CODE_WHOLE],
    &[OLD_DATA],
    &[FLAKY_BASE, FIXED_BASE],
    &[FLAKY],
    &[REPEAT],
    &[LIE, REWORDED, LIE_NEW, REWORDED_NEW],
    &[LIE_BASE],
    &[LIE_ANY, LIE_ANY_BASE, LIE_SLIGHT, REWORDED_ANY],
    &[LIE_DATA, LIE_DATA_BASE],
    &[MUTANTS, NEIGHBOURS, NEIGHBOURS_BASE],
];

/// How many runs of each group a change needs whose test fails without it. Mutants are counted by themselves.
const USUAL: [usize; 14] = [2, 0, 2, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0];

/// All tests of the change on the change.
const CHANGE: Experiment = Experiment {
    name: ExperimentName::Change,
    code: Side::Change,
    tests: Side::Change,
    configuration: Side::Change,
    setup: Side::Change,
    edit: Edit::Nothing,
    only: WhichTests::All,
    is_elsewhere: false,
    is_kept: true,
    repeats: false,
    time: TimeShare::All,
    when: |_| true,
    times: |_| 1,
    shows: "whether the change passes its own tests",
};

/// All tests of the base on the base, with the setup of the change.
const ON_BASE: Experiment =
    Experiment { code: Side::Base, tests: Side::Base, configuration: Side::Base, ..CHANGE };

const BASE: Experiment = Experiment {
    name: ExperimentName::Base,
    setup: Side::Base,
    shows: "what was green and what was red before the change; it is kept for the base commit",
    ..ON_BASE
};

const AGAIN: Experiment = Experiment {
    name: ExperimentName::Again,
    repeats: true,
    when: again,
    shows: "whether a test that fails with the change passes as well: then it is flaky",
    ..CHANGE
};

const EXAMPLES: Experiment = Experiment {
    name: ExperimentName::Examples,
    edit: Edit::Examples,
    is_elsewhere: true,
    is_kept: false,
    when: examples,
    shows: "what the issue's own examples give with the change",
    ..CHANGE
};

const EXAMPLES_BASE: Experiment = Experiment {
    name: ExperimentName::ExamplesBase,
    edit: Edit::Examples,
    is_elsewhere: true,
    is_kept: false,
    when: examples,
    shows: "what they gave before it",
    ..ON_BASE
};

const STATEMENTS: Experiment = Experiment {
    name: ExperimentName::Statements,
    edit: Edit::Programs,
    is_elsewhere: true,
    when: programs,
    shows: "what the examiner's programs print with the change",
    ..CHANGE
};

const STATEMENTS_BASE: Experiment = Experiment {
    name: ExperimentName::StatementsBase,
    edit: Edit::Programs,
    is_elsewhere: true,
    when: programs,
    shows: "whether the base confirms the examiner's programs",
    ..ON_BASE
};

const STATEMENT_TESTS: Experiment = Experiment {
    name: ExperimentName::StatementTests,
    tests: Side::Base,
    configuration: Side::Base,
    edit: Edit::TestFiles,
    is_elsewhere: true,
    when: test_files,
    shows: "whether the examiner's tests pass with the change",
    ..CHANGE
};

const STATEMENT_TESTS_BASE: Experiment = Experiment {
    name: ExperimentName::StatementTestsBase,
    edit: Edit::TestFiles,
    when: test_files,
    shows: "whether the base confirms the examiner's tests",
    ..ON_BASE
};

const OLD_TESTS: Experiment = Experiment {
    name: ExperimentName::OldTests,
    tests: Side::Base,
    configuration: Side::Base,
    when: old_tests,
    shows: "whether the tests of the base still pass, as the base has them, and which of them were fixed",
    ..CHANGE
};

const OLD_TESTS_AGAIN: Experiment = Experiment {
    name: ExperimentName::OldTestsAgain,
    repeats: true,
    when: old_tests_again,
    shows: "whether a test of the base that fails there passes as well: then it is flaky",
    ..OLD_TESTS
};

const OLD_CODE: Experiment = Experiment {
    name: ExperimentName::OldCode,
    tests: Side::Change,
    configuration: Side::Change,
    only: WhichTests::Selected(|known| concerned(known).unwrap_or_default()),
    when: old_tests,
    shows: "whether the tests of the change fail without it",
    ..ON_BASE
};

const OLD_CODE_WHOLE: Experiment = Experiment {
    name: ExperimentName::OldCodeWhole,
    only: WhichTests::All,
    when: old_code_whole,
    shows: "whether any other test fails without the change, where those that it adds or edits prove nothing",
    ..OLD_CODE
};

const OLD_CONFIGURATION: Experiment = Experiment {
    name: ExperimentName::OldConfiguration,
    configuration: Side::Base,
    when: old_configuration,
    shows: "whether the tests of the change pass with the base's test configuration",
    ..CHANGE
};

const BASE_AGAIN: Experiment = Experiment {
    name: ExperimentName::BaseAgain,
    is_kept: false,
    when: base_again,
    shows: "whether tests that are missing have the same name in each run of the base",
    ..BASE
};

const ALONE: Experiment = Experiment {
    name: ExperimentName::Alone,
    only: WhichTests::Alone(|known| compared(known).1.suspected()),
    is_kept: false,
    repeats: true,
    shows: "whether a test that may have killed the run on the old code passes by itself with the change",
    ..CHANGE
};

const ALONE_OLD_CODE: Experiment = Experiment {
    name: ExperimentName::AloneOldCode,
    only: WhichTests::Alone(|known| compared(known).1.passes_alone()),
    repeats: true,
    when: ALONE.when,
    shows: "whether it dies, never ends or fails by itself on the old code",
    ..OLD_CODE
};

const OLD_DATA: Experiment = Experiment {
    name: ExperimentName::OldData,
    edit: Edit::OldData,
    when: old_data,
    shows: "whether what was fixed is fixed by code, and not by data that the change touches",
    ..OLD_TESTS
};

const FLAKY_BASE: Experiment = Experiment {
    name: ExperimentName::FlakyBase,
    only: WhichTests::These(|known| of_good(known, before_reruns, reruns::flaky)),
    is_kept: false,
    times: times_of_flaky,
    shows: "whether tests that are flaky on the change are flaky on the base as well",
    ..ON_BASE
};

const FLAKY: Experiment = Experiment {
    name: ExperimentName::Flaky,
    only: WhichTests::These(|known| of_good(known, before_reruns, reruns::steady_on_base)),
    is_kept: false,
    times: times_of_flaky,
    shows: "how often tests fail with the change that are not flaky on the base",
    ..CHANGE
};

const FIXED_BASE: Experiment = Experiment {
    name: ExperimentName::FixedBase,
    only: WhichTests::Selected(|known| reruns::fixed(&before_reruns(known)).unwrap_or_default()),
    is_kept: false,
    when: fixed,
    times: |known| reruns::times_of_fixed(known, &before_reruns(known)),
    shows: "whether what was fixed fails on the base each time",
    ..ON_BASE
};

const REPEAT: Experiment = Experiment {
    name: ExperimentName::Repeat,
    only: WhichTests::These(|known| of_good(known, before_lies, reruns::evidence_to_repeat)),
    is_elsewhere: true,
    is_kept: false,
    time: TimeShare::FirstThenHalf,
    times: |_| reruns::REPEATS,
    shows: "whether the tests that the pass rests on pass each time, and outside of continuous integration",
    ..CHANGE
};

const LIE: Experiment = Experiment {
    name: ExperimentName::Lie,
    edit: Edit::Lies(|_, lies| lies.in_old.rounds.clone()),
    is_kept: false,
    time: TimeShare::FirstThenRest,
    when: CHANGE.when,
    shows: "whether tests of the base notice a wrong expectation: what was fixed, or what is nearest to the change",
    ..OLD_TESTS
};

const LIE_BASE: Experiment = Experiment {
    name: ExperimentName::LieBase,
    edit: Edit::Lies(|known, lies| vec![detector::unnoticed(known, lies)]),
    is_kept: false,
    shows: "whether an expectation that nobody misses with the change is missed on the base",
    ..ON_BASE
};

const REWORDED: Experiment = Experiment {
    name: ExperimentName::Reworded,
    edit: Edit::Reworded(detector::rewords_old),
    only: WhichTests::Selected(|known| first_of(known.lies.map_or(&[], |lies| &lies.fixed))),
    is_elsewhere: true,
    repeats: true,
    // Nothing else shows that the change knows how its tests are written.
    time: TimeShare::All,
    shows: "whether what was fixed passes in other words as well",
    ..LIE
};

const LIE_NEW: Experiment = Experiment {
    name: ExperimentName::LieNew,
    edit: Edit::Lies(|_, lies| lies.in_new.rounds.clone()),
    is_kept: false,
    time: TimeShare::FirstThenRest,
    shows: "whether the tests that prove the change notice a wrong expectation",
    ..CHANGE
};

const REWORDED_NEW: Experiment = Experiment {
    name: ExperimentName::RewordedNew,
    edit: Edit::Reworded(detector::rewords_new),
    only: WhichTests::Selected(|known| first_of(known.lies.map_or(&[], |lies| &lies.red))),
    is_elsewhere: true,
    repeats: true,
    time: TimeShare::All,
    shows: "whether the tests that prove the change pass by themselves, and in other words",
    ..LIE_NEW
};

const LIE_ANY: Experiment = Experiment {
    name: ExperimentName::LieAny,
    edit: Edit::Lies(|known, lies| detector::tell_anywhere(known, lies).next(ExperimentName::LieAny)),
    repeats: true,
    // As long as they are told, nothing else shows that the tests can fail.
    time: TimeShare::All,
    shows: "whether a run of all tests notices a wrong expectation, where tests are not named",
    ..LIE
};

const LIE_ANY_BASE: Experiment = Experiment {
    name: ExperimentName::LieAnyBase,
    edit: Edit::Lies(|known, lies| detector::tell_anywhere(known, lies).next(ExperimentName::LieAnyBase)),
    repeats: true,
    ..LIE_BASE
};

const LIE_SLIGHT: Experiment = Experiment {
    name: ExperimentName::LieSlight,
    edit: Edit::Lies(|known, lies| vec![detector::slight(known, lies)]),
    time: TimeShare::Rest,
    shows: "whether an expectation that is nearly right is noticed",
    ..LIE
};

const REWORDED_ANY: Experiment = Experiment {
    name: ExperimentName::RewordedAny,
    edit: Edit::Reworded(detector::rewords_anywhere),
    only: WhichTests::All,
    ..REWORDED
};

const LIE_DATA: Experiment = Experiment {
    name: ExperimentName::LieData,
    edit: Edit::Lies(|known, lies| detector::tell_in_data(known, lies).next(ExperimentName::LieData)),
    repeats: true,
    shows: "whether a wrong number in the data of the tests is noticed",
    ..LIE
};

const LIE_DATA_BASE: Experiment = Experiment {
    name: ExperimentName::LieDataBase,
    edit: Edit::Lies(|known, lies| detector::tell_in_data(known, lies).next(ExperimentName::LieDataBase)),
    repeats: true,
    ..LIE_BASE
};

const MUTANTS: Experiment = Experiment {
    name: ExperimentName::Mutants,
    edit: Edit::Mutants,
    only: WhichTests::Selected(|known| {
        let (fixed, red) = evidence_of(&verdict(known));
        fixed.into_iter().chain(red).collect()
    }),
    when: mutants,
    shows: "whether the tests that the pass rests on notice when the changed lines do something else",
    ..CHANGE
};

const NEIGHBOURS: Experiment = Experiment {
    name: ExperimentName::Neighbours,
    edit: Edit::Neighbours,
    when: neighbours,
    shows: "what calls like those of the tests give with the change",
    ..EXAMPLES
};

const NEIGHBOURS_BASE: Experiment = Experiment {
    name: ExperimentName::NeighboursBase,
    edit: Edit::Neighbours,
    when: neighbours,
    shows: "what they gave before it",
    ..EXAMPLES_BASE
};

/// The runs that are needed now. They can be made side by side.
pub fn due(known: &KnownSoFar<'_>) -> Vec<PlannedRun> {
    let is_begun = |group: &&[Experiment]| group.iter().any(|row| known.is_made(row.name));
    let at = EXPERIMENTS.iter().rposition(is_begun).unwrap_or_default();
    let planned = |group: &&'static [Experiment]| -> Vec<PlannedRun> {
        group.iter().flat_map(|row| row.planned(known)).collect()
    };
    let needed = EXPERIMENTS.iter().skip(at).map(planned).find(|planned| !planned.is_empty());
    let is_timed = |run: &&FinishedRun<'_>| row_of(run.name).is_some_and(Experiment::is_timed);
    let spent = known.runs.iter().filter(is_timed).map(|run| run.seconds).sum();
    let mut now = granted(known, spent, needed.unwrap_or_default());
    let with_base_and_change = known.runs.len() + 2;
    let about = with_base_and_change + to_come(&now);
    for (before, run) in (with_base_and_change..).zip(&mut now) {
        run.words.push_str(&format!(" · run {} of about {about}", before + 1));
    }
    now
}

/// How many runs follow, roughly, if these are made now. Without any: all runs of a change, and its base's.
pub fn to_come(planned: &[PlannedRun]) -> usize {
    let is_now =
        |group: &&[Experiment]| planned.iter().any(|run| group.iter().any(|row| row.name == run.row.name));
    let after = EXPERIMENTS.iter().position(is_now).map_or(0, |at| at + 1);
    planned.len() + USUAL.iter().skip(after).sum::<usize>()
}

/// What the runs with this name are, in words, such as "the base's tests on the base's code".
pub fn words_of(name: ExperimentName) -> String {
    row_of(name).map(|row| row.words(&[])).unwrap_or_default()
}

fn row_of(name: ExperimentName) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().flat_map(|group| group.iter()).find(|row| row.name == name)
}

/// The runs that say nothing for lack of time: those that were not made, and edits that did not end and of which no test
/// says anything.
pub fn without_result(known: &KnownSoFar<'_>) -> Vec<RunWithoutResult> {
    let because = |row: &Experiment, run: &FinishedRun<'_>| {
        let is_silent = || run.lies.iter().all(|lie| lie_told(&run.cell, lie.test.as_deref()).is_none());
        let is_endless = row.is_edited() && run.cell.exit == Some(Exit::TimedOut);
        match run.is_left_out {
            true => Some(WithoutResult::LeftOut),
            false => (is_endless && is_silent()).then_some(WithoutResult::NotEnded),
        }
    };
    let mut all = Vec::new();
    for row in EXPERIMENTS.iter().flat_map(|group| group.iter()) {
        for (number, run) in (1..).zip(known.all(row.name)) {
            let shows = if number == 1 { row.shows.to_owned() } else { format!("once more {}", row.shows) };
            let name = format!("tests{}", row.name.of_run(number));
            all.extend(because(row, run).map(|because| RunWithoutResult { name, shows, because }));
        }
    }
    all
}

/// A rerun tells flaky tests from broken ones. If different tests fail each time, it is worth another rerun.
fn again(known: &KnownSoFar<'_>) -> bool {
    let (baseline, own) = (known.baseline(), &known.change);
    let reruns: Vec<_> = known.all(ExperimentName::Again).collect();
    let [earlier @ .., last] = reruns.as_slice() else {
        return may_be_flaky(baseline.reading, own.cell.reading, known.alone());
    };
    let before = earlier.last().copied().unwrap_or(own);
    reruns.len() < MOST_RERUNS
        && !last.cell.is_green()
        && last.cell.reading.failing != before.cell.reading.failing
}

/// An examiner has read the examples and covers more than their text.
fn examples(known: &KnownSoFar<'_>) -> bool {
    known.of_change.has_examples && !known.of_change.is_examined && passes(known)
}

fn programs(known: &KnownSoFar<'_>) -> bool {
    known.of_change.has_programs && passes(known)
}

fn test_files(known: &KnownSoFar<'_>) -> bool {
    !known.of_change.test_files.is_empty() && passes(known)
}

/// An ordinary failure is not worth the time.
fn old_tests(known: &KnownSoFar<'_>) -> bool {
    !known.of_change.sides.test_paths.is_empty() && passes(known)
}

fn old_tests_again(known: &KnownSoFar<'_>) -> bool {
    let made = known.all(ExperimentName::OldTestsAgain).count();
    known.is_made(ExperimentName::OldTests) && made < MOST_RERUNS && may_be_flaky_there(known)
}

/// Where nothing but the configuration differs, the base's tests show the same.
fn old_configuration(known: &KnownSoFar<'_>) -> bool {
    let sides = known.of_change.sides;
    !sides.configuration.is_empty() && sides.test_paths.len() > sides.configuration.len() && passes(known)
}

/// Before tests are said to be missing, the base has to name them the same way twice.
fn base_again(known: &KnownSoFar<'_>) -> bool {
    let is_compared = known.is_made(ExperimentName::OldTests) || !old_tests(known);
    is_compared && !old_tests_again(known) && compared(known).0.judged == ComparisonVerdict::TestsMissing
}

/// Any other test may fail there. A test that was red on the base and is green now needs no other proof, unless
/// something speaks against it.
fn old_code_whole(known: &KnownSoFar<'_>) -> bool {
    let (judgement, _) = compared(known);
    let is_selected = known.last(ExperimentName::OldCode).is_some_and(|run| run.is_selected);
    let is_proven = matches!(judgement.proof, Some(Proof::Proven { .. })) && judgement.against.is_empty();
    let is_open = judgement.comparison.fixed.is_empty() || !judgement.against.is_empty();
    is_selected && !is_proven && is_open
}

/// If no program differs, the data is the fix.
fn old_data(known: &KnownSoFar<'_>) -> bool {
    let ((judgement, _), sides) = (compared(known), known.of_change.sides);
    let is_fixed = judgement.judged.is_pass() && !judgement.comparison.fixed.is_empty();
    is_fixed && sides.source_differs && !sides.old_data.is_empty()
}

/// The tests of a change that was good so far.
fn of_good(
    known: &KnownSoFar<'_>,
    so_far: fn(&KnownSoFar<'_>) -> ExperimentResult,
    which: fn(&KnownSoFar<'_>, &ExperimentResult) -> Vec<String>,
) -> Vec<String> {
    let judgement = so_far(known);
    if judgement.is_good() { which(known, &judgement) } else { Vec::new() }
}

fn times_of_flaky(known: &KnownSoFar<'_>) -> usize {
    reruns::times_of_flaky(known, &reruns::flaky(known, &before_reruns(known)))
}

fn fixed(known: &KnownSoFar<'_>) -> bool {
    let judgement = before_reruns(known);
    judgement.is_good() && reruns::may_be_fixed_by_chance(known, &judgement)
}

/// Mutants say nothing of a change that does not pass anyway.
fn mutants(known: &KnownSoFar<'_>) -> bool {
    let is_believed = |found: LieFindings| found.said != LieVerdict::Unnoticed;
    !known.of_change.is_rewritten && lie_findings(known).is_some_and(is_believed) && verdict(known).is_good()
}

/// They say nothing of a change that its own tests do not prove.
fn neighbours(known: &KnownSoFar<'_>) -> bool {
    let is_proven = || {
        let judgement = verdict(known);
        matches!(judgement.proof, Some(Proof::Proven { .. })) || !judgement.comparison.fixed.is_empty()
    };
    known.of_change.has_neighbours && mutants(known) && is_proven()
}
