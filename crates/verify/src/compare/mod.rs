//! Compares two runs: the tests of a change and those of its base commit.

use std::collections::BTreeSet;

use crate::verdict;
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::comparison::ComparedExits;
use journeyman_order::{
    ComparedBy, Comparison, ComparisonVerdict, Exit, TestCaseStatus, TestCases, TestCounts, TestProgram,
    TestReport, TestVerdict,
};

/// Compares test by test if both runs name their tests, otherwise by counts or exit, and records which. A program that
/// does not name its tests is compared by their number and its end.
///
/// `reruns` are of the same tree as `after`. A test that both failed and passed among them is flaky, neither broken nor
/// fixed. A renamed test counts as one gone and one new.
pub(super) fn compare(base: &TestReport, after: &TestReport, reruns: &[TestReport]) -> Comparison {
    let mut comparison = Comparison {
        base: base.counts,
        after: after.counts,
        unloaded: after.unloaded.iter().filter(|name| !base.unloaded.contains(name)).cloned().collect(),
        ..Comparison::default()
    };
    if base.counts.is_some() && after.counts.is_some() {
        comparison.by = ComparedBy::Counts;
    }
    // If only the base reports counts, the change may have lost tests.
    let ran = |counts: Option<TestCounts>| counts.map_or(0, |counts| counts.ran());
    comparison.unnamed = ran(base.counts) > 0 && after.counts.is_none();
    let Some(before) = &base.cases else { return comparison };
    // If the base has no tests, all are new, whichever runner names them.
    let is_comparable = |cases: &TestCases| cases.named_by == before.named_by || before.tests.is_empty();
    let readings: Vec<&TestReport> = std::iter::once(after)
        .chain(reruns)
        .filter(|reading| reading.cases.as_ref().is_some_and(is_comparable))
        .collect();
    let open = readings.iter().find(|reading| !hides_any(reading, before)).or(readings.first());
    let Some((reading, now)) = open.and_then(|reading| Some((*reading, reading.cases.as_ref()?))) else {
        comparison.unnamed |= !before.tests.is_empty();
        return comparison;
    };
    comparison.by = ComparedBy::Test;
    comparison.unnamed = hides_any(reading, before);
    let flaky = flaky(now, &readings);
    for (name, status) in &now.tests {
        if flaky.contains(name.as_str()) {
            comparison.flaky.add(name);
            continue;
        }
        match (former(base, name, *status), *status) {
            (Some(TestCaseStatus::Passed), TestCaseStatus::Passed) => comparison.still_green += 1,
            (Some(TestCaseStatus::Failed), TestCaseStatus::Passed) => comparison.fixed.add(name),
            // A test that did not run shows nothing about the code before.
            (None | Some(TestCaseStatus::Skipped), TestCaseStatus::Passed)
            | (None, TestCaseStatus::Skipped) => {
                comparison.new.add(name);
            }
            (Some(TestCaseStatus::Passed), TestCaseStatus::Failed) => comparison.newly_broken.add(name),
            (Some(TestCaseStatus::Failed), TestCaseStatus::Failed) => comparison.already_red.add(name),
            (Some(TestCaseStatus::Skipped) | None, TestCaseStatus::Failed) => {
                comparison.new_failing.add(name)
            }
            (Some(TestCaseStatus::Passed | TestCaseStatus::Failed), TestCaseStatus::Skipped) => {
                comparison.skipped.add(name)
            }
            (Some(TestCaseStatus::Skipped), TestCaseStatus::Skipped) => comparison.still_skipped += 1,
        }
    }
    // A program that names no other test may name those that fail.
    for name in before.tests.keys().filter(|name| reading.status(name).is_none()) {
        comparison.gone.add(name);
    }
    compare_programs(base, reading, &readings, &mut comparison);
    comparison
}

/// Whether a program does not name tests that it names on the base: what other tests print may hide them.
fn hides_any(reading: &TestReport, before: &TestCases) -> bool {
    let is_hidden = |name: &String| {
        reading.programs.iter().any(|program| program.has(name)) && reading.status(name).is_none()
    };
    before.tests.keys().any(is_hidden)
}

/// How a test ended on the base. One whose program only counted its tests there may have been among them.
fn former(base: &TestReport, name: &str, status: TestCaseStatus) -> Option<TestCaseStatus> {
    base.status(name).or_else(|| {
        let mut counted = base.programs.iter().filter(|program| program.counts.is_some());
        let may_have_run = status != TestCaseStatus::Failed && counted.any(|program| program.has(name));
        may_have_run.then_some(status)
    })
}

