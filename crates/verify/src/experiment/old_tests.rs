//! What the tests of the base say of the change's code.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::cell::ExperimentCell;
use super::edits::EditedTest;
use super::known::{ExperimentName, FinishedRun, KnownChange, KnownSoFar};
use super::names::is_of;
use super::sides::{ChangeSplit, is_source};
use journeyman_order::scrutiny::{ChangedTest, TestChange};
use journeyman_order::{ComparedBy, Comparison, Exit, TestCaseStatus, TestList, TestProgram};

pub(super) fn changed_test(name: &str, how: TestChange) -> ChangedTest {
    ChangedTest { test: name.to_owned(), how, removed: false, old: None, new: None }
}

/// Compares what the base's tests report on the code of the change with what they reported on the base.
pub(super) fn of_old_tests(
    known: &KnownSoFar<'_>,
    old: &FinishedRun<'_>,
    comparison: &mut Comparison,
    changed: &mut Vec<ChangedTest>,
    against: &mut Vec<String>,
) {
    let run = "the run of the base's tests on the code of the change";
    let (baseline, sides) = (known.baseline(), known.of_change.sides);
    against.extend(match old.cell.exit {
        Some(Exit::Code(_)) => None,
        None => Some(
            "what the tests of the base need could not be installed for the code of the change".to_owned(),
        ),
        Some(Exit::Signal(signal)) => Some(format!("{run} was ended by signal {signal}")),
        Some(Exit::TimedOut) => Some(format!("{run} did not end in its time")),
    });
    if comparison.by != ComparedBy::Test {
        let loads = old.unloaded.is_empty();
        match (baseline.is_green(), old.cell.is_green()) {
            (_, true) => {}
            (true, false) if loads => {
                let own = sides.own_tests().filter(|path| !sides.added.contains(path));
                let mut named = own.map(|path| changed_test(path, TestChange::FailsAsItWas)).peekable();
                if named.peek().is_none() {
                    against.push(with_old_configuration(sides, "the tests of the base"));
                }
                changed.extend(named);
            }
            (false, false) if loads => against.push(
                "the tests of the base fail on this code as they did before it; they pass only as the change has them"
                    .to_owned(),
            ),
            (true | false, false) => {}
        }
        return;
    }
    let Some(before) = &baseline.reading.cases else { return };
    let unloaded: BTreeSet<String> = changed.iter().map(|test| test.test.clone()).collect();
    let mut blocked = Vec::new();
    let of_programs = of_programs(known, &baseline, &old.cell);
    let of_tests = before
        .tests
        .iter()
        .map(|(name, before)| OldTest::of(known, &old.cell, name.into(), *before, |cell| cell.status(name)));
    // A failure under a name that no other run has may be that of a test whose name something else took.
    let is_known = |name: &String| {
        let own = known.change.cell.reading.cases.as_ref();
        before.tests.contains_key(name) || own.is_some_and(|own| own.tests.contains_key(name))
    };
    let cases = old.cell.reading.cases.iter().flat_map(|cases| &cases.tests);
    let failed = cases.filter(|(_, status)| **status == TestCaseStatus::Failed).map(|(name, _)| name);
    let of_others = failed.filter(|name| !is_known(name)).map(|name| {
        let before = TestCaseStatus::Passed;
        OldTest::of(known, &old.cell, name.into(), before, |cell| cell.status(name))
    });
    for OldTest { name, before, old, now, passed_again } in of_tests.chain(of_programs).chain(of_others) {
        let name = &*name;
        if comparison.flaky.names.iter().any(|flaky| flaky == name) {
            continue;
        }
        if old == Some(TestCaseStatus::Failed) && passed_again {
            comparison.flaky.add(name);
            continue;
        }
        let is_unloaded = unloaded.contains(name);
        match (before, old, now) {
            (TestCaseStatus::Passed, Some(TestCaseStatus::Failed), _) => {
                if is_edited(sides, name) {
                    changed.push(changed_test(name, TestChange::FailsAsItWas));
                } else {
                    blocked.push(name.to_owned());
                }
            }
            // A test that was red, and still is in its old form, proves nothing and is no pass.
            (TestCaseStatus::Failed, Some(TestCaseStatus::Failed), now)
                if now != Some(TestCaseStatus::Failed) =>
            {
                against.push(format!(
                    "{name} failed before, and as the base has it, it fails on this code as well; it passes only as \
                     the change has it"
                ));
            }
            (TestCaseStatus::Passed, Some(TestCaseStatus::Passed), None | Some(TestCaseStatus::Skipped))
                if !is_unloaded && known.change.cell.reading.cases.is_some() =>
            {
                changed.push(changed_test(name, TestChange::RemovedOrRenamed));
            }
            (TestCaseStatus::Passed | TestCaseStatus::Failed | TestCaseStatus::Skipped, _, _) => {}
        }
    }
    if let Some(first) = blocked.first() {
        let more = if blocked.len() > 1 { format!(" and {} more", blocked.len() - 1) } else { String::new() };
        against.push(with_old_configuration(sides, &format!("{first}{more}")));
    }
    // What the change edits is named as edited, and appears in no other list.
    let flaky = comparison.flaky.names.clone();
    let changed = changed.iter().map(|test| test.test.as_str());
    let named: BTreeSet<&str> = changed.chain(flaky.iter().map(String::as_str)).collect();
    let broken = std::mem::take(&mut comparison.newly_broken);
    for name in broken.names.iter().filter(|name| !named.contains(name.as_str())) {
        comparison.newly_broken.add(name);
    }
    comparison.already_red = TestList::default();
}

