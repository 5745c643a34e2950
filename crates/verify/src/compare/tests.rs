use std::collections::BTreeMap;

use super::*;
use crate::read;
use journeyman_order::TestList;
use journeyman_order::bounds::MOST_LISTED;
use journeyman_order::comparison::RunnerName;
use proptest::prelude::*;

/// `+a -b /c`: a run in which a passed, b failed and c was skipped.
fn run(tests: &str) -> TestReport {
    let status = |mark: &str| match mark {
        "+" => TestCaseStatus::Passed,
        "-" => TestCaseStatus::Failed,
        _ => TestCaseStatus::Skipped,
    };
    let tests: BTreeMap<String, TestCaseStatus> = tests
        .split_whitespace()
        .map(|word| word.split_at(1))
        .map(|(mark, name)| (name.to_owned(), status(mark)))
        .collect();
    let of = |wanted| tests.values().filter(|status| **status == wanted).count() as u64;
    let counts = TestCounts {
        passed: of(TestCaseStatus::Passed),
        failed: of(TestCaseStatus::Failed),
        skipped: of(TestCaseStatus::Skipped),
    };
    let failing = tests.iter().filter(|(_, status)| **status == TestCaseStatus::Failed);
    TestReport {
        counts: Some(counts),
        failing: failing.map(|(name, _)| name.clone()).collect(),
        cases: Some(TestCases { named_by: RunnerName::new("libtest"), tests }),
        ..TestReport::default()
    }
}

/// The same run, with programs that do not name their tests.
fn beside(programs: &[TestProgram], run: TestReport) -> TestReport {
    TestReport { programs: programs.to_vec(), ..run }
}

/// A program that does not count its tests.
fn silent(passed: bool) -> TestProgram {
    TestProgram { name: "tests/p.rs".to_owned(), counts: None, failing: Vec::new(), passed }
}

/// A program that counts its tests, and names those that fail.
fn counted(passed: u64, failing: &[&str]) -> TestProgram {
    TestProgram {
        counts: Some(TestCounts { passed, failed: failing.len() as u64, skipped: 0 }),
        failing: failing.iter().map(|test| (*test).to_owned()).collect(),
        ..silent(failing.is_empty())
    }
}

fn untold(base: &str, after: &str) -> Comparison {
    compare(&run(base), &run(after), &[])
}

fn exits(base: i32, after: i32, reruns: &[i32]) -> ComparedExits {
    ComparedExits {
        base: Some(Exit::Code(base)),
        after: Exit::Code(after),
        reruns: reruns.iter().map(|code| Exit::Code(*code)).collect(),
    }
}

#[test]
fn what_became_of_every_test_is_said() {
    let comparison = untold(
        "+green +broke +went +silenced -red -fixed -dropped -muted /off /woken /asleep",
        "+green -broke /silenced -red +fixed /muted /off +woken -asleep +new /later -young",
    );
    let names = |tests: &TestList| tests.names.join(" ");
    assert_eq!(comparison.by, ComparedBy::Test);
    assert_eq!((comparison.still_green, comparison.still_skipped), (1, 1));
    assert_eq!(names(&comparison.newly_broken), "broke");
    assert_eq!(names(&comparison.already_red), "red");
    assert_eq!(names(&comparison.fixed), "fixed");
    assert_eq!(names(&comparison.gone), "dropped went");
    assert_eq!(names(&comparison.skipped), "muted silenced");
    assert_eq!(names(&comparison.new), "later new woken");
    assert_eq!(names(&comparison.new_failing), "asleep young");
}

