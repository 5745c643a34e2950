//! Small examples of the four runs, and their verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::experiment::*;
use journeyman_order::comparison::RunnerName;
use journeyman_order::scrutiny::TestChange;
use journeyman_order::{
    ComparisonVerdict, Exit, Proof, ProofGrade, TestCaseStatus, TestCases, TestCounts, TestProgram,
    TestReport,
};

/// `+a -b /c`: a run in which a passed, b failed and c was skipped.
pub(super) fn run(tests: &str) -> (Exit, TestReport) {
    let tests: BTreeMap<String, TestCaseStatus> = tests
        .split_whitespace()
        .map(|word| {
            let status = match &word[..1] {
                "+" => TestCaseStatus::Passed,
                "-" => TestCaseStatus::Failed,
                _ => TestCaseStatus::Skipped,
            };
            (format!("tests.test_a.{}", &word[1..]), status)
        })
        .collect();
    let of = |wanted| tests.values().filter(|status| **status == wanted).count() as u64;
    let counts = TestCounts {
        passed: of(TestCaseStatus::Passed),
        failed: of(TestCaseStatus::Failed),
        skipped: of(TestCaseStatus::Skipped),
    };
    let exit = Exit::Code(i32::from(counts.failed > 0));
    let cases = Some(TestCases { named_by: RunnerName::new("unittest"), tests });
    (exit, TestReport { counts: Some(counts), cases, ..TestReport::default() })
}

/// Only an exit code.
pub(super) fn silent(code: i32) -> (Exit, TestReport) {
    (Exit::Code(code), TestReport::default())
}

pub(super) type CellRun = (Exit, TestReport);

/// The same run beside a program that does not name its tests.
pub(super) fn beside_program(passes: bool, (exit, reading): CellRun) -> CellRun {
    let exit = if passes { exit } else { Exit::Code(1) };
    let name = "tests/rows.rs".to_owned();
    let program = TestProgram { name, counts: None, failing: Vec::new(), passed: passes };
    (exit, TestReport { programs: vec![program], ..reading })
}

struct ExperimentCase {
    baseline: CellRun,
    change: CellRun,
    again: Vec<CellRun>,
    old_tests: Option<CellRun>,
    old_tests_again: Vec<CellRun>,
    old_code: Option<CellRun>,
    said_on_old_code: &'static str,
    /// Whether only some tests were asked for there.
    is_selected: bool,
    laid: Vec<String>,
    configuration: Vec<String>,
    unloaded: Vec<String>,
    code_differs: bool,
}

/// Words that the change adds to the code.
static NEW_WORDS: LazyLock<BTreeSet<String>> = LazyLock::new(|| BTreeSet::from(["VERSION".to_owned()]));

/// Base, change, the base's tests on the change, the change's tests on the base.
fn case(baseline: CellRun, change: CellRun, old_tests: CellRun, old_code: CellRun) -> ExperimentCase {
    ExperimentCase {
        baseline,
        change,
        again: Vec::new(),
        old_tests: Some(old_tests),
        old_tests_again: Vec::new(),
        old_code: Some(old_code),
        said_on_old_code: "",
        is_selected: false,
        laid: vec!["tests/test_a.py".to_owned()],
        configuration: Vec::new(),
        unloaded: Vec::new(),
        code_differs: true,
    }
}

impl ExperimentCase {
    fn judged(&self) -> ExperimentResult {
        self.known(|known| compared(known).0.clone())
    }

    fn may_be_flaky_there(&self) -> bool {
        self.known(may_be_flaky_there)
    }