/// A test of the base, or a program whose tests it does not name, in the runs.
struct OldTest<'a> {
    name: Cow<'a, str>,
    before: TestCaseStatus,
    /// As the base has it, on the code of the change.
    old: Option<TestCaseStatus>,
    /// As the change has it.
    now: Option<TestCaseStatus>,
    /// Whether it passed in a repeated run as the base has it.
    passed_again: bool,
}

impl<'a> OldTest<'a> {
    fn of(
        known: &KnownSoFar<'_>,
        old: &ExperimentCell<'_>,
        name: Cow<'a, str>,
        before: TestCaseStatus,
        status: impl Fn(&ExperimentCell<'_>) -> Option<TestCaseStatus>,
    ) -> Self {
        let mut again = known.all(ExperimentName::OldTestsAgain);
        let passed_again = again.any(|run| status(&run.cell) == Some(TestCaseStatus::Passed));
        Self { name, before, old: status(old), now: status(&known.change.cell), passed_again }
    }
}

/// The programs whose tests the base does not name, each like one test. Of those that failed, what fails only on the
/// code of the change.
fn of_programs<'a>(
    known: &KnownSoFar<'_>,
    baseline: &ExperimentCell<'a>,
    old: &ExperimentCell<'_>,
) -> Vec<OldTest<'a>> {
    let mut all = Vec::new();
    for program in &baseline.reading.programs {
        let (name, before) = (program.name.as_str(), program.status());
        let of_program = |cell: &ExperimentCell<'_>| cell.reading.status_of_program(name);
        all.push(OldTest::of(known, old, name.into(), before, of_program));
        let failing = old.reading.program(name).and_then(TestProgram::all_failing);
        let failing = failing.filter(|_| before == TestCaseStatus::Failed).unwrap_or_default();
        let names = failing.iter().map(|test| program.name_of(test));
        let is_new = |name: &String| baseline.status(name) != Some(TestCaseStatus::Failed);
        all.extend(names.filter(is_new).map(|name| OldTest {
            name: name.into(),
            before: TestCaseStatus::Passed,
            old: Some(TestCaseStatus::Failed),
            now: None,
            passed_again: false,
        }));
    }
    all
}