/// Tests that passed in one run and failed in another on the same tree.
fn flaky<'a>(now: &'a TestCases, readings: &[&TestReport]) -> BTreeSet<&'a str> {
    now.tests
        .iter()
        .filter(|(name, status)| {
            let other = match status {
                TestCaseStatus::Passed => TestCaseStatus::Failed,
                TestCaseStatus::Failed => TestCaseStatus::Passed,
                TestCaseStatus::Skipped => return false,
            };
            readings.iter().any(|reading| reading.status(name) == Some(other))
        })
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Compares programs whose tests are not named, in one of the runs or in both.
fn compare_programs(
    base: &TestReport,
    now: &TestReport,
    readings: &[&TestReport],
    comparison: &mut Comparison,
) {
    let names: BTreeSet<&String> =
        base.programs.iter().chain(&now.programs).map(|program| &program.name).collect();
    comparison.programs = names.into_iter().take(MOST_LISTED).cloned().collect();
    for program in &base.programs {
        match fewer_tests(program, base, now) {
            None => comparison.gone.add(&program.name),
            Some(0) => {}
            Some(1) => comparison.gone.add(&format!("a test of {}", program.name)),
            Some(fewer) => comparison.gone.add(&format!("{fewer} tests of {}", program.name)),
        }
    }
    for program in &now.programs {
        let is_one = |status| {
            let of = |reading: &&TestReport| reading.status_of_program(&program.name) == Some(status);
            readings.iter().any(of)
        };
        if is_one(TestCaseStatus::Failed) && is_one(TestCaseStatus::Passed) {
            comparison.flaky.add(&program.name);
            continue;
        }
        let before = base.program(&program.name);
        let passed = |program: &TestProgram| program.counts.map_or(0, |counts| counts.passed);
        comparison.still_green += before.map_or(0, passed).min(passed(program));
        let has_all = || before.is_some_and(|before| fewer_tests(before, base, now) == Some(0));
        match (before.map(TestProgram::status), program.status()) {
            (_, TestCaseStatus::Failed) => add_failing(program, before, base, comparison),
            (Some(TestCaseStatus::Failed), TestCaseStatus::Passed) if has_all() => {
                comparison.fixed.add(&program.name);
            }
            // Where the base names its tests, these are gone.
            (None, TestCaseStatus::Passed | TestCaseStatus::Skipped)
                if base.status_of_program(&program.name).is_none() =>
            {
                comparison.new.add(&program.name);
            }
            (_, TestCaseStatus::Passed | TestCaseStatus::Skipped) => {}
        }
    }
}

/// How many tests of a program ran on the base and do not run now. `None` if it is gone, or counts them no more.
fn fewer_tests(program: &TestProgram, base: &TestReport, now: &TestReport) -> Option<u64> {
    let ran = |program: &TestProgram| program.counts.map_or(0, |counts| counts.ran());
    if let Some(same) = now.program(&program.name) {
        let is_counted = program.counts.is_none() || same.counts.is_some();
        return is_counted.then(|| ran(program).saturating_sub(ran(same)));
    }
    // Its tests may be named now. Another program of the same name named its own before.
    let is_known = |name: &String| base.cases.as_ref().is_some_and(|cases| cases.tests.contains_key(name));
    let is_own = |name: &String| program.has(name) && !is_known(name);
    let own = now.cases.iter().flat_map(|cases| &cases.tests).filter(|(name, _)| is_own(name));
    let statuses: Vec<TestCaseStatus> = own.map(|(_, status)| *status).collect();
    let ran_now = statuses.iter().filter(|status| **status != TestCaseStatus::Skipped).count() as u64;
    (!statuses.is_empty()).then(|| ran(program).saturating_sub(ran_now))
}