#[test]
fn real_runs_beside_each_other_tell_what_a_change_did() {
    let text = |name: &str| {
        let path =
            format!("{}/tests/fixtures/runners/{name}", journeyman_test_support::repository().display());
        String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
    };
    let (printed, before) = (text("unittest-named.txt"), text("unittest-report.jsonl"));
    // The fix: one test passes now. Another is gone, so the runner counts one fewer.
    let fixed = before.replace(
        "CalcTest.test_error\", \"status\": \"failed\"",
        "CalcTest.test_error\", \"status\": \"passed\"",
    );
    let gone: String =
        fixed.lines().filter(|line| !line.contains("test_ok")).map(|line| format!("{line}\n")).collect();
    let fixed_printed =
        printed.replace("ERROR: test_error", "what stood here: test_error").replace("errors=2", "errors=1");
    let gone_printed = fixed_printed.replace("Ran 9 tests", "Ran 8 tests");
    let read = |printed: &str, report: &str| read(printed, Some(report.as_bytes()));
    let (before, fixed, gone) =
        (read(&printed, &before), read(&fixed_printed, &fixed), read(&gone_printed, &gone));
    let comparison = compare(&before, &fixed, &[]);
    assert_eq!(comparison.fixed.names, ["test_calc.CalcTest.test_error"], "{fixed:?}");
    assert_eq!((comparison.still_green, comparison.already_red.total, comparison.still_skipped), (3, 3, 2));
    assert_eq!(judged(&exits(1, 1, &[]), &comparison, &comparison), ComparisonVerdict::PassedBesideRed);
    let comparison = compare(&before, &gone, &[]);
    assert_eq!(comparison.gone.names, ["test_calc.CalcTest.test_ok"]);
    assert_eq!(judged(&exits(1, 1, &[]), &comparison, &comparison), ComparisonVerdict::TestsMissing);
}

#[test]
fn a_test_that_is_red_once_and_green_once_on_one_tree_is_flaky() {
    let first = untold("+a +b", "-a +b");
    assert!(may_be_flaky(&run("+a +b"), &run("-a +b"), TestVerdict::Failed));
    assert_eq!(judged(&exits(0, 1, &[]), &first, &first), ComparisonVerdict::Failed);
    let again = compare(&run("+a +b"), &run("-a +b"), &[run("+a +b")]);
    assert_eq!((again.flaky.names.as_slice(), again.newly_broken.total), (&["a".to_owned()][..], 0));
    assert_eq!(judged(&exits(0, 1, &[0]), &again, &again), ComparisonVerdict::Passed);
    let broken = compare(&run("+a +b"), &run("-a +b"), &[run("-a +b")]);
    assert_eq!((broken.flaky.total, broken.newly_broken.total), (0, 1));
    assert_eq!(judged(&exits(0, 1, &[1]), &broken, &broken), ComparisonVerdict::Failed);
}

#[test]
fn a_runner_that_ends_well_whatever_fails_is_not_believed_the_second_time_either() {
    let hidden = compare(&run("+a"), &run("+a -b"), &[run("+a -b")]);
    assert_eq!(judged(&exits(0, 0, &[0]), &hidden, &hidden), ComparisonVerdict::Failed);
    let at_last = compare(&run("+a"), &run("+a -b"), &[run("+a +b")]);
    assert_eq!(judged(&exits(0, 1, &[0]), &at_last, &at_last), ComparisonVerdict::Passed);
}

