//! Judges the four runs by their exits and reports alone.

use std::collections::BTreeSet;

use super::cell::{ExperimentCell, not_loaded};
use super::died::died;
use super::edits::EditedTest;
use super::names::{is_of, without_parameters};
use super::printed::PrintedFailures;
use crate::compare::{compare, judged};
use crate::verdict;
use journeyman_order::bounds::{MOST_IN_A_SENTENCE, MOST_LISTED, MOST_LOOKED_AT};
use journeyman_order::comparison::ComparedExits;
use journeyman_order::scrutiny::{ChangedTest, TestChange};
use journeyman_order::{
    ComparedBy, Comparison, ComparisonVerdict, Exit, Proof, ProofGrade, TestCaseStatus, TestCases,
    TestCounts, TestList, TestReport, TestVerdict,
};

pub struct ExperimentMatrix<'a> {
    /// The tests of the base on the code of the base.
    pub baseline: ExperimentCell<'a>,
    /// The tests of the change on the code of the change.
    pub change: ExperimentCell<'a>,
    /// Repeated runs of it, to detect flaky tests.
    pub again: &'a [(Exit, TestReport)],
    /// The tests of the base on the code of the change. `None` if no test changed.
    pub old_tests: Option<ExperimentCell<'a>>,
    /// Repeated runs of it, to detect flaky tests.
    pub old_tests_again: Vec<ExperimentCell<'a>>,
    /// The tests of the change on the code of the base. `None` if no test changed.
    pub old_code: Option<ExperimentCell<'a>>,
    /// Changed paths that belong to the tests.
    pub laid: &'a [String],
    /// Those of them that are new in the change.
    pub added: &'a [String],
    /// Those that configure how tests run.
    pub configuration: &'a [String],
    /// Those whose base version does not load on the code of the change.
    pub unloaded: &'a [String],
    /// The change's tests that did not load on the code of the base, and were skipped.
    pub old_code_unloaded: &'a [String],
    /// Whether any code differs.
    pub code_differs: bool,
    /// The tests of the base whose text changed.
    pub edited: &'a [EditedTest],
    /// Words in the code of the change that occur nowhere in the base.
    pub new_words: &'a BTreeSet<String>,
}

impl<'a> ExperimentMatrix<'a> {
    /// Changed test paths that do not configure how tests run.
    fn own_tests(&self) -> impl Iterator<Item = &'a String> {
        self.laid.iter().filter(|path| !self.configuration.contains(path))
    }
}

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

pub fn judge(matrix: &ExperimentMatrix<'_>) -> ExperimentResult {
    let readings: Vec<TestReport> = matrix.again.iter().map(|(_, reading)| reading.clone()).collect();
    let own = compare(matrix.baseline.reading, matrix.change.reading, &readings);
    let exits = ComparedExits {
        base: matrix.baseline.exit,
        after: matrix.change.exit.unwrap_or(Exit::Code(-1)),
        // An exit of 0 with failures in the report does not count as a pass here either.
        reruns: matrix
            .again
            .iter()
            .filter(|(exit, reading)| {
                *exit != Exit::Code(0) || verdict(exit, reading.counts.as_ref()) == TestVerdict::Passed
            })
            .map(|(exit, _)| *exit)
            .collect(),
    };
    let Some(old) = matrix.old_tests else {
        let judged = judged(&exits, &own, &own);
        let within =
            "the new tests stand within the code that the change touches, and cannot be run without it";
        let proof = judged.is_pass().then(|| match own.new.is_empty() {
            true => Proof::NoTestsChanged,
            false => Proof::CannotTell { because: within.to_owned() },
        });
        return ExperimentResult { comparison: own, judged, proof, changed: Vec::new(), against: Vec::new() };
    };
    let mut comparison = compare(matrix.baseline.reading, old.reading, &[]);
    let mut changed = Vec::new();
    if !matrix.unloaded.is_empty() {
        // A test that does not load counts neither for nor against the change.
        for name in std::mem::take(&mut comparison.gone).names {
            changed.push(changed_test(&name, TestChange::DoesNotLoadAsItWas));
        }
        let is_of_unloaded =
            |name: &String| matrix.unloaded.iter().any(|path| is_of(name, path) != Some(false));
        let fixed = std::mem::take(&mut comparison.fixed);
        for name in fixed.names.iter().filter(|name| !is_of_unloaded(name)) {
            comparison.fixed.add(name);
        }
        for path in matrix.unloaded.iter().filter(|path| !matrix.added.contains(path)) {
            changed.push(changed_test(path, TestChange::DoesNotLoadAsItWas));
        }
    }
    (comparison.new, comparison.new_failing) = (own.new.clone(), own.new_failing.clone());
    comparison.flaky = own.flaky.clone();
    comparison.after = own.after;
    let judged = judged(&exits, &own, &comparison);
    let mut against = Vec::new();
    if judged.is_pass() {
        of_old_tests(matrix, &old, &mut comparison, &mut changed, &mut against);
    }
    let proof = judged.is_pass().then(|| proof(matrix, &comparison));
    ExperimentResult { comparison, judged, proof, changed, against }
}