/// Adds a program that fails now: each of its failing tests, if it names them, else the program.
fn add_failing(
    program: &TestProgram,
    before: Option<&TestProgram>,
    base: &TestReport,
    comparison: &mut Comparison,
) {
    for test in program.all_failing().unwrap_or_default() {
        let name = program.name_of(test);
        let list = match (base.status(&name), before) {
            (Some(TestCaseStatus::Failed), _) => &mut comparison.already_red,
            (Some(TestCaseStatus::Passed | TestCaseStatus::Skipped), _) | (None, Some(_)) => {
                &mut comparison.newly_broken
            }
            (None, None) => &mut comparison.new_failing,
        };
        list.add(&name);
    }
    if program.all_failing().is_some() {
        return;
    }
    let list = match before.map(|before| (before.status(), before.failed())) {
        None => &mut comparison.new_failing,
        Some((TestCaseStatus::Failed, failed)) if failed == 0 && program.failed() == 0 => {
            &mut comparison.already_red
        }
        Some((TestCaseStatus::Failed, failed)) if failed >= program.failed() => &mut comparison.untold,
        Some(_) => &mut comparison.newly_broken,
    };
    list.add(&program.name);
}

/// Whether another run on the same tree would help: a test that passed on the base and fails now may be flaky, and
/// other output may have hidden the names of tests, or those of one program.
pub fn may_be_flaky(base: &TestReport, after: &TestReport, alone: TestVerdict) -> bool {
    let comparison = compare(base, after, &[]);
    let may_show_names = alone == TestVerdict::Passed || comparison.by == ComparedBy::Test;
    !comparison.newly_broken.is_empty() || (comparison.unnamed && may_show_names)
}

/// The verdict of a run on the commit.
///
/// The exit decides. `own`, the same run compared with the base, can only revoke a pass. So can `old`, the base's tests
/// on the same code: there is no pass if tests disappear or are skipped. The one exception is a base that fails in the
/// same way, by the same red tests, while others pass. Without names of tests there is no exception.
pub(super) fn judged(exits: &ComparedExits, own: &Comparison, old: &Comparison) -> ComparisonVerdict {
    if verdict(&exits.after, own.after.as_ref()) == TestVerdict::NoTests {
        return ComparisonVerdict::NoTests;
    }
    let is_by_test = own.by == ComparedBy::Test;
    // A rerun only detects flaky tests, so it counts only if tests are named. An exit of 0 does not count if some test
    // never passed.
    let passed_at_last = || is_by_test && has_no_red(own) && exits.reruns.contains(&Exit::Code(0));
    let is_good = verdict(&exits.after, own.after.as_ref()) == TestVerdict::Passed;
    let alone = if is_good || passed_at_last() {
        ComparisonVerdict::Passed
    } else if is_by_test
        && own.newly_broken.is_empty()
        && own.new_failing.is_empty()
        && own.untold.is_empty()
        && is_red_as_before(exits, own)
    {
        ComparisonVerdict::PassedBesideRed
    } else {
        ComparisonVerdict::Failed
    };
    if alone.is_pass() && is_less(old) { ComparisonVerdict::TestsMissing } else { alone }
}

/// Whether no test failed in all runs on the commit.
fn has_no_red(own: &Comparison) -> bool {
    let lists = [&own.newly_broken, &own.new_failing, &own.already_red, &own.untold];
    lists.iter().all(|list| list.is_empty())
}

/// Whether every failure is red on the base or flaky, with the same exit code. Some runners use special exit codes for
/// what is worse than a failing test.
fn is_red_as_before(exits: &ComparedExits, comparison: &Comparison) -> bool {
    let Exit::Code(code) = exits.after else { return false };
    let passed = comparison.after.is_some_and(|counts| counts.passed > 0) && comparison.unloaded.is_empty();
    let is_same_end = exits.base == Some(Exit::Code(code));
    // A step of the command besides its tests, such as a linter, may be what fails.
    let is_beside_tests = comparison.base.is_some_and(|counts| counts.failed == 0 && counts.passed > 0);
    let is_explained = if comparison.already_red.is_empty() {
        !comparison.flaky.is_empty() || (is_same_end && is_beside_tests)
    } else {
        is_same_end
    };
    passed && is_explained
}

/// Whether tests that ran on the base no longer run.
fn is_less(comparison: &Comparison) -> bool {
    if comparison.unnamed {
        return true;
    }
    match comparison.by {
        ComparedBy::Test => !comparison.gone.is_empty() || !comparison.skipped.is_empty(),
        ComparedBy::Counts => {
            let ran = |counts: Option<TestCounts>| counts.map_or(0, |counts| counts.ran());
            ran(comparison.after) < ran(comparison.base)
        }
        ComparedBy::ExitCode => false,
    }
}

#[cfg(test)]
mod tests;