#[test]
fn a_run_beside_red_tests_passes_only_where_all_red_is_explained() {
    let judge = |exits: ComparedExits, base: &str, after: &str| {
        judged(&exits, &untold(base, after), &untold(base, after))
    };
    assert_eq!(judge(exits(0, 0, &[]), "+a +b", "+a +b"), ComparisonVerdict::Passed);
    assert_eq!(judge(exits(1, 0, &[]), "+a -b", "+a +b +c"), ComparisonVerdict::Passed);
    assert_eq!(judge(exits(1, 1, &[]), "+a -b", "+a -b"), ComparisonVerdict::PassedBesideRed);
    assert_eq!(judge(exits(1, 1, &[]), "-a -b", "-a -b"), ComparisonVerdict::Failed, "nothing passed");
    assert_eq!(
        judge(exits(1, 2, &[]), "+a -b", "+a -b"),
        ComparisonVerdict::Failed,
        "it ended in another way"
    );
    assert_eq!(
        judge(exits(0, 1, &[]), "+a -b", "+a -b"),
        ComparisonVerdict::Failed,
        "the base passed in spite of it"
    );
    assert_eq!(judge(exits(1, 1, &[]), "+a -b", "+a -b -c"), ComparisonVerdict::Failed, "a new test fails");
    assert_eq!(judge(exits(1, 1, &[]), "+a -b", "-a -b"), ComparisonVerdict::Failed);
    assert_eq!(judge(exits(0, 1, &[]), "+a", "+a"), ComparisonVerdict::Failed, "no test explains the exit");
    assert_eq!(
        judge(exits(1, 1, &[]), "+a", "+a +b"),
        ComparisonVerdict::PassedBesideRed,
        "the command fails beside its tests, before as after"
    );
    assert_eq!(
        judge(exits(1, 1, &[]), "+a -b", "+a +b"),
        ComparisonVerdict::Failed,
        "the test that explained it passes now"
    );
    assert_eq!(judge(exits(2, 1, &[]), "+a", "+a"), ComparisonVerdict::Failed);
    let killed = ComparedExits { base: Some(Exit::Code(1)), after: Exit::Signal(9), reruns: Vec::new() };
    assert_eq!(judge(killed, "+a -b", "+a -b"), ComparisonVerdict::Failed);
    // The exit reports success, but the names do not.
    assert_eq!(judge(exits(0, 0, &[]), "+a +b", "+a -b"), ComparisonVerdict::Failed);
    assert_eq!(judge(exits(0, 0, &[]), "+a +b", "+a"), ComparisonVerdict::TestsMissing);
    assert_eq!(judge(exits(0, 0, &[]), "+a +b", "+a /b"), ComparisonVerdict::TestsMissing);
    assert_eq!(judge(exits(1, 1, &[]), "+a +b -c", "+a -c"), ComparisonVerdict::TestsMissing);
    assert_eq!(judge(exits(0, 0, &[]), "+a", "/a"), ComparisonVerdict::NoTests);
}

#[test]
fn without_names_the_counts_are_compared_and_without_counts_the_exits() {
    let counted = |passed, failed| TestReport {
        counts: Some(TestCounts { passed, failed, skipped: 0 }),
        ..TestReport::default()
    };
    let of = |base: &TestReport, after: &TestReport| compare(base, after, &[]);
    let comparison = of(&counted(3, 0), &counted(4, 0));
    assert_eq!(
        (comparison.by, judged(&exits(0, 0, &[]), &comparison, &comparison)),
        (ComparedBy::Counts, ComparisonVerdict::Passed)
    );
    let fewer = of(&counted(3, 0), &counted(2, 0));
    assert_eq!(judged(&exits(0, 0, &[]), &fewer, &fewer), ComparisonVerdict::TestsMissing);
    let uncounted = of(&counted(3, 0), &TestReport::default());
    assert_eq!(judged(&exits(0, 0, &[]), &uncounted, &uncounted), ComparisonVerdict::TestsMissing);
    let red = of(&counted(3, 1), &counted(3, 1));
    assert_eq!(
        judged(&exits(1, 1, &[]), &red, &red),
        ComparisonVerdict::Failed,
        "which one is red is not known"
    );
    let blind = of(&TestReport::default(), &TestReport::default());
    assert_eq!(
        (blind.by, judged(&exits(0, 0, &[]), &blind, &blind)),
        (ComparedBy::ExitCode, ComparisonVerdict::Passed)
    );
    assert_eq!(judged(&exits(1, 1, &[]), &blind, &blind), ComparisonVerdict::Failed);
}

#[test]
fn a_change_that_silences_the_names_of_tests_does_not_pass() {
    let silent = TestReport { cases: None, ..run("+a +b") };
    let comparison = compare(&run("+a +b"), &silent, &[]);
    assert!(comparison.unnamed && may_be_flaky(&run("+a +b"), &silent, TestVerdict::Passed));
    assert_eq!(judged(&exits(0, 0, &[]), &comparison, &comparison), ComparisonVerdict::TestsMissing);
    // Other output hides the name in one run, and the next run shows it.
    let comparison = compare(&run("+a +b"), &silent, &[run("+a +b")]);
    assert_eq!((comparison.unnamed, comparison.still_green), (false, 2));
    let mut other = run("+a +b");
    other.cases.as_mut().unwrap().named_by = RunnerName::new("pytest");
    assert!(compare(&run("+a +b"), &other, &[]).unnamed);
    assert_eq!(compare(&run(""), &other, &[]).new.total, 2, "the first tests of a repository");
}