fn changed_test(name: &str, how: TestChange) -> ChangedTest {
    ChangedTest { test: name.to_owned(), how, old: None, new: None }
}

/// Compares what the base's tests report on the code of the change with what they reported on the base.
fn of_old_tests(
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
    for (name, status) in &before.tests {
        if comparison.flaky.names.contains(name) {
            continue;
        }
        let passed_again =
            matrix.old_tests_again.iter().any(|again| again.status(name) == Some(TestCaseStatus::Passed));
        if old.status(name) == Some(TestCaseStatus::Failed) && passed_again {
            comparison.flaky.add(name);
            continue;
        }
        let is_unloaded = unloaded.contains(name);
        match (status, old.status(name), matrix.change.status(name)) {
            (TestCaseStatus::Passed, Some(TestCaseStatus::Failed), _) => {
                if is_edited(matrix, name) {
                    changed.push(changed_test(name, TestChange::FailsAsItWas));
                } else {
                    blocked.push(name.as_str());
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
    before.tests.iter().any(|(name, status)| {
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
    matrix.edited.iter().any(|edited| edited.is(name))
        || matrix.own_tests().any(|path| !super::sides::is_source(path))
}

/// Whether the change edits a test or its data. Otherwise the two runs differ only in how tests are run.
fn is_edited(matrix: &ExperimentMatrix<'_>, name: &str) -> bool {
    matrix.own_tests().any(|path| is_of(name, path) != Some(false) || !super::sides::is_source(path))
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

/// What the change's tests prove when they run on the code of the base.
fn proof(matrix: &ExperimentMatrix<'_>, comparison: &Comparison) -> Proof {
    let not_proven = |because: &str| Proof::NotProven { because: because.to_owned() };
    let cannot_tell = |because: &str| Proof::CannotTell { because: because.to_owned() };
    let Some(old) = matrix.old_code else { return Proof::NoTestsChanged };
    if !matrix.code_differs {
        return not_proven("the change touches no code beside its tests, so no test can fail without it");
    }
    if old.exit.is_none() {
        return cannot_tell("what the tests need could not be installed for the old code");
    }
    let (mut by_test, mut by_case, mut of_new_names) = (Vec::new(), Vec::new(), Vec::new());
    let mut is_changed_only = false;
    let all_failing = failing(old.reading);
    // A test that does not pass with the change shows nothing, and takes no slot in the capped list.
    let is_told_apart = |name: &&str| {
        !comparison.flaky.names.iter().any(|flaky| flaky == *name) && passes(&matrix.change, name)
    };
    let mut looked_at: Vec<&str> = all_failing.iter().copied().filter(is_told_apart).collect();
    let is_cut = looked_at.len() > MOST_LOOKED_AT;
    looked_at.truncate(MOST_LOOKED_AT);
    let printed = PrintedFailures::of(old.output, &all_failing, &looked_at, matrix.new_words);
    let known_cases = known_cases(matrix);
    for name in looked_at {
        let as_it_was = matrix.old_tests.and_then(|old| old.status(name));
        match matrix.baseline.status(name) {
            _ if printed.names_what_is_new(name) => of_new_names.push(name.to_owned()),
            None if is_case(&known_cases, name) => by_case.push(name.to_owned()),
            None => by_test.push(name.to_owned()),
            Some(TestCaseStatus::Passed) if as_it_was == Some(TestCaseStatus::Passed) => {
                by_case.push(name.to_owned());
            }
            // It was skipped before: a known bug that is now an ordinary test.
            Some(TestCaseStatus::Skipped) => by_test.push(name.to_owned()),
            Some(TestCaseStatus::Passed | TestCaseStatus::Failed) => is_changed_only = true,
        }
    }
    for (by, mut red) in [(ProofGrade::Test, by_test), (ProofGrade::Case, by_case)] {
        if !red.is_empty() {
            red.truncate(MOST_LISTED);
            return Proof::Proven { by, red };
        }
    }
    // A crash or a timeout is red as a whole, until the responsible test is known.
    if died(&old).is_some() {
        return by_file(matrix, &old);
    }
    of_new_names.extend(matrix.old_code_unloaded.iter().cloned());
    if !of_new_names.is_empty() {
        of_new_names.truncate(MOST_LISTED);
        return Proof::NamesWhatIsNew { tests: of_new_names };
    }
    if old.exit != Some(Exit::Code(0)) && !not_loaded(&old).is_empty() {
        return Proof::NamesWhatIsNew { tests: matrix.own_tests().cloned().collect() };
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
    match (&matrix.change.reading.cases, &old.reading.cases) {
        (Some(after), Some(before)) => of_tests_that_pass(matrix, after, before),
        (None, _) | (_, None) => by_file(matrix, &old),
    }
}

/// What the change's tests show if none fails on the code of the base. A test that did not run there did not pass.
fn of_tests_that_pass(matrix: &ExperimentMatrix<'_>, after: &TestCases, before: &TestCases) -> Proof {
    let not_proven = |because: String| Proof::NotProven { because };
    let is_own = |name: &str| {
        matrix.baseline.status(name).is_none()
            || matrix.edited.iter().any(|edited| edited.is(name))
            || matrix.laid.iter().any(|path| is_of(name, path) == Some(true))
    };
    let own: Vec<(&String, TestCaseStatus)> =
        after.tests.iter().filter(|(name, _)| is_own(name)).map(|(name, status)| (name, *status)).collect();
    let paths: Vec<&str> = matrix.own_tests().take(MOST_IN_A_SENTENCE).map(String::as_str).collect();
    let paths = paths.join(", ");
    if own.is_empty() {
        return not_proven(format!(
            "the test command runs no test of what the change adds or edits: {paths}"
        ));
    }
    let ran: Vec<&String> =
        own.iter().filter(|(_, status)| *status != TestCaseStatus::Skipped).map(|(name, _)| *name).collect();
    if ran.is_empty() {
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
fn by_file(matrix: &ExperimentMatrix<'_>, old: &ExperimentCell<'_>) -> Proof {
    let own: Vec<String> = matrix.own_tests().cloned().collect();
    let because = if own.is_empty() {
        "the change touches how the tests are run, and no test"
    } else if old.is_green() {
        "the test command passes on the old code with the change's tests as well"
    } else if !matrix.baseline.is_green() {
        "the tests failed before the change as well, and are not told apart"
    } else if matrix.old_tests.is_some_and(|tests| !tests.is_green()) {
        "the tests of the base fail on the code of the change, and are not told apart"
    } else {
        return Proof::Proven { by: ProofGrade::File, red: own };
    };
    Proof::NotProven { because: because.to_owned() }
}

/// The names of the base's tests without their parameters.
fn known_cases<'m>(matrix: &ExperimentMatrix<'m>) -> BTreeSet<&'m str> {
    let before = matrix.baseline.reading.cases.iter().flat_map(|before| before.tests.keys());
    before.map(|known| without_parameters(known)).collect()
}

/// Whether this is a case of a parametrized test of the base.
fn is_case(known: &BTreeSet<&str>, name: &str) -> bool {
    let own = without_parameters(name);
    own != name && known.contains(own)
}

fn failing(reading: &TestReport) -> Vec<&str> {
    let is_red = |(_, status): &(&String, &TestCaseStatus)| **status == TestCaseStatus::Failed;
    let names: Vec<&str> = match &reading.cases {
        Some(cases) => cases.tests.iter().filter(is_red).map(|(name, _)| name.as_str()).collect(),
        None => reading.failing.iter().map(String::as_str).collect(),
    };
    names.into_iter().filter(|name| !reading.unloaded.iter().any(|unloaded| unloaded == name)).collect()
}

fn passes(change: &ExperimentCell<'_>, name: &str) -> bool {
    let is_green = |counts: TestCounts| counts.passed > 0 && counts.failed == 0 && counts.skipped == 0;
    match &change.reading.cases {
        Some(cases) => cases.tests.get(name) == Some(&TestCaseStatus::Passed),
        // Without names: if nothing failed and nothing was skipped, it passed.
        None => change.reading.counts.is_some_and(is_green),
    }
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

/// The tests that a pass rests on: the fixed ones and those that prove the change.
pub fn evidence_of(judgement: &ExperimentResult) -> (Vec<String>, Vec<String>) {
    let fixed = judgement.comparison.fixed.names.clone();
    match &judgement.proof {
        Some(Proof::Proven { by, red }) if *by != ProofGrade::File => (fixed, red.clone()),
        _ => (fixed, Vec::new()),
    }
}

/// Whether a run with a lie in it noticed the lie. `None` if nothing was loaded, so the run shows nothing.
pub fn lie_told(cell: &ExperimentCell<'_>, test: Option<&str>) -> Option<bool> {
    match (test, &cell.reading.cases) {
        (Some(test), Some(cases)) => match cases.tests.get(test) {
            Some(TestCaseStatus::Passed) => Some(false),
            Some(TestCaseStatus::Failed) => Some(true),
            Some(TestCaseStatus::Skipped) | None => None,
        },
        (Some(_), None) | (None, _) if !not_loaded(cell).is_empty() => None,
        (Some(_), None) | (None, _) => match cell.exit? {
            Exit::Code(0) => Some(false),
            Exit::Code(_) | Exit::Signal(_) => Some(true),
            Exit::TimedOut => None,
        },
    }
}