/// Whether to rerun the base's tests on the code of the change: a test that passes everywhere else, and that the change
/// does not edit, failed there each time. The same failures twice in a row are not chance.
pub fn may_be_flaky_there(known: &KnownSoFar<'_>) -> bool {
    let (baseline, sides) = (known.baseline(), known.of_change.sides);
    let Some(before) = &baseline.reading.cases else { return false };
    let runs: Vec<&ExperimentCell<'_>> = of_base_with_the_change(known).collect();
    if let [.., last, newest] = &runs[..]
        && last.reading.failing == newest.reading.failing
    {
        return false;
    }
    let programs = baseline.reading.programs.iter().map(|program| (&program.name, program.status()));
    before.tests.iter().map(|(name, status)| (name, *status)).chain(programs).any(|(name, status)| {
        let is_same = match status {
            TestCaseStatus::Passed => !is_edited(sides, name),
            TestCaseStatus::Failed => !has_other_text(known, name),
            TestCaseStatus::Skipped => false,
        };
        is_same
            && known.change.cell.status(name) == Some(TestCaseStatus::Passed)
            && runs.iter().all(|run| run.status(name) == Some(TestCaseStatus::Failed))
    })
}

/// The tests of the base on the code of the change, in each of their runs.
fn of_base_with_the_change<'k, 'a>(
    known: &'k KnownSoFar<'a>,
) -> impl Iterator<Item = &'k ExperimentCell<'a>> {
    let runs = known.all(ExperimentName::OldTests).chain(known.all(ExperimentName::OldTestsAgain));
    runs.map(|run| &run.cell)
}

/// Whether the change edits the test itself, or a file that is no source code and counts as tests: it may be the test's
/// data. Other differences in its file may be new tests.
fn has_other_text(known: &KnownSoFar<'_>, name: &str) -> bool {
    let KnownChange { edited, sides, .. } = known.of_change;
    edited.iter().any(|edited| edited.is(name)) || sides.own_tests().any(|path| !is_source(path))
}

/// Whether the change touches a file that may hold the test or its data. Otherwise only the configuration of tests and
/// other tests differ between the runs.
fn is_edited(sides: &ChangeSplit, name: &str) -> bool {
    sides.own_tests().any(|path| is_of(name, path) != Some(false) || !is_source(path))
}

fn with_old_configuration(sides: &ChangeSplit, what: &str) -> String {
    if sides.configuration.is_empty() {
        return format!(
            "{what} fails on the code of the change as the base has it, and passes as the change has it; the change touches {}",
            sides.test_paths.join(", ")
        );
    }
    format!(
        "with the configuration of the base commit the tests do not pass: {what} fails; the change touches {}",
        sides.configuration.join(", ")
    )
}

/// What became of an edited test, as far as runs show it.
pub fn how_edited(edited: &EditedTest, known: &KnownSoFar<'_>) -> TestChange {
    let of = |cell: &ExperimentCell<'_>| -> Vec<TestCaseStatus> {
        let cases = cell.reading.cases.iter().flat_map(|cases| &cases.tests);
        cases.filter(|(name, _)| edited.is(name)).map(|(_, status)| *status).collect()
    };
    let are = |all: &[TestCaseStatus], wanted| !all.is_empty() && all.iter().all(|status| *status == wanted);
    let old: Vec<Vec<TestCaseStatus>> = of_base_with_the_change(known).map(of).collect();
    let was_skipped = are(&of(&known.baseline()), TestCaseStatus::Skipped);
    if was_skipped && are(&of(&known.change.cell), TestCaseStatus::Passed) {
        TestChange::RunsNow
    } else if old.iter().any(|run| are(run, TestCaseStatus::Passed)) {
        TestChange::Edited
    } else if old.iter().flatten().any(|status| *status == TestCaseStatus::Failed) {
        TestChange::FailsAsItWas
    } else {
        TestChange::EditedUnseen
    }
}