#[test]
fn red_tests_beside_a_program_without_names_are_red_as_before() {
    let judge = |base: &[TestProgram], after: &[TestProgram]| {
        let comparison = compare(&beside(base, run("+a -b")), &beside(after, run("+a -b")), &[]);
        judged(&exits(101, 101, &[]), &comparison, &comparison)
    };
    assert_eq!(judge(&[silent(true)], &[silent(true)]), ComparisonVerdict::PassedBesideRed);
    assert_eq!(judge(&[silent(false)], &[silent(false)]), ComparisonVerdict::PassedBesideRed);
    assert_eq!(judge(&[silent(false)], &[silent(true)]), ComparisonVerdict::PassedBesideRed);
    assert_eq!(judge(&[silent(true)], &[silent(false)]), ComparisonVerdict::Failed, "it fails now");
    assert_eq!(judge(&[], &[silent(false)]), ComparisonVerdict::Failed, "it is new, and fails");
    assert_eq!(judge(&[silent(true)], &[]), ComparisonVerdict::TestsMissing, "it is gone");
    let red = || counted(5, &["x", "y"]);
    assert_eq!(judge(&[red()], &[red()]), ComparisonVerdict::PassedBesideRed);
    assert_eq!(judge(&[red()], &[counted(6, &["x"])]), ComparisonVerdict::PassedBesideRed);
    assert_eq!(judge(&[red()], &[counted(5, &["x", "z"])]), ComparisonVerdict::Failed, "another one fails");
    assert_eq!(judge(&[red()], &[counted(9, &["x", "y", "z"])]), ComparisonVerdict::Failed);
    assert_eq!(judge(&[red()], &[counted(4, &["x", "y"])]), ComparisonVerdict::TestsMissing, "one is gone");
    assert_eq!(judge(&[red()], &[silent(true)]), ComparisonVerdict::TestsMissing, "nothing is counted now");
    let untold = || TestProgram { failing: Vec::new(), ..red() };
    assert_eq!(judge(&[untold()], &[untold()]), ComparisonVerdict::Failed, "which ones fail is not known");
}

#[test]
fn what_became_of_a_program_without_names_is_said() {
    let compared = |base: TestProgram, after: Option<TestProgram>| {
        let after: Vec<TestProgram> = after.into_iter().collect();
        compare(&beside(&[base], run("+a")), &beside(&after, run("+a")), &[])
    };
    let names = |tests: &TestList| tests.names.join(", ");
    let fixed = compared(silent(false), Some(silent(true)));
    assert_eq!((names(&fixed.fixed).as_str(), fixed.programs.len()), ("tests/p.rs", 1));
    assert_eq!(names(&compared(silent(true), Some(silent(false))).newly_broken), "tests/p.rs");
    assert_eq!(names(&compared(silent(false), Some(silent(false))).already_red), "tests/p.rs");
    assert_eq!(names(&compared(silent(true), None).gone), "tests/p.rs");
    assert_eq!(names(&compared(counted(5, &[]), Some(counted(4, &[]))).gone), "a test of tests/p.rs");
    assert_eq!(names(&compared(counted(5, &[]), Some(counted(1, &[]))).gone), "4 tests of tests/p.rs");
    let red = compared(counted(5, &["x"]), Some(counted(4, &["x", "y"])));
    assert_eq!(names(&red.already_red), "tests/p.rs > x");
    assert_eq!(names(&red.newly_broken), "tests/p.rs > y");
    assert_eq!((red.still_green, red.gone.total), (5, 0), "a, and four of its own");
    let untold = || Some(TestProgram { failing: Vec::new(), ..counted(5, &["x"]) });
    assert_eq!(names(&compared(counted(5, &["x"]), untold()).untold), "tests/p.rs");
}

