//! What the tests of the change prove when they run on the code of the base.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::cell::{ExperimentCell, not_loaded};
use super::died::died;
use super::known::{ExperimentName, FinishedRun, KnownChange, KnownSoFar};
use super::names::{is_of, without_parameters};
use super::printed::PrintedFailures;
use super::sides::ChangeSplit;
use journeyman_order::bounds::{MOST_IN_A_SENTENCE, MOST_LISTED, MOST_LOOKED_AT};
use journeyman_order::{
    Comparison, Exit, Proof, ProofGrade, TestCaseStatus, TestCases, TestCounts, TestReport,
};

/// What the change's tests prove when they run on the code of the base.
pub(super) fn proof(
    known: &KnownSoFar<'_>,
    old_tests: &FinishedRun<'_>,
    old_code: Option<&FinishedRun<'_>>,
    comparison: &Comparison,
) -> Proof {
    let not_proven = |because: &str| Proof::NotProven { because: because.to_owned() };
    let cannot_tell = |because: &str| Proof::CannotTell { because: because.to_owned() };
    let Some(FinishedRun { cell: old, unloaded, is_selected, .. }) = old_code else {
        return Proof::NoTestsChanged;
    };
    let (baseline, change) = (known.baseline(), &known.change.cell);
    let sides = known.of_change.sides;
    if !sides.code_differs {
        return not_proven("the change touches no code beside its tests, so no test can fail without it");
    }
    if old.exit.is_none() {
        return cannot_tell("what the tests need could not be installed for the old code");
    }
    if names_no_more(known) {
        return not_proven("its tests cannot be named any more, though the base names them");
    }
    let (mut by_test, mut by_case, mut of_new_names) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_changed_only = false;
    let failing = failing(old.reading);
    let all_failing: Vec<&str> = failing.iter().map(|name| &**name).collect();
    // A test that does not pass with the change shows nothing, and takes no slot in the capped list.
    let is_flaky = |name: &str| comparison.flaky.names.iter().any(|flaky| flaky == name);
    let is_told_apart = |name: &&str| !is_flaky(name) && passes(change, name);
    let mut looked_at: Vec<&str> = all_failing.iter().copied().filter(is_told_apart).collect();
    let is_cut = looked_at.len() > MOST_LOOKED_AT;
    looked_at.truncate(MOST_LOOKED_AT);
    let printed = PrintedFailures::of(old.output, &all_failing, &looked_at, known.of_change.new_words);
    let known_cases = known_cases(&baseline);
    for name in looked_at {
        let as_it_was = old_tests.cell.status(name);
        match baseline.status(name) {
            _ if printed.names_what_is_new(name) => of_new_names.push(name.to_owned()),
            None if is_case(&known_cases, name) || was_counted(&baseline, name) => {
                by_case.push(name.to_owned())
            }
            None => by_test.push(name.to_owned()),
            Some(TestCaseStatus::Passed) if as_it_was == Some(TestCaseStatus::Passed) => {
                by_case.push(name.to_owned());
            }
            // It was skipped before: a known bug that is now an ordinary test.
            Some(TestCaseStatus::Skipped) => by_test.push(name.to_owned()),
            Some(TestCaseStatus::Passed | TestCaseStatus::Failed) => is_changed_only = true,
        }
    }
    for program in old.reading.programs.iter().filter(|_| !is_selected) {
        let name = program.name.as_str();
        let of = |cell: &ExperimentCell<'_>| cell.reading.status_of_program(name);
        let passes = of(change) == Some(TestCaseStatus::Passed);
        if program.status() != TestCaseStatus::Failed || !passes || is_flaky(name) {
            continue;
        }
        let as_it_was = of(&old_tests.cell);
        match of(&baseline) {
            None | Some(TestCaseStatus::Skipped) => by_test.push(name.to_owned()),
            Some(TestCaseStatus::Passed) if as_it_was == Some(TestCaseStatus::Passed) => {
                by_case.push(name.to_owned());
            }
            Some(TestCaseStatus::Passed | TestCaseStatus::Failed) => {
                is_changed_only = true;
            }
        }
    }
    for (by, mut red) in [(ProofGrade::Test, by_test), (ProofGrade::Case, by_case)] {
        if !red.is_empty() {
            red.truncate(MOST_LISTED);
            return Proof::Proven { by, red };
        }
    }
    // A crash or a timeout is red as a whole, until the responsible test is known.
    if died(old).is_some() {
        return by_file(sides, &baseline, old_tests, old);
    }
    of_new_names.extend(unloaded.iter().cloned());
    if !of_new_names.is_empty() {
        of_new_names.truncate(MOST_LISTED);
        return Proof::NamesWhatIsNew { tests: of_new_names };
    }
    if old.exit != Some(Exit::Code(0)) && !not_loaded(old).is_empty() {
        return Proof::NamesWhatIsNew { tests: sides.own_tests().cloned().collect() };
    }
    if is_cut {
        return cannot_tell(
            "more tests fail on the old code than are looked at, and those looked at show nothing",
        );
    }
    if is_changed_only {
        return not_proven(
            "the only tests that fail without the change are tests of the base that the change edits: a test of its own would show it",
        );
    }
    match (&change.reading.cases, &old.reading.cases) {
        (Some(after), Some(before)) => of_tests_that_pass(known, after, before),
        (None, _) | (_, None) => by_file(sides, &baseline, old_tests, old),
    }
}

