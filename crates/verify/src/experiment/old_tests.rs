//! What the tests of the base say of the change's code.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::cell::ExperimentCell;
use super::edits::EditedTest;
use super::matrix::ExperimentMatrix;
use super::names::is_of;
use super::sides::is_source;
use journeyman_order::scrutiny::{ChangedTest, TestChange};
use journeyman_order::{ComparedBy, Comparison, Exit, TestCaseStatus, TestList, TestProgram};

pub(super) fn changed_test(name: &str, how: TestChange) -> ChangedTest {
    ChangedTest { test: name.to_owned(), how, old: None, new: None }
}

/// Compares what the base's tests report on the code of the change with what they reported on the base.
pub(super) fn of_old_tests(
    matrix: &ExperimentMatrix<'_>,
    old: &ExperimentCell<'_>,
    comparison: &mut Comparison,
    changed: &mut Vec<ChangedTest>,
    against: &mut Vec<String>,
) {
    let run = "the run of the base's tests on the code of the change";
    against.extend(match old.exit {
        Some(Exit::Code(_)) => None,
        None => Some(
            "what the tests of the base need could not be installed for the code of the change".to_owned(),
        ),
        Some(Exit::Signal(signal)) => Some(format!("{run} was ended by signal {signal}")),
        Some(Exit::TimedOut) => Some(format!("{run} did not end in its time")),
    });
    if comparison.by != ComparedBy::Test {
        let loads = matrix.unloaded.is_empty();
        match (matrix.baseline.is_green(), old.is_green()) {
            (_, true) => {}
            (true, false) if loads => {
                let own = matrix.own_tests().filter(|path| !matrix.added.contains(path));
                let mut named = own.map(|path| changed_test(path, TestChange::FailsAsItWas)).peekable();
                if named.peek().is_none() {
                    against.push(with_old_configuration(matrix, "the tests of the base"));
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
    let Some(before) = &matrix.baseline.reading.cases else { return };
    let unloaded: BTreeSet<String> = changed.iter().map(|test| test.test.clone()).collect();
    let mut blocked = Vec::new();
    let of_programs = of_programs(matrix, old);
    let of_tests = before
        .tests
        .iter()
        .map(|(name, before)| OldTest::of(matrix, old, name.into(), *before, |cell| cell.status(name)));
    for OldTest { name, before, old, now, passed_again } in of_tests.chain(of_programs) {
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
                if is_edited(matrix, name) {
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
                if !is_unloaded && matrix.change.reading.cases.is_some() =>
            {
                changed.push(changed_test(name, TestChange::RemovedOrRenamed));
            }
            (TestCaseStatus::Passed | TestCaseStatus::Failed | TestCaseStatus::Skipped, _, _) => {}
        }
    }
    if let Some(first) = blocked.first() {
        let more = if blocked.len() > 1 { format!(" and {} more", blocked.len() - 1) } else { String::new() };
        against.push(with_old_configuration(matrix, &format!("{first}{more}")));
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
        matrix: &ExperimentMatrix<'_>,
        old: &ExperimentCell<'_>,
        name: Cow<'a, str>,
        before: TestCaseStatus,
        status: impl Fn(&ExperimentCell<'_>) -> Option<TestCaseStatus>,
    ) -> Self {
        let passed = |again: &ExperimentCell<'_>| status(again) == Some(TestCaseStatus::Passed);
        let passed_again = matrix.old_tests_again.iter().any(passed);
        Self { name, before, old: status(old), now: status(&matrix.change), passed_again }
    }
}

/// The programs whose tests the base does not name, each like one test. Of those that failed, what fails only on the
/// code of the change.
fn of_programs<'a>(matrix: &ExperimentMatrix<'a>, old: &ExperimentCell<'_>) -> Vec<OldTest<'a>> {
    let mut all = Vec::new();
    for program in &matrix.baseline.reading.programs {
        let (name, before) = (program.name.as_str(), program.status());
        let of_program = |cell: &ExperimentCell<'_>| cell.reading.status_of_program(name);
        all.push(OldTest::of(matrix, old, name.into(), before, of_program));
        let failing = old.reading.program(name).and_then(TestProgram::all_failing);
        let failing = failing.filter(|_| before == TestCaseStatus::Failed).unwrap_or_default();
        let names = failing.iter().map(|test| program.name_of(test));
        let is_new = |name: &String| matrix.baseline.status(name) != Some(TestCaseStatus::Failed);
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
pub fn may_be_flaky_there(matrix: &ExperimentMatrix<'_>) -> bool {
    let (Some(before), Some(old)) = (&matrix.baseline.reading.cases, matrix.old_tests) else { return false };
    let runs: Vec<ExperimentCell<'_>> =
        std::iter::once(old).chain(matrix.old_tests_again.iter().copied()).collect();
    if let [.., last, newest] = &runs[..]
        && last.reading.failing == newest.reading.failing
    {
        return false;
    }
    let programs = matrix.baseline.reading.programs.iter().map(|program| (&program.name, program.status()));
    before.tests.iter().map(|(name, status)| (name, *status)).chain(programs).any(|(name, status)| {
        let is_same = match status {
            TestCaseStatus::Passed => !is_edited(matrix, name),
            TestCaseStatus::Failed => !has_other_text(matrix, name),
            TestCaseStatus::Skipped => false,
        };
        is_same
            && matrix.change.status(name) == Some(TestCaseStatus::Passed)
            && runs.iter().all(|run| run.status(name) == Some(TestCaseStatus::Failed))
    })
}

/// Whether the test's own text or data it may read differs. Other differences in its file may be new tests.
fn has_other_text(matrix: &ExperimentMatrix<'_>, name: &str) -> bool {
    matrix.edited.iter().any(|edited| edited.is(name)) || matrix.own_tests().any(|path| !is_source(path))
}

/// Whether the change edits a test or its data. Otherwise the two runs differ only in how tests are run.
fn is_edited(matrix: &ExperimentMatrix<'_>, name: &str) -> bool {
    matrix.own_tests().any(|path| is_of(name, path) != Some(false) || !is_source(path))
}

fn with_old_configuration(matrix: &ExperimentMatrix<'_>, what: &str) -> String {
    if matrix.configuration.is_empty() {
        return format!(
            "{what} fails on the code of the change as the base has it, and passes as the change has it; the change touches {}",
            matrix.laid.join(", ")
        );
    }
    format!(
        "with the configuration of the base commit the tests do not pass: {what} fails; the change touches {}",
        matrix.configuration.join(", ")
    )
}

/// What became of an edited test, as far as runs show it.
pub fn how_edited(edited: &EditedTest, matrix: &ExperimentMatrix<'_>) -> TestChange {
    let of = |cell: &ExperimentCell<'_>| -> Vec<TestCaseStatus> {
        let cases = cell.reading.cases.iter().flat_map(|cases| &cases.tests);
        cases.filter(|(name, _)| edited.is(name)).map(|(_, status)| *status).collect()
    };
    let are = |all: &[TestCaseStatus], wanted| !all.is_empty() && all.iter().all(|status| *status == wanted);
    let old: Vec<Vec<TestCaseStatus>> =
        matrix.old_tests.iter().chain(&matrix.old_tests_again).map(of).collect();
    let was_skipped = are(&of(&matrix.baseline), TestCaseStatus::Skipped);
    if was_skipped && are(&of(&matrix.change), TestCaseStatus::Passed) {
        TestChange::RunsNow
    } else if old.iter().any(|run| are(run, TestCaseStatus::Passed)) {
        TestChange::Edited
    } else if old.iter().flatten().any(|status| *status == TestCaseStatus::Failed) {
        TestChange::FailsAsItWas
    } else {
        TestChange::EditedUnseen
    }
}