#[test]
fn a_change_that_silences_the_names_of_one_program_does_not_pass() {
    let mut named = run("+a");
    let of_program = [("x", TestCaseStatus::Passed), ("y", TestCaseStatus::Failed)];
    let of_program = of_program.map(|(test, status)| (silent(true).name_of(test), status));
    named.cases.as_mut().unwrap().tests.extend(of_program);
    named.counts = Some(TestCounts { passed: 2, failed: 1, skipped: 0 });
    let hidden = beside(&[counted(1, &["y"])], run("+a"));
    let comparison = compare(&named, &hidden, &[]);
    assert!(comparison.unnamed && may_be_flaky(&named, &hidden, TestVerdict::Failed));
    assert_eq!(comparison.gone.names, ["tests/p.rs > x"]);
    assert_eq!(comparison.already_red.names, ["tests/p.rs > y"]);
    for exits in [exits(101, 0, &[]), exits(101, 101, &[])] {
        let judged = judged(&exits, &comparison, &comparison);
        assert!(!judged.is_pass(), "{judged:?}");
    }
    let own_harness = beside(&[silent(false)], run("+a"));
    let comparison = compare(&named, &own_harness, &[]);
    assert_eq!(judged(&exits(101, 101, &[]), &comparison, &comparison), ComparisonVerdict::Failed);
    // Other output hides the names in one run, and the next run shows them.
    let comparison = compare(&named, &hidden, std::slice::from_ref(&named));
    assert_eq!((comparison.unnamed, comparison.gone.total, comparison.still_green), (false, 0, 2));
    assert_eq!(
        judged(&exits(101, 101, &[101]), &comparison, &comparison),
        ComparisonVerdict::PassedBesideRed
    );
    // On the base they were hidden, and are not now.
    let comparison = compare(&hidden, &named, &[]);
    assert_eq!((comparison.gone.total, comparison.new.total, comparison.still_green), (0, 0, 2));
    assert_eq!(comparison.already_red.names, ["tests/p.rs > y"]);
    assert_eq!(judged(&exits(101, 101, &[]), &comparison, &comparison), ComparisonVerdict::PassedBesideRed);
    let more = beside(&[counted(2, &["y"])], run("+a"));
    assert_eq!(compare(&more, &named, &[]).gone.names, ["a test of tests/p.rs"]);
}

#[test]
fn a_program_that_fails_once_and_passes_once_on_one_tree_is_flaky() {
    let of = |passed| beside(&[silent(passed)], run("+a"));
    assert!(may_be_flaky(&of(true), &of(false), TestVerdict::Failed));
    let again = compare(&of(true), &of(false), &[of(true)]);
    assert_eq!((again.flaky.names.as_slice(), again.newly_broken.total), (&["tests/p.rs".to_owned()][..], 0));
    assert_eq!(judged(&exits(0, 101, &[0]), &again, &again), ComparisonVerdict::Passed);
    let broken = compare(&of(true), &of(false), &[of(false)]);
    assert_eq!(judged(&exits(0, 101, &[101]), &broken, &broken), ComparisonVerdict::Failed);
}

#[test]
fn lists_are_cut_and_counted_to_their_end() {
    let many: String = (0..500).map(|index| format!("+t{index} ")).collect();
    let comparison = untold(&many, "+a");
    assert_eq!((comparison.gone.total, comparison.gone.names.len()), (500, MOST_LISTED));
    let kept = serde_json::to_string(&comparison).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&kept).unwrap(), comparison);
}

fn some_run() -> impl Strategy<Value = TestReport> {
    proptest::collection::btree_map(0_u8..30, 0_usize..3, 0..30).prop_map(|tests| {
        let words: Vec<String> =
            tests.iter().map(|(name, status)| format!("{}m::t{name}", ["+", "-", "/"][*status])).collect();
        run(&words.join(" "))
    })
}

fn some_programs() -> impl Strategy<Value = Vec<TestProgram>> {
    let names = proptest::sample::subsequence(vec!["x", "y", "z"], 0..=3);
    let one = (0_u64..4, names, any::<bool>(), any::<bool>());
    let all = proptest::collection::btree_map(0_u8..3, one, 0..3);
    all.prop_map(|all| {
        let of = |(number, (passed, failing, is_counted, is_told)): (u8, (u64, Vec<&str>, bool, bool))| {
            let program = if is_counted { counted(passed, &failing) } else { silent(failing.is_empty()) };
            let failing = if is_told { program.failing } else { Vec::new() };
            TestProgram { name: format!("p{number}"), failing, ..program }
        };
        all.into_iter().map(of).collect()
    })
}