/// What the change's tests show if none fails on the code of the base. A test that did not run there did not pass.
fn of_tests_that_pass(known: &KnownSoFar<'_>, after: &TestCases, before: &TestCases) -> Proof {
    let (baseline, KnownChange { sides, edited, .. }) = (known.baseline(), known.of_change);
    let not_proven = |because: String| Proof::NotProven { because };
    let is_own = |name: &str| {
        baseline.status(name).is_none()
            || edited.iter().any(|edited| edited.is(name))
            || sides.test_paths.iter().any(|path| is_of(name, path) == Some(true))
    };
    let own: Vec<(&String, TestCaseStatus)> =
        after.tests.iter().filter(|(name, _)| is_own(name)).map(|(name, status)| (name, *status)).collect();
    let paths: Vec<&str> = sides.own_tests().take(MOST_IN_A_SENTENCE).map(String::as_str).collect();
    let paths = paths.join(", ");
    if own.is_empty() && known.change.cell.reading.programs.is_empty() {
        return not_proven(format!(
            "the test command runs no test of what the change adds or edits: {paths}"
        ));
    }
    let ran: Vec<&String> =
        own.iter().filter(|(_, status)| *status != TestCaseStatus::Skipped).map(|(name, _)| *name).collect();
    if ran.is_empty() && !own.is_empty() {
        return not_proven(format!("the tests of the change are skipped, and did not run: {paths}"));
    }
    // A parameter that holds a time or a random value gives the test a new name in each run.
    let of_test = |cases: &TestCases, name: &str| {
        let own = without_parameters(name);
        cases.tests.keys().filter(|known| without_parameters(known) == own).count()
    };
    let is_absent =
        |name: &&&String| !before.tests.contains_key(**name) && of_test(before, name) < of_test(after, name);
    let absent: Vec<String> =
        ran.iter().filter(is_absent).map(|name| (*name).clone()).take(MOST_LISTED).collect();
    if !absent.is_empty() {
        return Proof::NamesWhatIsNew { tests: absent };
    }
    let skipped: Vec<&str> = ran
        .iter()
        .filter(|name| before.tests.get(**name) == Some(&TestCaseStatus::Skipped))
        .map(|name| name.as_str())
        .take(MOST_IN_A_SENTENCE)
        .collect();
    if !skipped.is_empty() {
        let skipped = skipped.join(", ");
        return not_proven(format!(
            "tests of the change are skipped on the old code, and did not run there: {skipped}"
        ));
    }
    not_proven("the tests of the change pass on the old code as well".to_owned())
}

/// Judges the change's test files as a whole, if tests are not named.
fn by_file(
    sides: &ChangeSplit,
    baseline: &ExperimentCell<'_>,
    old_tests: &FinishedRun<'_>,
    old: &ExperimentCell<'_>,
) -> Proof {
    let own: Vec<String> = sides.own_tests().cloned().collect();
    let because = if own.is_empty() {
        "the change touches how the tests are run, and no test"
    } else if old.is_green() {
        "the test command passes on the old code with the change's tests as well"
    } else if !baseline.is_green() {
        "the tests failed before the change as well, and are not told apart"
    } else if !old_tests.cell.is_green() {
        "the tests of the base fail on the code of the change, and are not told apart"
    } else {
        return Proof::Proven { by: ProofGrade::File, red: own };
    };
    Proof::NotProven { because: because.to_owned() }
}

/// Whether the base names its tests, and no run of the change's names any.
fn names_no_more(known: &KnownSoFar<'_>) -> bool {
    let before = known.baseline().reading.cases.as_ref();
    let mut now = known.all(ExperimentName::Again).chain([&known.change]);
    before.is_some_and(|before| !before.tests.is_empty()) && now.all(|run| run.cell.reading.cases.is_none())
}

/// The names of the base's tests without their parameters.
fn known_cases<'b>(baseline: &ExperimentCell<'b>) -> BTreeSet<&'b str> {
    let before = baseline.reading.cases.iter().flat_map(|before| before.tests.keys());
    before.map(|known| without_parameters(known)).collect()
}

/// Whether this is a case of a parametrized test of the base.
fn is_case(known: &BTreeSet<&str>, name: &str) -> bool {
    let own = without_parameters(name);
    own != name && known.contains(own)
}

/// Whether its program did not name its tests on the base, so that it may have been among them.
fn was_counted(baseline: &ExperimentCell<'_>, name: &str) -> bool {
    baseline.reading.programs.iter().any(|program| program.has(name))
}

/// The tests that failed, as far as they are named.
fn failing(reading: &TestReport) -> Vec<Cow<'_, str>> {
    let is_red = |(_, status): &(&String, &TestCaseStatus)| **status == TestCaseStatus::Failed;
    let mut names: Vec<Cow<'_, str>> = match &reading.cases {
        Some(cases) => cases.tests.iter().filter(is_red).map(|(name, _)| name.into()).collect(),
        None => reading.failing.iter().map(Cow::from).collect(),
    };
    names.retain(|name| !reading.unloaded.iter().any(|unloaded| unloaded == name));
    for program in &reading.programs {
        let tests = program.all_failing().unwrap_or_default().iter();
        names.extend(tests.map(|test| Cow::Owned(program.name_of(test))));
    }
    names
}

fn passes(change: &ExperimentCell<'_>, name: &str) -> bool {
    let is_green = |counts: TestCounts| counts.passed > 0 && counts.failed == 0 && counts.skipped == 0;
    match &change.reading.cases {
        Some(_) => change.status(name) == Some(TestCaseStatus::Passed),
        // Without names: if nothing failed and nothing was skipped, it passed.
        None => change.reading.counts.is_some_and(is_green),
    }
}