    fn known<T>(&self, ask: impl FnOnce(&KnownSoFar<'_>) -> T) -> T {
        fn finished<'a>(name: ExperimentName, of: &'a CellRun, output: &'a str) -> FinishedRun<'a> {
            FinishedRun::whole(name, ExperimentCell { exit: Some(of.0), reading: &of.1, output }, 1.0)
        }
        let sides = ChangeSplit {
            test_paths: self.laid.clone(),
            configuration: self.configuration.clone(),
            code_differs: self.code_differs,
            ..ChangeSplit::default()
        };
        let of_change = KnownChange {
            sides: &sides,
            edited: &[],
            new_words: &NEW_WORDS,
            own_words: &NEW_WORDS,
            unread: &[],
            is_rewritten: false,
            is_examined: false,
            has_programs: false,
            test_files: &[],
            has_examples: false,
            has_neighbours: false,
        };
        let first = [
            finished(ExperimentName::Base, &self.baseline, ""),
            finished(ExperimentName::Change, &self.change, ""),
        ];
        let again = self.again.iter().map(|of| finished(ExperimentName::Again, of, ""));
        let old_tests = self
            .old_tests
            .iter()
            .map(|of| FinishedRun { unloaded: &self.unloaded, ..finished(ExperimentName::OldTests, of, "") });
        let old_tests_again =
            self.old_tests_again.iter().map(|of| finished(ExperimentName::OldTestsAgain, of, ""));
        let old_code = self.old_code.iter().map(|of| FinishedRun {
            is_selected: self.is_selected,
            ..finished(ExperimentName::OldCode, of, self.said_on_old_code)
        });
        let runs = again.chain(old_tests).chain(old_tests_again).chain(old_code).collect();
        ask(&KnownSoFar::new(of_change, first, None, runs, None))
    }
}

fn proven(by: ProofGrade, red: &str) -> Option<Proof> {
    Some(Proof::Proven { by, red: vec![red.to_owned()] })
}

#[test]
fn a_test_of_the_base_that_fails_once_and_passes_once_on_the_same_code_stands_against_nothing() {
    let other = || vec!["tests/test_z.py".to_owned()];
    let once = case(run("+a"), run("+a +b"), run("-a"), run("+a -b"));
    let once = ExperimentCase { laid: other(), ..once };
    assert_eq!(
        once.judged().against,
        [
            "tests.test_a.a fails on the code of the change as the base has it, and passes as the change has it; the \
          change touches tests/test_z.py"
        ]
    );
    assert!(once.may_be_flaky_there());
    let twice = ExperimentCase { old_tests_again: vec![run("-a")], ..once };
    assert_eq!(twice.judged().against.len(), 1);
    let flaky = ExperimentCase { old_tests_again: vec![run("+a")], ..twice };
    let judged = flaky.judged();
    assert!(judged.against.is_empty(), "{:?}", judged.against);
    assert_eq!(judged.comparison.flaky.names, ["tests.test_a.a"], "and it is named");
    assert!(judged.comparison.newly_broken.is_empty());
}

#[test]
fn a_rerun_that_hides_a_failure_is_no_pass() {
    let flaky = || case(run("+a +b"), run("-a +b"), run("+a +b"), run("+a +b"));
    let judged = |again| ExperimentCase { again: vec![again], ..flaky() }.judged().judged;
    assert_eq!(judged(run("+a +b")), ComparisonVerdict::Passed);
    assert_eq!(judged((Exit::Code(0), run("+a -b").1)), ComparisonVerdict::PassedBesideRed);
}

#[test]
fn only_what_was_red_and_is_green_with_the_bases_own_tests_was_fixed() {
    let honest = case(run("+a -b"), run("+a +b"), run("+a +b"), run("+a -b")).judged();
    assert_eq!(
        (honest.judged, honest.comparison.fixed.names.as_slice()),
        (ComparisonVerdict::Passed, &["tests.test_a.b".to_owned()][..])
    );
    assert!(honest.against.is_empty());
    // The red test passes only in its edited form, and that form also passes on the old code.
    let weakened = case(run("+a -b"), run("+a +b"), run("+a -b"), run("+a +b")).judged();
    assert!(weakened.comparison.fixed.is_empty());
    assert!(weakened.against[0].contains("tests.test_a.b failed before"), "{:?}", weakened.against);
    let deleted = case(run("+a -b"), run("+a"), run("+a -b"), run("+a")).judged();
    assert_eq!(deleted.against.len(), 1);
}

#[test]
fn a_test_that_was_red_and_is_so_in_its_old_form_stands_against_the_change_whatever_it_asks_for_now() {
    // The test was edited, and its new form fails on the old code as well.
    let mut edited = case(run("+a -b"), run("+a +b"), run("+a -b"), run("+a -b"));
    edited.laid.push("tests/data/rows.csv".to_owned());
    let judged = edited.judged();
    assert!(judged.against[0].contains("tests.test_a.b failed before"), "{:?}", judged.against);
    assert!(judged.comparison.fixed.is_empty() && !matches!(judged.proof, Some(Proof::Proven { .. })));
    let silent = case(silent(1), silent(0), silent(1), silent(1)).judged();
    assert!(silent.against[0].contains("as they did before"), "{:?}", silent.against);
    assert!(!matches!(silent.proof, Some(Proof::Proven { .. })));
}

#[test]
fn a_program_that_does_not_name_its_tests_is_judged_like_one_test() {
    let of = |path: &str, [base, change, old_tests, old_code]: [bool; 4]| {
        let [base, change, old_tests, old_code] =
            [base, change, old_tests, old_code].map(|passes| beside_program(passes, run("+a")));
        ExperimentCase { laid: vec![path.to_owned()], ..case(base, change, old_tests, old_code) }
    };
    let new_rows = of("tests/rows.json", [true, true, true, false]);
    assert_eq!(new_rows.judged().proof, proven(ProofGrade::Case, "tests/rows.rs"));
    assert!(new_rows.judged().is_good());
    // It may have failed because it was asked for some tests alone.
    let selected = ExperimentCase { is_selected: true, ..new_rows }.judged();
    assert!(matches!(selected.proof, Some(Proof::NotProven { .. })), "{:?}", selected.proof);
    let fixed = of("tests/rows.json", [false, true, true, false]).judged();
    assert_eq!(fixed.comparison.fixed.names, ["tests/rows.rs"]);
    assert!(fixed.is_good(), "{fixed:?}");
    let weakened = of("tests/rows.json", [false, true, false, true]).judged();
    assert!(weakened.against[0].starts_with("tests/rows.rs failed before"), "{:?}", weakened.against);
    assert!(weakened.comparison.fixed.is_empty());
    let edited = of("tests/rows.json", [true, true, false, false]).judged();
    assert_eq!(edited.changed[0].how, TestChange::FailsAsItWas);
    assert!(matches!(edited.proof, Some(Proof::NotProven { .. })), "{:?}", edited.proof);
    let broken = of("tests/others.rs", [true, true, false, true]);
    assert!(broken.judged().against[0].starts_with("tests/rows.rs fails on the code of the change"));
    assert!(broken.may_be_flaky_there());
    let again = vec![beside_program(true, run("+a"))];
    let flaky = ExperimentCase { old_tests_again: again, ..broken }.judged();
    assert_eq!((flaky.comparison.flaky.names, flaky.against.len()), (vec!["tests/rows.rs".to_owned()], 0));
}

#[test]
fn a_known_bug_that_is_marked_no_more_proves_the_change() {
    // Without its mark it is red on the old code. With its mark it fails on the new code, as an unexpected success.
    let strict = case(run("+a /b"), run("+a +b"), run("+a -b"), run("+a -b")).judged();
    assert_eq!(strict.proof, proven(ProofGrade::Test, "tests.test_a.b"));
    assert_eq!(
        (strict.judged, strict.against.len(), strict.changed.len()),
        (ComparisonVerdict::Passed, 0, 0)
    );
    let lenient = case(run("+a /b"), run("+a +b"), run("+a +b"), run("+a -b")).judged();
    assert_eq!(lenient.proof, proven(ProofGrade::Test, "tests.test_a.b"));
}

#[test]
fn what_did_not_run_on_the_old_code_is_not_said_to_pass_there() {
    let because = |case: ExperimentCase| match case.judged().proof {
        Some(Proof::NotProven { because }) => because,
        other => panic!("{other:?}"),
    };
    let uncollected = case(run("+a"), run("+a"), run("+a"), run("+a"));
    let uncollected = ExperimentCase { laid: vec!["tests/check_b.py".to_owned()], ..uncollected };
    assert_eq!(
        because(uncollected),
        "the test command runs no test of what the change adds or edits: tests/check_b.py"
    );
    let of_b = |after: &str, old_code: &str| {
        let other = case(run("+a"), run(after), run("+a"), run(old_code));
        because(ExperimentCase { laid: vec!["tests/test_b.py".to_owned()], ..other })
    };
    assert_eq!(
        of_b("+a /b", "+a /b"),
        "the tests of the change are skipped, and did not run: tests/test_b.py"
    );
    assert_eq!(
        of_b("+a +b", "+a /b"),
        "tests of the change are skipped on the old code, and did not run there: tests.test_a.b"
    );
    assert_eq!(of_b("+a +b", "+a +b"), "the tests of the change pass on the old code as well");
}

#[test]
fn the_signal_that_the_tests_died_of_is_found_whatever_ran_afterwards() {
    let crash = "test tests::duplicate_crash ... ok\nerror: test failed, to rerun pass `--lib`\n\nCaused by:\n  process \
                 didn't exit successfully: `/t/smallvec-1` (signal: 11, SIGSEGV: invalid memory reference)";
    let later = format!("{crash}\n\nrunning 4 tests\ntest later ... ok\nerror: could not compile `fuzz`\n");
    let compiler = "error: could not compile `a`\n\nCaused by:\n  process didn't exit successfully: `rustc` (signal: 11, SIGSEGV)\n";
    let green = |passed, failed| TestReport {
        counts: Some(TestCounts { passed, failed, skipped: 0 }),
        ..TestReport::default()
    };
    for (exit, reading, output, expected) in [
        (Exit::Code(101), green(4, 0), later.as_str(), Some((11, crash))),
        (Exit::Code(101), green(4, 1), later.as_str(), Some((11, crash))),
        (Exit::Code(139), green(0, 0), "a ", Some((11, "a "))),
        (Exit::Signal(9), green(4, 1), "", Some((9, ""))),
        (Exit::Code(1), green(4, 0), "  signal: 'SIGSEGV',\n", Some((11, "  signal: 'SIGSEGV',\n"))),
        (Exit::Code(1), green(4, 1), "SIGSEGV is handled: FAILED\n", None),
        (Exit::Code(101), green(0, 0), compiler, None),
        (Exit::Code(1), green(4, 0), "AssertionError\n", None),
        (Exit::Code(0), green(4, 0), later.as_str(), None),
        (Exit::TimedOut, green(4, 0), "", None),
    ] {
        let found = fatal_signal(&ExperimentCell { exit: Some(exit), reading: &reading, output });
        assert_eq!(found, expected, "{exit}: {output}");
    }
}

#[test]
fn what_dies_or_never_ends_on_the_old_code_is_red_and_what_does_not_build_is_not() {
    let cargo = "running 1 test\nerror: test failed, to rerun pass `--test depth`\n\nCaused by:\n  process didn't exit \
                 successfully: `/t/depth-1` (signal: 6, SIGABRT: process abort signal)\nerror: 1 target failed:\n";
    let exited = "  process didn't exit successfully: `/t/depth-1 depth` (exit status: 3)\n";
    for (exit, output, expected) in [
        (Exit::Code(101), cargo, Some(Exit::Signal(6))),
        (Exit::Code(101), exited, Some(Exit::Code(3))),
        (Exit::Code(101), "  process didn't exit successfully: `/t/a-1` (exit status: 101)\n", None),
        (Exit::Code(139), "tests/test_a.py::test_b ", Some(Exit::Signal(11))),
        (Exit::Code(1), "  signal: 'SIGSEGV',\n", Some(Exit::Signal(11))),
        (Exit::Code(1), "fatal error: all goroutines are asleep - deadlock!\n", Some(Exit::Code(1))),
        (
            Exit::Code(2),
            "make: *** [Makefile:2: test] Segmentation fault (core dumped)\n",
            Some(Exit::Code(2)),
        ),
        (Exit::TimedOut, "", Some(Exit::TimedOut)),
        (Exit::Signal(9), "", Some(Exit::Signal(9))),
        (Exit::Code(101), "error: cannot find function `depth`\n(signal: 6, SIGABRT: abort)\n", None),
        (Exit::Code(1), "AssertionError: 1 != 2\n", None),
        (Exit::Code(0), "Segmentation fault\n", None),
    ] {
        let reading = TestReport::default();
        assert_eq!(
            died(&ExperimentCell { exit: Some(exit), reading: &reading, output }),
            expected,
            "{output}"
        );
    }
    // A run that names all its tests has finished, whatever it prints.
    let (exit, reading) = run("+a -b");
    assert_eq!(died(&ExperimentCell { exit: Some(exit), reading: &reading, output: "SIGSEGV\n" }), None);
    let mut dies = case(silent(0), silent(0), silent(0), (Exit::TimedOut, TestReport::default()));
    assert_eq!(dies.judged().proof, proven(ProofGrade::File, "tests/test_a.py"));
    dies.old_code = Some(silent(101));
    dies.said_on_old_code = cargo;
    assert_eq!(dies.judged().proof, proven(ProofGrade::File, "tests/test_a.py"));
    dies.baseline = silent(1);
    assert!(matches!(dies.judged().proof, Some(Proof::NotProven { .. })), "it failed before as well");
}

#[test]
fn a_test_of_the_base_that_fails_as_it_was_is_named_and_proves_nothing() {
    let changed = case(run("+a +b"), run("+a +b"), run("+a -b"), run("+a -b")).judged();
    let named: Vec<_> = changed.changed.iter().map(|test| (test.test.as_str(), test.how)).collect();
    assert_eq!(named, [("tests.test_a.b", TestChange::FailsAsItWas)]);
    assert!(
        matches!(&changed.proof, Some(Proof::NotProven { because }) if because.contains("edits")),
        "{:?}",
        changed.proof
    );
    assert!(changed.against.is_empty());
    // If only the configuration of tests differs, it counts against the change.
    let mut bent = case(run("+a +b"), run("+a +b"), run("+a -b"), run("+a +b"));
    bent.laid = vec!["pytest.ini".to_owned()];
    bent.configuration.clone_from(&bent.laid);
    assert!(bent.judged().against[0].contains("configuration of the base"), "{:?}", bent.judged().against);
}

#[test]
fn a_failure_under_a_name_that_no_other_run_has_stands_against_the_change() {
    let judged = case(run("+a +b"), run("+a +b"), run("+a +b -b(2)"), run("+a +b")).judged();
    assert!(!judged.against.is_empty() || !judged.changed.is_empty(), "{judged:#?}");
    let honest = case(run("+a +b"), run("+a +b"), run("+a +b +b(2)"), run("+a +b")).judged();
    assert!(honest.against.is_empty() && honest.changed.is_empty(), "{honest:#?}");
}

#[test]
fn a_test_of_the_change_proves_it_where_it_is_red_without_it() {
    let new = case(run("+a"), run("+a +new"), run("+a"), run("+a -new")).judged();
    assert_eq!(new.proof, proven(ProofGrade::Test, "tests.test_a.new"));
    let grown = case(run("+a +b"), run("+a +b"), run("+a +b"), run("+a -b")).judged();
    assert_eq!(grown.proof, proven(ProofGrade::Case, "tests.test_a.b"));
    let parametrized = case(run("+b[1]"), run("+b[1] +b[2]"), run("+b[1]"), run("+b[1] -b[2]")).judged();
    assert_eq!(parametrized.proof, proven(ProofGrade::Case, "tests.test_a.b[2]"));
    let vain = case(run("+a"), run("+a +new"), run("+a"), run("+a +new")).judged();
    assert!(matches!(vain.proof, Some(Proof::NotProven { .. })));
    let mut tests_only = case(run("+a"), run("+a +new"), run("+a"), run("+a -new"));
    tests_only.code_differs = false;
    assert!(matches!(tests_only.judged().proof, Some(Proof::NotProven { .. })));
    // A missing name shows that something was added, not that something was wrong.
    let mut added = case(run("+a"), run("+a +new"), run("+a"), run("+a -new"));
    added.said_on_old_code =
        "ERROR: new (tests.test_a.new)\nAttributeError: module 'amounts' has no attribute 'VERSION'\n";
    assert!(matches!(added.judged().proof, Some(Proof::NamesWhatIsNew { .. })));
    // A test that did not run there did not pass there.
    let absent = case(run("+a"), run("+a +new"), run("+a"), run("+a")).judged();
    assert!(matches!(absent.proof, Some(Proof::NamesWhatIsNew { .. })), "{:?}", absent.proof);
}

#[test]
fn tests_that_are_not_named_are_judged_by_their_files() {
    let proven = case(silent(0), silent(0), silent(0), silent(1)).judged();
    assert_eq!(proven.proof, self::proven(ProofGrade::File, "tests/test_a.py"));
    let vain = case(silent(0), silent(0), silent(0), silent(0)).judged();
    assert!(matches!(vain.proof, Some(Proof::NotProven { .. })));
    let mut unbuilt = case(silent(0), silent(0), silent(0), silent(2));
    unbuilt.said_on_old_code = "test/a.c:3:1: error: 'VERSION' undeclared\n";
    assert!(matches!(unbuilt.judged().proof, Some(Proof::NamesWhatIsNew { .. })));
    let weakened = case(silent(1), silent(0), silent(1), silent(0)).judged();
    assert!(weakened.against[0].contains("as they did before"), "{:?}", weakened.against);
    let regressed = case(silent(0), silent(0), silent(1), silent(1)).judged();
    assert_eq!(regressed.changed[0].how, TestChange::FailsAsItWas);
    assert!(matches!(regressed.proof, Some(Proof::NotProven { .. })));
}

#[test]
fn what_does_not_load_on_the_new_code_is_named_and_counts_neither_way() {
    let mut changed = case(run("+a -b"), run("+a +b"), run("+a +b"), run("+a -b"));
    changed.unloaded = vec!["tests/test_a.py".to_owned()];
    let judged = changed.judged();
    assert!(judged.comparison.fixed.is_empty(), "{:?}", judged.comparison.fixed);
    assert!(judged.changed.iter().any(|test| test.how == TestChange::DoesNotLoadAsItWas));
}

#[test]
fn tests_of_the_base_that_the_new_code_loses_are_missing() {
    let lost = case(run("+a +b"), run("+a +b"), run("+a"), run("+a +b")).judged();
    assert_eq!(lost.judged, ComparisonVerdict::TestsMissing);
    assert_eq!(lost.proof, None);
}

#[test]
fn tests_that_cannot_be_named_any_more_prove_nothing() {
    let unnamed = |tests: &str| {
        let (exit, reading) = run(tests);
        (exit, TestReport { cases: None, ..reading })
    };
    let because = "its tests cannot be named any more, though the base names them";
    let not_named = Some(Proof::NotProven { because: because.to_owned() });
    // With the base's configuration they are named. Without names, an edited test of the base would pass for a new one.
    let (exit, mut reading) = unnamed("+a -b");
    reading.failing = vec!["test_a.py::b".to_owned()];
    let bent = || case(run("+a +b"), unnamed("+a +b"), run("+a +b"), (exit, reading.clone()));
    assert_eq!(bent().judged().proof, not_named);
    let again = ExperimentCase { again: vec![unnamed("+a +b")], ..bent() };
    assert_eq!(again.judged().proof, not_named);
    // Other output hid the names once.
    let hidden = ExperimentCase { again: vec![run("+a +b")], ..bent() };
    assert_ne!(hidden.judged().proof, not_named);
    let code_only = ExperimentCase { old_tests: None, ..bent() };
    assert_eq!(code_only.judged().judged, ComparisonVerdict::TestsMissing);
}

#[test]
fn a_lie_is_noticed_by_the_test_that_it_stands_in() {
    let (green, red) = (run("+a +b"), run("+a -b"));
    let told = |run: &CellRun, test: Option<&str>| {
        lie_told(&ExperimentCell { exit: Some(run.0), reading: &run.1, output: "" }, test)
    };
    assert_eq!(told(&red, Some("tests.test_a.b")), Some(true));
    assert_eq!(told(&red, Some("tests.test_a.a")), Some(false), "another test failed");
    assert_eq!(told(&green, Some("tests.test_a.b")), Some(false));
    assert_eq!(told(&green, Some("tests.test_a.gone")), None);
    assert_eq!((told(&silent(0), None), told(&silent(1), None)), (Some(false), Some(true)));
    // If the runner hides the failure, it may have been red before.
    assert_eq!(told(&(Exit::Code(0), run("+a -b").1), None), Some(false));
    let unbuilt = ExperimentCell {
        exit: Some(Exit::Code(2)),
        reading: &TestReport::default(),
        output: "a.c:1:1: error: no\n",
    };
    assert_eq!(lie_told(&unbuilt, None), None);
}

#[test]
fn very_many_tests_that_fail_without_the_change_are_each_held_against_what_was_printed() {
    let names = |sign: &str| (0..4_000).map(|at| format!("{sign}t{at} ")).collect::<String>();
    let printed: String =
        (0..4_000).map(|at| format!("FAIL: t{at}\nAttributeError: no attribute VERSION\n")).collect();
    let mut many =
        case(run("+a"), run(&format!("+a {}", names("+"))), run("+a"), run(&format!("+a {}", names("-"))));
    assert!(matches!(many.judged().proof, Some(Proof::Proven { by: ProofGrade::Test, .. })));
    many.said_on_old_code = printed.leak();
    assert!(matches!(many.judged().proof, Some(Proof::NamesWhatIsNew { .. })));
}

#[test]
fn what_does_not_pass_with_the_change_hides_no_test_that_does_however_much_there_is_of_it() {
    let many = |sign: &str| (0..1_001).map(|number| format!("{sign}a{number} ")).collect::<String>();
    let beside = |sign: &str, test: &str| run(&format!("{}+k {test}", many(sign)));
    let shown = case(beside("/", ""), beside("/", "+z"), beside("/", ""), beside("-", "-z"));
    assert_eq!(shown.judged().proof, proven(ProofGrade::Test, "tests.test_a.z"));
    // The base's own tests prove nothing, and the limit may hide others.
    let cut = case(beside("+", ""), beside("+", ""), beside("-", ""), beside("-", ""));
    assert!(matches!(cut.judged().proof, Some(Proof::CannotTell { .. })), "{:?}", cut.judged().proof);
}