fn lists(comparison: &Comparison) -> [&TestList; 8] {
    [
        &comparison.fixed, &comparison.newly_broken, &comparison.already_red, &comparison.flaky,
        &comparison.gone, &comparison.new, &comparison.new_failing, &comparison.skipped,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_test_is_in_exactly_one_list(
        base in some_run(), after in some_run(), reruns in proptest::collection::vec(some_run(), 0..3),
    ) {
        let comparison = compare(&base, &after, &reruns);
        let mut seen = BTreeSet::new();
        for name in lists(&comparison).iter().flat_map(|list| &list.names) {
            prop_assert!(seen.insert(name), "{name} is in two lists");
        }
        let total: u64 = lists(&comparison).iter().map(|list| list.total).sum();
        let total = total + comparison.still_green + comparison.still_skipped;
        let now = &after.cases.as_ref().unwrap().tests;
        let before = &base.cases.as_ref().unwrap().tests;
        let went = before.keys().filter(|name| !now.contains_key(*name)).count() as u64;
        prop_assert_eq!(total, now.len() as u64 + went);
    }

    #[test]
    fn a_run_beside_itself_shows_no_change(run in some_run()) {
        let comparison = compare(&run, &run, std::slice::from_ref(&run));
        let counts = run.counts.unwrap();
        prop_assert_eq!(comparison.still_green, counts.passed);
        prop_assert_eq!(comparison.already_red.total, counts.failed);
        prop_assert_eq!(comparison.still_skipped, counts.skipped);
        let total: u64 = lists(&comparison).iter().map(|list| list.total).sum();
        prop_assert_eq!(total, counts.failed);
        prop_assert!(!may_be_flaky(&run, &run, TestVerdict::Passed));
    }

    /// For any change to the base's tests: it cannot pass if one of them fails, is skipped or is gone.
    #[test]
    fn nothing_passes_that_lost_a_test(base in some_run(), after in some_run(), code in 0..3, before in 0..3) {
        let comparison = compare(&base, &after, &[]);
        let judged = judged(&exits(before, code, &[]), &comparison, &comparison);
        if matches!(judged, ComparisonVerdict::Passed | ComparisonVerdict::PassedBesideRed) {
            let now = &after.cases.as_ref().unwrap().tests;
            for (name, status) in &base.cases.as_ref().unwrap().tests {
                let is_kept = match status {
                    TestCaseStatus::Passed => now.get(name) == Some(&TestCaseStatus::Passed),
                    TestCaseStatus::Failed => matches!(now.get(name), Some(TestCaseStatus::Passed | TestCaseStatus::Failed)),
                    TestCaseStatus::Skipped => matches!(now.get(name), Some(TestCaseStatus::Passed | TestCaseStatus::Skipped)),
                };
                prop_assert!(is_kept, "{name}");
            }
        }
    }

    /// A program without names cannot lose tests either, and fails only where it failed before.
    #[test]
    fn nothing_passes_beside_a_program_that_lost_tests_or_fails_anew(
        base in some_programs(), after in some_programs(), code in 0..3, before in 0..3,
    ) {
        let (base, after) = (beside(&base, run("+a -b")), beside(&after, run("+a -b")));
        let comparison = compare(&base, &after, &[]);
        let judged = judged(&exits(before, code, &[]), &comparison, &comparison);
        if judged.is_pass() {
            let ran = |program: &TestProgram| program.counts.map_or(0, |counts| counts.ran());
            for program in &base.programs {
                let now = after.program(&program.name);
                prop_assert!(now.is_some_and(|now| ran(now) >= ran(program)), "{program:?} {now:?}");
            }
            for program in after.programs.iter().filter(|program| !program.passed) {
                let former = base.program(&program.name);
                prop_assert!(former.is_some_and(|former| !former.passed), "{program:?} {former:?}");
                let is_same = program.failing.iter().all(|test| former.unwrap().failing.contains(test));
                prop_assert!(is_same && program.failed() == program.failing.len() as u64, "{program:?}");
            }
        }
    }
}
